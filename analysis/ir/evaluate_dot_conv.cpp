// dot and convolution: sums of products, accumulated in double (floats) or wrapping 64 bits.
#include "analysis/ir/contraction_dims.h"
#include "analysis/ir/evaluate_window.h"
#include "analysis/ir/numeric.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <type_traits>

namespace tilewright::eval {

namespace {
/// Integers accumulate as uint64_t, where overflow wraps.
template <typename T> T element(const Tensor &tensor, int64_t i) {
  bool isComplex = tensor.wordsPerElement() == 2;
  if constexpr (std::is_same_v<T, std::complex<double>>)
    return isComplex ? tensor.complex(i) : std::complex<double>(tensor.asDouble(i));
  else if constexpr (std::is_same_v<T, double>)
    return tensor.asDouble(i);
  else
    return static_cast<uint64_t>(tensor.integer(i));
}

template <typename T> Scalar toScalar(const T &value) {
  if constexpr (std::is_same_v<T, uint64_t>)
    return Scalar::of(static_cast<int64_t>(value));
  else
    return Scalar::of(value);
}

/// Calls `body` with a value of the accumulator's type for this result type. Refuses operands
/// that the accumulator can't hold.
template <typename Body> llvm::Error withAccumulator(const OpRun &run, Body body) {
  DTypeClass result = dtypeClass(run.op.shape.dtype);
  for (size_t k = 0; k < 2; ++k) {
    DTypeClass in = dtypeClass(run.operandShape(k).dtype);
    bool isWider =
        (in == DTypeClass::Complex && result != DTypeClass::Complex) ||
        (in == DTypeClass::Float && result != DTypeClass::Float && result != DTypeClass::Complex);
    if (isWider || in == DTypeClass::NonNumeric)
      return run.error(DiagClass::Unsupported, "{} and {} to {} is not evaluated",
                       toString(run.operandShape(0).dtype), toString(run.operandShape(1).dtype),
                       toString(run.op.shape.dtype));
  }
  if (result == DTypeClass::Complex)
    return body(std::complex<double>());
  if (result == DTypeClass::Float)
    return body(double());
  return body(uint64_t());
}

/// Dims of a dot's operand in the order batch, free, contracting, with their strides.
struct DotSide {
  std::vector<int64_t> dims, strides;
  int64_t batch = 1, free = 1, contracting = 1;
  std::vector<int64_t> resultDims; ///< the free ones
};

DotSide dotSide(const Shape &shape, const std::vector<int64_t> &batch,
                const std::vector<int64_t> &contracting) {
  DotSide side;
  std::vector<int64_t> strides = stridesOf(shape);
  auto append = [&](int64_t dim, int64_t &product) {
    side.dims.push_back(shape.dims[dim]);
    side.strides.push_back(strides[dim]);
    product *= shape.dims[dim];
  };
  for (int64_t dim : batch)
    append(dim, side.batch);
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.rank()); ++dim) {
    bool isNamed = std::find(batch.begin(), batch.end(), dim) != batch.end() ||
                   std::find(contracting.begin(), contracting.end(), dim) != contracting.end();
    if (!isNamed) {
      append(dim, side.free);
      side.resultDims.push_back(shape.dims[dim]);
    }
  }
  for (int64_t dim : contracting)
    append(dim, side.contracting);
  return side;
}

/// Offsets of the operand's elements in the side's order.
std::vector<int64_t> offsetsOf(const DotSide &side) {
  std::vector<int64_t> offsets;
  walkBox<1>(side.dims, {0}, {side.strides},
             [&](const std::array<int64_t, 1> &at) { offsets.push_back(at[0]); });
  return offsets;
}

template <typename T> std::vector<T> gathered(const Tensor &tensor, const DotSide &side) {
  std::vector<T> values;
  values.reserve(static_cast<size_t>(tensor.size()));
  walkBox<1>(side.dims, {0}, {side.strides}, [&](const std::array<int64_t, 1> &at) {
    values.push_back(element<T>(tensor, at[0]));
  });
  return values;
}

template <typename T>
void multiply(const Tensor &lhs, const Tensor &rhs, const DotSide &left, const DotSide &right,
              Tensor &out) {
  std::vector<T> a = gathered<T>(lhs, left), b = gathered<T>(rhs, right);
  int64_t k = left.contracting;
  for (int64_t batch = 0; batch < left.batch; ++batch)
    for (int64_t m = 0; m < left.free; ++m) {
      const T *row = a.data() + (batch * left.free + m) * k;
      for (int64_t n = 0; n < right.free; ++n) {
        const T *column = b.data() + (batch * right.free + n) * k;
        T sum{};
        for (int64_t i = 0; i < k; ++i)
          sum += row[i] * column[i];
        store(out, (batch * left.free + m) * right.free + n, toScalar(sum));
      }
    }
}

/// scaled-dot: the position of the scale of each element of operand `side`; empty if it has no
/// scales.
llvm::Expected<std::vector<int64_t>> scalesOf(const OpRun &run, size_t side) {
  const Shape &in = run.operandShape(side), &scale = run.operandShape(side + 2);
  std::vector<int64_t> strides = stridesOf(scale), blocks, offsets;
  if (!scale.isScalar() && scale.rank() != in.rank())
    return run.error(DiagClass::BadInput, "scales {} for {}", scale.str(false), in.str(false));
  for (size_t d = 0; d < scale.rank(); ++d) {
    std::optional<int64_t> block = scaleBlock(in.dims[d], scale.dims[d]);
    if (!block)
      return run.error(DiagClass::BadInput, "scales {} for {}", scale.str(false), in.str(false));
    blocks.push_back(*block);
  }
  std::vector<int64_t> at(in.rank());
  for (int64_t i = 0; i < run.operand(side).size(); ++i, advance(at, in.dims)) {
    int64_t offset = 0;
    for (size_t d = 0; d < scale.rank(); ++d)
      offset += at[d] / blocks[d] * strides[d];
    offsets.push_back(offset);
  }
  return offsets;
}

/// Operand `side` with its scales multiplied in.
llvm::Expected<std::shared_ptr<Tensor>> scaled(const OpRun &run, size_t side,
                                               const std::vector<int64_t> &scales) {
  llvm::Expected<std::shared_ptr<Tensor>> result =
      run.context.allocate(Shape::tensor(DType::F64, run.operandShape(side).dims));
  if (!result)
    return result.takeError();
  for (int64_t i = 0; i < (*result)->size(); ++i)
    (*result)->setReal(i, run.operand(side).asDouble(i) *
                              run.operand(side + 2).asDouble(scales[static_cast<size_t>(i)]));
  return result;
}

void recordDot(const OpRun &run, const DotSide &left, const DotSide &right,
               const std::array<std::vector<int64_t>, 2> &scales) {
  std::vector<int64_t> a = offsetsOf(left), b = offsetsOf(right);
  int64_t k = left.contracting;
  for (int64_t batch = 0; batch < left.batch; ++batch)
    for (int64_t m = 0; m < left.free; ++m)
      for (int64_t n = 0; n < right.free; ++n)
        for (int64_t i = 0; i < k; ++i) {
          int64_t out = (batch * left.free + m) * right.free + n;
          std::array<int64_t, 2> at{a[(batch * left.free + m) * k + i],
                                    b[(batch * right.free + n) * k + i]};
          for (size_t side = 0; side < 2; ++side) {
            run.read(out, side, at[side]);
            if (!scales[side].empty())
              run.read(out, side + 2, scales[side][static_cast<size_t>(at[side])]);
          }
        }
}

bool haveSameExtents(const Shape &a, const std::vector<int64_t> &aDims, const Shape &b,
                     const std::vector<int64_t> &bDims) {
  if (aDims.size() != bDims.size())
    return false;
  for (size_t i = 0; i < aDims.size(); ++i)
    if (a.dims[aDims[i]] != b.dims[bDims[i]])
      return false;
  return true;
}

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

llvm::Error checkTensors(const OpRun &run, size_t count) {
  bool fits = run.operands.size() == count && !run.op.shape.isTuple;
  for (size_t i = 0; fits && i < count; ++i)
    fits = run.operands[i].size() == 1;
  if (!fits)
    return run.error(DiagClass::BadInput, "needs {} tensors and makes one", count);
  return llvm::Error::success();
}
} // namespace

llvm::Expected<Value> evaluateDot(OpRun &run) {
  bool isScaled = run.op.opcode == Opcode::ScaledDot;
  if (llvm::Error error = checkTensors(run, isScaled ? 4 : 2))
    return error;
  const Shape &lhs = run.operandShape(0), &rhs = run.operandShape(1);
  const DotDims &dims = run.op.attrs.dot;
  if (!areDistinctDims(joined(dims.lhsBatch, dims.lhsContracting), lhs.rank()) ||
      !areDistinctDims(joined(dims.rhsBatch, dims.rhsContracting), rhs.rank()) ||
      !haveSameExtents(lhs, dims.lhsBatch, rhs, dims.rhsBatch) ||
      !haveSameExtents(lhs, dims.lhsContracting, rhs, dims.rhsContracting))
    return run.error(DiagClass::BadInput, "{} and {} don't fit its dims", lhs.str(false),
                     rhs.str(false));
  DotSide left = dotSide(lhs, dims.lhsBatch, dims.lhsContracting);
  DotSide right = dotSide(rhs, dims.rhsBatch, dims.rhsContracting);
  std::vector<int64_t> expected(left.dims.begin(), left.dims.begin() + dims.lhsBatch.size());
  expected = joined(joined(expected, left.resultDims), right.resultDims);
  if (expected != run.op.shape.dims)
    return run.error(DiagClass::BadInput, "{} and {} don't give {}", lhs.str(false), rhs.str(false),
                     run.op.shape.str(false));
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  Tensor &out = **result;
  // Copies the operands once, in the order of the sums.
  if (llvm::Error error = run.charge(run.operand(0).size() + run.operand(1).size()))
    return error;
  if (llvm::Error error = run.charge(out.size(), std::max<int64_t>(left.contracting, 1)))
    return error;
  std::array<Leaf, 2> factors{run.operands[0][0], run.operands[1][0]};
  std::array<std::vector<int64_t>, 2> scales;
  for (size_t side = 0; isScaled && side < 2; ++side) {
    llvm::Expected<std::vector<int64_t>> which = scalesOf(run, side);
    if (!which)
      return which.takeError();
    scales[side] = std::move(*which);
    llvm::Expected<std::shared_ptr<Tensor>> product = scaled(run, side, scales[side]);
    if (!product)
      return product.takeError();
    factors[side] = *product;
  }
  llvm::Error error = withAccumulator(run, [&](auto zero) -> llvm::Error {
    multiply<decltype(zero)>(*factors[0], *factors[1], left, right, out);
    return llvm::Error::success();
  });
  if (error)
    return error;
  if (run.isRecording() && out.size() > 0)
    recordDot(run, left, right, scales);
  finish(run.context, out);
  return Value{*result};
}

namespace {
/// Extents and strides of a convolution, by role.
struct Convolution {
  int64_t groupInputs, groupOutputs;         ///< features of one feature group
  int64_t batchGroupOutputs, batchGroupSize; ///< batch groups: outputs of each, batches of each
  std::vector<int64_t> lhs, rhs, out;        ///< strides of the tensors' own dims
  std::vector<int64_t> lhsSpatial, rhsSpatial, positions, outSpatial;
  std::vector<int64_t> rhsSigned; ///< strides along the kernel, negative where it is reversed
  int64_t rhsBase = 0;            ///< where a reversed kernel starts
};

llvm::Expected<Convolution> prepare(const OpRun &run) {
  const Shape &lhs = run.operandShape(0), &rhs = run.operandShape(1), &out = run.op.shape;
  const ConvDims &dims = run.op.attrs.conv;
  auto isNumbering = [](const Shape &shape, int64_t a, int64_t b, std::vector<int64_t> spatial) {
    spatial.insert(spatial.end(), {a, b});
    return spatial.size() == shape.rank() && areDistinctDims(spatial, shape.rank());
  };
  if (!isNumbering(lhs, dims.inputBatch, dims.inputFeature, dims.inputSpatial) ||
      !isNumbering(rhs, dims.kernelInput, dims.kernelOutput, dims.kernelSpatial) ||
      !isNumbering(out, dims.outputBatch, dims.outputFeature, dims.outputSpatial) ||
      lhs.rank() != rhs.rank() || lhs.rank() != out.rank())
    return run.error(DiagClass::BadInput, "its dim labels don't fit {}, {} and {}", lhs.str(false),
                     rhs.str(false), out.str(false));
  int64_t groups = run.op.attrs.featureGroupCount, batchGroups = run.op.attrs.batchGroupCount;
  int64_t batches = lhs.dims[dims.inputBatch], inputs = lhs.dims[dims.inputFeature];
  int64_t outputs = rhs.dims[dims.kernelOutput];
  if (groups < 1 || batchGroups < 1 || inputs % groups || outputs % groups ||
      batches % batchGroups || outputs % batchGroups ||
      rhs.dims[dims.kernelInput] != inputs / groups ||
      out.dims[dims.outputBatch] != batches / batchGroups ||
      out.dims[dims.outputFeature] != outputs)
    return run.error(DiagClass::BadInput,
                     "{} feature groups and {} batch groups don't fit {}, {} and {}", groups,
                     batchGroups, lhs.str(false), rhs.str(false), out.str(false));
  Convolution conv{inputs / groups,
                   outputs / groups,
                   outputs / batchGroups,
                   batches / batchGroups,
                   stridesOf(lhs),
                   stridesOf(rhs),
                   stridesOf(out),
                   {},
                   {},
                   {},
                   {},
                   {},
                   0};
  if (run.op.attrs.window.size() != dims.inputSpatial.size())
    return run.error(DiagClass::BadInput, "a window of {} dims for {} spatial ones",
                     run.op.attrs.window.size(), dims.inputSpatial.size());
  for (size_t d = 0; d < dims.inputSpatial.size(); ++d) {
    const WindowDim &window = run.op.attrs.window[d];
    int64_t stride = conv.rhs[dims.kernelSpatial[d]];
    if (window.size != rhs.dims[dims.kernelSpatial[d]])
      return run.error(DiagClass::BadInput, "window dim {} is {}, the kernel's {}", d, window.size,
                       rhs.dims[dims.kernelSpatial[d]]);
    conv.lhsSpatial.push_back(conv.lhs[dims.inputSpatial[d]]);
    conv.outSpatial.push_back(conv.out[dims.outputSpatial[d]]);
    conv.positions.push_back(out.dims[dims.outputSpatial[d]]);
    conv.rhsSigned.push_back(window.reversed ? -stride : stride);
    conv.rhsBase += window.reversed ? (window.size - 1) * stride : 0;
  }
  return conv;
}

template <typename T>
void convolve(const OpRun &run, const Convolution &conv, const std::vector<WindowTable> &tables,
              Tensor &out) {
  const ConvDims &dims = run.op.attrs.conv;
  const Tensor &lhsTensor = run.operand(0), &rhsTensor = run.operand(1);
  std::vector<T> lhs(static_cast<size_t>(lhsTensor.size()));
  std::vector<T> rhs(static_cast<size_t>(rhsTensor.size()));
  for (size_t i = 0; i < lhs.size(); ++i)
    lhs[i] = element<T>(lhsTensor, static_cast<int64_t>(i));
  for (size_t i = 0; i < rhs.size(); ++i)
    rhs[i] = element<T>(rhsTensor, static_cast<int64_t>(i));
  int64_t lhsStep = conv.lhs[dims.inputFeature], rhsStep = conv.rhs[dims.kernelInput];
  std::vector<int64_t> position(conv.positions.size());
  do {
    int64_t outSpatial = 0;
    for (size_t d = 0; d < position.size(); ++d)
      outSpatial += position[d] * conv.outSpatial[d];
    for (int64_t b = 0; b < run.op.shape.dims[dims.outputBatch]; ++b)
      for (int64_t f = 0; f < run.op.shape.dims[dims.outputFeature]; ++f) {
        int64_t batch = b + f / conv.batchGroupOutputs * conv.batchGroupSize;
        int64_t feature = f / conv.groupOutputs * conv.groupInputs;
        int64_t lhsBase = batch * conv.lhs[dims.inputBatch] + feature * lhsStep;
        int64_t rhsBase = conv.rhsBase + f * conv.rhs[dims.kernelOutput];
        int64_t at = outSpatial + b * conv.out[dims.outputBatch] + f * conv.out[dims.outputFeature];
        T sum{};
        auto addProducts = [&](int64_t input, int64_t kernel) {
          const T *left = lhs.data() + lhsBase + input, *right = rhs.data() + rhsBase + kernel;
          for (int64_t z = 0; z < conv.groupInputs; ++z) {
            sum += left[z * lhsStep] * right[z * rhsStep];
            if (run.isRecording()) {
              run.read(at, 0, lhsBase + input + z * lhsStep);
              run.read(at, 1, rhsBase + kernel + z * rhsStep);
            }
          }
        };
        walkWindow(tables, position, conv.lhsSpatial, conv.rhsSigned, addProducts);
        store(out, at, toScalar(sum));
      }
  } while (advance(position, conv.positions));
}
} // namespace

llvm::Expected<Value> evaluateConvolution(OpRun &run) {
  if (llvm::Error error = checkTensors(run, 2))
    return error;
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  Tensor &out = **result;
  llvm::Expected<Convolution> conv = prepare(run);
  if (!conv)
    return conv.takeError();
  const std::vector<WindowDim> &window = run.op.attrs.window;
  std::optional<int64_t> each = windowElements(window);
  each = each ? checkedMul(*each, conv->groupInputs + 1) : each;
  if (llvm::Error error = run.charge(out.size(), each.value_or(INT64_MAX)))
    return error;
  if (llvm::Error error = run.charge(run.operand(0).size() + run.operand(1).size()))
    return error;
  if (out.size() > 0) {
    std::vector<int64_t> extents;
    for (int64_t dim : run.op.attrs.conv.inputSpatial)
      extents.push_back(run.operandShape(0).dims[dim]);
    llvm::Expected<std::vector<WindowTable>> tables =
        windowTables(run, window, extents, conv->positions);
    if (!tables)
      return tables.takeError();
    llvm::Error error = withAccumulator(run, [&](auto zero) -> llvm::Error {
      convolve<decltype(zero)>(run, *conv, *tables, out);
      return llvm::Error::success();
    });
    if (error)
      return error;
  }
  finish(run.context, out);
  return Value{*result};
}

} // namespace tilewright::eval
