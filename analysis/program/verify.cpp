#include "analysis/program/verify.h"

#include "analysis/program/verifier.h"

namespace tilewright::program {

namespace {

constexpr VerifierRule ruleTable[] = {
    {1, "axes, buffers, tensors and values exist, and ranks agree"},
    {2, "a value that is assigned again keeps its type, axes and layout"},
    {3, "a result has the union of its operands' axes, less those that are gone over"},
    {4, "the stores of a result write each of its elements once"},
    {5,
     "copies fill rings in issue, reads stand in the body, and neither is further ahead than there "
     "are stages"},
    {6, "buffers in the same memory are not in use together, and fit"},
    {7, "lanes that do not count hold the identity where a reduction or a dot goes over them"},
    {8, "operands are held as their op takes them"},
    {9, "shapes and types are those of the instruction"},
    {10, "copies have the rank, box and alignment that their instruction takes"},
    {11, "rows of a swizzled buffer are whole panels"},
    {12, "warps of wgmma are a multiple of four, and register budgets fit the register file"},
    {13, "all warps of a role reach its barriers"},
    {14, "sum.splits stands once, outside of loops and conditions"},
    {15, "atomics are of a monoid that hardware has for the type"},
    {16, "index tiles stand in loads, stores and atomics only"},
    {17, "threads, shared memory, registers and clusters are within the device's limits"},
    {18, "extents, counts and stages are at least 1, trips at least 0"},
};

} // namespace

std::span<const VerifierRule> verifierRules() { return ruleTable; }

Verification verify(const Program &program, const DeviceLimits *limits) {
  return Verifier(program, limits).run();
}

llvm::Error Verification::error(const Program &program) const {
  if (violations.empty())
    return llvm::Error::success();
  const Violation &first = violations.front();
  return program.errorAt(first.where, fmt::format("V{}: {}", first.rule, first.message));
}

Bounds sizeBounds(const Program &program) {
  Bounds bounds;
  for (Expr size : program.sizes)
    bounds.set(size, Interval{1, INT64_MAX});
  for (const GridVariable &variable : program.grid.variables)
    bounds.set(variable.var, Interval{0, INT64_MAX});
  return bounds;
}

Verifier::Verifier(const Program &program, const DeviceLimits *limits)
    : p(program), limits(limits), simplifier(*program.context, sizeBounds(program)) {}

void Verifier::violate(unsigned rule, SourceLoc where, std::string message) {
  result.violations.push_back({rule, where, std::move(message)});
}

std::optional<bool> Verifier::decide(const Formula &formula) {
  using Kind = Formula::Kind;
  switch (formula.kind()) {
  case Kind::True:
    return true;
  case Kind::False:
    return false;
  case Kind::LessEqual:
  case Kind::Equal: {
    Interval gap = simplifier.range(formula.rhs() - formula.lhs());
    bool isEqual = formula.kind() == Kind::Equal;
    if (isEqual ? gap == Interval::point(0) : gap.lo >= 0)
      return true;
    if (isEqual ? !gap.contains(0) : gap.hi < 0)
      return false;
    return std::nullopt;
  }
  case Kind::Divides: {
    Interval rest = simplifier.range(formula.rhs().mod(formula.lhs()));
    if (rest == Interval::point(0))
      return true;
    return rest.contains(0) ? std::nullopt : std::optional(false);
  }
  case Kind::Not: {
    std::optional<bool> part = decide(formula.parts().front());
    return part ? std::optional(!*part) : std::nullopt;
  }
  case Kind::And:
  case Kind::Or:
    break;
  }
  bool decisive = formula.kind() == Kind::Or, isOpen = false;
  for (const Formula &part : formula.parts()) {
    std::optional<bool> value = decide(part);
    if (value == decisive)
      return decisive;
    isOpen |= !value;
  }
  return isOpen ? std::nullopt : std::optional(!decisive);
}

void Verifier::require(unsigned rule, SourceLoc where, Formula formula, std::string message) {
  std::optional<bool> holds = decide(formula);
  if (!holds)
    result.requirements.push_back({rule, where, std::move(formula), std::move(message)});
  else if (!*holds)
    violate(rule, where, std::move(message));
}

Verification Verifier::run() {
  if (!checkReferences()) // nothing else can be asked
    return std::move(result);
  for (const TypeConflict &conflict : typeConflicts(p)) {
    const char *what = conflict.before.type != conflict.now.type   ? "type"
                       : conflict.before.axes != conflict.now.axes ? "axes"
                                                                   : "layout";
    violate(2, conflict.where,
            fmt::format("{} is {} and would become {}, of another {}: give it a name of its own",
                        p[conflict.value].name, printTile(p, conflict.before),
                        printTile(p, conflict.now), what));
  }
  visit(p.body, {});
  checkAliases();
  checkSwizzles();
  checkRoles();
  checkSizes();
  checkPads(*this);
  if (limits)
    checkLimits();
  return std::move(result);
}

bool Verifier::checkReferences() {
  size_t before = result.violations.size();
  auto bad = [&](SourceLoc where, std::string message) { violate(1, where, std::move(message)); };
  for (const Buffer &buffer : p.buffers) {
    bool isKnown = !buffer.order.empty();
    for (AxisId axis : buffer.order)
      isKnown = isKnown && axis.index < p.axes.size();
    bool isHosted =
        !buffer.alias.isValid() || (buffer.hosts >= 1 && buffer.hosts <= p.buffers.size() &&
                                    buffer.alias.index <= p.buffers.size() - buffer.hosts);
    if (!isKnown || !isHosted)
      bad({}, fmt::format("buffer {} names an axis or a buffer that there is not", buffer.name));
    for (size_t i = 0; i < buffer.order.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (buffer.order[i] == buffer.order[j])
          bad({}, fmt::format("buffer {} has axis {} twice", buffer.name, p[buffer.order[i]].name));
  }
  forEachOp(p.body, [&](const Op &op, const LoopNest &) {
    for (ValueId id : op.results)
      if (id.index >= p.values.size())
        bad(op.where, "a result that is no value of the program");
    if (const Access *access = accessOf(op)) {
      if (access->tensor.index >= p.tensors.size())
        return bad(op.where, "a tensor that the program does not have");
      size_t rank = p[access->tensor].dims.size();
      if (access->index.size() != rank)
        bad(op.where, fmt::format("{} coordinates for {} dims of {}", access->index.size(), rank,
                                  p[access->tensor].name));
    }
    for (const ScalarExpr *scalar : scalarsOf(op)) {
      if (scalar->nodes.empty())
        return bad(op.where, "an expression without a value");
      for (const ScalarNode &node : scalar->nodes)
        if ((node.kind == ScalarNode::Kind::Value && node.value.index >= p.values.size()) ||
            (node.kind == ScalarNode::Kind::Slot && node.buffer.index >= p.buffers.size()))
          bad(op.where, "an operand that the program does not have");
    }
    if (const auto *o = op.as<CopyOp>(); o && o->buffer.index >= p.buffers.size())
      bad(op.where, "a buffer that the program does not have");
    if (const auto *o = op.as<WriteOp>(); o && o->buffer.index >= p.buffers.size())
      bad(op.where, "a buffer that the program does not have");
    if (const auto *o = op.as<ReadOp>(); o && o->buffer.index >= p.buffers.size())
      bad(op.where, "a buffer that the program does not have");
    else if (o)
      for (AxisId axis : o->axes)
        if (axis.index >= p.axes.size())
          bad(op.where, "an axis that the program does not have");
  });
  return result.violations.size() == before;
}

void Verifier::visit(const Region &region, const Place &place) {
  for (const Op &op : region) {
    checkShape(op);
    checkMap(op, place);
    checkHolders(op, place);
    checkDigits(op, place);
    checkIndices(op);
    checkBarrier(op, place);
    if (op.as<StoreOp>())
      checkStore(op, place);
    if (const auto *o = op.as<AtomicOp>())
      checkAtomic(op, *o);
    if (const auto *o = op.as<DotOp>())
      checkDot(op, *o);
    if (const auto *o = op.as<CopyOp>())
      checkCopy(op, *o, place);
    for (const SlotRead &read : slotReadsOf(op))
      checkReadPlace(op, read.buffer, read.step, place);
    if (const auto *o = op.as<ReadOp>(); o && !o->axes.empty())
      checkReadAxes(op, *o);
    if (const auto *o = op.as<SumSplitsOp>())
      checkSplits(op, *o, place);
    Place inner = place;
    if (const auto *o = op.as<ForOp>()) {
      checkLoop(op, *o);
      inner.loops.push_back(&op);
      visit(o->body, inner);
      inner.isIssue = true;
      visit(o->issue, inner);
    } else if (const auto *o = op.as<IfOp>()) {
      inner.isInIf = true;
      visit(o->then, inner);
      visit(o->otherwise, inner);
    } else if (const auto *o = op.as<RoleOp>()) {
      inner.role = o->role;
      visit(o->body, inner);
    }
  }
}

void Verifier::checkShape(const Op &op) {
  auto expectInside = [&](const AxisSet &some, const AxisSet &all, const char *what) {
    for (AxisId axis : some)
      if (!contains(all, axis))
        violate(3, op.where, fmt::format("{} has no axis {}", what, p[axis].name));
  };
  if (const auto *o = op.as<ReduceOp>()) {
    expectInside(o->over, p.axesOf(o->value), "what is reduced");
    if (resultCount(o->monoid) == 2 && o->over.size() != 1)
      violate(3, op.where,
              fmt::format("{} goes over one axis, not {}", toString(o->monoid), o->over.size()));
  }
  if (const auto *o = op.as<ScanOp>()) {
    expectInside({o->over}, p.axesOf(o->value), "what is scanned");
    if (resultCount(o->monoid) == 2)
      violate(3, op.where, fmt::format("a scan of {} has no meaning", toString(o->monoid)));
  }
  if (const auto *o = op.as<DotOp>()) {
    expectInside(o->over, p.axesOf(o->left), "the left operand");
    expectInside(o->over, p.axesOf(o->right), "the right operand");
    AxisSet axes = p.axesOf(o->left);
    unite(axes, p.axesOf(o->right));
    axes = without(std::move(axes), o->over);
    const Tile &tile = p[op.results[0]].tile;
    if (o->isAdded && tile.axes != axes)
      violate(3, op.where,
              fmt::format("{} is {}, and the product has {} axes", p[op.results[0]].name,
                          printTile(p, tile), axes.size()));
  }
  if (const auto *o = op.as<WriteOp>()) {
    AxisSet all;
    for (AxisId axis : p[o->buffer].order)
      insert(all, axis);
    expectInside(p.axesOf(o->value), all, "the buffer");
  }
  if (const auto *o = op.as<SelectAxisOp>())
    expectInside({o->axis}, p[o->value].tile.axes, "the value");
  if (const auto *o = op.as<JoinOp>()) {
    for (ValueId part : o->parts)
      if (contains(p[part].tile.axes, o->axis) || p[part].tile.axes != p[o->parts[0]].tile.axes ||
          p[part].tile.type != p[o->parts[0]].tile.type)
        violate(3, op.where,
                "parts that are joined have one type and the same axes, without the "
                "one that they are joined over");
    Expr parts = p.number(static_cast<int64_t>(o->parts.size())), extent = p[o->axis].extent;
    require(3, op.where, Formula::equal(resolved(extent), parts),
            fmt::format("axis {} has {} lanes for {} parts", p[o->axis].name, text(extent),
                        o->parts.size()));
  }
}

bool Verifier::isSequential(VarId var) const { return p.context->info(var).kind == VarKind::Step; }

/// The numbers, ascending, that stores have along a dim which are alike in all others.
std::vector<int64_t> Verifier::storedBeside(const StoreOp &store, size_t dim) const {
  std::vector<int64_t> places;
  forEachOp(p.body, [&](const Op &op, const LoopNest &) {
    const auto *other = op.as<StoreOp>();
    if (!other || other->to.tensor != store.to.tensor || !other->to.index[dim].isConstant())
      return;
    bool isAlike = true;
    for (size_t d = 0; d < store.to.index.size(); ++d)
      isAlike = isAlike && (d == dim || other->to.index[d] == store.to.index[d]);
    if (isAlike)
      places.push_back(other->to.index[dim].constant());
  });
  std::sort(places.begin(), places.end());
  return places;
}

/// One coordinate of a store: an axis whose tiles cover the dim, a CTA or loop variable that counts
/// it, or lane 0 of a dim of 1. Marks the variables that it spreads over.
void Verifier::checkStoreIndex(const Op &op, const StoreOp &store, size_t dim,
                               std::vector<VarId> &used) {
  Expr index = store.to.index[dim], size = resolved(p[store.to.tensor].dims[dim]);
  std::string name = p[store.to.tensor].name;
  if (index.isConstant()) {
    const std::vector<int64_t> all = storedBeside(store, dim);
    require(4, op.where, Formula::equal(size, p.number(static_cast<int64_t>(all.size()))),
            fmt::format("dim {} of {} has {} elements, of which {} stored", dim, name, text(size),
                        all.size() == 1 ? "one is" : fmt::format("{} are", all.size())));
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] != static_cast<int64_t>(i) && all.size() > 1) {
        violate(4, op.where,
                fmt::format("places {} along dim {} of {} are stored by ops that "
                            "differ there alone: they are not each of them once",
                            fmt::join(all, ", "), dim, name));
        break;
      }
    return;
  }
  const GridVariable *counted = index.isVariable() ? p.gridVariableOf(index.variable()) : nullptr;
  if (counted) {
    used.push_back(index.variable());
    require(4, op.where, Formula::equal(resolved(counted->count), size),
            fmt::format("dim {} of {} has {} elements, {} counts {}", dim, name, text(size),
                        counted->name, text(counted->count)));
    return;
  }
  AxisId id = index.isVariable() ? p.axisOf(index.variable()) : AxisId{};
  if (!id.isValid()) {
    result.undecided.push_back(
        {4, op.where, fmt::format("whether {} writes each element of {} once", text(index), name)});
    for (AxisId axis : p.axesOf(index))
      for (VarId var : variablesOf(p[axis].origin))
        used.push_back(var);
    for (VarId var : variablesOf(index))
      used.push_back(var);
    return;
  }
  const Axis &axis = p[id];
  Expr bound = axis.bound ? resolved(axis.bound) : resolved(axis.extent);
  require(4, op.where, Formula::equal(bound, size),
          fmt::format("dim {} of {} has {} elements, axis {} ends at {}", dim, name, text(size),
                      axis.name, text(bound)));
  std::vector<VarId> moving;
  for (VarId var : variablesOf(axis.origin))
    if (p.gridVariableOf(var) || isSequential(var))
      moving.push_back(var);
  Expr extent = resolved(axis.extent), origin = resolved(axis.origin);
  if (moving.empty()) {
    require(4, op.where, Formula::equal(origin, p.number(0)),
            fmt::format("axis {} starts at {}, and the elements before are not stored", axis.name,
                        text(origin)));
    require(4, op.where, Formula::lessEqual(size, extent),
            fmt::format("axis {} has {} lanes, {} has {} elements along it", axis.name,
                        text(extent), name, text(size)));
    return;
  }
  used.insert(used.end(), moving.begin(), moving.end());
  std::vector<TileDigit> digits = tileDigitsOf(p, id, simplifier);
  if (digits.size() != moving.size()) {
    result.undecided.push_back(
        {4, op.where,
         fmt::format("whether tiles of axis {} at {} cover {} without overlap", axis.name,
                     text(axis.origin), name)});
    return;
  }
  Expr inner = p.number(1);
  for (size_t i = 1; i < digits.size(); ++i)
    inner = inner * digits[i].count;
  Expr count = digits[0].count * inner;
  Expr needed = size.ceilDiv(extent * inner);
  if (simplifier.simplify(digits[0].count) == simplifier.simplify(needed)) // covers by definition
    return;
  require(4, op.where, Formula::lessEqual(size, count * extent),
          fmt::format("{} tiles of {} lanes cover less than the {} elements of {} along axis {}",
                      text(count), text(extent), text(size), name, axis.name));
}

void Verifier::checkStore(const Op &op, const Place &place) {
  const auto &store = *op.as<StoreOp>();
  AxisSet axes = p.axesOf(store.to);
  for (AxisId axis : p.axesOf(store.value))
    if (!contains(axes, axis))
      violate(4, op.where,
              fmt::format("the value has axis {}, which moves along no dim of {}: it would be "
                          "stored once a lane",
                          p[axis].name, p[store.to.tensor].name));
  std::vector<VarId> used;
  for (size_t dim = 0; dim < store.to.index.size(); ++dim)
    checkStoreIndex(op, store, dim, used);
  auto expectOnce = [&](Expr var, Expr count, const std::string &name) {
    if (std::find(used.begin(), used.end(), var.variable()) != used.end())
      return;
    require(4, op.where, Formula::equal(resolved(count), p.number(1)),
            fmt::format("{} does not move the store, which is made for each of its {} values", name,
                        text(count)));
  };
  Expr split = p.splitVariable();
  for (const GridVariable &variable : p.grid.variables)
    if (!(isBehindSplits && variable.var == split))
      expectOnce(variable.var, variable.count, variable.name);
  for (const Op *loop : place.loops)
    expectOnce(loop->as<ForOp>()->var, loop->as<ForOp>()->trips, loop->as<ForOp>()->name);
}

} // namespace tilewright::program
