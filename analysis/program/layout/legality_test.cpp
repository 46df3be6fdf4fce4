// ldmatrix, stmatrix, cp.async, TMA, tensor memory: legal, or why not.
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/legality.h"
#include "analysis/program/layout/tensor_memory.h"
#include "analysis/program/layout/testing/random_layouts.h"

using namespace tilewright;
using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

TileDims square(int64_t rows = 128, int64_t columns = 128) {
  return namedDims(std::vector<int64_t>{rows, columns});
}

std::string matrixFault(std::string_view name, unsigned bits, const MatrixAccess &access = {}) {
  TileDims dims = square(128, bits == 4 ? 256 : 128);
  return matrixAccessFault(valueOf(instantiate(name, dims)),
                           valueOf(SharedLayout::tiled(dims, bits, 128)), access);
}

} // namespace

TEST(Legality, OfMatrixAccesses) {
  MatrixAccess transposing{true};
  EXPECT_EQ(matrixFault("wgmma", 16), "");
  EXPECT_EQ(matrixFault("wgmma", 32), "register 0: lanes 0 to 3 do not cover 16 consecutive bytes");
  EXPECT_EQ(matrixFault("wgmma_8bit", 8), "");
  EXPECT_EQ(matrixFault("mma_a_16", 16), "");
  EXPECT_EQ(matrixFault("wgmma_t", 16),
            "register 0: its 2 values are not consecutive in shared memory");
  EXPECT_EQ(matrixFault("tmem_native_2", 16),
            "register 0: lanes 0 to 3 do not cover 16 consecutive bytes");
  EXPECT_EQ(matrixFault("upcast_4x", 4), "");
  EXPECT_EQ(matrixFault("wgmma_t", 16, transposing),
            "register 0: row 0 of the stored matrix is not 16 consecutive, aligned bytes");
  EXPECT_EQ(matrixFault("mma_b_16", 16, transposing), "");
  EXPECT_NE(matrixFault("mma_b_16", 8, transposing).find("elements of 16 bits, these have 8"),
            std::string::npos);
  EXPECT_EQ(matrixFault("wgmma", 16, {false, true, 80}),
            "stmatrix is there from sm_90 on, this is sm_80");
  EXPECT_EQ(matrixFault("wgmma", 16, {false, true, 90}), "");
  // Padding that breaks the rows' alignment.
  std::string fault = matrixAccessFault(valueOf(instantiate("wgmma", square())),
                                        valueOf(SharedLayout::rows(square(), 16, 4)));
  EXPECT_EQ(fault, "register 0: a row of 16 bytes starts at byte 264, no multiple of 16");
  EXPECT_EQ(matrixAccessFault(valueOf(instantiate("wgmma", square())),
                              valueOf(SharedLayout::rows(square(), 16, 8))),
            "");
}

TEST(Legality, OfAsynchronousCopies) {
  auto pieces = [](const SharedLayout &shared, GlobalRows rows) {
    rows.elementBits = shared.elementBits();
    return asyncCopyPieces(shared, rows);
  };
  GlobalRows aligned;
  aligned.strideBytes = {256};
  EXPECT_EQ(pieces(valueOf(SharedLayout::rows(square(), 16)), aligned).bytes, 16);
  EXPECT_EQ(pieces(valueOf(SharedLayout::panels(square(), 16, 128)), aligned).bytes, 16);
  AsyncCopyPieces padded = pieces(valueOf(SharedLayout::rows(square(), 16, 2)), aligned);
  EXPECT_EQ(padded.bytes, 4);
  EXPECT_EQ(padded.reasons,
            (std::vector<std::string>{"16 bytes: a piece of row 1 starts at byte 260 of shared "
                                      "memory, no multiple of 16",
                                      "8 bytes: a piece of row 1 starts at byte 260 of shared "
                                      "memory, no multiple of 8"}));
  GlobalRows odd = aligned;
  odd.strideBytes = {254};
  AsyncCopyPieces none = pieces(valueOf(SharedLayout::rows(square(), 16)), odd);
  EXPECT_EQ(none.bytes, 0);
  EXPECT_EQ(none.reasons.size(), 3u);
  EXPECT_EQ(none.reasons[2], "4 bytes: rows of the tensor are 254 bytes apart, no multiple of 4");
  GlobalRows apart = aligned;
  apart.innerStride = 2;
  EXPECT_EQ(pieces(valueOf(SharedLayout::rows(square(), 16)), apart).bytes, 0);
}

TEST(Legality, OfTensorCopies) {
  auto faults = [](std::vector<int64_t> strides, std::vector<int64_t> box, int64_t bits,
                   int64_t swizzle) {
    TensorCopy copy;
    copy.global.elementBits = bits;
    copy.global.strideBytes = std::move(strides);
    copy.box = std::move(box);
    copy.swizzle = swizzle;
    return tensorCopyFaults(copy);
  };
  using Faults = std::vector<std::string>;
  EXPECT_EQ(faults({8192}, {64, 64}, 16, 128), Faults{});
  EXPECT_EQ(faults({8192}, {64, 128}, 16, 128),
            Faults{"an inner row of 256 bytes is longer than the 128-byte swizzle"});
  EXPECT_EQ(faults({1000}, {64, 24}, 8, 0),
            (Faults{"the stride of dim 0 is 1000 bytes, no multiple of 16",
                    "an inner row of 192 bits is no multiple of 16 bytes"}));
  EXPECT_EQ(faults(std::vector<int64_t>(5, 8192), {1, 1, 1, 1, 8, 64}, 16, 128),
            Faults{"rank 6 is not 1 to 5"});
  EXPECT_EQ(faults({8192}, {512, 64}, 16, 128),
            Faults{"the box has 512 elements along dim 0, not 1 to 256"});
  EXPECT_EQ(faults({8192}, {64, 64}, 16, 48), Faults{"swizzle 48: there are 32, 64 and 128 bytes"});
  EXPECT_EQ(faults({int64_t(1) << 40}, {64, 64}, 16, 0),
            Faults{"the stride of dim 0 is 1099511627776 bytes, not below 2^40"});
}

// The ten pairs of the reference on Mosaic GPU, of 32 bits.
TEST(TensorMemory, PairsAreAtomsOrSayWhyNot) {
  TileDims all = square(128, 64), half = square(64, 64);
  TensorMemoryLayout rows = valueOf(TensorMemoryLayout::rows(all)),
                     halves = valueOf(TensorMemoryLayout::halfLane(half)),
                     collective = valueOf(TensorMemoryLayout::m64Collective(half));
  NestedTiling m64 = *findInCatalogue("m64_collective_32");
  m64.tiles[0][1] = 64;
  m64.tiles[1][1] = 32;
  auto access = [](llvm::Expected<TileLayout> registers, const TensorMemoryLayout &memory) {
    return tensorMemoryAccess(valueOf(std::move(registers)), memory, 32);
  };
  using Atoms = std::vector<std::string>;
  EXPECT_EQ(access(instantiate("tcgen05", all), rows).atoms, Atoms{"16x256b"});
  EXPECT_EQ(access(instantiate("tmem_native_2", all), rows).atoms, Atoms{"32x32b"});
  EXPECT_EQ(access(instantiate("wgmma", half), halves).atoms, Atoms{"16x256b"});
  EXPECT_EQ(access(instantiate(m64, half), collective).atoms, Atoms{"16x256b"});
  EXPECT_EQ(access(instantiate("wgmma", all), rows).reason,
            "warp 0 holds row 64 of tensor memory, it reaches 0 to 31");
  EXPECT_EQ(access(strided(all, 128, 2), rows).reason,
            "warp 0 holds row 32 of tensor memory, it reaches 0 to 31");
  EXPECT_EQ(access(instantiate(m64, half), halves).reason,
            "warp 0 holds row 32 of tensor memory, it reaches 0 to 31");
  EXPECT_EQ(access(strided(half, 128, 2), halves).reason,
            "warp 0 holds row 32 of tensor memory, it reaches 0 to 31");
  EXPECT_EQ(access(instantiate("wgmma", half), collective).reason,
            "warp 0 holds row 64 of tensor memory, it reaches 0 to 31");
  EXPECT_EQ(access(instantiate("tcgen05_t", all), rows).reason,
            "register 0 of warp 0: its lanes are no atom");
}

TEST(TensorMemory, PackedCellsAndColumns) {
  TileDims dims = square(128, 64);
  TensorMemoryLayout packed = valueOf(TensorMemoryLayout::rows(dims, 2));
  EXPECT_EQ(packed.allocatedColumns(), 32);
  EXPECT_EQ(valueOf(TensorMemoryLayout::rows(square(128, 384))).allocatedColumns(), 512);
  EXPECT_TRUE(
      tensorMemoryAccess(valueOf(instantiate("tmem_native_2", dims)), packed, 16).isLegal());
  // Registers of two values are (row, columns 2c and 2c + 1): one cell, but of neighbours.
  TensorMemoryAccess access = tensorMemoryAccess(valueOf(instantiate("tcgen05", dims)), packed, 16);
  EXPECT_EQ(access.reason, "register 0 of warp 0: its lanes are no atom");
  EXPECT_FALSE(tensorMemoryAccess(valueOf(instantiate("tcgen05", dims)), packed, 32).isLegal());
  EXPECT_FALSE(TensorMemoryLayout::rows(square(129, 64)).operator bool());
}
