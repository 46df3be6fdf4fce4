// The forms that instructions have, as data: what an assembler's answers are instances of.
#pragma once

#include "analysis/instructions/isa_target.h"
#include "analysis/instructions/ptx_instruction.h"

#include <span>

namespace tilewright {

/// Who says so.
enum class FormSource : uint8_t {
  Assembled,  ///< ptxas, which a test asks again
  Documented, ///< fields that only the hardware reads: a descriptor's, of which an assembler knows
              ///< nothing
};

/// One form. Alternatives stand between bars; an empty text asks nothing.
struct InstructionForm {
  InstructionUnit unit;
  /// Slots for modifiers, separated by spaces, each with its alternatives; "-" is none of them.
  std::string slots;
  std::string_view a = {}, b = {}, sums = {}; ///< types
  /// m, n and k, see number_set.h; the third is also the one number of what has no shape.
  std::array<std::string_view, 3> shape = {};
  Availability where = {};
};

/// All forms of a unit; none for Other.
std::span<const InstructionForm> formsOf(InstructionUnit unit);

/// Who says which shapes and types a unit takes.
FormSource sourceOfShapes(InstructionUnit unit);

/// What the unit's third number is where it has no shape: "bytes", "registers", "columns".
std::string_view nameOfNumber(InstructionUnit unit);

} // namespace tilewright
