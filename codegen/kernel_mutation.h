// Faults for tests: kernels for emulation with calls left out.
#pragma once

#include "codegen/kernel_module.h"

#include <optional>

namespace tilewright {

/// The kernel without the calls of an emulator function, or without number `which` of them in the
/// order of the code. `removed` tells how many that were.
KernelModule withoutCalls(KernelModule kernel, const char *function, std::optional<size_t> which,
                          size_t &removed);

} // namespace tilewright
