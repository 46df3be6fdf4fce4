// Building nodes, sums, min and max.
#include "tests/proofs/obligation.h"

namespace tilewright::proofs {

namespace {

using z3::expr;

expr least(const expr &a, const expr &b) { return z3::ite(a <= b, a, b); }
expr most(const expr &a, const expr &b) { return z3::ite(a <= b, b, a); }
expr truth(const expr &holds) {
  return z3::ite(holds, holds.ctx().int_val(1), holds.ctx().int_val(0));
}
expr chosen(const expr &c, const expr &a, const expr &b) { return z3::ite(c != 0, a, b); }

} // namespace

std::vector<Claim> sumClaims() {
  return {
      {Rule::OrderOperands,
       "op is +, min, max or =",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y");
         o.show(x + y == y + x);
         o.show(least(x, y) == least(y, x));
         o.show(most(x, y) == most(y, x));
         o.show(truth(x == y) == truth(y == x));
       },
       {}},
      {Rule::OrderOperands,
       "op is ·",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y");
         o.show(x * y == y * x);
       },
       {}},
      {Rule::AddZero, "", [](Obligation &o) { o.show(o.any("x") + 0 == o.any("x")); }, {}},
      {Rule::MulOne, "", [](Obligation &o) { o.show(o.any("x") * 1 == o.any("x")); }, {}},
      {Rule::MulZero, "", [](Obligation &o) { o.show(o.any("x") * 0 == 0); }, {}},
      {Rule::DivideByOne,
       "",
       [](Obligation &o) {
         expr x = o.any("x");
         o.showFloor(x, o.number(1), x);
         o.showCeil(x, o.number(1), x);
       },
       {}},
      {Rule::ModOne,
       "",
       [](Obligation &o) {
         expr x = o.any("x");
         o.showMod(x, o.number(1), o.number(0), x);
       },
       {}},
      {Rule::SameOperands,
       "",
       [](Obligation &o) {
         expr x = o.any("x");
         o.show(least(x, x) == x);
         o.show(most(x, x) == x);
       },
       {}},
      {Rule::KnownVariable,
       "",
       [](Obligation &o) {
         expr v = o.any("v"), c = o.constant("c");
         o.assume(c <= v && v <= c);
         o.show(v == c);
       },
       {}},
      {Rule::FlattenSum,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y"), w = o.any("w");
         o.show(x + (y + w) == (x + y) + w);
       },
       {}},
      {Rule::CollectTerms,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), c = o.constant("c"), k = o.constant("k");
         o.show(c * x + k * x == (c + k) * x);
       },
       {}},
      {Rule::Distribute,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y"), a = o.any("a"), b = o.any("b");
         o.show((x + y) * (a + b) == x * a + x * b + y * a + y * b);
       },
       {}},
      {Rule::RecombineMod,
       "x = e·q + r",
       [](Obligation &o) {
         expr c = o.constant("c"), w = o.any("w"), e = o.atLeast("e", 1), q = o.any("q"),
              r = o.below("r", e), x = e * q + r;
         o.showFloor(x, e, q);
         o.showMod(x, e, r, q);
         o.show(c * w * r + c * w * e * q == c * w * x);
       },
       {}},
      {Rule::RecombineCongruent,
       "y = d·q + r, x = y + d·j",
       [](Obligation &o) {
         expr c = o.constant("c"), w = o.any("w"), d = o.positive("d"), q = o.any("q"),
              r = o.below("r", d), j = o.any("j"), y = d * q + r, x = y + d * j;
         o.showFloor(y, d, q);
         o.showMod(x, d, r, q + j);
         o.show(c * w * r + c * w * d * q == c * w * y);
       },
       {}},
      {Rule::RecombineMods,
       "z = d·(m·p + s) + r, x = z + d·j, y = m·p + s + m·i",
       [](Obligation &o) {
         expr c = o.constant("c"), w = o.any("w"), d = o.positive("d"), m = o.positive("m"),
              p = o.any("p"), s = o.below("s", m), r = o.below("r", d), i = o.any("i"),
              j = o.any("j"), z = d * (m * p + s) + r, x = z + d * j, y = m * p + s + m * i;
         o.showMod(x, d, r, m * p + s + j);
         o.showMod(y, m, s, p + i);
         o.showMod(z, d * m, r + d * s, p);
         o.show(c * w * r + c * w * d * s == c * w * (r + d * s));
       },
       {}},
      {Rule::RecombineFloorDiv,
       "x = e·q + r",
       [](Obligation &o) {
         expr c = o.constant("c"), w = o.any("w"), e = o.atLeast("e", 1), q = o.any("q"),
              r = o.below("r", e), x = e * q + r;
         o.showFloor(x, e, q);
         o.showMod(x, e, r, q);
         o.show(c * w * x - c * w * e * q == c * w * r);
       },
       {}},
      {Rule::CompareSame,
       "",
       [](Obligation &o) {
         expr x = o.any("x");
         o.show(truth(x >= x) == o.number(1));
         o.show(truth(x == x) == o.number(1));
       },
       {}},
      {Rule::SelectKnown,
       "",
       [](Obligation &o) {
         expr c = o.constant("c"), x = o.any("x"), y = o.any("y");
         o.show(z3::implies(c != 0, chosen(c, x, y) == x));
         o.show(z3::implies(c == 0, chosen(c, x, y) == y));
       },
       {}},
      {Rule::SelectSame,
       "",
       [](Obligation &o) {
         expr a = o.any("a"), x = o.any("x");
         o.show(chosen(a, x, x) == x);
       },
       {}},
      {Rule::CompareByRange,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y");
         o.show(z3::implies(x - y >= 0, truth(x >= y) == 1));
         o.show(z3::implies(x - y < 0, truth(x >= y) == 0));
         o.show(z3::implies(x - y == 0, truth(x == y) == 1));
         o.show(z3::implies(x - y != 0, truth(x == y) == 0));
       },
       {}},
      {std::nullopt,
       "pow2Ceil grows with its operand: p and q are the least powers of two at or above x and y",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y"), p = o.any("p"), q = o.any("q");
         o.assume(x <= y);
         o.assume(q >= y);
         o.assume(z3::implies(q >= x, p <= q)); // p is the least, and q is one
         o.show(p <= q);
       },
       {}},
      {std::nullopt,
       "log2 grows with its operand: p and q are the largest powers of two at or below x and y",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y"), p = o.any("p"), q = o.any("q");
         o.assume(x <= y);
         o.assume(p <= x);
         o.assume(z3::implies(p <= y, p <= q)); // q is the largest, and p is one
         o.show(p <= q);
       },
       {}},
      {Rule::PowerByRange,
       "l <= x <= h gives f(l) <= f(x) <= f(h)",
       [](Obligation &o) {
         expr c = o.any("c"), fl = o.any("fl"), fx = o.any("fx"), fh = o.any("fh");
         o.assume(fl <= fx && fx <= fh);
         o.assume(fl == c && fh == c);
         o.show(fx == c);
       },
       {}},
      {Rule::SelectByRange,
       "",
       [](Obligation &o) {
         expr a = o.any("a"), x = o.any("x"), y = o.any("y");
         o.assume(a != 0);
         o.show(chosen(a, x, y) == x);
       },
       {}},
      {Rule::SelectTruth,
       "",
       [](Obligation &o) {
         expr a = o.atLeast("a", 0);
         o.assume(a <= 1);
         o.show(chosen(a, o.number(1), o.number(0)) == a);
       },
       {}},
      {Rule::SelectMinMax,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y"), c = truth(x >= y);
         o.show(chosen(c, x, y) == most(x, y));
         o.show(chosen(c, y, x) == least(x, y));
       },
       {}},
      {Rule::SelectEqual,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y"), c = truth(x == y);
         o.show(chosen(c, x, y) == y);
         o.show(chosen(c, y, x) == x);
       },
       {}},
      {Rule::FlattenMinMax,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y"), w = o.any("w");
         o.show(least(x, least(y, w)) == least(least(x, y), w));
         o.show(most(x, most(y, w)) == most(most(x, y), w));
         o.show(least(x, least(x, y)) == least(x, y));
         o.show(most(x, most(x, y)) == most(x, y));
       },
       {}},
      {Rule::MinMaxByRange,
       "",
       [](Obligation &o) {
         expr x = o.any("x"), y = o.any("y");
         o.assume(y - x >= 0);
         o.show(least(x, y) == x);
         o.show(most(x, y) == y);
       },
       {}},
      {Rule::MinMaxCommonTerms,
       "",
       [](Obligation &o) {
         expr w = o.any("w"), a = o.any("a"), b = o.any("b");
         o.show(least(w + a, w + b) == w + least(a, b));
         o.show(most(w + a, w + b) == w + most(a, b));
       },
       {}},
      {Rule::MinMaxCommonFactor,
       "b = a + j, and the other way round",
       [](Obligation &o) {
         expr g = o.positive("g"), a = o.any("a"), j = o.atLeast("j", 0), b = a + j;
         o.show(least(g * a, g * b) == g * a);
         o.show(least(g * b, g * a) == g * a);
         o.show(most(g * a, g * b) == g * b);
         o.show(most(g * b, g * a) == g * b);
       },
       {}},
  };
}

} // namespace tilewright::proofs
