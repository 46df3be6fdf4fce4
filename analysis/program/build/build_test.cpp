// Built programs that a reader can judge, and what is refused.
#include "analysis/import/testing/reducers.h"
#include "analysis/program/build/testing/check.h"

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

Module modelOf(const std::string &text) {
  auto module = importBuffer(std::make_shared<SourceBuffer>("model.hlo.txt", text));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  return std::move(*module);
}

struct Example {
  std::shared_ptr<const Module> module;
  KernelPlan plan;

  explicit Example(const std::string &text) : module(std::make_shared<Module>(modelOf(text))) {
    auto made = planOfEntry(module);
    if (!made)
      ADD_FAILURE() << takeDiag(made.takeError()).str();
    else
      plan = std::move(*made);
  }

  /// Tile sizes by name; the others cover their dims.
  std::vector<int64_t> values(const std::map<std::string, int64_t> &sizes) const {
    std::vector<int64_t> result = plan.values;
    for (const auto &[name, value] : sizes)
      result[*plan.tiled->space.indexOf(name)] = value;
    return result;
  }

  std::string program(const std::map<std::string, int64_t> &sizes,
                      Instruction instruction = Instruction::Fma) const {
    auto variant = variantOf(module->entry(), *plan.tiled, values(sizes), instruction);
    if (!variant)
      return takeDiag(variant.takeError()).message;
    auto built = buildProgram(*module, module->entry(), *plan.tiled, *variant);
    return built ? printProgram(*built) : takeDiag(built.takeError()).message;
  }
};

} // namespace

namespace {

const std::string softmax = R"(HloModule softmax
max { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] maximum(a, b) }
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY main {
 x = f32[64,100] parameter(0)
 low = f32[] constant(-inf)
 m = f32[64] reduce(x, low), dimensions={1}, to_apply=max
 ms = f32[64,100] broadcast(m), dimensions={0}
 d = f32[64,100] subtract(x, ms)
 e = f32[64,100] exponential(d)
 zero = f32[] constant(0)
 s = f32[64] reduce(e, zero), dimensions={1}, to_apply=add
 ss = f32[64,100] broadcast(s), dimensions={0}
 ROOT y = f32[64,100] divide(e, ss)
})";

const std::string moved = R"(HloModule moved
ENTRY main {
 a = bf16[96,64] parameter(0)
 b = f32[64,32] parameter(1)
 c = f32[64,60] parameter(2)
 bias = f32[96] parameter(3)
 start = s32[] parameter(4)
 big = f32[64,500] parameter(5)
 t = bf16[64,96] transpose(a), dimensions={1,0}
 f = f32[64,96] convert(t)
 two = f32[] constant(2)
 p = f32[64,64] pad(c, two), padding=0_0x1_3
 j = f32[64,96] concatenate(b, p), dimensions={1}
 u = f32[64,96] add(f, j)
 v = f32[64,96] broadcast(bias), dimensions={1}
 zero = s32[] constant(0)
 w = f32[64,96] dynamic-slice(big, zero, start), dynamic_slice_sizes={64,96}
 uv = f32[64,96] multiply(u, v)
 ROOT y = f32[64,96] subtract(uv, w)
})";

const std::string columns = R"(HloModule columns
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY main {
 x = bf16[512,96] parameter(0)
 f = f32[512,96] convert(x)
 zero = f32[] constant(0)
 ROOT s = f32[96] reduce(f, zero), dimensions={0}, to_apply=add
})";

const std::string embedding = R"(HloModule embedding
ENTRY main {
 table = bf16[1000,64] parameter(0)
 ids = s32[24] parameter(1)
 g = bf16[24,64] gather(table, ids), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}
 s = bf16[] constant(8)
 ss = bf16[24,64] broadcast(s), dimensions={}
 ROOT y = bf16[24,64] multiply(g, ss)
})";

} // namespace

TEST(BuiltPrograms, SoftmaxOfWholeRows) {
  EXPECT_EQ(Example(softmax).program({}), R"(kernel y(x: f32[64, 100]) -> y: f32[64, 100]
let V = 1
let G = min(min(max(pow2ceil(W * 32 // t0 // 2 + 1), 32), pow2divisor(W * 32)), pow2ceil(cdiv(100, V)))
warps W
grid p < cdiv(64, t0)
axis i < t0 at t0 * p of 64, j < 100
a = load x[i, j] @ rows(V, G)
b = reduce max a over j
c = map exp(a - b)
d = reduce add c over j
store y[i, j] = c / d
)");
}

TEST(BuiltPrograms, SoftmaxInSteps) {
  std::string longer = softmax;
  for (size_t at; (at = longer.find("64,100")) != std::string::npos;)
    longer.replace(at, 6, "64,20000");
  EXPECT_EQ(Example(longer).program({{"r0", 10}}),
            R"(kernel y(x: f32[64, 20000]) -> y: f32[64, 20000]
let V = 1
let G = min(min(max(pow2ceil(W * 32 // t0 // 2 + 1), 32), pow2divisor(W * 32)), pow2ceil(cdiv(20000, V)))
let Kj = G * V * min(cdiv(cdiv(20000, G * V), cdiv(cdiv(20000, G * V), max(32 // V, 1))), cdiv(r0, G * V))
warps W
grid p < cdiv(64, t0)
axis i < t0 at t0 * p of 64, j < Kj at Kj * t of 20000
a = full -inf f32[i,j] @ rows(V, G)
for t < cdiv(20000, Kj)
  b = load x[i, j] else -inf @ rows(V, G)
  a = map max(a, b)
c = reduce max a over j
d = full 0 f32[i,j] @ rows(V, G)
for t < cdiv(20000, Kj)
  e = load x[i, j] else -inf @ rows(V, G)
  d = map d + exp(e - c)
f = reduce add d over j
for t < cdiv(20000, Kj)
  g = load x[i, j] @ rows(V, G)
  store y[i, j] = exp(g - c) / f
)");
}

TEST(BuiltPrograms, MovedDataIsIndices) {
  EXPECT_EQ(
      Example(moved).program({}),
      R"(kernel y(a: bf16[96, 64], b: f32[64, 32], c: f32[64, 60], bias: f32[96], start: s32[], big: f32[64, 500]) -> y: f32[64, 96]
let V = 1
warps W
grid p < cdiv(64, t0), q < cdiv(96, t1)
axis i < t0 at t0 * p of 64, j < t1 at t1 * q of 96
d = load a[j, i] @ flat(V)
e = load b[i, j] @ flat(V)
f = load c[i, j - 33] else 2 @ flat(V)
g = load bias[j] @ flat(V) of i,j
h = load start[]
m = load big[i, j + min(max(h, 0), 404)] @ flat(V)
store y[i, j] = (f32(d) + where(j >= 32, f, e)) * g - m
)");
}

TEST(BuiltPrograms, ColumnsInSteps) {
  EXPECT_EQ(Example(columns).program({{"r0", 10}}), R"(kernel s(x: bf16[512, 96]) -> s: f32[96]
let V = 1
let G = W * 32 // min(pow2divisor(W * 32), pow2ceil(t0))
let Ki = G * V * min(cdiv(cdiv(512, G * V), cdiv(cdiv(512, G * V), max(32 // V, 1))), cdiv(r0, G * V))
warps W
grid p < cdiv(96, t0)
axis i < Ki at Ki * t of 512, j < t0 at t0 * p of 96
a = full 0 f32[i,j] @ flat(V)
for t < cdiv(512, Ki)
  b = load x[i, j] @ flat(V)
  a = map a + f32(b)
c = reduce add a over i
store s[j] = c
)");
}

TEST(BuiltPrograms, IndexTiles) {
  EXPECT_EQ(Example(embedding).program({}),
            R"(kernel y(table: bf16[1000, 64], ids: s32[24]) -> y: bf16[24, 64]
let V = 1
warps W
grid p < cdiv(24, t0), q < cdiv(64, t1)
axis i < t0 at t0 * p of 24, j < t1 at t1 * q of 64
a = load ids[i] @ flat(V) of i,j
b = load table[min(max(a, 0), 999), j] @ flat(V)
store y[i, j] = bf16(b * 8)
)");
}

namespace {

const std::string argmax = std::string("HloModule reference\n") + largerWithPlace + R"(ENTRY main {
  x = f32[12,700] parameter(0)
  at = s32[12,700] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(0)
  both = (f32[12], s32[12]) reduce(x, at, low, none), dimensions={1}, to_apply=best
  m = f32[12] get-tuple-element(both), index=0
  n = s32[12] get-tuple-element(both), index=1
  f = f32[12] convert(n)
  ROOT y = f32[12] add(m, f)
})";

const std::string moments = R"(HloModule moments
both {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  s = f32[] add(a, c)
  m = f32[] maximum(b, d)
  ROOT t = (f32[], f32[]) tuple(s, m)
}
ENTRY main {
  x = f32[12,700] parameter(0)
  z = f32[12,700] parameter(1)
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  r = (f32[12], f32[12]) reduce(x, z, zero, low), dimensions={1}, to_apply=both
  s = f32[12] get-tuple-element(r), index=0
  m = f32[12] get-tuple-element(r), index=1
  ROOT y = f32[12] multiply(s, m)
})";

/// Builds and runs at sizes of steps around those that threads share evenly.
void runAll(const std::string &text) {
  Example example(text);
  BuiltKernel kernel("kernel", example.module, example.plan);
  for (int64_t step : {1, 31, 32, 33, 64, 100, 350, 640, 699, 700})
    EXPECT_EQ(kernel.check(example.values({{"r0", step}, {"t0", 5}, {"warps", 2}}), 3), "");
  EXPECT_EQ(kernel.programs.size(), 2u); // whole, and in steps
}

} // namespace

TEST(BuiltPrograms, ArgMax) {
  EXPECT_EQ(Example(argmax).program({}), R"(kernel y(x: f32[12, 700]) -> y: f32[12]
let V = 1
let G = min(min(max(pow2ceil(W * 32 // t0 // 2 + 1), 32), pow2divisor(W * 32)), pow2ceil(cdiv(700, V)))
warps W
grid p < cdiv(12, t0)
axis i < t0 at t0 * p of 12, j < 700
a = load x[i, j] @ rows(V, G)
b, c = reduce argmax a over j
store y[i] = b + f32(c)
)");
  EXPECT_EQ(Example(argmax).program({{"r0", 8}}), R"(kernel y(x: f32[12, 700]) -> y: f32[12]
let V = 1
let G = min(min(max(pow2ceil(W * 32 // t0 // 2 + 1), 32), pow2divisor(W * 32)), pow2ceil(cdiv(700, V)))
let Kj = G * V * min(cdiv(cdiv(700, G * V), cdiv(cdiv(700, G * V), max(32 // V, 1))), cdiv(r0, G * V))
warps W
grid p < cdiv(12, t0)
axis i < t0 at t0 * p of 12, j < Kj at Kj * t of 700
a = full -inf f32[i,j] @ rows(V, G)
b = full 0 s32[i,j] @ rows(V, G)
for t < cdiv(700, Kj)
  c = load x[i, j] @ rows(V, G)
  d = map c > a & j < 700
  b = map where(d, j, b)
  a = map where(d, c, a)
e = reduce max a over j
f = reduce min where(a == e, b, 2147483647) over j
store y[i] = e + f32(f)
)");
  runAll(argmax);
  std::string ties = argmax; // few different values
  std::string parameter = "  x = f32[12,700] parameter(0)\n";
  ties.replace(ties.find(parameter), parameter.size(),
               "  w = s8[12,700] parameter(0)\n  three = s8[] constant(3)\n"
               "  threes = s8[12,700] broadcast(three), dimensions={}\n"
               "  rest = s8[12,700] remainder(w, threes)\n  x = f32[12,700] convert(rest)\n");
  runAll(ties);
}

// As jax.numpy.argmax and argmin have it: the first NaN is taken, before all numbers.
TEST(BuiltPrograms, ArgMaxThatTakesNaN) {
  for (bool isMax : {true, false})
    for (const char *shift : {"0", "2.5", "100"}) { // many NaNs, few, none
      std::string text = argmax;
      auto put = [&](const std::string &from, const std::string &to) {
        text.replace(text.find(from), from.size(), to);
      };
      put("first = pred[] or(larger, tie)",
          "isNaN = pred[] compare(a, a), direction=NE\n  any = pred[] or(larger, isNaN)\n"
          "  first = pred[] or(any, tie)");
      put("  x = f32[12,700] parameter(0)\n",
          std::string("  w = f32[12,700] parameter(0)\n  shift = f32[] constant(") + shift +
              ")\n  shifts = f32[12,700] broadcast(shift), dimensions={}\n"
              "  all = f32[12,700] add(w, shifts)\n  x = f32[12,700] sqrt(all)\n");
      put("  m = f32[12] get-tuple-element(both), index=0\n", "");
      put("  f = f32[12] convert(n)\n", "");
      put("y = f32[12] add(m, f)", "y = f32[12] convert(n)");
      if (!isMax) {
        put("direction=GT", "direction=LT");
        put("constant(-inf)", "constant(inf)");
      }
      runAll(text);
    }
}

TEST(BuiltPrograms, WhatIsRefused) {
  std::string other = argmax; // the last of equal ones
  other.replace(other.find("direction=LT"), 12, "direction=GT");
  EXPECT_EQ(
      Example(other).program({}),
      "%both: no program for reduce: its reducer is not one of add, multiply, minimum, maximum, "
      "and, or");
}

TEST(BuiltPrograms, SeveralResultsOfOneReduction) {
  EXPECT_EQ(Example(moments).program({}),
            R"(kernel y(x: f32[12, 700], z: f32[12, 700]) -> y: f32[12]
let V = 1
let G = min(min(max(pow2ceil(W * 32 // t0 // 2 + 1), 32), pow2divisor(W * 32)), pow2ceil(cdiv(700, V)))
warps W
grid p < cdiv(12, t0)
axis i < t0 at t0 * p of 12, j < 700
a = load x[i, j] @ rows(V, G)
b = reduce add a over j
c = load z[i, j] @ rows(V, G)
d = reduce max c over j
store y[i] = b * d
)");
  runAll(moments);
}

namespace {

const std::string gemm = R"(HloModule gemm
ENTRY main {
  a = bf16[64,96] parameter(0)
  b = bf16[96,48] parameter(1)
  bias = bf16[48] parameter(2)
  d = bf16[64,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = bf16[64,48] broadcast(bias), dimensions={1}
  ROOT y = bf16[64,48] add(d, c)
})";

} // namespace

TEST(BuiltPrograms, DotOfFma) {
  EXPECT_EQ(Example(gemm).program({}),
            R"(kernel y(a: bf16[64, 96], b: bf16[96, 48], bias: bf16[48]) -> y: bf16[64, 48]
let V = 1
warps W
grid p < cdiv(64, t0), q < cdiv(48, t1)
axis i < t0 at t0 * p of 64, j < t1 at t1 * q of 48, k < k0 at k0 * t of 96
ring A: bf16[i,k]
ring B: bf16[k,j]
c = full 0 f32[i,j] @ flat(V)
for t < cdiv(96, k0)
  issue
    copy A <- a[i, k] via regs
    copy B <- b[k, j] via regs
  c += dot(A, B) over k fma
d = load bias[j] @ flat(V) of i,j
store y[i, j] = bf16(bf16(c) + d)
)");
  Example example(gemm);
  BuiltKernel kernel("gemm", example.module, example.plan);
  for (int64_t rows : {1, 7, 64})
    for (int64_t depth : {1, 5, 32, 96})
      EXPECT_EQ(kernel.check(example.values({{"t0", rows}, {"t1", 20}, {"k0", depth}}),
                             static_cast<uint64_t>(depth)),
                "");
  EXPECT_EQ(kernel.pipelines, 12u);
  EXPECT_EQ(kernel.programs.size(), 1u);
}

TEST(BuiltPrograms, DotOfMatrixInstructions) {
  EXPECT_EQ(Example(gemm).program({}, Instruction::MmaSync),
            R"(kernel y(a: bf16[64, 96], b: bf16[96, 48], bias: bf16[48]) -> y: bf16[64, 48]
let WX = W * t0 * 2 // t1
let WR = min(min(pow2divisor(W), pow2divisor(max(t0 // 16, 1))), max(cdiv(W, pow2divisor(max(t1 // 8, 1))), sel(ge(WX, 1024), 32, sel(ge(WX, 256), 16, sel(ge(WX, 64), 8, sel(ge(WX, 16), 4, sel(ge(WX, 4), 2, 1)))))))
let WC = W // WR
warps W
grid p < cdiv(64, t0), q < cdiv(48, t1)
axis i < t0 at t0 * p of 64, j < t1 at t1 * q of 48, k < k0 at k0 * t of 96
ring A: bf16[i,k]
ring B: bf16[k,j]
c = full 0 f32[i,j] @ mma(WR, WC)
for t < cdiv(96, k0)
  issue
    copy A <- a[i, k] via regs
    copy B <- b[k, j] via regs
  c += dot(A, B) over k mma.sync
d = load bias[j] @ mma(WR, WC) of i,j
store y[i, j] = bf16(bf16(c) + d)
)");
  Example example(gemm);
  BuiltKernel kernel("gemm", example.module, example.plan);
  for (int64_t rows : {16, 32, 64})
    for (int64_t depth : {16, 32, 48, 96})
      for (int64_t warps : {1, 2})
        EXPECT_EQ(kernel.check(
                      example.values({{"t0", rows}, {"t1", 16}, {"k0", depth}, {"warps", warps}}),
                      static_cast<uint64_t>(depth), Instruction::MmaSync),
                  "");
  EXPECT_EQ(kernel.pipelines, 24u);
}
