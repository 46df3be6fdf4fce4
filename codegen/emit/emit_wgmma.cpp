// Dots by wgmma. A product is started, committed and waited for at its place: `wait n` allows that
// groups stay in flight, it does not ask for it.
#include "codegen/emit/emission.h"

namespace tilewright::emit {

namespace {

struct WgmmaShape {
  AxisId i, j, k;
  int64_t r = 1, c = 1, blocksI = 1, blocksJ = 1; ///< warpgroups; blocks of 64 rows, 8 columns
  int64_t steps = 1;                              ///< of 32 bytes along k
};

/// An operand in shared memory, as descriptors see it: lines of the swizzle's width, along k or
/// across it.
class WgmmaOperand {
public:
  WgmmaOperand(Emission &e, const ScalarNode &node, const WgmmaShape &shape)
      : e(e), place(e.shared.buffers[node.buffer.index]), elementBytes(place.elementBits / 8) {
    isKMinor = e.p[node.buffer].order.back() == shape.k;
    e.pending.read(e.shared.regionOf(e.p, node.buffer));
    llvm::Value *slot = slotOffset(e, node.buffer, node.index);
    base = e.k.matrixDescriptor(slot, isKMinor ? 16 : place.panelBytes(), 8 * place.swizzle,
                                place.swizzle);
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

class WgmmaDot {
public:
  WgmmaDot(Emission &e, const Op &op, const DotOp &o)
      : e(e), op(op), o(o), tile(e.p[op.results[0]].tile) {}

  llvm::Error run() {
    if (llvm::Error error = findShape())
      return error;
    const ScalarNode *right = slotOf(o.right), *left = slotOf(o.left);
    if (!right)
      return e.unsupported(op, "the right operand of wgmma is a buffer: write it to one");
    for (const ScalarNode *node : {left, right})
      if (node)
        if (llvm::Error error = checkBuffer(*node))
          return error;
    group = e.k.uniform(e.b.CreateLShr(e.k.threadId(), 7));
    WgmmaOperand columns(e, *right, shape);
    if (shape.c > 1) {
      columns.moveTo(e.b.CreateUDiv(group, e.k.c32(shape.r)), shape.blocksJ * 8);
      if (!columns.fits(shape.blocksJ * 8))
        return e.unsupported(
            op, fmt::format("{} columns of a warpgroup are no whole panels of {} bytes: put the "
                            "warpgroups below each other",
                            shape.blocksJ * 8, e.shared.buffers[right->buffer.index].swizzle));
    }
    if (!left) {
      if (llvm::Error error = loadLeft())
        return error;
      return multiply(nullptr, columns);
    }
    WgmmaOperand rows(e, *left, shape);
    if (shape.r > 1)
      rows.moveTo(e.b.CreateURem(group, e.k.c32(shape.r)), 64);
    if (!rows.fits(64))
      return e.unsupported(op, "64 rows of the left operand are no whole panels");
    return multiply(&rows, columns);
  }

private:
  llvm::Error findShape() {
    if (tile.layout.registers.size() != 4 || tile.layout.warps.size() != 3 || o.over.size() != 1)
      return e.unsupported(op, "wgmma of several contracted axes, or of a batch in a tile");
    shape.i = tile.layout.registers[1].axis;
    shape.j = tile.layout.registers[0].axis;
    shape.k = o.over[0];
    shape.blocksJ = tile.layout.registers[2].extent.constant();
    shape.blocksI = tile.layout.registers[3].extent.constant();
    shape.r = tile.layout.warps[1].extent.constant();
    shape.c = tile.layout.warps[2].extent.constant();
    shape.steps = e.extent(shape.k) * static_cast<int64_t>(bitWidth(o.right.type())) / 256;
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

  llvm::Error loadLeft() {
    program::FragmentShape fragment;
    fragment.rows = {shape.i, e.p[shape.i].extent};
    fragment.contracted = {shape.k, e.p[shape.k].extent};
    fragment.r = e.number(shape.r);
    fragment.c = e.number(shape.c);
    fragment.isGroup = true;
    llvm::Expected<HeldLayout> held =
        e.held(op, operandFragment(fragment, bitWidth(o.left.type())));
    if (!held)
      return held.takeError();
    llvm::Expected<Values> values = evaluate(e, op, o.left, *held);
    if (!values)
      return values.takeError();
    Values words;
    for (int64_t block = 0; block < shape.blocksI; ++block)
      for (int64_t step = 0; step < shape.steps; ++step)
        for (llvm::Value *word :
             fragmentWords(e, o.left.type(), *values, shape.steps, step, block, true))
          words.push_back(word);
    leftWords = e.k.warpgroupFence(words);
    return llvm::Error::success();
  }

  /// Columns of an instruction: at most 256, in equal parts.
  int64_t columnsOfOne() const {
    int64_t all = shape.blocksJ * 8, parts = (all + 255) / 256;
    int64_t unit = isFloat(o.left.type()) || all <= 32 ? 8 : 16;
    while (all % (parts * unit) != 0)
      ++parts;
    return all / parts;
  }

  llvm::Error multiply(WgmmaOperand *rows, WgmmaOperand &columns) {
    int64_t wide = columnsOfOne(), parts = shape.blocksJ * 8 / wide;
    if (parts > 1 && !columns.fits(wide))
      return e.unsupported(op,
                           fmt::format("{} columns of an instruction are no whole panels", wide));
    auto perPart = static_cast<std::ptrdiff_t>(wide / 2);
    size_t count = static_cast<size_t>(shape.blocksI * shape.blocksJ * 4);
    Values sums = o.isAdded ? e.values[op.results[0].index]
                            : Values(count, e.ops.constant(tile.type, int64_t(0)));
    unsigned first = e.accumulators;
    e.accumulators += static_cast<unsigned>(shape.blocksI * parts);
    if (o.isAdded)
      sums = e.k.warpgroupFence(sums);
    else
      e.k.warpgroupFence();
    KernelBuilder::WarpgroupMma instruction{MatrixTypes(o.left.type(), o.right.type()), wide,
                                            rows ? rows->isKMinor : true, columns.isKMinor};
    for (int64_t step = 0; step < shape.steps; ++step)
      for (int64_t i = 0; i < shape.blocksI; ++i)
        for (int64_t part = 0; part < parts; ++part) {
          int64_t number = i * parts + part;
          auto sum = sums.begin() + number * perPart;
          Values before(sum, sum + perPart);
          llvm::Value *isAdding = e.b.getInt1(o.isAdded || step > 0);
          llvm::Value *right = columns.at(part * wide, step);
          auto accumulator = first + static_cast<unsigned>(number);
          Values next;
          if (rows)
            next = e.k.warpgroupMma(instruction, accumulator, rows->at(i * 64 * shape.r, step),
                                    right, isAdding, before);
          else
            next = e.k.warpgroupMma(instruction, accumulator, leftOf(i, step), right, isAdding,
                                    before);
          std::copy(next.begin(), next.end(), sum);
        }
    e.k.warpgroupCommit();
    finish(sums, first, perPart);
    return llvm::Error::success();
  }

  llvm::ArrayRef<llvm::Value *> leftOf(int64_t block, int64_t step) const {
    return llvm::ArrayRef<llvm::Value *>(leftWords).slice(
        static_cast<size_t>((block * shape.steps + step) * 4), 4);
  }

  void finish(const Values &sums, unsigned first, std::ptrdiff_t perPart) {
    Values done;
    for (auto at = sums.begin(); at != sums.end(); at += perPart) {
      Values part = e.k.warpgroupWait(0, first++, Values(at, at + perPart));
      done.insert(done.end(), part.begin(), part.end());
    }
    e.define(op.results[0], std::move(done));
  }

  Emission &e;
  const Op &op;
  const DotOp &o;
  const Tile &tile;
  WgmmaShape shape;
  llvm::Value *group = nullptr;
  Values leftWords;
};

} // namespace

llvm::Error emitWarpgroupDot(Emission &e, const Op &op, const DotOp &o) {
  return WgmmaDot(e, op, o).run();
}

} // namespace tilewright::emit
