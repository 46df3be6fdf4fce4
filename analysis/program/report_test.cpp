#include "analysis/program/report.h"
#include "analysis/program/testing/golden_programs.h"

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

std::string reported(const std::string &text, const SizeValues &sizes) {
  DeviceLimits limits;
  llvm::Expected<ProgramReport> report = reportOf(parsed(text), sizes, &limits);
  if (!report)
    return takeDiag(report.takeError()).message;
  return report->str();
}

} // namespace

TEST(ProgramReports, NumbersStandBesideTheirLines) {
  SizeValues sizes{{"M", 4096}, {"N", 4096}, {"K", 4096}, {"BM", 128}, {"BN", 128}, {"BK", 64},
                   {"S", 4},    {"P", 2},    {"W", 4},    {"WR", 2},   {"WC", 2}};
  EXPECT_EQ(reported(textOf("gemm_split"), sizes),
            R"(2048 CTAs, 128 threads, 128 KiB shared, 128 live registers
kernel gemm_split(a: bf16[M, K], b: bf16[K, N]) -> c: bf16[M, N]
warps W
grid p < cdiv(M, BM), q < cdiv(N, BN), s < P
axis i < BM at BM * p of M, j < BN at BN * q of N, k < BK at BK * t of K
ring A: bf16[i,k] x S swizzle 128
ring B: bf16[k,j] x S swizzle 128
acc = full 0 f32[i,j] @ mma(WR, WC)
for t < cdiv(K, BK) ahead S - 1 split s/P  -- 65536 barriers
  issue
    copy A <- a[i, k]                      -- 1 GiB copied, 33554432 sectors read, 2097152 copies
    copy B <- b[k, j]                      -- 1 GiB copied, 33554432 sectors read, 2097152 copies
  acc += dot(A, B) over k mma.sync         -- 33554432 mma
sum = sum.splits acc over s                -- 256 MiB workspace, 2048 counters, 4096 barriers
store c[i, j] = sum                        -- 32 MiB written, 1048576 sectors written, 262144 stores
shared    64 KiB ring A
          64 KiB ring B
)");
}

TEST(ProgramReports, FormulasStandWhereSizesAreOpen) {
  const std::string text = "kernel k(x: f32[M]) -> y: f32[M]\nwarps 4\ngrid p < cdiv(M, B)\n"
                           "axis i < B at p*B of M\na = load x[i] @ flat(1)\nstore y[i] = a\n";
  std::string open = reported(text, {{"B", 256}});
  EXPECT_NE(open.find("((M - 1) // 256 + 1) CTAs"), std::string::npos) << open;
  EXPECT_NE(open.find("(M * 4) B read"), std::string::npos) << open;
}

TEST(ProgramReports, BrokenRulesStandUnderTheirLines) {
  std::string text = textOf("softmax_steps");
  size_t at = text.find(" else -inf");
  text.erase(at, 10);
  std::string report = reported(text, {{"M", 64}, {"D", 1000}, {"C", 256}, {"R", 4}, {"W", 4}});
  EXPECT_NE(report.find("  n = reduce max a over j"), std::string::npos) << report;
  EXPECT_NE(report.find("  ^ V7: lanes of j beyond 1000 hold 0"), std::string::npos) << report;
  EXPECT_EQ(reported(text, {{"Q", 1}}), "softmax_steps has no size Q");
}
