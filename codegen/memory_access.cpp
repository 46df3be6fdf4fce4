// Loads and stores of ValueEmitter: offsets, vector widths, masks.
#include "codegen/value_emitter.h"

#include <algorithm>

namespace tilewright {

namespace {
constexpr int64_t maxVectorBytes = 16;
}

/// How the lanes of one access lie in memory.
struct ValueEmitter::AccessPattern {
  Expr offset;         ///< of lane 0, in elements
  unsigned width = 1;  ///< elements in one access
  bool isSame = false; ///< all lanes read the same element
};

Expr ValueEmitter::offsetOf(const Shape &shape, const Coordinates &coordinates) {
  Expr offset;
  int64_t stride = 1;
  for (int64_t dim : shape.minorToMajorOrDefault()) {
    auto i = static_cast<size_t>(dim);
    Expr term = coordinates[i] * stride;
    offset = offset ? offset + term : term;
    stride *= shape.dims[i]; // elementCount() was checked to fit
  }
  return offset;
}

llvm::Value *ValueEmitter::bytes(llvm::Value *elements, DType type) {
  return b.CreateMul(b.CreateSExtOrTrunc(elements, k.i64), k.c64(bitWidth(type) / 8), "", false,
                     true);
}

ValueEmitter::AccessPattern ValueEmitter::accessPattern(const Shape &shape,
                                                        const Coordinates &coordinates,
                                                        const Guard &guard, unsigned lanes) {
  AccessPattern pattern;
  Expr offset = coordinates.empty() ? constant(0) : offsetOf(shape, coordinates);
  pattern.offset = atLane(simplify(offset), 0);
  bool guardDiffers = std::any_of(guard.begin(), guard.end(), [&](const MapConstraint &condition) {
    return dependsOnLane(condition.expr);
  });
  if (guardDiffers)
    return pattern;
  bool isSame = true, isNext = true;
  for (unsigned lane = 1; lane < lanes; ++lane) {
    Expr distance = simplify(atLane(offset, lane) - pattern.offset);
    isSame = isSame && distance.isConstant(0);
    isNext = isNext && distance.isConstant(lane);
  }
  pattern.isSame = isSame;
  if (isSame || !isNext)
    return pattern;
  // As wide as alignment is known. Masked-off accesses go to offset 0, so that the whole tensor
  // must hold one.
  int64_t divisor = simplifier->knownDivisor(pattern.offset);
  int64_t most = std::min<int64_t>(lanes, maxVectorBytes * 8 / bitWidth(shape.dtype));
  unsigned width = 1;
  while (width * 2 <= most && lanes % (width * 2) == 0 && divisor % (width * 2) == 0 &&
         shape.elementCount().value_or(0) >= width * 2)
    width *= 2;
  pattern.width = width;
  return pattern;
}

std::optional<ValueEmitter::DirectAccess> ValueEmitter::directAccess(OpId op,
                                                                     const Coordinates &coordinates,
                                                                     const Guard &guard,
                                                                     unsigned lanes) {
  auto seen = seenThroughMovement(op, coordinates);
  if (!seen)
    return std::nullopt;
  const Op &parameter = ir[seen->first];
  Guard conditions = simplified(guard);
  AccessPattern pattern = accessPattern(parameter.shape, seen->second, conditions, lanes);
  if (pattern.width != lanes)
    return std::nullopt;
  return DirectAccess{static_cast<unsigned>(parameter.attrs.parameterNumber), pattern.offset,
                      std::move(conditions)};
}

Values ValueEmitter::load(OpId parameter, const Coordinates &coordinates, const Guard &guard,
                          unsigned lanes) {
  const Op &op = ir[parameter];
  DType type = op.shape.dtype;
  auto buffer = static_cast<unsigned>(op.attrs.parameterNumber);
  unsigned elementBytes = bitWidth(type) / 8;
  auto zero = llvm::ConstantInt::get(indices, 0);
  AccessPattern pattern = accessPattern(op.shape, coordinates, guard, lanes);
  auto element = [&](llvm::Value *offset) {
    return ops.fromMemory(
        type, k.loadGlobal(ops.memoryType(type), buffer, bytes(offset, type), elementBytes));
  };
  if (pattern.width == 1) {
    Values result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      if (lane > 0 && pattern.isSame) {
        result.push_back(result[0]);
        continue;
      }
      Expr offset = coordinates.empty() ? constant(0) : offsetOf(op.shape, coordinates);
      llvm::Value *at = index(atLane(offset, lane));
      if (llvm::Value *valid = holds(atLane(guard, lane)))
        at = b.CreateSelect(valid, at, zero);
      result.push_back(element(at));
    }
    return result;
  }
  llvm::Value *valid = holds(guard);
  auto *vectorType = llvm::FixedVectorType::get(ops.memoryType(type), pattern.width);
  Values result;
  for (unsigned first = 0; first < lanes; first += pattern.width) {
    llvm::Value *at = index(pattern.offset + int64_t(first));
    if (valid)
      at = b.CreateSelect(valid, at, zero);
    llvm::Value *vector =
        k.loadGlobal(vectorType, buffer, bytes(at, type), pattern.width * elementBytes);
    for (unsigned i = 0; i < pattern.width; ++i)
      result.push_back(ops.fromMemory(type, b.CreateExtractElement(vector, i)));
  }
  return result;
}

void ValueEmitter::store(unsigned buffer, const Shape &shape, const Coordinates &coordinates,
                         const Guard &guard, const Values &lanes) {
  DType type = shape.dtype;
  unsigned elementBytes = bitWidth(type) / 8;
  auto count = static_cast<unsigned>(lanes.size());
  Guard conditions = simplified(guard);
  AccessPattern pattern = accessPattern(shape, coordinates, conditions, count);
  auto guarded = [&](llvm::Value *valid, const std::function<void()> &body) {
    if (!valid)
      return body();
    Scope scope(*this);
    k.ifThen(valid, body);
  };
  if (pattern.width == 1) {
    Expr offset = coordinates.empty() ? constant(0) : offsetOf(shape, coordinates);
    for (unsigned lane = 0; lane < count; ++lane) {
      llvm::Value *valid = holds(atLane(conditions, lane));
      llvm::Value *at = index(atLane(offset, lane));
      llvm::Value *bits = ops.toMemory(type, lanes[lane]);
      guarded(valid, [&] { k.storeGlobal(bits, buffer, bytes(at, type), elementBytes); });
    }
    return;
  }
  Values vectors, offsets;
  bool isPacked = std::all_of(lanes.begin(), lanes.end(),
                              [&](llvm::Value *lane) { return k.isRounded(type, lane); });
  auto *vectorType = llvm::FixedVectorType::get(isPacked ? k.i32 : ops.memoryType(type),
                                                isPacked ? pattern.width / 2 : pattern.width);
  for (unsigned first = 0; first < count; first += pattern.width) {
    llvm::Value *vector = llvm::PoisonValue::get(vectorType);
    for (unsigned i = 0; i < pattern.width; i += isPacked ? 2 : 1)
      vector = isPacked ? b.CreateInsertElement(
                              vector, k.pack16(type, lanes[first + i], lanes[first + i + 1]), i / 2)
                        : b.CreateInsertElement(vector, ops.toMemory(type, lanes[first + i]), i);
    vectors.push_back(vector);
    offsets.push_back(bytes(index(pattern.offset + int64_t(first)), type));
  }
  guarded(holds(conditions), [&] {
    for (size_t i = 0; i < vectors.size(); ++i)
      k.storeGlobal(vectors[i], buffer, offsets[i], pattern.width * elementBytes);
  });
}

} // namespace tilewright
