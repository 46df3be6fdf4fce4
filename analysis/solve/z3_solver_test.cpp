#include "analysis/solve/testing/solve.h"
#include "analysis/solve/z3_solver.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tilewright {
namespace {

using testing::bruteForce;
using testing::constraint;

Answer answerOf(const ConstraintSystem &system, const SolverOptions &options = {}) {
  auto answer = decide(system, options);
  if (answer)
    return *answer;
  ADD_FAILURE() << takeDiag(answer.takeError()).message;
  return {};
}

/// Diagrams for everything, diagrams for some, and formulas over the integers for everything.
std::vector<SolverOptions> encodings() {
  SolverOptions diagrams, mixed, formulas;
  mixed.maxDiagramSteps = 20;
  formulas.maxDiagramSteps = 0;
  return {diagrams, mixed, formulas};
}

TEST(Z3Solver, AgreesWithBruteForceOnRandomSystems) {
  testing::SystemMaker maker(20240602);
  size_t unknown = 0, rounds = 150;
  for (size_t round = 0; round < rounds; ++round) {
    testing::RandomSystem random = maker.make();
    auto expected = bruteForce(random.system);
    for (const SolverOptions &options : encodings()) {
      Answer answer = answerOf(random.system, options);
      if (answer.verdict == Verdict::Unknown) {
        ++unknown;
        EXPECT_FALSE(answer.reason.empty());
        continue;
      }
      ASSERT_EQ(answer.verdict == Verdict::Yes, !expected.empty()) << "round " << round;
      if (answer.verdict == Verdict::Yes) {
        EXPECT_TRUE(std::binary_search(expected.begin(), expected.end(), answer.model));
      }
    }
  }
  // Only formulas with divisors that are not positive somewhere stay open.
  EXPECT_LT(unknown, rounds * 3 / 4);
}

TEST(Z3Solver, AllModelsAreTheBruteForceSet) {
  testing::SystemMaker maker(20240603);
  size_t compared = 0;
  for (int round = 0; round < 60; ++round) {
    testing::RandomSystem random = maker.make();
    auto expected = bruteForce(random.system);
    if (expected.size() > 60)
      continue;
    for (const SolverOptions &options : encodings()) {
      std::vector<std::vector<int64_t>> models;
      auto answer = forEachModel(
          random.system,
          [&](const std::vector<int64_t> &model) {
            models.push_back(model);
            return true;
          },
          options);
      ASSERT_TRUE(bool(answer));
      std::sort(models.begin(), models.end());
      if (answer->verdict == Verdict::No) {
        ASSERT_EQ(models, expected) << "round " << round;
        ++compared;
      } else {
        ASSERT_EQ(answer->verdict, Verdict::Unknown);
        ASSERT_TRUE(std::includes(expected.begin(), expected.end(), models.begin(), models.end()));
      }
    }
  }
  EXPECT_GT(compared, 60u);
}

TEST(Z3Solver, CoresConflictAndAreMinimal) {
  testing::SystemMaker maker(20240604);
  size_t cores = 0;
  for (int round = 0; round < 200; ++round) {
    testing::RandomSystem random = maker.make();
    if (!bruteForce(random.system).empty())
      continue;
    Answer answer = answerOf(random.system);
    if (answer.verdict != Verdict::No)
      continue;
    ++cores;
    ASSERT_TRUE(answer.isCoreMinimal);
    EXPECT_TRUE(std::is_sorted(answer.core.begin(), answer.core.end()));
    EXPECT_TRUE(bruteForce(random.system.withConstraints(answer.core)).empty());
    for (size_t leftOut : answer.core) {
      std::vector<size_t> rest;
      for (size_t c : answer.core)
        if (c != leftOut)
          rest.push_back(c);
      // A point without a 64-bit value counts as satisfiable here, as it does for the solver.
      EXPECT_NE(answerOf(random.system.withConstraints(rest)).verdict, Verdict::No);
    }
    EXPECT_EQ(answerOf(random.system).core, answer.core) << "the second run differs";
  }
  EXPECT_GT(cores, 20u);
}

struct Tiles {
  ExprContext context;
  std::vector<Expr> t;
  ConstraintSystem system;
  void add(std::vector<int64_t> list) {
    std::string name = "t" + std::to_string(t.size());
    t.push_back(context.variable(VarKind::TileParam, name));
    system.parameters.push_back({t.back().variable(), name, std::move(list)});
  }
  Expr constant(int64_t value) { return context.constant(value); }
  void require(Formula formula) { system.constraints.push_back(constraint(std::move(formula))); }
};

TEST(Z3Solver, LargeSpacesOfPowersOfTwo) {
  for (int64_t limit : {int64_t(232448), int64_t(200)}) {
    Tiles tiles;
    for (int i = 0; i < 4; ++i)
      tiles.add({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 11008});
    auto &t = tiles.t;
    tiles.require(
        Formula::lessEqual((t[0] * t[2] + t[1] * t[2]) * 6 + t[1] * t[3], tiles.constant(limit)));
    tiles.require(Formula::lessEqual(tiles.constant(32), t[0].min(t[1])));
    tiles.require(Formula::lessEqual(tiles.constant(100000), t[0] * t[1] * t[2] * t[3]));
    Answer answer = answerOf(tiles.system);
    EXPECT_EQ(answer.verdict, limit > 1000 ? Verdict::Yes : Verdict::No);
    if (limit < 1000) {
      EXPECT_EQ(answer.core, std::vector<size_t>({0, 1}));
    }
    EXPECT_TRUE(answer.isReproducible);
    EXPECT_GT(answer.spent, 0u);
  }
}

TEST(Z3Solver, LongListsAreLinearRuns) {
  Tiles tiles;
  std::vector<int64_t> all;
  for (int64_t v = 1; v <= 100000; ++v)
    all.push_back(v);
  tiles.add(all);
  tiles.add(all);
  tiles.require(Formula::equal(tiles.t[0] * 3 + tiles.t[1] * 5, tiles.constant(400001)));
  tiles.require(Formula::lessEqual(tiles.t[1] * 1000, tiles.t[0]));
  Answer answer = answerOf(tiles.system);
  EXPECT_EQ(answer.verdict, Verdict::No);
  tiles.system.constraints.pop_back();
  EXPECT_EQ(answerOf(tiles.system).verdict, Verdict::Yes);
}

TEST(Z3Solver, ASmallBudgetIsUnknownNotNo) {
  Tiles tiles;
  std::vector<int64_t> all;
  for (int64_t v = 2; v <= 3000; ++v)
    all.push_back(v);
  tiles.add(all);
  tiles.add(all);
  // A prime: no product of two candidates.
  tiles.require(Formula::equal(tiles.t[0] * tiles.t[1], tiles.constant(7368787)));
  SolverOptions options;
  options.rlimit = 1000;
  options.maxDiagramSteps = 100;
  Answer answer = answerOf(tiles.system, options);
  EXPECT_EQ(answer.verdict, Verdict::Unknown);
  EXPECT_TRUE(answer.isReproducible);
  EXPECT_EQ(answer.allowed, 1000u);
  EXPECT_NE(answer.reason.find("budget of 1000"), std::string::npos) << answer.reason;
  EXPECT_EQ(answerOf(tiles.system, options).spent, answer.spent);
}

TEST(Z3Solver, OverflowIsUnknown) {
  for (SolverOptions options : encodings()) {
    Tiles tiles;
    tiles.add({int64_t(1) << 62});
    tiles.add({4, 8});
    tiles.require(Formula::lessEqual(tiles.constant(5), tiles.t[0] * tiles.t[1]));
    Answer answer = answerOf(tiles.system, options);
    EXPECT_EQ(answer.verdict, Verdict::Unknown);
    EXPECT_NE(answer.reason.find("64-bit"), std::string::npos) << answer.reason;
    // The product is certainly not at most 5.
    tiles.system.constraints.clear();
    tiles.require(Formula::lessEqual(tiles.t[0] * tiles.t[1], tiles.constant(5)));
    EXPECT_EQ(answerOf(tiles.system, options).verdict, Verdict::No);
  }
}

TEST(Z3Solver, AVariableThatIsNoParameterIsUnknown) {
  for (SolverOptions options : encodings()) {
    Tiles tiles;
    tiles.add({1, 2});
    tiles.require(Formula::lessEqual(tiles.context.dim(0), tiles.constant(5)));
    EXPECT_EQ(answerOf(tiles.system, options).verdict, Verdict::Unknown);
  }
}

TEST(Z3Solver, EdgesOfTheQuestion) {
  Tiles none;
  EXPECT_EQ(answerOf(none.system).verdict, Verdict::Yes);
  none.require(Formula::constant(false));
  Answer no = answerOf(none.system);
  EXPECT_EQ(no.verdict, Verdict::No);
  EXPECT_EQ(no.core, std::vector<size_t>({0}));

  Tiles empty;
  empty.add({});
  Answer answer = answerOf(empty.system);
  EXPECT_EQ(answer.verdict, Verdict::No);
  EXPECT_TRUE(answer.core.empty());
  EXPECT_EQ(answer.reason, "t0 has no candidate sizes");
}

TEST(Z3Solver, TacticsByName) {
  Tiles tiles;
  tiles.add({1, 2, 3});
  tiles.require(Formula::lessEqual(tiles.constant(3), tiles.t[0]));
  SolverOptions options;
  options.tactic = "smt";
  EXPECT_EQ(answerOf(tiles.system, options).model, std::vector<int64_t>({3}));
  options.tactic = "no-such-tactic";
  auto answer = decide(tiles.system, options);
  ASSERT_FALSE(bool(answer));
  EXPECT_EQ(takeDiag(answer.takeError()).cls, DiagClass::BadInput);
}

TEST(Z3Solver, DumpsTheQuery) {
  std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / fmt::format("tilewright_smt_dump_{}", getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  Tiles tiles;
  tiles.add({1, 2, 3});
  tiles.require(Formula::lessEqual(tiles.constant(2), tiles.t[0]));
  SolverOptions options;
  options.dumpDir = folder.string();
  answerOf(tiles.system, options);
  answerOf(tiles.system, options); // the same query, the same file
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(folder), {});
  ASSERT_EQ(files.size(), 1u);
  auto text = readFile(files[0].string());
  ASSERT_TRUE(bool(text));
  EXPECT_NE(text->find("(check-sat-assuming ( c0 ))"), std::string::npos) << *text;
  EXPECT_NE(text->find("p0.t0.index"), std::string::npos);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace tilewright
