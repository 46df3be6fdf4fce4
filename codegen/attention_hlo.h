// Attention as HLO, for tests.
#pragma once

#include "codegen/lowering_test_support.h"

#include <fmt/format.h>

namespace tilewright {

enum class Mask { None, Causal, Window, Added };

/// Attention of `heads` heads; P is normalised before the second dot or its result is.
inline std::string attention(int64_t heads, int64_t queries, int64_t keys, int64_t depth,
                             int64_t columns, Mask mask = Mask::None, bool isNormalisedFirst = true,
                             const std::string &type = "bf16") {
  auto three = [&](const std::string &t, int64_t x, int64_t y) {
    return fmt::format("{}[{},{},{}]", t, heads, x, y);
  };
  std::string s = three("f32", queries, keys), rows = fmt::format("f32[{},{}]", heads, queries);
  std::string hlo = "HloModule m\n"
                    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                    " ROOT m = f32[] maximum(a, b) }\n"
                    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                    " ROOT s = f32[] add(a, b) }\n"
                    "ENTRY main {\n";
  auto line = [&](const std::string &text) { hlo += "  " + text + "\n"; };
  line("q = " + three(type, queries, depth) + " parameter(0)");
  line("k = " + three(type, keys, depth) + " parameter(1)");
  line("v = " + three(type, keys, columns) + " parameter(2)");
  line("s = " + s +
       " dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={2}");
  line("c = f32[] constant(0.7)");
  line("cb = " + s + " broadcast(c), dimensions={}");
  line("scaled = " + s + " multiply(s, cb)");
  line("low = f32[] constant(-inf)");
  std::string x = "scaled";
  if (mask == Mask::Added) {
    line("bias = " + s + " parameter(3)");
    line("biased = " + s + " add(scaled, bias)");
    x = "biased";
  } else if (mask != Mask::None) {
    std::string integers = three("s32", queries, keys), flags = three("pred", queries, keys);
    line("row = " + integers + " iota(), iota_dimension=1");
    line("column = " + integers + " iota(), iota_dimension=2");
    line("seen = " + flags + " compare(row, column), direction=GE");
    line("lows = " + s + " broadcast(low), dimensions={}");
    std::string condition = "seen";
    if (mask == Mask::Window) {
      line("w = s32[] constant(20)");
      line("wb = " + integers + " broadcast(w), dimensions={}");
      line("far = " + integers + " subtract(row, wb)");
      line("near = " + flags + " compare(column, far), direction=GT");
      line("both = " + flags + " and(seen, near)");
      condition = "both";
    }
    line("masked = " + s + " select(" + condition + ", scaled, lows)");
    x = "masked";
  }
  line("top = " + rows + " reduce(" + x + ", low), dimensions={2}, to_apply=max");
  line("tops = " + s + " broadcast(top), dimensions={0,1}");
  line("below = " + s + " subtract(" + x + ", tops)");
  line("e = " + s + " exponential(below)");
  line("zero = f32[] constant(0)");
  line("total = " + rows + " reduce(e, zero), dimensions={2}, to_apply=add");
  std::string p = "e";
  if (isNormalisedFirst) {
    line("totals = " + s + " broadcast(total), dimensions={0,1}");
    line("n = " + s + " divide(e, totals)");
    p = "n";
  }
  line("p = " + three(type, queries, keys) + " convert(" + p + ")");
  std::string dot = " dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                    "lhs_contracting_dims={2}, rhs_contracting_dims={1}";
  if (isNormalisedFirst) {
    line("ROOT o = " + three(type, queries, columns) + dot);
  } else {
    line("o = " + three("f32", queries, columns) + dot);
    line("divisors = " + three("f32", queries, columns) + " broadcast(total), dimensions={0,1}");
    line("ROOT mean = " + three("f32", queries, columns) + " divide(o, divisors)");
  }
  return hlo + "}\n";
}

inline KernelSpec chainSpec(const std::string &hlo, std::vector<int64_t> tile, int64_t keyStep,
                            int64_t warps, int64_t stages,
                            Instruction instruction = Instruction::MmaSync) {
  KernelSpec spec = specFromHlo(hlo, std::move(tile), warps);
  spec.sequential = {{"o", 0, keyStep}};
  spec.schedule.stages = stages;
  spec.schedule.instruction = instruction;
  return spec;
}

} // namespace tilewright
