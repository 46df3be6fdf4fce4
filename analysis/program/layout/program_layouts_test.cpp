// Layouts by text, pictures, and what is said of a whole program's layouts.
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/picture.h"
#include "analysis/program/layout/program_layouts.h"
#include "analysis/program/layout/testing/random_layouts.h"
#include "analysis/program/layout_text.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"

using namespace tilewright;
using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

program::Program programOf(std::string text, const program::SizeValues &sizes = {}) {
  program::Program read = valueOf(program::parseProgram(std::move(text)));
  return valueOf(program::substituteSizes(read, sizes));
}

/// Axes i, j to read layouts for.
const char *tileText = "kernel k(a: f32[64, 32]) -> c: f32[64, 32]\n"
                       "axis i < 64, j < 32\n"
                       "x = load a[i, j] @ flat(4)\n"
                       "store c[i, j] = x\n";

std::string readError(const std::string &text) {
  llvm::Expected<program::LayoutSpec> spec =
      program::parseLayoutSpec(programOf(tileText), std::make_shared<SourceBuffer>("layout", text));
  return spec ? std::string("fine") : takeDiag(spec.takeError()).str();
}

} // namespace

TEST(LayoutText, IsReadByItself) {
  program::Program p = programOf(tileText);
  for (std::string text : {"@ flat(4)", "@ across(2) of j,i", "@ mma(2, 2)", "@ rows(4, 8)"}) {
    program::LayoutSpec spec =
        valueOf(program::parseLayoutSpec(p, std::make_shared<SourceBuffer>("layout", text)));
    program::AxisSet axes = {program::AxisId{0}, program::AxisId{1}};
    TileLayout layout = valueOf(tileLayoutOf(p, p.layoutFor(spec, axes, DType::F32, {}), axes));
    EXPECT_EQ(layout.fault(), "") << text;
    EXPECT_EQ(layout.threads(), 128) << text;
  }
}

TEST(LayoutText, ErrorsHaveAPlace) {
  EXPECT_NE(readError("flat(4)").find("layout:1:1: error: expected '@' and a layout"),
            std::string::npos);
  EXPECT_NE(readError("@ flt(4)").find("layout:1:3: error: expected a layout: flat"),
            std::string::npos);
  EXPECT_NE(readError("@ mma(2)").find("mma takes 2 numbers, not 1"), std::string::npos);
  EXPECT_NE(readError("@ flat(4) of k").find("layout:1:14"), std::string::npos);
  EXPECT_NE(readError("@ flat(4) and more").find("error: expected the line's end"),
            std::string::npos);
  EXPECT_NE(readError("@ flat(N)").find("takes numbers"), std::string::npos);
  EXPECT_NE(readError("@ flat(0)").find("of at least 1"), std::string::npos);
  EXPECT_NE(readError("@ like x").find("error"), std::string::npos);
  EXPECT_NE(readError("").find("error"), std::string::npos);
}

TEST(Picture, OfAnAccumulator) {
  TileLayout layout = valueOf(instantiate("wgmma", namedDims(std::vector<int64_t>{64, 16})));
  EXPECT_EQ(textPicture(layout, {2, 4}), "i\\j    0    1    2    3\n"
                                         "  0 t0.0 t0.1 t1.0 t1.1\n"
                                         "  1 t4.0 t4.1 t5.0 t5.1\n"
                                         "2 x 4 of 64 x 16 elements\n");
  TileLayout row = valueOf(instantiate("wgmma_row", namedDims(std::vector<int64_t>{64})));
  EXPECT_EQ(textPicture(row, {8, 3}), "i    0    1    2\n"
                                      "0 t0.0 t4.0 t8.0\n"
                                      "1 x 3 of 1 x 64 elements\n");
  std::string svg = svgPicture(layout, {2, 4});
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_NE(svg.find(">t5.1</text>"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

TEST(Picture, OfBanks) {
  SharedLayout shared =
      valueOf(SharedLayout::panels(namedDims(std::vector<int64_t>{16, 64}), 16, 128));
  EXPECT_EQ(textPicture(shared, {3, 2}), "i\\j 0 1\n"
                                         "  0 0 0\n"
                                         "  1 4 4\n"
                                         "  2 8 8\n"
                                         "3 x 2 of 16 x 64 elements\n");
}

TEST(ProgramLayouts, OfATransposition) {
  program::Program p = programOf("kernel t(a: bf16[64, 64]) -> c: bf16[64, 64]\n"
                                 "axis i < 64, j < 64\n"
                                 "shared S: bf16[i,j]\n"
                                 "x = load a[i, j] @ flat(8)\n"
                                 "write S <- x\n"
                                 "y = read S @ across(1)\n"
                                 "store c[j, i] = y\n");
  ProgramLayouts layouts = valueOf(layoutsOf(p));
  ASSERT_EQ(layouts.values.size(), 2u);
  EXPECT_EQ(layouts.values[0].name, "x");
  EXPECT_EQ(layouts.values[0].layout.registers(), 32);
  ASSERT_EQ(layouts.shared.size(), 2u);
  EXPECT_EQ(layouts.shared[0].way, "write");
  EXPECT_EQ(layouts.shared[0].access->bytesPerLane, 16);
  EXPECT_EQ(layouts.shared[0].access->kind, SharedAccess::Kind::Free);
  // Lanes of a column are rows of 128 bytes: all in one bank.
  EXPECT_EQ(layouts.shared[1].access->degree, 32);
  EXPECT_EQ(layouts.shared[1].access->witness, std::pair(0, 1));
  ASSERT_EQ(layouts.global.size(), 2u);
  EXPECT_EQ(layouts.global[0].bytesPerLane, 16);
  EXPECT_EQ(layouts.global[0].sectors, 256);
  EXPECT_EQ(layouts.global[0].leastSectors, 256);
  EXPECT_EQ(layouts.global[1].bytesPerLane, 2);
  EXPECT_EQ(layouts.global[1].sectors, layouts.global[1].leastSectors);
}

TEST(ProgramLayouts, OfAProductByMmaSync) {
  program::Program p = programOf("kernel g(a: bf16[M, K], b: bf16[K, N]) -> c: bf16[M, N]\n"
                                 "axis i < 64, j < 64, k < 64 at 64 * t of K\n"
                                 "ring A: bf16[i,k] x 2 swizzle 128\n"
                                 "ring B: bf16[k,j] x 2\n"
                                 "acc = full 0 f32[i,j] @ mma(2, 2)\n"
                                 "for t < cdiv(K, 64) ahead 1\n"
                                 "  issue\n"
                                 "    copy A <- a[i, k]\n"
                                 "    copy B <- b[k, j]\n"
                                 "  acc += dot(A, B) over k mma.sync\n"
                                 "store c[i, j] = acc\n",
                                 {{"M", 64}, {"N", 64}, {"K", 128}});
  ProgramLayouts layouts = valueOf(layoutsOf(p));
  ASSERT_EQ(layouts.shared.size(), 2u);
  EXPECT_EQ(layouts.shared[0].way, "ldmatrix");
  EXPECT_EQ(layouts.shared[0].access->degree, 1);
  EXPECT_EQ(layouts.shared[1].way, "ldmatrix.trans");
  EXPECT_EQ(layouts.shared[1].access->degree, 8); // rows of 128 bytes without a swizzle
  ASSERT_EQ(layouts.copies.size(), 2u);
  EXPECT_EQ(layouts.copies[0].bytes, 16);
}

TEST(ProgramLayouts, NeedNumbers) {
  program::Program p = valueOf(program::parseProgram("kernel k(a: f32[M]) -> c: f32[M]\n"
                                                     "axis i < M\n"
                                                     "x = load a[i] @ flat(1)\n"
                                                     "store c[i] = x\n"));
  llvm::Expected<ProgramLayouts> layouts = layoutsOf(p);
  ASSERT_FALSE(bool(layouts));
  EXPECT_EQ(takeDiag(layouts.takeError()).message, "size M has no number: --let M=NUMBER");
}
