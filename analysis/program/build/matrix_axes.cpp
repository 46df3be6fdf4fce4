// Axes of a product of tiles: its contracted elements, and for matrix instructions its rows and
// columns, are an axis each, whatever dims they come from.
//
//   rows [2, 64] of a tile of [b, m, n]: axis i < t0 * t1, b = t0 * p + i // t1, m = t1 * q + i %
//   t1 a window of 3 x 3 and 32 features:   axis k < k0 at k0 * t of 288, k // 96, k // 32 % 3, k %
//   32
#include "analysis/program/build/builder.h"
#include "analysis/support/checked.h"
#include "analysis/tiling/resources.h"

#include <algorithm>

namespace tilewright::program {

namespace {

/// The digits of a number whose last digit is fastest; the first has no bound of its own.
std::vector<Expr> digitsOf(Expr number, const std::vector<Expr> &extents) {
  std::vector<Expr> digits(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    digits[d] = d == 0 ? number : number.mod(extents[d]);
    number = number.floorDiv(extents[d]);
  }
  return digits;
}

} // namespace

/// Elements along a side, or contracted (nothing), that a matrix instruction takes at once.
int64_t Builder::wholeInstructions(std::optional<DotSide> side) const {
  if (!side)
    return 256 / static_cast<int64_t>(bitWidth(graph[graph[frame.dot].operands[0]].shape.dtype));
  const bool isGroup = variant.instruction == Instruction::Wgmma;
  if (*side == DotSide::Columns)
    return isGroup ? 16 : 8;
  return isGroup ? 64 : 16;
}

llvm::Error Builder::makeContractedAxis() {
  const tilewright::Op &op = graph[frame.dot];
  auto maps = indexing(frame.dot);
  if (!maps)
    return maps.takeError();
  for (const OperandMaps &operand : (*maps)->operands)
    if (operand.maps.size() != 1)
      return unsupported(frame.dot, "an operand is read at several places");
  // What one operand has no need of, the other may.
  for (const OperandMaps &operand : (*maps)->operands)
    for (const MapVariable &range : operand.maps[0].variables(VarKind::Range))
      if (std::none_of(summed.ranges.begin(), summed.ranges.end(),
                       [&](const MapVariable &other) { return other.var == range.var; }))
        summed.ranges.push_back(range);
  int64_t total = 1;
  for (const MapVariable &range : summed.ranges) {
    auto product = checkedMul(total, std::max<int64_t>(range.domain.hi - range.domain.lo + 1, 0));
    if (!product)
      return unsupported(frame.dot, "it sums up more than 2^63 products");
    total = *product;
  }
  if (total <= 1)
    return llvm::Error::success();
  Expr size = p.number(1);
  bool isPadded = false;
  std::optional<int64_t> packed;
  if (op.opcode == Opcode::Convolution)
    packed = packedConvolutionStep(op, graph[op.operands[1]].shape);
  for (unsigned parameter : frame.reduced) {
    const TileParameter &of = group.space.parameters[parameter];
    if (of.extent <= 1 || packed)
      continue;
    isPadded |= this->isPadded(parameter);
    Expr each = this->isPadded(parameter) ? p.number(of.extent)
                                          : context.variable(VarKind::TileParam, of.name);
    if (!each.isConstant())
      p.sizes.push_back(each);
    size = size * each;
  }
  const bool isMatrix = variant.instruction != Instruction::Fma;
  const int64_t depth = wholeInstructions(std::nullopt);
  if (packed) {
    size = p.number(std::min(*packed, total));
    isPadded = isMatrix && size.constant() % depth != 0;
  }
  summed.name = names.of("tuv");
  summed.step = context.variable(VarKind::Step, summed.name);
  summed.trips = p.number(total).ceilDiv(size);
  Axis axis;
  axis.name = names.of("klmn");
  axis.var = context.variable(VarKind::Dim, axis.name);
  bounds.set(axis.var, Interval::ofExtent(total));
  axis.extent = isPadded ? p.number(ceilDiv(size.constant(), depth) * depth) : size;
  axis.origin = size * summed.step;
  axis.bound = p.number(total);
  if (isPadded && size.constant() < total) // lanes beyond a step are elements of the next one
    summed.within =
        MapConstraint{axis.var - axis.origin, Interval::ofExtent(size.constant()), 1, 0};
  summed.axis = AxisId{static_cast<uint32_t>(p.axes.size())};
  p.axes.push_back(std::move(axis));
  std::vector<Expr> extents;
  for (const MapVariable &range : summed.ranges)
    extents.push_back(p.number(range.domain.hi - range.domain.lo + 1));
  std::vector<Expr> digits = digitsOf(p[*summed.axis].var, extents);
  for (size_t i = 0; i < digits.size(); ++i)
    summed.bound.push_back({summed.ranges[i].var, digits[i] + summed.ranges[i].domain.lo});
  return llvm::Error::success();
}

/// The CTA's variable of a dim of the root.
void Builder::makeGridVariable(unsigned dim) {
  const TileParameter &of = group.space.parameters[dim];
  std::string name = names.of("pqrs");
  Expr size = isOne(dim)      ? p.number(1)
              : isPadded(dim) ? p.number(of.extent)
                              : context.variable(VarKind::TileParam, of.name);
  programIds[dim] = context.variable(VarKind::ProgramId, name);
  if (isOne(dim))
    bounds.set(programIds[dim], Interval::ofExtent(of.extent));
  p.grid.variables.push_back({name, programIds[dim], p.number(of.extent).ceilDiv(size)});
}

llvm::Error Builder::makeMatrixAxes() {
  rootAt.assign(frame.isRow.size(), p.number(0));
  std::vector<int64_t> order = resultShape(graph[frame.root], {})->minorToMajorOrDefault();
  for (DotSide side : {DotSide::Batch, DotSide::Rows, DotSide::Columns}) {
    std::vector<unsigned> wide;
    for (size_t i = order.size(); i-- > 0;) {
      auto dim = static_cast<unsigned>(order[i]);
      if (frame.sides[dim] != side || group.space.parameters[dim].extent <= 1)
        continue;
      makeGridVariable(dim);
      if (isOne(dim))
        rootAt[dim] = programIds[dim];
      else
        wide.push_back(dim);
    }
    if (side == DotSide::Batch && !wide.empty())
      return unsupported(frame.dot, fmt::format("a tile of several batches, of which {} takes one",
                                                tilewright::toString(variant.instruction)));
    if (side != DotSide::Batch)
      insert(rowAxes, makeSide(side, wide));
  }
  return llvm::Error::success();
}

/// The axis of a side whose tile has these dims, slowest first.
AxisId Builder::makeSide(DotSide side, const std::vector<unsigned> &dims) {
  if (dims.size() == 1) {
    AxisId axis = makeAxis(dims[0]);
    axisOf[dims[0]] = axis;
    rootAt[dims[0]] = p[axis].var;
    return axis;
  }
  Axis axis;
  axis.name = names.of("ijklmn");
  axis.var = context.variable(VarKind::Dim, axis.name);
  axis.origin = p.number(0);
  const int64_t unit = wholeInstructions(side);
  AxisId id{static_cast<uint32_t>(p.axes.size())};
  if (dims.empty()) { // a vector: the first lane of an instruction's
    axis.extent = p.number(unit);
    axis.bound = p.number(1);
    bounds.set(axis.var, Interval::ofExtent(unit));
    singleSides.push_back({side, id});
    p.axes.push_back(std::move(axis));
    for (const auto &[root, tensors] : resultsOf)
      for (TensorId tensor : tensors)
        p.tensors[tensor.index].dims.insert(p.tensors[tensor.index].dims.begin(), p.number(1));
    return id;
  }
  std::vector<Expr> sizes;
  Expr all = p.number(1);
  int64_t most = 1;
  bool isPadded = false;
  for (unsigned dim : dims) {
    const TileParameter &of = group.space.parameters[dim];
    isPadded |= this->isPadded(dim);
    sizes.push_back(this->isPadded(dim) ? p.number(of.extent)
                                        : context.variable(VarKind::TileParam, of.name));
    if (!sizes.back().isConstant())
      p.sizes.push_back(sizes.back());
    all = all * sizes.back();
    most *= of.extent;
  }
  axis.extent = all;
  if (isPadded) {
    axis.extent = p.number(ceilDiv(all.constant(), unit) * unit);
    axis.bound = all;
  }
  bounds.set(axis.var, Interval::ofExtent(most));
  std::vector<Expr> digits = digitsOf(axis.var, sizes);
  for (size_t i = 0; i < dims.size(); ++i) {
    rootAt[dims[i]] = sizes[i] * programIds[dims[i]] + digits[i];
    // A tile may reach beyond the end of a dim.
    rootGuard.push_back(
        {rootAt[dims[i]], Interval::ofExtent(group.space.parameters[dims[i]].extent), 1, 0});
  }
  p.axes.push_back(std::move(axis));
  return id;
}

/// As many warpgroups one below the other as have whole instructions of 64 rows there; the others
/// part the columns (as the analysis of resources says).
Expr Builder::warpgroupRows(Expr rows) const {
  constexpr int64_t mostGroups = 8, instruction = 64;
  Expr groups = p.warps.floorDiv(4), below = p.number(1);
  for (int64_t g = 2; g <= mostGroups; ++g) {
    Expr isWhole =
        groups.mod(g).isEqual(p.number(0)) * rows.mod(g * instruction).isEqual(p.number(0));
    below = tilewright::select(isWhole, p.number(g), below);
  }
  return below;
}

} // namespace tilewright::program
