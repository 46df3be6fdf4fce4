#include "costmodel/calibration.h"

#include "analysis/support/median.h"
#include "costmodel/fit.h"
#include "costmodel/formula.h"
#include "costmodel/log_parameters.h"
#include "costmodel/price.h"
#include "costmodel/switch_off.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tilewright {

namespace {

using Status = CalibratedParameter::Status;
/// Weight of each row: groups of a family weigh the same; a family weighs the square root of its
/// number of groups.
std::vector<double> rowWeights(const Dataset &data, std::span<const size_t> rows) {
  std::map<std::string_view, double> groupRows, familyGroups;
  for (size_t i : rows)
    ++groupRows[data.rows[i].identity.group];
  for (size_t i : rows)
    familyGroups[data.rows[i].identity.family] += 1 / groupRows[data.rows[i].identity.group];
  std::vector<double> weights;
  double squares = 0;
  for (size_t i : rows) {
    const RowIdentity &id = data.rows[i].identity;
    double w = 1 / std::sqrt(groupRows[id.group]) / std::pow(familyGroups[id.family], 0.25);
    weights.push_back(w);
    squares += w * w;
  }
  double scale = std::sqrt(double(rows.size()) / std::max(squares, 1e-300));
  for (double &w : weights)
    w *= scale;
  return weights;
}

/// A fitted value counts as identified if the data narrow it well below the prior and it is not at
/// a bound.
bool isIdentified(double log, double sigma, double lower, double upper, double priorSigma) {
  constexpr double atBound = 1e-3;
  return sigma < 0.5 * priorSigma && log - lower > atBound && upper - log > atBound;
}

void judge(Calibration &c, const Dataset &data, std::span<const size_t> rows,
           const Device &device) {
  Parameters p = c.values();
  std::vector<double> absoluteLogs;
  double sum = 0;
  for (size_t i : rows) {
    double predicted = kernelTime(data.rows[i].features, device, p).total;
    sum += std::abs(predicted / data.rows[i].timeNs - 1);
    absoluteLogs.push_back(std::abs(std::log(predicted / data.rows[i].timeNs)));
  }
  c.mape = sum / double(rows.size());
  constexpr double medianToSigma = 1.4826; // of a normal distribution
  c.sigmaLn = medianToSigma * medianOf(std::move(absoluteLogs));
}

} // namespace

std::string_view toString(Status status) {
  switch (status) {
  case Status::Prior:
    return "prior";
  case Status::Fixed:
    return "fixed";
  case Status::Fitted:
    return "fitted";
  case Status::NotIdentified:
    return "not identified";
  }
  return "";
}

Parameters Calibration::values() const {
  std::array<double, parameterCount> values{};
  for (int i = 0; i < parameterCount; ++i)
    values[i] = parameters[i].value;
  return fromArray(values);
}

BaseSpread Calibration::spreadOf(std::string_view kind) const {
  if (kind.empty())
    return sigmaLn;
  for (const KindSpread &spread : spreads)
    if (spread.kind == kind)
      return {spread.sigmaLn, true};
  return std::max(sigmaLn, unknownSigmaLn);
}

std::string Calibration::label() const {
  if (!isFitted())
    return "none (priors)";
  return transferredFrom.empty() ? device : transferredFrom + ", carried over";
}

std::vector<KindSpread> spreadsByKind(const Dataset &data, const Device &device,
                                      const Calibration &calibration) {
  constexpr size_t fewest = 8;   // that show a spread; of fewer, it is the guess at least
  constexpr double share = 0.68; // within a standard deviation of a normal distribution
  const Parameters parameters = parametersFor(calibration, device);
  std::map<std::string, std::vector<double>> logs;
  for (const DatasetRow &row : data.rows)
    if (!row.kind.empty() && !row.features.empty && row.timeNs > 0)
      logs[row.kind].push_back(
          std::log(row.timeNs / price(row.features, device, parameters).timeNs));
  std::vector<KindSpread> spreads;
  for (auto &[kind, values] : logs) {
    KindSpread spread{kind, 0, int64_t(values.size())};
    spread.bias = medianOf(values);
    for (double &value : values)
      value = std::abs(value);
    std::sort(values.begin(), values.end());
    spread.sigmaLn = values[size_t(std::ceil(share * double(values.size()))) - 1];
    if (values.size() < fewest)
      spread.sigmaLn = std::max(spread.sigmaLn, Calibration::unknownSigmaLn);
    const auto inside = std::upper_bound(values.begin(), values.end(), spread.sigmaLn);
    spread.inside = double(inside - values.begin()) / double(values.size());
    spreads.push_back(std::move(spread));
  }
  return spreads;
}

Calibration priorCalibration(const Device &device) {
  Calibration c;
  c.device = device.name;
  c.deviceDigest = device.digest;
  for (double prior : toArray(priorParameters(device)))
    c.parameters.push_back({prior, prior, FitOptions().priorSigma, Status::Prior});
  return c;
}

llvm::Expected<Calibration> calibrate(const Dataset &data, const Device &device,
                                      const FitOptions &options) {
  std::vector<size_t> rows(data.rows.size());
  std::iota(rows.begin(), rows.end(), size_t(0));
  return calibrate(data, rows, device, options);
}

namespace {

/// A term to omit from a fit, and the fit that has it.
struct Lack {
  size_t ablation;
  const Calibration &start;
};

llvm::Expected<Calibration> fitTo(const Dataset &data, std::span<const size_t> allRows,
                                  const Device &device, const FitOptions &options,
                                  const Lack *lack) {
  std::vector<size_t> rows;
  for (size_t i : allRows)
    if (!data.rows[i].features.empty)
      rows.push_back(i);
  if (rows.empty())
    return makeError(
        DiagClass::BadInput,
        "no rows to fit: {} have a price, {} have none{}, {} are not believed{}, {} "
        "failed when they were measured",
        data.rows.size(),
        std::accumulate(data.unpriced.begin(), data.unpriced.end(), int64_t(0),
                        [](int64_t n, const UnpricedRows &u) { return n + u.rows; }),
        data.unpriced.empty() ? "" : " (" + data.unpriced.front().reason + ")", data.leftOut.size(),
        data.leftOut.empty() ? "" : " (" + data.leftOut.front().reason + ")", data.failedRows);
  Calibration c = priorCalibration(device);
  c.files = data.files;
  c.dataHash = data.hash;
  c.options = options;
  c.rows = int64_t(rows.size());
  std::map<std::string_view, int> groups;
  for (size_t i : rows)
    groups[data.rows[i].identity.group] = 1;
  c.groups = int64_t(groups.size());

  FitProblem problem;
  problem.maxIterations = options.maxIterations;
  // Rows of one problem share their error and count as one observation; the prior is weighed
  // against that number.
  problem.noise = options.modelError * std::sqrt(double(rows.size()) / double(groups.size()));
  problem.weights = rowWeights(data, rows);
  for (int j = 0; j < parameterCount; ++j) {
    const ParameterInfo &info = parameterInfos()[j];
    double log = std::log(c.parameters[j].prior);
    problem.start.push_back(lack ? std::log(lack->start.parameters[j].value) : log);
    problem.priorMean.push_back(log);
    problem.priorSigma.push_back(options.priorSigma);
    problem.lower.push_back(log + std::log(info.low));
    problem.upper.push_back(log + std::log(info.high));
    problem.isFree.push_back(info.fitted || options.all);
  }
  if (lack)
    problem.tolerance = 1e-5;
  // The parameters are constant during one pass over all rows.
  std::vector<double> seededAt;
  ParametersOf<ParameterDual> parameters;
  problem.residual = [&](size_t i, std::span<const double> x, std::span<double> gradient) {
    if (seededAt.empty() || !std::equal(x.begin(), x.end(), seededAt.begin())) {
      seededAt.assign(x.begin(), x.end());
      parameters = seededParameters(x);
      if (lack)
        switchOff(lack->ablation, device, parameters);
    }
    const DatasetRow &row = data.rows[rows[i]];
    ParameterDual time = log(kernelTime(row.features, device, parameters).total);
    std::copy(time.d.begin(), time.d.end(), gradient.begin());
    return time.value - std::log(row.timeNs);
  };
  FitResult result = fit(problem, double(c.groups));
  c.iterations = result.iterations;
  c.converged = result.converged;
  for (int j = 0; j < parameterCount; ++j) {
    CalibratedParameter &p = c.parameters[j];
    if (!problem.isFree[j]) {
      p.status = Status::Fixed;
      continue;
    }
    p.value = std::exp(result.x[j]);
    p.sigmaLn = result.sigma[j];
    p.status =
        isIdentified(result.x[j], p.sigmaLn, problem.lower[j], problem.upper[j], options.priorSigma)
            ? Status::Fitted
            : Status::NotIdentified;
  }
  if (lack) {
    Parameters values = c.values();
    switchOff(lack->ablation, device, values);
    std::array<double, parameterCount> switched = toArray(values);
    for (size_t j = 0; j < switched.size(); ++j)
      c.parameters[j].value = switched[j];
  }
  judge(c, data, rows, device);
  c.spreads = spreadsByKind(data, device, c);
  if (!c.spreads.empty())
    c.spreadFiles = data.files;
  return c;
}

} // namespace

llvm::Expected<Calibration> calibrate(const Dataset &data, std::span<const size_t> rows,
                                      const Device &device, const FitOptions &options) {
  return fitTo(data, rows, device, options, nullptr);
}

llvm::Expected<Calibration> calibrateWithout(const Dataset &data, std::span<const size_t> rows,
                                             const Device &device, const FitOptions &options,
                                             size_t ablation, const Calibration &start) {
  const Lack lack{ablation, start};
  return fitTo(data, rows, device, options, &lack);
}

} // namespace tilewright
