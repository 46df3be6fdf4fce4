// Kinds of ops, one small program each, against the interpreter.
#include "codegen/emit/testing/emulate.h"

namespace tilewright::emit::testing {
namespace {

using program::Program;
using program::SizeValues;
using program::testing::parsed;
using program::testing::withSizes;

Program programOf(const std::string &text, const SizeValues &sizes = {}) {
  return withSizes(parsed(text), sizes);
}

TEST(EmitOp, IntegersAndBooleans) {
  for (int64_t n : {64, 61})
    expectEqualRuns(programOf(R"(
kernel f(a: s32[N], b: u8[N], c: s64[N]) -> x: s32[N], y: pred[N], z: s64[N]
warps 2
grid p < cdiv(N,64)
axis i < 64 at p*64 of N
u = load a[i] @ flat(2)
v = load b[i] @ flat(2)
w = load c[i] @ flat(2)
m = map max(u, s32(v)) - i
store x[i] = m
store y[i] = u < m
store z[i] = w + s64(v)
)",
                              {{"N", n}}),
                    4, 0, fmt::format("{} elements", n));
}

TEST(EmitOp, SmallTypes) {
  for (const char *type : {"f16", "bf16", "f8e4m3fn", "s4", "u4", "f64"})
    expectEqualRuns(programOf(fmt::format(R"(
kernel f(a: {0}[N,M]) -> x: f32[N,M], y: {0}[N,M]
warps 1
grid p < cdiv(N,8)
axis i < 8 at p*8 of N, j < 32 of M
u = load a[i,j] @ flat(8)
store x[i,j] = f32(u) * 2
store y[i,j] = u
)",
                                          type),
                              {{"N", 13}, {"M", 32}}),
                    7, 0, type);
}

TEST(EmitOp, ConditionsOfLoads) {
  expectEqualRuns(programOf(R"(
kernel f(a: f32[40]) -> x: f32[60]
warps 1
grid p < 2
axis i < 32 at p*32 of 60
u = load a[i - 7] if i in [9, 44) else 3 @ flat(2)
store x[i] = u
)"),
                  1, 0, "a padded slice");
  expectEqualRuns(programOf(R"(
kernel f(a: f32[8,9]) -> x: f32[9,8]
warps 1
grid p < 1
axis i < 9 of 9, j < 8 of 8
u = load a[7 - j, i]
store x[8 - i, j] = u
)"),
                  1, 0, "reversed and transposed");
}

TEST(EmitOp, ReductionsOfSeveralKinds) {
  const char *text = R"(
kernel f(a: f32[M,N], b: s32[M,N]) -> s: f32[M], m: f32[M], q: s32[M], r: s32[M], k: s32[M]
warps W
grid p < cdiv(M,R)
axis i < R at p*R of M, j < C of C
u = load a[i,j] @ rows(V,G)
w = load b[i,j] @ rows(V,G)
x = reduce mul u * 0.5 over j
y = reduce min u over j
z = reduce add w over j
c = reduce or w - 3 over j
l, n = reduce argmin u over j
store s[i] = x; store m[i] = y; store q[i] = z; store r[i] = c; store k[i] = n
)";
  for (auto [rows, columns, warps, threads] :
       {std::tuple(3, 96, 4, 128), {5, 64, 2, 16}, {1, 37, 4, 64}, {8, 33, 1, 8}})
    expectEqualRuns(programOf(text, {{"M", 11},
                                     {"N", columns},
                                     {"C", columns},
                                     {"R", rows},
                                     {"W", warps},
                                     {"V", 1},
                                     {"G", threads}}),
                    3, 1e-6, fmt::format("{} x {}", rows, columns));
}

TEST(EmitOp, ReductionOverTwoAxes) {
  expectEqualRuns(programOf(R"(
kernel f(a: f32[4,10,12]) -> s: f32[4]
warps 2
grid p < 4
axis b < 1 at p of 4, i < 10 of 10, j < 12 of 12
u = load a[b,i,j] @ flat(4)
x = reduce add u over i, j
store s[b] = x
)"),
                  5, 1e-6, "two axes");
}

TEST(EmitOp, OneExchangeInALoop) {
  auto run = expectEqualRuns(programOf(R"(
kernel f(a: f32[6,512]) -> s: f32[6]
warps 4
grid p < 6
axis i < 1 at p of 6, j < 128 at t*128 of 512
x = full 0 f32[i] @ rows(1,128)
for t < 4
  u = load a[i,j] @ rows(1,128)
  y = reduce add u over j
  x = map x + y * 2
store s[i] = x
)"),
                             5, 1e-5, "one exchange");
  ASSERT_TRUE(run);
  // One to exchange, and one in front of all but the first that is never left out.
  EXPECT_EQ(run->counts.barriers, 6 * 4 * 2);
}

TEST(EmitOp, Scans) {
  for (auto [vector, threads] : {std::pair(1, 32), {2, 8}, {4, 4}, {1, 1}})
    expectEqualRuns(programOf(R"(
kernel f(a: f32[9,C], b: s32[9,C]) -> s: f32[9,C], m: s32[9,C]
warps 2
grid p < 3
axis i < 3 at p*3 of 9, j < C of C
u = load a[i,j] @ rows(V,G)
v = load b[i,j] @ rows(V,G)
x = scan add u over j
y = scan max v over j
store s[i,j] = x
store m[i,j] = y
)",
                              {{"C", 64}, {"V", vector}, {"G", threads}}),
                    8, 1e-5, fmt::format("{} lanes, vectors of {}", threads, vector));
}

TEST(EmitOp, Relayouts) {
  for (const char *layout : {"flat(1)", "flat(2)", "across(1)", "across(4)", "rows(2,4)"})
    expectEqualRuns(programOf(fmt::format(R"(
kernel f(a: f32[16,8]) -> s: f32[16,8]
warps 1
grid p < 1
axis i < 16 of 16, j < 8 of 8
u = load a[i,j] @ flat(4)
v = relayout u @ {}
store s[i,j] = v + 1
)",
                                          layout)),
                    2, 0, layout);
}

TEST(EmitOp, SlicesAndJoins) {
  for (const char *layout : {"flat(1)", "rows(2,4)", "rows(8,1)", "across(2)"})
    expectEqualRuns(programOf(fmt::format(R"(
kernel f(a: f32[16,8]) -> s: f32[16], r: f32[16,2]
warps 1
grid p < 2
axis i < 8 at p*8 of 16, j < 8 of 8, k < 2 of 2
u = load a[i,j] @ {0}
x = select.axis u, j = 5
y = select.axis u, j = 2 + p
z = join x, y over k
store s[i] = x - y
store r[i,k] = z
)",
                                          layout)),
                    2, 0, layout);
}

TEST(EmitOp, BranchesAndLoops) {
  expectEqualRuns(programOf(R"(
kernel f(a: f32[4,32]) -> s: f32[4,32]
warps 1
grid p < 4
axis i < 1 at p of 4, j < 32 of 32
u = load a[i,j]
x = full 0 f32[i,j]
for t < 7 unroll 3
  if ge(t, p + 2)
    x = map x + u
  else
    x = map x - u * 0.25
  for k < p
    x = map x * 1.5
if eq(p, 3)
  y = map x
else
  y = map x + 1
store s[i,j] = y
)"),
                  2, 1e-6, "branches");
}

TEST(EmitOp, CopiesThroughRegisters) {
  for (const char *attributes : {"", "pad 2", "swizzle 64"})
    expectEqualRuns(programOf(fmt::format(R"(
kernel f(a: f32[M,64]) -> s: bf16[M,64]
warps 2
grid p < cdiv(M,16)
axis i < 16 at p*16 of M, j < 64 of 64
shared S: bf16[i,j] {}
copy S <- a[i,j] via regs
u = read S @ across(2)
v = read S @ flat(8)
w = relayout v @ flat(8)
store s[i,j] = w
)",
                                          attributes),
                              {{"M", 27}}),
                    2, 0, attributes);
}

TEST(EmitOp, RingsOfEveryWay) {
  for (const char *way : {"cp.async", "regs"})
    for (auto [stages, ahead] : {std::pair(1, 0), {2, 1}, {4, 3}, {4, 2}})
      expectEqualRuns(programOf(fmt::format(R"(
kernel f(a: f32[M,N]) -> s: f32[M]
warps 2
grid p < cdiv(M,8)
axis i < 8 at p*8 of M, j < 16 at t*16 of N
ring A: f32[i,j] x {} pad 4
x = full 0 f32[i] @ rows(1,8)
for t < cdiv(N,16) ahead {}
  issue copy A <- a[i,j] via {}
  u = read A @ rows(1,8)
  y = reduce add u over j
  x = map x + y
store s[i] = x
)",
                                            stages, ahead, way),
                                {{"M", 19}, {"N", 77}}),
                      2, 1e-5, fmt::format("{}, {} stages", way, stages));
}

// Two dims of a tensor as one axis of a buffer: a chunk may go round their border, and a round has
// items beyond the last one.
TEST(EmitOp, CopiesOverTheBorderOfTwoDims) {
  for (auto [type, step] : {std::pair("f32", 1), {"bf16", 2}}) // cp.async takes words of 4 bytes
    for (int64_t rows : {2, 4, 6, 8, 16})
      for (int64_t columns = 2; columns <= 12; columns += step)
        for (const char *index : {"k // N, k % N", "k % M, k // M"})
          expectEqualRuns(programOf(fmt::format(R"(
kernel f(a: {0}[M,N]) -> s: {0}[M*N]
warps 1
grid p < 1
axis k < M*N of M*N
shared S: {0}[k]
copy S <- a[{1}]
x = read S @ flat(1)
store s[k] = x
)",
                                                type, index),
                                    {{"M", rows}, {"N", columns}}),
                          2, 0, fmt::format("{} [{}, {}] by {}", type, rows, columns, index));
}

TEST(EmitOp, SlotsOfLaterSteps) {
  expectEqualRuns(programOf(R"(
kernel f(a: f32[8,80]) -> s: f32[8]
warps 1
grid p < 1
axis i < 8 of 8, j < 16 at t*16 of 96
ring A: f32[i,j] x 3
x = full 0 f32[i] @ rows(1,4)
for t < 5 ahead 2
  issue copy A <- a[i,j]
  u = read A @ rows(1,4)
  y = reduce add u over j
  x = map x * 0.5 + y
store s[i] = x
)"),
                  2, 1e-5, "steps");
}

TEST(EmitOp, FmaDots) {
  for (auto [m, n, k] : {std::tuple(32, 16, 24), {13, 9, 7}})
    expectEqualRuns(programOf(R"(
kernel f(a: f32[M,K], b: f32[K,N]) -> s: f32[M,N]
warps 2
grid p < cdiv(M,16), q < cdiv(N,8)
axis i < 16 at p*16 of M, j < 8 at q*8 of N, k < 8 at t*8 of K
ring A: f32[i,k], B: f32[k,j] x 2
x = full 0 f32[i,j] @ flat(1)
for t < cdiv(K,8) ahead 1
  issue copy A <- a[i,k]; copy B <- b[k,j]
  x += dot(A, B) over k fma
store s[i,j] = x
)",
                              {{"M", m}, {"N", n}, {"K", k}}),
                    2, 1e-5, fmt::format("{} x {}", m, n));
}

TEST(EmitOp, MmaDotsOfEveryType) {
  for (auto [type, result, tolerance] : {std::tuple("f16", "f32", 1e-5),
                                         {"bf16", "f32", 1e-5},
                                         {"s8", "s32", 0.0},
                                         {"f8e4m3fn", "f32", 1e-5},
                                         {"f32", "f32", 2e-2}}) // tf32 has 11 bits
    for (const char *order : {"i,k|k,j", "k,i|j,k"}) {
      std::string both = order, left = both.substr(0, 3), right = both.substr(4);
      auto dims = [](std::string axes) {
        for (char &c : axes)
          c = c == 'i' ? 'M' : c == 'j' ? 'N' : c == 'k' ? 'K' : c;
        return axes;
      };
      for (const char *how : {"swizzle 32", "pad 16", ""})
        expectEqualRuns(
            programOf(fmt::format(R"(
kernel f(a: {0}[{3}], b: {0}[{4}]) -> s: {1}[M,N]
warps 2
grid p < cdiv(M,32), q < cdiv(N,32)
axis i < 32 at p*32 of M, j < 32 at q*32 of N, k < 32 at t*32 of K
ring A: {0}[{5}], B: {0}[{6}] x 2 {2}
x = full 0 {1}[i,j] @ mma(1,2)
for t < cdiv(K,32) ahead 1
  issue copy A <- a[{5}]; copy B <- b[{6}]
  x += dot(A, B) over k mma.sync
store s[i,j] = x
)",
                                  type, result, how, dims(left), dims(right), left, right),
                      {{"M", 40}, {"N", 48}, {"K", 72}}),
            2, tolerance, fmt::format("{} {} {}", type, order, how));
    }
}

TEST(EmitOp, SumsOfSeveralValues) {
  expectEqualRuns(programOf(R"(
kernel f(a: f32[M,N]) -> s: f32[M], m: f32[M]
warps 2
grid p < cdiv(M,4), s < 3
axis i < 4 at p*4 of M, j < 16 at t*16 of N
x = full 0 f32[i] @ rows(1,16); y = full 0 f32[i] @ rows(1,16)
for t < cdiv(N,16) split s/3
  u = load a[i,j] @ rows(1,16)
  r = reduce add u over j
  q = reduce add u*u over j
  x = map x + r; y = map y + q
v, w = sum.splits x, y over s
store s[i] = v
store m[i] = w
)",
                            {{"M", 6}, {"N", 70}}),
                  2, 1e-5, "two values");
}

TEST(EmitOp, AtomicsOfIntegers) {
  expectEqualRuns(programOf(R"(
kernel f(a: s32[64]) -> s: s32[1], m: s32[1], l: s32[1]
warps 1
grid p < 2
axis i < 32 at p*32 of 64
u = load a[i]
v = reduce add u over i
w = reduce max u over i
x = reduce min u over i
atomic add s[0] = v
atomic max m[0] = w
atomic min l[0] = x
)"),
                  2, 0, "integers");
}

TEST(EmitOp, TurnsOfACta) {
  for (int64_t ctas : {1, 3, 5})
    expectEqualRuns(programOf(R"(
kernel f(a: f32[N]) -> s: f32[N]
warps 2
grid p < cdiv(N,64) persistent G
axis i < 64 at p*64 of N
shared S: f32[i]
u = load a[i] @ flat(1)
write S <- u
v = read S @ flat(1)
store s[i] = v * 2
)",
                              {{"N", 700}, {"G", ctas}}),
                    2, 0, fmt::format("{} CTAs", ctas));
}

// Products that stay in flight for a step, in turns too; shapes where a warpgroup's columns take
// two instructions, and several warpgroups.
TEST(EmitOp, ProductsInFlight) {
  for (const char *grid : {"", "persistent 3"})
    for (auto [rows, columns, warps] : {std::tuple(64, 64, 4), {128, 320, 8}, {64, 128, 8}})
      for (int64_t depth : {64, 200})
        expectEqualRuns(programOf(fmt::format(R"(
kernel f(a: bf16[M,K], b: bf16[K,N]) -> c: f32[M,N]
warps W producer 1
grid p < cdiv(M,BM), q < cdiv(N,BN) {}
axis i < BM at p*BM of M, j < BN at q*BN of N, k < 64 at t*64 of K
ring A: bf16[i,k], B: bf16[k,j] x 3 swizzle 128
acc = full 0 f32[i,j] @ wgmma(BM//64,W//4//(BM//64))
for t < cdiv(K,64)
  issue copy A <- a[i,k] via tma; copy B <- b[k,j] via tma
  acc += dot(A, B) over k wgmma wait 1
store c[i,j] = acc
)",
                                              grid),
                                  {{"M", 136},
                                   {"N", 328},
                                   {"K", depth},
                                   {"BM", rows},
                                   {"BN", columns},
                                   {"W", warps}}),
                        2, 1e-5, fmt::format("{} x {} of {} {}", rows, columns, depth, grid));
}

// A producer beside warps that read its rings by ldmatrix and by plain loads.
TEST(EmitOp, ProducerForOtherReads) {
  expectEqualRuns(programOf(R"(
kernel f(a: bf16[M,K], b: bf16[K,N]) -> c: f32[M,N], n: f32[M]
warps 4 producer 1
grid p < cdiv(M,32), q < cdiv(N,64)
axis i < 32 at p*32 of M, j < 64 at q*64 of N, k < 64 at t*64 of K
ring A: bf16[i,k], B: bf16[k,j] x 2 swizzle 128
acc = full 0 f32[i,j] @ mma(2,2)
r = full 0 f32[i] @ rows(2,32)
for t < cdiv(K,64)
  issue copy A <- a[i,k] via tma; copy B <- b[k,j] via tma
  acc += dot(A, B) over k mma.sync
  u = read A @ rows(2,32)
  v = reduce add u over k
  r = map r + v
store c[i,j] = acc
atomic add n[i] = r
)",
                            {{"M", 40}, {"N", 72}, {"K", 200}}),
                  2, 1e-4, "mma.sync");
}

TEST(EmitOp, RingsInTurns) {
  for (const char *name : {"gemm_sync", "gemm_split", "gemm_triton"})
    for (int64_t ctas : {1, 2, 5}) {
      std::string text = program::testing::textOf(name);
      size_t end = text.find('\n', text.find("grid "));
      text.insert(end, fmt::format(" persistent {}", ctas));
      SizeValues sizes{{"M", 50},  {"N", 130}, {"K", 200}, {"BM", 32}, {"BN", 64},
                       {"BK", 64}, {"S", 3},   {"W", 2},   {"WR", 2},  {"WC", 1}};
      if (std::string_view(name) == "gemm_split")
        sizes["P"] = 3;
      expectEqualRuns(programOf(text, sizes), 2, 0x1p-7, fmt::format("{} {}", name, ctas));
    }
}

// One ring filled by two loops, and by a loop inside another: by the same warps and by a producer.
TEST(EmitOp, RingsFilledAgain) {
  for (const char *head : {"warps 4", "warps 4 producer 1"})
    for (const char *how : {"mma.sync", "wgmma"}) {
      bool isProduced = std::string_view(head) != "warps 4";
      if (!isProduced && std::string_view(how) == "wgmma")
        continue;
      expectEqualRuns(
          programOf(fmt::format(R"(
kernel f(a: bf16[M,K], b: bf16[K,N]) -> c: f32[M,N]
{0}
grid p < cdiv(M,64), q < cdiv(N,64)
axis i < 64 at p*64 of M, j < 64 at q*64 of N, k < 64 at t*64 of K
ring A: bf16[i,k], B: bf16[k,j] x 3 swizzle 128
acc = full 0 f32[i,j] @ {1}
for t < cdiv(K,64) {2}
  issue copy A <- a[i,k] via {3}; copy B <- b[k,j] via {3}
  acc += dot(A, B) over k {4}
for u < 3
  acc = map acc * 0.5
  for t < cdiv(K,64) {2}
    issue copy A <- a[i,k] via {3}; copy B <- b[k,j] via {3}
    acc += dot(A, B) over k {4}
store c[i,j] = acc
)",
                                head, std::string_view(how) == "wgmma" ? "wgmma(1,1)" : "mma(2,2)",
                                isProduced ? "" : "ahead 2", isProduced ? "tma" : "cp.async", how),
                    {{"M", 70}, {"N", 72}, {"K", 136}}),
          2, 1e-5, fmt::format("{} {}", head, how));
    }
}

// Waits are as weak as they may be: with one group more in flight the emulator finds a read that
// comes too early.
TEST(EmitOp, WaitsAreNeeded) {
  for (int64_t stages : {2, 3, 4}) {
    Program program = programOf(program::testing::textOf("gemm_sync"), {{"M", 32},
                                                                        {"N", 64},
                                                                        {"K", 320},
                                                                        {"BM", 32},
                                                                        {"BN", 64},
                                                                        {"BK", 64},
                                                                        {"S", stages},
                                                                        {"W", 2},
                                                                        {"WR", 2},
                                                                        {"WC", 1}});
    std::vector<Tensor> inputs = inputsOf(program, 3);
    EmulationOptions options;
    options.weakenWaits = 1;
    llvm::Expected<Emulated> weak = emulate(program, inputs, options);
    ASSERT_FALSE(bool(weak)) << stages;
    EXPECT_NE(takeDiag(weak.takeError()).message.find("may still write"), std::string::npos);
    options.weakenWaits = 0;
    llvm::Expected<Emulated> run = emulate(program, inputs, options);
    EXPECT_TRUE(bool(run)) << takeDiag(run.takeError()).str();
  }
}

// What has no code says so, with its place.
TEST(EmitOp, Refusals) {
  struct Case {
    const char *text, *message;
    DiagClass cls;
  };
  for (const Case &c : {
           Case{R"(
kernel f(a: f32[32]) -> s: f32[32]
warps W
grid p < 1
axis i < 32 of 32
u = load a[i]
store s[i] = u
)",
                "sizes without a number", DiagClass::BadInput},
           Case{R"(
kernel f(a: f32[64,2]) -> s: f32[64,2]
warps 2
grid p < 1
axis i < 64 of 64, j < 2 of 2
u = load a[i,j] @ flat(1)
v = relayout u @ across(1)
store s[i,j] = v
)",
                "goes to other warps", DiagClass::Unsupported},
           Case{R"(
kernel f(a: f32[64]) -> s: f32[64]
warps 2
grid p < 1
axis i < 64 of 64
u = load a[i]
v = scan add u over i
store s[i] = v
)",
                "spread over warps", DiagClass::Unsupported},
           Case{R"(
kernel f(a: bf16[128,128]) -> s: bf16[128,128]
warps 4 producer 1
grid p < 2 persistent 1
axis i < 64 at p*64 of 128, k < 64 at t*64 of 128
ring A: bf16[i,k] x 2 swizzle 128
shared X: bf16[i,k] in A
for t < 2
  issue copy A <- a[i,k] via tma
  u = read A @ flat(8)
  store s[i,k] = u
v = full 0 bf16[i,k] @ flat(8)
write X <- v
)",
                "a producer fills ahead", DiagClass::Unsupported},
           Case{R"(
kernel f(a: bf16[128,64], b: bf16[64,64]) -> s: f32[128,64]
warps 4
grid p < 2
axis i < 64 at p*64 of 128, j < 64 of 64, k < 64 of 64
shared A: bf16[i,k] swizzle 128
shared B: bf16[k,j] swizzle 128
copy A <- a[i,k]; copy B <- b[k,j]
x = dot(A, B) over k wgmma
store s[i,j] = x
)",
                "wgmma without a producer", DiagClass::Unsupported},
           Case{R"(
kernel f(a: f32[64]) -> s: f32[64]
warps 2
roles x < 2
grid p < 1
axis i < 64 of 64
role x
  u = load a[i]
  store s[i] = u
)",
                "no code for roles", DiagClass::Unsupported},
           Case{R"(
kernel f(a: f32[64]) -> s: f32[1]
warps 1
grid p < 1
axis i < 32 at t*32 of 64
ring A: f32[i] x 2
x = full 0 f32[i]
for t < 2 ahead 1
  issue copy A <- a[i]; copy A <- a[i]
  u = read A
  x = map x + u
y = reduce add x over i
store s[0] = y
)",
                "A is filled twice in a step", DiagClass::Unsupported},
       }) {
    llvm::Expected<KernelModule> kernel = emitProgram(parsed(c.text), CodeMode::Device);
    ASSERT_FALSE(bool(kernel)) << c.message;
    Diag diag = takeDiag(kernel.takeError());
    EXPECT_EQ(diag.cls, c.cls) << diag.str();
    EXPECT_NE(diag.message.find(c.message), std::string::npos) << diag.str();
  }
}

} // namespace
} // namespace tilewright::emit::testing
