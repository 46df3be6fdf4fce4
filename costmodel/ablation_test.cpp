#include "costmodel/ablation.h"
#include "costmodel/formula.h"
#include "costmodel/testing/data.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright {
namespace {

using testing::datasetOf;
using testing::h100;
using testing::measured;

/// Some rows of products and of kernels bound by memory, with the times that the formula gives with
/// parameters away from their priors.
const Dataset &exact() {
  static const Dataset data = [] {
    std::vector<Table> tables;
    for (const char *file : {"gemm.csv.gz", "memory.csv.gz"}) {
      int n = 0;
      tables.push_back(measured(file, [&](std::string_view) { return n++ % 41 == 0; }));
    }
    Dataset made = datasetOf(std::move(tables));
    Parameters p = priorParameters(h100());
    p.launch *= 1.2;
    p.dirtyShare *= 1.3;
    p.stageMiss *= 0.9;
    for (DatasetRow &row : made.rows)
      row.timeNs = kernelTime(row.features, h100(), p).total;
    return made;
  }();
  return data;
}

size_t term(std::string_view name) {
  auto index = ablationIndex(name);
  EXPECT_TRUE(index) << name;
  return index.value_or(0);
}

TEST(Ablation, EachParameterBelongsToATerm) {
  std::set<std::string_view> covered, names;
  for (size_t i = 0; i < ablations().size(); ++i) {
    EXPECT_TRUE(names.insert(ablations()[i].name).second) << ablations()[i].name;
    for (std::string_view parameter : parametersOf(i, h100()))
      covered.insert(parameter);
  }
  for (const ParameterInfo &info : parameterInfos())
    EXPECT_TRUE(covered.count(info.name)) << info.name << " is in no term of ablations.def";
}

TEST(Ablation, NamesItsParameters) {
  EXPECT_EQ(parametersOf(term("stage latency"), h100()),
            (std::vector<std::string_view>{"stage_miss", "stage_hit"}));
  EXPECT_TRUE(parametersOf(term("dispatch"), h100()).empty());
}

/// A term that made the times is missed; one that played no part in them is not.
TEST(Ablation, TellsTermsThatMatterFromThoseThatDoNot) {
  AblationOptions options;
  options.thinning = 1;
  options.terms = {term("dirty lines"), term("L2 stream"), term("launch")};
  auto report = evaluateAblations(exact(), h100(), options);
  ASSERT_TRUE(bool(report)) << takeDiag(report.takeError()).str();
  ASSERT_EQ(report->terms.size(), 3u);
  EXPECT_EQ(report->fittedRows, int64_t(exact().rows.size()));
  EXPECT_LT(report->all.overall.mape, 0.01);
  MetricsChange dirty = changeOfFamilies(exact(), report->all, report->terms[0].without),
                stream = changeOfFamilies(exact(), report->all, report->terms[1].without),
                launch = changeOfFamilies(exact(), report->all, report->terms[2].without);
  EXPECT_GT(dirty.mape, 0.02);
  EXPECT_GT(dirty.mapeInterval.low, 0);
  EXPECT_GT(launch.mape, 0.005);
  EXPECT_NEAR(stream.mape, 0, 1e-3);
}

/// With all rows in the fits, what is compared with is the cross-validation itself.
TEST(Ablation, StartsFromCrossValidation) {
  AblationOptions options;
  options.thinning = 1;
  options.terms = {term("spills")};
  auto report = evaluateAblations(exact(), h100(), options);
  auto crossed = evaluateLeftOut(exact(), h100());
  ASSERT_TRUE(bool(report) && bool(crossed));
  EXPECT_EQ(report->all.predictedNs, crossed->predictedNs);
}

/// Every term gives finite positive times when it is off.
TEST(Ablation, EveryTermCanBeSwitchedOff) {
  AblationOptions options;
  options.folds = 2;
  options.thinning = 5;
  options.fit.maxIterations = 2;
  auto report = evaluateAblations(exact(), h100(), options);
  ASSERT_TRUE(bool(report)) << takeDiag(report.takeError()).str();
  EXPECT_EQ(report->terms.size(), ablations().size());
  EXPECT_LT(report->fittedRows, int64_t(exact().rows.size()));
  for (const TermWorth &worth : report->terms)
    for (double ns : worth.without.predictedNs)
      ASSERT_TRUE(std::isfinite(ns) && ns > 0) << ablations()[worth.ablation].name;
}

TEST(Ablation, RefusesWhatCanNotBeLeftOut) {
  AblationOptions options;
  options.folds = 1;
  EXPECT_EQ(takeDiag(evaluateAblations(exact(), h100(), options).takeError()).cls,
            DiagClass::BadInput);
  EXPECT_EQ(takeDiag(evaluateAblations(Dataset{}, h100()).takeError()).cls, DiagClass::BadInput);
}

} // namespace
} // namespace tilewright
