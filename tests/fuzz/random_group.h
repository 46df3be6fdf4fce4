// Random groups of ops as HLO text, the same for the same seed everywhere.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// An HLO module whose entry is meant as one kernel: 2 to 16 ops beside parameters and constants,
/// among them 0 to 3 dots and 0 to 3 reductions in any order, with elementwise ops, broadcasts,
/// transposes and conversions between them. Results are one to three of its values; all that is
/// computed is part of one of them.
std::string randomGroup(uint64_t seed);

} // namespace tilewright
