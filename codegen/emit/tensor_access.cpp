// Accesses to tensors: where elements lie, which of them are one access, loads and stores.
#include "analysis/ir/numeric.h"
#include "codegen/emit/emission.h"

#include <algorithm>

namespace tilewright::emit {

namespace {

constexpr unsigned mostAccessBits = 128;

/// `expr` in [low, high), as far as that is not certain for any reason.
void require(Emission &e, std::vector<MapConstraint> &conditions, Expr expr, Expr low, Expr high) {
  // Bounds that are numbers stay on the right, so that instructions compare with them.
  if ((!low || low.isConstant()) && (!high || high.isConstant())) {
    Interval range{low ? low.constant() : INT64_MIN, high ? high.constant() - 1 : INT64_MAX};
    conditions.push_back({e.index.simplify(expr), range, 1, 0});
    return;
  }
  if (low)
    conditions.push_back({e.index.simplify(expr - low), {0, INT64_MAX}, 1, 0});
  if (high)
    conditions.push_back({e.index.simplify(high - expr), {1, INT64_MAX}, 1, 0});
}

bool isCertain(Emission &e, const MapConstraint &condition) {
  return condition.range.contains(e.index.range(condition.expr));
}

} // namespace

void requireCounting(Emission &e, std::vector<MapConstraint> &conditions, const LaneTable &lanes) {
  for (uint32_t a = 0; a < lanes.size(); ++a) {
    if (!lanes[a])
      continue;
    const Axis &axis = e.p.axes[a];
    // Holders beyond the tile have no element; lanes beyond the bound do not count.
    require(e, conditions, lanes[a], Expr(), axis.extent);
    if (e.isCut(AxisId{a}))
      require(e, conditions, e.coordinate(AxisId{a}, lanes[a]),
              axis.lower ? e.now(axis.lower) : Expr(), axis.bound ? e.now(axis.bound) : Expr());
  }
}

PlacedElement placeElement(Emission &e, const Access &access,
                           const std::vector<Condition> &conditions, const LaneTable &lanes,
                           const std::map<ValueId, Expr> &indices) {
  const program::TensorInfo &tensor = e.p[access.tensor];
  auto placed = [&](Expr index) {
    return substitute(e.now(index), [&](VarId var) {
      if (AxisId axis = e.p.axisOf(var); axis.isValid())
        return e.coordinate(axis, lanes[axis.index]);
      if (auto at = indices.find(e.p.valueOf(var)); at != indices.end())
        return at->second;
      return Expr();
    });
  };
  PlacedElement result{e.number(0), {}};
  requireCounting(e, result.conditions, lanes);
  for (const Condition &condition : conditions)
    require(e, result.conditions, placed(condition.value), placed(condition.low),
            placed(condition.high));
  for (size_t d = 0; d < access.index.size(); ++d) {
    Expr at = placed(access.index[d]);
    require(e, result.conditions, at, e.number(0), tensor.dims[d]);
    result.offset = result.offset * tensor.dims[d] + at;
  }
  result.offset = e.index.simplify(result.offset);
  return result;
}

bool areOneAccess(Emission &e, const PlacedElement &first, std::span<const PlacedElement> others) {
  auto count = static_cast<int64_t>(others.size()) + 1;
  if (e.index.knownDivisor(first.offset) % count != 0)
    return false;
  for (size_t i = 0; i < others.size(); ++i) {
    auto distance = static_cast<int64_t>(i) + 1;
    if (!e.index.simplify(others[i].offset - first.offset).isConstant(distance))
      return false;
    for (size_t c = 0; c < first.conditions.size(); ++c) {
      const MapConstraint &one = first.conditions[c], &other = others[i].conditions[c];
      if (isCertain(e, one) && isCertain(e, other))
        continue;
      Expr moved = e.index.simplify(other.expr - one.expr);
      if (moved.isConstant(0))
        continue;
      // Aligned runs of lanes and bounds that are multiples of their length: all in, or all out.
      auto isMultiple = [&](int64_t bound) {
        return bound == INT64_MIN || bound == INT64_MAX || bound % count == 0;
      };
      bool isUp = moved.isConstant(distance), isDown = moved.isConstant(-distance);
      int64_t above = one.range.hi == INT64_MAX ? INT64_MAX : one.range.hi + 1;
      if (isUp && e.index.knownDivisor(one.expr) % count == 0 && isMultiple(one.range.lo) &&
          isMultiple(above))
        continue;
      // high - coordinate >= 1, with both multiples.
      if (isDown && e.index.knownDivisor(one.expr) % count == 0 && one.range.lo == 1 &&
          one.range.hi == INT64_MAX)
        continue;
      return false;
    }
  }
  return true;
}

llvm::Value *holdAll(Emission &e, const std::vector<MapConstraint> &conditions) {
  llvm::Value *result = nullptr;
  std::vector<MapConstraint> asked;
  for (const MapConstraint &condition : conditions) {
    if (std::find(asked.begin(), asked.end(), condition) != asked.end())
      continue;
    asked.push_back(condition);
    if (llvm::Value *holds = e.index.holds(condition))
      result = result ? e.b.CreateAnd(result, holds) : holds;
  }
  return result;
}

void requireInside(Emission &e, std::vector<MapConstraint> &conditions, const HeldLayout &held,
                   const AxisSet &axes, int64_t r) {
  for (AxisId axis : axes)
    if (held.reach(axis) > e.extent(axis))
      conditions.push_back(
          {e.index.simplify(e.laneOf(held, axis, r)), Interval::ofExtent(e.extent(axis)), 1, 0});
}

void requireFirstCopy(Emission &e, std::vector<MapConstraint> &conditions, const HeldLayout &held) {
  for (auto [digits, number] :
       {std::pair(&held.laneDigits(), e.lane), {&held.warpDigits(), e.warp}})
    for (const PlacedDigit &digit : *digits)
      if (digit.isCopy())
        conditions.push_back({e.index.simplify(digitOf(digit, number)), Interval::point(0), 1, 0});
}

ByteOffset byteOffset(Emission &e, Expr elements, unsigned elementBits) {
  int64_t constant = 0;
  if (elements.kind() == ExprKind::Add && elements.rhs().isConstant() &&
      elements.rhs().constant() * elementBits % 8 == 0) {
    constant = elements.rhs().constant() * elementBits / 8;
    elements = elements.lhs();
  }
  llvm::Value *wide = e.b.CreateSExtOrTrunc(e.index.index(elements), e.k.i64);
  if (elementBits < 8)
    return {e.b.CreateAShr(wide, llvm::Log2_32(8 / elementBits)), constant};
  return {e.b.CreateMul(wide, e.k.c64(elementBits / 8), "", false, true), constant};
}

llvm::Type *vectorType(Emission &e, DType type, unsigned count) {
  unsigned bits = bitWidth(type);
  if (bits >= 32) {
    llvm::Type *element = e.ops.memoryType(type);
    return count == 1 ? element : llvm::FixedVectorType::get(element, count);
  }
  unsigned all = bits * count;
  return all <= 32 ? static_cast<llvm::Type *>(e.b.getIntNTy(all))
                   : llvm::FixedVectorType::get(e.k.i32, all / 32);
}

namespace {

/// Neighbours of less than 32 bits in one integer.
llvm::Value *packedWord(Emission &e, DType type, std::span<llvm::Value *const> elements) {
  unsigned bits = bitWidth(type);
  if (bits == 16 && elements.size() == 2 && isFloat(type))
    return e.k.pack16(type, elements[0], elements[1]);
  llvm::Type *whole = e.b.getIntNTy(bits * static_cast<unsigned>(elements.size()));
  llvm::Value *word = nullptr;
  for (size_t i = 0; i < elements.size(); ++i) {
    llvm::Value *part = e.b.CreateZExtOrTrunc(e.ops.toMemory(type, elements[i]), whole);
    if (i > 0)
      part = e.b.CreateOr(word, e.b.CreateShl(part, i * bits));
    word = part;
  }
  return word;
}

} // namespace

llvm::Value *packed(Emission &e, DType type, const Values &elements) {
  auto count = static_cast<unsigned>(elements.size());
  unsigned bits = bitWidth(type);
  llvm::Type *whole = vectorType(e, type, count);
  if (bits >= 32) {
    if (count == 1)
      return e.ops.toMemory(type, elements[0]);
    llvm::Value *vector = llvm::PoisonValue::get(whole);
    for (unsigned i = 0; i < count; ++i)
      vector = e.b.CreateInsertElement(vector, e.ops.toMemory(type, elements[i]), i);
    return vector;
  }
  std::span<llvm::Value *const> all(elements);
  if (bits * count <= 32)
    return packedWord(e, type, all);
  unsigned perWord = 32 / bits;
  llvm::Value *vector = llvm::PoisonValue::get(whole);
  for (unsigned i = 0; i < count / perWord; ++i)
    vector = e.b.CreateInsertElement(
        vector, packedWord(e, type, all.subspan(size_t(i) * perWord, perWord)), i);
  return vector;
}

Values unpacked(Emission &e, DType type, llvm::Value *vector, unsigned count) {
  unsigned bits = bitWidth(type), perWord = 32 / std::min(bits, 32u);
  Values result;
  for (unsigned i = 0; i < count; ++i) {
    if (bits >= 32) {
      llvm::Value *element = count == 1 ? vector : e.b.CreateExtractElement(vector, i);
      result.push_back(e.ops.fromMemory(type, element));
      continue;
    }
    bool isWord = bits * count <= 32;
    llvm::Value *word = isWord ? vector : e.b.CreateExtractElement(vector, i / perWord);
    unsigned shift = (isWord ? i : i % perWord) * bits;
    llvm::Value *element = e.b.CreateTrunc(e.b.CreateLShr(word, shift), e.b.getIntNTy(bits));
    result.push_back(
        e.ops.fromMemory(type, e.b.CreateZExtOrTrunc(element, e.ops.memoryType(type))));
  }
  return result;
}

namespace {

/// What memory holds of `count` equal elements.
llvm::Constant *packedNumber(Emission &e, DType type, unsigned count, double number) {
  unsigned bits = bitWidth(type);
  uint64_t code = isFloat(type) ? encodeFloat(type, number)
                                : static_cast<uint64_t>(static_cast<int64_t>(number));
  llvm::APInt element = llvm::APInt(64, code).trunc(bits);
  auto *whole =
      llvm::ConstantInt::get(e.k.i32->getContext(), llvm::APInt::getSplat(bits * count, element));
  return llvm::ConstantExpr::getBitCast(whole, vectorType(e, type, count));
}

/// The elements of an access at the registers of a layout.
class TileAccess {
public:
  TileAccess(Emission &e, const Op &op, const Access &access,
             const std::vector<Condition> &conditions, const AxisSet &axes, const HeldLayout &held)
      : e(e), op(op), access(access), conditions(conditions), axes(axes), held(held) {}

  llvm::Error run() {
    if (llvm::Error error = fetchIndices())
      return error;
    for (int64_t r = 0; r < held.registers(); ++r)
      elements.push_back(elementOf(r));
    chooseWidth();
    return llvm::Error::success();
  }

  /// One of each element's copies makes it.
  void makeOnce() {
    for (PlacedElement &element : elements)
      requireFirstCopy(e, element.conditions, held);
  }

  /// Reports a number at each register: it is the same everywhere, and has no axes of its own.
  void traceNumber(const program::ScalarNode &node, const Values &values) const {
    for (int64_t r = 0; r < held.registers(); ++r)
      trace(e, node, axes, held, r, values[static_cast<size_t>(r)]);
  }

  std::vector<PlacedElement> elements; ///< by register
  unsigned width = 1;                  ///< neighbouring registers that are one access

private:
  /// The values of tiles that stand in the access and its conditions, at each register.
  llvm::Error fetchIndices() {
    std::vector<Expr> all = access.index;
    for (const Condition &condition : conditions)
      all.insert(all.end(), {condition.value, condition.low, condition.high});
    for (Expr index : all)
      for (VarId var : variablesOf(index)) {
        ValueId value = e.p.valueOf(var);
        if (!value.isValid() || indices.count(value))
          continue;
        llvm::Expected<Values> registers = registersIn(e, op, value, held);
        if (!registers)
          return registers.takeError();
        const AxisSet &moved = e.p[value].tile.axes;
        std::map<std::vector<int64_t>, Expr> byPlace;
        std::vector<Expr> &variables = indices[value];
        for (int64_t r = 0; r < held.registers(); ++r) {
          Expr &variable = byPlace[held.parts(moved, r)];
          if (!variable)
            variable = indexVariable(value, (*registers)[static_cast<size_t>(r)]);
          variables.push_back(variable);
        }
      }
    return llvm::Error::success();
  }

  Expr indexVariable(ValueId value, llvm::Value *number) {
    DType type = e.p[value].tile.type;
    Expr variable = e.p.context->freshVariable(VarKind::Runtime, "index");
    bool isSigned = dtypeClass(type) == DTypeClass::Signed;
    unsigned bits = std::min(bitWidth(type), 32u); // tensors have fewer elements along a dim
    llvm::Value *narrow = number;
    if (bitWidth(type) > 32) { // beyond 32 bits lies no element
      llvm::Value *most = llvm::ConstantInt::get(number->getType(), INT32_MAX);
      narrow = e.k.intrinsic(llvm::Intrinsic::umin, {number->getType()}, {number, most});
    }
    int64_t high = bits == 32 ? INT32_MAX : (int64_t(1) << (bits - (isSigned ? 1 : 0))) - 1;
    int64_t low = !isSigned ? 0 : bits == 32 ? INT32_MIN : -high - 1;
    llvm::Value *wide = isSigned ? e.b.CreateSExtOrTrunc(narrow, e.index.type())
                                 : e.b.CreateZExtOrTrunc(narrow, e.index.type());
    e.index.bind(variable, {low, high}, wide);
    return variable;
  }

  PlacedElement elementOf(int64_t r) {
    LaneTable lanes(e.p.axes.size());
    for (AxisId axis : axes)
      lanes[axis.index] = e.laneOf(held, axis, r);
    std::map<ValueId, Expr> at;
    for (const auto &[value, variables] : indices)
      at[value] = variables[static_cast<size_t>(r)];
    return placeElement(e, access, conditions, lanes, at);
  }

  void chooseWidth() {
    unsigned bits = bitWidth(e.p[access.tensor].type);
    auto run = static_cast<unsigned>(held.run().second);
    unsigned most = 1;
    while (most * 2 * bits <= mostAccessBits && run % (most * 2) == 0)
      most *= 2;
    for (width = most; width > 1; width /= 2)
      if (width * bits >= 8 && fits())
        break;
  }

  bool fits() const {
    for (size_t first = 0; first < elements.size(); first += width)
      if (!areOneAccess(e, elements[first], std::span(elements).subspan(first + 1, width - 1)))
        return false;
    return true;
  }

  Emission &e;
  const Op &op;
  const Access &access;
  const std::vector<Condition> &conditions;
  const AxisSet &axes;
  const HeldLayout &held;
  std::map<ValueId, std::vector<Expr>> indices; ///< by register
};

/// An element of less than a byte, from the byte that it is in.
llvm::Value *loadPart(Emission &e, DType type, unsigned buffer, const PlacedElement &element,
                      double otherwise) {
  unsigned bits = bitWidth(type);
  llvm::Value *valid = holdAll(e, element.conditions);
  ByteOffset at = byteOffset(e, element.offset, bits);
  llvm::Value *offset = e.b.CreateAdd(at.computed, e.k.c64(at.constant));
  llvm::Value *byte = valid ? e.k.loadGlobalIf(valid, e.b.getInt8(0), buffer, offset, 0, 1)
                            : e.k.loadGlobal(e.k.i8, buffer, offset, 1);
  llvm::Value *place =
      e.b.CreateAnd(e.b.CreateTrunc(e.index.index(element.offset), e.k.i8), 8 / bits - 1);
  llvm::Value *code = e.b.CreateAnd(
      e.b.CreateLShr(byte, e.b.CreateMul(place, e.b.getInt8(static_cast<uint8_t>(bits)))),
      (1u << bits) - 1);
  llvm::Value *value = e.ops.fromMemory(type, code);
  return valid ? e.b.CreateSelect(valid, value, e.ops.constant(type, otherwise)) : value;
}

unsigned bufferOf(const Emission &e, TensorId tensor) {
  return static_cast<unsigned>(tensor.index); // parameters, then results
}

} // namespace

llvm::Expected<Values> loadTile(Emission &e, const Op &op, const LoadOp &o, const AxisSet &axes,
                                const HeldLayout &held) {
  TileAccess access(e, op, o.from, o.conditions, axes, held);
  if (llvm::Error error = access.run())
    return error;
  DType type = e.p[o.from.tensor].type;
  unsigned bits = bitWidth(type), buffer = bufferOf(e, o.from.tensor);
  Values result;
  for (size_t r = 0; r < access.elements.size(); r += access.width) {
    const PlacedElement &element = access.elements[r];
    if (bits * access.width < 8) {
      result.push_back(loadPart(e, type, buffer, element, o.otherwise));
      continue;
    }
    llvm::Value *valid = holdAll(e, element.conditions);
    ByteOffset at = byteOffset(e, element.offset, bits);
    unsigned align = bits * access.width / 8;
    llvm::Value *vector =
        valid ? e.k.loadGlobalIf(valid, packedNumber(e, type, access.width, o.otherwise), buffer,
                                 at.computed, at.constant, align)
              : e.k.loadGlobal(vectorType(e, type, access.width), buffer,
                               e.b.CreateAdd(at.computed, e.k.c64(at.constant), "", false, true),
                               align);
    for (llvm::Value *value : unpacked(e, type, vector, access.width))
      result.push_back(value);
  }
  return result;
}

llvm::Error emitOp(Emission &e, const Op &op, const LoadOp &o) {
  llvm::Expected<HeldLayout> held = e.held(op, e.p[op.results[0]].tile.layout);
  if (!held)
    return held.takeError();
  llvm::Expected<Values> values = loadTile(e, op, o, e.p[op.results[0]].tile.axes, *held);
  if (!values)
    return values.takeError();
  e.define(op.results[0], std::move(*values));
  e.loads[op.results[0].index] = &op;
  return llvm::Error::success();
}

namespace {

/// What a store or an atomic writes: values and places by register, each by one of its holders.
class TileWrite {
public:
  TileWrite(Emission &e, const Op &op, const Access &to, const ScalarExpr &value)
      : e(e), op(op), to(to), value(value), axes(e.p.axesOf(to)) {
    program::unite(axes, e.p.axesOf(value));
  }

  llvm::Error run(const std::optional<program::LayoutSpec> &layout) {
    llvm::Expected<HeldLayout> found = e.held(op, heldAs(e.p, value, axes, layout));
    if (!found)
      return found.takeError();
    held = std::move(*found);
    llvm::Expected<Values> made = evaluate(e, op, value, *held);
    if (!made)
      return made.takeError();
    values = std::move(*made);
    access.emplace(e, op, to, none, axes, *held);
    if (llvm::Error error = access->run())
      return error;
    access->makeOnce();
    return llvm::Error::success();
  }

  Values values;
  std::optional<TileAccess> access;

private:
  Emission &e;
  const Op &op;
  const Access &to;
  const ScalarExpr &value;
  const std::vector<Condition> none; ///< a write has none beside its axes' bounds
  AxisSet axes;
  std::optional<HeldLayout> held;
};

} // namespace

llvm::Error emitOp(Emission &e, const Op &op, const StoreOp &o) {
  TileWrite write(e, op, o.to, o.value);
  if (llvm::Error error = write.run(o.layout))
    return error;
  const TileAccess &access = *write.access;
  if (o.value.root().kind == program::ScalarNode::Kind::Number)
    access.traceNumber(o.value.root(), write.values);
  DType type = e.p[o.to.tensor].type;
  unsigned bits = bitWidth(type), buffer = bufferOf(e, o.to.tensor);
  if (bits * access.width < 8)
    return e.unsupported(op, fmt::format("a thread makes single elements of {}, of which {} share "
                                         "a byte: hold neighbours in a thread",
                                         e.p[o.to.tensor].name, 8 / bits));
  for (size_t r = 0; r < access.elements.size(); r += access.width) {
    Values lanes;
    for (size_t i = 0; i < access.width; ++i)
      lanes.push_back(e.ops.convert(o.value.type(), type, write.values[r + i]));
    llvm::Value *valid = holdAll(e, access.elements[r].conditions);
    ByteOffset at = byteOffset(e, access.elements[r].offset, bits);
    llvm::Value *vector = packed(e, type, lanes);
    unsigned align = bits * access.width / 8;
    if (valid)
      e.k.storeGlobalIf(valid, vector, buffer, at.computed, at.constant, align);
    else
      e.k.storeGlobal(vector, buffer,
                      e.b.CreateAdd(at.computed, e.k.c64(at.constant), "", false, true), align);
  }
  return llvm::Error::success();
}

llvm::Error emitOp(Emission &e, const Op &op, const AtomicOp &o) {
  TileWrite write(e, op, o.to, o.value);
  if (llvm::Error error = write.run(std::nullopt))
    return error;
  const TileAccess &access = *write.access;
  using Update = KernelBuilder::Update;
  DType type = e.p[o.to.tensor].type;
  bool isLogic = o.monoid == Monoid::And || o.monoid == Monoid::Or;
  Update update = o.monoid == Monoid::Max   ? Update::Max
                  : o.monoid == Monoid::Min ? Update::Min
                  : o.monoid == Monoid::And ? Update::And
                  : o.monoid == Monoid::Or  ? Update::Or
                                            : Update::Add;
  for (size_t r = 0; r < access.elements.size(); ++r) {
    llvm::Value *value = e.ops.convert(o.value.type(), type, write.values[r]);
    if (isLogic) // of truth, 0 or 1
      value = e.ops.convert(DType::Pred, type, e.ops.convert(type, DType::Pred, value));
    value = e.ops.toMemory(type, value);
    llvm::Value *valid = holdAll(e, access.elements[r].conditions);
    ByteOffset at = byteOffset(e, access.elements[r].offset, bitWidth(type));
    llvm::Value *offset = e.b.CreateAdd(at.computed, e.k.c64(at.constant), "", false, true);
    auto emit = [&] { e.k.atomicUpdate(update, type, bufferOf(e, o.to.tensor), offset, value); };
    if (valid)
      e.k.ifThen(valid, emit);
    else
      emit();
  }
  return llvm::Error::success();
}

} // namespace tilewright::emit
