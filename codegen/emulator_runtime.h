// The functions that emulated kernels call.
#pragma once

#include <span>
#include <string_view>

namespace tilewright {

struct RuntimeFunction {
  std::string_view name;
  void *address;
};

/// Name and address of each, for the JIT.
std::span<const RuntimeFunction> emulatorRuntime();

} // namespace tilewright
