// The steps of a program map (analysis/tiling/program_map.h): each is a bijection for all counts.
#include "tests/proofs/obligation.h"

namespace tilewright::proofs {

using z3::expr;

std::vector<Claim> mappingClaims() {
  return {
      {std::nullopt,
       "program maps: (q, r) of m · n and back: x = n·q + r",
       [](Obligation &o) {
         expr m = o.positive("m"), n = o.positive("n"), q = o.below("q", m), r = o.below("r", n),
              x = n * q + r;
         o.show(x >= o.number(0));
         o.show(x < m * n);
         o.showFloor(x, n, q);
         o.showMod(x, n, r, q);
       },
       {}},
      {std::nullopt,
       "program maps: every x < m · n has q < m",
       [](Obligation &o) {
         expr m = o.positive("m"), n = o.positive("n"), j = o.atLeast("j", 0), r = o.below("r", n),
              q = m + j; // q >= m
         o.show(!(n * q + r < m * n));
       },
       {}},
      {std::nullopt,
       "program maps: the tile in row first + r and column c of a group of height h <= g is number "
       "C·first + h·c + r; its group, row and column come back",
       [](Obligation &o) {
         expr columns = o.positive("C"), rest = o.atLeast("rest", 0), h = o.atLeast("h", 1),
              r = o.below("r", h), c = o.below("c", columns), g = h + rest;
         expr inGroup = h * c + r;
         o.show(inGroup >= o.number(0));
         // So it is below g·C: x // (g·C) is the group for x = g·C·group + inGroup.
         o.show(inGroup < h * columns);
         o.show(h * columns <= g * columns);
         o.showFloor(inGroup, h, c);
         o.showMod(inGroup, h, r, c);
       },
       {}},
      {std::nullopt,
       "program maps: x = d·k + i with i < e <= d gives x // d = k and x mod d = i",
       [](Obligation &o) {
         expr d = o.positive("d"), k = o.atLeast("k", 0), e = o.atLeast("e", 0),
              i = o.below("i", e), x = d * k + i;
         o.assume(e <= d);
         o.showFloor(x, d, k);
         o.showMod(x, d, i, k);
       },
       {}},
      {std::nullopt,
       "program maps: what is left of the tiles behind whole groups is less than h columns of the "
       "last one: rows·C - C·first = h·C",
       [](Obligation &o) {
         expr columns = o.positive("C"), first = o.atLeast("first", 0), h = o.atLeast("h", 1),
              i = o.atLeast("i", 0), rows = first + h;
         o.assume(columns * first + i < rows * columns);
         o.show(i < h * columns);
       },
       {}},
      {std::nullopt,
       "program maps: item p + P·t with p < P names one CTA and one turn, t < T where items "
       "are at most P·T",
       [](Obligation &o) {
         expr programs = o.positive("P"), turns = o.positive("T"), j = o.atLeast("j", 0),
              p = o.below("p", programs), t = o.atLeast("t", 0), items = o.atLeast("items", 0);
         o.showFloor(programs * t + p, programs, t);
         o.showMod(programs * t + p, programs, p, t);
         o.assume(items <= programs * turns);
         o.show(!(programs * (turns + j) + p < items));
       },
       {}},
      {std::nullopt,
       "split-K: runs of L >= ceil(n / S) steps cover n steps, each once",
       [](Obligation &o) {
         expr length = o.positive("L"), splits = o.positive("S"), n = o.atLeast("n", 0),
              s = o.atLeast("s", 0), r = o.below("r", length), j = o.atLeast("j", 0);
         o.assume(n <= length * splits);
         expr step = length * s + r; // of split s alone
         o.showFloor(step, length, s);
         o.show(!(length * (splits + j) + r < n)); // no step of a split from S on
       },
       {}},
  };
}

} // namespace tilewright::proofs
