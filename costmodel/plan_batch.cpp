#include "costmodel/plan_batch.h"

#include "analysis/support/diag.h"
#include "analysis/tiling/loop_range.h"
#include "costmodel/derive.h"
#include "costmodel/vector_kernels.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tilewright {

namespace {

/// Plans that are sorted by class together, and plans whose masks are computed at once.
constexpr size_t pieceSize = size_t(1) << 18, maxAhead = 4096;
static_assert(maxAhead % FeatureProgram::plansPerRun == 0);

constexpr size_t numberCount = sizeof(FeatureNumbers<double>) / sizeof(double);
static_assert(sizeof(FeatureNumbers<LaneArray>) == numberCount * sizeof(LaneArray));

LaneArray *numbersIn(FeatureNumbers<LaneArray> &features) {
  return reinterpret_cast<LaneArray *>(&features);
}
const LaneArray *numbersIn(const FeatureNumbers<LaneArray> &features) {
  return reinterpret_cast<const LaneArray *>(&features);
}

size_t roundedUp(size_t n) {
  constexpr size_t unit = FeatureProgram::plansPerRun;
  return (n + unit - 1) / unit * unit;
}

} // namespace

/// The plans of one class: they take the same path through the derivation.
struct PlanBatch::Class {
  FeatureKind kind;
  FeaturesOf<LaneArray> features; ///< values that are the same for all
  std::vector<uint32_t> number;   ///< the feature of each output of the program
  std::optional<FeatureProgram> program;
};

PlanBatch::PlanBatch(KernelPlan given, const Device &device, std::optional<Instruction> instruction)
    : prototype(std::move(given)), device(device), instruction(instruction),
      known(std::make_unique<GroupFacts>()) {
  if (!prototype.tiled || !prototype.module)
    return;
  parameterCount = prototype.tiled->space.parameters.size();
  for (const TileParameter &parameter : prototype.tiled->space.parameters)
    isSchedule.push_back(parameter.role == TileParameter::Role::Schedule);
  unevenLoops = hasUnevenLoops(*prototype.tiled);
}

PlanBatch::PlanBatch(PlanBatch &&) noexcept = default;
PlanBatch::~PlanBatch() = default;

llvm::Error PlanBatch::add(std::span<const int64_t> given) {
  if (!prototype.tiled || !prototype.module)
    return makeError(DiagClass::Unsupported, "plan '{}' has no tiles", prototype.name);
  if (given.size() != parameterCount ||
      std::any_of(given.begin(), given.end(), [](int64_t value) { return value < 1; })) {
    prototype.values.assign(given.begin(), given.end());
    return numbersOf(prototype).takeError();
  }
  if (const size_t needed = (count + 1) * parameterCount; needed > values.size())
    values.resize(std::max<size_t>(2 * needed, 256 * parameterCount));
  double *to = values.data() + count * parameterCount;
  for (size_t i = 0; i < parameterCount; ++i)
    to[i] = double(given[i]);
  if (unevenLoops) {
    stepsOf.resize(std::max(stepsOf.size(), values.size() / parameterCount));
    stepsOf[count] = readSteps(given);
  }
  ++count;
  return llvm::Error::success();
}

/// The steps of loops that end early depend on the tile sizes only.
uint32_t PlanBatch::readSteps(std::span<const int64_t> given) {
  bool same = !stepsKey.empty();
  stepsKey.resize(parameterCount);
  for (size_t i = 0; i < parameterCount; ++i) {
    const int64_t size = isSchedule[i] ? 1 : given[i];
    same &= stepsKey[i] == size;
    stepsKey[i] = size;
  }
  if (same)
    return lastSteps;
  auto [known, isNew] = knownSteps.try_emplace(stepsKey, uint32_t(knownSteps.size()));
  if (isNew) {
    std::vector<double> most;
    for (const LoopSteps &loop : loopSteps(*prototype.tiled, given)) {
      steps.push_back(loop.average);
      most.push_back(double(loop.largest));
    }
    steps.insert(steps.end(), most.begin(), most.end());
  }
  return lastSteps = known->second;
}

/// The values of a plan, then the mean and the largest step counts of its loops.
double PlanBatch::input(size_t plan, uint32_t column) const {
  return column < parameterCount
             ? values[plan * parameterCount + column]
             : steps[size_t(stepsOf[plan]) * 2 * parameterCount + column - parameterCount];
}

void PlanBatch::clear() { count = 0; }

// Kinds of plans ------------------------------------------------------------------------------

llvm::Expected<int32_t> PlanBatch::addClass(size_t plan) {
  trace.startRun();
  Trace::current = &trace;
  PlanNumbers<Traced> numbers;
  auto read = [&](size_t first, std::vector<Traced> &into) {
    for (size_t i = first; i < first + parameterCount; ++i)
      into.push_back(Traced::input(uint32_t(i), input(plan, uint32_t(i))));
  };
  read(0, numbers.values);
  if (unevenLoops) {
    read(parameterCount, numbers.meanSteps);
    read(2 * parameterCount, numbers.maxSteps);
  }
  auto derived = derive(prototype, numbers, instruction, device, *known);
  if (!derived)
    return derived.takeError();

  auto kind = std::make_unique<Class>();
  kind->kind = static_cast<const FeatureKind &>(*derived);
  static_cast<FeatureKind &>(kind->features) = kind->kind;
  static_assert(sizeof(FeatureNumbers<Traced>) == numberCount * sizeof(Traced));
  const auto *traced =
      reinterpret_cast<const Traced *>(static_cast<const FeatureNumbers<Traced> *>(&*derived));
  std::vector<uint32_t> wanted;
  const FeatureKind &k = kind->kind;
  std::vector<uint64_t> key = {k.empty,  k.matrix,  k.pipelined,   k.looped,
                               k.serial, k.mmaSync, k.tensorFlops, uint64_t(k.flopType)};
  for (uint32_t i = 0; i < numberCount; ++i) {
    numbersIn(kind->features)[i] = LaneArray(traced[i].value());
    key.push_back(traced[i].isConstant());
    if (traced[i].isConstant()) {
      key.push_back(std::bit_cast<uint64_t>(traced[i].value()));
    } else {
      kind->number.push_back(i);
      wanted.push_back(traced[i].node());
      key.push_back(wanted.back());
    }
  }
  auto [known, isNew] = knownClasses.try_emplace(std::move(key), int32_t(classes.size()));
  if (isNew) {
    kind->program.emplace(trace, wanted);
    slots.resize(std::max(slots.size(), kind->program->slotCount()));
    classes.push_back(std::move(kind));
  }
  addPath(known->second);
  return known->second;
}

/// Records that the guards of the last run lead to `leaf`.
void PlanBatch::addPath(int32_t leaf) {
  placeOfGuard.resize(trace.nodes().size(), -1);
  const size_t guardsBefore = guards.size();
  if (tree.empty())
    tree.emplace_back();
  int32_t at = 0;
  for (const TraceGuard &guard : trace.guards()) {
    int32_t &place = placeOfGuard[guard.node];
    if (place < 0) {
      place = int32_t(guards.size());
      guards.push_back(guard.node);
    }
    tree[size_t(at)].guard = uint32_t(place);
    int32_t next = tree[size_t(at)].next[guard.holds];
    if (next < 0) {
      next = int32_t(tree.size());
      tree[size_t(at)].next[guard.holds] = next;
      tree.emplace_back();
    }
    at = next;
  }
  tree[size_t(at)].leaf = leaf;
  if (guardProgram && guards.size() == guardsBefore)
    return;

  guardProgram.emplace(trace, guards);
  slots.resize(std::max(slots.size(), guardProgram->slotCount()));
  words = std::max<size_t>(1, (guards.size() + 63) / 64);
  tableClasses.assign(std::max<size_t>(tableClasses.size(), 256), -1);
  tableKeys.assign(tableClasses.size() * words, 0);
  tableUsed = 0;
}

int32_t PlanBatch::walk(const uint64_t *mask) const {
  int32_t at = tree.empty() ? -1 : 0;
  while (at >= 0 && tree[size_t(at)].leaf < 0) {
    const Branch &branch = tree[size_t(at)];
    at = branch.next[mask[branch.guard / 64] >> (branch.guard % 64) & 1];
  }
  return at < 0 ? -1 : tree[size_t(at)].leaf;
}

int32_t PlanBatch::classOf(const uint64_t *mask) {
  uint64_t hash = 0;
  for (size_t w = 0; w < words; ++w)
    hash = (hash ^ mask[w]) * 0x9e3779b97f4a7c15;
  const size_t capacity = tableClasses.size();
  size_t at = hash >> 32 & (capacity - 1);
  for (; tableClasses[at] >= 0; at = (at + 1) & (capacity - 1))
    if (std::equal(mask, mask + words, &tableKeys[at * words]))
      return tableClasses[at];
  int32_t found = walk(mask);
  if (found < 0)
    return found;
  constexpr size_t maxMasks = size_t(1) << 16;
  if (++tableUsed > capacity / 2) { // clears the table; grows it up to a bound
    const size_t larger = std::min(2 * capacity, maxMasks);
    tableClasses.assign(larger, -1);
    tableKeys.assign(larger * words, 0);
    tableUsed = 0;
    return found;
  }
  tableClasses[at] = found;
  std::copy_n(mask, words, &tableKeys[at * words]);
  return found;
}

void PlanBatch::makeMasks(size_t first, size_t end) {
  const VectorKernels &kernels = vectorKernels();
  masks.resize(roundedUp(end - first) * words);
  guardProgram->prepare(slots.data());
  for (size_t plan = first; plan < end; plan += FeatureProgram::plansPerRun) {
    gather(*guardProgram, std::min<size_t>(end - plan, FeatureProgram::plansPerRun),
           [&](size_t i) { return plan + i; });
    kernels.makeMasks(*guardProgram, words, slots.data(), &masks[(plan - first) * words]);
  }
}

/// Finds the class of each plan of a piece; derives features for new classes.
llvm::Error PlanBatch::classify(size_t first, size_t end) {
  classOfPlan.resize(end - first);
  if (tree.empty())
    if (auto added = addClass(first); !added)
      return added.takeError();
  // A new class adds guards, so that masks computed ahead become stale: look ahead a few plans at
  // first, more while all classes are known.
  constexpr size_t fewPlans = 2 * FeatureProgram::plansPerRun;
  for (size_t plan = first; plan < end;) {
    const size_t ahead = std::min(end, plan + lookAhead);
    makeMasks(plan, ahead);
    const size_t begin = plan;
    bool isNew = false;
    for (; plan < ahead && !isNew; ++plan) {
      int32_t found = classOf(&masks[(plan - begin) * words]);
      if ((isNew = found < 0)) {
        auto added = addClass(plan);
        if (!added)
          return added.takeError();
        found = *added;
      }
      classOfPlan[plan - first] = found;
    }
    lookAhead = isNew ? fewPlans : std::min(2 * lookAhead, maxAhead);
  }
  return llvm::Error::success();
}

template <class Visit> llvm::Error PlanBatch::forEachClass(const Visit &visit) {
  for (size_t first = 0; first < count; first += pieceSize) {
    const size_t end = std::min(count, first + pieceSize);
    if (llvm::Error error = classify(first, end))
      return error;
    starts.assign(classes.size() + 1, 0);
    for (int32_t c : classOfPlan)
      ++starts[size_t(c) + 1];
    for (size_t c = 0; c < classes.size(); ++c)
      starts[c + 1] += starts[c];
    order.resize(end - first);
    for (size_t i = 0; i < order.size(); ++i)
      order[starts[size_t(classOfPlan[i])]++] = uint32_t(first + i);
    uint32_t begin = 0;
    for (size_t c = 0; c < classes.size(); ++c) {
      if (starts[c] > begin)
        visit(*classes[c], std::span<const uint32_t>(&order[begin], starts[c] - begin));
      begin = starts[c];
    }
  }
  return llvm::Error::success();
}

// Prices --------------------------------------------------------------------------------------

/// Gathers the inputs of one run; `planAt` gives the plans.
template <class PlanAt>
void PlanBatch::gather(const FeatureProgram &program, size_t plans, const PlanAt &planAt) {
  constexpr size_t most = FeatureProgram::plansPerRun;
  const size_t width = parameterCount;
  std::array<const double *, most> valuesAt, stepsAt;
  for (size_t i = 0; i < most; ++i) {
    // LaneArray without a plan repeat the last plan and are not read.
    const size_t plan = planAt(std::min(i, plans - 1));
    valuesAt[i] = values.data() + plan * width;
    stepsAt[i] = unevenLoops ? steps.data() + size_t(stepsOf[plan]) * 2 * width : nullptr;
  }
  for (const FeatureProgram::Input &input : program.inputs()) {
    auto *to = reinterpret_cast<double *>(&slots[input.slot]);
    const bool isValue = input.column < width;
    const auto &from = isValue ? valuesAt : stepsAt;
    const size_t column = isValue ? input.column : input.column - width;
    for (size_t i = 0; i < most; ++i)
      to[i] = from[i][column];
  }
}

llvm::Error PlanBatch::score(const Parameters &parameters, CacheState cache,
                             std::span<double> timeNs) {
  const VectorKernels &kernels = vectorKernels();
  return forEachClass([&](const Class &kind, std::span<const uint32_t> plans) {
    if (kind.kind.empty) {
      for (uint32_t plan : plans)
        timeNs[plan] = 0;
      return;
    }
    kind.program->prepare(slots.data());
    FeaturesOf<LaneArray> features = kind.features;
    for (size_t i = 0; i < plans.size(); i += FeatureProgram::plansPerRun) {
      auto run = plans.subspan(i, std::min<size_t>(plans.size() - i, FeatureProgram::plansPerRun));
      gather(*kind.program, run.size(), [&](size_t p) { return run[p]; });
      kernels.priceRun(*kind.program, kind.number, features, device, parameters, cache,
                       slots.data(), run, timeNs);
    }
  });
}

llvm::Expected<std::vector<Features>> PlanBatch::features() {
  std::vector<Features> all(count);
  llvm::Error error = forEachClass([&](const Class &kind, std::span<const uint32_t> plans) {
    kind.program->prepare(slots.data());
    for (size_t i = 0; i < plans.size(); i += FeatureProgram::plansPerRun) {
      auto run = plans.subspan(i, std::min<size_t>(plans.size() - i, FeatureProgram::plansPerRun));
      gather(*kind.program, run.size(), [&](size_t p) { return run[p]; });
      vectorKernels().run(*kind.program, slots.data());
      for (size_t p = 0; p < run.size(); ++p) {
        std::array<double, numberCount> numbers;
        for (size_t n = 0; n < numberCount; ++n)
          numbers[n] = numbersIn(kind.features)[n][0];
        for (size_t o = 0; o < kind.number.size(); ++o)
          numbers[kind.number[o]] =
              slots[kind.program->outputs()[o]].lanes[p / laneCount][int(p % laneCount)];
        Features &features = all[run[p]];
        static_cast<FeatureKind &>(features) = kind.kind;
        static_cast<FeatureNumbers<double> &>(features) =
            std::bit_cast<FeatureNumbers<double>>(numbers);
      }
    }
  });
  if (error)
    return error;
  return all;
}

} // namespace tilewright
