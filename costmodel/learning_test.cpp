#include "costmodel/learning.h"
#include "costmodel/testing/data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace tilewright {
namespace {

using testing::datasetOf;
using testing::h100;
using testing::measured;

const Dataset &designSample() {
  static const Dataset data = [] {
    std::vector<Table> tables;
    for (const char *file : {"gemm.csv.gz", "memory.csv.gz"}) {
      int n = 0;
      tables.push_back(measured(file, [&](std::string_view) { return n++ % 31 == 0; }));
    }
    return datasetOf(std::move(tables));
  }();
  return data;
}

std::vector<size_t> allRows(const Dataset &data) {
  std::vector<size_t> rows(data.rows.size());
  std::iota(rows.begin(), rows.end(), size_t(0));
  return rows;
}

TEST(Design, ReadsNoTimes) {
  Dataset data = designSample();
  std::vector<size_t> before = designMeasurements(data, allRows(data), h100(), 24);
  for (DatasetRow &row : data.rows)
    row.timeNs = 0;
  EXPECT_EQ(designMeasurements(data, allRows(data), h100(), 24), before);
}

TEST(Design, AShorterOneIsTheStartOfALongerOne) {
  std::vector<size_t> eight =
      designMeasurements(designSample(), allRows(designSample()), h100(), 8);
  std::vector<size_t> forty =
      designMeasurements(designSample(), allRows(designSample()), h100(), 40);
  forty.resize(8);
  EXPECT_EQ(eight, forty);
}

TEST(Design, AsksEachProblemBeforeAnyTwice) {
  std::set<std::string> groups;
  for (const DatasetRow &row : designSample().rows)
    groups.insert(row.identity.group);
  std::vector<size_t> rows =
      designMeasurements(designSample(), allRows(designSample()), h100(), groups.size());
  std::set<std::string> asked;
  for (size_t i : rows)
    EXPECT_TRUE(asked.insert(designSample().rows[i].identity.group).second);
  EXPECT_EQ(asked.size(), groups.size());
}

TEST(Design, TakesAllRowsWhereThereAreFewer) {
  std::vector<size_t> few = {3, 8, 5};
  std::vector<size_t> chosen = designMeasurements(designSample(), few, h100(), 10);
  EXPECT_EQ(std::set<size_t>(chosen.begin(), chosen.end()), std::set<size_t>({3, 5, 8}));
}

/// Rows of a family share an error, so that a family of few rows that are like those of another is
/// asked more often than its rows are many.
TEST(Design, AsksASmallFamilyMoreThanItsShare) {
  Dataset data = designSample();
  std::erase_if(data.rows,
                [](const DatasetRow &row) { return row.identity.family != "gemm/bf16"; });
  size_t n = data.rows.size();
  for (size_t i = 0; i < n; i += 5) {
    DatasetRow twin = data.rows[i];
    twin.identity.family = "twin/bf16";
    twin.identity.group += "|twin" + std::to_string(i);
    data.rows.push_back(std::move(twin));
  }
  std::vector<size_t> rows = designMeasurements(data, allRows(data), h100(), 20);
  EXPECT_GE(std::count_if(rows.begin(), rows.end(), [&](size_t i) { return i >= n; }), 5);
}

/// What is measured is not asked for again, and what it says does not have to be.
TEST(Design, GoesOnFromWhatIsMeasured) {
  std::vector<size_t> whole =
      designMeasurements(designSample(), allRows(designSample()), h100(), 30);
  std::vector<size_t> first(whole.begin(), whole.begin() + 12), left;
  for (size_t i : allRows(designSample()))
    if (std::find(first.begin(), first.end(), i) == first.end())
      left.push_back(i);
  std::vector<size_t> rest = designMeasurements(designSample(), left, h100(), 18, {}, first);
  EXPECT_EQ(rest, std::vector<size_t>(whole.begin() + 12, whole.end()));
}

/// The sample with times made by the formula itself, with other parameters.
Dataset planted() {
  Dataset data = designSample();
  auto values = toArray(priorParameters(h100()));
  for (size_t j = 0; j < values.size(); ++j)
    if (parameterInfos()[j].fitted)
      values[j] *= j % 2 ? 1.25 : 0.85;
  std::vector<double> times = predictAll(data, h100(), fromArray(values));
  for (size_t i = 0; i < times.size(); ++i)
    data.rows[i].timeNs = times[i];
  return data;
}

/// A few designed rows find planted parameters well enough to price all rows.
TEST(Design, SixteenRowsFindPlantedParameters) {
  Dataset data = planted();
  double before = evaluatePrior(data, h100()).overall.mape;
  std::vector<size_t> rows = designMeasurements(data, allRows(data), h100(), 16);
  auto calibration = llvm::cantFail(calibrate(data, rows, h100()));
  EXPECT_EQ(calibration.rows, 16);
  EXPECT_GT(before, 0.08);
  EXPECT_LT(evaluate(data, h100(), calibration).overall.mape, 0.5 * before);
}

/// What the data hardly tell stays near its prior and says so.
TEST(Design, FewRowsDoNotIdentifyEverything) {
  Dataset data = planted();
  std::vector<size_t> rows = designMeasurements(data, allRows(data), h100(), 4);
  auto calibration = llvm::cantFail(calibrate(data, rows, h100()));
  int unidentified = 0;
  for (const CalibratedParameter &p : calibration.parameters) {
    EXPECT_LE(p.sigmaLn, FitOptions().priorSigma * 1.001);
    if (p.status == CalibratedParameter::Status::NotIdentified) {
      ++unidentified;
      EXPECT_LT(std::abs(std::log(p.value / p.prior)), 0.5);
    }
  }
  EXPECT_GT(unidentified, 5);
}

TEST(Learning, CurveStartsAtThePriorsAndEndsAtCrossValidation) {
  LearningOptions options;
  options.counts = {0, 16};
  options.draws = 2;
  options.folds = 2;
  Dataset data = planted();
  LearningCurve curve = llvm::cantFail(learningCurve(data, h100(), options));
  ASSERT_EQ(curve.points.size(), 2u);
  EXPECT_NEAR(curve.points[0].designed.mape, evaluatePrior(data, h100()).overall.mape, 1e-12);
  EXPECT_NEAR(curve.points[0].randomMape, curve.points[0].designed.mape, 1e-12);
  EXPECT_LE(curve.points[1].randomLow, curve.points[1].randomMape);
  EXPECT_LE(curve.points[1].randomMape, curve.points[1].randomHigh);
  EXPECT_LT(curve.points[1].designed.mape, curve.points[0].designed.mape);
  EXPECT_EQ(curve.all.calibration, "left-out");
}

TEST(FamilyOut, NeedsTwoFamilies) {
  Dataset copies = datasetOf({measured(
      "memory.csv.gz", [](std::string_view line) { return line.starts_with("copy1d,bf16,"); })});
  auto report = evaluateFamilyOut(copies, h100());
  ASSERT_FALSE(report);
  EXPECT_EQ(takeDiag(report.takeError()).cls, DiagClass::BadInput);
}

/// What a family is priced by does not depend on its own times.
TEST(FamilyOut, SeesNoRowOfTheFamily) {
  Dataset data = datasetOf(
      {measured("memory.csv.gz", [n = 0](std::string_view) mutable { return n++ % 53 == 0; })});
  auto predictedOf = [&](const Dataset &of) {
    EvaluationReport report = llvm::cantFail(evaluateFamilyOut(of, h100()));
    std::vector<double> times;
    for (size_t i = 0; i < of.rows.size(); ++i)
      if (of.rows[i].identity.family == "softmax2d/bf16")
        times.push_back(report.predictedNs[i]);
    return times;
  };
  std::vector<double> before = predictedOf(data);
  ASSERT_FALSE(before.empty());
  for (DatasetRow &row : data.rows)
    if (row.identity.family == "softmax2d/bf16")
      row.timeNs *= 3;
  EXPECT_EQ(predictedOf(data), before);
}

} // namespace
} // namespace tilewright
