// Random small programs as HLO text, the same for the same seed everywhere.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// What a program is made around.
enum class ProgramKind : uint8_t {
  Elementwise,
  Reduction,
  Softmax,
  Dot,
  Window,
  Indexed,
  Attention,
  WideAttention ///< in tiles of warpgroups
};

/// An HLO module whose entry has one result of at most a few thousand elements. It holds only ops
/// whose result does not jump with the last bit of an operand (a float is compared or converted to
/// an integer only where its value is exact), so that kernels can be compared with a reference.
std::string randomProgram(ProgramKind kind, uint64_t seed);

} // namespace tilewright
