#include "costmodel/learning.h"

#include "analysis/support/median.h"
#include "costmodel/formula.h"
#include "costmodel/log_parameters.h"

#include <Eigen/Core>
#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace tilewright {

namespace {

using Vector = Eigen::Matrix<double, parameterCount, 1>;
using Matrix = Eigen::Matrix<double, parameterCount, parameterCount>;

/// Gradients of ln(time) with respect to the logarithms of the fitted parameters, at the priors.
class Gradients {
public:
  Gradients(const Device &device, bool all) : device(device), all(all) {
    auto priors = toArray(priorParameters(device));
    std::array<double, parameterCount> logs;
    for (int j = 0; j < parameterCount; ++j)
      logs[size_t(j)] = std::log(priors[size_t(j)]);
    parameters = seededParameters(logs);
  }

  Vector of(const Features &features) const {
    Vector g = Vector::Zero();
    if (features.empty)
      return g;
    ParameterDual time = log(kernelTime(features, device, parameters).total);
    for (int j = 0; j < parameterCount; ++j)
      if (all || parameterInfos()[size_t(j)].fitted)
        g[j] = time.d[size_t(j)];
    return g;
  }

private:
  const Device &device;
  bool all;
  ParametersOf<ParameterDual> parameters;
};

/// A generator with the same draws on every platform (the standard library's distributions differ).
size_t drawBelow(std::mt19937_64 &random, size_t n) { return size_t(random() % n); }

/// Random rows without repetition; families are equally likely until they are exhausted.
std::vector<size_t> drawRows(const Dataset &data, std::span<const size_t> from, size_t count,
                             std::mt19937_64 &random) {
  std::map<std::string_view, std::vector<size_t>> families;
  for (size_t i : from)
    families[data.rows[i].identity.family].push_back(i);
  std::vector<std::vector<size_t> *> left;
  for (auto &[family, rows] : families)
    left.push_back(&rows);
  std::vector<size_t> chosen;
  while (chosen.size() < count && !left.empty()) {
    size_t f = drawBelow(random, left.size());
    std::vector<size_t> &rows = *left[f];
    size_t r = drawBelow(random, rows.size());
    chosen.push_back(rows[r]);
    rows[r] = rows.back();
    rows.pop_back();
    if (rows.empty())
      left.erase(left.begin() + ptrdiff_t(f));
  }
  return chosen;
}

class Learner {
public:
  Learner(const Dataset &data, const Device &device, const LearningOptions &options)
      : data(data), device(device), options(options) {
    for (const DatasetRow &row : data.rows)
      fold.push_back(foldOf(row.identity.shape, options.folds));
    parts.insert(fold.begin(), fold.end());
  }

  llvm::Expected<LearningCurve> run() {
    LearningCurve curve;
    curve.folds = options.folds;
    curve.draws = options.draws;
    auto all = evaluateLeftOut(data, device, options.fit, options.folds);
    if (!all)
      return all.takeError();
    curve.all = std::move(*all);
    for (int out : parts) { // a shorter design is a prefix of a longer one
      size_t most = options.counts.empty()
                        ? 0
                        : *std::max_element(options.counts.begin(), options.counts.end());
      designs[out] = designMeasurements(data, train(out), device, most, options.fit);
    }
    for (size_t count : options.counts) {
      if (options.progress)
        options.progress(curve.points.size(), options.counts.size());
      auto point = pointOf(count);
      if (!point)
        return point.takeError();
      curve.points.push_back(std::move(*point));
    }
    return curve;
  }

private:
  std::vector<size_t> train(int out) const {
    std::vector<size_t> rows;
    for (size_t i = 0; i < data.rows.size(); ++i)
      if (fold[i] != out)
        rows.push_back(i);
    return rows;
  }

  /// Predicts each part by a calibration on the rows that `choose` selects from the others.
  template <class Choose> llvm::Expected<EvaluationReport> crossed(const Choose &choose) const {
    std::vector<double> predicted(data.rows.size());
    for (int out : parts) {
      std::vector<size_t> rows = choose(out);
      Parameters parameters = priorParameters(device);
      if (!rows.empty()) {
        auto calibration = calibrate(data, rows, device, options.fit);
        if (!calibration)
          return calibration.takeError();
        parameters = calibration->values();
      }
      std::vector<double> times = predictAll(data, device, parameters);
      for (size_t i = 0; i < times.size(); ++i)
        if (fold[i] == out)
          predicted[i] = times[i];
    }
    return reportOf(data, device, std::move(predicted));
  }

  llvm::Expected<LearningPoint> pointOf(size_t count) const {
    LearningPoint point;
    point.measurements = count;
    auto designed = crossed([&](int out) {
      const std::vector<size_t> &rows = designs.at(out);
      return std::vector<size_t>(rows.begin(),
                                 rows.begin() + ptrdiff_t(std::min(count, rows.size())));
    });
    if (!designed)
      return designed.takeError();
    point.designed = std::move(designed->overall);
    point.designedFamilies = std::move(designed->families);
    std::vector<double> mape, at1, at5;
    for (int draw = 0; draw < (count == 0 ? 1 : std::max(options.draws, 1)); ++draw) {
      auto random = crossed([&](int out) {
        std::mt19937_64 generator(uint64_t(draw) * 1000 + uint64_t(out));
        return drawRows(data, train(out), count, generator);
      });
      if (!random)
        return random.takeError();
      mape.push_back(random->overall.mape);
      at1.push_back(random->overall.oracleAt1);
      at5.push_back(random->overall.oracleAt5);
    }
    point.randomLow = *std::min_element(mape.begin(), mape.end());
    point.randomHigh = *std::max_element(mape.begin(), mape.end());
    point.randomMape = medianOf(std::move(mape));
    point.randomOracleAt1 = medianOf(std::move(at1));
    point.randomOracleAt5 = medianOf(std::move(at5));
    return point;
  }

  const Dataset &data;
  const Device &device;
  const LearningOptions &options;
  std::vector<int> fold;
  std::set<int> parts;
  std::map<int, std::vector<size_t>> designs;
};

} // namespace

std::vector<size_t> designMeasurements(const Dataset &data, std::span<const size_t> candidates,
                                       const Device &device, size_t count,
                                       const FitOptions &options,
                                       std::span<const size_t> measured) {
  std::map<std::string_view, double> familyRows;
  std::map<std::string_view, Eigen::Index> sharedError; // by family, behind the parameters
  std::map<std::string_view, size_t> timesAsked;
  for (const DatasetRow &row : data.rows) {
    ++familyRows[row.identity.family];
    sharedError.emplace(row.identity.family, parameterCount + Eigen::Index(sharedError.size()));
  }
  Gradients gradients(device, options.all);
  Matrix mean = Matrix::Zero();
  std::vector<Vector> gradientOf(data.rows.size());
  std::vector<Eigen::Index> sharedOf(data.rows.size());
  for (size_t i = 0; i < data.rows.size(); ++i) {
    gradientOf[i] = gradients.of(data.rows[i].features);
    sharedOf[i] = sharedError.at(data.rows[i].identity.family);
    mean.selfadjointView<Eigen::Lower>().rankUpdate(gradientOf[i],
                                                    1 / familyRows[data.rows[i].identity.family]);
  }
  mean = Matrix(mean.selfadjointView<Eigen::Lower>());

  const double noise = options.modelError * options.modelError;
  const Eigen::Index unknowns = parameterCount + Eigen::Index(sharedError.size());
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Identity(unknowns, unknowns) * noise;
  covariance.diagonal().head<parameterCount>().setConstant(options.priorSigma * options.priorSigma);
  // A measurement of a row reduces the variance along its gradient and its family's error.
  auto learn = [&](size_t row) {
    Eigen::VectorXd direction =
        covariance.leftCols<parameterCount>() * gradientOf[row] + covariance.col(sharedOf[row]);
    double variance =
        noise + gradientOf[row].dot(direction.head<parameterCount>()) + direction[sharedOf[row]];
    covariance -= direction * direction.transpose() / variance;
    ++timesAsked[data.rows[row].identity.group];
  };
  auto alongRow = [&](const Eigen::MatrixXd &m, size_t row) {
    const Vector &g = gradientOf[row];
    Eigen::Index shared = sharedOf[row];
    return g.dot(m.topLeftCorner<parameterCount, parameterCount>() * g) +
           2 * g.dot(m.col(shared).head<parameterCount>()) + m(shared, shared);
  };
  for (size_t row : measured)
    learn(row);
  std::vector<size_t> left(candidates.begin(), candidates.end()), chosen;
  while (chosen.size() < count && !left.empty()) {
    size_t fewest = SIZE_MAX;
    for (size_t i : left)
      fewest = std::min(fewest, timesAsked[data.rows[i].identity.group]);
    Eigen::MatrixXd spread =
        covariance.leftCols<parameterCount>() * mean * covariance.topRows<parameterCount>();
    size_t best = 0;
    double bestGain = -1;
    for (size_t k = 0; k < left.size(); ++k) {
      if (timesAsked[data.rows[left[k]].identity.group] > fewest)
        continue;
      double gain = alongRow(spread, left[k]) / (noise + alongRow(covariance, left[k]));
      if (gain > bestGain) {
        bestGain = gain;
        best = k;
      }
    }
    learn(left[best]);
    chosen.push_back(left[best]);
    left.erase(left.begin() + ptrdiff_t(best));
  }
  return chosen;
}

llvm::Expected<LearningCurve> learningCurve(const Dataset &data, const Device &device,
                                            const LearningOptions &options) {
  if (data.rows.empty())
    return makeError(DiagClass::BadInput, "no priced rows to learn from");
  return Learner(data, device, options).run();
}

} // namespace tilewright
