// Fragments of mma.sync from shared memory.
#include "codegen/emit/emission.h"

#include <algorithm>
#include <bit>

namespace tilewright::emit {

/// ldmatrix takes rows of 16 bytes along k, and of 16-bit elements also across it.
bool MatrixReader::canRead(const Emission &e, BufferId id, const FragmentBlocks &blocks) {
  const Buffer &buffer = e.p[id];
  const BufferPlace &place = e.shared.buffers[id.index];
  bool isKMinor = buffer.order.back() == blocks.k;
  int64_t tall = blocks.isLeft ? 16 : 8, warps = blocks.isLeft ? blocks.r : blocks.c;
  return buffer.order.size() == 2 && (isKMinor || bitWidth(buffer.type) == 16) &&
         bitWidth(buffer.type) >= 8 && bitWidth(buffer.type) <= 32 && place.permutation.span == 1 &&
         (place.swizzle != 0 || place.pitch % 16 == 0) &&
         e.extent(blocks.free) == blocks.count * tall * warps &&
         e.extent(blocks.k) * static_cast<int64_t>(bitWidth(buffer.type)) % 256 == 0 &&
         blocks.r * blocks.c == e.warps;
}

MatrixReader::MatrixReader(Emission &e, BufferId id, Expr step, const FragmentBlocks &blocks)
    : e(e), blocks(blocks), isKMinor(e.p[id].order.back() == blocks.k) {
  e.pending.read(e.shared.regionOf(id));
  // Lane l gives the address of row l mod 8 of matrix l / 8. Matrices in the order of words: of a
  // left operand rows 0, rows 8, then the same further along k; of a right one k, further along k,
  // then the same of the next block.
  Expr inMatrix = e.lane.mod(8), odd = e.lane.floorDiv(8).mod(2), high = e.lane.floorDiv(16);
  bool isLeft = blocks.isLeft;
  Expr across = isLeft ? odd : high, along = isLeft ? high : odd;
  int64_t warps = isLeft ? blocks.r : blocks.c, tall = isLeft ? 16 : 8;
  Expr mine = isLeft ? e.warp.floorDiv(blocks.c) : e.warp.mod(blocks.c);
  Expr row, byte;
  uint64_t bits = 16; // that the byte may have
  if (isKMinor) {
    row = across * 8 + inMatrix + mine * (blocks.count * tall);
    byte = along * 16;
  } else {
    row = along * 8 + inMatrix;
    byte = across * 16 + mine * (blocks.count * tall * 2);
    auto stride = static_cast<uint64_t>(blocks.count * tall * 2), most = uint64_t(warps - 1);
    bool isPower = std::has_single_bit(stride) && std::has_single_bit(most + 1);
    bits = warps == 1 ? bits : isPower ? bits | stride * most : UINT64_MAX;
  }
  auto word = [&](Expr expr) { return e.b.CreateSExtOrTrunc(e.index.index(expr), e.k.i32); };
  address.emplace(e, e.shared.buffers[id.index], slotOffset(e, id, step),
                  SlotAddress::Part{word(row), word(byte), UINT64_MAX, bits, nullptr, 0});
}

std::vector<Values> MatrixReader::words(int64_t step) {
  bool isLeft = blocks.isLeft;
  std::vector<Values> result;
  for (int64_t block = 0; block < blocks.count;) {
    int64_t row = isKMinor ? block * (isLeft ? 16 : 8) : step * 16;
    int64_t byte = isKMinor ? step * 32 : block * (isLeft ? 32 : 16);
    bool isPair = !isLeft && block + 1 < blocks.count;
    Values loaded = e.k.loadMatrix(address->at(row, byte), isLeft || isPair ? 4 : 2, !isKMinor);
    block += isPair ? 2 : 1;
    if (isLeft) {
      result.push_back(loaded);
      continue;
    }
    result.push_back({loaded[0], loaded[1]});
    if (isPair)
      result.push_back({loaded[2], loaded[3]});
  }
  return result;
}

std::optional<Values> readFragment(Emission &e, const ReadOp &o, const HeldLayout &held) {
  bool isLeft = o.layout && o.layout->family == program::LayoutFamily::MmaA;
  bool isRight = o.layout && o.layout->family == program::LayoutFamily::MmaB;
  AxisSet axes = axesOfBuffer(e.p[o.buffer]);
  if ((!isLeft && !isRight) || axes.size() != 2)
    return std::nullopt;
  Expr r = e.p.resolved(o.layout->arguments[0]), c = e.p.resolved(o.layout->arguments[1]);
  if (!r.isConstant() || !c.isConstant())
    return std::nullopt;
  int64_t along = isLeft ? r.constant() : c.constant(), tall = isLeft ? 16 : 8;
  FragmentBlocks blocks{axes[0],      axes[1],      e.extent(axes[0]) / (tall * along),
                        r.constant(), c.constant(), isLeft};
  if (!MatrixReader::canRead(e, o.buffer, blocks))
    return std::nullopt;
  MatrixReader reader(e, o.buffer, o.step, blocks);
  DType type = e.p[o.buffer].type;
  int64_t bits = bitWidth(type), perWord = 32 / bits, rows = isLeft ? 2 : 1;
  int64_t steps = e.extent(blocks.k) * bits / 256;
  Values result(static_cast<size_t>(held.registers()));
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Values> words = reader.words(step);
    for (int64_t block = 0; block < blocks.count; ++block)
      for (int64_t half = 0; half < 2; ++half)
        for (int64_t row = 0; row < rows; ++row) {
          llvm::Value *word =
              words[static_cast<size_t>(block)][static_cast<size_t>(half * rows + row)];
          word = e.b.CreateBitCast(word, vectorType(e, type, static_cast<unsigned>(perWord)));
          Values elements = unpacked(e, type, word, static_cast<unsigned>(perWord));
          int64_t first = perWord * (row + rows * (step * 2 + half + steps * 2 * block));
          std::copy(elements.begin(), elements.end(), result.begin() + first);
        }
  }
  return result;
}

} // namespace tilewright::emit
