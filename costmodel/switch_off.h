// Terms of the formula switched off, and fits without them. Internal to the cost model.
#pragma once

#include "costmodel/calibration.h"
#include "costmodel/features.h"
#include "costmodel/parameters.h"

namespace tilewright {

/// Gives a term of ablations.def its neutral value. P: double or a Dual.
template <class P>
void switchOff(size_t ablation, [[maybe_unused]] Device &d, [[maybe_unused]] Features &f,
               [[maybe_unused]] ParametersOf<P> &p) {
  [[maybe_unused]] const P none(0.0), never(1e30), hard(200.0);
  size_t i = 0;
#define TILEWRIGHT_ABLATION(name, removes, ...)                                                    \
  if (i++ == ablation) {                                                                           \
    __VA_ARGS__;                                                                                   \
    return;                                                                                        \
  }
#include "costmodel/ablations.def"
}

/// The parameters alone.
template <class P> void switchOff(size_t ablation, const Device &device, ParametersOf<P> &p) {
  Device unused = device;
  Features ignored;
  switchOff(ablation, unused, ignored, p);
}

/// As calibrate(), with a term switched off in the parameters: it must already be switched off in
/// `data` and `device`. Starts at the values of `start`, a fit with all terms.
llvm::Expected<Calibration> calibrateWithout(const Dataset &data, std::span<const size_t> rows,
                                             const Device &device, const FitOptions &options,
                                             size_t ablation, const Calibration &start);

} // namespace tilewright
