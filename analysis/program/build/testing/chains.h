// Modules with several dots, and with dots beside reductions, for tests.
#pragma once

#include "analysis/program/build/testing/check.h"
#include "codegen/testing/attention.h"

namespace tilewright::program::testing {

inline const char *const chainReducers = R"(
max { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] maximum(a, b) }
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY main {
)";

inline std::string withReducers(const std::string &name, const std::string &body) {
  return "HloModule " + name + chainReducers + body + "}\n";
}

struct ChainText {
  const char *name;
  std::string text;
};

inline std::vector<ChainText> chainTexts() {
  return {
      // Softmax of scores, whose rows are results of a dot.
      {"scores", withReducers("scores", R"(
  q = bf16[48,32] parameter(0)
  k = bf16[40,32] parameter(1)
  s = f32[48,40] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  low = f32[] constant(-inf)
  m = f32[48] reduce(s, low), dimensions={1}, to_apply=max
  ms = f32[48,40] broadcast(m), dimensions={0}
  d = f32[48,40] subtract(s, ms)
  e = f32[48,40] exponential(d)
  zero = f32[] constant(0)
  l = f32[48] reduce(e, zero), dimensions={1}, to_apply=add
  ls = f32[48,40] broadcast(l), dimensions={0}
  ROOT y = f32[48,40] divide(e, ls)
)")},
      // Gate and up: two dots of one input.
      {"gate", withReducers("gate", R"(
  x = f16[128,40] parameter(0)
  u = f16[40,32] parameter(1)
  w = f16[40,32] parameter(2)
  a = f32[128,32] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[128,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[128,32] negate(b)
  e = f32[128,32] exponential(n)
  one = f32[] constant(1)
  ones = f32[128,32] broadcast(one), dimensions={}
  d = f32[128,32] add(ones, e)
  g = f32[128,32] divide(b, d)
  ROOT y = f32[128,32] multiply(a, g)
)")},
      // Three results of one input.
      {"qkv", withReducers("qkv", R"(
  x = bf16[128,40] parameter(0)
  wq = bf16[40,32] parameter(1)
  wk = bf16[40,32] parameter(2)
  wv = bf16[40,32] parameter(3)
  q = bf16[128,32] dot(x, wq), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  k = bf16[128,32] dot(x, wk), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  v = bf16[128,32] dot(x, wv), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT all = (bf16[128,32], bf16[128,32], bf16[128,32]) tuple(q, k, v)
)")},
      // Two layers with something between.
      {"layers", withReducers("layers", R"(
  x = bf16[48,24] parameter(0)
  w = bf16[24,40] parameter(1)
  v = bf16[40,16] parameter(2)
  h = f32[48,40] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[48,40] tanh(h)
  p = bf16[48,40] convert(t)
  ROOT y = f32[48,16] dot(p, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)")},
      // The second dot takes the first one's result as its right operand.
      {"rightLayers", withReducers("right", R"(
  x = bf16[40,24] parameter(0)
  w = bf16[24,48] parameter(1)
  v = bf16[16,40] parameter(2)
  h = f32[40,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  p = bf16[40,48] convert(h)
  ROOT y = f32[16,48] dot(v, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)")},
      // RMS norm in front of a dot: the operand is computed with a reduction of its rows.
      {"norm", withReducers("norm", R"(
  x = bf16[48,40] parameter(0)
  w = bf16[40,32] parameter(1)
  f = f32[48,40] convert(x)
  z = f32[48,40] multiply(f, f)
  zero = f32[] constant(0)
  q = f32[48] reduce(z, zero), dimensions={1}, to_apply=add
  n = f32[] constant(0.025)
  ns = f32[48] broadcast(n), dimensions={}
  a = f32[48] multiply(q, ns)
  eps = f32[] constant(0.001)
  es = f32[48] broadcast(eps), dimensions={}
  b = f32[48] add(a, es)
  r = f32[48] rsqrt(b)
  rs = f32[48,40] broadcast(r), dimensions={0}
  g = f32[48,40] multiply(f, rs)
  p = bf16[48,40] convert(g)
  ROOT y = f32[48,32] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)")},
      // A result and a statistic of its rows.
      {"rowSums", withReducers("sums", R"(
  a = bf16[48,40] parameter(0)
  b = bf16[40,32] parameter(1)
  c = f32[48,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[48,32] multiply(c, c)
  zero = f32[] constant(0)
  n = f32[48] reduce(z, zero), dimensions={1}, to_apply=add
  ROOT both = (f32[48], f32[48,32]) tuple(n, c)
)")},
      // Dequantised weights, scaled by column.
      {"scaled", withReducers("scaled", R"(
  x = bf16[48,40] parameter(0)
  w = s8[40,32] parameter(1)
  s = bf16[32] parameter(2)
  f = bf16[40,32] convert(w)
  ss = bf16[40,32] broadcast(s), dimensions={1}
  g = bf16[40,32] multiply(f, ss)
  c = f32[48,32] dot(x, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  low = f32[] constant(-inf)
  m = f32[48] reduce(c, low), dimensions={1}, to_apply=max
  ms = f32[48,32] broadcast(m), dimensions={0}
  ROOT y = f32[48,32] subtract(c, ms)
)")},
  };
}

/// Operands that are computed are rounded once more or less, before sums.
inline double chainTolerance(DType type) { return std::max(toleranceOf(type), 0x1p-5); }

/// The plan of a module whose entry is one kernel.
struct ChainKernel {
  std::shared_ptr<const Module> module;
  KernelPlan plan;

  explicit ChainKernel(const std::string &text) {
    auto imported = importBuffer(std::make_shared<SourceBuffer>("chain.hlo.txt", text));
    if (!imported) {
      ADD_FAILURE() << takeDiag(imported.takeError()).str();
      return;
    }
    module = std::make_shared<const Module>(std::move(*imported));
    auto made = planOfEntry(module);
    if (made)
      plan = std::move(*made);
    else
      ADD_FAILURE() << takeDiag(made.takeError()).str();
  }

  /// Tile sizes of whole instructions, or any up to `limit`, by a seed.
  std::vector<int64_t> draw(std::mt19937_64 &random, Instruction instruction,
                            int64_t limit = INT64_MAX) const {
    constexpr int64_t least = 16; // rows of a warp, keys of a product
    const bool isMatrix = instruction != Instruction::Fma;
    const bool isGroup = instruction == Instruction::Wgmma;
    const int64_t warps = (isGroup ? 4 : 1) * (1 + static_cast<int64_t>(random() % 2));
    std::vector<int64_t> values;
    for (const TileParameter &parameter : plan.tiled->space.parameters) {
      const bool isParallel = parameter.role == TileParameter::Role::Parallel;
      const int64_t block = isGroup && isParallel ? least * warps : least;
      int64_t most = isMatrix ? parameter.largest() : std::min(parameter.largest(), limit);
      if (parameter.role == TileParameter::Role::Schedule)
        values.push_back(parameter.name == "warps" ? warps : 1);
      else if (isMatrix && most < least && isParallel)
        values.push_back(1); // of a batch
      else if (random() % 3 == 0 || (isMatrix && most < block))
        values.push_back(most);
      else if (isMatrix)
        values.push_back(block * (1 + static_cast<int64_t>(random() >> 1) % (most / block)));
      else
        values.push_back(1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)));
    }
    return values;
  }
};

} // namespace tilewright::program::testing
