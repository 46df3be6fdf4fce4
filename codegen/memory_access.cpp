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

/// The byte that an element of a buffer is in, or starts at.
llvm::Value *ValueEmitter::bytes(llvm::Value *elements, DType type) {
  llvm::Value *wide = b.CreateSExtOrTrunc(elements, k.i64);
  if (bitWidth(type) < 8)
    return b.CreateAShr(wide, llvm::Log2_32(8 / bitWidth(type)));
  return b.CreateMul(wide, k.c64(bitWidth(type) / 8), "", false, true);
}

/// One of several elements that share a byte, from that byte.
llvm::Value *ValueEmitter::fromByte(llvm::Value *byte, llvm::Value *element, DType type) {
  unsigned bits = bitWidth(type);
  llvm::Value *place = b.CreateAnd(b.CreateTrunc(element, k.i8), 8 / bits - 1);
  llvm::Value *code = b.CreateLShr(byte, b.CreateMul(place, llvm::ConstantInt::get(k.i8, bits)));
  return ops.fromMemory(type, b.CreateAnd(code, (1u << bits) - 1));
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
  // Accesses are as wide as the known alignment. Masked-off accesses go to offset 0, so the tensor
  // must hold at least one access.
  int64_t divisor = numbers.knownDivisor(pattern.offset);
  int64_t most = std::min<int64_t>(lanes, maxVectorBytes * 8 / bitWidth(shape.dtype));
  unsigned width = 1;
  while (width * 2 <= most && lanes % (width * 2) == 0 && divisor % (width * 2) == 0 &&
         shape.elementCount().value_or(0) >= width * 2)
    width *= 2;
  if (bitWidth(shape.dtype) * width >= 8) // whole bytes
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
  unsigned bits = bitWidth(type);
  bool isPacked = bits < 8;
  unsigned elementBytes = std::max(bits / 8, 1u);
  auto zero = llvm::ConstantInt::get(indexType(), 0);
  AccessPattern pattern = accessPattern(op.shape, coordinates, guard, lanes);
  auto element = [&](llvm::Value *offset) {
    llvm::Value *held =
        k.loadGlobal(ops.memoryType(type), buffer, bytes(offset, type), elementBytes);
    return isPacked ? fromByte(held, offset, type) : ops.fromMemory(type, held);
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
  // The components of a vector: elements, the parts of complex ones, or one integer for all of
  // them.
  auto *pair = llvm::dyn_cast<llvm::FixedVectorType>(ops.memoryType(type));
  llvm::Type *vectorType = b.getIntNTy(bits * pattern.width);
  if (!isPacked)
    vectorType = llvm::FixedVectorType::get(pair ? pair->getElementType() : ops.memoryType(type),
                                            pattern.width * (pair ? 2 : 1));
  Values result;
  for (unsigned first = 0; first < lanes; first += pattern.width) {
    llvm::Value *at = index(pattern.offset + int64_t(first));
    if (valid)
      at = b.CreateSelect(valid, at, zero);
    llvm::Value *vector =
        k.loadGlobal(vectorType, buffer, bytes(at, type), pattern.width * bits / 8);
    for (unsigned i = 0; i < pattern.width; ++i) {
      llvm::Value *held;
      if (isPacked)
        held = b.CreateZExtOrTrunc(
            b.CreateAnd(b.CreateLShr(vector, uint64_t(i) * bits), (1u << bits) - 1), k.i8);
      else if (pair)
        held = b.CreateShuffleVector(vector, {int(2 * i), int(2 * i + 1)});
      else
        held = b.CreateExtractElement(vector, i);
      result.push_back(ops.fromMemory(type, held));
    }
  }
  return result;
}

llvm::Error ValueEmitter::store(unsigned buffer, const Shape &shape, const Coordinates &coordinates,
                                const Guard &guard, const Values &lanes) {
  DType type = shape.dtype;
  unsigned bits = bitWidth(type), elementBytes = bits / 8;
  auto count = static_cast<unsigned>(lanes.size());
  Guard conditions = simplified(guard);
  AccessPattern pattern = accessPattern(shape, coordinates, conditions, count);
  auto guarded = [&](llvm::Value *valid, const std::function<void()> &body) {
    if (!valid)
      return body();
    Scope scope(*this);
    k.ifThen(valid, body);
  };
  if (pattern.width == 1 && bits < 8)
    return makeError(DiagClass::Unsupported,
                     "a thread makes single elements of {}, of which {} share a byte",
                     shape.str(false), 8 / bits);
  if (pattern.width == 1) {
    Expr offset = coordinates.empty() ? constant(0) : offsetOf(shape, coordinates);
    for (unsigned lane = 0; lane < count; ++lane) {
      llvm::Value *valid = holds(atLane(conditions, lane));
      llvm::Value *at = index(atLane(offset, lane));
      llvm::Value *bits = ops.toMemory(type, lanes[lane]);
      guarded(valid, [&] { k.storeGlobal(bits, buffer, bytes(at, type), elementBytes); });
    }
    return llvm::Error::success();
  }
  Values vectors, offsets;
  bool isPacked = std::all_of(lanes.begin(), lanes.end(),
                              [&](llvm::Value *lane) { return k.isRounded(type, lane); });
  auto *pair = llvm::dyn_cast<llvm::FixedVectorType>(ops.memoryType(type));
  auto *vectorType =
      llvm::FixedVectorType::get(isPacked ? k.i32
                                 : pair   ? pair->getElementType()
                                          : ops.memoryType(type),
                                 isPacked ? pattern.width / 2 : pattern.width * (pair ? 2 : 1));
  for (unsigned first = 0; first < count; first += pattern.width) {
    llvm::Value *vector = llvm::PoisonValue::get(vectorType);
    if (bits < 8) {
      llvm::Type *whole = b.getIntNTy(bits * pattern.width);
      vector = llvm::ConstantInt::get(whole, 0);
      for (unsigned i = 0; i < pattern.width; ++i)
        vector = b.CreateOr(
            vector, b.CreateShl(b.CreateZExtOrTrunc(ops.toMemory(type, lanes[first + i]), whole),
                                uint64_t(i) * bits));
    }
    for (unsigned i = 0; bits >= 8 && i < pattern.width; i += isPacked ? 2 : 1)
      vector = isPacked ? b.CreateInsertElement(
                              vector, k.pack16(type, lanes[first + i], lanes[first + i + 1]), i / 2)
               : pair
                   ? b.CreateInsertElement(
                         b.CreateInsertElement(
                             vector, b.CreateExtractElement(lanes[first + i], uint64_t(0)), 2 * i),
                         b.CreateExtractElement(lanes[first + i], uint64_t(1)), 2 * i + 1)
                   : b.CreateInsertElement(vector, ops.toMemory(type, lanes[first + i]), i);
    vectors.push_back(vector);
    offsets.push_back(bytes(index(pattern.offset + int64_t(first)), type));
  }
  guarded(holds(conditions), [&] {
    for (size_t i = 0; i < vectors.size(); ++i)
      k.storeGlobal(vectors[i], buffer, offsets[i], pattern.width * bits / 8);
  });
  return llvm::Error::success();
}

} // namespace tilewright
