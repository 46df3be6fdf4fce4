// Dots of tiles: operands in rings of shared memory, sums in registers.
//
//   for t < cdiv(K, k0)
//     issue copy A <- a[i, k] via regs; copy B <- b[k, j] via regs
//     acc += dot(A, B) over k fma
//
// What is computed of operands is computed as they are read. How many slots a ring has, and how far
// copies run ahead, a pass decides.
#include "analysis/program/build/builder.h"
#include "analysis/program/infer.h"
#include "analysis/tiling/matrix_product.h"

#include <algorithm>

namespace tilewright::program {

/// Shared memory for what a load reads: its axes in the order of memory.
llvm::Expected<Buffer> Builder::bufferFor(OpId dot, ValueId value) {
  LoadOp *load = openLoad(value);
  for (Expr index : load->from.index)
    for (VarId var : variablesOf(index))
      if (p.valueOf(var).isValid())
        return unsupported(dot, "an operand is read where a value says");
  if (load->otherwise != 0)
    return unsupported(dot, "an operand's padding is not zero");
  Buffer ring;
  ring.name = names.of("ABCDEFHIJK");
  ring.type = p[value].tile.type;
  ring.stages = p.number(1);
  for (Expr index : load->from.index)
    for (AxisId axis : p.axesOf(index))
      if (std::find(ring.order.begin(), ring.order.end(), axis) == ring.order.end())
        ring.order.push_back(axis);
  for (AxisId axis : p[value].tile.axes) // of conditions alone
    if (std::find(ring.order.begin(), ring.order.end(), axis) == ring.order.end())
      ring.order.insert(ring.order.begin(), axis);
  if (ring.order.empty())
    return unsupported(dot, "an operand is one element");
  return ring;
}

/// The ring that a load of the loop at hand becomes.
llvm::Expected<BufferId> Builder::ringOf(OpId dot, ValueId value) {
  llvm::Expected<Buffer> ring = bufferFor(dot, value);
  if (!ring)
    return ring.takeError();
  ring->isRing = true;
  LoadOp *load = openLoad(value);
  CopyOp copy;
  copy.from = load->from;
  copy.conditions = load->conditions;
  copy.way = CopyWay::Registers;
  copy.buffer = BufferId{static_cast<uint32_t>(p.buffers.size())};
  p.buffers.push_back(std::move(*ring));
  program::Op op;
  op.what = copy;
  levels.back().issue.push_back(std::move(op));
  return copy.buffer;
}

/// A leaf as an expression over slots and what lies outside of the loop.
llvm::Expected<ScalarExpr> Builder::operandOf(OpId dot, const Leaf &leaf) {
  ScalarExpr result;
  auto inner = static_cast<unsigned>(levels.size() - 1);
  std::function<llvm::Expected<uint32_t>(const Leaf &)> copy =
      [&](const Leaf &of) -> llvm::Expected<uint32_t> {
    bool isInner = of.kind == ScalarNode::Kind::Value && valueLevels[of.value.index] == inner;
    if (!isInner)
      return result.add(of);
    if (openLoad(of.value)) {
      auto known = rings.find(of.value);
      if (known == rings.end()) {
        auto ring = ringOf(dot, of.value);
        if (!ring)
          return ring.takeError();
        known = rings.emplace(of.value, *ring).first;
      }
      ScalarNode slot;
      slot.kind = ScalarNode::Kind::Slot;
      slot.buffer = known->second;
      slot.type = of.type;
      slot.sources = of.sources;
      return result.add(slot);
    }
    const auto *map = levels[inner].ops[made.at(of.value).at].as<MapOp>();
    if (!map)
      return unsupported(dot, "an operand is neither read nor computed");
    std::vector<uint32_t> at;
    for (ScalarNode node : map->value.nodes) {
      if (node.kind != ScalarNode::Kind::Operation) {
        auto leafAt = copy(node);
        if (!leafAt)
          return leafAt;
        at.push_back(*leafAt);
        continue;
      }
      for (uint32_t &operand : node.operands)
        operand = at[operand];
      at.push_back(result.add(std::move(node)));
    }
    std::vector<SourceId> &sources = result.nodes[at.back()].sources;
    sources.insert(sources.end(), of.sources.begin(), of.sources.end());
    return at.back();
  };
  auto root = copy(leaf);
  if (!root)
    return root.takeError();
  return result;
}

llvm::Expected<Builder::Contracted> Builder::contracted(OpId dot) {
  auto domain = iterationDomain(graph, dot, context);
  if (!domain)
    return domain.takeError();
  Contracted result{Frame::parametersOf(group, dot), {}, {}};
  if (domain->reductions.size() != result.parameters.size())
    return unsupported(dot, "its contracted dims have no parameters");
  for (size_t i = 0; i < result.parameters.size(); ++i) {
    const std::optional<AxisId> &axis = axisOf[result.parameters[i]];
    result.bound.push_back({domain->reductions[i].var, axis ? p[*axis].var : p.number(0)});
    if (axis)
      insert(result.over, *axis);
  }
  return result;
}

/// The side of the dot that an axis goes along; nothing for what is contracted.
std::optional<DotSide> Builder::sideOf(AxisId axis) const {
  if (warpRows && rowAxes.size() == 2)
    for (size_t side : {0, 1})
      if (rowAxes[side] == axis)
        return side == 0 ? DotSide::Rows : DotSide::Columns;
  for (size_t dim = 0; dim < frame.sides.size(); ++dim)
    if (axisOf[dim] == axis)
      return frame.sides[dim];
  return std::nullopt;
}

/// What of a guard has to do with an operand, and which of its lanes are elements.
Guard Builder::guardOf(DotSide side, const Guard &guard) const {
  Guard result;
  for (const MapConstraint &condition : guard) {
    AxisSet axes = p.axesOf(condition.expr);
    if (std::all_of(axes.begin(), axes.end(), [&](AxisId axis) {
          std::optional<DotSide> of = sideOf(axis);
          return of == side || of == DotSide::Batch;
        }))
      result.push_back(condition);
  }
  if (summed.within)
    result.push_back(*summed.within);
  for (const SingleSide &single : singleSides)
    if (single.side == side)
      result.push_back({p[single.axis].var, Interval::point(0), 1, 0});
  return result;
}

/// An operand of the dot, as an expression over slots.
llvm::Expected<ScalarExpr> Builder::operandAt(OpId id, unsigned number, const Coordinates &at,
                                              const Guard &guard) {
  auto maps = indexing(id);
  if (!maps)
    return maps.takeError();
  const DotSide side = number == 0 ? DotSide::Rows : DotSide::Columns;
  Coordinates here = at;
  if (graph[id].opcode == Opcode::Convolution && number == 0) // a tile lies in one feature group
    for (Expr &coordinate : here)
      coordinate = substitute(coordinate, [&](VarId var) {
        AxisId axis = p.axisOf(var);
        bool isColumn = axis.isValid() && sideOf(axis) == DotSide::Columns;
        return isColumn ? p[axis].origin : Expr();
      });
  Guard own = guardOf(side, guard), conditions;
  IndexMap map = (*maps)->operands[number].maps[0];
  if (graph[id].opcode == Opcode::Convolution && number == 1) // a zero of the image is enough
    map = IndexMap(context, {map.variables().begin(), map.variables().end()},
                   {map.results().begin(), map.results().end()});
  Made read = throughMap(id, number, map, here, own, &conditions, summed.bound);
  if (!read)
    return read.takeError();
  // A tile of all of them where a load is the same along an axis.
  AxisSet wanted{*summed.axis};
  if (warpRows)
    insert(wanted, rowAxes[number]);
  if (read->kind == ScalarNode::Kind::Value && openLoad(read->value) &&
      valueLevels[read->value.index] + 1 == levels.size())
    unite(p[read->value].tile.axes, wanted);
  auto operand = operandOf(id, *read);
  if (!operand)
    return operand;
  if (isPlain(*operand) || padOfSlots(*operand).is(0))
    return operand;
  conditions.insert(conditions.end(), own.begin(), own.end());
  auto isThere = predicate(id, conditions);
  if (!isThere)
    return isThere.takeError();
  if (*isThere) {
    Made chosen = select(*isThere, *read, numberOf(0), read->type);
    if (!chosen)
      return chosen.takeError();
    operand = operandOf(id, *chosen);
    if (!operand)
      return operand;
  }
  clearBeyond(*operand, {*summed.axis});
  return operand;
}

/// One slot as it is.
bool Builder::isPlain(const ScalarExpr &scalar) {
  return scalar.nodes.size() == 1 && scalar.root().kind == ScalarNode::Kind::Slot;
}

Builder::Made Builder::product(OpId id, const Coordinates &at, const Guard &guard) {
  const tilewright::Op &op = graph[id];
  const AxisSet over{*summed.axis};
  unsigned outer = levelOf(at, guard);
  Aside aside = putAside(outer);
  openLoop(outer, summed.step, summed.name, summed.trips);
  std::vector<ScalarExpr> operands;
  for (unsigned i = 0; i < 2; ++i) {
    auto operand = operandAt(id, i, at, guard);
    if (!operand)
      return operand.takeError();
    if (!without(over, p.axesOf(*operand)).empty())
      return unsupported(id, "an operand is the same along the contracted dim");
    if (!isPlain(*operand) && variant.instruction == Instruction::Wgmma)
      return unsupported(id, "an operand of wgmma is computed");
    operands.push_back(std::move(*operand));
  }
  rings.clear();
  DType type = accumulationType(operands[0].type(), operands[1].type());
  AxisSet axes = p.axesOf(operands[0]);
  unite(axes, p.axesOf(operands[1]));
  axes = without(std::move(axes), over);
  if (warpRows && axes != rowAxes)
    return unsupported(id, "its tile is none of rows and columns");
  auto inner = static_cast<unsigned>(levels.size() - 1);
  levels[inner].ops.clear(); // loads are copies now, and maps parts of operands
  ValueId sum = newValue(type, axes, inner);
  append(outer, FullOp{0, type, axes, layoutOf(axes)}, {sum});
  DotOp dot;
  dot.left = std::move(operands[0]);
  dot.right = std::move(operands[1]);
  dot.over = over;
  dot.way = variant.instruction == Instruction::Wgmma     ? DotWay::Wgmma
            : variant.instruction == Instruction::MmaSync ? DotWay::MmaSync
                                                          : DotWay::Fma;
  dot.isAdded = true;
  if (variant.instruction == Instruction::MmaSync &&
      graph[op.operands[0]].shape.dtype == DType::F32)
    dot.products = static_cast<uint32_t>(tf32Products(graph, op));
  append(inner, std::move(dot), {sum});
  closeLoop();
  valueLevels[sum.index] = outer;
  putBack(std::move(aside));
  return converted(leafOf(sum), type, op.shape.dtype);
}

/// What an operand's expression is where its slots hold zeros.
Pad Builder::padOfSlots(const ScalarExpr &scalar) const {
  std::vector<Pad> pads;
  for (const ScalarNode &node : scalar.nodes) {
    if (node.kind == ScalarNode::Kind::Slot)
      pads.push_back(Pad::constant(0));
    else if (node.kind == ScalarNode::Kind::Number)
      pads.push_back(Pad::constant(node.number));
    else if (node.kind == ScalarNode::Kind::Value)
      pads.push_back({Pad::Kind::Other, 0, {}});
    else if (node.kind == ScalarNode::Kind::Operation && node.operands.size() == 1)
      pads.push_back(unaryPad(node.opcode, pads[node.operands[0]]));
    else if (node.kind == ScalarNode::Kind::Operation && node.operands.size() == 2 &&
             node.opcode != Opcode::Compare)
      pads.push_back(binaryPad(node.opcode, pads[node.operands[0]], pads[node.operands[1]]));
    else
      pads.emplace_back();
  }
  return pads.back();
}

} // namespace tilewright::program
