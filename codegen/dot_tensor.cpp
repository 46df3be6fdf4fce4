// Operand tiles of a dot by the tensor memory accelerator, laid out as wgmma reads them.
//
// A stage holds an operand as panels: lines of `width` bytes (the swizzle: 128, 64 or 32). K-minor
// operands have a line for each row or column of the tile, width bytes of K in it, and a panel for
// each such piece of the K step. Others have a line for each k, width bytes of rows or columns in
// it, and a panel for each such piece of those. One copy brings one panel.
#include "analysis/affine/linear_form.h"
#include "analysis/support/checked.h"
#include "codegen/dot_lowering.h"

#include <algorithm>

namespace tilewright {

namespace {

int64_t roundUp(int64_t value, int64_t multiple) { return ceilDiv(value, multiple) * multiple; }

int64_t widestSwizzle(int64_t bytes) { return bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : 32; }

} // namespace

/// The contracted dims of an operand as one: its stride, if they lie in memory as one.
llvm::Expected<int64_t> DotLowering::contractedStride(const OperandTile &tile,
                                                      const TensorView &view) const {
  const DotDims &dims = lowering->graph[dot].attrs.dot;
  const std::vector<int64_t> &contracting =
      tile.side == Side::Rows ? dims.lhsContracting : dims.rhsContracting;
  int64_t stride = 0, inner = 1;
  for (size_t i = contracting.size(); i-- > 0;) {
    if (kExtents[i] == 1)
      continue;
    int64_t own = view.strides[static_cast<size_t>(contracting[i])];
    if (stride == 0)
      stride = own;
    else if (own != stride * inner)
      return makeError(DiagClass::Unsupported, "its contracted dims do not lie in memory as one");
    inner *= kExtents[i];
  }
  return stride == 0 ? 1 : stride;
}

/// The dims that one side of the tile is made of, as boxes, in the order in which the panel's
/// lines (or the elements of a line) run. Sets the side's order to that.
llvm::Expected<std::vector<BoxDim>> DotLowering::sideBoxes(const OperandTile &tile,
                                                           const TensorView &view) {
  ValueEmitter &emitter = lowering->emitter;
  RootSide &mine = side(tile.side);
  const Op &op = lowering->graph[dot];
  const Shape &shape = lowering->graph[tile.op].shape;
  bool isLeft = tile.side == Side::Rows;
  const DotDims &dims = op.attrs.dot;
  const std::vector<int64_t> &batchDims = isLeft ? dims.lhsBatch : dims.rhsBatch;
  const std::vector<int64_t> &contracting = isLeft ? dims.lhsContracting : dims.rhsContracting;

  // Where the tile's digits, one a root dim, lead in the dot.
  Coordinates digits, root(placeholders.size(), emitter.constant(0)), first = root;
  for (int64_t size : mine.tile)
    digits.push_back(
        emitter.variable(VarKind::Dim, "digit", Interval::ofExtent(size), lowering->k.c32(0)));
  Coordinates batch = side(Side::Batch).coordinates(emitter, batchPosition);
  for (size_t i = 0; i < batch.size(); ++i)
    root[side(Side::Batch).dims[i]] = first[side(Side::Batch).dims[i]] = batch[i];
  for (size_t i = 0; i < digits.size(); ++i) {
    first[mine.dims[i]] = emitter.simplify(mine.pids[i] * mine.tile[i]);
    root[mine.dims[i]] = emitter.simplify(mine.pids[i] * mine.tile[i] + digits[i]);
  }
  Coordinates at = dotCoordinates(root), from = dotCoordinates(first);

  struct FreeDim {
    BoxDim box;
    std::vector<int64_t> order; ///< digits, fastest first
    size_t rank = 0;            ///< where its fastest digit was in the side's order
  };
  std::vector<FreeDim> found;
  std::vector<bool> isUsed(digits.size());
  size_t next = isLeft ? batchDims.size()
                       : at.size() - (shape.rank() - batchDims.size() - contracting.size());
  size_t nextBatch = 0;
  std::vector<BoxDim> fixed; // batch dims
  for (size_t d = 0; d < shape.rank(); ++d) {
    auto isIn = [&](const std::vector<int64_t> &list) {
      return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
    };
    if (isIn(contracting))
      continue;
    if (isIn(batchDims)) {
      nextBatch = static_cast<size_t>(
          std::find(batchDims.begin(), batchDims.end(), static_cast<int64_t>(d)) -
          batchDims.begin());
      if (shape.dims[d] > 1)
        fixed.push_back({shape.dims[d], view.strides[d], 1, from[nextBatch]});
      continue;
    }
    size_t place = next++;
    FreeDim dim;
    dim.box = {shape.dims[d], view.strides[d], 1, from[place]};
    LinearForm form = LinearForm::of(emitter.simplify(at[place] - from[place]));
    if (form.constant != 0)
      return makeError(DiagClass::Unsupported, "its tiles are no boxes");
    std::vector<std::pair<int64_t, size_t>> steps; // coefficient, digit
    for (const LinearForm::Term &term : form.terms) {
      auto digit = std::find(digits.begin(), digits.end(), term.expr);
      if (digit == digits.end() || isUsed[static_cast<size_t>(digit - digits.begin())])
        return makeError(DiagClass::Unsupported, "its tiles are no boxes");
      isUsed[static_cast<size_t>(digit - digits.begin())] = true;
      steps.emplace_back(term.coefficient, digit - digits.begin());
    }
    std::sort(steps.begin(), steps.end());
    for (auto [coefficient, digit] : steps) {
      if (coefficient != dim.box.box)
        return makeError(DiagClass::Unsupported, "its tiles have gaps");
      dim.box.box *= mine.tile[digit];
      dim.order.push_back(static_cast<int64_t>(digit));
    }
    if (!dim.order.empty())
      dim.rank = static_cast<size_t>(std::find(mine.order.begin(), mine.order.end(), dim.order[0]) -
                                     mine.order.begin());
    if (shape.dims[d] > 1)
      found.push_back(std::move(dim));
  }
  // The contiguous dim first, then as the root has it.
  std::stable_sort(found.begin(), found.end(), [](const FreeDim &a, const FreeDim &b) {
    return std::pair(a.box.stride != 1, a.rank) < std::pair(b.box.stride != 1, b.rank);
  });
  std::vector<int64_t> order;
  std::vector<BoxDim> boxes;
  for (FreeDim &dim : found) {
    order.insert(order.end(), dim.order.begin(), dim.order.end());
    boxes.push_back(dim.box);
  }
  for (size_t i = 0; i < digits.size(); ++i)
    if (!isUsed[i])
      order.push_back(static_cast<int64_t>(i)); // one element: it doesn't matter where
  mine.order = std::move(order);
  if (boxes.empty())
    boxes.push_back({1, 1, 1, emitter.constant(0)});
  boxes.insert(boxes.end(), fixed.begin(), fixed.end());
  return boxes;
}

/// Decides on the panels of an operand; `padded` rows or columns are wanted.
llvm::Error DotLowering::planTensorOperand(OperandTile &tile, int64_t padded) {
  ValueEmitter &emitter = lowering->emitter;
  auto view = tensorViewOf(emitter, tile.op);
  if (!view)
    return view.takeError();
  auto kStride = contractedStride(tile, *view);
  if (!kStride)
    return kStride.takeError();
  auto boxes = sideBoxes(tile, *view);
  if (!boxes)
    return boxes.takeError();
  const RootSide &mine = side(tile.side);
  int64_t elementBytes = bitWidth(inputType) / 8;
  // Dims that have more than one element in the tile first: they are what is padded and cut.
  auto single = std::stable_partition(boxes->begin(), boxes->end(),
                                      [](const BoxDim &dim) { return dim.box > 1; });
  auto sideDims = static_cast<size_t>(single - boxes->begin());
  if (padded != mine.size) {
    // The tile's rows go on into the next tile; what comes of them is not stored.
    if (sideDims > 1)
      return makeError(DiagClass::Unsupported,
                       "its {} rows or columns come from several dims and are not {}", mine.size,
                       padded);
    (*boxes)[0].box = padded;
  }
  BoxDim k{kTotal, *kStride, kPadded, Expr()};
  std::vector<BoxDim> dims;
  TensorOperand &tensor = tile.tensor;
  tile.isKMinor = *kStride == 1;
  if (tile.isKMinor) {
    tensor.width = widestSwizzle(kPadded * elementBytes);
    k.box = tensor.width / elementBytes;
    tensor.panels = kPadded / k.box;
    dims = {k};
    dims.insert(dims.end(), boxes->begin(), boxes->end());
    tensor.kDim = 0;
    tensor.panelBytes = padded * tensor.width;
    for (int64_t i = 0; i < tensor.panels; ++i)
      tensor.steps.push_back({0, i * k.box});
    while (dims[1].box > 256) { // in pieces, each one copy
      if (dims[1].box % 2 != 0 || sideDims > 1)
        return makeError(DiagClass::Unsupported, "a box of {} rows", dims[1].box);
      dims[1].box /= 2;
      tensor.pieces *= 2;
    }
  } else {
    if ((*boxes)[0].stride != 1)
      return makeError(DiagClass::Unsupported, "no dim of its tiles is contiguous");
    if (bitWidth(inputType) != 16)
      return makeError(DiagClass::Unsupported,
                       "its contracted dim is not the contiguous one, which wgmma takes for 16-bit "
                       "types only");
    int64_t inner = (*boxes)[0].box;
    if (inner * elementBytes % 32 != 0) {
      if (sideDims > 1)
        return makeError(DiagClass::Unsupported, "its rows of {} bytes are no multiple of 32",
                         inner * elementBytes);
      inner = roundUp(inner, 32 / elementBytes);
    }
    tensor.width = widestSwizzle(inner * elementBytes);
    int64_t piece = tensor.width / elementBytes;
    dims = *boxes;
    dims[0].box = piece;
    dims.insert(dims.begin() + 1, k);
    tensor.kDim = 1;
    tensor.panelBytes = kPadded * tensor.width;
    // A panel for each piece of the contiguous dim and each place in the others.
    std::vector<TensorOperand::Step> all;
    for (int64_t i = 0; i < inner / piece; ++i)
      all.push_back({0, i * piece});
    for (size_t d = 2; d < dims.size(); ++d) {
      if (dims[d].box == 1)
        continue;
      if (sideDims > 2)
        return makeError(DiagClass::Unsupported, "its tiles have more than two dims");
      std::vector<TensorOperand::Step> more;
      for (int64_t i = 0; i < dims[d].box; ++i)
        for (TensorOperand::Step step : all) {
          step.otherDim = d;
          step.otherOffset = i;
          more.push_back(step);
        }
      all = std::move(more);
      dims[d].box = 1;
    }
    tensor.steps = std::move(all);
    tensor.panels = static_cast<int64_t>(tensor.steps.size());
    if (kPadded > 256)
      return makeError(DiagClass::Unsupported, "a K step of {} lines, at most 256", kPadded);
  }
  // Dims of one element need no place in the map, but for the innermost.
  std::vector<BoxDim> kept;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d > 0 && dims[d].extent == 1) {
      if (d < tensor.kDim)
        --tensor.kDim;
      continue;
    }
    kept.push_back(dims[d]);
  }
  for (const TensorOperand::Step &step : tensor.steps)
    if (step.otherOffset && kept.size() != dims.size())
      return makeError(DiagClass::Unsupported, "its tiles have dims of one element in between");
  auto map = tensorMapOf(*view, inputType, kept, tensor.width);
  if (!map)
    return map.takeError();
  if (kTiles > 1 && kStep != kPadded)
    return makeError(DiagClass::Unsupported, "a K step of {} is not a multiple of {}", kStep,
                     32 / elementBytes);
  tensor.dims = std::move(kept);
  tensorMaps.push_back(std::move(*map));
  tile.bytes = roundUp(tensor.panels * tensor.panelBytes, 1024);
  return llvm::Error::success();
}

/// Starts the copies of one operand; by one thread.
void DotLowering::copyTensorOperand(const OperandTile &tile, unsigned map, llvm::Value *kFirst,
                                    llvm::Value *stageOffset, llvm::Value *barrier) {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  llvm::IRBuilder<> &b = k.b;
  const TensorOperand &tensor = tile.tensor;
  Values starts;
  for (size_t d = 0; d < tensor.dims.size(); ++d)
    starts.push_back(d == tensor.kDim ? kFirst
                                      : b.CreateTrunc(emitter.index(tensor.dims[d].start), k.i32));
  int64_t panel = 0;
  for (const TensorOperand::Step &step : tensor.steps) {
    for (int64_t piece = 0; piece < tensor.pieces; ++piece) {
      Values at = starts;
      if (step.innerOffset)
        at[0] = b.CreateAdd(at[0], k.c32(step.innerOffset));
      if (step.otherOffset)
        at[step.otherDim] = b.CreateAdd(at[step.otherDim], k.c32(step.otherOffset));
      int64_t rows = tensor.pieces > 1 ? tensor.dims[1].box : 0;
      if (piece)
        at[1] = b.CreateAdd(at[1], k.c32(piece * rows));
      int64_t offset = tile.offset + panel * tensor.panelBytes + piece * rows * tensor.width;
      k.copyTensor(map, b.CreateAdd(stageOffset, k.c32(offset)), barrier, at);
    }
    ++panel;
  }
}

} // namespace tilewright
