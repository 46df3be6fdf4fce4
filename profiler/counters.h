// Hardware counters of single kernels, through CUPTI's range profiler.
#pragma once

#include "profiler/gpu.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tilewright::profile {

/// The counters: time and cycles, DRAM, L2, L1 and shared memory, instructions, tensor pipe,
/// occupancy. CUPTI's names; all known for GA100, GH100 and GB100.
std::span<const char *const> counterNames();

class CounterSession {
public:
  /// Configures the counters for the GPU whose context is current. Failures say what is missing:
  /// CUPTI, the privilege, or a chip that CUPTI does not know.
  static Result<std::unique_ptr<CounterSession>> open(const Gpu &gpu, int ordinal);
  ~CounterSession();

  unsigned passes() const; ///< how often a kernel runs to be counted
  /// Counts one launch, which the driver repeats as often as there are passes, memory restored in
  /// between. One value for each name, NaN for a counter that the chip does not have.
  Result<std::vector<double>> count(const std::function<Status()> &launch);

private:
  struct Impl;
  explicit CounterSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright::profile
