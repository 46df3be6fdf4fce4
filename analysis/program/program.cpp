#include "analysis/program/program.h"

namespace tilewright::program {

Expr Program::resolved(Expr expr) const {
  // A let may use those before it: the last first.
  for (size_t i = lets.size(); i-- > 0;) {
    std::vector<Expr> table(context->variableCount());
    table[lets[i].var.variable().index] = lets[i].value;
    expr = tilewright::substitute(expr, std::span<const Expr>(table));
  }
  return expr;
}

AxisId Program::axisOf(VarId var) const {
  for (uint32_t i = 0; i < axes.size(); ++i)
    if (axes[i].var.variable() == var)
      return AxisId{i};
  return AxisId{};
}

ValueId Program::valueOf(VarId var) const {
  for (uint32_t i = 0; i < values.size(); ++i)
    if (values[i].var.variable() == var)
      return ValueId{i};
  return ValueId{};
}

const GridVariable *Program::gridVariableOf(VarId var) const {
  for (const GridVariable &variable : grid.variables)
    if (variable.var.variable() == var)
      return &variable;
  return nullptr;
}

AxisSet Program::axesOf(Expr index) const {
  AxisSet result;
  for (VarId var : variablesOf(index)) {
    if (AxisId axis = axisOf(var); axis.isValid())
      insert(result, axis);
    if (ValueId value = valueOf(var); value.isValid())
      unite(result, (*this)[value].tile.axes);
  }
  return result;
}

AxisSet Program::axesOf(const Access &access) const {
  AxisSet result;
  for (Expr index : access.index)
    unite(result, axesOf(index));
  return result;
}

AxisSet Program::axesOf(const ScalarExpr &scalar) const {
  AxisSet result;
  for (const ScalarNode &node : scalar.nodes) {
    if (node.kind == ScalarNode::Kind::Value)
      unite(result, (*this)[node.value].tile.axes);
    if (node.kind == ScalarNode::Kind::Slot)
      for (AxisId axis : (*this)[node.buffer].order)
        insert(result, axis);
    if (node.kind == ScalarNode::Kind::Index)
      unite(result, axesOf(node.index));
  }
  return result;
}

Expr Program::splitVariable() const {
  Expr found;
  forEachOp(body, [&](const Op &op, const LoopNest &) {
    if (const auto *loop = op.as<ForOp>(); loop && loop->splitVar)
      found = loop->splitVar;
    if (const auto *sum = op.as<SumSplitsOp>())
      found = sum->splitVar;
  });
  return found;
}

namespace {

Layout resolvedDigits(const Program &program, Layout layout) {
  for (std::vector<Digit> *digits : {&layout.registers, &layout.lanes, &layout.warps})
    for (Digit &digit : *digits) {
      digit.extent = program.resolved(digit.extent);
      digit.stride = program.resolved(digit.stride);
    }
  return layout;
}

/// Axes of digits that a tile lacks.
AxisSet axesBeside(const Layout &layout, const AxisSet &tileAxes) {
  AxisSet missing;
  for (const std::vector<Digit> *digits : {&layout.registers, &layout.lanes, &layout.warps})
    for (const Digit &digit : *digits)
      if (digit.axis.isValid() && !contains(tileAxes, digit.axis))
        insert(missing, digit.axis);
  return missing;
}

} // namespace

Layout Program::layoutFor(const LayoutSpec &spec, const AxisSet &tileAxes, DType type,
                          RoleId role) const {
  if (spec.family == LayoutFamily::Like) {
    const Tile &other = (*this)[spec.value].tile;
    return other.layout.withoutAxes(without(other.axes, tileAxes));
  }
  if (spec.family == LayoutFamily::Digits)
    return resolvedDigits(*this, spec.digits).withoutAxes(axesBeside(spec.digits, tileAxes));
  LayoutSpec numbers = spec;
  for (Expr &argument : numbers.arguments)
    argument = resolved(argument);
  std::vector<AxisExtent> extents;
  AxisSet missing;
  for (AxisId axis : spec.of.empty() ? tileAxes : spec.of) {
    extents.push_back({axis, resolved((*this)[axis].extent)});
    if (!contains(tileAxes, axis))
      insert(missing, axis);
  }
  return makeLayout(numbers, extents, bitWidth(type),
                    resolved(role.isValid() ? (*this)[role].warps : warps))
      .withoutAxes(missing);
}

llvm::Error Program::errorAt(SourceLoc where, std::string message, DiagClass cls) const {
  if (text && where.isKnown())
    return makeError(diagAt(*text, where, std::move(message), cls));
  return makeError(cls, "{}", message);
}

void forEachOpOf(const Op &op, const std::function<void(const Op &)> &visit) {
  visit(op);
  for (const Region *region : regionsOf(op))
    forEachOp(*region, [&](const Op &inner, const LoopNest &) { visit(inner); });
}

bool readsBuffer(const Op &op, BufferId buffer) {
  bool found = false;
  forEachOpOf(op, [&](const Op &inner) {
    for (const SlotRead &read : slotReadsOf(inner))
      found = found || read.buffer == buffer;
  });
  return found;
}

MemoryRun memoryRunOf(const Program &program, const Access &access) {
  MemoryRun run;
  if (access.index.empty())
    return run;
  Expr index = access.index.back();
  if (index.kind() == ExprKind::Add && index.rhs().isConstant()) {
    run.start = index.rhs().constant();
    index = index.lhs();
  }
  if (index.isVariable())
    run.axis = program.axisOf(index.variable());
  return run;
}

std::vector<TileDigit> tileDigitsOf(const Program &program, AxisId axis, Simplifier &simplifier) {
  std::vector<VarId> moving = variablesOf(program[axis].origin);
  std::vector<TileDigit> digits;
  auto add = [&](Expr var, Expr count) {
    bool isNew = std::none_of(digits.begin(), digits.end(), [&](const TileDigit &digit) {
      return digit.var == var.variable(); // several loops may have one variable
    });
    if (isNew && std::binary_search(moving.begin(), moving.end(), var.variable()))
      digits.push_back({var.variable(), program.resolved(count)});
  };
  for (const GridVariable &variable : program.grid.variables)
    add(variable.var, variable.count);
  forEachOp(program.body, [&](const Op &op, const LoopNest &) {
    if (const auto *loop = op.as<ForOp>())
      add(loop->var, loop->trips);
  });
  const Expr origin = simplifier.simplify(program.resolved(program[axis].origin));
  Expr number = program.number(0);
  for (const TileDigit &digit : digits)
    number = number * digit.count + program.context->variableExpr(digit.var);
  auto isAt = [&](Expr tile) {
    return simplifier.simplify(tile * program.resolved(program[axis].extent)) == origin;
  };
  bool isFromTheEnd = digits.size() == 1 && isAt(digits[0].count - 1 - number);
  if (!isFromTheEnd && !isAt(number))
    digits.clear();
  return digits;
}

bool liesIn(const Buffer &buffer, BufferId other) {
  return buffer.alias.isValid() && other.index >= buffer.alias.index &&
         other.index < buffer.alias.index + buffer.hosts;
}

bool shareMemory(const Program &program, BufferId a, BufferId b) {
  const Buffer &x = program[a], &y = program[b];
  if (liesIn(x, b) || liesIn(y, a))
    return true;
  return x.alias.isValid() && y.alias.isValid() && x.alias.index < y.alias.index + y.hosts &&
         y.alias.index < x.alias.index + x.hosts;
}

Expr bufferBytes(const Program &program, const Buffer &buffer) {
  Expr elements = program.number(1);
  for (size_t i = 0; i < buffer.order.size(); ++i) {
    Expr extent = program.resolved(program[buffer.order[i]].extent);
    bool isLast = i + 1 == buffer.order.size();
    elements = elements * (isLast ? extent + buffer.padElements : extent);
  }
  bool isWide = buffer.swizzle != 0 && program.producerWarps;
  int64_t unit = isWide ? 1024 : 128;
  Expr bytes = (elements * static_cast<int64_t>(bitWidth(buffer.type))).ceilDiv(8);
  return bytes.ceilDiv(unit) * unit * program.resolved(buffer.stages);
}

namespace {

void visitRegion(const Region &region, LoopNest &loops,
                 const std::function<void(const Op &, const LoopNest &)> &visit) {
  for (const Op &op : region) {
    visit(op, loops);
    bool isLoop = op.as<ForOp>();
    if (isLoop)
      loops.push_back(&op);
    for (const Region *inner : regionsOf(op))
      visitRegion(*inner, loops, visit);
    if (isLoop)
      loops.pop_back();
  }
}

} // namespace

void forEachOp(const Region &region,
               const std::function<void(const Op &, const LoopNest &)> &visit) {
  LoopNest loops;
  visitRegion(region, loops, visit);
}

} // namespace tilewright::program
