// Ops that only move elements: each is one or two copies between strided boxes.
#include "analysis/ir/evaluator_impl.h"

#include <algorithm>

namespace tilewright::eval {

namespace {
/// A box of elements and where they lie in the result and in an operand.
struct Copy {
  std::vector<int64_t> dims;
  int64_t toBase = 0, fromBase = 0;
  std::vector<int64_t> to, from;
};

void copyBox(const OpRun &run, Tensor &result, const Copy &copy, size_t operandNumber) {
  const Tensor &source = run.operand(operandNumber);
  unsigned width = result.wordsPerElement();
  std::span<uint64_t> to = result.words();
  std::span<const uint64_t> from = source.words();
  std::array<int64_t, 2> base{copy.toBase, copy.fromBase};
  std::array<std::vector<int64_t>, 2> strides{copy.to, copy.from};
  walkBox(copy.dims, base, strides, [&](const std::array<int64_t, 2> &at) {
    for (unsigned w = 0; w < width; ++w)
      to[at[0] * width + w] = from[at[1] * width + w];
  });
  if (run.isRecording())
    walkBox(copy.dims, base, strides,
            [&](const std::array<int64_t, 2> &at) { run.read(at[0], operandNumber, at[1]); });
}

llvm::Expected<std::shared_ptr<Tensor>> newResult(const OpRun &run, size_t operands) {
  if (run.operands.size() < operands || operands == 0)
    return run.error(DiagClass::BadInput, "{} operands are too few", run.operands.size());
  for (size_t k = 0; k < run.operands.size(); ++k)
    if (run.operands[k].size() != 1)
      return run.error(DiagClass::BadInput, "operand {} is a tuple", k);
  if (run.op.shape.isTuple)
    return run.error(DiagClass::BadInput, "its result is a tuple");
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  if (llvm::Error error = run.charge((*result)->size()))
    return error;
  return result;
}

llvm::Error misfit(const OpRun &run) {
  return run.error(DiagClass::BadInput, "attributes and shapes don't fit: {} to {}",
                   run.operandShape(0).str(false), run.op.shape.str(false));
}

/// Operands of other precisions than the result's are rounded; otherwise nothing changes.
void finishJoined(const OpRun &run, Tensor &out) {
  for (const Value &operand : run.operands)
    if (operand[0]->dtype() != out.dtype() && isFloat(operand[0]->dtype())) {
      finish(run.context, out);
      return;
    }
}

llvm::Error fillBroadcast(const OpRun &run, Tensor &out) {
  const Shape &in = run.operandShape(0);
  const std::vector<int64_t> &map = run.op.attrs.dimensions;
  if (map.size() != in.rank() || !areDistinctDims(map, run.op.shape.rank()))
    return misfit(run);
  Copy copy{run.op.shape.dims, 0, 0, stridesOf(run.op.shape), {}};
  copy.from.resize(run.op.shape.rank());
  std::vector<int64_t> strides = stridesOf(in);
  for (size_t d = 0; d < map.size(); ++d) {
    bool isStretched = in.dims[d] == 1;
    if (!isStretched && in.dims[d] != run.op.shape.dims[map[d]])
      return misfit(run);
    copy.from[map[d]] = isStretched ? 0 : strides[d];
  }
  copyBox(run, out, copy, 0);
  return llvm::Error::success();
}

llvm::Error fillTranspose(const OpRun &run, Tensor &out) {
  const Shape &in = run.operandShape(0);
  const std::vector<int64_t> &map = run.op.attrs.dimensions;
  if (map.size() != in.rank() || map.size() != run.op.shape.rank() ||
      !areDistinctDims(map, in.rank()))
    return misfit(run);
  Copy copy{run.op.shape.dims, 0, 0, stridesOf(run.op.shape), {}};
  std::vector<int64_t> strides = stridesOf(in);
  for (size_t d = 0; d < map.size(); ++d) {
    if (in.dims[map[d]] != run.op.shape.dims[d])
      return misfit(run);
    copy.from.push_back(strides[map[d]]);
  }
  copyBox(run, out, copy, 0);
  return llvm::Error::success();
}

llvm::Error fillSlice(const OpRun &run, Tensor &out) {
  const Shape &in = run.operandShape(0);
  const std::vector<SliceDim> &dims = run.op.attrs.slice;
  if (dims.size() != in.rank() || in.rank() != run.op.shape.rank())
    return misfit(run);
  Copy copy{run.op.shape.dims, 0, 0, stridesOf(run.op.shape), stridesOf(in)};
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t count = run.op.shape.dims[d], step = dims[d].step, start = dims[d].start;
    bool fits =
        step > 0 && start >= 0 &&
        (count == 0 || (start < in.dims[d] && count - 1 <= (in.dims[d] - 1 - start) / step));
    if (!fits)
      return misfit(run);
    copy.fromBase += count == 0 ? 0 : start * copy.from[d];
    copy.from[d] *= count <= 1 ? 0 : step;
  }
  copyBox(run, out, copy, 0);
  return llvm::Error::success();
}

llvm::Error fillReverse(const OpRun &run, Tensor &out) {
  const Shape &in = run.operandShape(0);
  if (in.dims != run.op.shape.dims || !areDistinctDims(run.op.attrs.dimensions, in.rank()))
    return misfit(run);
  Copy copy{in.dims, 0, 0, stridesOf(in), stridesOf(in)};
  for (int64_t dim : run.op.attrs.dimensions) {
    copy.fromBase += (in.dims[dim] - 1) * copy.from[dim];
    copy.from[dim] = -copy.from[dim];
  }
  copyBox(run, out, copy, 0);
  return llvm::Error::success();
}

llvm::Error fillConcatenate(const OpRun &run, Tensor &out) {
  const Shape &shape = run.op.shape;
  if (run.op.attrs.dimensions.size() != 1 ||
      !areDistinctDims(run.op.attrs.dimensions, shape.rank()))
    return misfit(run);
  size_t dim = static_cast<size_t>(run.op.attrs.dimensions[0]);
  std::vector<int64_t> strides = stridesOf(shape);
  int64_t begin = 0;
  for (size_t k = 0; k < run.operands.size(); ++k) {
    const Shape &in = run.operandShape(k);
    for (size_t d = 0; d < shape.rank(); ++d)
      if (in.rank() != shape.rank() || (d != dim && in.dims[d] != shape.dims[d]))
        return misfit(run);
    if (in.dims[dim] > shape.dims[dim] - begin || !areHeldAlike(in.dtype, shape.dtype))
      return misfit(run);
    copyBox(run, out, {in.dims, begin * strides[dim], 0, strides, stridesOf(in)}, k);
    begin += in.dims[dim];
  }
  return begin == shape.dims[dim] ? llvm::Error::success() : misfit(run);
}

llvm::Error fillPad(const OpRun &run, Tensor &out) {
  const Shape &in = run.operandShape(0);
  const std::vector<PadDim> &padding = run.op.attrs.padding;
  if (padding.size() != in.rank() || in.rank() != run.op.shape.rank() ||
      run.operand(1).size() != 1 || !areHeldAlike(run.operandShape(1).dtype, in.dtype))
    return misfit(run);
  Copy copy{in.dims, 0, 0, stridesOf(run.op.shape), stridesOf(in)};
  for (size_t d = 0; d < padding.size(); ++d) {
    // Operand element i stands at low + i·(interior + 1); those outside are cropped.
    using Wide = __int128;
    if (padding[d].interior < 0)
      return misfit(run);
    Wide step = Wide(padding[d].interior) + 1, low = padding[d].low;
    Wide first = low >= 0 ? Wide(0) : (-low + step - 1) / step;
    Wide last = run.op.shape.dims[d] - 1 - low < 0
                    ? Wide(-1)
                    : std::min<Wide>(in.dims[d] - 1, (run.op.shape.dims[d] - 1 - low) / step);
    copy.dims[d] = last < first ? 0 : static_cast<int64_t>(last - first + 1);
    if (copy.dims[d] > 0) {
      copy.fromBase += static_cast<int64_t>(first) * copy.from[d];
      copy.toBase += static_cast<int64_t>(low + first * step) * copy.to[d];
      copy.to[d] *= copy.dims[d] > 1 ? static_cast<int64_t>(step) : 0;
    }
  }
  Scalar value = load(run.operand(1), 0);
  for (int64_t i = 0; i < out.size(); ++i)
    store(out, i, value);
  if (run.isRecording()) {
    std::vector<bool> isCopied(static_cast<size_t>(out.size()));
    walkBox<1>(copy.dims, {copy.toBase}, {copy.to},
               [&](const std::array<int64_t, 1> &at) { isCopied[at[0]] = true; });
    for (int64_t i = 0; i < out.size(); ++i)
      if (!isCopied[i])
        run.read(i, 1, 0);
  }
  copyBox(run, out, copy, 0);
  return llvm::Error::success();
}

/// reshape keeps logical order, bitcast physical order; both may be seen as a permutation.
llvm::Error fillReordered(const OpRun &run, Tensor &out, bool isPhysical) {
  if (run.operand(0).size() != out.size() || run.operand(0).dtype() != out.dtype())
    return misfit(run);
  if (!isPhysical) {
    copyBox(run, out, {{out.size()}, 0, 0, {1}, {1}}, 0);
    return llvm::Error::success();
  }
  std::vector<int64_t> from = physicalOrder(run.operandShape(0)), to = physicalOrder(out.shape());
  for (int64_t i = 0; i < out.size(); ++i) {
    store(out, to[i], load(run.operand(0), from[i]));
    if (run.isRecording())
      run.read(to[i], 0, from[i]);
  }
  return llvm::Error::success();
}

/// The same bytes read as another type. Elements of other widths share or split bytes.
llvm::Error fillReinterpreted(const OpRun &run, std::shared_ptr<Tensor> &out, bool isPhysical) {
  Shape from = run.operandShape(0), to = run.op.shape;
  if (from.byteSize() != to.byteSize() || dtypeClass(from.dtype) == DTypeClass::NonNumeric)
    return misfit(run);
  if (!isPhysical) {
    from.layout.reset();
    to.layout.reset();
  }
  llvm::Expected<Tensor> read = unpackTensor(to, packTensor(run.operand(0).withShape(from)));
  if (!read)
    return read.takeError();
  std::copy(read->words().begin(), read->words().end(), out->words().begin());
  if (run.isRecording()) {
    std::vector<int64_t> order = isPhysical ? physicalOrder(to) : std::vector<int64_t>();
    std::vector<int64_t> inOrder = isPhysical ? physicalOrder(from) : std::vector<int64_t>();
    int64_t outBits = bitWidth(to.dtype), inBits = bitWidth(from.dtype);
    for (int64_t i = 0; i < out->size(); ++i)
      for (int64_t j = i * outBits / inBits; j * inBits < (i + 1) * outBits; ++j)
        run.read(isPhysical ? order[i] : i, 0, isPhysical ? inOrder[j] : j);
  }
  return llvm::Error::success();
}
} // namespace

llvm::Expected<Value> evaluateMovement(OpRun &run) {
  llvm::Expected<std::shared_ptr<Tensor>> result =
      newResult(run, run.op.opcode == Opcode::Pad ? 2 : 1);
  if (!result)
    return result.takeError();
  Tensor &out = **result;
  bool isSameType = run.operandShape(0).dtype == run.op.shape.dtype;
  bool reinterprets =
      run.op.opcode == Opcode::BitcastConvert || (run.op.opcode == Opcode::Bitcast && !isSameType);
  bool joins = run.op.opcode == Opcode::Concatenate || run.op.opcode == Opcode::Pad;
  if (!reinterprets &&
      !(joins ? areHeldAlike(run.operandShape(0).dtype, run.op.shape.dtype) : isSameType))
    return misfit(run);
  auto fill = [&]() -> llvm::Error {
    switch (run.op.opcode) {
    case Opcode::Broadcast:
      return fillBroadcast(run, out);
    case Opcode::Transpose:
      return fillTranspose(run, out);
    case Opcode::Slice:
      return fillSlice(run, out);
    case Opcode::Reverse:
      return fillReverse(run, out);
    case Opcode::Concatenate:
      return fillConcatenate(run, out);
    case Opcode::Pad:
      return fillPad(run, out);
    default:
      if (reinterprets)
        return fillReinterpreted(run, *result, run.op.opcode == Opcode::Bitcast);
      return fillReordered(run, out, run.op.opcode == Opcode::Bitcast);
    }
  };
  if (llvm::Error error = fill())
    return error;
  if (joins)
    finishJoined(run, out);
  return Value{*result};
}

namespace {
/// Start indices of a dynamic slice: scalars from operand `first` on, or one vector operand
/// there; clamped so that a box of `sizes` lies inside `bounds`.
llvm::Expected<std::vector<int64_t>> clampedStarts(const OpRun &run, size_t first,
                                                   const std::vector<int64_t> &bounds,
                                                   const std::vector<int64_t> &sizes) {
  size_t rank = bounds.size();
  bool isVector = run.operands.size() == first + 1 && run.operandShape(first).rank() == 1;
  if (!isVector && run.operands.size() != first + rank)
    return run.error(DiagClass::BadInput, "{} start indices for {} dims",
                     run.operands.size() - std::min(run.operands.size(), first), rank);
  std::vector<int64_t> starts(rank);
  for (size_t d = 0; d < rank; ++d) {
    const Tensor &from = run.operand(isVector ? first : first + d);
    int64_t at = isVector ? static_cast<int64_t>(d) : 0;
    if (at >= from.size() || !isInteger(from.dtype()))
      return run.error(DiagClass::BadInput, "start index {} isn't an integer scalar", d);
    int64_t start = from.integer(at), most = bounds[d] - sizes[d];
    if (most < 0)
      return run.error(DiagClass::BadInput, "{} elements of dim {}, which has {}", sizes[d], d,
                       bounds[d]);
    bool isHuge = from.dtype() == DType::U64 && start < 0;
    starts[d] = isHuge ? most : std::clamp<int64_t>(start, 0, most);
  }
  return starts;
}

/// The start operands that each element of a result depends on.
void recordStarts(const OpRun &run, size_t first, const Copy &box) {
  if (!run.isRecording())
    return;
  walkBox<1>(box.dims, {box.toBase}, {box.to}, [&](const std::array<int64_t, 1> &at) {
    for (size_t k = first; k < run.operands.size(); ++k)
      for (int64_t i = 0; i < run.operand(k).size(); ++i)
        run.read(at[0], k, i);
  });
}
} // namespace

llvm::Expected<Value> evaluateDynamicSlice(OpRun &run) {
  llvm::Expected<std::shared_ptr<Tensor>> result = newResult(run, 1);
  if (!result)
    return result.takeError();
  const Shape &in = run.operandShape(0);
  if (in.rank() != run.op.shape.rank() || in.dtype != run.op.shape.dtype)
    return misfit(run);
  llvm::Expected<std::vector<int64_t>> starts = clampedStarts(run, 1, in.dims, run.op.shape.dims);
  if (!starts)
    return starts.takeError();
  Copy copy{run.op.shape.dims, 0, 0, stridesOf(run.op.shape), stridesOf(in)};
  for (size_t d = 0; d < in.rank(); ++d)
    copy.fromBase += (*starts)[d] * copy.from[d];
  copyBox(run, **result, copy, 0);
  recordStarts(run, 1, copy);
  return Value{*result};
}

llvm::Expected<Value> evaluateDynamicUpdateSlice(OpRun &run) {
  llvm::Expected<std::shared_ptr<Tensor>> result = newResult(run, 2);
  if (!result)
    return result.takeError();
  const Shape &in = run.operandShape(0), &update = run.operandShape(1);
  if (in.dims != run.op.shape.dims || update.rank() != in.rank() ||
      in.dtype != run.op.shape.dtype || !areHeldAlike(update.dtype, in.dtype))
    return misfit(run);
  llvm::Expected<std::vector<int64_t>> starts = clampedStarts(run, 2, in.dims, update.dims);
  if (!starts)
    return starts.takeError();
  Tensor &out = **result;
  std::span<const uint64_t> words = run.operand(0).words();
  std::copy(words.begin(), words.end(), out.words().begin());
  Copy copy{update.dims, 0, 0, stridesOf(in), stridesOf(update)};
  for (size_t d = 0; d < in.rank(); ++d)
    copy.toBase += (*starts)[d] * copy.to[d];
  copyBox(run, out, copy, 1);
  finishJoined(run, out);
  if (run.isRecording()) {
    std::vector<bool> isUpdated(static_cast<size_t>(out.size()));
    walkBox<1>(copy.dims, {copy.toBase}, {copy.to},
               [&](const std::array<int64_t, 1> &at) { isUpdated[at[0]] = true; });
    for (int64_t i = 0; i < out.size(); ++i)
      if (!isUpdated[i])
        run.read(i, 0, i);
    recordStarts(run, 2, {in.dims, 0, 0, stridesOf(in), {}});
  }
  return Value{*result};
}

} // namespace tilewright::eval
