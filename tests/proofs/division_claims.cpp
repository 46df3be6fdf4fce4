// floordiv, ceildiv and mod, by constants and by expressions.
#include "tests/proofs/obligation.h"

namespace tilewright::proofs {

using z3::expr;

std::vector<Claim> divisionClaims() {
  return {
      {std::nullopt,
       "d·q <= x < d·q + d determines q; x = d·p + r, q = p ± (1 + j)",
       [](Obligation &o) {
         expr d = o.positive("d"), p = o.any("p"), j = o.atLeast("j", 0), r = o.below("r", d),
              x = d * p + r;
         o.show(!(d * (p + 1 + j) <= x));
         o.show(!(x < d * (p - 1 - j) + d));
       },
       {}},
      {std::nullopt,
       "d·q - d < x <= d·q determines q; x = d·p - r, q = p ± (1 + j)",
       [](Obligation &o) {
         expr d = o.positive("d"), p = o.any("p"), j = o.atLeast("j", 0), r = o.below("r", d),
              x = d * p - r;
         o.show(!(d * (p + 1 + j) - d < x));
         o.show(!(x <= d * (p - 1 - j)));
       },
       {}},
      {std::nullopt,
       "x = d·q + r with 0 <= r < d determines r",
       [](Obligation &o) {
         expr d = o.positive("d"), p = o.any("p"), j = o.atLeast("j", 0), r = o.below("r", d),
              s = o.below("s", d);
         o.show(!(d * p + r == d * (p + 1 + j) + s));
       },
       {}},
      {Rule::CeilToFloor,
       "x = d·q - r",
       [](Obligation &o) {
         expr d = o.positive("d"), q = o.any("q"), r = o.below("r", d), x = d * q - r;
         o.showCeil(x, d, q);
         o.showFloor(x + d - 1, d, q);
       },
       {}},
      {Rule::FloorDivOnePeriod,
       "",
       [](Obligation &o) {
         expr d = o.positive("d"), q = o.any("q"), x = o.any("x");
         o.assume(d * q <= x && x < d * q + d);
         o.showFloor(x, d, q);
       },
       {}},
      {Rule::FloorDivMultiples,
       "r = d·q + s",
       [](Obligation &o) {
         expr d = o.positive("d"), w = o.any("w"), q = o.any("q"), s = o.below("s", d),
              r = d * q + s;
         o.showFloor(r, d, q);
         o.showFloor(d * w + r, d, w + q);
       },
       {}},
      {Rule::FloorDivSplit,
       "r = g·q + t, a + q = d·p + s",
       [](Obligation &o) {
         expr g = o.positive("g"), d = o.positive("d"), q = o.any("q"), p = o.any("p"),
              t = o.below("t", g), s = o.below("s", d), r = g * q + t, a = d * p + s - q;
         o.showFloor(a + q, d, p);
         o.showFloor(g * a + r, g * d, p);
       },
       {}},
      {Rule::FloorDivNested,
       "y = c·(d·p + t - r) + s",
       [](Obligation &o) {
         expr c = o.positive("c"), d = o.positive("d"), p = o.any("p"), r = o.any("r"),
              t = o.below("t", d), s = o.below("s", c), y = c * (d * p + t - r) + s;
         o.showFloor(y, c, d * p + t - r);
         o.showFloor(d * p + t - r + r, d, p);
         o.showFloor(y + c * r, c * d, p);
       },
       {}},
      {Rule::FloorDivOfMod,
       "x = d·(m·p + s) + t",
       [](Obligation &o) {
         expr d = o.positive("d"), m = o.positive("m"), p = o.any("p"), s = o.below("s", m),
              t = o.below("t", d), x = d * (m * p + s) + t;
         o.showMod(x, d * m, d * s + t, p);
         o.showFloor(d * s + t, d, s);
         o.showFloor(x, d, m * p + s);
         o.showMod(m * p + s, m, s, p);
       },
       {}},
      {Rule::ModOnePeriod,
       "",
       [](Obligation &o) {
         expr d = o.positive("d"), q = o.any("q"), x = o.any("x");
         o.assume(d * q <= x && x < d * q + d);
         o.showMod(x, d, x - d * q, q);
       },
       {}},
      {Rule::ModOpen,
       "d = g·b, c = g·a, m = b·n: what \"d divides c·m\" means; y = m·p + s",
       [](Obligation &o) {
         expr g = o.positive("g"), b = o.positive("b"), n = o.positive("n"), a = o.constant("a"),
              d = g * b, c = g * a, m = b * n, p = o.any("p"), s = o.below("s", m), q = o.any("q"),
              v = o.below("v", d), y = m * p + s, r = d * q + v - c * s;
         o.showMod(y, m, s, p);
         o.showMod(c * s + r, d, v, q);
         o.showMod(c * y + r, d, v, q + a * n * p);
       },
       {}},
      {Rule::ModReduce,
       "c' = c + d·i, k' = k + d·j, c·y + k = d·q + v",
       [](Obligation &o) {
         expr d = o.positive("d"), c = o.constant("c"), i = o.constant("i"), j = o.constant("j"),
              y = o.any("y"), q = o.any("q"), v = o.below("v", d), k = d * q + v - c * y;
         o.showMod(c * y + k, d, v, q);
         o.showMod((c + d * i) * y + (k + d * j), d, v, q + i * y + j);
       },
       {}},
      {Rule::ModSplit,
       "r = g·q + t, a + q = d·p + s",
       [](Obligation &o) {
         expr g = o.positive("g"), d = o.positive("d"), q = o.any("q"), p = o.any("p"),
              t = o.below("t", g), s = o.below("s", d), r = g * q + t, a = d * p + s - q;
         o.showMod(a + q, d, s, p);
         o.showMod(g * a + r, g * d, g * s + r - g * q, p);
       },
       {}},
      {Rule::ExtractFloorDiv,
       "r = e·q + s",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), w = o.any("w"), q = o.any("q"), s = o.below("s", e),
              r = e * q + s;
         o.showFloor(r, e, q);
         o.showFloor(e * w + r, e, w + q);
       },
       {}},
      {Rule::ExtractCeilDiv,
       "r = e·q - s",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), w = o.any("w"), q = o.any("q"), s = o.below("s", e),
              r = e * q - s;
         o.showCeil(r, e, q);
         o.showCeil(e * w + r, e, w + q);
       },
       {}},
      {Rule::ExtractMod,
       "r = e·q + s",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), w = o.any("w"), q = o.any("q"), s = o.below("s", e),
              r = e * q + s;
         o.showMod(r, e, s, q);
         o.showMod(e * w + r, e, s, w + q);
       },
       {}},
      {Rule::SymbolicFloorDivOnePeriod,
       "",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), q = o.any("q"), x = o.any("x");
         o.assume(e * q <= x && x < e * q + e);
         o.showFloor(x, e, q);
       },
       {}},
      {Rule::SymbolicFloorDivOnePeriod,
       "q = 0: x >= 0, e - x >= 1",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), x = o.atLeast("x", 0);
         o.assume(e - x >= 1);
         o.showFloor(x, e, o.number(0));
       },
       {}},
      {Rule::SymbolicFloorDivOnePeriod,
       "q = -1: x <= -1, x + e >= 0",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), x = o.any("x");
         o.assume(x <= -1 && x + e >= 0);
         o.showFloor(x, e, o.number(-1));
       },
       {}},
      {Rule::SymbolicCeilDivOnePeriod,
       "",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), q = o.any("q"), x = o.any("x");
         o.assume(e * q <= x - 1 && x - 1 < e * q + e);
         o.showCeil(x, e, q + 1);
       },
       {}},
      {Rule::SymbolicModOnePeriod,
       "",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), q = o.any("q"), x = o.any("x");
         o.assume(e * q <= x && x < e * q + e);
         o.showMod(x, e, x - e * q, q);
       },
       {}},
      {Rule::DivideOfMod,
       "r = x mod e",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), r = o.below("r", e);
         o.showFloor(r, e, o.number(0));
         o.showMod(r, e, r, o.number(0));
       },
       {}},
      {Rule::CommonFactorFloorDiv,
       "a = b·q + r",
       [](Obligation &o) {
         expr f = o.atLeast("f", 1), b = o.atLeast("b", 1), q = o.any("q"), r = o.below("r", b),
              a = b * q + r;
         o.showFloor(a, b, q);
         o.showFloor(f * a, f * b, q);
       },
       {}},
      {Rule::CommonFactorCeilDiv,
       "a = b·q - r",
       [](Obligation &o) {
         expr f = o.atLeast("f", 1), b = o.atLeast("b", 1), q = o.any("q"), r = o.below("r", b),
              a = b * q - r;
         o.showCeil(a, b, q);
         o.showCeil(f * a, f * b, q);
       },
       {}},
      {Rule::CommonFactorMod,
       "a = b·q + r",
       [](Obligation &o) {
         expr f = o.atLeast("f", 1), b = o.atLeast("b", 1), q = o.any("q"), r = o.below("r", b),
              a = b * q + r;
         o.showMod(a, b, r, q);
         o.showMod(f * a, f * b, f * r, q);
       },
       {}},
      {Rule::SymbolicNested,
       "y = f·(e·p + t) + s",
       [](Obligation &o) {
         expr e = o.atLeast("e", 1), f = o.atLeast("f", 1), p = o.any("p"), t = o.below("t", e),
              s = o.below("s", f), y = f * (e * p + t) + s;
         o.showFloor(y, f, e * p + t);
         o.showFloor(e * p + t, e, p);
         o.showFloor(y, f * e, p);
       },
       {}},
  };
}

} // namespace tilewright::proofs
