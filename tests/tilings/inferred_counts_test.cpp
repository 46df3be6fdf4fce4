// Inferred layouts against those that builders and passes choose, by the emulator's counts: of each
// kernel of the bundled models with the plan that is chosen for it, over smaller tensors. Inferred
// ones cost less by assumed prices; where something that the emulator counts rises, it is listed
// with the gain.
#include "analysis/import/import_file.h"
#include "analysis/program/inference/prices.h"
#include "analysis/tiling/plan_text.h"
#include "codegen/check.h"
#include "codegen/lower.h"
#include "codegen/shrink.h"
#include "tools/explore/explore.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace tilewright;

namespace {

/// What the emulator counts that costs time.
struct CountedWork {
  static constexpr std::array<const char *, 5> names = {"shared passes", "of them by conflicts",
                                                        "barriers", "global bytes", "atomics"};
  std::array<int64_t, 5> amounts{};

  static CountedWork of(const EmulationCounts &counts) {
    const int64_t loads = counts.matrixLoadWavefronts - counts.matrixLoads;
    return {{counts.sharedWavefronts + counts.matrixLoadWavefronts,
             counts.sharedWavefronts - counts.sharedAccesses + loads, counts.barriers,
             counts.globalReadBytes + counts.globalWrittenBytes, counts.atomics}};
  }
  void add(const CountedWork &other) {
    for (size_t i = 0; i < amounts.size(); ++i)
      amounts[i] += other.amounts[i];
  }
  /// "barriers 2 → 4, …" of what rises.
  std::string risesTo(const CountedWork &then) const {
    std::string text;
    for (size_t i = 0; i < amounts.size(); ++i)
      if (then.amounts[i] > amounts[i])
        text += fmt::format("{}{} {} → {}", text.empty() ? "" : ", ", names[i], amounts[i],
                            then.amounts[i]);
    return text;
  }
};

/// On zeros: what is counted depends on no value but indices.
llvm::Expected<CountedWork> emulate(const KernelSpec &spec) {
  llvm::Expected<KernelModule> code = lowerKernel(spec, CodeMode::Emulation);
  if (!code)
    return code.takeError();
  llvm::Expected<EmulatedKernel> kernel = EmulatedKernel::compile(std::move(*code));
  if (!kernel)
    return kernel.takeError();
  std::vector<std::vector<double>> memory;
  std::vector<EmulatorBuffer> buffers;
  auto add = [&](int64_t bytes) -> EmulatorBuffer & {
    memory.emplace_back(static_cast<size_t>(bytes / 8 + 64));
    const auto address = reinterpret_cast<uintptr_t>(memory.back().data());
    return buffers.emplace_back(
        EmulatorBuffer{reinterpret_cast<std::byte *>((address + 255) / 256 * 256), bytes});
  };
  for (const KernelParameter &parameter : kernel->parameters())
    add(*parameter.shape.byteSize()).isOutput = parameter.isOutput;
  for (const KernelWorkspace &workspace : kernel->workspaces())
    add(workspace.bytes).isWorkspace = true;
  EmulationOptions options;
  options.maxEvents = uint64_t(1) << 28;
  options.countBankConflicts = true;
  llvm::Expected<EmulationCounts> counts = kernel->run(buffers, options);
  if (!counts)
    return counts.takeError();
  return CountedWork::of(*counts);
}

/// The chosen plans' kernels, smaller.
std::vector<KernelSpec> smallKernels(const std::string &file, const Device &device) {
  const Module module = llvm::cantFail(importFile(file));
  ExploreOptions options;
  options.search.maxPriced = 400;
  options.search.top = 1;
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  std::vector<KernelSpec> specs;
  for (const ExploredKernel &kernel :
       llvm::cantFail(exploreModel(module, device, calibration, options)).kernels) {
    llvm::Expected<KernelSpec> spec = specOf(kernel.plans.front().plan);
    if (!spec) { // what writes in place
      llvm::consumeError(spec.takeError());
      continue;
    }
    specs.push_back(llvm::cantFail(shrinkSpec(*spec, ShrunkSizes::Aligned, 1 << 17)));
    specs.back().name = std::filesystem::path(file).stem().stem().string() + " %" + kernel.name;
  }
  return specs;
}

struct Tally {
  size_t kernels = 0, compared = 0, cheaper = 0, rising = 0;
  inference::Cost given = 0, inferred = 0;
  CountedWork before, after;
};

void compare(KernelSpec spec, PlanRefiner &refiner, Tally &tally) {
  ++tally.kernels;
  llvm::Expected<KernelPlan> plan = planOf(spec);
  if (!plan)
    return llvm::consumeError(plan.takeError()); // made by what has no plan of its own
  const std::vector<RefinedPlan> ranks = refiner.rank({{std::move(*plan), {}}});
  if (ranks.empty()) // so few elements have no program with the plan's instruction
    return;
  const LayoutSaving &saving = *ranks.front().saving.layouts;
  tally.compared += saving.refusal.empty();
  if (!saving.areTaken())
    return;
  EXPECT_LT(saving.inferred, saving.given) << spec.name;
  llvm::Expected<CountedWork> before = emulate(spec);
  spec.layouts = saving.layouts;
  llvm::Expected<CountedWork> after = emulate(spec);
  ASSERT_TRUE(bool(before)) << spec.name << ": " << takeDiag(before.takeError()).message;
  ASSERT_TRUE(bool(after)) << spec.name << ": " << takeDiag(after.takeError()).message;
  const CheckOutcome outcome = checkKernel(spec);
  EXPECT_NE(toString(outcome.status), "fail") << spec.name << ": " << outcome.reason;
  ++tally.cheaper;
  tally.given += saving.given;
  tally.inferred += saving.inferred;
  tally.before.add(*before);
  tally.after.add(*after);
  const std::string rises = before->risesTo(*after);
  if (rises.empty())
    return;
  ++tally.rising;
  const double units = static_cast<double>(inference::unitsOfClock);
  fmt::print("{}: {:g} → {:g} clocks a CTA, {}\n", spec.name,
             static_cast<double>(saving.given) / units,
             static_cast<double>(saving.inferred) / units, rises);
}

} // namespace

TEST(InferredCounts, RiseOnlyWhereTheyAreListed) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator("datasets/models"))
    if (entry.is_regular_file()) // whole networks stand in a folder
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  Tally tally;
  PlanRefiner refiner(device, llvm::cantFail(defaultCalibration(device)), {.layouts = 1});
  for (const std::string &file : files)
    for (KernelSpec &spec : smallKernels(file, device))
      compare(std::move(spec), refiner, tally);
  const double units = static_cast<double>(inference::unitsOfClock);
  fmt::print("{} kernels, {} compared, {} cheaper: {:g} → {:g} clocks for a CTA of each; in {} of "
             "them a count rises\n",
             tally.kernels, tally.compared, tally.cheaper, static_cast<double>(tally.given) / units,
             static_cast<double>(tally.inferred) / units, tally.rising);
  for (size_t i = 0; i < CountedWork::names.size(); ++i)
    fmt::print("{}: {} → {}\n", CountedWork::names[i], tally.before.amounts[i],
               tally.after.amounts[i]);
  EXPECT_GT(tally.compared, 200u);
  EXPECT_GT(tally.cheaper, 20u);
}
