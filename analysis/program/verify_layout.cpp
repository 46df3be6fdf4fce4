#include "analysis/program/verifier.h"
#include "analysis/program/warp_grid.h"

namespace tilewright::program {

/// V8: pointwise operands are held as the result is, or as that without the axes that they lack.
void Verifier::checkMap(const Op &op, const Place &place) {
  const ScalarExpr *scalar = nullptr;
  const Tile *tile = nullptr;
  if (const auto *o = op.as<MapOp>()) {
    scalar = &o->value;
    tile = &p[op.results[0]].tile;
  } else if (const auto *o = op.as<ReduceOp>()) {
    scalar = &o->value;
  } else if (const auto *o = op.as<ScanOp>()) {
    scalar = &o->value;
  } else if (const auto *o = op.as<WriteOp>()) {
    scalar = &o->value;
  } else if (const auto *o = op.as<StoreOp>()) {
    scalar = &o->value;
  }
  if (!scalar)
    return;
  AxisSet axes = p.axesOf(*scalar);
  std::optional<Layout> layout = tile ? std::optional(tile->layout) : layoutOf(p, *scalar, axes);
  if (const auto *store = op.as<StoreOp>(); store && store->layout) {
    unite(axes, p.axesOf(store->to));
    layout = p.layoutFor(*store->layout, axes, scalar->type(), place.role);
  }
  if (!layout)
    return;
  for (const ScalarNode &node : scalar->nodes) {
    if (node.kind != ScalarNode::Kind::Value)
      continue;
    const Value &value = p[node.value];
    if (value.tile.axes.empty()) // every thread has it
      continue;
    AxisSet missing = without(axes, value.tile.axes);
    if (layout->withoutAxes(missing).normal() != value.tile.layout.normal())
      violate(8, op.where,
              fmt::format("{} is held by other threads than the result: relayout it", value.name));
  }
}

/// V8: what a sum by fma multiplies is held by the threads that hold the sum, or loaded by them.
void Verifier::checkFmaOperands(const Op &op, const DotOp &dot) {
  const Tile &sum = p[op.results[0]].tile;
  for (const ScalarExpr *scalar : {&dot.left, &dot.right})
    for (const ScalarNode &node : scalar->nodes) {
      if (node.kind != ScalarNode::Kind::Value || isLoaded[node.value.index])
        continue;
      const Value &value = p[node.value];
      const AxisSet &axes = value.tile.axes;
      const bool isAlong = without(dot.over, axes) != dot.over;
      if (isAlong || (!axes.empty() && sum.layout.withoutAxes(without(sum.axes, axes)).normal() !=
                                           value.tile.layout.normal()))
        violate(8, op.where,
                fmt::format("{} is held by other threads than the sum: write it to a buffer",
                            value.name));
    }
}

/// V8: registers are not seen by other warps than those that made them.
void Verifier::checkHolders(const Op &op, const Place &place) {
  madeBy.resize(p.values.size());
  isLoaded.resize(p.values.size());
  for (const ScalarExpr *scalar : scalarsOf(op))
    for (const ScalarNode &node : scalar->nodes)
      if (node.kind == ScalarNode::Kind::Value && madeBy[node.value.index] != place.role)
        violate(8, op.where,
                fmt::format("{} is held by warps of another role: hand it over in a buffer",
                            p[node.value].name));
  for (ValueId id : op.results) {
    madeBy[id.index] = place.role;
    isLoaded[id.index] = op.as<LoadOp>() != nullptr;
  }
}

std::optional<WarpGrid> warpGridOf(const Layout &layout, bool isGroup) {
  size_t first = isGroup ? 1 : 0;
  bool isFragment = layout.registers.size() >= 4 && layout.lanes.size() == 2 &&
                    layout.warps.size() == first + 2 && layout.registers[0].extent.isConstant(2) &&
                    layout.registers[1].extent.isConstant(2) &&
                    layout.lanes[0].extent.isConstant(4) && layout.lanes[1].extent.isConstant(8);
  if (!isFragment)
    return std::nullopt;
  if (isGroup)
    return WarpGrid{layout.warps[1].extent, layout.warps[2].extent};
  return WarpGrid{layout.warps[1].extent, layout.warps[0].extent};
}

/// V9, types: those that matrix instructions take.
void Verifier::checkTypes(const Op &op, const DotOp &dot) {
  DType a = dot.left.type(), b = dot.right.type();
  bool isHalf = (a == DType::F16 || a == DType::BF16) && a == b;
  bool isByte = (a == DType::S8 || a == DType::U8) && (b == DType::S8 || b == DType::U8);
  bool isFp8 =
      (a == DType::F8E4M3FN || a == DType::F8E5M2) && (b == DType::F8E4M3FN || b == DType::F8E5M2);
  bool isTf32 = a == DType::F32 && b == DType::F32;
  if (dot.products != 1 && (dot.products != 3 || !isTf32 || dot.way != DotWay::MmaSync))
    violate(9, op.where,
            fmt::format("{} products of parts: mma.sync takes 3 of f32", dot.products));
  if (!isHalf && !isByte && !isFp8 && !isTf32)
    violate(9, op.where,
            fmt::format("{} takes two of f16, bf16, f32, two 8-bit integers or two 8-bit floats, "
                        "not {} and {}",
                        toString(dot.way), toString(a), toString(b)));
}

/// An operand from registers must be the fragment; one of wgmma's right side is a buffer.
bool Verifier::checkOperand(const Op &op, const DotOp &dot, const ScalarExpr &scalar, bool isLeft,
                            Expr rows, Expr columns) {
  bool isGroup = dot.way == DotWay::Wgmma;
  const char *side = isLeft ? "left" : "right";
  AxisSet axes = p.axesOf(scalar), free = without(axes, dot.over);
  if (scalar.nodes.size() == 1 && scalar.root().kind == ScalarNode::Kind::Slot) {
    const Buffer &buffer = p[scalar.root().buffer];
    bool isContiguous = contains(dot.over, buffer.order.back());
    if (isGroup && bitWidth(buffer.type) != 16 && !isContiguous)
      violate(9, op.where,
              fmt::format("wgmma takes {} of {} with the contracted axis contiguous only",
                          toString(buffer.type), buffer.name));
    return true;
  }
  if (isGroup && !isLeft) {
    violate(8, op.where, "the right operand of wgmma is a buffer: write it to one");
    return false;
  }
  std::optional<Layout> held = layoutOf(p, scalar, axes);
  if (!held || free.size() != 1 || dot.over.size() != 1) {
    result.undecided.push_back(
        {8, op.where, fmt::format("whether the {} operand is held as a fragment", side)});
    return false;
  }
  FragmentShape shape;
  shape.rows = {free[0], p.resolved(p[free[0]].extent)};
  shape.contracted = {dot.over[0], p.resolved(p[dot.over[0]].extent)};
  shape.r = rows;
  shape.c = columns;
  shape.isLeft = isLeft;
  shape.isGroup = isGroup;
  Layout wanted = operandFragment(shape, bitWidth(scalar.type()));
  if (wanted.normal() != held->normal())
    violate(8, op.where,
            fmt::format("the {} operand is not held as {} takes it: relayout it, or write it to a "
                        "buffer",
                        side, toString(dot.way)));
  return true;
}

/// wgmma reads buffers as swizzled panels, of 32 bytes at least along the rows in memory;
/// warpgroups beside each other have panels of their own.
void Verifier::requirePanels(const Op &op, const DotOp &dot, Expr warpgroups) {
  constexpr int64_t leastPanel = 32;
  for (const ScalarExpr *operand : {&dot.left, &dot.right}) {
    const ScalarNode &node = operand->root();
    if (node.kind != ScalarNode::Kind::Slot || p[node.buffer].order.empty())
      continue;
    const Buffer &buffer = p[node.buffer];
    const AxisId minor = buffer.order.back();
    const bool isShared = operand == &dot.right && !contains(dot.over, minor);
    const Expr row = resolved(p[minor].extent) * bitWidth(buffer.type);
    const Expr panels = (isShared ? warpgroups : p.number(1)) * (leastPanel * 8);
    require(9, op.where, Formula::divides(panels, row),
            fmt::format("rows of {} are no multiple of {} bytes for each of {} warpgroups",
                        buffer.name, leastPanel, isShared ? text(warpgroups) : "1"));
  }
}

void Verifier::checkDot(const Op &op, const DotOp &dot) {
  if (dot.way == DotWay::Fma)
    return checkFmaOperands(op, dot);
  bool isGroup = dot.way == DotWay::Wgmma;
  const Tile &tile = p[op.results[0]].tile;
  checkTypes(op, dot);
  std::optional<WarpGrid> grid = warpGridOf(tile.layout, isGroup);
  if (!grid || tile.axes.size() < 2) {
    violate(8, op.where,
            fmt::format("{} is not held as results of {} are", p[op.results[0]].name,
                        toString(dot.way)));
    return;
  }
  Expr rows = simplifier.simplify(grid->r), columns = simplifier.simplify(grid->c);
  Expr i = resolved(p[tile.axes[tile.axes.size() - 2]].extent);
  Expr j = resolved(p[tile.axes.back()].extent), k = p.number(1);
  for (AxisId axis : dot.over)
    k = k * resolved(p[axis].extent);
  int64_t high = isGroup ? 64 : 16, bits = bitWidth(dot.left.type());
  bool isInteger = !isFloat(dot.left.type());
  require(9, op.where, Formula::divides(rows * high, i),
          fmt::format("{} rows are no multiple of {} for each of {}", text(i), high, text(rows)));
  require(9, op.where, Formula::divides(columns * 8, j),
          fmt::format("{} columns are no multiple of 8 for each of {}", text(j), text(columns)));
  if (isGroup && isInteger) { // over 32 columns, integers come in sixteens
    Expr n = j.floorDiv(columns);
    require(9, op.where, Formula::lessEqual(n, p.number(32)) || Formula::divides(p.number(16), n),
            fmt::format("{} columns of integers are no multiple of 16", text(n)));
  }
  require(9, op.where, Formula::divides(p.number(256 / bits), k),
          fmt::format("{} along the contracted axis is no multiple of {}, 32 bytes", text(k),
                      256 / bits));
  Expr warps = resolved(p.warps), grids = rows * columns * (isGroup ? 4 : 1);
  require(9, op.where, Formula::equal(warps, grids),
          fmt::format("{} warps, where {} x {} of {} are used", text(warps), text(rows),
                      text(columns), isGroup ? "warpgroups" : "warps"));
  if (isGroup)
    requirePanels(op, dot, columns);
  if (isGroup)
    require(12, op.where, Formula::divides(p.number(4), warps),
            fmt::format("{} warps, wgmma takes a multiple of 4", text(warps)));
  checkOperand(op, dot, dot.left, true, grid->r, grid->c);
  checkOperand(op, dot, dot.right, false, grid->r, grid->c);
}

void Verifier::checkRoles() {
  constexpr int64_t registerFile = 65536, warpSize = 32;
  Expr used = p.number(0);
  bool hasBudget = false;
  for (const Role &role : p.roles) {
    require(18, {}, Formula::lessEqual(p.number(1), resolved(role.warps)),
            fmt::format("role {} has {} warps", role.name, text(role.warps)));
    if (!role.registers)
      continue;
    hasBudget = true;
    used = used + resolved(role.warps) * resolved(role.registers) * warpSize;
  }
  if (hasBudget)
    require(12, {}, Formula::lessEqual(used, p.number(registerFile)),
            fmt::format("roles have {} registers, an SM has {}", text(used), registerFile));
}

} // namespace tilewright::program
