// Scalar semantics of elementwise ops, and computations compiled to run on scalars.
//
// A reducer is called for each element, so a computation made of scalar ops is turned into a list
// of steps on numbered slots; running it allocates nothing.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/ir/tensor.h"

#include <array>
#include <span>
#include <vector>

namespace tilewright::eval {

/// An element: the words that a Tensor holds for it.
struct Scalar {
  std::array<uint64_t, 2> words{};

  double real() const { return std::bit_cast<double>(words[0]); }
  int64_t integer() const { return static_cast<int64_t>(words[0]); }
  std::complex<double> complex() const { return {real(), std::bit_cast<double>(words[1])}; }
  static Scalar of(double value) { return {{std::bit_cast<uint64_t>(value), 0}}; }
  static Scalar of(int64_t value) { return {{static_cast<uint64_t>(value), 0}}; }
  static Scalar of(std::complex<double> value) {
    return {{std::bit_cast<uint64_t>(value.real()), std::bit_cast<uint64_t>(value.imag())}};
  }
};

/// Tokens have no words: they load as zero, and storing does nothing.
inline Scalar load(const Tensor &tensor, int64_t i) {
  switch (tensor.wordsPerElement()) {
  case 0:
    return {};
  case 1:
    return {{tensor.words()[i], 0}};
  default:
    return {{tensor.words()[2 * i], tensor.words()[2 * i + 1]}};
  }
}

inline void store(Tensor &tensor, int64_t i, const Scalar &value) {
  switch (tensor.wordsPerElement()) {
  case 0:
    return;
  case 1:
    tensor.words()[i] = value.words[0];
    return;
  default:
    tensor.words()[2 * i] = value.words[0];
    tensor.words()[2 * i + 1] = value.words[1];
  }
}

/// Which float results are rounded to their dtype. Integers always wrap.
enum class Rounding : uint8_t { None, ConvertsOnly, All };

/// Maps doubles to integers so that -NaN < -inf < … < -0 < +0 < … < inf < NaN.
inline int64_t totalOrderKey(double value) {
  const int64_t bits = std::bit_cast<int64_t>(value);
  return bits < 0 ? INT64_MIN - bits - 1 : bits;
}

Scalar roundScalar(DType type, const Scalar &value);

/// One elementwise op resolved for its types.
class ScalarOp {
public:
  static constexpr size_t maxOperands = 3;

  /// Unsupported for ops and types that have no scalar meaning here; BadInput for operand counts
  /// and types that don't fit.
  static llvm::Expected<ScalarOp> make(const Op &op, std::span<const DType> operandTypes,
                                       Rounding rounding);

  Scalar apply(const Scalar *operands) const {
    Scalar result = function(*this, operands);
    return isRounded ? roundScalar(type, result) : result;
  }

  Opcode opcode;
  DType type, operandType; ///< of the result and of the first operand (of select the second)
  Comparison comparison;
  bool isTotalOrder = false;
  unsigned exponentBits = 0, mantissaBits = 0;

private:
  Scalar (*function)(const ScalarOp &, const Scalar *) = nullptr;
  bool isRounded = false;
};

/// A computation on scalars (elements of one-element tensors), its calls inlined.
class ScalarProgram {
public:
  static llvm::Expected<ScalarProgram> compile(const Module &module, GraphId graph,
                                               Rounding rounding);

  size_t parameterCount() const { return parameters; }
  size_t resultCount() const { return results.size(); }
  /// Scalar operations a run takes, at least 1.
  int64_t cost() const { return static_cast<int64_t>(steps.size()) + 1; }

  /// Slot of parameter k, to be set before run().
  Scalar &parameter(size_t k) { return slots[k]; }
  void run() {
    for (const Step &step : steps) {
      std::array<Scalar, ScalarOp::maxOperands> operands;
      for (size_t i = 0; i < step.operandCount; ++i)
        operands[i] = slots[step.operands[i]];
      slots[step.result] = step.op.apply(operands.data());
    }
  }
  const Scalar &result(size_t k) const { return slots[results[k]]; }

  /// If the program is one op on its two parameters in order: that op.
  const ScalarOp *asBinaryOp() const;

private:
  struct Step {
    ScalarOp op;
    size_t operandCount;
    std::array<uint32_t, ScalarOp::maxOperands> operands;
    uint32_t result;
  };
  class Compiler;

  std::vector<Step> steps;
  std::vector<Scalar> slots; ///< parameters, then constants and steps' results
  std::vector<uint32_t> results;
  size_t parameters = 0;
};

} // namespace tilewright::eval
