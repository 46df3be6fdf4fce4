#include "costmodel/ablation.h"

#include "analysis/support/digest.h"
#include "costmodel/switch_off.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tilewright {

std::span<const AblationInfo> ablations() {
  static constexpr AblationInfo infos[] = {
#define TILEWRIGHT_ABLATION(name, removes, ...) {name, removes},
#include "costmodel/ablations.def"
  };
  return infos;
}

std::optional<size_t> ablationIndex(std::string_view name) {
  for (size_t i = 0; i < ablations().size(); ++i)
    if (ablations()[i].name == name)
      return i;
  return std::nullopt;
}

std::vector<std::string_view> parametersOf(size_t ablation, const Device &device) {
  // Values at which no term is neutral.
  std::array<double, parameterCount> before;
  for (int j = 0; j < parameterCount; ++j)
    before[size_t(j)] = 3.7 + j;
  Parameters p = fromArray(before);
  switchOff(ablation, device, p);
  std::array<double, parameterCount> after = toArray(p);
  std::vector<std::string_view> names;
  for (size_t j = 0; j < before.size(); ++j)
    if (before[j] != after[j])
      names.push_back(parameterInfos()[j].name);
  return names;
}

namespace {

class Ablator {
public:
  Ablator(const Dataset &data, const Device &device, const AblationOptions &options)
      : data(data), device(device), options(options) {
    std::map<std::string_view, bool> known;
    for (const DatasetRow &row : data.rows) {
      fold.push_back(foldOf(row.identity.shape, options.folds));
      bool isFirst = known.emplace(row.identity.group, true).second;
      uint64_t draw = fnv1a(row.identity.group);
      for (int64_t value : row.choice.values)
        draw = (draw ^ uint64_t(value)) * 0xbf58476d1ce4e5b9ull;
      isFitted.push_back(isFirst || (draw >> 32) % uint64_t(std::max(options.thinning, 1)) == 0);
    }
  }

  llvm::Expected<AblationReport> run() {
    AblationReport report;
    report.folds = options.folds;
    report.fittedRows = std::count(isFitted.begin(), isFitted.end(), true);
    auto all = predict([&](std::span<const size_t> rows, int out) {
      auto fitted = calibrate(data, rows, device, options.fit);
      if (fitted)
        start[out] = *fitted;
      return fitted;
    });
    if (!all)
      return all.takeError();
    report.all = std::move(*all);
    std::vector<size_t> terms = options.terms;
    if (terms.empty()) {
      terms.resize(ablations().size());
      std::iota(terms.begin(), terms.end(), size_t(0));
    }
    for (size_t term : terms) {
      if (options.progress)
        options.progress(report.terms.size(), terms.size());
      auto without = reportWithout(term);
      if (!without)
        return without.takeError();
      report.terms.push_back({term, std::move(*without)});
    }
    return report;
  }

private:
  llvm::Expected<EvaluationReport> reportWithout(size_t term) {
    Dataset lacking = data;
    Device lackingDevice = device;
    Parameters ignored;
    for (DatasetRow &row : lacking.rows)
      switchOff(term, lackingDevice, row.features, ignored);
    return Ablator(lacking, lackingDevice, *this)
        .predict([&](std::span<const size_t> rows, int out) {
          return calibrateWithout(lacking, rows, lackingDevice, options.fit, term, start.at(out));
        });
  }

  Ablator(const Dataset &data, const Device &device, const Ablator &as)
      : data(data), device(device), options(as.options), fold(as.fold), isFitted(as.isFitted) {}

  /// Prices the rows of each fold by a fit to a sample of the other folds' rows.
  template <class Fit> llvm::Expected<EvaluationReport> predict(const Fit &fit) const {
    std::vector<double> predicted(data.rows.size());
    for (int out = 0; out < options.folds; ++out) {
      std::vector<size_t> rows;
      for (size_t i = 0; i < data.rows.size(); ++i)
        if (fold[i] != out && isFitted[i])
          rows.push_back(i);
      if (std::find(fold.begin(), fold.end(), out) == fold.end())
        continue;
      auto calibration = fit(std::span<const size_t>(rows), out);
      if (!calibration)
        return calibration.takeError();
      std::vector<double> all = predictAll(data, device, calibration->values());
      for (size_t i = 0; i < all.size(); ++i)
        if (fold[i] == out)
          predicted[i] = all[i];
    }
    EvaluationReport report = reportOf(data, device, std::move(predicted));
    report.calibration = "left-out";
    report.folds = options.folds;
    return report;
  }

  const Dataset &data;
  const Device &device;
  const AblationOptions &options;
  std::vector<int> fold;
  std::vector<bool> isFitted;
  std::map<int, Calibration> start; ///< by fold
};

} // namespace

llvm::Expected<AblationReport> evaluateAblations(const Dataset &data, const Device &device,
                                                 const AblationOptions &options) {
  if (options.folds < 2)
    return makeError(DiagClass::BadInput, "{} folds, at least 2 are needed to leave shapes out",
                     options.folds);
  if (data.rows.empty())
    return makeError(DiagClass::BadInput, "no priced rows to fit and to judge terms by");
  return Ablator(data, device, options).run();
}

} // namespace tilewright
