// fft, cholesky and triangular-solve, each by its definition: sums of n terms, substitution.
#include "analysis/ir/evaluator_impl.h"
#include "analysis/support/checked.h"

#include <cmath>
#include <numbers>

namespace tilewright::eval {

namespace {

using Complex = std::complex<double>;

Complex complexAt(const Tensor &tensor, int64_t i) {
  return tensor.wordsPerElement() == 2 ? tensor.complex(i) : Complex(tensor.asDouble(i));
}

void setComplexAt(Tensor &tensor, int64_t i, Complex value) {
  if (tensor.wordsPerElement() == 2)
    tensor.setComplex(i, value);
  else
    tensor.setReal(i, value.real());
}

bool isRealOrComplex(DType type) {
  return isFloat(type) || dtypeClass(type) == DTypeClass::Complex;
}

/// Values in row-major order, of a shape that changes with each transformed dim.
struct Spectrum {
  std::vector<int64_t> dims;
  std::vector<Complex> values;
};

/// Which way a dim is transformed: x[k] = Σ x[j] e^(∓2πi·jk/n), the inverse over n.
enum class Direction { Forward, Inverse };

/// Transforms `dim`, whose length is n: of given values beyond the first `given` ones the conjugate
/// of value n - j is taken, as of a real signal's spectrum; the first `kept` results are kept.
Spectrum transformed(const Spectrum &in, size_t dim, int64_t n, int64_t kept, Direction direction) {
  Spectrum out;
  out.dims = in.dims;
  out.dims[dim] = kept;
  int64_t stride = 1, outer = 1;
  for (size_t d = 0; d < in.dims.size(); ++d)
    (d < dim ? outer : stride) *= d == dim ? 1 : in.dims[d];
  const int64_t given = in.dims[dim];
  out.values.resize(static_cast<size_t>(outer * kept * stride));
  std::vector<Complex> roots(static_cast<size_t>(n));
  const double sign = direction == Direction::Forward ? -2 : 2;
  for (int64_t j = 0; j < n; ++j)
    roots[static_cast<size_t>(j)] =
        std::polar(1.0, sign * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n));
  std::vector<Complex> line(static_cast<size_t>(n));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t s = 0; s < stride; ++s) {
      auto at = [&](int64_t length, int64_t j) {
        return static_cast<size_t>((o * length + j) * stride + s);
      };
      for (int64_t j = 0; j < n; ++j)
        line[static_cast<size_t>(j)] =
            j < given ? in.values[at(given, j)] : std::conj(in.values[at(given, n - j)]);
      for (int64_t k = 0; k < kept; ++k) {
        Complex sum = 0;
        for (int64_t j = 0; j < n; ++j)
          sum += line[static_cast<size_t>(j)] * roots[static_cast<size_t>(j * k % n)];
        out.values[at(kept, k)] =
            direction == Direction::Inverse ? sum / static_cast<double>(n) : sum;
      }
    }
  return out;
}

/// Every element of one batch is made of all of it.
void recordBatchReads(const OpRun &run, const Tensor &result, int64_t batches,
                      std::span<const size_t> operands) {
  if (!run.isRecording() || batches == 0)
    return;
  const int64_t each = result.size() / batches;
  for (int64_t i = 0; i < result.size(); ++i)
    for (size_t k : operands) {
      const int64_t read = run.operand(k).size() / batches;
      for (int64_t j = 0; j < read; ++j)
        run.read(i, k, i / each * read + j);
    }
}

int64_t batchesOf(const Shape &shape, size_t inner) {
  int64_t batches = 1;
  for (size_t d = 0; d + inner < shape.rank(); ++d)
    batches *= shape.dims[d];
  return batches;
}

std::vector<int64_t> numbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] >= '0' && text[i] <= '9') {
      const bool isNew = i == 0 || text[i - 1] < '0' || text[i - 1] > '9';
      if (isNew)
        numbers.push_back(0);
      numbers.back() = std::min<int64_t>(numbers.back() * 10 + (text[i] - '0'), INT32_MAX);
    }
  return numbers;
}

/// One square matrix and what stands beside it, as functions of their indices.
struct Triangle {
  const Tensor &a;
  int64_t base, n;
  bool isLower, isUnit;
  std::string_view transpose;

  /// op(A)[i, j], zero outside its triangle.
  Complex operator()(int64_t i, int64_t j) const {
    const bool swaps = transpose == "TRANSPOSE" || transpose == "ADJOINT";
    if (swaps)
      std::swap(i, j);
    if (i == j && isUnit)
      return 1;
    if (isLower ? j > i : i > j)
      return 0;
    const Complex value = complexAt(a, base + i * n + j);
    return transpose == "ADJOINT" ? std::conj(value) : value;
  }
};

/// Solves T x = b in place for x of n elements, element i at `at(i)`; `isLower` of T as it is used.
template <typename Element, typename Solved>
void substitute(const Element &t, int64_t n, bool isLower, Solved solved) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = isLower ? step : n - 1 - step;
    Complex sum = solved(i);
    for (int64_t done = 0; done < step; ++done) {
      const int64_t j = isLower ? done : n - 1 - done;
      sum -= t(i, j) * solved(j);
    }
    const Complex diagonal = t(i, i);
    // Complex division by a real number would make NaNs of infinities.
    solved(i) = diagonal.imag() == 0 ? sum / diagonal.real() : sum / diagonal;
  }
}

} // namespace

llvm::Expected<Value> evaluateFft(OpRun &run) {
  const std::vector<int64_t> length = numbersIn(run.rawAttribute("fft_length"));
  const std::string_view type = run.rawAttribute("fft_type");
  const size_t inner = length.size();
  if (run.operands.size() != 1 || run.operands[0].size() != 1 || run.op.shape.isTuple ||
      inner == 0 || inner > run.operandShape(0).rank() ||
      run.op.shape.rank() != run.operandShape(0).rank())
    return run.error(DiagClass::BadInput, "needs one tensor and its lengths");
  const Tensor &in = run.operand(0);
  const size_t last = in.shape().rank() - 1;
  if (!isRealOrComplex(in.dtype()) || !isRealOrComplex(run.op.shape.dtype))
    return run.error(DiagClass::BadInput, "of {} is not evaluated", toString(in.dtype()));
  const bool fromReal = type == "RFFT", toReal = type == "IRFFT";
  for (size_t i = 0; i < inner; ++i) {
    const size_t dim = last + 1 - inner + i;
    const int64_t half = length[i] / 2 + 1;
    if (in.shape().dims[dim] != (toReal && dim == last ? half : length[i]) ||
        run.op.shape.dims[dim] != (fromReal && dim == last ? half : length[i]))
      return run.error(DiagClass::BadInput, "its length {} fits neither operand nor result",
                       length[i]);
  }
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  const int64_t elements = std::max((*result)->size(), in.size());
  for (int64_t n : length)
    if (llvm::Error error = run.charge(elements, std::max<int64_t>(n, 1)))
      return error;
  const int64_t batches = batchesOf(in.shape(), inner);
  if (run.isRecording() && batches > 0)
    if (llvm::Error error = run.charge((*result)->size(), in.size() / batches))
      return error;
  const Direction direction = type == "FFT" || fromReal ? Direction::Forward : Direction::Inverse;
  Spectrum spectrum{in.shape().dims, {}};
  for (int64_t i = 0; i < in.size(); ++i)
    spectrum.values.push_back(complexAt(in, i));
  auto transform = [&](size_t i) {
    const size_t dim = last + 1 - inner + i;
    spectrum = transformed(spectrum, dim, length[i],
                           fromReal && dim == last ? length[i] / 2 + 1 : length[i], direction);
  };
  // Half a spectrum stands for all of it only while the other dims are those of the spectrum.
  if (!toReal)
    transform(inner - 1);
  for (size_t i = 0; i + 1 < inner; ++i)
    transform(i);
  if (toReal)
    transform(inner - 1);
  for (int64_t i = 0; i < (*result)->size(); ++i)
    setComplexAt(**result, i, spectrum.values[static_cast<size_t>(i)]);
  finish(run.context, **result);
  const size_t operand = 0;
  recordBatchReads(run, **result, batches, std::span(&operand, 1));
  return Value{*result};
}

/// The factor L (lower) with L·Lᴴ = A, or U with Uᴴ·U = A; zeros beside the triangle, NaN where A
/// is not positive definite. Only A's triangle of that kind is read.
llvm::Expected<Value> evaluateCholesky(OpRun &run) {
  if (run.operands.size() != 1 || run.operands[0].size() != 1 || run.operandShape(0).rank() < 2 ||
      !run.operandShape(0).sameDimsAndType(run.op.shape) || !isRealOrComplex(run.op.shape.dtype))
    return run.error(DiagClass::BadInput, "needs square matrices of floats");
  const Tensor &in = run.operand(0);
  const int64_t n = in.shape().dims.back(), batches = batchesOf(in.shape(), 2);
  if (in.shape().dims[in.shape().rank() - 2] != n)
    return run.error(DiagClass::BadInput, "its matrices are not square");
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  if (llvm::Error error =
          run.charge(in.size(), run.isRecording() ? n * n : std::max<int64_t>(n, 1)))
    return error;
  const bool isLower = run.rawAttribute("lower") == "true";
  for (int64_t b = 0; b < batches; ++b) {
    // Of the lower factor; the upper one is its adjoint.
    auto place = [&](int64_t i, int64_t j) {
      return b * n * n + (isLower ? i * n + j : j * n + i);
    };
    auto asLower = [&](Complex value) { return isLower ? value : std::conj(value); };
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = j; i < n; ++i) {
        Complex sum = asLower(complexAt(in, place(i, j)));
        for (int64_t k = 0; k < j; ++k)
          sum -= asLower(complexAt(**result, place(i, k))) *
                 std::conj(asLower(complexAt(**result, place(j, k))));
        const Complex value = i == j ? Complex(std::sqrt(sum.real()))
                                     : sum / asLower(complexAt(**result, place(j, j))).real();
        setComplexAt(**result, place(i, j), asLower(value));
      }
  }
  finish(run.context, **result);
  const size_t operand = 0;
  recordBatchReads(run, **result, batches, std::span(&operand, 1));
  return Value{*result};
}

llvm::Expected<Value> evaluateTriangularSolve(OpRun &run) {
  for (size_t k = 0; k < run.operands.size(); ++k)
    if (run.operands[k].size() != 1)
      return run.error(DiagClass::BadInput, "operand {} is a tuple", k);
  if (run.operands.size() != 2 || run.operandShape(0).rank() < 2 ||
      run.operandShape(0).rank() != run.operandShape(1).rank() ||
      !run.operandShape(1).sameDimsAndType(run.op.shape) || !isRealOrComplex(run.op.shape.dtype) ||
      !isRealOrComplex(run.operandShape(0).dtype))
    return run.error(DiagClass::BadInput, "needs matrices of floats");
  const Tensor &a = run.operand(0), &b = run.operand(1);
  const size_t rank = a.shape().rank();
  const int64_t n = a.shape().dims[rank - 1];
  const int64_t rows = b.shape().dims[rank - 2], columns = b.shape().dims[rank - 1];
  const bool isLeft = run.rawAttribute("left_side") == "true";
  if (a.shape().dims[rank - 2] != n || (isLeft ? rows : columns) != n ||
      !std::equal(a.shape().dims.begin(), a.shape().dims.end() - 2, b.shape().dims.begin()))
    return run.error(DiagClass::BadInput, "its matrices don't fit together");
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  if (llvm::Error error =
          run.charge(b.size(), run.isRecording() ? n * (n + (isLeft ? columns : rows))
                                                 : std::max<int64_t>(n, 1)))
    return error;
  const bool isLower = run.rawAttribute("lower") == "true";
  const std::string_view transpose = run.rawAttribute("transpose_a");
  const bool swaps = transpose == "TRANSPOSE" || transpose == "ADJOINT";
  const int64_t batches = batchesOf(a.shape(), 2);
  std::vector<Complex> line(static_cast<size_t>(n));
  for (int64_t batch = 0; batch < batches; ++batch) {
    const Triangle triangle{
        a, batch * n * n, n, isLower, run.rawAttribute("unit_diagonal") == "true", transpose};
    for (int64_t other = 0; other < (isLeft ? columns : rows); ++other) {
      auto place = [&](int64_t i) {
        return batch * rows * columns + (isLeft ? i * columns + other : other * columns + i);
      };
      for (int64_t i = 0; i < n; ++i)
        line[static_cast<size_t>(i)] = complexAt(b, place(i));
      auto solved = [&](int64_t i) -> Complex & { return line[static_cast<size_t>(i)]; };
      // x·A = b is Aᵀ·xᵀ = bᵀ.
      if (isLeft)
        substitute(triangle, n, isLower != swaps, solved);
      else
        substitute([&](int64_t i, int64_t j) { return triangle(j, i); }, n, isLower == swaps,
                   solved);
      for (int64_t i = 0; i < n; ++i)
        setComplexAt(**result, place(i), line[static_cast<size_t>(i)]);
    }
  }
  finish(run.context, **result);
  constexpr std::array<size_t, 2> both = {0, 1};
  recordBatchReads(run, **result, batches, both);
  return Value{*result};
}

} // namespace tilewright::eval
