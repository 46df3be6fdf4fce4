// Helpers of this folder's tests.
#pragma once

#include "analysis/import/hlo_text.h"
#include "analysis/ir/verifier.h"
#include "tools/explore/explore.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

namespace tilewright {

/// The module of a text that is known to be valid.
inline Module parseVerified(std::string text) {
  auto module = parseHlo(std::make_shared<SourceBuffer>("test", std::move(text)));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  if (llvm::Error error = verify(*module))
    ADD_FAILURE() << takeDiag(std::move(error)).str();
  return std::move(*module);
}

inline const char *const denseLayer = R"(HloModule m
ENTRY e {
  a = bf16[256,128]{1,0} parameter(0)
  b = bf16[128,192]{1,0} parameter(1)
  bias = bf16[192]{0} parameter(2)
  d = bf16[256,192]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  wide = bf16[256,192]{1,0} broadcast(bias), dimensions={1}
  sum = bf16[256,192]{1,0} add(d, wide)
  ROOT out = bf16[256,192]{1,0} negate(sum)
})";

/// Explores with a small budget on an H100 without measurements.
struct Explored {
  Device device;
  Calibration calibration;
  Explored() {
    auto loaded = loadDevice("h100-sxm");
    if (!loaded) {
      ADD_FAILURE() << takeDiag(loaded.takeError()).str();
      return;
    }
    device = std::move(*loaded);
    calibration = priorCalibration(device);
  }
  ExploredModel run(const Module &module, ExploreOptions options = {}) {
    options.search.maxPriced = 200;
    auto model = exploreModel(module, device, calibration, options);
    if (!model) {
      ADD_FAILURE() << takeDiag(model.takeError()).str();
      return {};
    }
    return std::move(*model);
  }
};

/// How often each op is accounted for.
inline std::map<std::string, int> accounts(const ExploredModel &model) {
  std::map<std::string, int> seen;
  for (const ExploredKernel &kernel : model.kernels)
    for (const std::string &op : kernel.ops)
      ++seen[op];
  for (const UnsupportedOp &op : model.unsupported)
    ++seen[op.op];
  for (const UnsupportedOp &op : model.noKernel)
    ++seen[op.op];
  for (const AssumedOp &op : model.assumed)
    ++seen[op.op];
  return seen;
}

} // namespace tilewright
