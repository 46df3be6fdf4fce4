#include "tools/c_api/documents.h"

#include "costmodel/named_files.h"
#include "costmodel/templates.h"
#include "tools/c_api/status.h"
#include "tools/explore/explore.h"
#include "tools/tilewright/catalogue.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/explore_output.h"

namespace tilewright::capi {

using cli::Json;

namespace {

llvm::Expected<Json> deviceEntries(const Session &session) {
  Json entries = Json::array();
  const std::string folder = session.folder("devices");
  const std::vector<std::string> calibrated = namesIn(session.folder("calibrations"));
  for (const std::string &name : deviceNames(folder)) {
    llvm::Expected<Device> device = loadDevice(name, folder);
    if (!device)
      return device.takeError();
    entries.push_back(cli::deviceEntry(*device, calibrated));
  }
  return entries;
}

llvm::Expected<Json> calibrationEntries(const Session &session) {
  Json entries = Json::array();
  const std::string folder = session.folder("calibrations");
  for (const std::string &name : namesIn(folder)) {
    llvm::Expected<Calibration> calibration = loadCalibration(name, folder);
    if (!calibration)
      return calibration.takeError();
    entries.push_back(cli::calibrationEntry(*calibration, session.folder("devices")));
  }
  return entries;
}

llvm::Expected<Json> familyEntries(const Session &session) {
  llvm::Expected<TemplateLibrary> templates = TemplateLibrary::load(session.folder("templates"));
  if (!templates)
    return templates.takeError();
  Json entries = Json::array();
  for (const Family &family : templates->families())
    entries.push_back(cli::familyEntry(family));
  return entries;
}

llvm::Error explore(tw_model modelHandle, tw_device deviceHandle, const char *cache, size_t top,
                    size_t budget, unsigned jobs, tw_text *json) {
  auto model = objectOf<Model>(modelHandle);
  if (!model)
    return model.takeError();
  auto device = objectOf<DeviceOfSession>(deviceHandle);
  if (!device)
    return device.takeError();
  if (!json)
    return noPlace("json");
  llvm::Expected<CacheState> state = cacheOf(cache);
  if (!state)
    return state.takeError();
  ExploreOptions options;
  options.plans.cache = *state;
  if (top > 0)
    options.search.top = top;
  if (budget > 0)
    options.search.maxPriced = budget;
  options.jobs = std::clamp(jobs, 1u, 256u);
  llvm::Expected<ExploredModel> explored =
      exploreModel(*(*model)->module, (*device)->device, (*device)->calibration, options);
  if (!explored)
    return explored.takeError();
  const Calibration &calibration = (*device)->calibration;
  Json document = cli::newDocument("explore");
  document["device"] = cli::deviceJson((*device)->device);
  document["calibration"] = calibration.isFitted() ? Json(calibration.device) : Json();
  document["cache"] = cache ? cache : "warm";
  document["instruction"] = "auto";
  document["notes"] = cli::notesJson(cli::notesOn((*device)->device, calibration));
  document["models"] = Json::array({cli::modelJson((*model)->module->name, *explored)});
  document["failures"] = Json::array();
  giveText(json, cli::dump(document));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<CacheState> cacheOf(const char *text) {
  const std::string_view cache = text ? text : "warm";
  if (cache == "warm")
    return CacheState::Warm;
  if (cache == "clean")
    return CacheState::Clean;
  if (cache == "flushed")
    return CacheState::Flushed;
  return makeError(DiagClass::BadInput, "cache is '{}', allowed are warm, clean, flushed",
                   excerpt(std::string(cache)));
}

llvm::Expected<std::string> listDocument(const Session &session, std::string_view what) {
  if (what != "devices" && what != "calibrations" && what != "families")
    return makeError(DiagClass::BadInput,
                     "there is no list of '{}'; there are devices, calibrations, families",
                     excerpt(std::string(what)));
  llvm::Expected<Json> entries = what == "devices"        ? deviceEntries(session)
                                 : what == "calibrations" ? calibrationEntries(session)
                                                          : familyEntries(session);
  if (!entries)
    return entries.takeError();
  Json document = cli::newDocument(std::string(what));
  document[std::string(what)] = std::move(*entries);
  return cli::dump(document);
}

std::string deviceDocument(const DeviceOfSession &of) {
  Json document = cli::newDocument("device");
  document["device"] = cli::deviceEntry(of.device, {});
  document["calibration"] = of.calibration.isFitted() ? Json(of.calibration.device) : Json();
  document["device"]["calibration"] = document["calibration"];
  document["notes"] = cli::notesJson(cli::notesOn(of.device, of.calibration));
  return cli::dump(document);
}

} // namespace tilewright::capi

tw_status tw_explore(tw_model model, tw_device device, const char *cache, size_t top, size_t budget,
                     unsigned jobs, tw_text *json, tw_text *error) {
  using namespace tilewright::capi;
  return guarded(error, [&] { return explore(model, device, cache, top, budget, jobs, json); });
}
