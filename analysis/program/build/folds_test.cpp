// Folds of built programs against the resources and features of their plans, where both mean the
// same: CTAs, threads, bytes written. Bytes loaded differ: folds count each pass over a row and
// lanes that a condition cuts off, features count sectors and the steps of a row once.
#include "analysis/program/build/testing/check.h"
#include "analysis/program/pass/resources.h"
#include "costmodel/device.h"
#include "costmodel/features.h"
#include "tests/tilings/bundled_kernels.h"

#include <iostream>

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

struct Agreement {
  size_t plans = 0;
  std::map<std::string, size_t> equal, less, more;

  void count(const std::string &what, double fold, double mirror) {
    bool isEqual = std::abs(fold - mirror) <= 1e-6 * std::max(1.0, mirror);
    ++(isEqual ? equal : fold < mirror ? less : more)[what];
  }
};

/// The program that the passes make of a plan.
std::optional<Program> programOf(const Module &module, const KernelPlan &plan) {
  auto variant = variantOf(module.entry(), *plan.tiled, plan.values);
  if (!variant) {
    llvm::consumeError(variant.takeError());
    return std::nullopt;
  }
  auto built = buildProgram(module, module.entry(), *plan.tiled, *variant);
  if (!built) {
    llvm::consumeError(built.takeError());
    return std::nullopt;
  }
  Program program = std::move(*built);
  auto staged = stage(program);
  if (staged)
    program = std::move(staged->program);
  else
    llvm::consumeError(staged.takeError());
  auto wide = vectorise(program);
  if (wide)
    program = std::move(wide->program);
  else
    llvm::consumeError(wide.takeError());
  return program;
}

void compare(const Module &module, KernelPlan plan, const Device &device, Agreement &agreement) {
  std::optional<Program> program = programOf(module, plan);
  if (!program)
    return;
  Folds folds = foldsOf(*program);
  Assignment sizes = assignmentOf(*program, sizesOf(*program, *plan.tiled, plan.values));
  auto fold = [&](Count count) {
    return static_cast<double>(folds.at(folds.counts[count], sizes).value_or(-1));
  };
  Resources resources =
      kernelResources(module, module.entry(), *plan.tiled, Instruction::Fma, device.limits);
  auto resource = [&](Expr e) {
    return static_cast<double>(evaluate(e, plan.assignment()).value_or(-1));
  };
  auto features = featuresOf(plan, device);
  if (!features)
    return llvm::consumeError(features.takeError());
  ++agreement.plans;
  agreement.count("ctas", fold(Count::Ctas), resource(resources.grid));
  agreement.count("ctas of features", fold(Count::Ctas), features->ctas);
  agreement.count("threads", fold(Count::Threads), resource(resources.threads));
  agreement.count("shared bytes", fold(Count::SharedBytes), resource(resources.sharedBytes));
  agreement.count("bytes written", fold(Count::WrittenBytes), features->writeBytes);
  agreement.count("bytes loaded", fold(Count::ReadBytes),
                  features->ctas *
                      (features->iterations * features->loadBytes + features->outsideLoadBytes));
}

} // namespace

TEST(BuiltFolds, AgreeWithResourcesAndFeatures) {
  auto device = loadDevice("h100-sxm");
  ASSERT_TRUE(bool(device));
  auto kernels = bundledKernels();
  ASSERT_TRUE(bool(kernels));
  std::map<CodeKind, Agreement> kinds;
  std::mt19937_64 random(11);
  for (const BundledKernel &kernel : *kernels) {
    auto module = extractGroup(*kernel.module, kernel.source.graph, kernel.source.group);
    if (!module) {
      llvm::consumeError(module.takeError());
      continue;
    }
    auto plan = planOfEntry(*module);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    for (int draw = 0; draw < 3; ++draw)
      if (auto values = drawValues(*plan->tiled, random)) {
        plan->values = *values;
        compare(**module, *plan, *device, kinds[kindOfCode((*module)->entry(), *plan->tiled).kind]);
      }
  }
  for (CodeKind kind : {CodeKind::Elementwise, CodeKind::Reduction}) {
    Agreement &agreement = kinds[kind];
    std::cout << toString(kind) << ": " << agreement.plans << " plans\n";
    for (const char *what :
         {"ctas", "ctas of features", "threads", "shared bytes", "bytes written", "bytes loaded"})
      std::cout << "  " << what << ": " << agreement.equal[what] << " equal, "
                << agreement.less[what] << " less, " << agreement.more[what] << " more\n";
    EXPECT_GT(agreement.plans, 200u);
    for (const char *what : {"ctas", "ctas of features", "threads", "bytes written"})
      EXPECT_EQ(agreement.equal[what], agreement.plans) << toString(kind) << ", " << what;
  }
  // Staged tiles are padded and start at 128 bytes; the plans' tiles are permuted instead.
  EXPECT_EQ(kinds[CodeKind::Elementwise].less["shared bytes"], 0u);
}
