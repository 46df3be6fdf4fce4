#include "analysis/ir/numeric.h"
#include "analysis/program/infer.h"
#include "analysis/program/interpreter.h"

namespace tilewright::program {

Box Interpreter::boxOf(const AxisSet &axes) const {
  Box box{axes, {}, 1};
  for (AxisId axis : axes) {
    box.extents.push_back(number(program[axis].extent));
    box.size *= box.extents.back();
  }
  return box;
}

int64_t Interpreter::number(Expr expr) const {
  if (expr.isConstant())
    return expr.constant();
  return PointExpr(expr).at(environment.values).value_or(0);
}

std::vector<int64_t> Interpreter::coordinates(AxisId id) const {
  const Axis &axis = program[id];
  // Outside of the loop that moves it, an axis is its lanes.
  int64_t origin = environment.knows(axis.origin) ? number(axis.origin) : 0;
  std::vector<int64_t> result(static_cast<size_t>(number(axis.extent)));
  for (size_t lane = 0; lane < result.size(); ++lane)
    result[lane] = origin + static_cast<int64_t>(lane);
  return result;
}

std::vector<bool> Interpreter::countingLanes(AxisId id) const {
  const Axis &axis = program[id];
  std::vector<int64_t> at = coordinates(id);
  std::vector<bool> result(at.size(), true);
  if (!environment.knows(axis.origin))
    return result;
  for (size_t lane = 0; lane < at.size(); ++lane)
    result[lane] = (!axis.bound || at[lane] < number(axis.bound)) &&
                   (!axis.lower || at[lane] >= number(axis.lower));
  return result;
}

namespace {

/// Calls visit(point) with the lane along each axis, in order.
template <typename F> void forEachPoint(const Box &box, F visit) {
  std::vector<int64_t> lanes(box.axes.size());
  for (int64_t point = 0; point < box.size; ++point) {
    visit(point, lanes);
    for (size_t a = lanes.size(); a-- > 0;) {
      if (++lanes[a] < box.extents[a])
        break;
      lanes[a] = 0;
    }
  }
}

} // namespace

std::vector<bool> Interpreter::counting(const Box &box, const AxisSet &by) const {
  std::vector<std::vector<bool>> lanesOf(box.axes.size());
  for (size_t a = 0; a < box.axes.size(); ++a)
    if (contains(by, box.axes[a]))
      lanesOf[a] = countingLanes(box.axes[a]);
  std::vector<bool> result(static_cast<size_t>(box.size), true);
  forEachPoint(box, [&](int64_t point, const std::vector<int64_t> &lanes) {
    for (size_t a = 0; a < lanes.size(); ++a)
      if (!lanesOf[a].empty() && !lanesOf[a][static_cast<size_t>(lanes[a])])
        result[static_cast<size_t>(point)] = false;
  });
  return result;
}

std::vector<uint32_t> Interpreter::positions(const Box &from, const Box &box) const {
  std::vector<int64_t> strides(box.axes.size());
  int64_t stride = 1;
  for (size_t a = from.axes.size(); a-- > 0; stride *= from.extents[a])
    for (size_t b = 0; b < box.axes.size(); ++b)
      if (box.axes[b] == from.axes[a])
        strides[b] = stride;
  std::vector<uint32_t> result(static_cast<size_t>(box.size));
  forEachPoint(box, [&](int64_t point, const std::vector<int64_t> &lanes) {
    int64_t at = 0;
    for (size_t a = 0; a < lanes.size(); ++a)
      at += lanes[a] * strides[a];
    result[static_cast<size_t>(point)] = static_cast<uint32_t>(at);
  });
  return result;
}

/// The elements at the coordinates of `part`, which goes along a part of an axis of the slot.
Elements Interpreter::partOf(const Elements &slot, AxisId whole, AxisId part) const {
  AxisSet axes = without(slot.box.axes, {whole});
  insert(axes, part);
  Elements result{boxOf(axes), {}};
  // The slot's axis takes the place of the part: lanes of it are found by coordinates.
  int64_t first = coordinates(part)[0] - coordinates(whole)[0];
  std::vector<int64_t> strides(axes.size());
  int64_t stride = 1, start = 0;
  for (size_t a = slot.box.axes.size(); a-- > 0; stride *= slot.box.extents[a]) {
    bool isWhole = slot.box.axes[a] == whole;
    AxisId wanted = isWhole ? part : slot.box.axes[a];
    strides[static_cast<size_t>(std::find(axes.begin(), axes.end(), wanted) - axes.begin())] =
        stride;
    start += isWhole ? first * stride : 0;
  }
  result.data.resize(static_cast<size_t>(result.box.size));
  forEachPoint(result.box, [&](int64_t point, const std::vector<int64_t> &lanes) {
    int64_t at = start;
    for (size_t a = 0; a < lanes.size(); ++a)
      at += lanes[a] * strides[a];
    if (at >= 0 && at < static_cast<int64_t>(slot.data.size()))
      result.data[static_cast<size_t>(point)] = slot.data[static_cast<size_t>(at)];
  });
  return result;
}

std::vector<double> Interpreter::expanded(const Elements &from, const Box &box) const {
  if (from.box.axes == box.axes)
    return from.data;
  std::vector<uint32_t> at = positions(from.box, box);
  std::vector<double> result(at.size());
  for (size_t i = 0; i < at.size(); ++i)
    result[i] = from.data[at[i]];
  return result;
}

bool Interpreter::indexValues(const Op &op, Expr index, const Box &box, std::vector<int64_t> &out) {
  auto [it, isNew] = points.try_emplace(index.id(), index);
  const PointExpr &point = it->second;
  struct Moving {
    size_t variable;
    size_t axis; ///< in the box, for coordinates
    std::vector<int64_t> coordinates;
    std::vector<double> elements; ///< of index tiles, by point
  };
  std::vector<Moving> moving;
  for (VarId var : variablesOf(index)) {
    AxisId axis = program.axisOf(var);
    ValueId value = program.valueOf(var);
    if (axis.isValid()) {
      size_t place = static_cast<size_t>(std::lower_bound(box.axes.begin(), box.axes.end(), axis) -
                                         box.axes.begin());
      moving.push_back({var.index, place, coordinates(axis), {}});
    } else if (value.isValid()) {
      moving.push_back({var.index, 0, {}, expanded(*values[value.index], box)});
    } else if (!environment.isKnown[var.index]) {
      failed(op, fmt::format("{} has no value here", program.context->info(var).name));
      return false;
    }
  }
  out.resize(static_cast<size_t>(box.size));
  std::vector<int64_t> variables = environment.values;
  bool isDefined = true;
  forEachPoint(box, [&](int64_t at, const std::vector<int64_t> &lanes) {
    for (const Moving &m : moving)
      variables[m.variable] = m.elements.empty()
                                  ? m.coordinates[static_cast<size_t>(lanes[m.axis])]
                                  : static_cast<int64_t>(m.elements[static_cast<size_t>(at)]);
    std::optional<int64_t> value = point.at(variables);
    isDefined = isDefined && value;
    out[static_cast<size_t>(at)] = value.value_or(0);
  });
  if (!isDefined)
    failed(op, "an index has no value: a divisor is not positive, or it leaves 64 bits");
  return isDefined;
}

void Interpreter::convertTo(DType type, std::vector<double> &data) {
  for (double &value : data) {
    if (isFloat(type))
      value = roundFloat(type, value);
    else if (!std::isnan(value)) // a slot that was given back stays NaN
      value = static_cast<double>(value == std::trunc(value) && std::abs(value) < 9e15
                                      ? wrapInteger(type, static_cast<int64_t>(value))
                                      : integerFromFloat(type, value));
  }
}

const eval::ScalarOp *Interpreter::scalarOp(const ScalarExpr &scalar, const ScalarNode &node) {
  auto it = scalarOps.find(&node);
  if (it != scalarOps.end())
    return &it->second;
  const tilewright::Op op = graphOpOf(scalar, node);
  std::vector<DType> types(appliedOperands(node), operandType(scalar, node));
  if (node.opcode == Opcode::Select)
    types[0] = DType::Pred;
  llvm::Expected<eval::ScalarOp> made = eval::ScalarOp::make(op, types, eval::Rounding::All);
  if (!made) {
    error = made.takeError();
    return nullptr;
  }
  return &scalarOps.emplace(&node, *made).first->second;
}

bool Interpreter::applyNode(const Op &op, const ScalarExpr &scalar, const ScalarNode &node,
                            std::vector<std::vector<double>> &values, std::vector<double> &out) {
  const eval::ScalarOp *apply = scalarOp(scalar, node);
  if (!apply)
    return false;
  DType type = operandType(scalar, node);
  size_t count = appliedOperands(node);
  std::array<bool, eval::ScalarOp::maxOperands> isReal{};
  std::array<const std::vector<double> *, eval::ScalarOp::maxOperands> from{};
  std::array<std::vector<double>, eval::ScalarOp::maxOperands> rounded;
  for (size_t i = 0; i < count; ++i) {
    const ScalarNode &operand = scalar.nodes[node.operands[i]];
    bool isCondition = node.opcode == Opcode::Select && i == 0;
    isReal[i] = !isCondition && isFloat(type);
    from[i] = &values[node.operands[i]];
    if (operand.kind == ScalarNode::Kind::Number && isReal[i]) {
      rounded[i] = *from[i];
      for (double &value : rounded[i])
        value = roundFloat(type, value);
      from[i] = &rounded[i];
    }
  }
  bool makesReal = isFloat(node.type);
  out.resize(from[0]->size());
  std::array<eval::Scalar, eval::ScalarOp::maxOperands> operands;
  for (size_t at = 0; at < out.size(); ++at) {
    for (size_t i = 0; i < count; ++i) {
      double value = (*from[i])[at];
      operands[i] = isReal[i] ? eval::Scalar::of(value)
                              : eval::Scalar::of(std::isnan(value) ? int64_t{0}
                                                                   : static_cast<int64_t>(value));
    }
    eval::Scalar made = apply->apply(operands.data());
    out[at] = makesReal ? made.real() : static_cast<double>(made.integer());
    // What a given-back slot of integers held must not get lost on its way.
    if (!isReal[0] && std::isnan((*from[0])[at]))
      out[at] = std::numeric_limits<double>::quiet_NaN();
  }
  return spend(op, static_cast<int64_t>(out.size()));
}

bool Interpreter::scalarValues(const Op &op, const ScalarExpr &scalar, const Box &box,
                               std::vector<double> &out) {
  std::vector<std::vector<double>> nodes(scalar.nodes.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    const ScalarNode &node = scalar.nodes[n];
    switch (node.kind) {
    case ScalarNode::Kind::Value:
      nodes[n] = expanded(*values[node.value.index], box);
      break;
    case ScalarNode::Kind::Slot:
      nodes[n] = expanded(slotOf(node.buffer, node.index), box);
      break;
    case ScalarNode::Kind::Number:
      nodes[n].assign(static_cast<size_t>(box.size), node.number);
      break;
    case ScalarNode::Kind::Index: {
      std::vector<int64_t> at;
      if (!indexValues(op, node.index, box, at))
        return false;
      nodes[n].assign(at.begin(), at.end());
      break;
    }
    case ScalarNode::Kind::Operation:
      if (!applyNode(op, scalar, node, nodes, nodes[n]))
        return false;
      break;
    }
  }
  out = std::move(nodes.back());
  return true;
}

} // namespace tilewright::program
