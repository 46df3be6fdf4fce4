#include "analysis/program/fold.h"
#include "analysis/program/verifier.h"

namespace tilewright::program {

void Verifier::checkBarrier(const Op &op, const Place &place) {
  if (const auto *branch = op.as<IfOp>()) {
    bool isUniform = p.axesOf(branch->condition).empty();
    for (VarId var : variablesOf(branch->condition))
      isUniform = isUniform && !p.valueOf(var).isValid();
    if (!isUniform)
      violate(13, op.where,
              fmt::format("{} differs between the threads of a role: an if is of CTA and loop "
                          "variables",
                          text(branch->condition)));
  }
  const auto *barrier = op.as<BarrierOp>();
  if (barrier && place.isIssue)
    violate(13, op.where, "a barrier in an issue block, which other warps may run");
  if (barrier && barrier->isOfCluster && (place.role.isValid() || place.isInIf))
    violate(13, op.where, "a barrier of the cluster that not all warps reach");
}

/// A best value and its place, which the same threads hold.
void Verifier::checkPair(const Op &op, const SumSplitsOp &sum) {
  if (sum.values.size() != 2)
    return violate(14, op.where,
                   fmt::format("sum.splits {} takes a value and its place", toString(sum.monoid)));
  const Tile &value = p[sum.values[0]].tile, &place = p[sum.values[1]].tile;
  if (place.type != DType::S32)
    violate(14, op.where, fmt::format("the place {} is no s32", p[sum.values[1]].name));
  if (value.axes != place.axes || value.layout != place.layout)
    violate(
        14, op.where,
        fmt::format("{} and {} are not held alike", p[sum.values[0]].name, p[sum.values[1]].name));
}

void Verifier::checkSplits(const Op &op, const SumSplitsOp &sum, const Place &place) {
  ++sumsOfSplits;
  isBehindSplits = true;
  if (!place.loops.empty())
    violate(14, op.where, "sum.splits inside a loop");
  if (place.isInIf || place.role.isValid())
    violate(14, op.where, "sum.splits where not all CTAs come by");
  if (sumsOfSplits > 1)
    violate(14, op.where, "a second sum.splits: sum several values in one");
  if (resultCount(sum.monoid) > 1)
    checkPair(op, sum);
  Expr split = sum.splitVar;
  if (!p.gridVariableOf(split.variable()))
    violate(14, op.where, fmt::format("{} is no CTA variable", text(split)));
  forEachOp(p.body, [&](const Op &other, const LoopNest &) {
    const auto *loop = other.as<ForOp>();
    if (!loop || !loop->splitVar)
      return;
    const GridVariable *variable = p.gridVariableOf(loop->splitVar.variable());
    if (!variable || loop->splitVar != split)
      return violate(14, other.where, "a loop is split over another variable than sum.splits");
    require(14, other.where, Formula::equal(resolved(loop->splits), resolved(variable->count)),
            fmt::format("a loop is split in {}, and {} counts {}", text(loop->splits),
                        variable->name, text(variable->count)));
  });
}

void Verifier::checkAtomic(const Op &op, const AtomicOp &atomic) {
  DType type = p[atomic.to.tensor].type;
  bool isKnown = atomic.monoid == Monoid::Add || atomic.monoid == Monoid::Max ||
                 atomic.monoid == Monoid::Min || atomic.monoid == Monoid::And ||
                 atomic.monoid == Monoid::Or;
  if (!isKnown)
    violate(15, op.where, fmt::format("there is no atomic {}", toString(atomic.monoid)));
  else if (isFloat(type) && atomic.monoid != Monoid::Add)
    violate(15, op.where,
            fmt::format("there is no atomic {} of {}", toString(atomic.monoid), toString(type)));
  if (bitWidth(type) < 16 || (bitWidth(type) == 16 && !isFloat(type)))
    violate(15, op.where, fmt::format("there are no atomics of {}", toString(type)));
  forEachOp(p.body, [&](const Op &other, const LoopNest &) {
    const auto *store = other.as<StoreOp>();
    if (store && store->to.tensor == atomic.to.tensor)
      violate(15, op.where, fmt::format("{} is stored and added to", p[atomic.to.tensor].name));
  });
}

void Verifier::checkIndices(const Op &op) {
  auto expectNoTile = [&](Expr e, const char *where) {
    if (!e)
      return;
    for (VarId var : variablesOf(e))
      if (ValueId value = p.valueOf(var); value.isValid())
        violate(16, op.where, fmt::format("{} is a value and stands in {}", p[value].name, where));
  };
  if (const auto *o = op.as<CopyOp>())
    for (Expr index : o->from.index)
      expectNoTile(index, "a copy: load it instead");
  if (const auto *o = op.as<ForOp>())
    for (Expr e : {o->trips, o->ahead, o->splits})
      expectNoTile(e, "a loop's count");
  if (const auto *o = op.as<SelectAxisOp>())
    expectNoTile(o->at, "a slice's lane");
  for (const ScalarExpr *scalar : scalarsOf(op))
    for (const ScalarNode &node : scalar->nodes)
      if (node.kind == ScalarNode::Kind::Index)
        expectNoTile(node.index, "an integer expression of a map: write it as an op");
}

void Verifier::checkSizes() {
  auto atLeastOne = [&](Expr e, const std::string &what) {
    if (e)
      require(18, {}, Formula::lessEqual(p.number(1), resolved(e)),
              fmt::format("{} is {}, at least 1 is needed", what, text(e)));
  };
  atLeastOne(p.warps, "the number of warps");
  atLeastOne(p.producerWarps, "the number of producer warps");
  for (const GridVariable &variable : p.grid.variables)
    atLeastOne(variable.count, "the count of " + variable.name);
  for (Expr e : {p.grid.group, p.grid.persistent, p.grid.clusterX, p.grid.clusterY})
    atLeastOne(e, "a number of the grid");
  for (const Axis &axis : p.axes)
    atLeastOne(axis.extent, "the extent of axis " + axis.name);
  for (const Buffer &buffer : p.buffers)
    atLeastOne(buffer.stages, "the stages of " + buffer.name);
}

void Verifier::checkLimits() {
  Folds folds = foldsOf(p);
  auto atMost = [&](Expr value, int64_t most, const char *what) {
    require(17, {}, Formula::lessEqual(value, p.number(most)),
            fmt::format("{} {}, the device has {}", text(value), what, most));
  };
  atMost(folds.counts[Count::Threads], limits->threadsPerCta, "threads a CTA");
  atMost(folds.counts[Count::SharedBytes], limits->sharedBytesPerCta, "bytes of shared memory");
  atMost(folds.counts[Count::LiveRegisters], limits->registersPerThread, "live registers a thread");
  constexpr int64_t mostCtas = 8;
  if (p.grid.clusterX)
    atMost(resolved(p.grid.clusterX) * resolved(p.grid.clusterY), mostCtas, "CTAs in a cluster");
}

} // namespace tilewright::program
