// Loops over several threads. Internal to the folder.
#pragma once

#include <cstddef>
#include <functional>

namespace tilewright {

/// Runs body(0 … count-1) on some threads; each index once. What one throws ends the others, too,
/// and is thrown here.
void parallelFor(size_t count, unsigned jobs, const std::function<void(size_t)> &body);

} // namespace tilewright
