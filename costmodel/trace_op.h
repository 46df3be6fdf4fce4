// The operations that a trace records (trace.h) and a program replays (feature_program.h).
#pragma once

#include <cstdint>

namespace tilewright {

enum class TraceOp : uint8_t {
  Input,    ///< the a-th value of the plan
  Constant, ///< value
  Add,
  Subtract,
  Multiply,
  Divide,
  Larger,
  Smaller,
  Floor,
  Ceil,
  Root,       ///< square root
  PowerBelow, ///< the largest power of two at or below a, which is at least 1
  Less,       ///< a < b; only in guards
  LessEqual,
  Equal,
};

} // namespace tilewright
