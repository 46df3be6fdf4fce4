// Dots by wgmma. A product is started, committed and waited for at its place, unless its loop
// says otherwise: `wait n` allows that groups stay in flight, it does not ask for it.
#include "codegen/emit/emission.h"

namespace tilewright::emit {

namespace {

/// An operand in shared memory, as descriptors see it: lines of the swizzle's width, along k or
/// across it.
class WgmmaOperand {
public:
  WgmmaOperand(Emission &e, const ScalarNode &node, const MatrixShape &shape)
      : e(e), place(e.shared.buffers[node.buffer.index]), elementBytes(place.elementBits / 8) {
    isKMinor = e.p[node.buffer].order.back() == shape.k;
    e.pending.read(e.shared.regionOf(node.buffer));
    // Of the first stage, the same in all steps; then moved on.
    base = e.k.matrixDescriptor(e.k.c32(place.offset), isKMinor ? 16 : place.panelBytes(),
                                8 * place.swizzle, place.swizzle);
    llvm::Value *stage = slotOffset(e, node.buffer, node.index);
    if (!llvm::isa<llvm::Constant>(stage))
      base =
          e.k.advanceDescriptor(base, e.b.CreateSub(stage, e.k.c32(place.offset), "", true, true));
  }

  bool isKMinor = true;

  /// Moved to a row or column, given as so many units of `unit` from `first` on.
  void moveTo(llvm::Value *units, int64_t unit) {
    llvm::Value *bytes = e.b.CreateMul(units, e.k.c32(offset(unit, 0)), "", true, true);
    base = e.k.advanceDescriptor(base, bytes);
  }
  llvm::Value *at(int64_t across, int64_t step) {
    int64_t bytes = offset(across, step);
    return bytes ? e.b.CreateAdd(base, e.k.c64(bytes / 16)) : base;
  }
  /// Whole panels, where lines run across k.
  bool fits(int64_t across) const { return isKMinor || across * elementBytes % place.swizzle == 0; }

private:
  int64_t offset(int64_t across, int64_t step) const {
    int64_t width = place.swizzle;
    if (isKMinor) {
      int64_t bytes = step * 32;
      return bytes / width * place.panelBytes() + bytes % width + across * width;
    }
    return across * elementBytes / width * place.panelBytes() + step * (32 / elementBytes) * width;
  }

  Emission &e;
  BufferPlace place;
  int64_t elementBytes;
  llvm::Value *base;
};

const ScalarNode *slotOf(const ScalarExpr &scalar) {
  bool isSlot = scalar.nodes.size() == 1 && scalar.root().kind == ScalarNode::Kind::Slot;
  return isSlot ? &scalar.root() : nullptr;
}

/// The accumulators of a tile: for each block of 64 rows, as many columns as an instruction takes.
struct Accumulator {
  int64_t block, column, columns;
  std::ptrdiff_t first, count; ///< registers
};

std::vector<Accumulator> accumulatorsOf(int64_t blocksI, int64_t blocksJ) {
  constexpr int64_t most = 256;
  std::vector<Accumulator> result;
  std::ptrdiff_t first = 0;
  for (int64_t block = 0; block < blocksI; ++block)
    for (int64_t column = 0; column < blocksJ * 8; column += most) {
      int64_t columns = std::min(most, blocksJ * 8 - column);
      result.push_back({block, column, columns, first, columns / 2});
      first += columns / 2;
    }
  return result;
}

class WgmmaDot {
public:
  WgmmaDot(Emission &e, const Op &op, const DotOp &o)
      : e(e), op(op), o(o), tile(e.p[op.results[0]].tile) {}

  /// `words`: the left operand's, where it lies in registers.
  llvm::Error start(const Values &words) {
    leftWords = words;
    if (llvm::Error error = findShape())
      return error;
    if (!e.warpgroup)
      return e.unsupported(op, "there is no code for wgmma without a producer: give it one");
    const ScalarNode *right = slotOf(o.right), *left = slotOf(o.left);
    if (!right)
      return e.unsupported(op, "the right operand of wgmma is a buffer: write it to one");
    for (const ScalarNode *node : {left, right})
      if (node)
        if (llvm::Error error = checkBuffer(*node))
          return error;
    WgmmaOperand columns(e, *right, shape);
    if (shape.c > 1) {
      columns.moveTo(e.b.CreateUDiv(e.warpgroup, e.k.c32(shape.r)), shape.blocksJ * 8);
      if (!columns.fits(shape.blocksJ * 8))
        return e.unsupported(
            op, fmt::format("{} columns of a warpgroup are no whole panels of {} bytes: put the "
                            "warpgroups below each other",
                            shape.blocksJ * 8, e.shared.buffers[right->buffer.index].swizzle));
    }
    if (!left)
      return multiply(nullptr, columns);
    WgmmaOperand rows(e, *left, shape);
    if (shape.r > 1)
      rows.moveTo(e.b.CreateURem(e.warpgroup, e.k.c32(shape.r)), 64);
    if (!rows.fits(64))
      return e.unsupported(op, "64 rows of the left operand are no whole panels");
    return multiply(&rows, columns);
  }

  llvm::Expected<Values> words() {
    if (slotOf(o.left))
      return Values();
    if (llvm::Error error = findShape())
      return error;
    llvm::Expected<Values> values = fragmentOf(e, op, o.left, shape, true);
    if (!values)
      return values;
    Values words;
    for (int64_t block = 0; block < shape.blocksI; ++block)
      for (int64_t step = 0; step < shape.steps; ++step)
        for (llvm::Value *word :
             fragmentWords(e, o.left.type(), *values, shape.steps, step, block, true))
          words.push_back(word);
    return words;
  }

private:
  llvm::Error findShape() {
    llvm::Expected<MatrixShape> found = matrixShapeOf(e, op, o);
    if (!found)
      return found.takeError();
    shape = *found;
    AxisSet left = e.p.axesOf(o.left), right = e.p.axesOf(o.right);
    if (left.size() != 2 || right.size() != 2 || !program::contains(left, shape.i) ||
        !program::contains(right, shape.j))
      return e.unsupported(op, "rows of wgmma's result are those of its left operand");
    return llvm::Error::success();
  }

  llvm::Error checkBuffer(const ScalarNode &node) {
    const Buffer &buffer = e.p[node.buffer];
    const BufferPlace &place = e.shared.buffers[node.buffer.index];
    int64_t unit = place.swizzle * 8;
    if (place.swizzle == 0)
      return e.unsupported(
          op, fmt::format("{} has no swizzle: wgmma reads swizzled panels", buffer.name));
    if (place.offset % unit != 0 || place.slotBytes % unit != 0)
      return e.unsupported(
          op, fmt::format("slots of {} do not lie at multiples of {} bytes", buffer.name, unit));
    return llvm::Error::success();
  }

  llvm::Error multiply(WgmmaOperand *rows, WgmmaOperand &columns) {
    std::vector<Accumulator> parts = accumulatorsOf(shape.blocksI, shape.blocksJ);
    size_t count = static_cast<size_t>(shape.blocksI * shape.blocksJ * 4);
    Values sums = o.isAdded ? e.values[op.results[0].index]
                            : Values(count, e.ops.constant(tile.type, int64_t(0)));
    auto [known, isNew] = e.firstAccumulator.try_emplace(op.results[0], e.accumulators);
    unsigned first = known->second;
    if (isNew)
      e.accumulators += static_cast<unsigned>(parts.size());
    fence(sums);
    for (int64_t step = 0; step < shape.steps; ++step)
      for (size_t number = 0; number < parts.size(); ++number) {
        const Accumulator &part = parts[number];
        KernelBuilder::WarpgroupMma instruction{MatrixTypes(o.left.type(), o.right.type()),
                                                part.columns, rows ? rows->isKMinor : true,
                                                columns.isKMinor};
        auto sum = sums.begin() + part.first;
        Values before(sum, sum + part.count);
        llvm::Value *isAdding = e.b.getInt1(o.isAdded || step > 0);
        llvm::Value *right = columns.at(part.column, step);
        auto accumulator = first + static_cast<unsigned>(number);
        Values next = rows ? e.k.warpgroupMma(instruction, accumulator,
                                              rows->at(part.block * 64 * shape.r, step), right,
                                              isAdding, before)
                           : e.k.warpgroupMma(instruction, accumulator, leftOf(part.block, step),
                                              right, isAdding, before);
        std::copy(next.begin(), next.end(), sum);
      }
    e.k.warpgroupCommit();
    e.define(op.results[0], std::move(sums));
    return llvm::Error::success();
  }

  /// Orders the products behind what has written their registers.
  void fence(Values &sums) {
    Values written = leftWords;
    const bool areWritten = o.isAdded && !e.flying.count(op.results[0]);
    if (areWritten)
      written.insert(written.end(), sums.begin(), sums.end());
    if (written.empty())
      return e.k.warpgroupFence();
    written = e.k.warpgroupFence(written);
    auto at = written.begin() + static_cast<std::ptrdiff_t>(leftWords.size());
    leftWords.assign(written.begin(), at);
    if (areWritten)
      sums.assign(at, written.end());
  }

  llvm::ArrayRef<llvm::Value *> leftOf(int64_t block, int64_t step) const {
    return llvm::ArrayRef<llvm::Value *>(leftWords).slice(
        static_cast<size_t>((block * shape.steps + step) * 4), 4);
  }

  Emission &e;
  const Op &op;
  const DotOp &o;
  const Tile &tile;
  MatrixShape shape;
  Values leftWords;
};

} // namespace

void finishProducts(Emission &e, ValueId id, unsigned pending) {
  const Tile &tile = e.p[id].tile;
  const Values &sums = e.values[id.index];
  const std::vector<program::Digit> &digits = tile.layout.registers;
  unsigned accumulator = e.firstAccumulator.at(id);
  Values done;
  for (const Accumulator &part :
       accumulatorsOf(digits[3].extent.constant(), digits[2].extent.constant())) {
    auto at = sums.begin() + part.first;
    Values after = e.k.warpgroupWait(pending, accumulator++, Values(at, at + part.count));
    done.insert(done.end(), after.begin(), after.end());
  }
  e.define(id, std::move(done));
}

llvm::Expected<Values> leftWordsOf(Emission &e, const Op &op) {
  return WgmmaDot(e, op, *op.as<DotOp>()).words();
}

llvm::Error startWarpgroupDot(Emission &e, const Op &op, const Values &leftWords) {
  return WgmmaDot(e, op, *op.as<DotOp>()).start(leftWords);
}

llvm::Error emitWarpgroupDot(Emission &e, const Op &op) {
  llvm::Expected<Values> words = leftWordsOf(e, op);
  if (!words)
    return words.takeError();
  if (llvm::Error error = startWarpgroupDot(e, op, *words))
    return error;
  if (e.flying.count(op.results[0]))
    e.k.warpgroupWait(1);
  else
    finishProducts(e, op.results[0], 0);
  return llvm::Error::success();
}

} // namespace tilewright::emit
