// Kernels out of HLO text, for the tests of lowering.
#pragma once

#include "analysis/import/import_file.h"
#include "codegen/check.h"

#include <gtest/gtest.h>

namespace tilewright {

/// A spec for the entry of an HLO module as it stands.
inline KernelSpec specFromHlo(const std::string &hlo, std::vector<int64_t> rootTile,
                              int64_t warps = 4) {
  auto module = importBuffer(std::make_shared<SourceBuffer>("test", hlo));
  EXPECT_TRUE(bool(module)) << (module ? "" : takeDiag(module.takeError()).str());
  KernelSpec spec;
  spec.name = "kernel";
  spec.module = std::make_shared<Module>(std::move(*module));
  spec.rootTile = std::move(rootTile);
  spec.schedule.warps = warps;
  return spec;
}

/// Expects that the kernel passes on the emulator; gives its outcome.
inline CheckOutcome expectPass(const KernelSpec &spec, const CheckOptions &options = {}) {
  CheckOutcome outcome = checkKernel(spec, options);
  std::string tile;
  for (int64_t size : spec.rootTile)
    tile += " " + std::to_string(size);
  EXPECT_EQ(outcome.status, CheckOutcome::Status::Pass)
      << outcome.reason << "\ntile" << tile << ", " << spec.schedule.warps << " warps, "
      << spec.schedule.stages << " stages";
  return outcome;
}

} // namespace tilewright
