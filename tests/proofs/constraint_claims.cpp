// Constraints of maps. Ends of intervals are shown one by one, so that either may be infinite.
#include "tests/proofs/obligation.h"

namespace tilewright::proofs {

using z3::expr;

std::vector<Claim> constraintClaims() {
  return {
      {Rule::ConstraintHolds,
       "x in [lo, hi], l <= lo, hi <= h",
       [](Obligation &o) {
         expr x = o.any("x"), lo = o.any("lo"), hi = o.any("hi"), l = o.any("l"), h = o.any("h");
         o.assume(lo <= x && x <= hi && l <= lo && hi <= h);
         o.show(l <= x && x <= h);
       },
       {}},
      {Rule::ConstraintFails,
       "x in [lo, hi], hi < l or h < lo",
       [](Obligation &o) {
         expr x = o.any("x"), lo = o.any("lo"), hi = o.any("hi"), l = o.any("l"), h = o.any("h");
         o.assume(lo <= x && x <= hi && (hi < l || h < lo));
         o.show(!(l <= x && x <= h));
       },
       {}},
      {Rule::ConstraintShift,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), k = o.constant("k"), l = o.any("l"), h = o.any("h");
         o.show((l <= x + k) == (l - k <= x));
         o.show((x + k <= h) == (x <= h - k));
       },
       {}},
      {Rule::ConstraintScale,
       "c > 0: l = c·p - r, h = c·q + s; x at or beyond each end by j",
       [](Obligation &o) {
         expr c = o.positive("c"), p = o.any("p"), q = o.any("q"), r = o.below("r", c),
              s = o.below("s", c), j = o.atLeast("j", 0), l = c * p - r, h = c * q + s;
         o.show(l <= c * (p + j));
         o.show(!(l <= c * (p - 1 - j)));
         o.show(c * (q - j) <= h);
         o.show(!(c * (q + 1 + j) <= h));
       },
       {}},
      {Rule::ConstraintScale,
       "c < 0: [l, h] of -c·x is [-h, -l] of c·x",
       [](Obligation &o) {
         expr y = o.any("y"), l = o.any("l"), h = o.any("h");
         o.show((l <= -y) == (y <= -l));
         o.show((-y <= h) == (-h <= y));
       },
       {}},
      {Rule::ConstraintFloorDiv,
       "x = d·q + r; q at or beyond each end by j",
       [](Obligation &o) {
         expr d = o.positive("d"), r = o.below("r", d), l = o.any("l"), h = o.any("h"),
              j = o.atLeast("j", 0);
         o.show(d * l <= d * (l + j) + r);
         o.show(!(d * l <= d * (l - 1 - j) + r));
         o.show(d * (h - j) + r <= d * h + d - 1);
         o.show(!(d * (h + 1 + j) + r <= d * h + d - 1));
       },
       {}},
      {Rule::ConstraintModPoint,
       "x = m·q + k",
       [](Obligation &o) {
         expr m = o.positive("m"), k = o.below("k", m), q = o.any("q");
         o.showMod(m * q + k, m, k, q);
       },
       {}},
      {Rule::ConstraintHighDigits,
       "a at or beyond each end by j",
       [](Obligation &o) {
         expr g = o.positive("g"), r = o.below("r", g), l = o.any("l"), h = o.any("h"),
              j = o.atLeast("j", 0);
         o.show(g * l <= g * (l + j) + r);
         o.show(!(g * l <= g * (l - 1 - j) + r));
         o.show(g * (h - j) + r <= g * h + g - 1);
         o.show(!(g * (h + 1 + j) + r <= g * h + g - 1));
       },
       {}},
      {Rule::ConstraintNarrows,
       "y is c·v; dividing by c is ConstraintScale",
       [](Obligation &o) {
         expr y = o.any("y"), r = o.any("r"), lo = o.any("lo"), hi = o.any("hi"), l = o.any("l"),
              h = o.any("h");
         o.assume(lo <= r && r <= hi && l <= y + r && y + r <= h);
         o.show(l - hi <= y && y <= h - lo);
       },
       {}},
      {Rule::CongruenceScale,
       "k·b = 1 + m·i; k·x + c = n + m·j gives x = (n - c)·b + m·(b·j - i·x)",
       [](Obligation &o) {
         expr k = o.positive("k"), b = o.positive("b"), m = o.positive("m"), i = o.constant("i"),
              x = o.any("x"), c = o.any("c"), j = o.any("j"), n = k * x + c - m * j;
         o.assume(k * b == 1 + m * i);
         o.show(x == (n - c) * b + m * (b * j - i * x));
       },
       {{{"k", 3}, {"b", 5}, {"m", 7}, {"i", 2}},
        {{"k", 7}, {"b", 7}, {"m", 8}, {"i", 6}},
        {{"k", 11}, {"b", 3}, {"m", 16}, {"i", 2}},
        {{"k", 1}, {"b", 1}, {"m", 9}, {"i", 0}}}},
      {Rule::CongruenceScale,
       "k·b = 1 + m·i; x = (n - c)·b + m·t gives k·x + c = n + m·j",
       [](Obligation &o) {
         expr k = o.positive("k"), b = o.positive("b"), m = o.positive("m"), i = o.constant("i"),
              n = o.any("n"), c = o.any("c"), t = o.any("t"), x = (n - c) * b + m * t;
         o.assume(k * b == 1 + m * i);
         o.show(k * x + c == n + m * (i * (n - c) + k * t));
       },
       {{{"k", 3}, {"b", 5}, {"m", 7}, {"i", 2}},
        {{"k", 7}, {"b", 7}, {"m", 8}, {"i", 6}},
        {{"k", 11}, {"b", 3}, {"m", 16}, {"i", 2}},
        {{"k", 1}, {"b", 1}, {"m", 9}, {"i", 0}}}},
      {Rule::CongruenceNarrows,
       "v = l + s + m·n, s = (k - l) mod m, for n >= 0 and n = -1 - j",
       [](Obligation &o) {
         expr m = o.positive("m"), l = o.any("l"), s = o.below("s", m), j = o.atLeast("j", 0);
         o.show(l + s <= l + s + m * j);
         o.show(!(l <= l + s + m * (-1 - j)));
       },
       {}},
      {Rule::CongruenceNarrows,
       "v = h - s - m·n, s = (h - k) mod m, for n >= 0 and n = -1 - j",
       [](Obligation &o) {
         expr m = o.positive("m"), h = o.any("h"), s = o.below("s", m), j = o.atLeast("j", 0);
         o.show(h - s - m * j <= h - s);
         o.show(!(h - s - m * (-1 - j) <= h));
       },
       {}},
      {Rule::CongruenceMerge,
       "m = g·a, n = g·b, c - k = g·e, a·t = e + b·s: what is merged is both",
       [](Obligation &o) {
         expr g = o.positive("g"), a = o.positive("a"), b = o.positive("b"), k = o.any("k"),
              t = o.any("t"), s = o.any("s"), z = o.any("z"), e = a * t - b * s, c = k + g * e,
              x = k + g * a * t + g * a * b * z;
         o.show(x == k + g * a * (t + b * z));
         o.show(x == c + g * b * (s + a * z));
       },
       {}},
      {Rule::CongruenceMerge,
       "a·u + b·w = 1, a·y = b·v (y, v: distances to t, s): y is a multiple of b",
       [](Obligation &o) {
         expr a = o.positive("a"), b = o.positive("b"), u = o.constant("u"), w = o.constant("w"),
              y = o.any("y"), v = o.any("v");
         o.assume(a * u + b * w == 1);
         o.assume(a * y == b * v);
         o.show(y == b * (w * y + u * v));
       },
       {{{"a", 1}, {"b", 1}, {"u", 1}, {"w", 0}},
        {{"a", 3}, {"b", 2}, {"u", 1}, {"w", -1}},
        {{"a", 5}, {"b", 8}, {"u", -3}, {"w", 2}},
        {{"a", 16}, {"b", 9}, {"u", 4}, {"w", -7}}}},
      {Rule::CongruenceMerge,
       "m = g·a, n = g·b: no common x unless g divides c - k",
       [](Obligation &o) {
         expr g = o.positive("g"), a = o.positive("a"), b = o.positive("b"), k = o.any("k"),
              p = o.any("p"), q = o.any("q"), x = k + g * a * p, c = x - g * b * q;
         o.show(c - k == g * (a * p - b * q));
       },
       {}},
  };
}

} // namespace tilewright::proofs
