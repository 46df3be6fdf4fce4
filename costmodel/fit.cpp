#include "costmodel/fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

class Fitter {
public:
  explicit Fitter(const FitProblem &problem) : p(problem) {
    for (size_t j = 0; j < p.start.size(); ++j)
      if (p.isFree[j])
        freeIndex.push_back(j);
  }

  FitResult run(double independent) {
    FitResult result;
    std::vector<double> x = p.start;
    for (size_t j : freeIndex)
      x[j] = std::clamp(x[j], p.lower[j], p.upper[j]);
    double cost = linearise(x);
    double damping = 1e-3;
    while (result.iterations < p.maxIterations && !freeIndex.empty()) {
      ++result.iterations;
      MatrixXd damped = normal;
      damped.diagonal() += damping * normal.diagonal().cwiseMax(1e-12);
      VectorXd step = damped.ldlt().solve(-gradientSum);
      std::vector<double> next = x;
      for (size_t k = 0; k < freeIndex.size(); ++k) {
        size_t j = freeIndex[k];
        next[j] = std::clamp(x[j] + step[k], p.lower[j], p.upper[j]);
      }
      MatrixXd oldNormal = normal;
      VectorXd oldGradient = gradientSum;
      double nextCost = linearise(next);
      if (nextCost < cost) {
        double decrease = (cost - nextCost) / std::max(cost, 1e-300);
        x = std::move(next);
        cost = nextCost;
        damping = std::max(damping / 5, 1e-9);
        if (decrease < p.tolerance) {
          result.converged = true;
          break;
        }
      } else {
        normal = std::move(oldNormal);
        gradientSum = std::move(oldGradient);
        damping *= 8;
        if (damping > 1e8) {
          result.converged = true; // no descent direction: a minimum up to rounding
          break;
        }
      }
    }
    result.sigma = standardDeviations(independent);
    result.x = std::move(x);
    result.cost = cost / double(std::max<size_t>(p.weights.size(), 1));
    return result;
  }

private:
  /// Cost at x; fills the normal equations of the free parameters, rows weighted by the loss.
  double linearise(const std::vector<double> &x) {
    size_t n = freeIndex.size();
    normal = MatrixXd::Zero(n, n);
    gradientSum = VectorXd::Zero(n);
    squares = 0;
    std::vector<double> gradient(x.size());
    VectorXd row(n);
    double s2 = p.robustScale * p.robustScale, cost = 0;
    for (size_t i = 0; i < p.weights.size(); ++i) {
      double w = p.weights[i], e = w * p.residual(i, x, gradient);
      double root = std::sqrt(1 + e * e / s2);
      cost += 2 * s2 * (root - 1);
      double lossWeight = 1 / root;
      squares += lossWeight * e * e;
      for (size_t k = 0; k < n; ++k)
        row[k] = w * gradient[freeIndex[k]];
      normal.selfadjointView<Eigen::Lower>().rankUpdate(row, lossWeight);
      gradientSum += lossWeight * e * row;
    }
    normal = MatrixXd(normal.selfadjointView<Eigen::Lower>());
    dataNormal = normal;
    for (size_t k = 0; k < n; ++k) {
      size_t j = freeIndex[k];
      if (!std::isfinite(p.priorSigma[j]))
        continue;
      double pull = (x[j] - p.priorMean[j]) / p.priorSigma[j];
      double n2 = p.noise * p.noise;
      cost += n2 * pull * pull;
      normal(k, k) += n2 / (p.priorSigma[j] * p.priorSigma[j]);
      gradientSum[k] += n2 * pull / p.priorSigma[j];
    }
    return cost;
  }

  std::vector<double> standardDeviations(double independent) const {
    std::vector<double> sigma(p.start.size(), 0.0);
    size_t n = freeIndex.size();
    if (n == 0 || p.weights.empty())
      return sigma;
    double rows = double(p.weights.size());
    double variance = squares / rows;
    // Information matrix of the data, scaled to `independent` rows, plus the prior's.
    MatrixXd information =
        dataNormal / rows * std::max(independent, 1.0) / std::max(variance, 1e-12);
    for (size_t k = 0; k < n; ++k) {
      double prior = p.priorSigma[freeIndex[k]];
      information(k, k) += std::isfinite(prior) ? 1 / (prior * prior) : 1e-9;
    }
    MatrixXd covariance = information.ldlt().solve(MatrixXd::Identity(n, n));
    for (size_t k = 0; k < n; ++k)
      sigma[freeIndex[k]] = std::sqrt(std::max(covariance(k, k), 0.0));
    return sigma;
  }

  const FitProblem &p;
  std::vector<size_t> freeIndex;
  MatrixXd normal, dataNormal;
  VectorXd gradientSum;
  double squares = 0;
};

} // namespace

FitResult fit(const FitProblem &problem, double independent) {
  return Fitter(problem).run(independent);
}

} // namespace tilewright
