#include "analysis/ir/graph_algorithms.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright;

namespace {
Op makeOp(std::string name, std::vector<OpId> operands) {
  Op op;
  op.name = std::move(name);
  op.opcode = operands.empty() ? Opcode::Parameter : Opcode::Add;
  op.shape = Shape::tensor(DType::F32, {4});
  op.operands = std::move(operands);
  return op;
}
} // namespace

TEST(DType, SpellingsRoundTripAndBitsAreExact) {
  for (std::string_view text : {"pred", "s4", "u4", "f4e2m1fn", "f8e4m3fn", "f8e5m2", "f8e8m0fnu",
                                "bf16", "f16", "f32", "f64", "c64", "token"})
    EXPECT_EQ(toString(*parseDType(text)), text);
  EXPECT_FALSE(parseDType("f33"));
  EXPECT_EQ(bitWidth(DType::S4), 4u);
  EXPECT_EQ(*packedBytes(DType::S4, 3), 2);
  EXPECT_EQ(*packedBytes(DType::F4E2M1FN, 8), 4);
  EXPECT_FALSE(packedBytes(DType::F64, INT64_MAX / 8));
}

TEST(Shape, CountsBytesAndOverflow) {
  EXPECT_EQ(*Shape::tensor(DType::BF16, {3, 5}).byteSize(), 30);
  EXPECT_EQ(*Shape::tensor(DType::F32, {}).byteSize(), 4);
  int64_t big = int64_t(1) << 40;
  EXPECT_FALSE(Shape::tensor(DType::F32, {big, big}).elementCount());
  EXPECT_EQ(*Shape::tensor(DType::F32, {big, big, 0}).elementCount(), 0);
  EXPECT_EQ(
      *Shape::tuple({Shape::tensor(DType::F32, {2}), Shape::tensor(DType::S8, {3})}).byteSize(),
      11);
}

TEST(Shape, Prints) {
  Shape shape = Shape::tensor(DType::BF16, {1, 2048});
  shape.layout = Layout{{1, 0}, "T(8,128)S(5)"};
  EXPECT_EQ(shape.str(), "bf16[1,2048]{1,0:T(8,128)S(5)}");
  shape.dynamic = {false, true};
  EXPECT_EQ(shape.str(false), "bf16[1,<=2048]");
  EXPECT_EQ(Shape::tuple({shape, Shape::tensor(DType::S32, {})}).str(false),
            "(bf16[1,<=2048], s32[])");
}

TEST(Opcode, RoundTrips) {
  EXPECT_EQ(*parseOpcode("dynamic-update-slice"), Opcode::DynamicUpdateSlice);
  EXPECT_EQ(toString(Opcode::Exp), "exponential");
  EXPECT_FALSE(parseOpcode("no-such-op"));
  EXPECT_EQ(opClass(Opcode::Sort), OpClass::Opaque);
}

TEST(Graph, UsersAndParameters) {
  Graph graph("main");
  OpId a = graph.add(makeOp("a", {}));
  OpId sum = graph.add(makeOp("sum", {a, a}));
  EXPECT_EQ(graph.find("sum"), sum);
  EXPECT_FALSE(graph.find("none").isValid());
  EXPECT_EQ(graph.users()[a.index], std::vector<OpId>{sum});
  EXPECT_EQ(graph.parameters(), std::vector<OpId>{a});
}

// Brute force: a set is convex iff no op outside it is both reachable from it and reaches it.
TEST(GraphAlgorithms, ConvexityAgreesWithTransitiveClosure) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Graph graph("g");
    const uint32_t n = 9;
    std::vector<std::vector<bool>> reach(n, std::vector<bool>(n));
    for (uint32_t i = 0; i < n; ++i) {
      std::vector<OpId> operands;
      for (uint32_t j = 0; j < i; ++j)
        if (random() % 4 == 0)
          operands.push_back(OpId{j});
      for (OpId operand : operands)
        for (uint32_t k = 0; k < n; ++k)
          if (k == operand.index || reach[k][operand.index])
            reach[k][i] = true;
      graph.add(makeOp("v" + std::to_string(i), operands));
    }
    std::vector<OpId> set;
    std::vector<bool> inSet(n);
    for (uint32_t i = 0; i < n; ++i)
      if (random() % 2) {
        set.push_back(OpId{i});
        inSet[i] = true;
      }
    bool expected = true;
    for (uint32_t v = 0; v < n; ++v)
      if (!inSet[v])
        for (OpId a : set)
          for (OpId b : set)
            if (reach[a.index][v] && reach[v][b.index])
              expected = false;
    EXPECT_EQ(isConvex(graph, set), expected);
  }
}

TEST(GraphAlgorithms, OrdersTopologicallySmallestFirstOrFindsTheCycle) {
  EXPECT_EQ(topologicalOrder(4, {{3, 1}, {1, 0}}), (std::vector<int>{2, 3, 1, 0}));
  EXPECT_EQ(topologicalOrder(3, {}), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(topologicalOrder(3, {{0, 1}, {1, 2}, {2, 0}}).empty());
}
