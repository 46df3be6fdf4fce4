#include "codegen/tensor_operand.h"

#include "analysis/affine/linear_form.h"
#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright {

namespace {

int64_t widestSwizzle(int64_t bytes) { return bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : 32; }

/// The dims that the tile's digits run over, as boxes, in the order of the panel's lines (or of a
/// line's elements), then batch dims. `order` is the resulting order of the digits.
llvm::Expected<std::vector<BoxDim>> sideBoxes(ValueEmitter &emitter, const TensorTile &tile,
                                              const StridedView &view,
                                              std::vector<int64_t> &order) {
  const Shape &shape = emitter.graph()[tile.op].shape;
  struct FreeDim {
    BoxDim box;
    std::vector<int64_t> order; ///< digits, fastest first
    size_t rank = 0;            ///< position of its fastest digit in the tile's order
  };
  std::vector<FreeDim> found;
  std::vector<BoxDim> fixed; // batch dims
  std::vector<bool> isUsed(tile.digits.size());
  for (size_t d = 0; d < shape.rank(); ++d) {
    auto isIn = [&](const std::vector<int64_t> &list) {
      return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
    };
    if (isIn(tile.contracted))
      continue;
    FreeDim dim;
    dim.box = {shape.dims[d], view.strides[d], 1, tile.first[d]};
    if (isIn(tile.batch)) {
      if (shape.dims[d] > 1)
        fixed.push_back(dim.box);
      continue;
    }
    LinearForm form = LinearForm::of(emitter.simplify(tile.at[d] - tile.first[d]));
    if (form.constant != 0)
      return makeError(DiagClass::Unsupported, "its tiles are no boxes");
    std::vector<std::pair<int64_t, size_t>> steps; // coefficient, digit
    for (const LinearForm::Term &term : form.terms) {
      auto digit = std::find(tile.digits.begin(), tile.digits.end(), term.expr);
      if (digit == tile.digits.end() || isUsed[static_cast<size_t>(digit - tile.digits.begin())])
        return makeError(DiagClass::Unsupported, "its tiles are no boxes");
      isUsed[static_cast<size_t>(digit - tile.digits.begin())] = true;
      steps.emplace_back(term.coefficient, digit - tile.digits.begin());
    }
    std::sort(steps.begin(), steps.end());
    for (auto [coefficient, digit] : steps) {
      if (coefficient != dim.box.box)
        return makeError(DiagClass::Unsupported, "its tiles have gaps");
      dim.box.box *= tile.sizes[digit];
      dim.order.push_back(static_cast<int64_t>(digit));
    }
    if (!dim.order.empty())
      dim.rank = static_cast<size_t>(std::find(tile.order.begin(), tile.order.end(), dim.order[0]) -
                                     tile.order.begin());
    if (shape.dims[d] > 1)
      found.push_back(std::move(dim));
  }
  // The contiguous dim first, then in the root's order.
  std::stable_sort(found.begin(), found.end(), [](const FreeDim &a, const FreeDim &b) {
    return std::pair(a.box.stride != 1, a.rank) < std::pair(b.box.stride != 1, b.rank);
  });
  order.clear();
  std::vector<BoxDim> boxes;
  for (FreeDim &dim : found) {
    order.insert(order.end(), dim.order.begin(), dim.order.end());
    boxes.push_back(dim.box);
  }
  for (size_t i = 0; i < tile.digits.size(); ++i)
    if (!isUsed[i])
      order.push_back(static_cast<int64_t>(i)); // one element: any place will do
  if (boxes.empty())
    boxes.push_back({1, 1, 1, emitter.constant(0)});
  boxes.insert(boxes.end(), fixed.begin(), fixed.end());
  return boxes;
}

} // namespace

llvm::Expected<TensorOperand> TensorOperand::plan(Lowering &lowering, const TensorTile &tile) {
  ValueEmitter &emitter = lowering.emitter;
  const Shape &shape = lowering.graph[tile.op].shape;
  auto view = stridedViewOf(lowering.graph, tile.op, [&](OpId id) {
    return lowering.graph[id].opcode == Opcode::Parameter;
  });
  if (!view)
    return view.takeError();
  auto kStride = strideOfAll(*view, shape, tile.contracted);
  if (!kStride)
    return kStride.takeError();
  TensorOperand operand;
  operand.type = shape.dtype;
  operand.buffer = static_cast<unsigned>(lowering.graph[view->source].attrs.parameterNumber);
  operand.elementBytes = bitWidth(shape.dtype) / 8;
  auto boxes = sideBoxes(emitter, tile, *view, operand.order);
  if (!boxes)
    return boxes.takeError();
  if (auto error = operand.layOut(tile, std::move(*boxes), *kStride, *view))
    return error;
  return operand;
}

llvm::Error TensorOperand::layOut(const TensorTile &tile, std::vector<BoxDim> boxes,
                                  int64_t kStride, const StridedView &view) {
  int64_t size = 1;
  for (int64_t each : tile.sizes)
    size *= each;
  // Dims with more than one element in the tile come first: they are padded and cut.
  auto single = std::stable_partition(boxes.begin(), boxes.end(),
                                      [](const BoxDim &dim) { return dim.box > 1; });
  auto sideDims = static_cast<size_t>(single - boxes.begin());
  if (tile.padded != size) {
    // The padded rows read into the next tile; their results are not stored.
    if (sideDims > 1)
      return makeError(DiagClass::Unsupported,
                       "its {} rows or columns come from several dims and are not {}", size,
                       tile.padded);
    boxes[0].box = tile.padded;
  }
  BoxDim k{tile.kExtent, kStride, tile.kPadded, Expr()};
  isKMinor = kStride == 1;
  if (isKMinor) {
    width = widestSwizzle(tile.kPadded * elementBytes);
    k.box = width / elementBytes;
    panels = tile.kPadded / k.box;
    dims = {k};
    dims.insert(dims.end(), boxes.begin(), boxes.end());
    kDim = 0;
    panelBytes = tile.padded * width;
    for (int64_t i = 0; i < panels; ++i)
      steps.push_back({0, i * k.box});
    while (dims[1].box > 256) { // in pieces of one copy each
      if (dims[1].box % 2 != 0 || sideDims > 1)
        return makeError(DiagClass::Unsupported, "a box of {} rows", dims[1].box);
      dims[1].box /= 2;
      pieces *= 2;
    }
  } else {
    if (boxes[0].stride != 1)
      return makeError(DiagClass::Unsupported, "no dim of its tiles is contiguous");
    if (elementBytes != 2)
      return makeError(DiagClass::Unsupported,
                       "its contracted dim is not the contiguous one, which wgmma takes for 16-bit "
                       "types only");
    int64_t inner = boxes[0].box;
    if (inner * elementBytes % 32 != 0) {
      if (sideDims > 1)
        return makeError(DiagClass::Unsupported, "its rows of {} bytes are no multiple of 32",
                         inner * elementBytes);
      inner = roundUp(inner, 32 / elementBytes);
    }
    width = widestSwizzle(inner * elementBytes);
    int64_t piece = width / elementBytes;
    dims = boxes;
    dims[0].box = piece;
    dims.insert(dims.begin() + 1, k);
    kDim = 1;
    panelBytes = tile.kPadded * width;
    // A panel for each piece of the contiguous dim and each place in the others.
    std::vector<Step> all;
    for (int64_t i = 0; i < inner / piece; ++i)
      all.push_back({0, i * piece});
    for (size_t d = 2; d < dims.size(); ++d) {
      if (dims[d].box == 1)
        continue;
      if (sideDims > 2)
        return makeError(DiagClass::Unsupported, "its tiles have more than two dims");
      std::vector<Step> more;
      for (int64_t i = 0; i < dims[d].box; ++i)
        for (Step step : all) {
          step.otherDim = d;
          step.otherOffset = i;
          more.push_back(step);
        }
      all = std::move(more);
      dims[d].box = 1;
    }
    steps = std::move(all);
    panels = static_cast<int64_t>(steps.size());
    if (tile.kPadded > 256)
      return makeError(DiagClass::Unsupported, "a K step of {} lines, at most 256", tile.kPadded);
  }
  // Dims of one element are left out of the map, except the innermost.
  std::vector<BoxDim> kept;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d > 0 && dims[d].extent == 1) {
      if (d < kDim)
        --kDim;
      continue;
    }
    kept.push_back(dims[d]);
  }
  for (const Step &step : steps)
    if (step.otherOffset && kept.size() != dims.size())
      return makeError(DiagClass::Unsupported, "its tiles have dims of one element in between");
  auto made = tensorMapOf(view, buffer, type, kept, width);
  if (!made)
    return made.takeError();
  if (tile.kExtent > tile.kStep && tile.kStep != tile.kPadded)
    return makeError(DiagClass::Unsupported, "a K step of {} is not a multiple of {}", tile.kStep,
                     32 / elementBytes);
  map = std::move(*made);
  dims = std::move(kept);
  bytes = roundUp(panels * panelBytes, 1024);
  return llvm::Error::success();
}

void TensorOperand::copy(ValueEmitter &emitter, unsigned mapNumber, llvm::Value *kFirst,
                         llvm::Value *sharedOffset, llvm::Value *barrier,
                         const std::function<Expr(Expr)> &translate) const {
  KernelBuilder &k = emitter.builder();
  llvm::IRBuilder<> &b = k.b;
  Values starts;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d == kDim) {
      starts.push_back(kFirst);
      continue;
    }
    Expr start = translate ? translate(dims[d].start) : dims[d].start;
    starts.push_back(b.CreateTrunc(emitter.index(start), k.i32));
  }
  int64_t panel = 0;
  for (const Step &step : steps) {
    for (int64_t piece = 0; piece < pieces; ++piece) {
      Values at = starts;
      if (step.innerOffset)
        at[0] = b.CreateAdd(at[0], k.c32(step.innerOffset));
      if (step.otherOffset)
        at[step.otherDim] = b.CreateAdd(at[step.otherDim], k.c32(step.otherOffset));
      int64_t rows = pieces > 1 ? dims[1].box : 0;
      if (piece)
        at[1] = b.CreateAdd(at[1], k.c32(piece * rows));
      int64_t offset = panel * panelBytes + piece * rows * width;
      k.copyTensor(mapNumber, b.CreateAdd(sharedOffset, k.c32(offset)), barrier, at);
    }
    ++panel;
  }
}

int64_t TensorOperand::step(int64_t across, int64_t kBlock) const {
  if (isKMinor) {
    int64_t kBytes = kBlock * 32;
    return kBytes / width * panelBytes + kBytes % width + across * width;
  }
  return across * elementBytes / width * panelBytes + kBlock * (32 / elementBytes) * width;
}

llvm::Value *TensorOperand::descriptor(KernelBuilder &k, llvm::Value *sharedOffset) const {
  return k.matrixDescriptor(sharedOffset, isKMinor ? 16 : panelBytes, 8 * width, width);
}

} // namespace tilewright
