#include "analysis/import/hlo_text.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/plan_text.h"
#include "analysis/tiling/program_map.h"
#include "analysis/tiling/testing/tile_oracle.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright;
using Dims = std::vector<int64_t>;

namespace {

/// Every pair (cta, turn) below `items` makes another tile or split, and itemOf() is the way
/// back; together they make all of them.
void expectBijective(const Dims &counts, const ProgramOrder &order) {
  ExprContext context;
  auto map = ProgramMap::make(context, counts, order);
  ASSERT_TRUE(bool(map)) << takeDiag(map.takeError()).str();
  std::set<std::pair<Dims, int64_t>> made;
  for (int64_t turn = 0; turn < order.tilesPerProgram; ++turn)
    for (int64_t cta = 0; cta < map->ctas; ++cta) {
      Assignment point;
      point.set(map->cta, cta);
      point.set(map->turn, turn);
      const int64_t item = evaluate(map->item, point).value();
      ASSERT_EQ(item, turn * map->ctas + cta);
      if (item >= map->items)
        continue;
      Dims tile;
      for (size_t d = 0; d < counts.size(); ++d) {
        tile.push_back(evaluate(map->tile[d], point).value());
        ASSERT_TRUE(0 <= tile[d] && tile[d] < counts[d]);
      }
      const int64_t split = evaluate(map->split, point).value();
      ASSERT_TRUE(0 <= split && split < order.splits);
      ASSERT_TRUE(made.emplace(tile, split).second);
      ASSERT_EQ(map->itemOf(tile, split), (ProgramMap::Place{cta, turn}));
    }
  int64_t all = order.splits;
  for (int64_t count : counts)
    all *= count;
  ASSERT_EQ(int64_t(made.size()), all);
  ASSERT_EQ(map->items, all);
  // No CTA is idle throughout, and all but the last turn are full.
  ASSERT_EQ(map->ctas, (all + order.tilesPerProgram - 1) / order.tilesPerProgram);
}

} // namespace

TEST(ProgramMap, GroupedRowsAreBijectiveForAllSmallCounts) {
  for (int64_t rows = 1; rows <= 7; ++rows)
    for (int64_t columns = 1; columns <= 5; ++columns)
      for (int64_t group = 1; group <= 9; ++group)
        for (int64_t splits = 1; splits <= 3; ++splits)
          for (int64_t turns : {1, 2, 3, 7})
            expectBijective({rows, columns}, {.outer = {},
                                              .rows = {0},
                                              .columns = {1},
                                              .group = group,
                                              .splits = splits,
                                              .tilesPerProgram = turns});
}

TEST(ProgramMap, AnyOrderOfAnyDimsIsBijective) {
  // Every way to part the dims into outer ones, rows and columns, in every order.
  std::mt19937_64 random(3);
  for (size_t rank = 0; rank <= 4; ++rank) {
    std::vector<unsigned> dims(rank);
    for (unsigned d = 0; d < rank; ++d)
      dims[d] = d;
    do {
      for (size_t first = 0; first <= rank; ++first)
        for (size_t second = first; second <= rank; ++second) {
          Dims counts;
          for (size_t d = 0; d < rank; ++d)
            counts.push_back(1 + int64_t(random() % 4));
          ProgramOrder order{{dims.begin(), dims.begin() + ptrdiff_t(first)},
                             {dims.begin() + ptrdiff_t(first), dims.begin() + ptrdiff_t(second)},
                             {dims.begin() + ptrdiff_t(second), dims.end()},
                             1 + int64_t(random() % 5),
                             1 + int64_t(random() % 3),
                             1 + int64_t(random() % 6)};
          expectBijective(counts, order);
        }
    } while (std::next_permutation(dims.begin(), dims.end()));
  }
}

TEST(ProgramMap, TheOrderOfTheHeader) {
  ExprContext context;
  auto map = ProgramMap::make(context, Dims{2, 3, 4},
                              {.outer = {0}, .rows = {1}, .columns = {2}, .group = 2});
  ASSERT_TRUE(bool(map));
  std::string made;
  for (int64_t cta = 0; cta < 12; ++cta) {
    Assignment point;
    point.set(map->cta, cta);
    point.set(map->turn, 0);
    EXPECT_EQ(evaluate(map->tile[0], point), 0);
    made += fmt::format("({},{})", *evaluate(map->tile[1], point), *evaluate(map->tile[2], point));
  }
  EXPECT_EQ(made, "(0,0)(1,0)(0,1)(1,1)(0,2)(1,2)(0,3)(1,3)(2,0)(2,1)(2,2)(2,3)");
}

TEST(ProgramMap, WithoutTilesThereAreNoCtas) {
  ExprContext context;
  auto map = ProgramMap::make(context, Dims{3, 0}, ProgramOrder::inOrder(2));
  ASSERT_TRUE(bool(map));
  EXPECT_EQ(map->ctas, 0);
}

TEST(ProgramMap, RefusesWhatIsNoOrder) {
  ExprContext context;
  auto refused = [&](const Dims &counts, const ProgramOrder &order) {
    auto map = ProgramMap::make(context, counts, order);
    return map ? std::string("fine") : takeDiag(map.takeError()).message;
  };
  EXPECT_EQ(refused({2, 2}, {.outer = {0}, .rows = {}, .columns = {}}),
            "the order of CTAs leaves out dim 1 of 2");
  EXPECT_EQ(refused({2, 2}, {.outer = {0, 1}, .rows = {1}, .columns = {}}),
            "the order of CTAs names dim 1 of 2 twice");
  EXPECT_EQ(refused({2}, {.outer = {0, 3}, .rows = {}, .columns = {}}),
            "the order of CTAs names dim 3 of 1");
  EXPECT_EQ(refused({2}, {.outer = {0}, .rows = {}, .columns = {}, .group = 0}),
            "0 rows together, 1 splits and 1 tiles a CTA must be 1 or more");
  EXPECT_EQ(refused({1 << 20, 1 << 20}, ProgramOrder::inOrder(2)),
            "a grid of more than 2147483647 CTAs");
  EXPECT_EQ(refused({INT64_MAX, INT64_MAX}, ProgramOrder::inOrder(2)),
            "a grid of more than 2147483647 CTAs");
}

TEST(ProgramMap, SplitsPartTheStepsOfALoop) {
  ExprContext context;
  Expr split = context.variable(VarKind::ProgramId, "split");
  for (int64_t steps = 0; steps <= 20; ++steps)
    for (int64_t splits = 1; splits <= 8; ++splits) {
      SplitRange range = splitRange(split, splits, steps);
      int64_t next = 0;
      for (int64_t s = 0; s < splits; ++s) {
        Assignment point;
        point.set(split, s);
        EXPECT_EQ(evaluate(range.first, point), next);
        next = evaluate(range.end, point).value();
        EXPECT_LE(next - *evaluate(range.first, point), (steps + splits - 1) / splits);
      }
      EXPECT_EQ(next, steps);
    }
}

namespace {

KernelPlan planOfText(const std::string &body, const std::string &values) {
  auto module = parseHlo(
      std::make_shared<SourceBuffer>("plan", "HloModule m\nENTRY main {\n" + body + "}\n"));
  EXPECT_TRUE(bool(module)) << (module ? "" : takeDiag(module.takeError()).str());
  auto plan = planOfEntry(std::make_shared<const Module>(std::move(*module)));
  EXPECT_TRUE(bool(plan));
  if (llvm::Error error = assignText(*plan, values))
    ADD_FAILURE() << takeDiag(std::move(error)).str();
  return std::move(*plan);
}

/// Over all CTAs and turns, every element of the root is written by just one item a split, and
/// the splits' steps part the loop. The order of the CTAs' tiles, as text.
std::string walk(const KernelPlan &plan, const ProgramTurns &turns = {}) {
  auto map = programMapOf(plan, *plan.context, turns);
  if (!map) {
    ADD_FAILURE() << takeDiag(map.takeError()).str();
    return {};
  }
  const TiledGroup &group = *plan.tiled;
  const TileInstance &root = group.instances[group.roots.back()];
  std::map<int64_t, int64_t> writers;
  std::string order;
  for (int64_t turn = 0; turn < turns.tilesPerProgram; ++turn)
    for (int64_t cta = 0; cta < map->ctas; ++cta) {
      Assignment at;
      at.set(map->cta, cta);
      at.set(map->turn, turn);
      if (evaluate(map->item, at).value() >= map->items)
        continue;
      Assignment point = plan.assignment();
      for (size_t d = 0; d < map->tile.size(); ++d) {
        point.set(group.space.parameters[d].index, evaluate(map->tile[d], at).value());
        order += fmt::format("{}{}", d ? "," : " ", *evaluate(map->tile[d], at));
      }
      for (int64_t e :
           elementsOf(numericTile(root.tile, point).value(), plan.ops()[root.op].shape.dims))
        ++writers[e];
    }
  EXPECT_EQ(int64_t(writers.size()), plan.ops()[root.op].shape.elementCount());
  for (const auto &[element, count] : writers)
    EXPECT_EQ(count, plan.schedule().splitK) << element;
  return order;
}

} // namespace

TEST(ProgramMapOfPlan, RowsAndColumnsAreThoseOfTheDot) {
  const std::string dot = "a = f32[2,6,8] parameter(0)\n b = f32[2,8,5] parameter(1)\n"
                          "ROOT d = f32[2,6,5] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                          "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n";
  // Two batches of 3 x 2 tiles, two rows walked together.
  EXPECT_EQ(walk(planOfText(dot, "t0=1 t1=2 t2=3 k0=4 warps=4 stages=1 split_k=1 group_m=2")),
            " 0,0,0 0,1,0 0,0,1 0,1,1 0,2,0 0,2,1 1,0,0 1,1,0 1,0,1 1,1,1 1,2,0 1,2,1");
  walk(planOfText(dot, "t0=1 t1=4 t2=2 k0=2 warps=4 stages=1 split_k=4 group_m=1"));
  walk(planOfText(dot, "t0=1 t1=2 t2=2 k0=2 split_k=2 group_m=8"), {.tilesPerProgram = 5});
}

TEST(ProgramMapOfPlan, PersistentCtasAndOrders) {
  const std::string copy = "a = f32[6,10] parameter(0)\n ROOT n = f32[6,10] negate(a)\n";
  EXPECT_EQ(walk(planOfText(copy, "t0=3 t1=4")), " 0,0 0,1 0,2 1,0 1,1 1,2");
  // Three CTAs of two turns: 0, 1, 2 first; the same tiles column by column.
  KernelPlan plan = planOfText(copy, "t0=3 t1=4");
  EXPECT_EQ(walk(plan, {.tilesPerProgram = 2, .order = {1, 0}}), " 0,0 1,0 0,1 1,1 0,2 1,2");
  walk(plan, {.tilesPerProgram = 4}); // more than divide the tiles
  auto map = programMapOf(plan, *plan.context, {.tilesPerProgram = 1, .order = {1, 1}});
  ASSERT_FALSE(bool(map));
  EXPECT_EQ(takeDiag(map.takeError()).message, "the order of CTAs names dim 1 of 2 twice");
  // Plans can't ask for either.
  auto refused = [&](const char *text) {
    llvm::Error error = assignText(plan, text);
    return error ? takeDiag(std::move(error)).message : std::string("fine");
  };
  EXPECT_EQ(refused("tiles_per_program=1"), "fine");
  EXPECT_EQ(refused("tiles_per_program=4"),
            "tiles_per_program is '4': there is no code for persistent CTAs, every CTA makes "
            "one tile");
  EXPECT_EQ(refused("order=1,0"), "order is '1,0': there is no code for CTAs in an order of "
                                  "dims other than the root's");
}

TEST(JointCtas, PartsFollowEachOther) {
  JointCtas joint;
  EXPECT_FALSE(joint.partOf(0));
  const Dims sizes{3, 0, 5, 1};
  for (int64_t size : sizes)
    ASSERT_FALSE(bool(joint.add(size)));
  EXPECT_EQ(joint.ctas(), 9);
  int64_t cta = 0;
  for (size_t part = 0; part < sizes.size(); ++part)
    for (int64_t own = 0; own < sizes[part]; ++own, ++cta) {
      auto place = joint.partOf(cta);
      ASSERT_TRUE(place);
      EXPECT_EQ(place->part, part);
      EXPECT_EQ(place->cta, own);
    }
  EXPECT_FALSE(joint.partOf(9));
  EXPECT_FALSE(joint.partOf(-1));
  llvm::Error tooMany = joint.add(2147483647);
  ASSERT_TRUE(bool(tooMany));
  EXPECT_EQ(takeDiag(std::move(tooMany)).message, "a grid of more than 2147483647 CTAs");
}
