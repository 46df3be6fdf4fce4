// SharedLayout: where the elements of a tile lie in shared memory.
//
// Digits take an element's coordinates to a byte: along each dim a coordinate is read in mixed
// radix, fastest first, and digit (extent, stride) adds value·stride. That is tiling and padding
// of rows. Then come two kinds of xor, so that lanes meet other banks:
// - a *swizzle* combines bits of the address with others of it. That of 128 bytes takes bits 4 to 6
//   with bits 7 to 9: 16-byte chunk c of line r lies in chunk c xor (r mod 8). It acts within a
//   panel, of which there may be several one behind the other;
// - a *permutation* of chunks depends on the coordinate along one dim.
// Running example, [i: 64, j: 64] of 16 bits with swizzle 128: element (i, j) lies at byte
// 128·i + 2·j xor 16·(i mod 8).
#pragma once

#include "analysis/program/layout/permutation.h"
#include "analysis/program/layout/tile_layout.h"

namespace tilewright::layout {

class SharedLayout {
public:
  /// More than any CTA has memory for.
  static constexpr int64_t maxElements = int64_t(1) << 22;

  /// Rows of the last dim, one behind the other, each with `padElements` behind it. BadInput: a
  /// swizzle other than 0, 32, 64, 128; Unsupported: one whose width does not divide the rows.
  static llvm::Expected<SharedLayout> rows(TileDims dims, unsigned elementBits,
                                           int64_t padElements = 0, int64_t swizzle = 0);
  /// Tiles of 8 rows of `swizzle` bytes (16 without one), row-major, as matrix descriptors and TMA
  /// have them; `isTransposed`: of the tile's transpose. Of the last two dims; others are slower.
  static llvm::Expected<SharedLayout> tiled(TileDims dims, unsigned elementBits, int64_t swizzle,
                                            bool isTransposed = false);
  /// Panels of `swizzle` bytes of each row, one behind the other. `isOfWords`: the highest of the
  /// xor's bits becomes the lowest, so that eight words of each of four rows meet no banks.
  static llvm::Expected<SharedLayout> panels(TileDims dims, unsigned elementBits, int64_t swizzle,
                                             bool isOfWords = false);
  /// Rows whose chunks are permuted by the coordinate along the dim before the last.
  static llvm::Expected<SharedLayout> permuted(TileDims dims, unsigned elementBits,
                                               int64_t padElements, const Permutation &permutation);

  const TileDims &dims() const { return tile; }
  unsigned elementBits() const { return bits; }
  /// The first bit of an element; one number a dim.
  int64_t bitAddress(std::span<const int64_t> at) const;
  int64_t byteAddress(std::span<const int64_t> at) const { return bitAddress(at) / 8; }
  /// Bytes from the first to behind the last element.
  int64_t bytes() const;
  /// Two elements that share bits, row-major numbers; nothing where each has bits of its own.
  std::optional<std::pair<int64_t, int64_t>> overlap() const;
  /// The byte as sums, quotients and remainders of the coordinates, without xor: for proofs and for
  /// composition with other maps. Unsupported with a permutation, or elements of less than a byte.
  llvm::Expected<IndexMap> toIndexMap(ExprContext &context) const;
  std::string str() const; ///< "tiles of 8 x 64, swizzle 128"
  bool operator==(const SharedLayout &) const = default;

private:
  struct AddressDigit {
    int64_t extent, stride; ///< in bits
    bool isPanel = false;   ///< added behind the xor
    bool operator==(const AddressDigit &) const = default;
  };
  /// Address bit `to` is combined with bit `from`; bytes.
  struct BitXor {
    unsigned from, to;
    bool operator==(const BitXor &) const = default;
  };

  SharedLayout(TileDims dims, unsigned bits);
  static llvm::Error checkSwizzle(int64_t swizzle, int64_t rowBits);
  static llvm::Error checkSize(const TileDims &dims, int64_t padElements);
  void swizzleBy(int64_t width, bool isOfWords);
  /// Digits of the dims in front of the last `inner`, row-major above `stride`.
  void addOuter(size_t inner, int64_t stride);

  TileDims tile;
  unsigned bits;
  std::vector<std::vector<AddressDigit>> digits; ///< by dim, fastest first
  std::vector<BitXor> xors;
  Permutation permutation;
  std::string words;
};

} // namespace tilewright::layout
