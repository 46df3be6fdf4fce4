// Facts of the reference on Mosaic GPU's layout inference (docs/layout_facts.md has the list): what
// is inferred here for programs of which it says what is inferred there.
#include "analysis/program/inference/explain.h"
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/images.h"
#include "analysis/program/layout/testing/random_layouts.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"

using namespace tilewright;
using namespace tilewright::inference;
using tilewright::layout::namedDims;
using tilewright::layout::testing::valueOf;

namespace {

/// The answer and what it says of values.
struct FactProgram {
  program::Program program;
  std::unique_ptr<LayoutProblem> problem;
  InferenceAnswer answer;

  explicit FactProgram(const std::string &text, const std::vector<LayoutWish> &wishes = {},
                       bool mayConvert = true)
      : program(valueOf(program::substituteSizes(valueOf(program::parseProgram(text)), {}))) {
    InferenceOptions options;
    options.wishes = wishes;
    options.mayConvert = mayConvert;
    problem = valueOf(LayoutProblem::make(program, options));
    answer = inferLayouts(*problem);
  }
  bool isFound() const { return answer.outcome == InferenceAnswer::Outcome::Found; }
  const NodeLabel &operator[](const std::string &name) const {
    for (const InferredNode &node : answer.layouts.nodes)
      if (problem->graph().nodes[node.node].name == name)
        return node.label;
    ADD_FAILURE() << name;
    return answer.layouts.nodes.front().label;
  }
};

std::string product(const std::string &types, const std::string &swizzles) {
  const std::string a = types.substr(0, types.find(' ')), b = types.substr(types.find(' ') + 1);
  const std::string left = swizzles.substr(0, swizzles.find(' '));
  const std::string right = swizzles.substr(swizzles.find(' ') + 1);
  return fmt::format("kernel k(a: {0}[64, 64], b: {1}[64, 64]) -> c: f32[64, 64]\nwarps 4\n"
                     "axis i < 64, j < 64, k < 64\n"
                     "shared A: {0}[i,k] swizzle {2}\nshared B: {1}[j,k] swizzle {3}\n"
                     "copy A <- a[i, k]\ncopy B <- b[j, k]\n"
                     "s = dot(A, B) over k wgmma\nstore c[i, j] = s\n",
                     a, b, left, right);
}

} // namespace

/// 2, 3: one value for a tile is a value without axes: nothing is laid out, nothing refuses.
TEST(LayoutFacts, ScalarsHaveNoLayoutToContradict) {
  const std::string head = "kernel k(x: f32[64, 64]) -> z: f32[64, 64]\nwarps 4\n"
                           "axis i < 64, j < 64\na = load x[i, j]\n";
  FactProgram sum(head + "b = map a + 1\nc = relayout b @ wgmma(1, 1)\nstore z[i, j] = c\n");
  EXPECT_TRUE(sum.isFound());
  FactProgram index(head + "b = map a + f32(i + j)\nstore z[i, j] = b\n",
                    {{"b", "@ wgmma(1, 1)", true}});
  EXPECT_TRUE(index.isFound()); // refused there
  FactProgram constant("kernel k() -> z: f32[64, 64]\nwarps 4\naxis i < 64, j < 64\n"
                       "a = full 1 f32[i,j]\nstore z[i, j] = a\n",
                       {{"a", "@ wgmma(1, 1)", true}});
  EXPECT_TRUE(constant.isFound());
}

/// 4, 5: reductions of an accumulator live in four lanes a row, and go back without conversions.
TEST(LayoutFacts, RowSumsGoBackAsTheyAre) {
  FactProgram rows("kernel k(x: f32[128, 128]) -> z: f32[128, 128]\nwarps 4\n"
                   "axis i < 128, j < 128\na = load x[i, j]\ns = reduce add a over j\n"
                   "b = map a * s\nstore z[i, j] = b\n",
                   {{"a", "@ wgmma(1, 1)", true}, {"b", "@ wgmma(1, 1)", true}}, false);
  ASSERT_TRUE(rows.isFound());
  EXPECT_TRUE(rows.answer.layouts.moves.empty());
  const LayoutTable &table = rows.problem->table();
  const layout::TileLayout tile =
      valueOf(layout::instantiate("wgmma", table[rows["a"].result.id].layout.dims()));
  EXPECT_EQ(table[rows["s"].result.id].layout, layout::reduced(tile, std::vector<size_t>{1}));
}

/// 9: operands of wgmma are in panels of 128 bytes; 64 are taken, too, and both need not agree.
TEST(LayoutFacts, OperandsOfWgmmaAreSwizzled) {
  for (const char *swizzles : {"128 128", "64 64", "128 64"}) {
    FactProgram given(product("bf16 bf16", swizzles));
    ASSERT_TRUE(given.isFound());
    priceGiven(*given.problem, given.answer);
    EXPECT_TRUE(given.answer.given) << swizzles;
    EXPECT_NE(given["s"].text.find("swizzle"), std::string::npos);
  }
}

/// 10: eight-bit operands from registers are the layout wgmma_8bit.
TEST(LayoutFacts, EightBitOperandsInRegisters) {
  FactProgram dot("kernel k(a: f8e4m3fn[64, 64], b: f8e4m3fn[64, 64]) -> c: f32[64, 64]\nwarps 4\n"
                  "axis i < 64, j < 64, k < 64\nshared B: f8e4m3fn[j,k] swizzle 64\n"
                  "v = load a[i, k]\ncopy B <- b[j, k]\n"
                  "s = dot(v, B) over k wgmma\nstore c[i, j] = s\n");
  ASSERT_TRUE(dot.isFound());
  const std::vector<GraphNode> &nodes = dot.problem->graph().nodes;
  size_t fragments = 0;
  for (uint32_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].kind == NodeKind::Dot)
      for (const NodeLabel &label : dot.problem->labelsOf(n))
        if (label.needs[0].kind == Held::Kind::Layout) {
          const layout::TileLayout &held = dot.problem->table()[label.needs[0].id].layout;
          EXPECT_EQ(held, valueOf(layout::instantiate("wgmma_8bit", held.dims())));
          ++fragments;
        }
  EXPECT_GT(fragments, 0u);
}

/// 26: conversions of any width are priced, none is refused.
TEST(LayoutFacts, ConversionsOfEveryWidth) {
  for (const char *type : {"s8", "bf16", "f32"})
    for (const char *from : {"upcast_4x", "upcast_2x"}) {
      FactProgram cast(fmt::format("kernel k(x: {0}[64, 64]) -> z: {0}[64, 64]\nwarps 4\n"
                                   "axis i < 64, j < 64\na = load x[i, j]\n"
                                   "b = map a + a\nstore z[i, j] = b\n",
                                   type),
                       {{"a", from, true}, {"b", "wgmma", true}});
      EXPECT_TRUE(cast.isFound()) << type << " from " << from;
    }
}

/// 28: a body of many ops does not run out of effort.
TEST(LayoutFacts, LongBodiesAreDecided) {
  std::string text = "kernel k(x: f32[64, 128]) -> z: f32[64, 128]\nwarps 4\n"
                     "axis i < 64, j < 128\na0 = load x[i, j]\n";
  for (int n = 0; n < 40; ++n)
    text += fmt::format("a{} = map tanh(a{} * 0.5) + a{}\n", n + 1, n, n / 2);
  FactProgram body(text + "store z[i, j] = a40\n");
  EXPECT_TRUE(body.isFound());
  EXPECT_EQ(body.answer.layouts.cost, body.answer.layouts.floor);
}

/// 47: registers of an accumulator; 256 are more than a thread has.
TEST(LayoutFacts, RegistersOfAccumulators) {
  for (auto [rows, columns, registers] :
       {std::array{64, 256, 128}, std::array{128, 128, 128}, std::array{256, 128, 256}}) {
    FactProgram held(fmt::format("kernel k(x: f32[{0}, {1}]) -> z: f32[{0}, {1}]\nwarps 4\n"
                                 "axis i < {0}, j < {1}\na = load x[i, j]\nstore z[i, j] = a\n",
                                 rows, columns));
    if (registers < 256) {
      ASSERT_TRUE(held.isFound());
      EXPECT_EQ(held["a"].registers, static_cast<uint32_t>(registers));
    } else {
      EXPECT_EQ(held.answer.outcome, InferenceAnswer::Outcome::Impossible);
    }
  }
}
