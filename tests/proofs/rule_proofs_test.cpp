// Every rewrite rule is proved for all integers, or says why not. The list is printed.
#include "tests/proofs/obligation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>

using namespace tilewright;
using namespace tilewright::proofs;

namespace {

/// Rules that say nothing about integers.
const std::map<Rule, const char *> byDefinition{
    {Rule::FoldPoison, "what has no value keeps none"},
    {Rule::FoldConstants, "computed by the function that evaluates expressions"},
    {Rule::DivisorNotPositive, "what has no value keeps none"},
    {Rule::EveryValue, "each value of the variable is tried"},
};

const char *name(Status status) {
  switch (status) {
  case Status::Proved:
    return "proved";
  case Status::ProvedOnGrid:
    return "proved for constants";
  case Status::Unknown:
    return "unknown";
  case Status::Refuted:
    return "refuted";
  }
  return "";
}

std::vector<Claim> allClaims() {
  std::vector<Claim> claims;
  for (const auto &part : {divisionClaims(), sumClaims(), constraintClaims()})
    claims.insert(claims.end(), part.begin(), part.end());
  return claims;
}

} // namespace

TEST(MappingProofs, EveryStepIsABijectionForAllCounts) {
  for (const Claim &claim : mappingClaims()) {
    Verdict verdict = prove(claim);
    EXPECT_EQ(verdict.status, Status::Proved) << claim.text << ": " << verdict.reason;
  }
}

TEST(RuleProofs, EveryRuleIsProved) {
  std::map<Rule, int> covered;
  for (const auto &[rule, why] : byDefinition) {
    fmt::print("{:26} by definition: {}\n", info(rule).name, why);
    ++covered[rule];
  }
  for (const Claim &claim : allClaims()) {
    Verdict verdict = prove(claim);
    std::string_view rule = claim.rule ? info(*claim.rule).name : "lemma";
    fmt::print("{:26} {} ({}){}{}\n", rule, name(verdict.status), verdict.reason,
               *claim.text ? "; " : "", claim.text);
    EXPECT_TRUE(verdict.status == Status::Proved || verdict.status == Status::ProvedOnGrid)
        << rule << ": " << verdict.reason;
    if (claim.rule)
      ++covered[*claim.rule];
  }
  for (const RuleInfo &rule : rules())
    EXPECT_TRUE(covered.count(rule.rule)) << rule.name << " has no claim";
}

// A prover that can't refute proves nothing: rules with one condition left out.
TEST(RuleProofs, WrongRulesAreRefuted) {
  using z3::expr;
  std::vector<Claim> wrong{
      {Rule::FloorDivSplit,
       "r may be g",
       [](Obligation &o) {
         expr g = o.positive("g"), d = o.positive("d"), q = o.any("q"), p = o.any("p"),
              t = o.below("t", g + 1), s = o.below("s", d), r = g * q + t, a = d * p + s - q;
         o.showFloor(g * a + r, g * d, p);
       },
       {}},
      {Rule::CommonFactorMod,
       "f may be negative",
       [](Obligation &o) {
         expr f = o.any("f"), b = o.atLeast("b", 1), q = o.any("q"), r = o.below("r", b),
              a = b * q + r;
         o.showMod(f * a, f * b, f * r, q);
       },
       {}},
      {Rule::FloorDivOfMod,
       "the divisor need not divide the modulus: (x mod 6) // 4 = (x // 4) mod 2",
       [](Obligation &o) {
         expr p = o.any("p"), r = o.below("r", o.number(6)), q = o.any("q"),
              s = o.below("s", o.number(2)), t = o.below("t", o.number(4));
         o.assume(p * 6 + r == (q * 2 + s) * 4 + t);
         o.showFloor(r, o.number(4), s);
       },
       {}},
      {Rule::MinMaxCommonFactor,
       "g may be negative",
       [](Obligation &o) {
         expr g = o.any("g"), a = o.any("a"), j = o.atLeast("j", 0), b = a + j;
         o.show(g * a <= g * b);
       },
       {}},
      {Rule::ConstraintHighDigits,
       "the upper end need not be the last of its period",
       [](Obligation &o) {
         expr g = o.number(8), r = o.below("r", g), a = o.any("a"), h = o.any("h");
         o.show((g * a + r <= g * h) == (a <= h));
       },
       {}},
  };
  for (const Claim &claim : wrong)
    EXPECT_EQ(prove(claim).status, Status::Refuted) << claim.text;
}
