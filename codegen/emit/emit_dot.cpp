// Dots by fma and by mma.sync.
#include "codegen/emit/emission.h"

#include <algorithm>

namespace tilewright::emit {

namespace {

llvm::Value *multiplyAdd(Emission &e, DType type, llvm::Value *x, llvm::Value *y,
                         llvm::Value *sum) {
  if (isFloat(type))
    return e.k.intrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
  return e.b.CreateAdd(e.b.CreateMul(x, y), sum);
}

Values startOf(Emission &e, const Op &op, const DotOp &o, int64_t registers) {
  const Tile &tile = e.p[op.results[0]].tile;
  return o.isAdded ? e.values[op.results[0].index]
                   : Values(static_cast<size_t>(registers), e.ops.constant(tile.type, int64_t(0)));
}

/// Outer products of registers: loops over the contracted axes, of which the last takes some lanes
/// at a time.
class FmaDot {
public:
  FmaDot(Emission &e, const Op &op, const DotOp &o, const HeldLayout &held)
      : e(e), op(op), o(o), tile(e.p[op.results[0]].tile) {
    over.assign(o.over.begin(), o.over.end());
    int64_t most = std::max<int64_t>(mostProducts / held.registers(), 1);
    atOnce = std::min(mostAtOnce, most);
    while (e.extent(over.back()) % atOnce != 0)
      --atOnce;
  }

  llvm::Expected<Values> run(const HeldLayout &held, Values sums) {
    sums = multiply(held, 0, std::move(sums));
    if (failed)
      return std::move(error);
    llvm::consumeError(std::move(error));
    return sums;
  }

private:
  static constexpr int64_t mostProducts = 512, mostAtOnce = 16; // in one block

  Values multiply(const HeldLayout &at, size_t axis, Values sums) {
    bool isLast = axis + 1 == over.size();
    int64_t step = isLast ? atOnce : 1, extent = e.extent(over[axis]);
    auto some = [&](const HeldLayout &from, Expr first, Values before) {
      for (int64_t lane = 0; lane < step && !failed; ++lane) {
        HeldLayout inner = from;
        if (first)
          inner.fix(over[axis], lane, first, extent - step);
        else
          inner.fix(over[axis], lane);
        before = isLast ? addProducts(inner, std::move(before))
                        : multiply(inner, axis + 1, std::move(before));
      }
      return before;
    };
    if (extent == step)
      return some(at, Expr(), std::move(sums));
    return e.k.forLoop(e.k.c32(0), e.k.c32(extent), e.k.c32(step), sums,
                       [&](llvm::Value *first, const Values &before) -> Values {
                         IndexEmitter::Scope scope(e.index);
                         Expr group = e.p.context->freshVariable(VarKind::Step, "lanes");
                         e.index.bind(group, Interval::ofExtent(extent / step),
                                      step == 1 ? first : e.b.CreateUDiv(first, e.k.c32(step)));
                         return some(at, group * step, before);
                       });
  }

  Values addProducts(const HeldLayout &at, Values sums) {
    std::vector<Values> sides;
    for (const ScalarExpr *scalar : {&o.left, &o.right}) {
      AxisSet axes = e.p.axesOf(*scalar);
      HeldLayout part = at.restrictedTo(axes);
      llvm::Expected<Values> values = evaluate(e, op, *scalar, part);
      if (!values) {
        failed = true;
        error = llvm::joinErrors(std::move(error), values.takeError());
        return sums;
      }
      for (llvm::Value *&value : *values)
        value = e.ops.convert(scalar->type(), tile.type, value);
      sides.push_back(*pickRegisters(*values, part, axes, at));
    }
    for (size_t r = 0; r < sums.size(); ++r)
      sums[r] = multiplyAdd(e, tile.type, sides[0][r], sides[1][r], sums[r]);
    return sums;
  }

  Emission &e;
  const Op &op;
  const DotOp &o;
  const Tile &tile;
  std::vector<AxisId> over;
  int64_t atOnce = 1;
  bool failed = false;
  llvm::Error error = llvm::Error::success();
};

llvm::Error emitFmaDot(Emission &e, const Op &op, const DotOp &o) {
  const Tile &tile = e.p[op.results[0]].tile;
  llvm::Expected<HeldLayout> held = e.held(op, tile.layout);
  if (!held)
    return held.takeError();
  llvm::Expected<Values> sums =
      FmaDot(e, op, o, *held).run(*held, startOf(e, op, o, held->registers()));
  if (!sums)
    return sums.takeError();
  for (llvm::Value *&sum : *sums)
    sum = e.ops.round(tile.type, sum);
  e.define(op.results[0], std::move(*sums));
  return llvm::Error::success();
}

} // namespace

Values fragmentWords(Emission &e, DType type, const Values &registers, int64_t steps, int64_t step,
                     int64_t block, bool isLeft) {
  auto perWord = static_cast<int64_t>(32 / bitWidth(type));
  int64_t halves = steps * 2, rows = isLeft ? 2 : 1;
  Values words;
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t row = 0; row < rows; ++row) {
      int64_t first = perWord * (row + rows * (step * 2 + half + halves * block));
      auto from = registers.begin() + first;
      llvm::Value *word = packed(e, type, Values(from, from + perWord));
      words.push_back(e.b.CreateBitCast(word, e.k.i32));
    }
  return words;
}

llvm::Expected<MatrixShape> matrixShapeOf(Emission &e, const Op &op, const DotOp &o) {
  const Layout &layout = e.p[op.results[0]].tile.layout;
  MatrixShape shape;
  shape.isGroup = o.way == DotWay::Wgmma;
  const size_t inGroup = shape.isGroup ? 1 : 0; // digits of a warpgroup's warps
  if (layout.registers.size() != 4 || layout.warps.size() != inGroup + 2 || o.over.size() != 1)
    return e.unsupported(op, fmt::format("{} of several contracted axes, or of a batch in a tile",
                                         program::toString(o.way)));
  shape.i = layout.registers[1].axis;
  shape.j = layout.registers[0].axis;
  shape.k = o.over[0];
  shape.blocksJ = layout.registers[2].extent.constant();
  shape.blocksI = layout.registers[3].extent.constant();
  shape.r = layout.warps[1].extent.constant();
  shape.c = layout.warps[shape.isGroup ? 2 : 0].extent.constant();
  shape.steps = e.extent(shape.k) * static_cast<int64_t>(bitWidth(o.right.type())) / 256;
  return shape;
}

llvm::Expected<Values> fragmentOf(Emission &e, const Op &op, const ScalarExpr &scalar,
                                  const MatrixShape &shape, bool isLeft) {
  program::FragmentShape fragment;
  AxisId free = isLeft ? shape.i : shape.j;
  fragment.rows = {free, e.p[free].extent};
  fragment.contracted = {shape.k, e.p[shape.k].extent};
  fragment.r = e.number(shape.r);
  fragment.c = e.number(shape.c);
  fragment.isLeft = isLeft;
  fragment.isGroup = shape.isGroup;
  llvm::Expected<HeldLayout> held = e.held(op, operandFragment(fragment, bitWidth(scalar.type())));
  if (!held)
    return held.takeError();
  return evaluate(e, op, scalar, *held);
}

namespace {

/// The words of a fragment of f32, and what TF32 leaves out of them. Infinities and NaNs are 0 in
/// both: they count in the product of the whole words alone.
struct Tf32Parts {
  Values taken, rest;
};

Tf32Parts partsOf(KernelBuilder &k, const Values &words) {
  llvm::IRBuilder<> &b = k.b;
  constexpr int64_t tf32Bits = -0x2000; // all but the low 13
  Tf32Parts parts;
  for (llvm::Value *word : words) {
    llvm::Value *taken = b.CreateBitCast(b.CreateAnd(word, k.c32(tf32Bits)), k.f32);
    llvm::Value *rest = b.CreateFSub(b.CreateBitCast(word, k.f32), taken);
    llvm::Value *isFinite = b.CreateFCmpORD(rest, rest);
    parts.taken.push_back(b.CreateSelect(isFinite, word, k.c32(0)));
    parts.rest.push_back(b.CreateBitCast(b.CreateSelect(isFinite, rest, k.cf(0)), k.i32));
  }
  return parts;
}

/// The sums of a 16 x 8 block with the products of two fragments.
Values multiply(KernelBuilder &k, const DotOp &o, const MatrixTypes &types, const Values &left,
                const Values &right, Values sums) {
  if (o.products > 1) { // the small ones first
    Tf32Parts a = partsOf(k, left), b = partsOf(k, right);
    sums = k.mma(types, a.rest, b.taken, sums);
    sums = k.mma(types, a.taken, b.rest, sums);
  }
  return k.mma(types, left, right, sums);
}

/// Fragments of one operand: from a buffer by ldmatrix, or from registers.
class MmaOperand {
public:
  MmaOperand(Emission &e, const Op &op, const ScalarExpr &scalar, const MatrixShape &shape,
             bool isLeft)
      : e(e), op(op), scalar(scalar), shape(shape), isLeft(isLeft), type(scalar.type()) {}

  llvm::Error prepare() {
    FragmentBlocks blocks{isLeft ? shape.i : shape.j,
                          shape.k,
                          isLeft ? shape.blocksI : shape.blocksJ,
                          shape.r,
                          shape.c,
                          isLeft};
    const ScalarNode &node = scalar.root();
    if (scalar.nodes.size() == 1 && node.kind == ScalarNode::Kind::Slot &&
        MatrixReader::canRead(e, node.buffer, blocks)) {
      reader.emplace(e, node.buffer, node.index, blocks);
      return llvm::Error::success();
    }
    llvm::Expected<Values> values = fragmentOf(e, op, scalar, shape, isLeft);
    if (!values)
      return values.takeError();
    registers = std::move(*values);
    return llvm::Error::success();
  }

  /// Words of all blocks of a step: four of a left one, two of a right one.
  std::vector<Values> words(int64_t step) {
    if (reader)
      return reader->words(step);
    std::vector<Values> result;
    int64_t blocks = isLeft ? shape.blocksI : shape.blocksJ;
    for (int64_t block = 0; block < blocks; ++block)
      result.push_back(fragmentWords(e, type, registers, shape.steps, step, block, isLeft));
    return result;
  }

private:
  Emission &e;
  const Op &op;
  const ScalarExpr &scalar;
  const MatrixShape &shape;
  bool isLeft;
  DType type;
  Values registers;
  std::optional<MatrixReader> reader;
};

llvm::Error emitMmaDot(Emission &e, const Op &op, const DotOp &o) {
  llvm::Expected<MatrixShape> found = matrixShapeOf(e, op, o);
  if (!found)
    return found.takeError();
  const MatrixShape &shape = *found;
  llvm::Expected<HeldLayout> held = e.held(op, e.p[op.results[0]].tile.layout);
  if (!held)
    return held.takeError();
  // Rows of the result are those of the instruction's left operand, whichever is written first.
  bool isSwapped = !program::contains(e.p.axesOf(o.left), shape.i);
  const ScalarExpr &a = isSwapped ? o.right : o.left, &b = isSwapped ? o.left : o.right;
  for (auto [scalar, axis] : {std::pair(&a, shape.i), {&b, shape.j}}) {
    AxisSet axes = e.p.axesOf(*scalar);
    if (axes.size() != 2 || !program::contains(axes, axis) || !program::contains(axes, shape.k))
      return e.unsupported(op, fmt::format("an operand of mma.sync has the axes {} and {} alone",
                                           e.p[axis].name, e.p[shape.k].name));
  }
  MmaOperand left(e, op, a, shape, true), right(e, op, b, shape, false);
  if (llvm::Error error = left.prepare())
    return error;
  if (llvm::Error error = right.prepare())
    return error;
  MatrixTypes types(a.type(), b.type());
  Values sums = startOf(e, op, o, held->registers());
  for (int64_t step = 0; step < shape.steps; ++step) {
    std::vector<Values> rows = left.words(step), columns = right.words(step);
    for (int64_t i = 0; i < shape.blocksI; ++i)
      for (int64_t n = 0; n < shape.blocksJ; ++n) {
        // Back and forth, so that consecutive instructions share a fragment.
        int64_t j = i % 2 ? shape.blocksJ - 1 - n : n;
        auto sum = sums.begin() + (i * shape.blocksJ + j) * 4;
        Values next = multiply(e.k, o, types, rows[static_cast<size_t>(i)],
                               columns[static_cast<size_t>(j)], Values(sum, sum + 4));
        std::copy(next.begin(), next.end(), sum);
      }
  }
  e.define(op.results[0], std::move(sums));
  return llvm::Error::success();
}

} // namespace

llvm::Error emitOp(Emission &e, const Op &op, const DotOp &o) {
  switch (o.way) {
  case DotWay::Fma:
    return emitFmaDot(e, op, o);
  case DotWay::MmaSync:
    return emitMmaDot(e, op, o);
  case DotWay::Wgmma:
    return emitWarpgroupDot(e, op);
  }
  return llvm::Error::success();
}

} // namespace tilewright::emit
