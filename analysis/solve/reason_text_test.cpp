#include "analysis/solve/reason_text.h"
#include "analysis/solve/testing/solve.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace tilewright {
namespace {

/// Tiles a and b, and what they take: "{0} B, of at most 100 B".
struct Setting {
  ExprContext c;
  Expr a = c.variable(VarKind::TileParam, "a"), b = c.variable(VarKind::TileParam, "b");
  ConstraintSystem system{{{a.variable(), "a", {1, 2, 4, 8}}, {b.variable(), "b", {1, 2, 4, 8}}},
                          {}};

  size_t add(Formula formula, std::string text, std::vector<Expr> args) {
    system.constraints.push_back(
        {std::move(formula), {OpId(), "device", -1, -1, "r", std::move(text), std::move(args)}});
    return system.constraints.size() - 1;
  }
};

} // namespace

TEST(ReasonText, AmountsOfFreeParametersAreTheNearestToTheLimit) {
  Setting s;
  const Expr bytes = s.a * s.b * 30;
  const size_t memory =
      s.add(Formula::lessEqual(bytes, s.c.constant(100)), "{0} B, of at most 100 B", {bytes});
  const size_t rows =
      s.add(Formula::divides(s.c.constant(4), s.a), "tile {0} must be a multiple of 4", {s.a});
  const std::vector<size_t> both{memory, rows};
  EXPECT_EQ(reasonText(s.system, both, memory), "device: at best 120 B, of at most 100 B");
  EXPECT_EQ(reasonText(s.system, {}, memory), "device: at best 30 B, of at most 100 B");
  EXPECT_EQ(reasonText(s.system, both, rows), "device: tile a must be a multiple of 4");
  // What is chosen has numbers of its own.
  s.system.parameters[1].candidates = {8};
  EXPECT_EQ(reasonText(s.system, both, memory), "device: at best 960 B, of at most 100 B");
  s.system.parameters[0].candidates = {8};
  EXPECT_EQ(reasonText(s.system, both, memory), "device: 1920 B, of at most 100 B");
}

TEST(ReasonText, LongTextsLoseTheirSmallestParts) {
  Setting s;
  const size_t memory = s.add(Formula::lessEqual(s.a * 1111, s.c.constant(100)),
                              "{0} B, of at most 100 B", {s.a * 1111});
  for (int64_t part : {1, 1000, 10, 100})
    s.system.constraints[memory].from.parts.emplace_back(
        s.a * part, fmt::format(" B for operand {} of a product with a long name", part));
  const std::string text = reasonText(s.system, {}, memory);
  EXPECT_EQ(text,
            "device: at best 1111 B, of at most 100 B: 1000 B for operand 1000 of a product "
            "with a long name, 100 B for operand 100 of a product with a long name and 2 more");
  // A long expression that is no amount says what it depends on.
  const Expr longOne = (s.a * 3 + s.b).ceilDiv(7).max(s.a) * (s.b * 5 + 1).floorDiv(3);
  const size_t even =
      s.add(Formula::divides(s.c.constant(2), longOne), "{0} must be even", {longOne});
  EXPECT_EQ(reasonText(s.system, {}, even), "device: f(a, b) must be even");
}

/// The number is the least that the other constraints leave, by trying all points.
TEST(ReasonText, AgreesWithAllPoints) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    Setting s;
    auto upTo = [&](uint64_t most) { return int64_t(random() % most) + 1; };
    const Expr amount = (s.a * upTo(5) + s.b * upTo(5)).ceilDiv(upTo(3)) * upTo(9);
    const Expr limit = s.a * upTo(3);
    s.add(Formula::lessEqual(amount, limit), "{0} of {1}", {amount, limit});
    s.add(Formula::divides(s.c.constant(upTo(2)), s.a), "", {});
    s.add(Formula::lessEqual(s.c.constant(upTo(6)), s.b), "", {});
    const std::vector<size_t> others{1, 2};
    int64_t best = INT64_MAX;
    for (const std::vector<int64_t> &point : testing::bruteForce(s.system.withConstraints(others)))
      best = std::min(best, *evaluate(amount, s.system.assign(point)) -
                                *evaluate(limit, s.system.assign(point)));
    const std::string text = reasonText(s.system, std::vector<size_t>{0, 1, 2}, 0);
    long long has = 0, most = 0;
    ASSERT_EQ(std::sscanf(text.c_str(), "device: at best %lld of %lld", &has, &most), 2) << text;
    EXPECT_EQ(has - most, best) << text;
  }
}

} // namespace tilewright
