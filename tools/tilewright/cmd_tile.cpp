// tilewright tile: the tiles of every op of a kernel, feasible or the reason why not.
#include "analysis/explore/kernels.h"
#include "analysis/import/import_file.h"
#include "analysis/ir/inline.h"
#include "analysis/solve/explain.h"
#include "analysis/solve/tile_system.h"
#include "analysis/tiling/resources.h"
#include "analysis/tiling/separate_roots.h"
#include "costmodel/device.h"
#include "costmodel/estimate.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/tile_output.h"

#include <charconv>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

struct TileArguments {
  std::string model, module, root, tile, device, smtDump;
  std::vector<std::string> candidates;
  std::optional<double> registers;
  bool explain = false, list = false, price = false, json = false;
  size_t limit = 1000;
  uint32_t rlimit = SolverOptions().rlimit;
};

/// "128,64" by position over the tile parameters, or "t0=128,k0=32" by name.
llvm::Expected<Choice> parseChoice(const TileSpace &space, const std::string &text) {
  Choice choice(space.parameters.size());
  size_t position = 0;
  for (size_t start = 0; !text.empty() && start <= text.size();) {
    size_t end = std::min(text.find(',', start), text.size());
    std::string part = text.substr(start, end - start);
    start = end + 1;
    size_t equals = part.find('=');
    std::string number = equals == std::string::npos ? part : part.substr(equals + 1);
    int64_t value = 0;
    auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || rest != number.data() + number.size() || value < 1)
      return makeError(DiagClass::BadInput, "--tile: '{}' is no size of at least 1", number);
    size_t index = position++;
    if (equals != std::string::npos) {
      std::optional<size_t> named = space.indexOf(part.substr(0, equals));
      if (!named) {
        std::string names;
        for (const TileParameter &parameter : space.parameters)
          names += " " + parameter.name;
        return makeError(DiagClass::BadInput, "--tile: no parameter '{}'; there are{}",
                         part.substr(0, equals), names);
      }
      index = *named;
    }
    if (index >= space.parameters.size())
      return makeError(DiagClass::BadInput, "--tile: more sizes than the {} parameters",
                       space.parameters.size());
    if (choice[index])
      return makeError(DiagClass::BadInput, "--tile: '{}' is given twice",
                       space.parameters[index].name);
    // A tile over the dim is the dim itself.
    const TileParameter &parameter = space.parameters[index];
    choice[index] = std::min(value, parameter.largest());
  }
  return choice;
}

struct Question {
  Module module;
  KernelSource source;
  TiledKernel kernel;
  ConstraintSystem system;
  Choice choice;
  std::optional<Device> device;
};

/// Rules for all tile sizes ("x16") or for one parameter ("k0=x32"); later ones win.
llvm::Expected<CandidatePlan> candidatesOf(const TileArguments &options, const TileSpace &space,
                                           bool withDevice) {
  CandidatePlan plan = CandidatePlan::standard();
  if (!withDevice) // no constraint speaks of the schedule
    for (const TileParameter &parameter : space.parameters)
      if (parameter.role == TileParameter::Role::Schedule)
        plan.byName[parameter.name] = {CandidateRule::Kind::List, 1, {1}};
  for (const std::string &text : options.candidates) {
    llvm::Error error = llvm::Error::success();
    if (text.find('=') != std::string::npos) {
      error = plan.addRule(text);
    } else if (llvm::Expected<CandidateRule> rule = parseCandidateRule(text)) {
      plan.tiles = std::move(*rule);
    } else {
      error = rule.takeError();
    }
    if (error) {
      Diag diag = takeDiag(std::move(error));
      diag.message = "--candidates: " + diag.message;
      return makeError(std::move(diag));
    }
  }
  return plan;
}

/// What a reshape wants is often a divisor: the nearest that is feasible is to be found among them,
/// too.
void addDivisors(int64_t dim, std::vector<int64_t> &list) {
  CandidateRule rule;
  rule.kind = CandidateRule::Kind::Divisors;
  llvm::Expected<std::vector<int64_t>> divisors = candidatesFor(rule, dim);
  if (!divisors) { // two large primes
    llvm::consumeError(divisors.takeError());
    return;
  }
  list.insert(list.end(), divisors->begin(), divisors->end());
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// Says of roots that can't share tile dims whether they can have dims of their own.
llvm::Error withSeparateRoots(Diag refusal, const Question &question) {
  const Graph &graph = question.module.graph(question.source.graph);
  const Group &group = question.source.group;
  if (refusal.cls == DiagClass::Unsupported && group.roots.size() > 1) {
    llvm::Expected<std::vector<SeparateTiles>> parts = tileRootsApart(graph, group);
    if (parts && parts->size() > 1) {
      std::string names;
      for (const SeparateTiles &part : *parts)
        names += fmt::format("{}--root {}", names.empty() ? "" : " or ",
                             graph[part.tiled.group.roots.back()].name);
      refusal.message += fmt::format(
          "; they can be with tile dims and programs of their own, {} sets of them: ask with {}",
          parts->size(), names);
    } else {
      llvm::consumeError(parts.takeError());
    }
  }
  return makeError(std::move(refusal));
}

llvm::Expected<Question> pose(const TileArguments &options) {
  Question question;
  llvm::Expected<Module> module = importFile(options.model, options.module);
  if (!module)
    return module.takeError();
  llvm::Expected<Module> inlined = inlineCalls(*module);
  if (!inlined)
    return inlined.takeError();
  question.module = std::move(*inlined);
  llvm::Expected<KernelSource> source = findKernel(question.module, options.root);
  if (!source)
    return source.takeError();
  question.source = std::move(*source);
  llvm::Expected<TiledKernel> kernel = tileKernel(question.module, question.source);
  if (!kernel)
    return withSeparateRoots(takeDiag(kernel.takeError()), question);
  question.kernel = std::move(*kernel);

  bool withDevice = !options.device.empty();
  if (withDevice) {
    llvm::Expected<Device> device = loadDevice(options.device, dataFolder("devices"));
    if (!device)
      return device.takeError();
    auto limited = std::make_shared<TiledGroup>(*question.kernel.tiled);
    // Of the code with matrix instructions, where they take the types.
    const Graph &graph = question.module.graph(question.source.graph);
    addResourceConstraints(graph, *limited, device->limits,
                           codeOf(graph, *limited, Instruction::MmaSync).instruction);
    question.kernel.tiled = limited;
    question.device = std::move(*device);
  }
  const TiledGroup &tiled = *question.kernel.tiled;
  llvm::Expected<CandidatePlan> plan = candidatesOf(options, tiled.space, withDevice);
  if (!plan)
    return plan.takeError();
  llvm::Expected<ConstraintSystem> system = makeSystem(tiled.space, tiled.constraints, *plan);
  if (!system) {
    Diag diag = takeDiag(system.takeError());
    diag.message = "--candidates: " + diag.message;
    return makeError(std::move(diag));
  }
  question.system = std::move(*system);
  if (options.candidates.empty() && !options.list)
    for (size_t i = 0; i < tiled.space.parameters.size(); ++i)
      if (tiled.space.parameters[i].role != TileParameter::Role::Schedule)
        addDivisors(tiled.space.parameters[i].largest(), question.system.parameters[i].candidates);
  llvm::Expected<Choice> choice = parseChoice(tiled.space, options.tile);
  if (!choice)
    return choice.takeError();
  question.choice = std::move(*choice);
  return question;
}

int listFeasible(const TileArguments &options, const Question &question) {
  ConstraintSystem system = question.system;
  for (size_t i = 0; i < question.choice.size(); ++i)
    if (question.choice[i])
      system.parameters[i].candidates = {*question.choice[i]};
  llvm::Expected<CompiledSystem> compiled = CompiledSystem::compile(system);
  if (!compiled)
    return fail(compiled.takeError());
  SearchResult total = compiled->count();
  std::vector<std::vector<int64_t>> points;
  compiled->enumerate([&](std::span<const int64_t> values) {
    points.emplace_back(values.begin(), values.end());
    return points.size() < options.limit;
  });
  // Where several schedules are considered, they tell rows apart.
  Choice shown = question.choice;
  for (size_t i = 0; i < shown.size(); ++i)
    if (system.parameters[i].candidates.size() > 1)
      shown[i] = system.parameters[i].candidates.front();
  printFeasibleList(question.kernel.tiled->space, total, points, shown, options.json);
  return total.verdict() == Verdict::Yes ? Fine : AnswerIsNo;
}

/// With the schedule's defaults where it is not given.
llvm::Expected<KernelPlan> planOf(const Question &question, const std::vector<int64_t> &values) {
  const TileSpace &space = question.kernel.tiled->space;
  KernelPlan plan;
  plan.name = question.source.name;
  plan.module = std::make_shared<const Module>(question.module);
  plan.graph = question.source.graph;
  plan.context = question.kernel.context;
  plan.tiled = question.kernel.tiled;
  plan.values = values;
  for (size_t i = 0; i < space.parameters.size(); ++i)
    if (space.parameters[i].role == TileParameter::Role::Schedule && !question.choice[i])
      plan.values[i] = space.parameters[i].name == "warps" ? Schedule().warps : 1;
  llvm::Expected<Instruction> instruction = preferredInstruction(plan, *question.device);
  if (!instruction)
    return instruction.takeError();
  plan.instruction = *instruction;
  return plan;
}

/// What the answer's plan takes of an SM, and its price.
llvm::Error addEstimates(TileReport &report, const TileArguments &options,
                         const Question &question) {
  llvm::Expected<KernelPlan> plan = planOf(question, report.answer.witness);
  if (!plan)
    return plan.takeError();
  llvm::Expected<EstimateResources> resources =
      estimateResources(*plan, *question.device, options.registers);
  if (!resources)
    return resources.takeError();
  report.resources = *resources;
  if (!options.price)
    return llvm::Error::success();
  llvm::Expected<Calibration> calibration =
      defaultCalibration(*question.device, dataFolder("calibrations"));
  if (!calibration)
    return calibration.takeError();
  llvm::Expected<PlanPrice> price = priceOf(*plan, *question.device, *calibration);
  if (!price)
    return price.takeError();
  report.price = std::move(*price);
  return llvm::Error::success();
}

/// Are all sizes of tiles given?
bool isWhole(const TileSpace &space, const Choice &choice) {
  for (size_t i = 0; i < choice.size(); ++i)
    if (!choice[i] && space.parameters[i].role != TileParameter::Role::Schedule)
      return false;
  return true;
}

int runTile(const TileArguments &options) {
  llvm::Expected<Question> question = pose(options);
  if (!question)
    return fail(question.takeError());
  if (options.list)
    return listFeasible(options, *question);

  ExplainOptions explaining;
  explaining.solver.rlimit = options.rlimit;
  explaining.solver.dumpDir = options.smtDump;
  llvm::Expected<Explanation> answer = explain(question->system, question->choice, explaining);
  if (!answer)
    return fail(answer.takeError());
  TileReport report{question->module.graph(question->source.graph),
                    question->source,
                    *question->kernel.tiled,
                    question->system,
                    question->choice,
                    *answer};
  if (question->device && answer->feasible == Verdict::Yes &&
      isWhole(question->kernel.tiled->space, question->choice)) {
    if (llvm::Error error = addEstimates(report, options, *question))
      return fail(std::move(error));
  }
  if (options.json)
    print(toJson(report));
  else
    printTable(report, options.explain);
  return answer->feasible == Verdict::Yes ? Fine : AnswerIsNo;
}

} // namespace

void addTile(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<TileArguments>();
  CLI::App *command =
      app.add_subcommand("tile", "Tiles of every op of a kernel, and whether a tiling is feasible");
  command->footer("Examples:\n"
                  "  tilewright tile model.hlo.txt --root out\n"
                  "  tilewright tile model.hlo.txt --root out --tile 64,48 --explain\n"
                  "  tilewright tile model.hlo.txt --root out --tile 64,32 --device h100 --price\n"
                  "  tilewright tile model.hlo.txt --root out --list --candidates div\n"
                  "  tilewright tile model.hlo.txt --root out --list --candidates x16 --candidates "
                  "t1=x8\n"
                  "Exit code 1: infeasible.");
  command->add_option("MODEL", options->model, "HLO text, plain or gzip")->required();
  command->add_option("--module", options->module, "Of a file that holds several modules this one");
  command->add_option("--root", options->root, "Op whose kernel is tiled (default: the last)");
  command->add_option("--tile", options->tile,
                      "Sizes by position (64,32) or by name (t0=64,k0=32,stages=4); the rest is "
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
  command->add_option("--device", options->device,
                      "Also respect the limits of a device: a name or a JSON file");
  command
      ->add_option("--registers", options->registers,
                   "With --device: registers a thread, in place of the estimate, for the occupancy")
      ->check(CLI::Range(1.0, 1024.0))
      ->needs("--device");
  command
      ->add_flag(
          "--price", options->price,
          "With --device and all sizes given: the predicted time, taken apart, with error bars")
      ->needs("--device");
  command->add_option("--rlimit", options->rlimit, "Z3's resource units for one query")
      ->check(CLI::PositiveNumber);
  command->add_option("--smt-dump", options->smtDump, "Folder for the SMT-LIB text of queries");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runTile(*options); }; });
}

} // namespace tilewright::cli
