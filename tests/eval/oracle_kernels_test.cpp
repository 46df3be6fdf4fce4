// Every kernel of others' programs that has code passes `emit` and `check`: it becomes PTX, and the
// emulator computes what the reference evaluator computes. The programs are those of a folder that
// TILEWRIGHT_ORACLE names; TILEWRIGHT_ORACLE_ONLY takes those with this text in their names.
#include "analysis/import/check_calls.h"
#include "analysis/import/import_file.h"
#include "analysis/ir/fill.h"
#include "codegen/check.h"
#include "codegen/coverage.h"
#include "tests/eval/oracle.h"
#include "tools/explore/explore.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <map>

using namespace tilewright;

namespace {

struct Setting {
  Device device;
  Calibration calibration;
  Toolchain toolchain;
  std::map<std::string, size_t> outcomes; ///< "pass", "no code: …"; kernels of each
};

void coverPlan(const std::string &name, const KernelPlan &plan, Setting &setting) {
  llvm::Expected<KernelSpec> spec = specOf(plan);
  if (!spec) {
    ++setting.outcomes["no code: " + takeDiag(spec.takeError()).message];
    return;
  }
  CoverageOptions options;
  options.checkNumbers = false; // at full size below, as these programs are small
  llvm::Expected<KernelCoverage> covered = coverKernel(*spec, setting.toolchain, options);
  if (!covered) {
    ADD_FAILURE() << name << ": " << takeDiag(covered.takeError()).str();
    return;
  }
  if (!covered->refusal.empty()) {
    ++setting.outcomes["no code: " + covered->refusal];
    return;
  }
  const CheckOutcome outcome = checkKernel(*spec);
  EXPECT_NE(outcome.status, CheckOutcome::Status::Fail) << name << ": " << outcome.reason;
  const bool isSkipped = outcome.status == CheckOutcome::Status::Skipped;
  ++setting
        .outcomes[isSkipped ? "skipped: " + outcome.reason : std::string(toString(outcome.status))];
}

void coverProgram(const std::string &name, const std::string &text, Setting &setting) {
  llvm::Expected<std::vector<Module>> modules =
      importModules(std::make_shared<const SourceBuffer>(name, text));
  if (!modules) { // said by stablehlo_checks_test
    llvm::consumeError(modules.takeError());
    return;
  }
  ExploreOptions options;
  options.search.maxPriced = options.search.top = 40;
  for (Module &module : *modules) {
    takeChecks(module);
    llvm::Expected<ExploredModel> explored =
        exploreModel(module, setting.device, setting.calibration, options);
    if (!explored) {
      ADD_FAILURE() << name << ": " << takeDiag(explored.takeError()).str();
      continue;
    }
    for (const ExploredKernel &kernel : explored->kernels)
      for (size_t draw = 0; draw < std::min<size_t>(2, kernel.plans.size()); ++draw) {
        const size_t i = draw == 0 ? 0 : splitmix64(kernel.plans.size(), 1) % kernel.plans.size();
        coverPlan(name + " " + kernel.name, kernel.plans[i].plan, setting);
      }
    setting.outcomes["priced without a kernel"] += explored->assumed.size();
    setting.outcomes["not modelled"] += explored->unsupported.size();
  }
}

} // namespace

TEST(OracleKernels, WhatHasCodePassesEmitAndCheck) {
  if (!hasOracle())
    GTEST_SKIP() << noOracle;
  auto device = loadDevice("h100-sxm");
  ASSERT_TRUE(bool(device));
  auto calibration = loadCalibration("h100-sxm");
  ASSERT_TRUE(bool(calibration));
  auto target = findTarget("sm_90a");
  ASSERT_TRUE(bool(target));
  auto toolchain = findToolchain(*target, false);
  ASSERT_TRUE(bool(toolchain));
  Setting setting{std::move(*device), std::move(*calibration), std::move(*toolchain), {}};
  const char *only = std::getenv("TILEWRIGHT_ORACLE_ONLY");
  const bool isVerbose = std::getenv("TILEWRIGHT_ORACLE_VERBOSE") != nullptr;
  for (const auto &[name, text] : oracleTexts(".mlir"))
    if (!only || name.find(only) != std::string::npos) {
      if (isVerbose)
        std::cout << name << std::endl;
      coverProgram(name, text, setting);
    }
  for (const auto &[outcome, count] : setting.outcomes)
    std::cout << count << " " << outcome << "\n";
  EXPECT_GT(setting.outcomes["pass"], 0u);
}
