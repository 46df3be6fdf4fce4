// Robust nonlinear least squares with priors and bounds (Levenberg-Marquardt).
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace tilewright {

/// Minimise over x within [lower, upper]
///   Σ ρ(wᵢ rᵢ(x)) + n² Σ ((xⱼ - mⱼ) / σⱼ)²
/// with the soft-L1 loss ρ(e) = 2 s² (√(1 + (e/s)²) - 1): squares for small residuals, linear for
/// large ones (s: robustScale); n (noise) is the spread of residuals that the prior assumes.
struct FitProblem {
  /// Residual of a row at x; writes ∂r/∂xⱼ to `gradient` (as long as x).
  std::function<double(size_t row, std::span<const double> x, std::span<double> gradient)> residual;
  std::vector<double> weights; ///< one a row
  std::vector<double> start, lower, upper;
  std::vector<double> priorMean, priorSigma; ///< an infinite σ: no prior
  std::vector<bool> isFree;                  ///< the others keep their start value
  double robustScale = 0.05;
  double noise = 0.05;
  int maxIterations = 60;
  double tolerance = 1e-8; ///< relative decrease of the cost at which it stops
};

struct FitResult {
  std::vector<double> x;
  /// Standard deviation of each x from the linearised problem, for `independent` observations
  /// (0 for what is not free).
  std::vector<double> sigma;
  double cost = 0; ///< mean loss a row
  int iterations = 0;
  bool converged = false;
};

/// `independent`: how many independent observations the rows amount to (rows of one problem share
/// their model error), for the standard deviations.
FitResult fit(const FitProblem &problem, double independent);

} // namespace tilewright
