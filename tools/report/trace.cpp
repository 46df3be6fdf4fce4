// Kernels of models along time, in Chrome's trace format: "Trace Event Format" of the Catapult
// project. Times are in µs there; complete events (ph "X") and metadata (ph "M") are all we need.
#include "analysis/support/printable.h"
#include "tools/report/summary.h"
#include "tools/report/text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace tilewright {

using namespace report;

namespace {

using Json = nlohmann::ordered_json;

/// Lays events of one track end to end.
class Track {
public:
  Track(Json &events, size_t process, size_t number, const std::string &name)
      : events(events), process(process), number(number) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", process},
                      {"tid", number},
                      {"args", {{"name", name}}}});
    events.push_back({{"name", "thread_sort_index"},
                      {"ph", "M"},
                      {"pid", process},
                      {"tid", number},
                      {"args", {{"sort_index", number}}}});
  }
  void add(const std::string &name, const std::string &category, double ns, Json arguments) {
    events.push_back({{"name", excerpt(name, maxNameLength)},
                      {"cat", category},
                      {"ph", "X"},
                      {"ts", at / 1e3},
                      {"dur", ns / 1e3},
                      {"pid", process},
                      {"tid", number},
                      {"args", std::move(arguments)}});
    at += ns;
  }

private:
  Json &events;
  size_t process, number;
  double at = 0; ///< ns
};

void nameProcess(Json &events, size_t process, const std::string &name) {
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", name}}}});
}

Json textsOf(const Parameters &parameters) {
  Json object = Json::object();
  for (const auto &[name, value] : parameters)
    object[name] = value;
  return object;
}

/// Where the kernel comes from, as far as it is known.
void addSource(Json &arguments, const Kernel &kernel) {
  for (const auto &[key, text] :
       {std::pair("layer", &kernel.layer), std::pair("op_name", &kernel.opName)})
    if (!text->empty())
      arguments[key] = *text;
  if (std::string place = sourceText(kernel); !place.empty())
    arguments["source"] = std::move(place);
}

void addPredicted(Track &track, const Model &model) {
  for (const Kernel &kernel : model.kernels) {
    Quantity total = totalTimeNs(kernel);
    if (!total)
      continue;
    Json arguments{
        {"predicted_ns", *kernel.timeNs},    {"runs", kernel.tripCount},
        {"limiter", kernel.limiter},         {"shape", kernel.rootShape},
        {"tile", textsOf(kernel.plan.tile)}, {"schedule", textsOf(kernel.plan.schedule)}};
    for (const auto &[name, ns] : kernel.termsNs)
      arguments["terms_ns"][name] = ns;
    addSource(arguments, kernel);
    track.add(kernel.name, kernel.kind.empty() ? "kernel" : kernel.kind, *total,
              std::move(arguments));
  }
}

/// The measured times of a model's kernels, in the model's order; a kernel's times in the track
/// apply to all of its runs.
void addMatched(Track &track, const Model &model, const MeasuredTrack &measured) {
  std::map<std::string, double> times;
  for (const auto &[name, ns] : measured.kernels)
    times[name] = ns; // the last one, since resumed files append
  for (const Kernel &kernel : model.kernels) {
    auto time = times.find(kernel.name);
    if (time == times.end())
      continue;
    Json arguments{{"measured_ns", time->second}, {"runs", kernel.tripCount}};
    addSource(arguments, kernel);
    if (kernel.timeNs && *kernel.timeNs > 0) {
      arguments["predicted_ns"] = *kernel.timeNs;
      arguments["measured_per_predicted"] = time->second / *kernel.timeNs;
    }
    track.add(kernel.name, "measured", time->second * kernel.tripCount, std::move(arguments));
  }
}

void addPlain(Track &track, const MeasuredTrack &measured) {
  for (const auto &[name, ns] : measured.kernels)
    track.add(name, "measured", ns, {{"measured_ns", ns}});
}

size_t namesShared(const Model &model, const MeasuredTrack &measured) {
  std::map<std::string_view, int> names;
  for (const Kernel &kernel : model.kernels)
    names[kernel.name];
  size_t shared = 0;
  for (const auto &[name, ns] : measured.kernels)
    shared += names.contains(name);
  return shared;
}

} // namespace

llvm::Expected<std::string> renderTrace(std::span<const ReportInput> inputs,
                                        std::span<const MeasuredTrack> measured) {
  llvm::Expected<Documents> documents = readDocuments(inputs);
  if (!documents)
    return documents.takeError();
  struct Process {
    const Model *model;
    size_t tracks = 0;
  };
  std::vector<Process> processes;
  Json events = Json::array();
  for (const Exploration &exploration : documents->explorations)
    for (const Model &model : exploration.models) {
      nameProcess(events, processes.size(), excerpt(modelTitle(model.name), maxNameLength));
      std::string gap = summarise(model).gaps.empty() ? "" : ", incomplete";
      Track track(
          events, processes.size(), 0,
          "predicted, " +
              (exploration.calibration.empty() ? "not calibrated" : exploration.calibration) + gap);
      addPredicted(track, model);
      processes.push_back({&model, 1});
    }
  for (const MeasuredTrack &each : measured) {
    Process *owner = nullptr;
    size_t most = 0;
    for (Process &process : processes)
      if (size_t shared = process.model ? namesShared(*process.model, each) : 0; shared > most) {
        most = shared;
        owner = &process;
      }
    bool isMatched = owner != nullptr;
    size_t models = 0;
    for (const Process &process : processes)
      models += process.model != nullptr;
    if (!owner && models == 1)
      owner = &processes.front();
    std::string name = excerpt(modelTitle(each.name), maxNameLength);
    if (!owner) {
      nameProcess(events, processes.size(), name);
      owner = &processes.emplace_back(Process{nullptr, 0});
    }
    Track track(events, static_cast<size_t>(owner - processes.data()), owner->tracks++,
                "measured, " + name);
    if (isMatched)
      addMatched(track, *owner->model, each);
    else
      addPlain(track, each);
  }
  Json trace{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return trace.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tilewright
