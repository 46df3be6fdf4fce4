// The scalar bodies of elementwise ops, as LLVM IR.
//
// In registers, every float type of 32 bits or less is an f32 that holds a value of that type,
// f64 is a double, integers are iN and pred is an i1. Each op computes in that form and rounds its
// result to its own type, as the graph says. In memory, narrower floats are integers of their width
// and pred is i8; types of less than a byte take one i8 each, except in buffers, where they are
// packed (emit/tensor_access.cpp).
#pragma once

#include "analysis/ir/graph.h"
#include "codegen/kernel_builder.h"

namespace tilewright {

/// The combining functions that reductions may use.
enum class Combiner : uint8_t { Add, Multiply, Minimum, Maximum, And, Or };

class ScalarOps {
public:
  explicit ScalarOps(KernelBuilder &builder) : k(builder), b(builder.b) {}

  /// Can values of this type be loaded, computed with and stored?
  static bool isSupported(DType type);

  llvm::Type *valueType(DType type);
  llvm::Type *memoryType(DType type);
  llvm::Value *fromMemory(DType type, llvm::Value *bits);
  llvm::Value *toMemory(DType type, llvm::Value *value);

  /// A constant of that type, from a double or from an integer's bits.
  llvm::Value *constant(DType type, double value);
  llvm::Value *constant(DType type, int64_t value);

  /// Rounds an f32 result to a narrower float type; other types are left alone.
  llvm::Value *round(DType type, llvm::Value *value);
  llvm::Value *convert(DType from, DType to, llvm::Value *value);

  /// The result of one elementwise op. Errors: Unsupported, naming the op and its type.
  llvm::Expected<llvm::Value *> apply(const Op &op, DType operandType, const Values &operands);

  /// Not rounded: reductions accumulate in f32 and round at the end.
  llvm::Value *combine(Combiner combiner, DType type, llvm::Value *x, llvm::Value *y);
  llvm::Value *identity(Combiner combiner, DType type);

private:
  llvm::Value *decodeNarrow(DType type, llvm::Value *bits);
  llvm::Value *encodeNarrow(DType type, llvm::Value *value);
  llvm::Value *decodeScale(llvm::Value *bits);
  llvm::Value *encodeScale(llvm::Value *value);
  llvm::Value *truncateToOdd(llvm::Value *value);
  llvm::Value *integerToOdd(DType from, llvm::Value *value);
  llvm::Value *reducePrecision(llvm::Value *value, unsigned exponentBits, unsigned mantissaBits);
  llvm::Value *totalOrderKey(llvm::Value *value);
  llvm::Value *applyFloat(const Op &op, const Values &x);
  llvm::Value *applyInteger(const Op &op, DType type, const Values &x);
  llvm::Value *integerPower(DType type, llvm::Value *base, llvm::Value *exponent);
  /// A function of floats by its opcode.
  llvm::Value *real(Opcode opcode, const Values &x);
  llvm::Value *compare(Comparison comparison, DType type, llvm::Value *x, llvm::Value *y);
  llvm::Value *select(llvm::Value *condition, llvm::Value *x, llvm::Value *y) {
    return b.CreateSelect(condition, x, y);
  }
  llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *x) {
    return k.intrinsic(id, {x->getType()}, {x});
  }
  llvm::Value *binary(llvm::Intrinsic::ID id, llvm::Value *x, llvm::Value *y) {
    return k.intrinsic(id, {x->getType()}, {x, y});
  }

  KernelBuilder &k;
  llvm::IRBuilder<> &b;
};

} // namespace tilewright
