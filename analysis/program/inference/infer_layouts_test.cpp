// Layouts of programs: at least as cheap as known ones, near what no layout avoids, the best of
// their family, whatever the order.
#include "analysis/program/inference/explain.h"
#include "analysis/program/inference/testing/study_programs.h"
#include "analysis/program/layout/testing/random_layouts.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <functional>

using namespace tilewright;
using namespace tilewright::inference;
using tilewright::inference::testing::StudyProgram;
using tilewright::inference::testing::studyPrograms;
using tilewright::layout::testing::Random;
using tilewright::layout::testing::valueOf;

namespace {

program::Program programOf(const std::string &text) {
  program::Program read = valueOf(program::parseProgram(text));
  return valueOf(program::substituteSizes(read, {}));
}

/// A program with its problem and answer.
struct Inferred {
  program::Program program;
  std::unique_ptr<LayoutProblem> problem;
  InferenceAnswer answer;

  explicit Inferred(const std::string &text, const InferenceOptions &options = {})
      : program(programOf(text)), problem(valueOf(LayoutProblem::make(program, options))),
        answer(inferLayouts(*problem)) {}
  const NodeLabel &operator[](const std::string &name) const {
    for (const InferredNode &node : answer.layouts.nodes)
      if (problem->graph().nodes[node.node].name == name)
        return node.label;
    ADD_FAILURE() << "no value " << name;
    return answer.layouts.nodes.front().label;
  }
};

const StudyProgram &studyOf(const std::string &name) {
  static const std::vector<StudyProgram> all = studyPrograms();
  for (const StudyProgram &study : all)
    if (study.name == name)
      return study;
  ADD_FAILURE() << name;
  return all.front();
}

} // namespace

TEST(InferLayouts, AreAtLeastAsCheapAsKnownOnesAndNearTheFloor) {
  for (const StudyProgram &study : studyPrograms()) {
    Inferred inferred(study.text);
    ASSERT_EQ(inferred.answer.outcome, InferenceAnswer::Outcome::Found) << study.name;
    const InferredLayouts &layouts = inferred.answer.layouts;
    EXPECT_LE(layouts.cost, study.most) << study.name;
    EXPECT_LE(double(layouts.cost), study.ratio * double(layouts.floor)) << study.name;
    EXPECT_GE(layouts.cost, layouts.floor) << study.name;
    EXPECT_TRUE(inferred.answer.isClosed) << study.name;
  }
}

/// Layouts that the text has are in the family.
TEST(InferLayouts, AreNeverDearerThanThoseOfTheText) {
  size_t dearer = 0;
  for (const StudyProgram &study : studyPrograms()) {
    Inferred inferred(study.text);
    priceGiven(*inferred.problem, inferred.answer);
    ASSERT_TRUE(inferred.answer.given) << study.name;
    EXPECT_GE(inferred.answer.given->cost, inferred.answer.layouts.cost) << study.name;
    dearer += inferred.answer.given->cost > inferred.answer.layouts.cost ? 1 : 0;
  }
  EXPECT_GE(dearer, 5u);
}

TEST(InferLayouts, KeepsProbabilitiesInRegisters) {
  Inferred inferred(studyOf("attention, P from the accumulator").text);
  EXPECT_NE(inferred["acc = #3"].text.find("A in registers"), std::string::npos);
  EXPECT_EQ(inferred["n"].detail, "4 shuffles a warp");
  ASSERT_EQ(inferred.answer.layouts.moves.size(), 1u); // in front of the store
  EXPECT_EQ(inferred.answer.layouts.moves[0].move.way, Move::Way::Shuffles);
}

TEST(InferLayouts, ReducesAKeptAxisWithoutSharedMemory) {
  Inferred inferred(studyOf("mean kept as a column").text);
  EXPECT_TRUE(inferred.answer.layouts.moves.empty());
  EXPECT_EQ(inferred["s"].text,
            "[i: 64, j: 128] registers 4:1@j 4:32@j 4:16@i | lanes 8:4@j 4:1@i | warps 4:4@i");
}

TEST(InferLayouts, TakesATransposeThroughPermutedRows) {
  Inferred inferred(studyOf("transposed store 64 x 64 bf16").text);
  ASSERT_EQ(inferred.answer.layouts.moves.size(), 1u);
  const InferredMove &move = inferred.answer.layouts.moves[0];
  EXPECT_EQ(move.move.way, Move::Way::Shared);
  EXPECT_EQ(move.move.store.degree, 1);
  EXPECT_EQ(move.move.load.degree, 1);
  EXPECT_EQ(move.move.store.passes + move.move.load.passes, 128);
}

/// Nodes thinned to few labels: all choices are priced.
TEST(InferLayouts, AreTheCheapestOfAllChoices) {
  Random random(16);
  for (const char *name : {"softmax 4 x 1024 bf16", "transposed store 64 x 64 bf16",
                           "middle axis of [4, 128, 32]", "group sums"}) {
    Inferred inferred(studyOf(name).text);
    for (int round = 0; round < 6; ++round) {
      LabelProblem thinned = inferred.problem->labelling();
      std::vector<std::vector<uint32_t>> kept;
      for (LabelledNode &node : thinned.nodes) {
        std::vector<uint32_t> all(node.own.size());
        for (uint32_t k = 0; k < all.size(); ++k)
          all[k] = k;
        random.shuffle(all);
        all.resize(std::min<size_t>(all.size(), 3));
        for (uint32_t k = 0; k < node.own.size(); ++k)
          if (std::find(all.begin(), all.end(), k) == all.end())
            node.own[k] = impossible;
        kept.push_back(std::move(all));
      }
      Cost least = impossible;
      size_t optima = 0;
      std::vector<uint32_t> labels(kept.size());
      std::function<void(size_t)> go = [&](size_t n) {
        if (n < kept.size()) {
          for (uint32_t k : kept[n]) {
            labels[n] = k;
            go(n + 1);
          }
          return;
        }
        const Cost cost = costOf(thinned, labels);
        optima = cost < least ? 1 : optima + (cost == least ? 1 : 0);
        least = std::min(least, cost);
      };
      go(0);
      LabelOptions options;
      options.maxOptima = 5000;
      LabelAnswer answer = solveLabels(thinned, options);
      ASSERT_EQ(answer.outcome, LabelAnswer::Outcome::Found) << name;
      EXPECT_EQ(answer.cost, least) << name;
      EXPECT_EQ(answer.optima.size(), optima) << name;
    }
  }
}

TEST(InferLayouts, DoNotDependOnTheOrderOfOps) {
  const std::string head =
      "kernel k(x: f32[64, 64], y: f32[64, 64], v: f32[64]) -> z: f32[64, 64], "
      "u: f32[64]\n"
      "warps 4\naxis i < 64, j < 64\n";
  const std::vector<std::string> ops = {"a = load x[i, j]\n", "b = load y[j, i]\n",
                                        "c = load v[j]\n"};
  const std::string tail = "d = map a + b * c\nr = reduce add d over j\nstore z[i, j] = d - r\n"
                           "store u[i] = r\n";
  std::vector<size_t> order = {0, 1, 2};
  std::optional<InferredLayouts> first;
  std::map<std::string, std::string> textOf;
  do {
    std::string text = head;
    for (size_t n : order)
      text += ops[n];
    Inferred inferred(text + tail);
    ASSERT_EQ(inferred.answer.outcome, InferenceAnswer::Outcome::Found);
    if (first)
      EXPECT_EQ(inferred.answer.layouts.cost, first->cost);
    else
      first = inferred.answer.layouts;
    for (const InferredNode &node : inferred.answer.layouts.nodes) {
      auto [found, isNew] =
          textOf.try_emplace(inferred.problem->graph().nodes[node.node].name, node.label.text);
      EXPECT_EQ(found->second, node.label.text);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

/// Blocks of loads, reductions along alternating axes and maps: what is searched grows with the
/// number of ops alone.
TEST(InferLayouts, GrowWithTheNumberOfOps) {
  auto chain = [](int blocks) {
    std::string text = "kernel chain(x: f32[64, 128]) -> y: f32[64, 128]\n"
                       "warps 4\naxis i < 64, j < 128\na0 = load x[i, j]\n";
    for (int n = 0; n < blocks; ++n)
      text += fmt::format("m{0} = map a{0} * 2\nr{0} = reduce add m{0} over {2}\n"
                          "s{0} = map r{0} * 3\na{1} = map m{0} - s{0}\n",
                          n, n + 1, n % 2 == 0 ? "j" : "i");
    return text + fmt::format("store y[i, j] = a{}\n", blocks);
  };
  Inferred small(chain(12)), large(chain(50));
  ASSERT_EQ(large.answer.outcome, InferenceAnswer::Outcome::Found);
  EXPECT_GE(large.problem->graph().nodes.size(), 200u);
  EXPECT_LE(large.answer.search.width, 2u);
  EXPECT_LE(large.answer.labels, small.answer.labels * 5);
  EXPECT_LE(large.answer.search.cells, small.answer.search.cells * 8);
}

TEST(InferLayouts, PreferencesDecideBetweenEqualOnes) {
  const std::string text = "kernel k(x: f32[64, 64]) -> z: f32[64, 64]\nwarps 4\n"
                           "axis i < 64, j < 64\na = load x[i, j]\nstore z[i, j] = a\n";
  Inferred free(text);
  InferenceOptions options;
  program::Program program = programOf(text);
  options.wishes.push_back({"a", "@ rows(4, 16)", false});
  std::unique_ptr<LayoutProblem> problem = valueOf(LayoutProblem::make(program, options));
  InferenceAnswer answer = inferLayouts(*problem);
  EXPECT_EQ(answer.layouts.cost, free.answer.layouts.cost);
  EXPECT_EQ(answer.layouts.nodes[0].label.text,
            "[i: 64, j: 64] registers 4:1@j 8:8@i | lanes 16:4@j 2:1@i | warps 4:2@i");
}
