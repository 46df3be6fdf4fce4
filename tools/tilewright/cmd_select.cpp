// tilewright select: which plan of a family to take at each value of one size, as a table.
#include "tools/explore/prepared_model.h"
#include "tools/select/selection_text.h"
#include "tools/tilewright/device_choices.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/evaluation_output.h"
#include "tools/tilewright/family_choices.h"
#include "tools/tilewright/terminal.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <thread>

namespace tilewright::cli {

namespace {

struct SelectOptions {
  std::string over, header, python;
  FamilyChoices family;
  DeviceChoices devices;
  PlanChoices plans;
  SelectionOptions selection;
  unsigned jobs = 0;
  double lossPercent = 1;
  bool json = false;
};

/// "m=1..8192", "n=32..8192:32"
struct OpenSize {
  std::string name;
  int64_t from = 0, to = 0, step = 1;
};

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

llvm::Expected<OpenSize> parseOpenSize(const std::string &text) {
  const size_t equals = text.find('='), dots = text.find("..");
  OpenSize size;
  if (equals != std::string::npos && equals > 0 && dots != std::string::npos && dots > equals) {
    size.name = text.substr(0, equals);
    const std::optional<int64_t> from =
        wholeNumber(std::string_view(text).substr(equals + 1, dots - equals - 1));
    std::string_view rest = std::string_view(text).substr(dots + 2);
    std::optional<int64_t> step = 1;
    if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
      step = wholeNumber(rest.substr(colon + 1));
      rest = rest.substr(0, colon);
    }
    const std::optional<int64_t> to = wholeNumber(rest);
    if (from && to && step) {
      size.from = *from;
      size.to = *to;
      size.step = *step;
      return size;
    }
  }
  return makeError(DiagClass::BadInput,
                   "--over {}: expected NAME=FROM..TO or NAME=FROM..TO:STEP, such as m=1..8192",
                   text);
}

/// The family's plans at one value of its open size.
class FamilyPlans {
public:
  static llvm::Expected<FamilyPlans> load(const SelectOptions &options, const AskedDevice &asked,
                                          const OpenSize &size) {
    llvm::Expected<ChosenFamily> family = options.family.load();
    if (!family)
      return family.takeError();
    for (const auto &[name, value] : family->arguments)
      if (name == size.name)
        return makeError(DiagClass::BadInput, "{} is given as {} and left open by --over", name,
                         value);
    return FamilyPlans(options, asked, size.name, std::move(*family));
  }

  llvm::Expected<KernelPlans> at(int64_t size) const {
    FamilyArguments all = family.arguments;
    all.emplace_back(name, std::to_string(size));
    llvm::Expected<Module> module = family.families.moduleOf(options.family.family, all);
    if (!module)
      return module.takeError();
    llvm::Expected<PreparedModel> prepared = prepareModel(*module);
    if (!prepared)
      return prepared.takeError();
    llvm::Expected<KernelSource> source = findKernel(*prepared, "");
    if (!source)
      return source.takeError();
    return kernelPlans(prepared->module, *source, asked.device, asked.calibration,
                       options.plans.options());
  }

private:
  FamilyPlans(const SelectOptions &options, const AskedDevice &asked, std::string name,
              ChosenFamily family)
      : options(options), asked(asked), name(std::move(name)), family(std::move(family)) {}

  const SelectOptions &options;
  const AskedDevice &asked;
  std::string name; ///< of the open size
  ChosenFamily family;
};

Json lossJson(double mean, double worst) { return {{"mean", mean}, {"worst", worst}}; }

Json selectJson(const SelectOptions &options, const AskedDevice &asked, const OpenSize &size,
                const SelectionTable &table) {
  Json document = newDocument("select");
  document["family"] = options.family.family;
  document["arguments"] = options.family.arguments;
  document["size"] = size.name;
  document["from"] = table.from;
  document["to"] = table.to;
  document["step"] = table.step;
  document["calibration"] = asked.calibration.isFitted() ? Json(asked.calibration.device) : Json();
  document["cache"] = options.plans.cache;
  document["notes"] = notesJson(asked.notes());
  document["searches"] = table.searches;
  document["candidates"] = table.candidates;
  document["tolerance"] = options.selection.tolerance;
  document["loss"] = lossJson(table.meanLoss, table.worstLoss);
  document["loss_bound"] = lossJson(table.meanBound, table.worstBound);
  document["largest_fall"] = table.largestFall;
  document["ranges"] = Json::array();
  for (const SelectionRange &range : table.ranges) {
    Json plan = {{"values", range.plan.values},
                 {"instruction", tilewright::toString(range.plan.instruction)}};
    document["ranges"].push_back({{"from", range.from},
                                  {"to", range.to},
                                  {"plan", std::move(plan)},
                                  {"time_ns", {table.timeNs(range.from), table.timeNs(range.to)}},
                                  {"loss", lossJson(range.meanLoss, range.worstLoss)},
                                  {"worst_loss_bound", range.worstBound},
                                  {"worst_at", range.worstAt}});
  }
  return document;
}

std::string percentText(double fraction) { return fmt::format("{:.2g}", 100 * fraction); }

void printSelection(const SelectOptions &options, const AskedDevice &asked, const OpenSize &size,
                    const SelectionTable &table) {
  say("device {}, calibration {}, {} caches\n", asked.device.name,
      transferred(asked.calibration, asked.device).label(), options.plans.cache);
  printNotes(asked.notes());
  say("{}, {} = {} to {}{}: {} ranges, of {} candidates from {} searches\n", options.family.text(),
      size.name, table.from, table.to,
      table.step > 1 ? fmt::format(" in steps of {}", table.step) : std::string(),
      table.ranges.size(), table.candidates, table.searches);
  if (table.ranges.empty())
    return say("no plan at any of them\n");
  say("loses {} % on average and {} % at worst on the best candidate; on any plan of the search at "
      "most {} % and {} %\n",
      percentText(table.meanLoss), percentText(table.worstLoss), percentText(table.meanBound),
      percentText(table.worstBound));
  TextTable text;
  text.head = {"from", "to", "time", "loss %", "at most %", "instruction", "plan"};
  for (const SelectionRange &range : table.ranges) {
    std::string plan;
    for (const auto &[name, value] : range.plan.values)
      plan += fmt::format("{}{}={}", plan.empty() ? "" : " ", name, value);
    text.rows.push_back({fmt::format("{}", range.from), fmt::format("{}", range.to),
                         timeText(table.timeNs(range.to)), percentText(range.worstLoss),
                         percentText(range.worstBound),
                         std::string(tilewright::toString(range.plan.instruction)), plan});
  }
  say("{}", text.text());
}

llvm::Error writeCode(const SelectOptions &options, const AskedDevice &asked, const OpenSize &size,
                      const SelectionTable &table) {
  const SelectionTitle title{options.family.family, size.name,
                             fmt::format("Plans of {} on {}, by Tilewright {}",
                                         options.family.text(), asked.device.name,
                                         TILEWRIGHT_VERSION)};
  if (!options.header.empty())
    if (llvm::Error error = writeFileAtomically(options.header, selectionHeader(table, title)))
      return error;
  if (!options.python.empty())
    if (llvm::Error error = writeFileAtomically(options.python, selectionPython(table, title)))
      return error;
  return llvm::Error::success();
}

int runSelect(const SelectOptions &options) {
  llvm::Expected<std::vector<AskedDevice>> devices = askedDevices(options.devices, options.plans);
  if (!devices)
    return failInput(devices.takeError());
  if (devices->size() != 1)
    return failInput(makeError(DiagClass::BadInput, "a table is of one device"));
  const AskedDevice &asked = devices->front();
  llvm::Expected<OpenSize> size = parseOpenSize(options.over);
  if (!size)
    return failInput(size.takeError());
  llvm::Expected<FamilyPlans> family = FamilyPlans::load(options, asked, *size);
  if (!family)
    return failInput(family.takeError());
  SelectionOptions selection = options.selection;
  selection.from = size->from;
  selection.to = size->to;
  selection.step = size->step;
  selection.tolerance = options.lossPercent / 100;
  selection.jobs = options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  Progress progress("priced sizes");
  selection.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  llvm::Expected<SelectionTable> table =
      makeSelection([&](int64_t at) { return family->at(at); }, selection);
  if (!table)
    return fail(table.takeError());
  if (llvm::Error error = writeCode(options, asked, *size, *table))
    return failInput(std::move(error));
  if (!options.json)
    printSelection(options, asked, *size, *table);
  DeviceAnswers answers("select", options.devices, options.json);
  answers.add(asked, selectJson(options, asked, *size, *table),
              table->ranges.empty() ? AnswerIsNo : Fine);
  return answers.finish();
}

} // namespace

void addSelect(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<SelectOptions>();
  CLI::App *command = app.add_subcommand(
      "select", "The plan to take at each value of one size of a family, as a table");
  command->footer(
      "Example:\n"
      "  tilewright select gemm n=4096 k=4096 dtype=bf16 --over m=1..8192 --header gemm_tiles.h\n"
      "Every plan of the table was tested and priced at every value of its range; at a size below\n"
      "a tile, that tile is the size. The loss is that on the best candidate, and at most that on\n"
      "any plan of the search, if times do not fall when the size grows, but for the largest fall\n"
      "that was seen around; with --every-size without an if. Where kernels depend on what the "
      "size\n"
      "is a multiple of, a table of multiples (n=32..8192:32) is short. Exit code 1: no plan.");
  addFamilyChoices(*command, options->family, "NAME=VALUE: the other sizes and data type");
  command
      ->add_option(
          "--over", options->over,
          "NAME=FROM..TO: the open size and its range; NAME=FROM..TO:STEP: every STEP-th of them")
      ->required();
  addDeviceChoices(*command, options->devices);
  addPlanChoices(*command, options->plans);
  command
      ->add_option("--loss", options->lossPercent,
                   "Percent of time that a plan may lose on the best candidate in its range")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--searches", options->selection.maxSearches, "Sizes to search at, at most")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1) << 20));
  command->add_flag("--every-size", options->selection.everySize,
                    "Search at every size: the losses are exact, in minutes in place of seconds");
  command
      ->add_option("--budget", options->selection.maxPriced,
                   "Plans to price in each pass of a search")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1) << 30));
  command->add_option("-j,--jobs", options->jobs, "Threads (default: all cores)");
  command->add_option("--header", options->header, "C++ header to write");
  command->add_option("--python", options->python, "Python module to write");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runSelect(*options); }; });
}

} // namespace tilewright::cli
