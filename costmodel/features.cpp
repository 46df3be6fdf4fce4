#include "analysis/program/pass/element_program.h"
#include "analysis/program/pass/resources.h"
#include "analysis/tiling/strided_view.h"
#include "costmodel/feature_extractor.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

/// ptxas unrolls a loop up to this many loaded words a thread; and the unroll factor.
constexpr double unrolledWords = 4, unrolledSteps = 4;

template <class Q> ScheduleOf<Q> scheduleOf(const TileSpace &space, const PlanNumbers<Q> &numbers) {
  ScheduleOf<Q> schedule;
  auto read = [&](std::string_view name, Q &value) {
    for (size_t i = 0; i < space.parameters.size(); ++i)
      if (space.parameters[i].name == name)
        value = numbers.values[i];
  };
  read("warps", schedule.warps);
  read("stages", schedule.stages);
  read("split_k", schedule.splitK);
  read("group_m", schedule.groupM);
  return schedule;
}

} // namespace

template <class Q> FeaturesOf<Q> FeatureExtractor<Q>::run() {
  f.ctas = view.ctas;
  f.iterations = view.iterations;
  f.lastIterations = view.maxIterations;
  f.warps = schedule.warps;
  for (unsigned root : plan.tiled->roots)
    if (view.instances[root].op->shape.elementCount().value_or(1) == 0 || f.ctas == Q(0))
      f.empty = true;
  if (f.empty)
    return f;
  f.looped = view.iterations > 1.0;
  f.matrix = !dots.dots.empty();
  f.serial = dots.chained;
  f.mmaSync = f.matrix && instruction == Instruction::MmaSync;
  f.fed = f.serial && instruction == Instruction::Wgmma &&
          plan.style.warpgroupCopies == WarpgroupCopies::Producer;
  readRaster();
  addDots();
  addInputs();
  addArithmetic();
  addReductions();
  addOutputs();
  finishLoop();
  f.residentWarps = f.warps;
  return f;
}

template <class Q> void FeatureExtractor<Q>::addDots() {
  for (const PlanDot<Q> &d : dots.dots) {
    const InstanceView &v = view.instances[d.instance];
    DotWork<Q> w = dotWork(d.shape, instruction, f.warps, device);
    const Q times = larger(view.perIteration(v), view.isOutside(v) ? 1.0 / f.iterations : Q(0));
    f.wgmmaClocks += times * w.wgmmaClocks;
    f.lastWgmmaClocks = f.serial ? times * w.wgmmaClocks : Q(0);
    f.mmaSyncClocks += times * w.mmaSyncClocks;
    f.fmaClocks += times * w.fmaClocks;
    f.mmaSteps += times * w.steps;
    f.mmaInstructions += times * w.instructions;
    f.sharedBytes += times * w.operandBytes;
    f.relayoutClocks += times * w.relayoutClocks;
    f.relayoutRoundTrips += times * w.relayoutRoundTrips;
    f.scatterClocks += times * w.scatterClocks;
    f.serialGroups += times * w.serialGroups;
    registers.relayoutWords += w.relayoutWords;
    registers.innerAccumulators += registers.accumulators;
    registers.accumulators = w.accumulators;
    flopsInLoop += times * (2.0 * double(d.shape.products)) * d.shape.repeats(f.warps) *
                   (d.shape.batch * d.shape.rows * d.shape.columns * d.shape.depth);
    f.tensorFlops = f.tensorFlops || w.fmaClocks == Q(0);
    f.flopType = d.shape.type;
    registers.gathered = registers.gathered || d.isPacked;
    const Op &op = *v.op;
    double depth = 1;
    if (op.opcode == Opcode::Convolution)
      depth = windowElements(op) *
              double(graph[op.operands[1]].shape.dims[size_t(op.attrs.conv.kernelInput)]);
    for (int64_t dim : op.attrs.dot.lhsContracting)
      depth *= double(graph[op.operands[0]].shape.dims[dim]);
    f.flops += stepShare(v) * (2 * double(op.shape.elementCount().value_or(0)) * depth);
  }
  registers.dots = int(dots.dots.size());
  registers.instruction = instruction;
}

/// Of the steps of an op's loops, those that masks leave to be taken.
template <class Q> Q FeatureExtractor<Q>::stepShare(const InstanceView &v) const {
  Q share = 1;
  if (hasUnevenLoops(*plan.tiled))
    for (unsigned loop : v.loops)
      share *= smaller(Q(1), view.parameters[loop].meanSteps / view.parameters[loop].tiles);
  return share;
}

template <class Q> void FeatureExtractor<Q>::finishLoop() {
  if (!f.matrix && f.looped) {
    if (registers.loadedWords <= unrolledWords)
      f.unroll = unrolledSteps;
    registers.loadedWords *= f.unroll;
    registers.wordRegisters *= f.unroll;
    registers.loop = true;
    registers.unroll = f.unroll;
    registers.walksRows = f.rowWalk > 0.0;
    const LoopRegisters<Q> loop = loopRegisters(registers, f.warps, device.limits);
    f.roundTrips = smaller(larger(Q(1), registers.wordRegisters / loop.forLoads),
                           larger(loadsWithData * f.unroll, Q(1)));
  }
  f.issuedFlops = f.ctas * (f.iterations * flopsInLoop + flopsOutside);
  f.pipelined = f.matrix;
  f.inFlight = misaligned ? Q(1) : larger(schedule.stages - 1.0, Q(1));
}

namespace {

template <class Q>
Instruction preferredFor(const KernelPlan &plan, const PlanViewOf<Q> &view,
                         const ScheduleOf<Q> &schedule, const Device &device) {
  DotAnalysis<Q> dots = analyseDots(plan, view, codeOf(plan, Instruction::MmaSync));
  bool tensor = false, warpGroup = false, isCopied = true;
  for (const PlanDot<Q> &d : dots.dots) {
    bool taken = d.shape.tensorCores && device.tensorFlopsPerClock(d.shape.type) > 0;
    tensor = tensor || taken;
    warpGroup =
        warpGroup || (taken && d.shape.type != DType::F64 &&
                      view.instances[d.instance].op->opcode == Opcode::Dot && d.shape.rows >= 64.0);
  }
  const Q groups = schedule.warps / 4.0;
  if (device.warpgroupMma && warpGroup && floorOf(groups) == groups) {
    // What TMA can't copy comes through registers, or takes another instruction.
    for (const PlanDot<Q> &d : dots.dots)
      isCopied = isCopied &&
                 (plan.style.warpgroupCopies == WarpgroupCopies::AllWarps ||
                  !tmaRefusal(plan.ops(), plan.tiled->group, plan.tiled->instances[d.instance].op));
    if (isCopied)
      return Instruction::Wgmma;
  }
  return tensor ? Instruction::MmaSync : Instruction::Fma;
}

/// Registers, shared memory and warps of a program.
template <class Q>
llvm::Error takeResources(const KernelPlan &plan, const Resources &resources, EvaluatorOf<Q> &point,
                          FeaturesOf<Q> &features) {
  const std::optional<Q> shared = point(resources.sharedBytes),
                         registers = point(resources.registersPerThread),
                         threads = point(resources.threads);
  if (!shared || !registers || !threads)
    return makeError(DiagClass::Internal, "plan '{}': what it takes of an SM has no value",
                     plan.name);
  features.sharedPerCta = *shared;
  features.rawRegisters = *registers;
  features.residentWarps = *threads / 32.0;
  return llvm::Error::success();
}

} // namespace

/// What a program says of the plan whose code it is.
template <class Q> class FactReader {
public:
  FactReader(const KernelPlan &plan, EvaluatorOf<Q> &point) : plan(plan), point(point) {}

  llvm::Expected<ProgramFacts<Q>> run(const CodeChoice &code, const DeviceLimits &limits,
                                      GroupFacts &known) {
    ProgramFacts<Q> facts;
    if (code.kind == CodeKind::Reduction && plan.tiled->space.find("split_k")->largest() > 1)
      facts.rowSumBytes = at(known.resources(plan, code.instruction, limits).partialSumBytes);
    const bool isOfRows =
        code.kind == CodeKind::Reduction && plan.style.knownResources == KnownResources::Program;
    if (code.kind == CodeKind::Elementwise || isOfRows)
      if (const program::WorkOfThreads *work = workOf(*plan.module, plan.ops(), *plan.tiled, code))
        facts.work = numbersOf(*work);
    if (hasFailed)
      return makeError(DiagClass::Internal, "plan '{}': folds of its program have no value",
                       plan.name);
    return facts;
  }

private:
  Q at(Expr amount) {
    if (!amount)
      return 0;
    std::optional<Q> found = point(amount);
    hasFailed = hasFailed || !found;
    return found.value_or(Q(0));
  }

  typename ProgramFacts<Q>::Work numbersOf(const program::WorkOfThreads &work) {
    typename ProgramFacts<Q>::Work result;
    struct Cost {
      Expr times;
      bool isInSteps;
      LaneOps lanes;
    };
    std::vector<Cost> costs; ///< of operations that run as often
    for (const program::Evaluations &each : work.evaluations) {
      auto alike = std::find_if(costs.begin(), costs.end(), [&](const Cost &cost) {
        return cost.times == each.times && cost.isInSteps == each.isInSteps;
      });
      if (alike == costs.end())
        alike = costs.insert(costs.end(), {each.times, each.isInSteps, {}});
      alike->lanes += laneOpsOf(each.opcode, each.type, plan.style.scalarForms, each.divisor) *
                      double(each.operations);
    }
    for (const Cost &cost : costs) {
      const Q done = at(cost.times);
      auto &into = cost.isInSteps ? result.inSteps : result.outside;
      into.alu += cost.lanes.alu * done;
      into.half += cost.lanes.half * done;
      into.sfu += cost.lanes.sfu * done;
    }
    result.loads = at(work.loads) / 32.0;
    return result;
  }

  const KernelPlan &plan;
  EvaluatorOf<Q> &point;
  bool hasFailed = false;
};

template <class Q>
llvm::Expected<FeaturesOf<Q>> derive(const KernelPlan &plan, const PlanNumbers<Q> &numbers,
                                     std::optional<Instruction> instruction, const Device &device,
                                     GroupFacts &known) {
  EvaluatorOf<Q> point = evaluatorAt(*plan.tiled, numbers);
  auto view = viewOf(plan, numbers, point, known.movers(plan));
  if (!view)
    return view.takeError();
  const ScheduleOf<Q> schedule = scheduleOf(plan.tiled->space, numbers);
  if (!instruction)
    instruction = preferredFor(plan, *view, schedule, device);
  const CodeChoice &code = known.code(plan, *instruction);
  auto facts = FactReader<Q>(plan, point).run(code, device.limits, known);
  if (!facts)
    return facts.takeError();
  FeatureExtractor<Q> extractor(plan, code, device, schedule, *facts, known.reachable(plan),
                                std::move(*view));
  FeaturesOf<Q> features = extractor.run();
  if (features.empty)
    return features;
  if (plan.style.knownResources == KnownResources::Counts)
    features.rawRegisters =
        estimateRegisters(extractor.registerFacts(), features.warps, device.limits);
  else if (auto error = takeResources(plan, known.resources(plan, *instruction, device.limits),
                                      point, features))
    return error;
  setOccupancy(features, device.limits);
  return features;
}

template llvm::Expected<FeaturesOf<Traced>> derive(const KernelPlan &, const PlanNumbers<Traced> &,
                                                   std::optional<Instruction>, const Device &,
                                                   GroupFacts &);

llvm::Expected<Features> featuresOf(const KernelPlan &plan, const Device &device) {
  if (!plan.tiled || !plan.module)
    return makeError(DiagClass::Unsupported, "plan '{}' has no tiles", plan.name);
  auto numbers = numbersOf(plan);
  if (!numbers)
    return numbers.takeError();
  GroupFacts known;
  return derive(plan, *numbers, plan.instruction, device, known);
}

llvm::Expected<RegisterFacts<double>> registerFactsOf(const KernelPlan &plan,
                                                      const Device &device) {
  auto numbers = numbersOf(plan);
  if (!numbers)
    return numbers.takeError();
  Evaluator point = evaluatorAt(*plan.tiled, *numbers);
  auto view = viewOf(plan, *numbers, point, moversOf(*plan.tiled));
  if (!view)
    return view.takeError();
  const ScheduleOf<double> schedule = scheduleOf(plan.tiled->space, *numbers);
  const Reachable reachable = reachableOf(plan.ops(), *plan.tiled);
  FeatureExtractor<double> extractor(plan, codeOf(plan, plan.instruction), device, schedule, {},
                                     reachable, std::move(*view));
  extractor.run();
  return extractor.registerFacts();
}

llvm::Expected<Instruction> preferredInstruction(const KernelPlan &plan, const Device &device) {
  if (!plan.tiled || !plan.module)
    return makeError(DiagClass::Unsupported, "plan '{}' has no tiles", plan.name);
  auto numbers = numbersOf(plan);
  if (!numbers)
    return numbers.takeError();
  Evaluator point = evaluatorAt(*plan.tiled, *numbers);
  auto view = viewOf(plan, *numbers, point, moversOf(*plan.tiled));
  if (!view)
    return view.takeError();
  return preferredFor(plan, *view, scheduleOf(plan.tiled->space, *numbers), device);
}

} // namespace tilewright
