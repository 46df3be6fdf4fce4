#include "analysis/program/build/builder.h"

#include "analysis/support/checked.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::program {

Builder::Builder(const Module &module, const Graph &graph, const TiledGroup &group,
                 const Variant &variant, Frame frame)
    : module(module), graph(graph), group(group), variant(variant), frame(std::move(frame)),
      context(*p.context), axisOf(group.space.parameters.size()),
      programIds(group.space.parameters.size()), steps(group.space.parameters.size()),
      stepNames(group.space.parameters.size()) {
  levels.emplace_back();
}

llvm::Expected<Program> Builder::run() {
  p.name = Names().ofOp(graph[frame.root].name);
  if (llvm::Error error = makeTensors())
    return error;
  makeSizes();
  if (llvm::Error error = makeAxes())
    return error;
  makeLayoutSizes();
  if (llvm::Error error = storeResults())
    return error;
  p.body = std::move(levels[0].ops);
  tidy();
  if (llvm::Error error = inferTypes(p))
    return error;
  return std::move(p);
}

llvm::Error Builder::makeTensors() {
  for (OpId id : group.group.inputs)
    if (llvm::Error error = makeTensor(id, graph[id].shape, graph[id].name, false))
      return error;
  for (OpId id : group.group.ops)
    if (graph[id].isElidedConstant())
      if (llvm::Error error = makeTensor(id, graph[id].shape, graph[id].name, false))
        return error;
  for (OpId id : group.group.roots) {
    const tilewright::Op &root = graph[id];
    if (!root.shape.isTuple)
      if (llvm::Error error = makeTensor(id, root.shape, root.name, true))
        return error;
    for (size_t i = 0; i < root.shape.elements.size(); ++i)
      if (llvm::Error error =
              makeTensor(id, root.shape.elements[i], fmt::format("{}.{}", root.name, i), true))
        return error;
  }
  return llvm::Error::success();
}

llvm::Error Builder::makeTensor(OpId id, const Shape &shape, const std::string &name,
                                bool isResult) {
  if (shape.isTuple)
    return unsupported(id, "a tensor that is a tuple");
  if (dtypeClass(shape.dtype) == DTypeClass::NonNumeric)
    return unsupported(id, fmt::format("elements of type {}", toString(shape.dtype)));
  if (shape.elementCount().value_or(0) < 1 || shape.isDynamic())
    return unsupported(id, fmt::format("{} elements", shape.str(false)));
  TensorInfo tensor;
  tensor.name = names.ofOp(name);
  tensor.type = partType(shape.dtype);
  tensor.isResult = isResult;
  std::vector<int64_t> order = shape.minorToMajorOrDefault();
  for (size_t i = order.size(); i-- > 0;)
    tensor.dims.push_back(p.number(shape.dims[static_cast<size_t>(order[i])]));
  if (isComplex(shape.dtype))
    tensor.dims.push_back(p.number(2));
  const TensorId made{static_cast<uint32_t>(p.tensors.size())};
  if (isResult)
    resultsOf[id].push_back(made);
  else
    tensorOf[id] = made;
  p.tensors.push_back(std::move(tensor));
  return llvm::Error::success();
}

void Builder::makeSizes() {
  for (const TileParameter &parameter : group.space.parameters)
    if (parameter.index)
      names.take(parameter.name);
  p.warps = context.variable(VarKind::TileParam, "W");
  p.sizes.push_back(p.warps);
}

/// Parameters that have an axis, slowest first: those of the root in the order of its memory, then
/// reduced ones; last the one along which what is reduced lies in memory.
std::vector<unsigned> Builder::axisOrder() const {
  std::vector<unsigned> order;
  auto add = [&](unsigned parameter) {
    bool isThere = std::find(order.begin(), order.end(), parameter) != order.end();
    if (!isThere && group.space.parameters[parameter].extent > 1 && !isOne(parameter))
      order.push_back(parameter);
  };
  std::vector<int64_t> dims = resultShape(graph[frame.root], {})->minorToMajorOrDefault();
  // Rows in front of columns where results of dots are of several pairs of axes.
  bool isApart = !frame.dots.empty() && frame.isReduction;
  for (bool isRow : {true, false})
    for (size_t i = dims.size(); i-- > 0;) {
      auto dim = static_cast<unsigned>(dims[i]);
      if (!isApart || frame.isRow[dim] == isRow)
        add(frame.joined[dim] && isWhole(dim) ? *frame.joined[dim] : dim);
    }
  for (unsigned parameter : frame.reduced)
    if (!frame.dot.isValid())
      add(parameter);
  if (frame.fastest) {
    auto at = std::find(order.begin(), order.end(), *frame.fastest);
    if (at != order.end())
      std::rotate(at, at + 1, order.end());
  }
  return order;
}

AxisId Builder::makeAxis(unsigned parameter) {
  const TileParameter &of = group.space.parameters[parameter];
  Axis axis;
  axis.name = names.of("ijklmn");
  axis.var = context.variable(VarKind::Dim, axis.name);
  bounds.set(axis.var, Interval::ofExtent(of.extent));
  axis.origin = p.number(0);
  if (isWhole(parameter)) {
    axis.extent = p.number(of.extent);
    constexpr int64_t block = 16; // of matrix instructions, along any axis
    bool isPadded = !frame.dots.empty() && variant.instruction != Instruction::Fma;
    bool isRow = variant.isByRows && parameter < frame.isRow.size() && frame.isRow[parameter] &&
                 !frame.isSingle[parameter];
    if (isPadded && isRow) { // as many for each warp
      axis.extent = p.number(of.extent).ceilDiv(p.warps * block) * (p.warps * block);
      axis.bound = p.number(of.extent);
    } else if (isPadded && of.extent % block != 0) {
      axis.extent = p.number(ceilDiv(of.extent, block) * block);
      axis.bound = p.number(of.extent);
    }
  } else {
    axis.extent = context.variable(VarKind::TileParam, of.name);
    p.sizes.push_back(axis.extent);
    axis.bound = p.number(of.extent);
    Expr index = programIds[parameter];
    if (!index) {
      stepNames[parameter] = names.of("tuv");
      index = steps[parameter] = context.variable(VarKind::Step, stepNames[parameter]);
      if (frame.isReduction && frame.dots.empty())
        axis.extent = rowStep(parameter, axis);
    }
    if (isPadded(parameter)) {
      int64_t unit = wholeInstructions(frame.sides[parameter]);
      axis.extent = p.number((of.extent + unit - 1) / unit * unit);
    }
    axis.origin = axis.extent * index;
  }
  p.axes.push_back(std::move(axis));
  return AxisId{static_cast<uint32_t>(p.axes.size() - 1)};
}

llvm::Error Builder::makeAxes() {
  if (frame.dot.isValid()) {
    if (variant.instruction == Instruction::Fma)
      makeTileAxes();
    else if (llvm::Error error = makeMatrixAxes())
      return error;
    if (llvm::Error error = makeContractedAxis())
      return error;
  } else {
    makeTileAxes();
  }
  simplifier.emplace(context, bounds);
  rootGuard = simplified(rootGuard);
  return llvm::Error::success();
}

/// An axis for each dim that a tile has several elements of.
void Builder::makeTileAxes() {
  const auto rank = static_cast<unsigned>(frame.isRow.size());
  for (unsigned dim = 0; dim < rank; ++dim)
    if (group.space.parameters[dim].extent > 1 && !isWhole(dim))
      makeGridVariable(dim);
  for (unsigned parameter : axisOrder())
    axisOf[parameter] = makeAxis(parameter);
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (frame.joined[dim] && isWhole(dim))
      axisOf[dim] = axisOf[*frame.joined[dim]];
    rootAt.push_back(axisOf[dim]       ? p[*axisOf[dim]].var
                     : programIds[dim] ? programIds[dim]
                                       : p.number(0));
    bool isRow = !frame.isReduction || frame.isRow[dim];
    if (axisOf[dim])
      insert(isRow ? rowAxes : columnAxes, *axisOf[dim]);
  }
  for (unsigned parameter : frame.reduced)
    if (axisOf[parameter] && frame.isReduction)
      insert(columnAxes, *axisOf[parameter]);
  for (const TileInstance &instance : group.instances)
    if (frame.isReduction && frame.dots.empty() && graph[instance.op].opcode == Opcode::Reduce) {
      size_t wide = 0;
      for (unsigned parameter : instance.reduces)
        wide += axisOf[parameter].has_value();
      takesAllAxes |= wide > 1;
    }
}

/// Warps along the rows of mma.sync's results. A warp reads rows / r + columns · r / W lines of
/// operands a step, the fewest where r² is about W · rows / columns; whole instructions of 16 x 8
/// have to be left.
Expr Builder::rowsOfWarps() {
  Expr rows = p[rowAxes[rowAxes.size() - 2]].extent, columns = p[rowAxes.back()].extent;
  Expr ratio = context.variable(VarKind::TileParam, names.take("WX")), fewest = p.number(1);
  p.lets.push_back({"WX", ratio, (p.warps * rows * 2).floorDiv(columns)});
  for (int64_t r : {2, 4, 8, 16, 32})
    fewest = tilewright::select(ratio.isAtLeast(p.number(r * r)), p.number(r), fewest);
  Expr most = p.warps.pow2Divisor().min(rows.floorDiv(16).max(1).pow2Divisor());
  Expr least = p.warps.ceilDiv(columns.floorDiv(8).max(1).pow2Divisor());
  return fewest.max(least).min(most);
}

/// `let V`: neighbours that a thread holds; of matrix instructions how warps lie.
void Builder::makeLayoutSizes() {
  if (p.axes.empty())
    return;
  vector = context.variable(VarKind::TileParam, "V");
  p.lets.push_back({"V", vector, p.number(1)});
  const bool isAlone = frame.dot.isValid() && rowAxes.size() >= 2;
  const bool isMatrix = variant.instruction != Instruction::Fma;
  if (isAlone && isMatrix) {
    bool isGroup = variant.instruction == Instruction::Wgmma;
    Expr rows = p[rowAxes[rowAxes.size() - 2]].extent, parts = p.warps;
    Expr along = isGroup ? warpgroupRows(rows) : rowsOfWarps();
    warpRows = context.variable(VarKind::TileParam, names.take("WR"));
    warpColumns = context.variable(VarKind::TileParam, names.take("WC"));
    p.lets.push_back({"WR", warpRows, along});
    p.lets.push_back({"WC", warpColumns, (isGroup ? parts.floorDiv(4) : parts).floorDiv(warpRows)});
    return;
  }
  if (!frame.dots.empty() && !rowAxes.empty() && isMatrix) {
    if (variant.isByRows) {
      warpRows = variant.instruction == Instruction::Wgmma ? p.warps.floorDiv(4) : p.warps;
      warpColumns = p.number(1);
      return;
    }
    // As many warps, or warpgroups, along the rows as have whole instructions there.
    const bool isGroup = variant.instruction == Instruction::Wgmma;
    warpRows = context.variable(VarKind::TileParam, names.take("WR"));
    warpColumns = context.variable(VarKind::TileParam, names.take("WC"));
    const Expr rows = p[rowAxis()].extent, parts = isGroup ? p.warps.floorDiv(4) : p.warps;
    p.lets.push_back(
        {"WR", warpRows,
         parts.pow2Divisor().min(rows.floorDiv(isGroup ? 64 : 16).max(1).pow2Divisor())});
    p.lets.push_back({"WC", warpColumns, parts.floorDiv(warpRows)});
    return;
  }
  if (frame.isReduction)
    makeRowSizes();
}

/// The rows of results of matrix instructions.
AxisId Builder::rowAxis() const { return rowAxes[rowAxes.size() < 2 ? 0 : rowAxes.size() - 2]; }

std::optional<LayoutSpec> Builder::layoutOf(const AxisSet &axes) const {
  if (p.axes.empty() || axes.empty())
    return std::nullopt;
  LayoutSpec spec;
  spec.arguments = {vector};
  std::vector<AxisId> order;
  AxisSet columns;
  for (AxisId axis : axes)
    if (contains(columnAxes, axis))
      insert(columns, axis);
  if (takesAllAxes)
    columns = columnAxes;
  bool isPair = warpRows && rowAxes.size() == 2;
  if (columns.empty() && !columnAxes.empty() && !isPair)
    columns = {columnAxes.back()};
  AxisSet all = rowAxes;
  unite(all, columns);
  if (!without(axes, all).empty()) // of a dot's operand
    all = axes;
  order.assign(all.begin(), all.end());
  bool isTile = frame.dots.empty() ? all == rowAxes : all.size() == 2;
  if (warpRows && isTile && without(rowAxes, all).empty()) {
    spec.family =
        variant.instruction == Instruction::Wgmma ? LayoutFamily::Wgmma : LayoutFamily::Mma;
    spec.arguments = {warpRows, warpColumns};
  }
  // Rows lie in the same threads whichever columns a tile has: threads share rows along the last
  // axis, or each has rows of its own.
  bool isRowsFirst = threads || warpRows;
  std::stable_partition(order.begin(), order.end(),
                        [&](AxisId axis) { return contains(columnAxes, axis) != isRowsFirst; });
  // Of several columns one has neighbours; threads are left for the others where rows leave them.
  if (threads && takesAllAxes && order.size() > rowAxes.size())
    std::rotate(order.begin(), order.begin() + static_cast<int64_t>(rowAxes.size()),
                order.end() - 1);
  if (threads) {
    spec.family = order.size() == 1 ? LayoutFamily::Columns : LayoutFamily::Rows;
    spec.arguments.push_back(threads);
  }
  if (order != axes)
    spec.of = std::move(order);
  return spec;
}

/// Where the element of `op` lies that an op at these coordinates reads, one to one.
std::optional<Coordinates> Builder::readAt(OpId from, const Coordinates &at, OpId op) {
  if (from == op)
    return at;
  auto maps = mapsToOp(graph, from, op, context);
  if (!maps) {
    llvm::consumeError(maps.takeError());
    return std::nullopt;
  }
  if (maps->maps.size() != 1 || !maps->maps[0].variables(VarKind::Range).empty() ||
      !maps->maps[0].variables(VarKind::Runtime).empty())
    return std::nullopt;
  std::vector<Expr> table;
  for (size_t d = 0; d < at.size(); ++d) {
    VarId var = context.dim(static_cast<unsigned>(d)).variable();
    table.resize(std::max<size_t>(table.size(), var.index + 1));
    table[var.index] = at[d];
  }
  Coordinates result;
  for (Expr e : maps->maps[0].results())
    result.push_back(simplify(substitute(e, table)));
  return result;
}

/// Coordinates of a root that a reduction goes over, in another shape.
std::optional<Coordinates> Builder::whereReduced(OpId root) {
  for (OpId id : group.group.ops) {
    if (!frame.isReduction || graph[id].opcode != Opcode::Reduce)
      continue;
    OpId input = graph[id].operands[0];
    if (graph[input].shape.elementCount() != resultShape(graph[root], {})->elementCount())
      continue;
    std::optional<Coordinates> rows = readAt(frame.root, rootAt, id);
    std::optional<Coordinates> found = rows ? readAt(input, reducedAt(id, *rows), root) : rows;
    if (found)
      return found;
  }
  return std::nullopt;
}

/// Coordinates of a root: those of the tiled one, what its tile says, or the same place in another
/// shape.
std::optional<Coordinates> Builder::coordinatesOf(OpId root) {
  const Shape &shape = *resultShape(graph[root], {});
  const Shape &tiled = *resultShape(graph[frame.root], {});
  if (root == frame.root || shape.dims == tiled.dims)
    return rootAt;
  if (!rootGuard.empty()) // an element beyond the end of a dim is another one in another shape
    return std::nullopt;
  auto at = std::find(group.group.roots.begin(), group.group.roots.end(), root);
  const TileInstance &instance =
      group.instances[group.roots[static_cast<size_t>(at - group.group.roots.begin())]];
  Coordinates found;
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    const TileDim &dim = instance.tile.dims[d];
    if (shape.dims[d] == 1)
      found.push_back(p.number(0));
    for (size_t i = 0; i < axisOf.size() && found.size() == d; ++i) {
      const TileParameter &of = group.space.parameters[i];
      if (axisOf[i] && of.extent == shape.dims[d] && dim.size == of.size &&
          dim.offset == of.index * of.size && dim.stride.isConstant(1))
        found.push_back(p[*axisOf[i]].var);
    }
  }
  if (found.size() == shape.dims.size())
    return found;
  if (auto read = whereReduced(root))
    return read;
  if (shape.elementCount() != tiled.elementCount())
    return std::nullopt;
  Expr place = p.number(0);
  for (size_t d = 0; d < rootAt.size(); ++d)
    place = place * tiled.dims[d] + rootAt[d];
  found.assign(shape.dims.size(), Expr());
  for (size_t d = shape.dims.size(); d-- > 0;) {
    found[d] = simplify(d == 0 ? place : place.mod(shape.dims[d]));
    place = place.floorDiv(shape.dims[d]);
  }
  return found;
}

llvm::Error Builder::store(OpId root, const Coordinates &at) {
  const Shape &whole = graph[root].shape;
  for (unsigned i = 0; i < resultsOf.at(root).size(); ++i)
    if (llvm::Error error = store(root, i, whole.isTuple ? whole.elements[i] : whole, at))
      return error;
  return llvm::Error::success();
}

llvm::Error Builder::store(OpId root, unsigned result, const Shape &shape, const Coordinates &at) {
  const bool isOfParts = isComplex(shape.dtype);
  for (unsigned each = 0; each < (isOfParts ? 2 : 1); ++each) {
    part = each;
    Made made = value(root, at, rootGuard, result);
    part = 0;
    if (!made)
      return made.takeError();
    StoreOp op;
    op.to.tensor = resultsOf.at(root)[result];
    std::vector<int64_t> order = shape.minorToMajorOrDefault();
    for (const SingleSide &single : singleSides)
      op.to.index.push_back(p[single.axis].var);
    for (size_t i = order.size(); i-- > 0;)
      op.to.index.push_back(at[static_cast<size_t>(order[i])]);
    if (isOfParts)
      op.to.index.push_back(p.number(each));
    op.value.add(*made);
    append(std::max(levelOf(at, {}), levelOf(*made)), std::move(op), {});
  }
  return llvm::Error::success();
}

/// Results that are made at once first, then those of each set of steps.
llvm::Error Builder::storeResults() {
  std::map<std::vector<unsigned>, std::vector<std::pair<OpId, Coordinates>>> passes;
  for (OpId root : group.group.roots) {
    std::optional<Coordinates> at = coordinatesOf(root);
    if (!at)
      return unsupported(root, fmt::format("its shape {} as a result beside %{}",
                                           graph[root].shape.str(false), graph[frame.root].name));
    std::vector<unsigned> stepped;
    for (unsigned parameter : frame.reduced)
      for (Expr e : *at)
        for (AxisId axis : p.axesOf(e))
          if (isStepped(parameter) && axisOf[parameter] == axis)
            stepped.push_back(parameter);
    passes[stepped].push_back({root, *at});
  }
  for (const auto &[stepped, roots] : passes) {
    unsigned opened = openSteps(0, stepped);
    for (const auto &[root, at] : roots)
      if (llvm::Error error = store(root, at))
        return error;
    for (unsigned i = 0; i < opened; ++i)
      closeLoop();
  }
  return llvm::Error::success();
}

void Builder::tidy() {
  if (!frame.dots.empty()) // loads that copies took the place of
    removeUnused(p);
  mergeMaps(p);
  removeUnused(p);
  setLayouts(p, [&](const AxisSet &axes) { return layoutOf(axes); });
  nameValues(p, names);
  std::set<VarId> used;
  rewriteExprs(p, [&](Expr &e) {
    for (VarId var : variablesOf(e))
      used.insert(var);
  });
  std::erase_if(p.lets, [&](const Let &let) { return used.count(let.var.variable()) == 0; });
}

llvm::Expected<Program> buildProgram(const Module &module, const Graph &graph,
                                     const TiledGroup &group, const Variant &variant) {
  llvm::Expected<Frame> frame = frameOf(graph, group, variant.isByLoops);
  if (!frame)
    return frame.takeError();
  return buildProgram(module, graph, group, variant, std::move(*frame));
}

llvm::Expected<Program> buildProgram(const Module &module, const Graph &graph,
                                     const TiledGroup &group, const Variant &variant, Frame frame) {
  return Builder(module, graph, group, variant, std::move(frame)).run();
}

} // namespace tilewright::program
