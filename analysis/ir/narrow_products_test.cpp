#include "analysis/import/hlo_text.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/narrow_products.h"
#include "analysis/ir/verifier.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

Module parsed(const std::string &entry) {
  return llvm::cantFail(parseHlo(
      std::make_shared<SourceBuffer>("test", "HloModule m\nENTRY main {\n" + entry + "}\n")));
}

size_t narrowDots(const Module &module) {
  size_t count = 0;
  for (const Op &op : module.entry().all())
    count += op.opcode == Opcode::Dot &&
             bitWidth(module.entry()[op.operands[0]].shape.dtype) == 8 &&
             bitWidth(module.entry()[op.operands[1]].shape.dtype) == 8;
  return count;
}

/// The exact results of both modules; equal as nothing but roundings may differ.
void expectSameMaths(const Module &before, const Module &after) {
  EXPECT_FALSE(static_cast<bool>(verify(after)));
  EvalOptions exact;
  exact.roundEachStep = false;
  const std::vector<Tensor> arguments = fillArguments(before, before.entryId, 1);
  const Tensor a = llvm::cantFail(evaluate(before, before.entryId, arguments, exact))[0];
  const Tensor b = llvm::cantFail(evaluate(after, after.entryId, arguments, exact))[0];
  ASSERT_TRUE(a.shape().sameDimsAndType(b.shape()));
  for (int64_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a.real(i), b.real(i), 1e-12);
}

constexpr const char *parameters = "a = f8e4m3fn[4,8] parameter(0)\nb = f8e5m2[6,8] parameter(1)\n"
                                   "s = bf16[] parameter(2)\nt = f32[] parameter(3)\n";

std::string dot(const std::string &type, const std::string &lhs, const std::string &rhs) {
  return "ROOT d = " + type + "[4,6] dot(" + lhs + ", " + rhs +
         "), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n";
}

} // namespace

TEST(NarrowProducts, FactorsMoveBehindTheProduct) {
  for (const char *type : {"bf16", "f32"}) {
    const std::string t(type);
    const std::string scalar = t == "f32" ? "t" : "s";
    const Module before = parsed(
        parameters + ("ac = " + t + "[4,8] convert(a)\nbc = " + t + "[6,8] convert(b)\n") +
        "sa = " + t + "[4,8] broadcast(" + scalar + "), dimensions={}\nsb = " + t +
        "[6,8] broadcast(" + scalar + "), dimensions={}\nas = " + t + "[4,8] multiply(ac, sa)\n" +
        "bs = " + t + "[6,8] multiply(sb, bc)\n" + dot(t, "as", "bs"));
    const Module after = withNarrowProducts(before);
    EXPECT_EQ(narrowDots(after), 1u);
    EXPECT_EQ(after.entry()[after.entry().root()].name, "d");
    expectSameMaths(before, after);
  }
}

TEST(NarrowProducts, OneFactorOrNone) {
  const Module one = parsed(std::string(parameters) +
                            "ac = bf16[4,8] convert(a)\nbc = bf16[6,8] convert(b)\n"
                            "sa = bf16[4,8] broadcast(s), dimensions={}\n"
                            "as = bf16[4,8] multiply(ac, sa)\n" +
                            dot("bf16", "as", "bc"));
  const Module none =
      parsed(std::string(parameters) + "ac = f32[4,8] convert(a)\nbc = f32[6,8] convert(b)\n" +
             dot("f32", "ac", "bc"));
  for (const Module &before : {one, none}) {
    const Module after = withNarrowProducts(before);
    EXPECT_EQ(narrowDots(after), 1u);
    expectSameMaths(before, after);
  }
}

// A factor for each row, an operand of another type, something else than a factor.
TEST(NarrowProducts, OthersAreLeftAlone) {
  const std::string wide = "bc = bf16[6,8] convert(b)\n";
  for (const std::string &text :
       {std::string(
            "r = bf16[4] parameter(4)\nac = bf16[4,8] convert(a)\n"
            "sa = bf16[4,8] broadcast(r), dimensions={0}\nas = bf16[4,8] multiply(ac, sa)\n"),
        std::string("ac = bf16[4,8] convert(a)\nsa = bf16[4,8] broadcast(s), dimensions={}\n"
                    "as = bf16[4,8] add(ac, sa)\n"),
        std::string("as = bf16[4,8] parameter(4)\n")})
    EXPECT_EQ(
        narrowDots(withNarrowProducts(parsed(parameters + text + wide + dot("bf16", "as", "bc")))),
        0u)
        << text;
}
