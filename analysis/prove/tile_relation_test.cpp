// The prover itself: it proves what is right, finds what is wrong, and says when it does not know.
#include "analysis/prove/tile_relation.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::prove;
using Status = Outcome::Status;

namespace {

/// A tile [offset : size : 1 in [lower, upper)) of a dim of `extent`, all four of any value.
struct AnyTile {
  ExprContext ctx;
  TileRelation relation;
  Expr offset = ctx.variable(VarKind::ProgramId, "offset");
  Expr lower = ctx.variable(VarKind::ProgramId, "lower");
  Expr upper = ctx.variable(VarKind::ProgramId, "upper");
  Expr size = ctx.variable(VarKind::TileParam, "size");

  explicit AnyTile(int64_t extent) {
    relation.fromExtents = {extent};
    relation.from = {{offset, size, ctx.constant(1), lower, upper}};
    relation.variables = {{offset, {}, {}},
                          {size, {1, INT64_MAX}, {}},
                          {lower, {0, extent}, {}},
                          {upper, {0, extent}, {}}};
  }
  /// What reads element a + k·d0.
  void reads(int64_t extent, int64_t a, int64_t k) {
    relation.toExtents = {extent};
    const int64_t from[] = {relation.fromExtents[0]};
    relation.maps = {IndexMap::overExtents(ctx, from, {ctx.dim(0) * k + a}).simplified()};
  }
  void claims(Expr offset, Expr size, int64_t stride, Expr lower, Expr upper) {
    relation.to = {{offset, size, ctx.constant(stride), lower, upper}};
  }
};

} // namespace

TEST(TileRelation, SliceIsExactWithTheTightMaskOnly) {
  AnyTile t(4); // [0:7:2] of [7]
  t.reads(7, 0, 2);
  t.claims(t.offset * 2, t.size, 2, t.lower * 2, (t.upper - 1) * 2 + 1);
  EXPECT_EQ(proveCovers(t.relation, {}).status, Status::Proved);
  Outcome exact = proveNoExtra(t.relation, {});
  EXPECT_EQ(exact.status, Status::Proved) << exact.reason;
  EXPECT_FALSE(exact.isVacuous);
  // The mask 2·upper lets an index of 8 through, which is outside the tensor.
  t.claims(t.offset * 2, t.size, 2, t.lower * 2, t.upper * 2);
  EXPECT_EQ(proveCovers(t.relation, {}).status, Status::Proved) << "8 is no lane's index";
  t.claims(t.offset * 2, t.size * 2, 1, t.lower * 2, t.upper * 2);
  EXPECT_EQ(proveCovers(t.relation, {}).status, Status::Refuted);
}

TEST(TileRelation, FindsWhatIsMissingAndWhatIsTooMuch) {
  AnyTile t(10);
  t.reads(12, 1, 1);
  t.claims(t.offset + 1, t.size - 1, 1, t.lower + 1, t.upper + 1); // the last lane is missing
  EXPECT_EQ(proveCovers(t.relation, {}).status, Status::Refuted);
  EXPECT_EQ(proveNoExtra(t.relation, {}).status, Status::Proved);
  t.claims(t.offset + 1, t.size + 1, 1, t.lower + 1, t.upper + 1); // one too many
  EXPECT_EQ(proveCovers(t.relation, {}).status, Status::Proved);
  Outcome extra = proveNoExtra(t.relation, {});
  EXPECT_EQ(extra.status, Status::Refuted);
  EXPECT_NE(extra.reason.find("fails at"), std::string::npos) << extra.reason;
}

TEST(TileRelation, ConstraintsAreAssumed) {
  AnyTile t(10);
  t.reads(10, 0, 1);
  t.claims(t.offset, t.ctx.constant(1), 1, t.lower, t.upper);
  EXPECT_EQ(proveCovers(t.relation, {}).status, Status::Refuted);
  t.relation.given = {Formula::lessEqual(t.size, t.ctx.constant(1))};
  EXPECT_EQ(proveCovers(t.relation, {}).status, Status::Proved);
  // Constraints that nothing meets prove nothing, and that shows.
  t.relation.given = {Formula::lessEqual(t.size, t.ctx.constant(0))};
  EXPECT_TRUE(proveCovers(t.relation, {}).isVacuous);
}

TEST(TileRelation, EmptyTilesAreNoReaders) {
  // A dim that the second tensor does not have: with masks that leave nothing, nothing is read.
  AnyTile t(5);
  const int64_t from[] = {5};
  t.relation.maps = {IndexMap::overExtents(t.ctx, from, {t.ctx.constant(0)}).simplified()};
  t.relation.toExtents = {1};
  t.relation.to = {{t.ctx.constant(0), t.ctx.constant(1), t.ctx.constant(1), t.ctx.constant(0),
                    t.ctx.constant(1)}};
  EXPECT_EQ(proveNoExtra(t.relation, {}).status, Status::Proved);
  t.relation.isNonEmpty = false;
  EXPECT_NE(proveNoExtra(t.relation, {}).status, Status::Proved);
}

TEST(TileRelation, ABudgetThatIsSpentIsUnknown) {
  AnyTile t(4);
  t.reads(7, 0, 2);
  t.claims(t.offset * 2, t.size, 2, t.lower * 2, (t.upper - 1) * 2 + 1);
  ProofOptions options;
  options.rlimit = 1;
  Outcome outcome = proveNoExtra(t.relation, options);
  EXPECT_EQ(outcome.status, Status::Unknown);
  EXPECT_NE(outcome.reason.find("not decided within 1 steps"), std::string::npos) << outcome.reason;
}
