#include "costmodel/formula.h"
#include "costmodel/influence.h"
#include "costmodel/price.h"
#include "costmodel/testing/data.h"

#include <cmath>

namespace tilewright {
namespace {

using testing::h100;
using testing::planFrom;

KernelPlan gemm() {
  return llvm::cantFail(
      planFrom("kernel,dtype,batch,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,split_k,group_m\n"
               "gemm,bf16,,2048,2048,2048,128,128,64,4,3,1,8\n"));
}

/// Elasticities are what small changes of the parameters do.
TEST(Influence, IsThatOfSmallChanges) {
  const Device device = h100();
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  const KernelPlan plan = gemm();
  auto influences = influencesOn(plan, device, calibration);
  ASSERT_TRUE(bool(influences)) << takeDiag(influences.takeError()).str();
  std::array<double, parameterCount> expected{};
  const Features f = underCache(llvm::cantFail(featuresOf(plan, device)), device, {});
  for (size_t j = 0; j < expected.size(); ++j) {
    auto lnAt = [&](double factor) {
      std::array<double, parameterCount> values = toArray(calibration.values());
      values[j] *= factor;
      return std::log(kernelTime(f, device, fromArray(values)).total);
    };
    expected[j] = (lnAt(std::exp(1e-5)) - lnAt(std::exp(-1e-5))) / 2e-5;
  }
  std::array<bool, parameterCount> named{};
  for (const ParameterInfluence &influence : *influences) {
    const size_t j = size_t(influence.parameter);
    named[j] = true;
    EXPECT_NEAR(influence.elasticity, expected[j], 1e-5) << parameterInfos()[j].name;
    EXPECT_EQ(influence.sigmaLn, calibration.parameters[j].sigmaLn);
  }
  for (size_t j = 0; j < named.size(); ++j)
    EXPECT_TRUE(named[j] || std::abs(expected[j]) < 1e-9) << parameterInfos()[j].name;
  for (size_t i = 1; i < influences->size(); ++i)
    EXPECT_GE(std::abs((*influences)[i - 1].elasticity) * (*influences)[i - 1].sigmaLn,
              std::abs((*influences)[i].elasticity) * (*influences)[i].sigmaLn);
}

TEST(Influence, SpreadAddsUpInSquares) {
  EXPECT_NEAR(parameterSpread(std::vector<ParameterInfluence>{{0, 0.5, 0.06}, {1, -0.4, 0.1}}),
              0.05, 1e-12);
  EXPECT_EQ(parameterSpread({}), 0);
}

/// Measured parameters are surer than described ones.
TEST(Influence, CalibrationNarrowsTheSpread) {
  const Device device = h100();
  auto spread = [&](const Calibration &calibration) {
    return parameterSpread(llvm::cantFail(influencesOn(gemm(), device, calibration)));
  };
  EXPECT_LT(spread(llvm::cantFail(defaultCalibration(device))),
            0.8 * spread(priorCalibration(device)));
}

} // namespace
} // namespace tilewright
