// Constraints of matrix instructions on a group's tiles.
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/element_work.h"
#include "analysis/tiling/matrix_product.h"
#include "analysis/tiling/resource_view.h"
#include "analysis/tiling/strided_view.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

/// Plain arithmetic: threads have single elements of the tile, here and there.
void addFmaConstraints(const Graph &graph, TiledGroup &group) {
  auto refuse = [&](OpId op, std::string text) {
    group.constraints.push_back(
        {Formula::constant(false),
         {op, "%" + graph[op].name, -1, -1, "mma-shape", std::move(text), {}}});
  };
  if (auto dots = twoDots(graph, group.group))
    return refuse(dots->second, "two dots in one kernel take matrix instructions, not fma");
  if (codeOf(graph, group, Instruction::Fma).kind != CodeKind::Dot)
    return;
  for (OpId root : group.group.roots)
    if (const Shape &shape = graph[root].shape; leastLanes(graph, {&root, 1}) > 1)
      refuse(root,
             fmt::format("a thread's sums of fma are single elements of {}, of which {} share "
                         "a byte; matrix instructions have neighbours",
                         shape.str(false), leastLanes(graph, {&root, 1})));
}

/// Sizes that are more than one element, counted.
Expr countWide(const ResourceView &view, const std::vector<Expr> &sizes) {
  Expr count = view.constant(0);
  for (Expr size : sizes)
    count = count + isAtLeast(size, view.constant(2));
  return count;
}

/// Boxes of an operand with lines of K: one dim beside K, or two whose pieces are whole units of
/// 32 bytes.
template <class Need>
void addLines(const ResourceView &view, unsigned dot, size_t number, const TmaOperand &operand,
              Expr lines, const Need &need) {
  const Op &op = view.op(dot);
  const std::string name = view.graph[op.operands[number]].name;
  need(Formula::lessEqual(lines, view.constant(mostTmaLines)),
       fmt::format("a K step of {{0}} lines of operand %{}, whose contracted dim is not the "
                   "contiguous one, of at most {} that TMA copies at once",
                   name, mostTmaLines),
       {lines});
  const DotDims &dims = op.attrs.dot;
  const std::vector<int64_t> &batch = number == 0 ? dims.lhsBatch : dims.rhsBatch;
  const std::vector<int64_t> &contracted = number == 0 ? dims.lhsContracting : dims.rhsContracting;
  auto isIn = [](const std::vector<int64_t> &list, size_t dim) {
    return std::find(list.begin(), list.end(), static_cast<int64_t>(dim)) != list.end();
  };
  // The dims of the result follow those of the operands that are not contracted.
  const Tile &result = view.group.instances[dot].tile;
  const size_t rank = view.shapeOf(op.operands[number]).rank();
  size_t next =
      number == 0 ? batch.size() : result.dims.size() - (rank - batch.size() - contracted.size());
  std::vector<Expr> sizes;
  Expr inner = view.constant(1);
  for (size_t dim = 0; dim < rank; ++dim) {
    if (isIn(batch, dim) || isIn(contracted, dim))
      continue;
    sizes.push_back(result.dims[next++].size);
    if (dim == operand.contiguousDim)
      inner = sizes.back();
  }
  constexpr int64_t unit = 16; // of 16 bits each: 32 bytes
  const Expr wide = countWide(view, sizes);
  need(Formula::lessEqual(wide, isAtLeast(inner, view.constant(2))) ||
           (Formula::lessEqual(wide, view.constant(2)) &&
            Formula::divides(view.constant(unit), inner)),
       fmt::format("operand %{} has pieces of {{0}} elements in its tile of {{1}} dims, and TMA "
                   "copies two dims in multiples of {}; use a larger tile of the contiguous dim",
                   name, unit),
       {inner, wide});
}

/// Boxes of an operand are copied along the digits of its rows and of what is contracted, as the
/// tile has them one behind the other: dims with several elements of a tile between which the other
/// kind lies, or in another order than the result's, would interleave.
template <class Need>
void addDigitOrder(const ResourceView &view, unsigned dot, size_t number, const Need &need) {
  const Op &op = view.op(dot);
  const DotDims &dims = op.attrs.dot;
  const std::vector<int64_t> &batch = number == 0 ? dims.lhsBatch : dims.rhsBatch;
  const std::vector<int64_t> &contracted = number == 0 ? dims.lhsContracting : dims.rhsContracting;
  auto isIn = [](const std::vector<int64_t> &list, int64_t dim) {
    return std::find(list.begin(), list.end(), dim) != list.end();
  };
  const Shape &shape = view.shapeOf(op.operands[number]);
  const Tile &result = view.group.instances[dot].tile;
  size_t next = number == 0
                    ? batch.size()
                    : result.dims.size() - (shape.rank() - batch.size() - contracted.size());
  struct Free {
    int64_t stride; ///< in memory
    Expr size;
    std::optional<size_t> root; ///< place of the root's dim in memory that it follows
  };
  llvm::Expected<StridedView> inMemory = stridedViewOf(
      view.graph, op.operands[number], [&](OpId id) { return !view.group.group.contains(id); });
  if (!inMemory) // TMA does not copy it at all
    return llvm::consumeError(inMemory.takeError());
  const std::vector<int64_t> &strides = inMemory->strides;
  const std::vector<int64_t> rootOrder = view.rootShape().minorToMajorOrDefault();
  auto placeOf = [](const std::vector<int64_t> &list, int64_t dim) {
    return static_cast<size_t>(std::find(list.begin(), list.end(), dim) - list.begin());
  };
  std::vector<Free> free;
  for (size_t dim = 0; dim < shape.rank(); ++dim) {
    if (isIn(batch, static_cast<int64_t>(dim)) || isIn(contracted, static_cast<int64_t>(dim)))
      continue;
    const TileDim &of = result.dims[next++];
    Free made{strides[dim], of.size, std::nullopt};
    for (size_t i = 0; i < view.rootTile.size(); ++i)
      for (VarId var : variablesOf(of.offset))
        if (view.group.space.parameters[i].index.variable() == var)
          made.root = placeOf(rootOrder, static_cast<int64_t>(i));
    if (shape.dims[dim] > 1)
      free.push_back(std::move(made));
  }
  for (size_t a = 0; a < free.size(); ++a)
    for (size_t b = a + 1; b < free.size(); ++b) {
      const auto [low, high] = std::minmax(free[a].stride, free[b].stride);
      bool isApart = false;
      for (int64_t dim : contracted)
        isApart |= low < strides[static_cast<size_t>(dim)] &&
                   strides[static_cast<size_t>(dim)] < high &&
                   shape.dims[static_cast<size_t>(dim)] > 1;
      if (free[a].root && free[b].root)
        isApart |= (free[a].stride < free[b].stride) != (*free[a].root < *free[b].root);
      if (isApart)
        need(Formula::lessEqual(countWide(view, {free[a].size, free[b].size}), view.constant(1)),
             fmt::format("{{0}} and {{1}} elements of operand %{} along dims that do not lie one "
                         "behind the other, of which TMA copies one alone",
                         view.graph[op.operands[number]].name),
             {free[a].size, free[b].size});
    }
}

/// Rows and columns of a tile behind another dot come from one dim each: rows from the
/// one that is contiguous in memory, or next to it.
template <class Need>
void addOneDimEach(const ResourceView &view, const TwoDots &chain, const Need &need) {
  const std::vector<DotSide> sides = dotSides(view, view.group.instancesOf(chain.second).front());
  const DotSide rows = chain.scoresSide == 0 ? DotSide::Rows : DotSide::Columns;
  bool hasRows = false, hasColumns = false;
  for (int64_t each : view.rootShape().minorToMajorOrDefault()) {
    const auto dim = static_cast<size_t>(each);
    if (sides[dim] == DotSide::Batch || view.rootShape().dims[dim] <= 1)
      continue;
    const bool isRow = sides[dim] == rows;
    if (!std::exchange(isRow ? hasRows : hasColumns, true))
      continue;
    if (isRow)
      need(Formula::lessEqual(view.rootTile[dim], view.constant(1)),
           "rows of a tile come from several dims, of {0} elements of another one than theirs",
           {view.rootTile[dim]});
    else
      need(Formula::constant(false), "its columns are several dims", {});
  }
}

} // namespace

void addInstructionConstraints(const Graph &graph, TiledGroup &group, Instruction instruction) {
  if (instruction == Instruction::Fma)
    return addFmaConstraints(graph, group);
  if (kindOfCode(graph, group).kind == CodeKind::Fused) // its programs have them
    return;
  const ResourceView view(graph, group);
  const bool isWgmma = instruction == Instruction::Wgmma;
  const Expr one = view.ctx.constant(1), warps = view.parameter("warps");
  const std::optional<TwoDots> chain = twoDots(graph, group.group);
  std::vector<Constraint> added;
  for (unsigned i = 0; i < group.instances.size(); ++i) {
    if (!view.isDot(i))
      continue;
    const TileInstance &dot = group.instances[i];
    const Op &op = view.op(i);
    auto need = [&](Formula formula, std::string text, std::vector<Expr> args) {
      Provenance from{dot.op, "%" + op.name, -1, -1, "mma-shape", std::move(text), std::move(args)};
      if (!formula.isTrue())
        added.push_back({std::move(formula), std::move(from)});
    };
    const unsigned bits = bitWidth(view.dtype(dot.operands[0]));
    const bool isConvolution = op.opcode == Opcode::Convolution;
    std::string whyNot = whyNoMatrixProduct(graph, op, instruction);
    if (whyNot.empty() && ((isWgmma && (bits == 32 || isConvolution)) ||
                           (isConvolution && op.attrs.batchGroupCount != 1)))
      whyNot = fmt::format("does not take a {} of {}", toString(op.opcode),
                           toString(view.dtype(dot.operands[0])));
    if (!whyNot.empty()) {
      need(Formula::constant(false), fmt::format("{} {}", toString(instruction), whyNot), {});
      continue;
    }
    // m and n: products over the free dims; batch tiles hold one.
    const DotDims &d = op.attrs.dot;
    const Tile &tile = dot.tile;
    const size_t batch = d.lhsBatch.size();
    const size_t lhsFree =
        graph[op.operands[0]].shape.dims.size() - batch - d.lhsContracting.size();
    Expr m = one, n = one, k = one;
    int64_t wholeM = 1, wholeN = 1, wholeK = 1;
    std::vector<Expr> rows, columns; // sizes by dim
    for (size_t dim = 0; dim < tile.dims.size(); ++dim) {
      const Expr size = tile.dims[dim].size;
      if (!isConvolution && dim < batch) {
        need(Formula::lessEqual(size, one), "batch tile {0} must be 1 for a matrix instruction",
             {size});
        continue;
      }
      const bool isM = isConvolution ? dim != static_cast<size_t>(op.attrs.conv.outputFeature)
                                     : dim < batch + lhsFree;
      (isM ? m : n) = (isM ? m : n) * size;
      (isM ? rows : columns).push_back(size);
      (isM ? wholeM : wholeN) *= view.shapeOf(dot.op).dims[dim];
    }
    for (unsigned parameter : dot.reduces) {
      k = k * group.space.parameters[parameter].size;
      wholeK *= group.space.parameters[parameter].largest();
    }
    // Code pads a tile to whole instructions: worth it where the dims have no more to give.
    auto multiple = [&](Expr value, int64_t of, int64_t whole, std::string_view what) {
      Formula isMultiple = Formula::divides(view.ctx.constant(of), value);
      if (whole % of == 0)
        need(std::move(isMultiple),
             fmt::format("{} tile {{0}} must be a multiple of {} for {}", what, of,
                         toString(instruction)),
             {value});
      else
        need(isMultiple || Formula::lessEqual(view.ctx.constant(whole), value),
             fmt::format("{} tile {{0}} must be a multiple of {} for {}, or all {}", what, of,
                         toString(instruction), whole),
             {value});
    };
    if (isWgmma)
      need(Formula::divides(view.ctx.constant(64), m),
           "m tile {0} must be a multiple of 64 for wgmma", {m});
    else
      multiple(m, 16, wholeM, "m");
    multiple(n, isWgmma ? 16 : 8, wholeN, "n");
    if (!isConvolution || !packedConvolutionStep(op, graph[op.operands[1]].shape))
      multiple(k, 256 / bits, wholeK, "k");
    if (isWgmma) {
      need(Formula::divides(view.ctx.constant(4), warps),
           "{0} warps must be a multiple of 4 for wgmma", {warps});
      need(Formula::divides(warps * 256, m * roundUp(n, 16)),
           "the 64 x 16 results of the tile {0} x {1} must divide evenly among the {2} warps in "
           "groups of 4",
           {m, n, warps});
      if (auto why = tmaRefusal(graph, group.group, dot.op))
        need(Formula::constant(false), *why, {});
      const WarpgroupTiles padded = warpgroupTiles(view, i, dotTiles(view, i));
      auto padding = [&](const char *what, const std::vector<Expr> &sizes, Expr size, Expr to) {
        const Expr wide = countWide(view, sizes);
        need(Formula::lessEqual(wide, one) || Formula::lessEqual(to, size),
             fmt::format(
                 "the {{0}} {} of a tile come from {{1}} dims, and TMA pads one alone to the "
                 "{{2}} of {{3}} warps; use fewer warps or a tile along one dim",
                 what),
             {size, wide, to, warps});
      };
      if (!chain) {
        padding("rows", rows, m, padded.rows);
        padding("columns", columns, n, padded.columns);
      }
      for (size_t number : {0, 1})
        addDigitOrder(view, i, number, need);
      for (size_t number : {0, 1})
        if (const TmaOperand operand = tmaOperand(graph, group.group, dot.op, number);
            operand.whyNot.empty() && operand.copiesLines)
          addLines(view, i, number, operand, roundUp(k, 256 / bits), need);
    } else {
      need(Formula::divides(warps * 128, roundUp(m, 16) * roundUp(n, 8)),
           "the 16 x 8 results of the tile {0} x {1} must divide evenly among {2} warps",
           {m, n, warps});
    }
  }
  if (chain)
    addOneDimEach(view, *chain, [&](Formula formula, std::string text, std::vector<Expr> args) {
      added.push_back({std::move(formula),
                       {chain->second, "%" + graph[chain->second].name, -1, -1, "mma-shape",
                        std::move(text), std::move(args)}});
    });
  if (chain && isWgmma) {
    // One product makes all columns of a row block.
    constexpr int64_t widest = 256;
    const Expr columns = roundUp(chainSizes(graph, group, *chain).columns, 16);
    added.push_back(
        {Formula::lessEqual(columns, view.ctx.constant(widest)),
         {chain->second,
          "%" + graph[chain->second].name,
          -1,
          -1,
          "mma-shape",
          fmt::format("{{0}} columns a CTA, of at most {} of a product of wgmma", widest),
          {columns}}});
  }
  group.constraints.insert(group.constraints.end(), added.begin(), added.end());
}

} // namespace tilewright
