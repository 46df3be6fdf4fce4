#include "tools/tilewright/program_pipeline.h"

#include "analysis/program/pipeline/pipeline_choice.h"
#include "analysis/program/text.h"
#include "tools/explore/instruction_times.h"
#include "tools/tilewright/device_choices.h"
#include "tools/tilewright/evaluation_output.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "analysis/program/pipeline/plan_loops.h"
#include "analysis/program/verify.h"
#include "codegen/pack_manifest.h"
#endif

#include <algorithm>

namespace tilewright::cli {

using pipeline::LoopOp;
using pipeline::LoopSchedule;
using pipeline::ModuloSchedule;
using pipeline::PipelineAnswer;

namespace {

std::string joined(const std::vector<std::string> &words, const char *between) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : between) + word;
  return text;
}

/// "unit tensor; waits" of bounds, whose waits are spelt out where there is room.
std::string holdersOf(const ModuloSchedule &schedule, bool isShort) {
  std::vector<std::string> words;
  for (const std::string &by : schedule.bound.by)
    words.push_back(isShort ? by.substr(0, by.find(' ', by.find(' ') + 1)) : by);
  if (isShort)
    for (std::string &word : words)
      if (word.rfind("waits", 0) == 0)
        word = "waits";
  return joined(words, "; ");
}

/// "least: unit tensor takes it", "least: 1535 has no schedule, by search and by Z3; …".
std::string proofText(const ModuloSchedule &schedule) {
  using Proof = ModuloSchedule::Proof;
  if (schedule.proof == Proof::Bound)
    return "the least: so long takes " + holdersOf(schedule, false);
  const std::string proof =
      schedule.proof == Proof::None
          ? "not proved to be the least"
          : fmt::format("the least: {} has no schedule, by search{}", schedule.interval - 1,
                        schedule.proof == Proof::Z3 ? " and by Z3" : "");
  return fmt::format("{}; {} takes by itself {}", proof, schedule.bound.interval,
                     holdersOf(schedule, false));
}

std::string unitsText(const LoopOp &op) {
  std::vector<std::string> words;
  for (const LoopOp::Use &use : op.units)
    words.push_back(fmt::format("{} {}", use.unit, use.busy));
  return words.empty() ? "-" : joined(words, ", ");
}

double shareOf(const LoopSchedule &found, const std::string &unit) {
  int64_t busy = 0;
  for (const LoopOp &op : found.loop.loop.ops)
    busy += op.busyOf(unit);
  return static_cast<double>(busy) / static_cast<double>(found.schedule.interval);
}

void printOps(const LoopSchedule &found) {
  TextTable table;
  table.head = {"op", "warps", "issue", "there after", "takes", "step", "at"};
  for (size_t i = 0; i < found.loop.loop.ops.size(); ++i) {
    const LoopOp &op = found.loop.loop.ops[i];
    const pipeline::Place &place = found.schedule.places[i];
    table.rows.push_back({op.name, op.role, std::to_string(op.issue), std::to_string(op.latency),
                          unitsText(op), fmt::format("t - {}", place.stage),
                          std::to_string(place.slot)});
  }
  say("{}", table.text());
}

/// An interval in columns: a row for each unit and role, a letter for each op.
void printTimeline(const LoopSchedule &found) {
  constexpr int64_t columns = 64;
  const int64_t interval = found.schedule.interval;
  std::map<std::string, std::string> rows;
  auto draw = [&](const std::string &row, int64_t from, int64_t clocks, char letter) {
    std::string &line = rows.try_emplace(row, columns, '.').first->second;
    const int64_t first = from * columns / interval;
    const int64_t last = std::max((from + clocks) * columns / interval, first + 1);
    for (int64_t c = first; clocks > 0 && c < last; ++c)
      line[static_cast<size_t>(c % columns)] = letter;
  };
  std::string legend;
  for (size_t i = 0; i < found.loop.loop.ops.size(); ++i) {
    const LoopOp &op = found.loop.loop.ops[i];
    const char letter = static_cast<char>(i < 26 ? 'a' + i : 'A' + i % 26);
    const int64_t at = found.schedule.places[i].slot;
    for (const LoopOp::Use &use : op.units)
      draw(use.unit, at, use.busy, letter);
    draw(op.role, at, op.issue, letter);
    legend += fmt::format("{}{} {}", i == 0 ? "" : ", ", letter, op.name);
  }
  size_t width = 0;
  for (const auto &[name, line] : rows)
    width = std::max(width, name.size());
  for (const auto &[name, line] : rows)
    say("  {:{}} |{}|\n", name, width, line);
  say("  {}\n", legend);
}

void printTried(const PipelineAnswer &answer) {
  size_t width = 0;
  for (const LoopSchedule &one : answer.tried)
    width = std::max(width, toString(one.settings).size());
  say("  {:{}}  clk a step  clk in all  held up by\n", "settings", width);
  for (size_t i = 0; i < answer.tried.size(); ++i) {
    const LoopSchedule &one = answer.tried[i];
    const std::string name = toString(one.settings);
    if (!one.refusal.empty()) {
      say("  {:{}}           -           -  {}\n", name, width, one.refusal);
      continue;
    }
    const bool isBound = one.schedule.interval == one.schedule.bound.interval;
    say("  {:{}}  {:10}  {:10}  {}{}\n", name, width, one.schedule.interval, one.time.all(),
        isBound ? holdersOf(one.schedule, true) : "all together",
        i == answer.best ? " (best)" : "");
  }
}

void printAnswer(const PipelineAnswer &answer) {
  const LoopSchedule &best = answer.chosen();
  say("loop {} of {} steps: {}: a step every {} clk, tensor cores busy {:.0f} %\n",
      best.loop.variable, best.loop.steps, toString(best.settings), best.schedule.interval,
      100 * shareOf(best, "tensor"));
  say("  {}\n", proofText(best.schedule));
  if (answer.any.outcome == ModuloSchedule::Outcome::Found)
    say("  in any order of its warps, with these slots: {} clk\n", answer.any.interval);
  say("  {} clk in all: {} until it is full, {} full, {} until it is empty\n", best.time.all(),
      best.time.fill, best.time.steady, best.time.drain);
  if (answer.given.refusal.empty())
    say("  the program's own {}: a step every {} clk, {} clk in all: {:.2f} times as long\n",
        toString(answer.given.settings), answer.given.schedule.interval, answer.given.time.all(),
        answer.gain());
  else
    say("  the program's own {}: {}\n", toString(answer.given.settings), answer.given.refusal);
  say("\n");
  printOps(best);
  say("\n");
  printTimeline(best);
  say("\n");
  printTried(answer);
}

void printTimes(const pipeline::InstructionTimes &times) {
  TextTable table;
  table.head = {"time", "", "unit", "from"};
  for (const pipeline::InstructionTimes::Row &row : times.rows())
    table.rows.push_back(
        {row.name, fmt::format("{:.3g}", row.time->value), row.unit, row.time->source});
  say("\n{}", table.text());
  say("tensor cores: {}; scalar ops: {}\n", times.tensorSource, times.lanesSource);
}

std::string_view proofWord(ModuloSchedule::Proof proof) {
  constexpr std::string_view words[] = {"none", "bound", "search", "z3"};
  return words[static_cast<size_t>(proof)];
}

Json jsonOf(const ModuloSchedule &schedule) {
  return {{"interval_clk", schedule.interval},  {"least", schedule.isLeast()},
          {"proof", proofWord(schedule.proof)}, {"bound_clk", schedule.bound.interval},
          {"bound_by", schedule.bound.by},      {"intervals_searched", schedule.queries}};
}

Json jsonOf(const LoopSchedule &found, bool withOps) {
  Json json = {{"slots", found.settings.slots},
               {"ahead", found.settings.ahead},
               {"producer", found.settings.isProduced},
               {"wait", found.settings.isAsynchronous ? 1 : 0}};
  if (!found.refusal.empty()) {
    json["refusal"] = found.refusal;
    return json;
  }
  json["schedule"] = jsonOf(found.schedule);
  json["loop_clk"] = found.time.all();
  json["fill_clk"] = found.time.fill;
  json["steady_clk"] = found.time.steady;
  json["drain_clk"] = found.time.drain;
  json["tensor_share"] = shareOf(found, "tensor");
  if (!withOps)
    return json;
  json["ops"] = Json::array();
  for (size_t i = 0; i < found.loop.loop.ops.size(); ++i) {
    const LoopOp &op = found.loop.loop.ops[i];
    Json units = Json::array();
    for (const LoopOp::Use &use : op.units)
      units.push_back({{"unit", use.unit}, {"busy_clk", use.busy}});
    json["ops"].push_back({{"op", op.name},
                           {"role", op.role},
                           {"issue_clk", op.issue},
                           {"latency_clk", op.latency},
                           {"units", units},
                           {"stage", found.schedule.places[i].stage},
                           {"slot_clk", found.schedule.places[i].slot}});
  }
  return json;
}

Json jsonOf(const PipelineAnswer &answer) {
  Json json = {{"loop", answer.chosen().loop.variable},
               {"steps", answer.chosen().loop.steps},
               {"best", jsonOf(answer.chosen(), true)},
               {"given", jsonOf(answer.given, false)},
               {"any_order", jsonOf(answer.any)},
               {"gain", answer.given.refusal.empty() ? Json(answer.gain()) : Json()}};
  json["tried"] = Json::array();
  for (const LoopSchedule &one : answer.tried)
    json["tried"].push_back(jsonOf(one, false));
  return json;
}

Json jsonOf(const pipeline::InstructionTimes &times) {
  Json list = Json::array();
  for (const pipeline::InstructionTimes::Row &row : times.rows())
    list.push_back({{"time", row.name},
                    {"value", row.time->value},
                    {"unit", row.unit},
                    {"source", row.time->source}});
  return list;
}

#ifdef TILEWRIGHT_HAS_CODEGEN
/// The program of a plan as it runs.
llvm::Expected<program::Program> runningProgramOf(const KernelSpec &spec) {
  llvm::Expected<program::PlanProgram> made = programOf(spec);
  return made ? program::concreteProgram(*made)
              : llvm::Expected<program::Program>(made.takeError());
}

/// The plan with the settings of `best`; its stages where one loop asks for others.
llvm::Expected<std::string> planWith(const PipelineInput &input, const program::Program &best,
                                     const std::vector<PipelineAnswer> &answers,
                                     const DeviceLimits &limits) {
  llvm::Expected<KernelSpec> spec = parsePlan(input.file, input.plan);
  if (!spec)
    return spec.takeError();
  spec->loops.clear();
  if (answers.size() == 1)
    spec->schedule.stages = answers.front().chosen().settings.slots;
  llvm::Expected<program::Program> own = runningProgramOf(*spec);
  if (!own)
    return own.takeError();
  const std::vector<PlanLoop> wanted = pipeline::planLoopsOf(best);
  if (wanted != pipeline::planLoopsOf(*own))
    spec->loops = wanted;
  llvm::Expected<program::Program> made = runningProgramOf(*spec);
  if (!made)
    return made.takeError();
  if (llvm::Error error = program::verify(*made, &limits).error(*made))
    return error;
  return printPlan(*spec);
}
#else
llvm::Expected<std::string> planWith(const PipelineInput &input, const program::Program &,
                                     const std::vector<PipelineAnswer> &, const DeviceLimits &) {
  return makeError(DiagClass::Unsupported,
                   "{}: plans are written by code generation, which this program was built without",
                   input.file);
}
#endif

} // namespace

void addPipelineOptions(CLI::App &command, PipelineArguments &options, CLI::Option &passes) {
  auto *asked = command.add_flag(
      "--pipeline", options.isAsked,
      "Of loops that copy what they read: the least clocks between steps, with the proof, and "
      "the slots, look-ahead and producer that reach it; --text prints the program with them");
  command.add_option("--device", options.device, "Of --pipeline: whose times")
      ->needs(asked)
      ->capture_default_str();
  command.add_option("--calibration", options.calibration, "Of --pipeline: NAME or FILE.json")
      ->needs(asked);
  command
      .add_option("-o,--out", options.out,
                  "Of --pipeline, of a plan: also write the plan with the best settings to this "
                  "file; where several loops copy, they keep its stages")
      ->needs(asked);
}

int runPipelines(const PipelineInput &input, const PipelineArguments &options, bool json,
                 bool text) {
  if (!options.out.empty() && input.plan.empty())
    return failInput(makeError(DiagClass::BadInput,
                               "{}: --out writes a plan, and this is a program", input.file));
  llvm::Expected<AskedDevice> asked = askedDevice(options.device, options.calibration);
  if (!asked)
    return failInput(asked.takeError());
  const program::Program &program = input.program;
  const size_t loops = pipeline::copyingLoops(program).size();
  const pipeline::PipelineOptions how{
      .times = instructionTimesOf(asked->device, asked->calibration),
      .limits = asked->device.limits,
      .keepsSlots = !options.out.empty() && loops > 1}; // which a plan has one number for
  program::Program last = program;
  std::vector<PipelineAnswer> answers;
  for (size_t i = 0; i < loops; ++i) {
    llvm::Expected<PipelineAnswer> answer = pipeline::choosePipeline(last, i, how);
    if (!answer)
      return fail(answer.takeError());
    last = answer->program;
    answers.push_back(std::move(*answer));
  }
  if (!options.out.empty() && !answers.empty()) {
    llvm::Expected<std::string> plan = planWith(input, last, answers, asked->device.limits);
    if (!plan)
      return fail(plan.takeError());
    if (llvm::Error error = writeFileAtomically(options.out, *plan))
      return fail(std::move(error));
  }
  if (json) {
    Json document = newDocument("pipeline");
    document["program"] = program.name;
    document["device"] = asked->device.name;
    document["loops"] = Json::array();
    for (const PipelineAnswer &answer : answers)
      document["loops"].push_back(jsonOf(answer));
    document["times"] = jsonOf(how.times);
    print(document);
  } else if (text) {
    say("{}", program::printProgram(last));
  } else {
    for (const PipelineAnswer &answer : answers)
      printAnswer(answer);
    if (answers.empty())
      say("{}: no loop copies what it reads\n", program.name);
    else
      printTimes(how.times);
  }
  return answers.empty() ? AnswerIsNo : Fine;
}

} // namespace tilewright::cli
