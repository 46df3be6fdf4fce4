// Ops that go, and what stays beside them.
#include "analysis/program/build/tidy.h"
#include "analysis/program/infer.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::program;

namespace {

std::string copied(const std::string &unused) {
  return "kernel copied(x: f32[M, N]) -> y: f32[M, N]\n"
         "warps W\n"
         "grid p < cdiv(M, R)\n"
         "axis i < R at R * p of M, j < N\n" +
         unused +
         "a = load x[i, j] @ flat(1)\n"
         "b = load x[i, j] @ flat(4)\n"
         "c = relayout a @ like b\n"
         "store y[i, j] = c\n";
}

std::string withoutUnused(const std::string &text) {
  llvm::Expected<Program> program = parseProgram(text);
  if (!program)
    return takeDiag(program.takeError()).str() + text;
  removeUnused(*program);
  EXPECT_FALSE(bool(inferTypes(*program)));
  return printProgram(*program);
}

} // namespace

// A value whose layout another one has is needed, and keeps being meant when others go.
TEST(Tidy, LayoutsLikeThoseOfOthersFollowThem) {
  const std::string expected = withoutUnused(copied(""));
  EXPECT_NE(expected.find("@ like b"), std::string::npos) << expected;
  EXPECT_EQ(withoutUnused(copied("u = load x[i, j] @ flat(1)\n")), expected);
  EXPECT_EQ(withoutUnused(copied("u = load x[i, j] @ flat(1)\nv = relayout u @ like u\n")),
            expected);
}
