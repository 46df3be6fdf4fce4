// What lanes that do not count hold, as an abstract value. Internal to the verifier.
#pragma once

#include "analysis/program/scalar.h"

namespace tilewright::program {

/// What the lanes of a value beyond an axis' bound hold.
struct Pad {
  enum class Kind : uint8_t {
    Other,    ///< the value lacks the axis: some number, the same as for lanes that count
    Constant, ///< that number
    Any,
    Carried, ///< what the carried value `of` held when the step began
  };
  Kind kind = Kind::Any;
  double number = 0;
  ValueId of;

  static Pad constant(double number) { return {Kind::Constant, number, {}}; }
  bool isConstant() const { return kind == Kind::Constant; }
  bool is(double value) const { return isConstant() && number == value; }
  bool operator==(const Pad &) const = default;
};

inline Pad meet(const Pad &a, const Pad &b) { return a == b ? a : Pad{}; }

/// The pad of an op's result. Where one operand lacks the axis it is taken for finite: a row that
/// is NaN or infinite is so in the lanes that count, too.
Pad unaryPad(Opcode opcode, const Pad &a);
Pad binaryPad(Opcode opcode, const Pad &a, const Pad &b);
bool holds(Comparison comparison, double a, double b);

} // namespace tilewright::program
