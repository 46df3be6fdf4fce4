#include "costmodel/influence.h"

#include "costmodel/log_parameters.h"
#include "costmodel/price.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

llvm::Expected<std::vector<ParameterInfluence>> influencesOn(const KernelPlan &plan,
                                                             const Device &device,
                                                             const Calibration &calibration,
                                                             const EstimateOptions &options) {
  auto features = featuresOf(plan, device, options);
  if (!features)
    return features.takeError();
  std::vector<ParameterInfluence> influences;
  if (features->empty || features->occupancy < 1)
    return influences;
  std::array<double, parameterCount> logs = toArray(parametersFor(calibration, device));
  for (double &value : logs)
    value = std::log(value);
  const ParameterDual time =
      log(kernelTime(underCache(*features, device, options.cache), device, seededParameters(logs))
              .total);
  for (int j = 0; j < parameterCount; ++j)
    if (time.d[size_t(j)] != 0)
      influences.push_back({j, time.d[size_t(j)], calibration.parameters[size_t(j)].sigmaLn});
  std::stable_sort(influences.begin(), influences.end(), [](const auto &a, const auto &b) {
    return std::abs(a.elasticity) * a.sigmaLn > std::abs(b.elasticity) * b.sigmaLn;
  });
  return influences;
}

double parameterSpread(std::span<const ParameterInfluence> influences) {
  double sum = 0;
  for (const ParameterInfluence &influence : influences) {
    const double spread = influence.elasticity * influence.sigmaLn;
    sum += spread * spread;
  }
  return std::sqrt(sum);
}

} // namespace tilewright
