// Attention as HLO, for tests.
#pragma once

#include "codegen/testing/lowering.h"

#include <fmt/format.h>

namespace tilewright {

/// Keys that rows see. LeftPadding: causal, without the first 20 keys, so that the first 20 rows
/// see none. Steep: those from 3·row + 10 on, so that later rows see none and rows of one tile meet
/// their first key in different steps. Nothing: none at all.
enum class Mask { None, Causal, Window, Added, LeftPadding, Steep, Nothing };

/// Attention of `heads` heads; P is normalised before the second dot or its result is. Scores that
/// a mask leaves out are `fill`.
inline std::string attention(int64_t heads, int64_t queries, int64_t keys, int64_t depth,
                             int64_t columns, Mask mask = Mask::None, bool isNormalisedFirst = true,
                             const std::string &type = "bf16", const std::string &fill = "-inf") {
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
    line("fill = f32[] constant(" + fill + ")");
    line("fills = " + s + " broadcast(fill), dimensions={}");
    auto number = [&](const std::string &name, int64_t value) {
      line(name + "s = s32[] constant(" + std::to_string(value) + ")");
      line(name + " = " + integers + " broadcast(" + name + "s), dimensions={}");
    };
    std::string condition = "seen";
    if (mask == Mask::Steep || mask == Mask::Nothing) {
      number("three", mask == Mask::Steep ? 3 : 0);
      number("start", mask == Mask::Steep ? 10 : keys);
      line("steep = " + integers + " multiply(row, three)");
      line("from = " + integers + " add(steep, start)");
      line("seen = " + flags + " compare(column, from), direction=GE");
    } else {
      line("seen = " + flags + " compare(row, column), direction=GE");
    }
    if (mask == Mask::LeftPadding) {
      number("pad", 20);
      line("kept = " + flags + " compare(column, pad), direction=GE");
      line("both = " + flags + " and(seen, kept)");
      condition = "both";
    }
    if (mask == Mask::Window) {
      number("w", 20);
      line("far = " + integers + " subtract(row, w)");
      line("near = " + flags + " compare(column, far), direction=GT");
      line("both = " + flags + " and(seen, near)");
      condition = "both";
    }
    line("masked = " + s + " select(" + condition + ", scaled, fills)");
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
