// Sessions, texts, and what they read: models and devices.
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "costmodel/named_files.h"
#include "costmodel/templates.h"
#include "tools/c_api/documents.h"
#include "tools/c_api/status.h"

namespace tilewright::capi {

std::string Session::folder(const char *part) const {
  return data.empty() ? dataFolder(part) : data + "/" + part;
}

namespace {

/// A text that a caller may leave out.
std::string textOr(const char *text, const char *otherwise = "") { return text ? text : otherwise; }

llvm::Error openSession(uint32_t version, const char *folder, tw_session *session) {
  if (version != TW_ABI_VERSION)
    return llvm::make_error<CallError>(
        TW_BAD_VERSION,
        fmt::format("error: the program was compiled with version {} of tilewright.h, and this "
                    "library (tilewright {}) has version {}: compile it with the header of the "
                    "library",
                    version, tw_version(), TW_ABI_VERSION));
  if (!session)
    return noPlace("session");
  auto object = std::make_shared<Session>();
  object->data = textOr(folder);
  if (!object->data.empty() && namesIn(object->folder("devices")).empty())
    return makeError(DiagClass::BadInput, "{}: there are no devices in this data folder",
                     object->data);
  give(session, std::move(object));
  return llvm::Error::success();
}

llvm::Error giveModel(llvm::Expected<Module> module, tw_model *model) {
  if (!module)
    return module.takeError();
  llvm::Expected<PreparedModel> prepared = prepareModel(*module);
  if (!prepared)
    return prepared.takeError();
  auto object = std::make_shared<Model>();
  object->module = std::make_shared<const Module>(std::move(*module));
  object->prepared = std::make_shared<PreparedModel>(std::move(*prepared));
  give(model, std::move(object));
  return llvm::Error::success();
}

llvm::Error findDevice(tw_session handle, const char *name, const char *calibration,
                       tw_device *found) {
  auto session = objectOf<Session>(handle);
  if (!session)
    return session.takeError();
  if (!name || !found)
    return noPlace(name ? "found" : "device");
  auto object = std::make_shared<DeviceOfSession>();
  llvm::Expected<Device> device = loadDevice(name, (*session)->folder("devices"));
  if (!device)
    return device.takeError();
  object->device = std::move(*device);
  llvm::Expected<Calibration> fitted =
      calibrationFor(object->device, textOr(calibration), (*session)->folder("calibrations"));
  if (!fitted)
    return fitted.takeError();
  object->calibration = std::move(*fitted);
  give(found, std::move(object));
  return llvm::Error::success();
}

} // namespace

} // namespace tilewright::capi

using namespace tilewright;
using namespace tilewright::capi;

const char *tw_version(void) { return TILEWRIGHT_VERSION; }
uint32_t tw_abi_version(void) { return TW_ABI_VERSION; }

tw_status tw_open(uint32_t abi_version, const char *data_folder, tw_session *session,
                  tw_text *error) {
  return guarded(error, [&] { return openSession(abi_version, data_folder, session); });
}

tw_status tw_free(void *handle) {
  if (!handle)
    return TW_OK;
  return guarded(nullptr, [&] {
    return Handles::all().remove(handle) ? llvm::Error::success() : badHandle("object");
  });
}

const char *tw_text_data(tw_text text) {
  // The handle keeps the text, so that it outlives this call.
  auto object = std::dynamic_pointer_cast<Text>(Handles::all().find(text));
  return object ? object->bytes.c_str() : "";
}

size_t tw_text_size(tw_text text) {
  auto object = std::dynamic_pointer_cast<Text>(Handles::all().find(text));
  return object ? object->bytes.size() : 0;
}

tw_status tw_list(tw_session session, const char *what, tw_text *json, tw_text *error) {
  return guarded(error, [&]() -> llvm::Error {
    auto object = objectOf<Session>(session);
    if (!object)
      return object.takeError();
    if (!what || !json)
      return noPlace(what ? "json" : "what");
    llvm::Expected<std::string> document = listDocument(**object, what);
    if (!document)
      return document.takeError();
    giveText(json, std::move(*document));
    return llvm::Error::success();
  });
}

tw_status tw_import_file(tw_session session, const char *path, const char *module, tw_model *model,
                         tw_text *error) {
  return guarded(error, [&]() -> llvm::Error {
    if (auto object = objectOf<Session>(session); !object)
      return object.takeError();
    if (!path || !model)
      return noPlace(path ? "model" : "path");
    return giveModel(importFile(path, textOr(module)), model);
  });
}

tw_status tw_import_bytes(tw_session session, const char *name, const char *bytes, size_t size,
                          const char *module, tw_model *model, tw_text *error) {
  return guarded(error, [&]() -> llvm::Error {
    if (auto object = objectOf<Session>(session); !object)
      return object.takeError();
    if (!bytes || !model)
      return noPlace(bytes ? "model" : "bytes");
    auto source =
        std::make_shared<const SourceBuffer>(textOr(name, "model"), std::string(bytes, size));
    return giveModel(importBuffer(std::move(source), textOr(module)), model);
  });
}

tw_status tw_import_family(tw_session session, const char *family, const char *arguments,
                           tw_model *model, tw_text *error) {
  return guarded(error, [&]() -> llvm::Error {
    auto object = objectOf<Session>(session);
    if (!object)
      return object.takeError();
    if (!family || !model)
      return noPlace(family ? "model" : "family");
    llvm::Expected<TemplateLibrary> templates =
        TemplateLibrary::load((*object)->folder("templates"));
    if (!templates)
      return templates.takeError();
    llvm::Expected<FamilyArguments> given = parseFamilyArguments(textOr(arguments));
    if (!given)
      return given.takeError();
    return giveModel(templates->moduleOf(family, *given), model);
  });
}

tw_status tw_model_text(tw_model model, tw_text *hlo, tw_text *error) {
  return guarded(error, [&]() -> llvm::Error {
    auto object = objectOf<Model>(model);
    if (!object)
      return object.takeError();
    if (!hlo)
      return noPlace("hlo");
    giveText(hlo, printHlo(*(*object)->module));
    return llvm::Error::success();
  });
}

tw_status tw_find_device(tw_session session, const char *device, const char *calibration,
                         tw_device *found, tw_text *error) {
  return guarded(error, [&] { return findDevice(session, device, calibration, found); });
}

tw_status tw_describe_device(tw_device device, tw_text *json, tw_text *error) {
  return guarded(error, [&]() -> llvm::Error {
    auto object = objectOf<DeviceOfSession>(device);
    if (!object)
      return object.takeError();
    if (!json)
      return noPlace("json");
    giveText(json, deviceDocument(**object));
    return llvm::Error::success();
  });
}
