// The price of a group that could be a kernel, from short searches. Internal to the folder.
#pragma once

#include "tools/explore/explore.h"
#include "tools/explore/partition/partition.h"

#include <memory>
#include <mutex>
#include <vector>

namespace tilewright {

/// Instructions of its dots are tried from the strongest down, until none that is left can be much
/// faster: one each time that it is asked, since mostly nobody wants to know more than that a group
/// has no plan on tensor cores.
class GroupPricer {
public:
  /// References must live as long.
  GroupPricer(std::shared_ptr<const Module> module, const KernelSource &source,
              const Device &device, const Calibration &calibration, const ExploreOptions &options);

  /// What is known after as many questions before.
  GroupPrice after(unsigned asked);

  const KernelSource source;

private:
  void start();
  void tryNext();
  llvm::Expected<GroupPrice> priceWith(Instruction instruction) const;
  double leastNs(Instruction strongest) const;
  GroupPrice answer() const;

  std::shared_ptr<const Module> module;
  const Device &device;
  const Calibration &calibration;
  const ExploreOptions &options;
  std::mutex mutex;
  NeededWork work;
  double boundNs = 0;
  std::vector<Instruction> left; ///< the strongest at the back
  GroupPrice best;               ///< of those that were tried
  std::vector<GroupPrice> answers;
};

} // namespace tilewright
