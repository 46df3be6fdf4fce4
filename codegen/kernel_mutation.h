// Fault injection for tests: emulated kernels with calls removed.
#pragma once

#include "codegen/kernel_module.h"

#include <optional>

namespace tilewright {

/// The kernel without the calls of an emulator function, or without call number `which` in the
/// order of the code. `removed` returns how many were removed.
KernelModule withoutCalls(KernelModule kernel, const char *function, std::optional<size_t> which,
                          size_t &removed);

} // namespace tilewright
