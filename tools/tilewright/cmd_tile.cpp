// tilewright tile: the tiles of every op of a kernel, and their feasibility or the reason why not.
#include "analysis/import/import_file.h"
#include "analysis/ir/contraction_dims.h"
#include "analysis/ir/inline.h"
#include "analysis/solve/explain.h"
#include "analysis/solve/tile_system.h"
#include "analysis/tiling/separate_roots.h"
#include "costmodel/device.h"
#include "tools/explore/assumed.h"
#include "tools/explore/kernel_plans.h"
#include "tools/explore/named_kernel.h"
#include "tools/tilewright/device_choices.h"
#include "tools/tilewright/model_input.h"
#include "tools/tilewright/tile_choice.h"
#include "tools/tilewright/tile_output.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

struct TileArguments {
  std::string model, ops, root, tile, smtDump;
  ModuleChoice choice;
  DeviceChoices devices;
  PlanChoices plans;
  std::vector<std::string> candidates;
  std::optional<double> registers;
  bool explain = false, list = false, price = false, json = false;
  size_t limit = 1000;
  uint32_t rlimit = SolverOptions().rlimit;
};

/// What is asked, of a kernel and where there is one of a device.
struct Question {
  std::shared_ptr<const Module> module;
  KernelSource source;
  std::optional<Device> device;
  std::optional<Calibration> calibration;
  std::optional<KernelPlans> plans; ///< with a device
  std::vector<KernelPlan> spaces;   ///< one an instruction of the dots; without a device one
  PlanSearchOptions searching;      ///< the candidates and the choice
  std::vector<TileSpaceAnswer> answers;
  Json json; ///< of the answer, where that is asked for

  const Graph &graph() const { return module->graph(source.graph); }
  const TileSpace &space() const { return spaces.front().tiled->space; }
};

/// For roots that can't share tile dims: reports whether horizontal fusion can give them dims of
/// their own.
llvm::Error withSeparateRoots(Diag refusal, const Question &question) {
  const Graph &graph = question.graph();
  const Group &group = question.source.group;
  if (refusal.cls == DiagClass::Unsupported && group.roots.size() > 1) {
    llvm::Expected<std::vector<SeparateTiles>> parts = tileHorizontalFusion(graph, group);
    if (parts && parts->size() > 1) {
      std::string names;
      for (const SeparateTiles &part : *parts)
        names += fmt::format("{}--root {}", names.empty() ? "" : " or ",
                             graph[part.tiled.group.roots.back()].name);
      refusal.message += fmt::format(
          "; they can be with tile dims and CTAs of their own, {} sets of them: ask with {}",
          parts->size(), names);
    } else {
      llvm::consumeError(parts.takeError());
    }
  }
  return makeError(std::move(refusal));
}

/// The spaces of plans: of the tiles alone, or of each instruction on a device.
llvm::Error addSpaces(const TileArguments &options, Question &question) {
  if (!question.device) {
    llvm::Expected<TiledKernel> kernel = tileKernel(*question.module, question.source);
    if (!kernel)
      return withSeparateRoots(takeDiag(kernel.takeError()), question);
    KernelPlan prototype;
    prototype.context = kernel->context;
    prototype.tiled = kernel->tiled;
    question.spaces.push_back(std::move(prototype));
    return llvm::Error::success();
  }
  PlanOptions planning = options.plans.options();
  planning.registers = options.registers;
  llvm::Expected<KernelPlans> plans = kernelPlans(
      question.module, question.source, *question.device, *question.calibration, planning);
  if (!plans)
    return withSeparateRoots(takeDiag(plans.takeError()), question);
  question.spaces = plans->spaces();
  question.plans.emplace(std::move(*plans));
  return llvm::Error::success();
}

std::vector<std::string> resultsOf(const TileArguments &options) {
  return options.root.empty() ? std::vector<std::string>() : listedNames(options.root);
}

llvm::Expected<KernelSource> plainKernel(const Module &module, const TileArguments &options,
                                         Question &question) {
  llvm::Expected<Module> inlined = inlineCalls(module);
  if (!inlined)
    return inlined.takeError();
  question.module = std::make_shared<const Module>(std::move(*inlined));
  if (!options.ops.empty())
    return kernelOfOps(*question.module, listedNames(options.ops), resultsOf(options));
  return findTiles(*question.module, options.root);
}

llvm::Expected<KernelSource> runningKernel(const Module &module, const TileArguments &options,
                                           Question &question) {
  llvm::Expected<PreparedModel> prepared = prepareModel(module);
  if (!prepared)
    return prepared.takeError();
  question.module = prepared->module;
  if (!options.ops.empty())
    return kernelOfOps(*prepared, listedNames(options.ops), resultsOf(options));
  return findKernel(*prepared, options.root);
}

llvm::Error pose(const TileArguments &options, Question &question) {
  llvm::Expected<Module> module = readModel(options.model, options.choice);
  if (!module)
    return module.takeError();
  // With a device the question is of a kernel as it runs, without one of the ops as they stand.
  llvm::Expected<KernelSource> source = !question.device
                                            ? plainKernel(*module, options, question)
                                            : runningKernel(*module, options, question);
  if (!source)
    return source.takeError();
  question.source = std::move(*source);
  if (llvm::Error error = addSpaces(options, question))
    return error;
  llvm::Expected<CandidatePlan> candidates =
      candidatesOf(options.candidates, question.space(), question.plans.has_value());
  if (!candidates)
    return candidates.takeError();
  question.searching.candidates = std::move(*candidates);
  for (const KernelPlan &space : question.spaces) {
    llvm::Expected<ConstraintSystem> system = systemOf(space, question.searching);
    if (!system) {
      Diag diag = takeDiag(system.takeError());
      diag.message = "--candidates: " + diag.message;
      return makeError(std::move(diag));
    }
    question.answers.push_back({space.instruction, space.tiled, std::move(*system), {}});
  }
  llvm::Expected<Choice> choice = parseChoice(question.space(), options.tile);
  if (!choice)
    return choice.takeError();
  question.searching.choice = std::move(*choice);
  return llvm::Error::success();
}

void showList(const TileArguments &options, const TileList &list, Question &question) {
  if (options.json)
    question.json = toJson(list);
  else
    printList(list);
}

/// Lists what all constraints accept.
int listFeasible(const TileArguments &options, Question &question) {
  const Choice &choice = question.searching.choice;
  TileList list{question.space(), choice, {}, 0, true, 0, options.limit};
  for (const KernelPlan &space : question.spaces) {
    llvm::Expected<ConstraintSystem> system = systemOf(space, question.searching);
    if (!system)
      return fail(system.takeError());
    llvm::Expected<CompiledSystem> compiled = CompiledSystem::compile(*system);
    if (!compiled)
      return fail(compiled.takeError());
    const SearchResult total = compiled->count();
    list.feasible += total.solutions;
    list.undecided += total.undecided;
    list.isComplete &= total.end == SearchResult::End::Exhausted;
    if (list.rows.size() < options.limit)
      compiled->enumerate([&](std::span<const int64_t> values) {
        list.rows.push_back({{values.begin(), values.end()}, {}, {}, {}});
        if (question.spaces.size() > 1)
          list.rows.back().instruction = toString(space.instruction);
        return list.rows.size() < options.limit;
      });
    list.addShown(*system);
  }
  showList(options, list, question);
  return list.feasible > 0 ? Fine : AnswerIsNo;
}

/// Lists the fastest of them, as explore ranks them.
int listFastest(const TileArguments &options, Question &question) {
  PlanSearchOptions searching = question.searching;
  searching.top = options.limit;
  llvm::Expected<PlanRanking> ranking = question.plans->search(searching);
  if (!ranking)
    return fail(ranking.takeError());
  TileList list{question.space(), searching.choice, {}, ranking->feasible, true, 0, options.limit};
  list.priced = ranking->priced;
  list.isExhaustive = ranking->isExhaustive;
  for (const RankedPlan &each : ranking->best)
    list.rows.push_back({each.plan.values, std::string(toString(each.plan.instruction)),
                         each.estimate.timeNs, each.estimate.limiter});
  for (const TileSpaceAnswer &answer : question.answers)
    list.addShown(answer.system);
  if (list.rows.empty())
    list.refusal = ranking->refusal;
  showList(options, list, question);
  return list.rows.empty() ? AnswerIsNo : Fine;
}

/// True if all tile sizes are given.
bool isWhole(const TileSpace &space, const Choice &choice) {
  for (size_t i = 0; i < choice.size(); ++i)
    if (!choice[i] && space.parameters[i].role != TileParameter::Role::Schedule)
      return false;
  return true;
}

/// The fastest plan that the choice leaves: what it takes of an SM, and its price.
llvm::Error addPlan(TileReport &report, const TileArguments &options, const Question &question) {
  PlanSearchOptions searching = question.searching;
  searching.top = 1;
  llvm::Expected<PlanRanking> ranking = question.plans->search(searching);
  if (!ranking)
    return ranking.takeError();
  if (ranking->best.empty()) {
    report.refusal = ranking->refusal;
    return llvm::Error::success();
  }
  const KernelPlan &plan = ranking->best.front().plan;
  for (size_t i = 0; i < report.answers.size(); ++i)
    if (report.answers[i].instruction == plan.instruction)
      report.shown = i;
  report.plan = plan;
  report.plansToChooseFrom = ranking->feasible;
  llvm::Expected<EstimateResources> resources = question.plans->resources(plan);
  if (!resources)
    return resources.takeError();
  report.resources = *resources;
  if (!options.price)
    return llvm::Error::success();
  llvm::Expected<PlanPrice> price = priceOf(*question.plans, plan);
  if (!price)
    return price.takeError();
  price->cache = options.plans.cache;
  report.price = std::move(*price);
  return llvm::Error::success();
}

/// Of a ragged dot the tiles of rows by group: that many rows are multiplied, whatever is given.
void noteGroups(Question &question) {
  const Graph &graph = question.graph();
  const Op &op = graph.op(question.source.group.roots.back());
  const std::optional<RaggedDims> ragged =
      op.opcode == Opcode::RaggedDot ? raggedDims(op) : std::nullopt;
  if (!ragged)
    return;
  const DotDims &dims = op.attrs.dot;
  auto isIn = [](const std::vector<int64_t> &all, int64_t dim) {
    return std::find(all.begin(), all.end(), dim) != all.end();
  };
  size_t dim = dims.lhsBatch.size(); // of the result: batches, then the lhs's rows
  for (int64_t d = 0; d < ragged->ragged; ++d)
    dim += !isIn(dims.lhsBatch, d) && !isIn(dims.lhsContracting, d);
  const std::optional<int64_t> tile =
      dim < question.searching.choice.size() ? question.searching.choice[dim] : std::nullopt;
  const std::optional<GroupedRows> rows = tile ? groupedRows(graph, op, *tile) : std::nullopt;
  if (rows)
    question.source.notes.push_back(fmt::format(
        "{} rows in {} groups of unknown sizes: {} tiles of {} rows, of which several may meet two "
        "groups or more; with each group in tiles of its own {:.3g} are expected, {} at worst",
        rows->given, rows->groups, (rows->given + *tile - 1) / *tile, *tile,
        static_cast<double>(rows->expected) / static_cast<double>(*tile), rows->worst / *tile));
}

/// Asks each space whether the choice can be completed.
llvm::Error answer(const TileArguments &options, Question &question) {
  ExplainOptions explaining;
  explaining.solver.rlimit = options.rlimit;
  explaining.solver.dumpDir = options.smtDump;
  for (TileSpaceAnswer &each : question.answers) {
    const TileSpace &space = each.tiled->space;
    for (size_t i = 0; i < space.parameters.size(); ++i)
      if (options.candidates.empty() && space.parameters[i].role != TileParameter::Role::Schedule)
        addDivisors(space.parameters[i].largest(), each.system.parameters[i].candidates);
    llvm::Expected<Explanation> explained =
        explain(each.system, question.searching.choice, explaining);
    if (!explained)
      return explained.takeError();
    each.answer = std::move(*explained);
  }
  return llvm::Error::success();
}

/// The answer on the question's device, or on none.
int ask(const TileArguments &options, Question &question) {
  if (llvm::Error error = pose(options, question))
    return fail(std::move(error));
  if (options.list)
    return options.price ? listFastest(options, question) : listFeasible(options, question);
  if (llvm::Error error = answer(options, question))
    return fail(std::move(error));
  noteGroups(question);
  TileReport report{question.graph(), question.source, question.answers, question.searching.choice};
  report.show();
  if (question.plans && report.feasible() == Verdict::Yes &&
      (options.price || isWhole(question.space(), report.choice)))
    if (llvm::Error error = addPlan(report, options, question))
      return fail(std::move(error));
  if (options.json)
    question.json = toJson(report);
  else
    printTable(report, options.explain);
  return report.feasible() == Verdict::Yes ? Fine : AnswerIsNo;
}

int runTile(const TileArguments &options) {
  if (options.devices.names.empty()) {
    Question question;
    const int code = ask(options, question);
    if (!question.json.is_null())
      print(question.json);
    return code;
  }
  llvm::Expected<std::vector<AskedDevice>> devices = askedDevices(options.devices, options.plans);
  if (!devices)
    return failInput(devices.takeError());
  DeviceAnswers answers("tile", options.devices, options.json);
  for (AskedDevice &each : *devices) {
    answers.begin(each);
    Question question;
    question.device = each.device;
    question.calibration = each.calibration;
    const int code = ask(options, question);
    if (code > AnswerIsNo)
      return code;
    answers.add(each, std::move(question.json), code);
  }
  return answers.finish();
}

} // namespace

void addTile(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<TileArguments>();
  options->devices.names.clear(); // the question is not of a device unless one is named
  CLI::App *command =
      app.add_subcommand("tile", "Tiles of every op of a kernel, and whether a tiling is feasible");
  command->footer("Examples:\n"
                  "  tilewright tile model.hlo.txt --root out\n"
                  "  tilewright tile model.hlo.txt --root out --tile 64,48 --explain\n"
                  "  tilewright tile model.hlo.txt --root out --tile 64,32 --device h100 --price\n"
                  "  tilewright tile model.hlo.txt --root out --list --device h100 --price "
                  "--limit 10\n"
                  "  tilewright tile model.hlo.txt --root out --list --candidates div\n"
                  "  tilewright tile model.hlo.txt --root out --list --candidates x16 --candidates "
                  "t1=x8\n"
                  "Exit code 1: infeasible.");
  command->add_option("MODEL", options->model, modelHelp)->required();
  addModuleChoice(*command, options->choice);
  command->add_option("--root", options->root,
                      "Op whose kernel is tiled, grown greedily from it (default: the last); with "
                      "--ops the results, a,b,… (default: what other ops read)");
  command
      ->add_option("--ops", options->ops,
                   "Names of ops, a,b,…, that are one kernel, as explore lists them")
      ->type_name("OP,…");
  command->add_option(
      "--tile", options->tile,
      "Sizes by position (64,32 or 64x32) or by name (t0=64,k0=32,stages=4); the rest is "
      "free");
  command->add_flag("--explain", options->explain, "Say all that is known about a refusal");
  command->add_flag("--list", options->list, "List the feasible tilings");
  command->add_option("--limit", options->limit, "With --list: at most this many rows")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option(
          "--candidates", options->candidates,
          "Sizes to consider: pow2 (default; for the nearest of a refused size div as "
          "well), div, x16 (multiples), all, or a list 1,16,100; of one parameter: k0=x32; "
          "may be given several times")
      ->expected(1)
      ->take_all();
  addDeviceChoices(*command, options->devices,
                   "Also respect the limits of a device: a name or a JSON file");
  CLI::Option *device = options->devices.option;
  options->devices.setOption->needs(device);
  addPlanChoices(*command, options->plans);
  for (CLI::Option *each : {options->plans.calibrationOption, options->plans.cacheOption,
                            options->plans.instructionOption})
    each->needs(device);
  command
      ->add_option("--registers", options->registers,
                   "With --device: registers a thread, in place of the estimate")
      ->check(CLI::Range(1.0, 1024.0))
      ->needs(device);
  command
      ->add_flag("--price", options->price,
                 "With --device: the predicted time of the fastest plan that the choice leaves, "
                 "taken apart, with error bars; with --list: plans by predicted time")
      ->needs(device);
  command->add_option("--rlimit", options->rlimit, "Z3's resource units for one query")
      ->check(CLI::PositiveNumber);
  command->add_option("--smt-dump", options->smtDump, "Folder for the SMT-LIB text of queries");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runTile(*options); }; });
}

} // namespace tilewright::cli
