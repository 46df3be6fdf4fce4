#include "analysis/program/build/builder.h"

namespace tilewright::program {

unsigned Builder::levelOf(Expr e) const {
  unsigned level = 0;
  for (VarId var : variablesOf(e)) {
    if (ValueId value = p.valueOf(var); value.isValid()) {
      level = std::max(level, valueLevels[value.index]);
      continue;
    }
    AxisId axis = p.axisOf(var);
    for (unsigned l = static_cast<unsigned>(levels.size()); l-- > level + 1;) {
      VarId step = levels[l].step.variable();
      bool isMoved = var == step;
      if (axis.isValid())
        for (VarId moving : variablesOf(p[axis].origin))
          isMoved |= moving == step;
      if (isMoved)
        level = l;
    }
  }
  return level;
}

unsigned Builder::levelOf(const Coordinates &at, const Guard &guard) const {
  unsigned level = 0;
  for (Expr e : at)
    level = std::max(level, levelOf(e));
  for (const MapConstraint &condition : guard)
    level = std::max(level, levelOf(condition.expr));
  return level;
}

unsigned Builder::levelOf(const Leaf &leaf) const {
  if (leaf.kind == ScalarNode::Kind::Value)
    return valueLevels[leaf.value.index];
  return leaf.kind == ScalarNode::Kind::Index ? levelOf(leaf.index) : 0;
}

ValueId Builder::newValue(DType type, AxisSet axes, unsigned level) {
  ValueId id{static_cast<uint32_t>(p.values.size())};
  Expr var = context.freshVariable(VarKind::Runtime, "value");
  p.values.push_back({context.info(var.variable()).name, var, {type, std::move(axes), {}}});
  valueLevels.push_back(level);
  return id;
}

void Builder::append(unsigned level, OpAttributes what, std::vector<ValueId> results) {
  for (ValueId id : results)
    made.try_emplace(id, Place{level, levels[level].ops.size()});
  program::Op op;
  op.what = std::move(what);
  op.results = std::move(results);
  levels[level].ops.push_back(std::move(op));
}

Builder::Leaf Builder::leafOf(ValueId value) const {
  Leaf leaf;
  leaf.kind = ScalarNode::Kind::Value;
  leaf.value = value;
  leaf.type = p[value].tile.type;
  return leaf;
}

Builder::Leaf Builder::leafOf(Expr e) const {
  if (e.isConstant())
    return numberOf(static_cast<double>(e.constant()));
  Leaf leaf;
  leaf.kind = ScalarNode::Kind::Index;
  leaf.index = e;
  leaf.type = DType::S32;
  return leaf;
}

Builder::Leaf Builder::numberOf(double value) {
  Leaf leaf;
  leaf.number = value;
  return leaf;
}

AxisSet Builder::axesOf(const Leaf &leaf) const {
  if (leaf.kind == ScalarNode::Kind::Value)
    return p[leaf.value].tile.axes;
  return leaf.kind == ScalarNode::Kind::Index ? p.axesOf(leaf.index) : AxisSet{};
}

Builder::Leaf Builder::mapOf(ScalarExpr scalar) {
  if (scalar.nodes.size() == 1)
    return scalar.root();
  unsigned level = 0;
  for (const ScalarNode &node : scalar.nodes)
    level = std::max(level, levelOf(node));
  ValueId result = newValue(scalar.type(), p.axesOf(scalar), level);
  append(level, MapOp{std::move(scalar), std::nullopt}, {result});
  return leafOf(result);
}

ValueId Builder::materialised(const Leaf &leaf, const AxisSet &axes) {
  AxisSet own = axesOf(leaf), missing = without(axes, own);
  if (leaf.kind == ScalarNode::Kind::Value && missing.empty())
    return leaf.value;
  ScalarExpr scalar;
  scalar.add(leaf);
  // A selection by coordinates, all of which hold, has the axes.
  for (AxisId axis : missing) {
    uint32_t inner = static_cast<uint32_t>(scalar.nodes.size() - 1);
    uint32_t at = scalar.add(leafOf(p[axis].var));
    uint32_t zero = scalar.add(numberOf(0));
    ScalarNode compare;
    compare.kind = ScalarNode::Kind::Operation;
    compare.opcode = Opcode::Compare;
    compare.comparison = Comparison::Ge;
    compare.operands = {at, zero};
    compare.type = DType::Pred;
    uint32_t holds = scalar.add(compare);
    uint32_t other = scalar.add(leaf.kind == ScalarNode::Kind::Number ? leaf : numberOf(0));
    ScalarNode choice;
    choice.kind = ScalarNode::Kind::Operation;
    choice.opcode = Opcode::Select;
    choice.operands = {holds, inner, other};
    choice.type = leaf.type;
    scalar.add(choice);
  }
  unsigned level = levelOf(leaf);
  for (AxisId axis : missing)
    level = std::max(level, levelOf(p[axis].var));
  ValueId result = newValue(leaf.type, p.axesOf(scalar), level);
  append(level, MapOp{std::move(scalar), std::nullopt}, {result});
  return result;
}

Builder::Aside Builder::putAside(unsigned level) {
  Aside aside;
  for (size_t l = level + 1; l < levels.size(); ++l)
    aside.levels.push_back(std::move(levels[l]));
  levels.resize(level + 1);
  return aside;
}

void Builder::putBack(Aside aside) {
  for (Level &level : aside.levels)
    levels.push_back(std::move(level));
}

void Builder::openLoop(unsigned level, Expr step, std::string name, Expr trips) {
  levels.resize(level + 1);
  Level loop;
  loop.step = step;
  loop.name = std::move(name);
  loop.trips = trips;
  levels.push_back(std::move(loop));
}

void Builder::closeLoop() {
  Level loop = std::move(levels.back());
  levels.pop_back();
  ForOp op;
  op.name = loop.name;
  op.var = loop.step;
  op.trips = loop.trips;
  op.body = std::move(loop.ops);
  op.issue = std::move(loop.issue);
  append(static_cast<unsigned>(levels.size() - 1), std::move(op), {});
}

Builder::Renewed::Renewed(Builder &builder, OpId id, const Coordinates &at) : b(builder) {
  AxisSet asked;
  for (Expr e : at)
    unite(asked, b.p.axesOf(e));
  for (unsigned parameter : Frame::parametersOf(b.group, id)) {
    const std::optional<AxisId> before = b.axisOf[parameter];
    if (!before || !contains(asked, *before))
      continue;
    known.push_back({parameter, *before, b.steps[parameter], b.stepNames[parameter]});
    Axis axis = b.p[*before];
    axis.name = b.names.of("ijklmn");
    axis.var = b.context.variable(VarKind::Dim, axis.name);
    b.setBounds(axis.var, Interval::ofExtent(b.group.space.parameters[parameter].extent));
    if (b.isStepped(parameter)) {
      b.stepNames[parameter] = b.names.of("tuv");
      b.steps[parameter] = b.context.variable(VarKind::Step, b.stepNames[parameter]);
      axis.origin = axis.extent * b.steps[parameter];
    }
    const AxisId made{static_cast<uint32_t>(b.p.axes.size())};
    b.p.axes.push_back(std::move(axis));
    b.axisOf[parameter] = made;
  }
}

Builder::Renewed::~Renewed() {
  for (Known &each : known) {
    b.axisOf[each.parameter] = each.axis;
    b.steps[each.parameter] = each.step;
    b.stepNames[each.parameter] = std::move(each.name);
  }
}

void Builder::setBounds(Expr var, Interval range) {
  bounds.set(var, range);
  simplifier.emplace(context, bounds);
}

} // namespace tilewright::program
