// Dots beside other dots and reductions.
//
//   copy A <- q[p, i, d] via regs            what no step moves is copied once
//   for t < cdiv(64, k0)
//     issue copy B <- k[p, j, d] via regs; copy C <- v[p, j, n] via regs
//     s = dot(A, B) over d mma.sync
//     acc += dot(bf16(exp(s)), C) over j mma.sync
//
// An operand that is computed of loads alone is computed of their slots as they are read. One that
// holds the result of another dot or reduction along the contracted axis is held in registers: as
// the left operand's fragment, where all warps lie along the rows, else it is written to a buffer.
#include "analysis/program/build/builder.h"
#include "analysis/program/infer.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::program {

/// The map that makes a value, while its level is open.
const MapOp *Builder::openMap(ValueId value) const {
  auto it = made.find(value);
  if (it == made.end() || it->second.level >= levels.size())
    return nullptr;
  const Region &ops = levels[it->second.level].ops;
  bool isThere = it->second.at < ops.size() && ops[it->second.at].results == std::vector{value};
  return isThere ? ops[it->second.at].as<MapOp>() : nullptr;
}

/// Axes of which some lanes may not count.
AxisSet Builder::cut(const AxisSet &axes) const {
  AxisSet result = axes;
  std::erase_if(result, [&](AxisId axis) { return !p[axis].bound; });
  return result;
}

/// Whether an operand can be computed as it is read: of slots, of numbers and of what is the same
/// along the contracted axes.
bool Builder::isOfLoads(const Leaf &leaf, const AxisSet &over, bool isLeft) {
  if (leaf.kind != ScalarNode::Kind::Value)
    return true;
  const AxisSet &axes = p[leaf.value].tile.axes;
  bool isMatrix = variant.instruction != Instruction::Fma;
  if (axes.empty())
    return true;
  if (const LoadOp *load = openLoad(leaf.value)) {
    bool isPlain = load->otherwise == 0;
    for (Expr index : load->from.index)
      for (VarId var : variablesOf(index))
        isPlain = isPlain && !p.valueOf(var).isValid();
    return isPlain;
  }
  if (const MapOp *map = openMap(leaf.value)) {
    const std::vector<ScalarNode> &nodes = map->value.nodes;
    return std::all_of(nodes.begin(), nodes.end(), [&](const ScalarNode &node) {
      return node.kind == ScalarNode::Kind::Operation || isOfLoads(node, over, isLeft);
    });
  }
  bool isAlong = without(over, axes) != over;
  return !isAlong && (!isMatrix || (isLeft && axes == AxisSet{rowAxis()}));
}

/// The shared memory that a load is copied to, in the issue region of its loop.
llvm::Expected<BufferId> Builder::slotOf(OpId dot, ValueId value) {
  unsigned level = made.at(value).level;
  CopyOp copy;
  const LoadOp *load = openLoad(value);
  copy.from = load->from;
  copy.conditions = load->conditions;
  copy.way = CopyWay::Registers;
  Region &copies = level == 0 ? levels[0].ops : levels[level].issue;
  for (const program::Op &op : copies) {
    const auto *known = op.as<CopyOp>();
    if (known && known->from == copy.from && known->conditions == copy.conditions)
      return known->buffer;
  }
  llvm::Expected<Buffer> buffer = bufferFor(dot, value);
  if (!buffer)
    return buffer.takeError();
  buffer->isRing = level > 0;
  copy.buffer = BufferId{static_cast<uint32_t>(p.buffers.size())};
  p.buffers.push_back(std::move(*buffer));
  program::Op op;
  op.what = copy;
  copies.push_back(std::move(op));
  return copy.buffer;
}

/// Adds a leaf for which isOfLoads() holds.
llvm::Expected<uint32_t> Builder::addSlots(ScalarExpr &into, OpId dot, const Leaf &leaf) {
  bool isTile = leaf.kind == ScalarNode::Kind::Value && !p[leaf.value].tile.axes.empty();
  if (isTile && openLoad(leaf.value)) {
    llvm::Expected<BufferId> buffer = slotOf(dot, leaf.value);
    if (!buffer)
      return buffer.takeError();
    ScalarNode slot;
    slot.kind = ScalarNode::Kind::Slot;
    slot.buffer = *buffer;
    slot.type = leaf.type;
    return into.add(slot);
  }
  const MapOp *map = isTile ? openMap(leaf.value) : nullptr;
  if (!map)
    return into.add(leaf);
  std::vector<uint32_t> at;
  for (ScalarNode node : std::vector<ScalarNode>(map->value.nodes)) {
    if (node.kind != ScalarNode::Kind::Operation) {
      auto leafAt = addSlots(into, dot, node);
      if (!leafAt)
        return leafAt;
      at.push_back(*leafAt);
      continue;
    }
    for (uint32_t &operand : node.operands)
      operand = at[operand];
    at.push_back(into.add(std::move(node)));
  }
  return at.back();
}

/// An operand as an expression over slots; what lanes that do not count hold of it is zero.
llvm::Expected<ScalarExpr> Builder::readOperand(OpId dot, const Leaf &leaf, const AxisSet &over) {
  ScalarExpr result;
  auto root = addSlots(result, dot, leaf);
  if (!root)
    return root.takeError();
  AxisSet axes = cut(over);
  if (!axes.empty() && !padOfSlots(result).is(0))
    clearBeyond(result, axes);
  return result;
}

/// Zero where lanes of some axes do not count; behind a conversion the same is zero in front of it.
void Builder::clearBeyond(ScalarExpr &scalar, const AxisSet &axes) const {
  auto operation = [&](Opcode opcode, std::vector<uint32_t> operands) {
    ScalarNode node;
    node.kind = ScalarNode::Kind::Operation;
    node.opcode = opcode;
    node.comparison = Comparison::Lt;
    node.operands = std::move(operands);
    bool isChoice = opcode == Opcode::Select;
    node.type = isChoice ? operandType(scalar, node) : DType::Pred;
    return scalar.add(std::move(node));
  };
  DType type = scalar.type();
  auto root = static_cast<uint32_t>(scalar.nodes.size() - 1);
  const ScalarNode last = scalar.root();
  bool isConverted = last.kind == ScalarNode::Kind::Operation && last.opcode == Opcode::Convert;
  if (isConverted && last.operands[0] + 1 == root) {
    scalar.nodes.pop_back();
    --root;
  }
  std::optional<uint32_t> counts;
  for (AxisId axis : axes) {
    uint32_t at = scalar.add(leafOf(p[axis].var)), end = scalar.add(leafOf(p[axis].bound));
    uint32_t holds = operation(Opcode::Compare, {at, end});
    counts = counts ? operation(Opcode::And, {*counts, holds}) : holds;
  }
  uint32_t zero = scalar.add(numberOf(0));
  uint32_t chosen = operation(Opcode::Select, {*counts, root, zero});
  if (scalar.type() == type)
    return;
  ScalarNode convert;
  convert.kind = ScalarNode::Kind::Operation;
  convert.opcode = Opcode::Convert;
  convert.operands = {chosen};
  convert.type = type;
  scalar.add(std::move(convert));
}

/// An operand that lies in registers.
llvm::Expected<ScalarExpr> Builder::heldOperand(const Leaf &leaf, const AxisSet &over,
                                                bool isLeft) {
  Leaf held = leafOf(materialised(leaf, over));
  AxisSet axes = cut(over);
  if (!axes.empty() && !padWith(held, axes, 0)) {
    ScalarExpr scalar;
    if (const MapOp *map = openMap(held.value))
      scalar = map->value;
    else
      scalar.add(held);
    clearBeyond(scalar, axes);
    held = mapOf(std::move(scalar));
  }
  ScalarExpr result;
  AxisSet wanted = over;
  if (!rowAxes.empty())
    insert(wanted, rowAxis());
  constexpr unsigned halfBits = 16; // sums are held as the fragments of such operands
  bool isFragment = variant.isByRows && isLeft && over.size() == 1 && axesOf(held) == wanted &&
                    bitWidth(held.type) == halfBits;
  if (isFragment) {
    result.add(held);
    return result;
  }
  Buffer buffer;
  buffer.name = names.of("ABCDEFHIJK");
  buffer.type = held.type;
  buffer.stages = p.number(1);
  AxisSet own = axesOf(held);
  buffer.order.assign(own.begin(), own.end());
  WriteOp write;
  write.buffer = BufferId{static_cast<uint32_t>(p.buffers.size())};
  write.value.add(held);
  p.buffers.push_back(std::move(buffer));
  ScalarNode slot;
  slot.kind = ScalarNode::Kind::Slot;
  slot.buffer = write.buffer;
  slot.type = held.type;
  append(levelOf(held), std::move(write), {});
  result.add(slot);
  return result;
}

/// wgmma takes what copies bring, and on its left a fragment that is held in registers, of rows
/// that each lie in one warpgroup.
bool Builder::isOfWarpgroups(const ScalarExpr &operand, bool isLeft) const {
  const ScalarNode &node = operand.root();
  if (operand.nodes.size() != 1)
    return false;
  if (node.kind != ScalarNode::Kind::Slot)
    return isLeft && variant.isByRows && node.kind == ScalarNode::Kind::Value;
  bool isCopied = false;
  for (const Level &level : levels)
    for (const Region *ops : {&level.ops, &level.issue})
      for (const program::Op &op : *ops)
        isCopied |= op.as<CopyOp>() && op.as<CopyOp>()->buffer == node.buffer;
  return isCopied;
}

/// Matrix instructions take tiles of two axes.
llvm::Error Builder::expectMatrices(OpId dot, const DotOp &made) const {
  if (variant.instruction == Instruction::Fma)
    return llvm::Error::success();
  AxisSet left = without(p.axesOf(made.left), made.over), right = p.axesOf(made.right);
  right = without(std::move(right), made.over);
  if (made.over.size() == 1 && left == AxisSet{rowAxis()} && right.size() == 1 && left != right)
    return llvm::Error::success();
  return unsupported(dot, "its tile is none of rows and columns");
}

Builder::Made Builder::productBeside(OpId id, const Coordinates &at, const Guard &guard) {
  const tilewright::Op &op = graph[id];
  auto maps = indexing(id);
  if (!maps)
    return maps.takeError();
  const bool isMatrix = variant.instruction != Instruction::Fma;
  const bool isGroup = variant.instruction == Instruction::Wgmma;
  if (isMatrix && rowAxes.empty())
    return unsupported(id, "a matrix instruction of one row");
  const Renewed own(*this, id, at);
  auto summed = contracted(id);
  if (!summed)
    return summed.takeError();
  const auto &[parameters, bound, over] = *summed;
  if (over.empty()) // a product of one element
    return windowed(id, **maps, at, guard, 0);
  unsigned outer = levelOf(at, guard);
  Aside aside = putAside(outer);
  unsigned opened = openSteps(outer, parameters);
  std::vector<Leaf> leaves;
  for (unsigned i = 0; i < 2; ++i) {
    if ((*maps)->operands[i].maps.size() != 1)
      return unsupported(id, "an operand is read at several places");
    Made read = throughMap(id, i, (*maps)->operands[i].maps[0], at, guard, nullptr, bound);
    if (!read)
      return read;
    leaves.push_back(*read);
  }
  // Rows of the result are those of the left operand.
  if (isMatrix && !contains(axesOf(leaves[0]), rowAxis()))
    std::swap(leaves[0], leaves[1]);
  DotOp dot;
  dot.over = over;
  dot.way = isGroup ? DotWay::Wgmma : isMatrix ? DotWay::MmaSync : DotWay::Fma;
  for (bool isLeft : {true, false}) {
    const Leaf &leaf = leaves[isLeft ? 0 : 1];
    bool isAlong = without(over, axesOf(leaf)).empty();
    auto operand = isAlong && isOfLoads(leaf, over, isLeft) ? readOperand(id, leaf, over)
                                                            : heldOperand(leaf, over, isLeft);
    if (!operand)
      return operand.takeError();
    if (isGroup && !isOfWarpgroups(*operand, isLeft))
      return unsupported(
          id, fmt::format("the {} operand of wgmma is computed", isLeft ? "left" : "right"));
    (isLeft ? dot.left : dot.right) = std::move(*operand);
  }
  if (llvm::Error error = expectMatrices(id, dot))
    return error;
  DType type = accumulationType(dot.left.type(), dot.right.type());
  AxisSet kept = p.axesOf(dot.left);
  unite(kept, p.axesOf(dot.right));
  kept = without(std::move(kept), over);
  auto inner = static_cast<unsigned>(levels.size() - 1);
  ValueId sum = newValue(type, kept, inner);
  dot.isAdded = opened > 0;
  if (dot.isAdded)
    append(outer, FullOp{0, type, kept, layoutOf(kept)}, {sum});
  else
    dot.layout = layoutOf(kept);
  append(inner, std::move(dot), {sum});
  for (unsigned i = 0; i < opened; ++i)
    closeLoop();
  valueLevels[sum.index] = outer;
  putBack(std::move(aside));
  return converted(leafOf(sum), type, op.shape.dtype);
}

} // namespace tilewright::program
