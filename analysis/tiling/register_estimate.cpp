// Registers of a thread, before compiling.
//
// What a kernel keeps in registers follows from how its code is made; how much ptxas takes for it
// stands in register_costs.def, with where the numbers are from. ptxas also saves registers, by
// serialising loads, so that more CTAs share an SM.
#include "analysis/support/checked.h"
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/element_work.h"
#include "analysis/tiling/register_costs.h"
#include "analysis/tiling/resource_view.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tilewright {
namespace {

/// Bodies with more operations than this contain a function of a dozen instructions or two.
constexpr int64_t plainWork = 8;

class Estimate {
public:
  Estimate(const ResourceView &view, const DeviceLimits &limits, const RegisterCosts &costs,
           Resources &out)
      : view(view), limits(limits), costs(costs), out(out), warps(view.parameter("warps")),
        threads(warps * 32), raw(view.constant(0)) {}

  void add(OpId op, RegisterCost cost, Expr count) {
    const Expr sixteenths = costs[static_cast<size_t>(cost)];
    add(op, std::string(registerCostFacts(cost).name),
        sixteenths.isConstant(16) ? count : (count * sixteenths + 8).floorDiv(16));
  }
  void add(OpId op, std::string name, Expr amount) {
    if (amount.isConstant(0))
      return;
    raw = raw + amount;
    out.registerItems.push_back({op, std::move(name), amount});
  }

  /// Registers with which `ctas` CTAs share an SM.
  Expr share(Expr ctas) const {
    return view.constant(limits.registersPerSm).floorDiv(threads * ctas).floorDiv(8) * 8;
  }
  /// The number of CTAs of `warps` warps that an SM holds.
  Expr maxCtas() const {
    return view.constant(limits.warpsPerSm).floorDiv(warps).max(1).min(limits.ctasPerSm);
  }

  /// Loads can be serialised: of the registers beyond a full SM's share few are used.
  void fillSm(OpId op) {
    const Expr over = (raw - share(maxCtas())).max(0);
    add(op, "given up so that CTAs fill an SM", -(over * 7).ceilDiv(10));
  }
  /// Held values can't: up to 15 % beyond a full SM's share.
  void fillSmIfNear(OpId op, Expr isHeld) {
    const Expr full = share(maxCtas());
    const Expr isNear = isAtLeast(full * 115, raw * 100);
    const Expr kept = (raw - full).max(0);
    add(op, "given up so that CTAs fill an SM",
        -(isHeld * isNear * kept + (view.constant(1) - isHeld) * (kept * 7).ceilDiv(10)));
  }
  /// One CTA more, for up to 20 %.
  void addCta(OpId op) {
    const Expr now = roundUp(raw.max(8), 8);
    const Expr ctas = view.constant(limits.registersPerSm).floorDiv(threads * now) + 1;
    const Expr target = share(ctas).min(limits.registersPerThread);
    const Expr isWorth = isAtLeast(maxCtas(), ctas) * isAtLeast(target * 120, raw * 100);
    add(op, "given up for one more CTA on an SM", -(isWorth * (raw - target).max(0)));
  }

  const ResourceView &view;
  const DeviceLimits &limits;
  const RegisterCosts &costs;
  Resources &out;
  const Expr warps, threads;
  Expr raw;
};

/// A thread's registers for one element of the results while it is computed.
struct Body {
  int64_t inputBits = 0, resultBits = 0;
  int64_t inputs = 0; ///< that have dims
  int64_t live = 0;   ///< largest number of 32-bit values live at once, with ops in order
  int64_t work = 1;
  bool isLong() const { return work > plainWork; }
};

Body bodyOf(const ResourceView &view) {
  Body body;
  const Group &group = view.group.group;
  auto bitsOf = [&](OpId id) { return int64_t(bitWidth(view.shapeOf(id).dtype)); };
  auto wordsOf = [&](OpId id) { return std::max<int64_t>(1, bitsOf(id) / 32); };
  for (OpId id : group.inputs)
    if (view.shapeOf(id).rank() > 0) {
      body.inputBits += bitsOf(id);
      ++body.inputs;
    }
  for (OpId id : group.roots)
    body.resultBits += bitsOf(id);
  body.work = workPerElement(view.graph, group.ops);
  // Scalars, constants and positions are the same for all elements, or computed where they are
  // read.
  auto isHeld = [&](OpId id) {
    const Op &op = view.graph[id];
    return view.shapeOf(id).rank() > 0 && op.opcode != Opcode::Constant &&
           op.opcode != Opcode::Broadcast && op.opcode != Opcode::Iota;
  };
  std::map<OpId, OpId> lastReader;
  for (OpId id : group.ops)
    for (OpId operand : view.graph[id].operands)
      lastReader[operand] = id;
  const std::set<OpId> roots(group.roots.begin(), group.roots.end());
  std::set<OpId> alive;
  int64_t live = 0;
  auto begin = [&](OpId id) {
    if (isHeld(id) && alive.insert(id).second)
      live += wordsOf(id);
  };
  for (OpId id : group.ops) {
    for (OpId operand : view.graph[id].operands)
      begin(operand);
    begin(id);
    body.live = std::max(body.live, live);
    for (OpId operand : view.graph[id].operands)
      if (lastReader[operand] == id && roots.count(operand) == 0 && alive.erase(operand))
        live -= wordsOf(operand);
  }
  return body;
}

/// Root dims over which there are several tiles: each has an index.
Expr griddedDims(const ResourceView &view) {
  Expr count = view.constant(0);
  for (size_t i = 0; i < view.rootTile.size(); ++i)
    count = count + (view.group.space.parameters[i].tileCount() - 1).max(0).min(1);
  return count;
}

void addElementwise(Estimate &e) {
  const ResourceView &view = e.view;
  const Body body = bodyOf(view);
  const Expr one = view.constant(1);
  Expr lanes = one, elements = one;
  for (Expr size : view.rootTile)
    elements = elements * size;
  if (const Shape &root = view.rootShape(); root.rank() > 0) {
    const auto fastest = static_cast<size_t>(root.minorToMajorOrDefault()[0]);
    lanes = lanesFor(view, root.dims[fastest], view.rootTile[fastest]);
  }
  for (const StagedInputTile &input : stagedInputTiles(view)) { // a word at a time
    constexpr int64_t wordBits = 32, widest = 16;
    const int64_t bits = bitWidth(view.graph[input.op].shape.dtype);
    const Expr isStaged = input.bytes.min(1);
    lanes = lanes.min((one - isStaged) * widest + isStaged * std::max<int64_t>(wordBits / bits, 1));
  }
  lanes = lanes.min(maxLanes(view.graph, view.group.group.ops, view.group.group.inputs));
  const int64_t most = pendingElements(view.graph, view.group.group.ops, view.group.group.inputs);
  Expr vectors = view.constant(most).floorDiv(lanes).max(1).min(maxPendingVectors);
  const Expr rounds = elements.ceilDiv(lanes).ceilDiv(e.threads).max(1);
  vectors = rounds.ceilDiv(rounds.ceilDiv(vectors));
  const OpId root = view.root;
  e.add(root, RegisterCost::ElementwiseBase, one);
  e.add(root, RegisterCost::ElementwiseIndices, griddedDims(view));
  e.add(root, RegisterCost::ElementwiseAddresses, vectors * body.inputs);
  e.add(root, RegisterCost::ElementwiseVectors,
        (vectors * lanes * (body.inputBits + body.resultBits)).ceilDiv(32));
  e.add(root, RegisterCost::ElementwiseValues, lanes * body.live);
  if (body.isLong())
    e.add(root, RegisterCost::ElementwiseFunctions, lanes);
  if (most == 0)
    e.add(root, RegisterCost::ElementwiseLoops, lanes);
  e.add(root, RegisterCost::ElementwiseCounter, isAtLeast(rounds, vectors + 1));
  e.fillSm(root);
}

void addReduction(Estimate &e) {
  const ResourceView &view = e.view;
  const Body body = bodyOf(view);
  const ReductionTiles tiles = reductionTiles(view);
  const Expr one = view.constant(1);
  const OpId op = view.group.instances[tiles.reductions.front()].op;
  // A whole row stays in registers if the results need it again.
  const Expr isKept = tiles.isWhole * isAtLeast(tiles.columns, view.constant(2));
  const Expr kept = tiles.held * isKept;
  const Expr inFlight = isKept * tiles.lanes + (one - isKept) * tiles.held.min(32);
  e.add(op, RegisterCost::ReductionBase, one);
  e.add(op, RegisterCost::ReductionRow, kept);
  e.add(op, RegisterCost::ReductionOtherRows, kept * std::max<int64_t>(body.inputs - 1, 0));
  e.add(op, RegisterCost::ReductionVectors, (inFlight * body.inputBits).ceilDiv(32));
  e.add(op, RegisterCost::ReductionLoop, one - tiles.isWhole);
  if (body.isLong())
    e.add(op, RegisterCost::ReductionFunctions, tiles.lanes);
  if (!tiles.alongRows)
    e.add(op, RegisterCost::ReductionPlaces, one);
  e.fillSmIfNear(op, isKept);
}

/// The smallest rows + columns of a warp's share, over grids of warps that divide the tile evenly.
Expr warpEdge(const ResourceView &view, Expr rows, Expr columns) {
  constexpr int64_t never = 1 << 20;
  const Expr warps = view.parameter("warps"), one = view.constant(1);
  Expr least = rows + columns;
  for (int64_t r = 1; r <= 32; r *= 2) {
    const Expr isEven =
        isMultiple(warps, r) * isMultiple(rows, 16 * r) * isMultiple(columns * r, warps * 8);
    least = least.min(rows.floorDiv(r) + (columns * r).floorDiv(warps) + (one - isEven) * never);
  }
  return least;
}

/// Registers a thread when `warps` warps share an SM evenly.
Expr evenShare(Expr warps, const DeviceLimits &limits) {
  const Expr share =
      warps.context().constant(limits.registersPerSm / 128).floorDiv(warps.ceilDiv(4));
  return (share.floorDiv(8) * 8).min(limits.registersPerThread);
}

/// The producer warp, and where its CTA would have too few registers, three idle warps beside it
/// that release theirs (analysis/program/pass/roles.h): then all start with an even share.
void addProducerWarps(Estimate &e, OpId op, Expr needed) {
  const Expr warps = e.warps, one = e.view.constant(1);
  const Expr even = evenShare(warps + 1, e.limits), shared = evenShare(warps + 4, e.limits);
  const Expr most = mostWarpgroupRegisters(warps, e.limits);
  const Expr moves =
      isAtLeast(needed, even + 1) * isAtLeast(most, even + 1) * isAtLeast(most, needed);
  e.add(op, "moved from the producer warps", moves * (shared - e.raw));
  e.out.threads = (warps + one + moves * 3) * 32;
}

/// Sums of a thread as in the code whose registers were measured: rows padded to those of all
/// warpgroups where the columns can't be parted at lines of 64.
Expr measuredSums(const Estimate &e, unsigned dot, const DotTiles &tiles) {
  const ResourceView &view = e.view;
  const Expr groups = view.parameter("warps").floorDiv(4).max(1);
  constexpr int64_t maxGroups = 8;
  Expr below = view.constant(1);
  for (int64_t g = 2; g <= maxGroups; ++g)
    below =
        below.max(isMultiple(groups, g) * isAtLeast(tiles.rows, view.constant(64 * g - 63)) * g);
  const Expr parts = isMultiple(tiles.columns, groups.floorDiv(below) * 64);
  const Expr groupRows = parts * below + (view.constant(1) - parts) * groups;
  const Expr unit = isFloat(view.dtype(dot)) ? view.constant(8)
                                             : isAtLeast(tiles.columns, view.constant(33)) * 8 + 8;
  return (roundUp(tiles.rows, groupRows * 64) * roundUp(tiles.columns, unit)).ceilDiv(e.threads);
}

void addDot(Estimate &e, unsigned dot, Instruction instruction) {
  const ResourceView &view = e.view;
  const Op &op = view.op(dot);
  const OpId id = view.group.instances[dot].op;
  const DotTiles tiles = dotTiles(view, dot);
  const Expr one = view.constant(1);
  const DType type = view.shapeOf(op.operands[0]).dtype;
  const int64_t bytes = std::max(1u, bitWidth(type) / 8);
  if (instruction == Instruction::Wgmma) {
    const WarpgroupTiles padded = warpgroupTiles(view, dot, tiles);
    const Expr sums = (padded.rows * padded.columns).ceilDiv(e.threads);
    e.add(id, RegisterCost::WgmmaAccumulators, measuredSums(e, dot, tiles));
    e.add(id, RegisterCost::WgmmaBeside, one);
    addProducerWarps(e, id, sums + warpgroupRegistersBesideSums);
    return;
  }
  if (instruction == Instruction::MmaSync) {
    constexpr int64_t fragmentBytes = 32, copyBytes = 16, maxCopies = 64;
    const Expr rows = roundUp(tiles.rows, 16), columns = roundUp(tiles.columns, 8);
    const Expr step = roundUp(tiles.step, std::max<int64_t>(fragmentBytes / bytes, 1));
    const Expr sums = (rows * columns).ceilDiv(e.threads);
    auto copies = [&](Expr across) {
      return (across * step * bytes).ceilDiv(e.threads * copyBytes);
    };
    e.add(id, RegisterCost::MmaBase, one);
    e.add(id, RegisterCost::MmaAccumulators, sums);
    e.add(id, RegisterCost::MmaResults, sums);
    e.add(id, RegisterCost::MmaFragments, warpEdge(view, rows, columns).floorDiv(4));
    e.add(id, RegisterCost::MmaCopies, (copies(rows) + copies(columns)).min(maxCopies));
    e.add(id, RegisterCost::MmaStages, isAtLeast(view.parameter("stages"), one * 2));
    e.add(id, RegisterCost::MmaIndices, griddedDims(view));
    e.addCta(id);
    return;
  }
  // Threads in a grid: the fewest sums, then the fewest rows and columns.
  constexpr int64_t never = 1 << 28, most = 64;
  Expr sums = view.constant(never);
  for (int64_t c = 1; c <= 1024; c *= 2)
    sums = sums.min((tiles.rows * c).ceilDiv(e.threads) * tiles.columns.ceilDiv(c) +
                    (one - isMultiple(e.threads, c)) * never);
  e.add(id, RegisterCost::FmaBase, one);
  e.add(id, RegisterCost::FmaAccumulators, sums);
  e.add(id, RegisterCost::FmaElements,
        ((tiles.rows + tiles.columns) * tiles.step).ceilDiv(e.threads).min(most));
  e.add(id, RegisterCost::FmaSplit, isAtLeast(view.parameter("split_k"), one * 2));
  e.addCta(id);
}

void addChain(Estimate &e, const TwoDots &dots, bool isWgmma) {
  const ResourceView &view = e.view;
  const ChainSizes sizes = chainSizes(view.graph, view.group, dots);
  const Expr keys = roundUp(sizes.step, 16), columns = roundUp(sizes.columns, 16),
             depth = roundUp(sizes.depth, 16);
  const Expr blocks = sizes.rows.ceilDiv(e.warps * 16); // of 16 rows, a warp
  const Expr scores = blocks * keys.floorDiv(2), sums = blocks * columns.floorDiv(2);
  const OpId id = dots.second;
  e.add(dots.first, RegisterCost::ChainScores, scores);
  e.add(id, RegisterCost::ChainPacked, scores.floorDiv(2));
  e.add(id, RegisterCost::ChainAccumulators, sums);
  if (isWgmma) {
    e.add(id, RegisterCost::ChainWgmmaBeside, view.constant(1));
    addProducerWarps(e, id, e.raw);
    return;
  }
  // Few fragments of Q stay in registers; many are read again.
  constexpr int64_t maxKept = 32, readAgain = 8;
  const Expr fragments = blocks * depth.floorDiv(4);
  const Expr isMuch = isAtLeast(fragments, view.constant(maxKept + 1));
  e.add(dots.first, RegisterCost::ChainFragments,
        isMuch * readAgain + (view.constant(1) - isMuch) * fragments);
  e.add(id, RegisterCost::ChainBeside, (e.raw * 2).ceilDiv(5));
}

} // namespace

Expr warpgroupSums(const ResourceView &view, const CodeChoice &code) {
  const Expr warps = view.parameter("warps");
  if (code.kind == CodeKind::Chain) {
    const ChainSizes sizes =
        chainSizes(view.graph, view.group, *twoDots(view.graph, view.group.group));
    const Expr keys = roundUp(sizes.step, 16), columns = roundUp(sizes.columns, 16);
    return sizes.rows.ceilDiv(warps * 16) *
           (keys.floorDiv(2) + keys.floorDiv(4) + columns.floorDiv(2));
  }
  Expr sums = view.constant(0);
  for (unsigned i = 0; i < view.group.instances.size(); ++i)
    if (view.isDot(i)) {
      const WarpgroupTiles padded = warpgroupTiles(view, i, dotTiles(view, i));
      sums = sums.max((padded.rows * padded.columns).ceilDiv(warps * 32));
    }
  return sums;
}

Expr mostWarpgroupRegisters(Expr warps, const DeviceLimits &limits) {
  constexpr int64_t maxMoved = 240, maxWarps = 32;
  const Expr groups = warps.floorDiv(4).max(1), even = evenShare(warps + 1, limits);
  const Expr shared = evenShare(warps + 4, limits);
  const Expr moved =
      (shared * (groups + 1) - copyingWarpRegisters).max(0).floorDiv(groups).floorDiv(8) * 8;
  return even.max(moved.min(maxMoved) * isAtLeast(warps.context().constant(maxWarps), warps + 4));
}

const RegisterCostFacts &registerCostFacts(RegisterCost cost) {
  static constexpr RegisterCostFacts facts[] = {
#define TILEWRIGHT_REGISTER_COST(constant, sixteenths, origin, name)                               \
  {#constant, sixteenths, RegisterCostFacts::Origin::origin, name},
#include "analysis/tiling/register_costs.def"
  };
  return facts[static_cast<size_t>(cost)];
}

RegisterCosts registerCosts(ExprContext &ctx) {
  RegisterCosts costs;
  for (size_t i = 0; i < costs.size(); ++i)
    costs[i] = ctx.constant(registerCostFacts(RegisterCost(i)).sixteenths);
  return costs;
}

void addRegisterItems(const ResourceView &view, const CodeChoice &code, const DeviceLimits &limits,
                      const RegisterCosts &costs, Resources &out) {
  Estimate e(view, limits, costs, out);
  out.threads = e.threads;
  switch (code.kind) {
  case CodeKind::Elementwise:
    addElementwise(e);
    break;
  case CodeKind::Reduction:
    addReduction(e);
    break;
  case CodeKind::Fused: // of its program
    break;
  case CodeKind::Chain:
    if (auto dots = twoDots(view.graph, view.group.group))
      addChain(e, *dots, code.instruction == Instruction::Wgmma);
    break;
  case CodeKind::Dot:
    for (unsigned i = 0; i < view.group.instances.size(); ++i)
      if (view.isDot(i)) {
        addDot(e, i, code.instruction);
        break;
      }
    break;
  }
}

} // namespace tilewright
