// Kernels that are chosen together have code, and it is right: of networks, each kernel with the
// plan that it was chosen with, over smaller tensors on the emulator.
#pragma once

#include <cstddef>
#include <initializer_list>

namespace tilewright {

struct CheckedKernels {
  size_t kernels = 0, passed = 0, fused = 0, better = 0;
};

/// Of bundled models, by name. What has no code or computes something else is a failure of the
/// test that asks.
CheckedKernels checkChosenKernels(std::initializer_list<const char *> names);

} // namespace tilewright
