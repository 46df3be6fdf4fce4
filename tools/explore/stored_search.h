// Searches of plans that were done before, wherever the same kernel stood.
//
// What a search finds depends on the kernel's ops, on the search's options, and on a context that
// the caller names: device, calibration and program version. Their hash is the key; names, places
// in files and metadata are no part of it, so that the layers of a model, and models that have
// layers in common, share results. What is kept is the plans' numbers alone: their prices are made
// again, and what does not belong to the kernel's plans is not taken.
#pragma once

#include "tools/explore/kernel_plans.h"

#include <optional>
#include <string>

namespace tilewright {

/// Texts by key. May be asked from several threads.
class PlanStore {
public:
  virtual ~PlanStore() = default;
  virtual std::optional<std::string> find(const std::string &key) = 0;
  virtual void keep(const std::string &key, const std::string &text) = 0;
};

/// The ops of a kernel and what they read, by number in place of name: equal for kernels whose
/// searches can't differ.
std::string kernelText(const Module &module, const KernelSource &source);

/// The key of a search, 64 hexadecimal digits.
std::string searchKey(const Module &module, const KernelSource &source, const PlanOptions &plans,
                      const PlanSearchOptions &search, std::string_view context);

/// plans.search(options), or what the store has of it. A search without a result is not kept.
llvm::Expected<PlanRanking> storedSearch(const KernelPlans &plans, const KernelSource &source,
                                         const PlanSearchOptions &options, PlanStore *store,
                                         std::string_view context);

} // namespace tilewright
