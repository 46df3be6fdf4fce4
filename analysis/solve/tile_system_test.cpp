#include "analysis/solve/tile_system.h"
#include "analysis/support/diag.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

struct DotSpace {
  ExprContext context;
  TileSpace space;
  void add(TileParameter::Role role, std::string name, int64_t extent) {
    Expr size = context.variable(VarKind::TileParam, name);
    space.parameters.push_back({role, name, size, Expr(), extent, OpId(), 0});
  }
  DotSpace() {
    add(TileParameter::Role::Parallel, "t0", 100);
    add(TileParameter::Role::Sequential, "k0", 4);
    add(TileParameter::Role::Schedule, "warps", 8);
    add(TileParameter::Role::Schedule, "stages", 16);
    add(TileParameter::Role::Schedule, "other", 4);
  }
};

std::string refusal(const TileSpace &space, const CandidatePlan &plan) {
  auto system = makeSystem(space, {}, plan);
  if (!system)
    return takeDiag(system.takeError()).message;
  ADD_FAILURE() << "was accepted";
  return {};
}

TEST(TileSystem, StandardCandidates) {
  DotSpace d;
  auto system = makeSystem(d.space, {});
  ASSERT_TRUE(bool(system));
  std::vector<std::vector<int64_t>> expected{
      {1, 2, 4, 8, 16, 32, 64, 100}, {1, 2, 4}, {1, 2, 4, 8}, {1, 2, 3, 4, 5}, {1, 2, 4}};
  ASSERT_EQ(system->parameters.size(), expected.size());
  for (size_t p = 0; p < expected.size(); ++p) {
    EXPECT_EQ(system->parameters[p].candidates, expected[p]) << system->parameters[p].name;
    EXPECT_EQ(system->parameters[p].var, d.space.parameters[p].size.variable());
  }
}

TEST(TileSystem, RulesByName) {
  DotSpace d;
  CandidatePlan plan = CandidatePlan::standard();
  ASSERT_FALSE(bool(plan.addRule("t0=48,64")));
  ASSERT_FALSE(bool(plan.addRule("warps=4")));
  plan.tiles.kind = CandidateRule::Kind::All;
  auto system = makeSystem(d.space, {}, plan);
  ASSERT_TRUE(bool(system));
  EXPECT_EQ(system->parameters[0].candidates, std::vector<int64_t>({48, 64}));
  EXPECT_EQ(system->parameters[1].candidates, std::vector<int64_t>({1, 2, 3, 4}));
  EXPECT_EQ(system->parameters[2].candidates, std::vector<int64_t>({4}));
}

TEST(TileSystem, Refusals) {
  DotSpace d;
  CandidatePlan plan = CandidatePlan::standard();
  ASSERT_FALSE(bool(plan.addRule("t9=2")));
  EXPECT_EQ(refusal(d.space, plan),
            "there is no parameter \"t9\", the kernel has t0, k0, warps, stages, other");
  for (const char *text : {"", "t0", "=4", "t0=", "t0=x0"}) {
    llvm::Error error = plan.addRule(text);
    ASSERT_TRUE(bool(error)) << text;
    EXPECT_EQ(takeDiag(std::move(error)).cls, DiagClass::BadInput);
  }
}

TEST(TileSystem, ADimOfNothingHasTheSizeOne) {
  DotSpace d;
  d.space.parameters[1].extent = 0;
  auto system = makeSystem(d.space, {}, CandidatePlan::standard());
  ASSERT_TRUE(bool(system));
  EXPECT_EQ(system->parameters[1].candidates, std::vector<int64_t>({1}));
}

} // namespace
} // namespace tilewright
