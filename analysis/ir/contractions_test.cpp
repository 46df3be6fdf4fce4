// scaled-dot, ragged-dot and top-k against the same made of plainer ops.
#include "analysis/import/hlo_text.h"
#include "analysis/ir/contraction_dims.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/verifier.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

Module parse(const std::string &body) {
  std::string text = "HloModule test\nENTRY main {\n" + body + "\n}\n";
  llvm::Expected<Module> module = parseHlo(std::make_shared<SourceBuffer>("test", text));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  if (llvm::Error error = verify(*module))
    ADD_FAILURE() << takeDiag(std::move(error)).str();
  return std::move(*module);
}

std::vector<Tensor> run(const Module &module, EvalOptions options = {.roundEachStep = false}) {
  std::vector<Tensor> arguments = fillArguments(module, module.entryId, 7);
  llvm::Expected<std::vector<Tensor>> results =
      evaluate(module, module.entryId, arguments, options);
  if (!results) {
    ADD_FAILURE() << takeDiag(results.takeError()).str();
    return {};
  }
  return std::move(*results);
}

/// The two results of the root must be the same numbers.
void expectSame(const std::string &body) {
  SCOPED_TRACE(body);
  std::vector<Tensor> results = run(parse(body));
  ASSERT_EQ(results.size(), 2u);
  ASSERT_EQ(results[0].size(), results[1].size());
  for (int64_t i = 0; i < results[0].size(); ++i)
    EXPECT_NEAR(results[0].asDouble(i), results[1].asDouble(i), 1e-12) << i;
}

} // namespace

TEST(Contractions, ScaleBlocks) {
  EXPECT_EQ(scaleBlock(10, 2), 5);
  EXPECT_EQ(scaleBlock(8, 8), 1);
  EXPECT_EQ(scaleBlock(70, 3), 32); // two whole blocks and one of 6
  EXPECT_EQ(scaleBlock(33, 3), 11); // whole blocks where they fit
  EXPECT_EQ(scaleBlock(100, 7), 16);
  EXPECT_EQ(scaleBlock(0, 0), 1);
  EXPECT_EQ(scaleBlock(7, 8), std::nullopt);
  EXPECT_EQ(scaleBlock(0, 1), std::nullopt);
  EXPECT_EQ(scaleBlock(7, 0), std::nullopt);
  EXPECT_EQ(scaleBlock(100, 33), std::nullopt); // no block size makes 33
  EXPECT_EQ(scaleBlock(INT64_MAX, INT64_MAX - 1), std::nullopt);
}

TEST(Contractions, ScaledDotIsADotOfScaledOperands) {
  expectSame("a = f32[2,10] parameter(0)\n b = f32[10,3] parameter(1)\n"
             "sa = f32[2,2] parameter(2)\n sb = f32[] parameter(3)\n"
             "x = f32[2,3] scaled-dot(a, b, sa, sb), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}\n"
             "wide = f32[2,2,5] broadcast(sa), dimensions={0,1}\n"
             "flat = f32[2,10] reshape(wide)\n c = f32[2,10] multiply(a, flat)\n"
             "all = f32[10,3] broadcast(sb), dimensions={}\n d = f32[10,3] multiply(b, all)\n"
             "y = f32[2,3] dot(c, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
             "ROOT t = (f32[2,3], f32[2,3]) tuple(x, y)");
}

TEST(Contractions, RaggedDotIsADotForEachGroup) {
  std::string plain = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  // Rows 0 and 1 meet matrix 0, none matrix 1, row 2 matrix 2; row 3 is in no group.
  expectSame("a = f32[4,3] parameter(0)\n b = f32[3,3,2] parameter(1)\n"
             "n = s32[3] constant({2, 0, 1})\n z = f32[] constant(0)\n"
             "x = f32[4,2] ragged-dot(a, b, n), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}\n"
             "a0 = f32[2,3] slice(a), slice={[0:2], [0:3]}\n"
             "a2 = f32[1,3] slice(a), slice={[2:3], [0:3]}\n"
             "b0 = f32[1,3,2] slice(b), slice={[0:1], [0:3], [0:2]}\n"
             "b2 = f32[1,3,2] slice(b), slice={[2:3], [0:3], [0:2]}\n"
             "m0 = f32[3,2] reshape(b0)\n m2 = f32[3,2] reshape(b2)\n"
             "p = f32[2,2] dot(a0, m0), " +
             plain + "\n q = f32[1,2] dot(a2, m2), " + plain +
             "\n none = f32[1,2] broadcast(z), dimensions={}\n"
             "y = f32[4,2] concatenate(p, q, none), dimensions={0}\n"
             "ROOT t = (f32[4,2], f32[4,2]) tuple(x, y)");
  expectSame("a = f32[2,5] parameter(0)\n b = f32[5,3] parameter(1)\n"
             "n = s32[2] constant({3, 9})\n"
             "x = f32[2,2,3] ragged-dot(a, b, n), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}, lhs_ragged_dims={1}, rhs_group_dims={}\n"
             "a0 = f32[2,3] slice(a), slice={[0:2], [0:3]}\n"
             "a1 = f32[2,2] slice(a), slice={[0:2], [3:5]}\n"
             "b0 = f32[3,3] slice(b), slice={[0:3], [0:3]}\n"
             "b1 = f32[2,3] slice(b), slice={[3:5], [0:3]}\n p = f32[2,3] dot(a0, b0), " +
             plain + "\n q = f32[2,3] dot(a1, b1), " + plain +
             "\n c = f32[4,3] concatenate(p, q), dimensions={0}\n y = f32[2,2,3] reshape(c)\n"
             "ROOT t = (f32[2,2,3], f32[2,2,3]) tuple(x, y)");
}

TEST(Contractions, RaggedDotRefusesWhatDoesNotFit) {
  for (const char *dims : {"", ", lhs_ragged_dims={7}, rhs_group_dims={0}", ", lhs_ragged_dims={0}",
                           ", lhs_ragged_dims={0}, rhs_group_dims={1}"}) {
    Module module = parse(std::string("a = f32[4,3] parameter(0)\n b = f32[3,3,2] parameter(1)\n"
                                      "n = s32[3] constant({2, 0, 1})\n ROOT x = f32[4,2] "
                                      "ragged-dot(a, b, n), lhs_contracting_dims={1}, "
                                      "rhs_contracting_dims={1}") +
                          dims);
    std::vector<Tensor> arguments = fillArguments(module, module.entryId, 7);
    llvm::Expected<std::vector<Tensor>> results = evaluate(module, module.entryId, arguments);
    ASSERT_FALSE(static_cast<bool>(results)) << dims;
    EXPECT_EQ(takeDiag(results.takeError()).cls, DiagClass::BadInput);
  }
}

TEST(Contractions, TopKTakesTheLargestInOrder) {
  std::vector<Tensor> results =
      run(parse("x = f32[2,5] constant({{1, 4, nan, 4, -2}, {0, -1, -2, -3, -4}})\n"
                "a = (f32[2,3], s32[2,3]) topk(x), k=3, largest=true\n"
                "b = (f32[2,2], s32[2,2]) topk(x), k=2, largest=false\n"
                "ai = s32[2,3] get-tuple-element(a), index=1\n"
                "bi = s32[2,2] get-tuple-element(b), index=1\n"
                "ROOT t = (s32[2,3], s32[2,2]) tuple(ai, bi)"));
  ASSERT_EQ(results.size(), 2u);
  std::vector<int64_t> largest, smallest;
  for (int64_t i = 0; i < 6; ++i)
    largest.push_back(results[0].integer(i));
  for (int64_t i = 0; i < 4; ++i)
    smallest.push_back(results[1].integer(i));
  EXPECT_EQ(largest, (std::vector<int64_t>{2, 1, 3, 0, 1, 2}));
  EXPECT_EQ(smallest, (std::vector<int64_t>{4, 0, 4, 3}));
}
