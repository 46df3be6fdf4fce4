// What a reader wants to know first: where a model's time goes, what limits it, what to do.
#pragma once

#include "tools/report/kernel_links.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

/// One lever over all kernels of a model.
struct Advice {
  std::string what;    ///< "half the registers"
  double gainNs = 0;   ///< of one run of the model, each kernel taken alone
  size_t kernels = 0;  ///< that would gain
  size_t foremost = 0; ///< the kernel that would gain most
};

/// Those that gain at least a two-hundredth of the time, the largest first.
std::vector<Advice> adviceOf(const Model &model, const Summary &summary);

/// Time by what limits it, most first; terms without a colour by their own names.
struct LimiterTime {
  std::string name;
  Term term;
  double ns = 0;
};
std::vector<LimiterTime> limiterTimes(std::span<const Kernel *const> kernels);
std::vector<LimiterTime> limiterTimes(const Model &model);

/// Three columns: the kernels with the most time, the terms that limit most of it with how near the
/// model is to its lower bound, and the levers that gain most. Empty without any time.
std::string headline(const Model &model, const Summary &summary, const KernelLinks &links);

} // namespace tilewright::report
