// Straight-line programs for formulas (internal to analysis/solve).
//
// All formulas of a system become one list of registers in evaluation order, with common parts
// shared. A register is a parameter, a constant, something without a value, or the result of one
// operation on earlier registers. Two evaluations exist:
//   - concrete, 64-bit checked and three-valued: exactly Formula::evaluate;
//   - abstract, over intervals: what the register can be while parameters range over intervals.
// Truth values are integers 0 and 1.
#pragma once

#include "analysis/solve/constraint_system.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace tilewright::detail {

enum class Code : uint8_t {
  Parameter,
  Constant,
  Undefined,
  Add,
  Mul,
  FloorDiv,
  CeilDiv,
  Mod,
  Min,
  Max,
  LessEqual,
  Equal,
  Divides,
  And,
  Or,
  Not,
  Pow2Ceil,
  Pow2Divisor,
  Log2,
  Select, ///< a where c is not 0, else b
};

/// Operations on one operand; b is not used.
inline bool isUnary(Code op) {
  return op == Code::Not || op == Code::Pow2Ceil || op == Code::Pow2Divisor || op == Code::Log2;
}

using RegisterId = uint32_t;

struct Register {
  Code op;
  RegisterId a = 0, b = 0; ///< operands (Not: only a)
  int64_t value = 0;       ///< Constant
  uint64_t parameters = 0; ///< set of parameters that it depends on, bit i = parameter i
  RegisterId c = 0;        ///< Select: the condition
};

/// One operation of a program, ready to run, or a jump.
struct Step {
  Code op;
  bool isTotal; ///< has a value wherever it will be run; see Program::stepOf()
  /// Of a jump: it is taken where `a` is 0, or where it is not.
  bool isJumpWhereZero = false;
  RegisterId result, a, b;
  RegisterId c = 0;  ///< Select: the condition
  uint32_t jump = 0; ///< of a jump: the steps behind it that are left out; 0: an operation
};

/// Of operands for which the operation has a value (and which are no garbage beyond 0 and 1 where
/// they are truths). Of others, which registers that were left out may hold (guards.h), any number:
/// arithmetic wraps, and nothing is divided by 0.
[[gnu::always_inline]] inline int64_t compute(Code op, int64_t a, int64_t b, int64_t c = 0) {
  switch (op) {
  case Code::Add:
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  case Code::Mul:
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  case Code::FloorDiv:
    return b > 0 ? a / b - (a % b < 0) : 0;
  case Code::CeilDiv:
    return b > 0 ? a / b + (a % b > 0) : 0;
  case Code::Mod:
    return b > 0 ? a % b + (a % b < 0 ? b : 0) : 0;
  case Code::Min:
    return std::min(a, b);
  case Code::Max:
    return std::max(a, b);
  case Code::LessEqual:
    return a <= b;
  case Code::Equal:
    return a == b;
  case Code::Divides:
    return a > 0 && b % a == 0;
  case Code::And:
    return a & b;
  case Code::Or:
    return a | b;
  case Code::Not:
    return !a;
  case Code::Pow2Ceil:
    return checkedPow2Ceil(a).value_or(0);
  case Code::Pow2Divisor:
    return static_cast<int64_t>(static_cast<uint64_t>(a) & -static_cast<uint64_t>(a));
  case Code::Log2:
    return checkedLog2(a).value_or(0);
  case Code::Select:
    return c ? a : b;
  case Code::Parameter:
  case Code::Constant:
  case Code::Undefined:
    break;
  }
  return 0;
}

/// A number, or none.
struct Concrete {
  int64_t value;
  bool isKnown;
};

/// The operation itself: 64-bit checked and three-valued.
[[gnu::always_inline]] inline Concrete computeChecked(Code op, Concrete a, Concrete b,
                                                      Concrete c = {0, true}) {
  int64_t result = 0;
  bool isKnown = a.isKnown && (isUnary(op) || b.isKnown);
  switch (op) {
  case Code::Add:
    isKnown &= !__builtin_add_overflow(a.value, b.value, &result);
    return {result, isKnown};
  case Code::Mul:
    isKnown &= !__builtin_mul_overflow(a.value, b.value, &result);
    return {result, isKnown};
  case Code::FloorDiv:
  case Code::CeilDiv:
  case Code::Mod:
    isKnown &= b.value > 0;
    break;
  case Code::Divides:
    isKnown &= a.value > 0;
    break;
  case Code::And:
    if ((a.isKnown && !a.value) || (b.isKnown && !b.value))
      return {0, true};
    break;
  case Code::Or:
    if ((a.isKnown && a.value) || (b.isKnown && b.value))
      return {1, true};
    break;
  case Code::Pow2Ceil:
    isKnown = isKnown && checkedPow2Ceil(a.value).has_value();
    break;
  case Code::Pow2Divisor:
  case Code::Log2:
    isKnown &= a.value > 0;
    break;
  case Code::Select:
    isKnown &= c.isKnown;
    break;
  default:
    break;
  }
  return {compute(op, a.value, b.value, c.value), isKnown};
}

/// Values of all registers at one point.
struct ConcreteState {
  std::vector<int64_t> value;
  std::vector<uint8_t> known;
};

/// The possible values of a register. `range` contains every value that it has over the unbounded
/// integers; for a truth, range.hi ≥ 1 means "can be true" and range.lo ≤ 0 "can be false"
/// (neither: it never has a value). `mayBeUnknown`: 64-bit evaluation may be empty.
struct Abstract {
  Interval range;
  bool mayBeUnknown = false;

  bool canBeTrue() const { return range.hi >= 1; }
  bool canBeFalse() const { return range.lo <= 0; }
  bool isSurelyTrue() const { return !canBeFalse() && !mayBeUnknown; }
};

/// How a register moves when one parameter grows and the others stay.
enum class Trend : uint8_t { Constant, Up, Down, Mixed };

class Program {
public:
  /// Parameter i of the system becomes register i; constraints are added by the caller.
  explicit Program(const ConstraintSystem &system);

  RegisterId add(Expr expr);
  RegisterId add(const Formula &formula);

  size_t size() const { return registers.size(); }
  const Register &operator[](RegisterId id) const { return registers[id]; }

  /// A state with the constants filled in; parameters are unknown.
  ConcreteState initialState() const;
  /// Computes one register from its operands.
  void step(RegisterId id, ConcreteState &state) const;

  /// A register's operation, for parameters within the box that `box` was computed for.
  Step stepOf(RegisterId id, std::span<const Abstract> box) const;
  /// Runs steps in order, as step() does. Total registers count as known already: see markTotal().
  void run(std::span<const Step> steps, ConcreteState &state) const;
  /// Marks every register as known that has a value throughout a box.
  void markTotal(std::span<const Abstract> box, ConcreteState &state) const;

  /// The abstract result of an operation.
  static Abstract apply(Code op, const Abstract &a, const Abstract &b, const Abstract &c = {});
  /// All registers, for parameters in these intervals.
  std::vector<Abstract> abstractly(std::span<const Interval> parameters) const;
  /// One register, whose cone is given, at a point (an interval a parameter). `values`: scratch
  /// space of size() numbers.
  Abstract abstractly(RegisterId id, std::span<const RegisterId> cone,
                      std::span<const Interval> parameters, std::vector<Abstract> &values) const;
  Abstract abstractly(RegisterId id, std::span<const Interval> parameters) const;

  /// Trend of a register in a parameter, given the abstract values of all registers. For a truth,
  /// Up means: once true it stays true.
  std::vector<Trend> trends(unsigned parameter, std::span<const Abstract> box) const;

  /// Registers that `id` needs, itself included, in evaluation order, parameters and constants left
  /// out.
  std::vector<RegisterId> cone(RegisterId id) const;

private:
  RegisterId intern(Register reg);

  std::vector<Register> registers;
  std::vector<std::pair<VarId, RegisterId>> parameterRegisters;
  std::unordered_map<uint32_t, RegisterId> exprRegisters; ///< by Expr::id(), only looked up
  std::map<std::tuple<Code, RegisterId, RegisterId, RegisterId, int64_t>, RegisterId> interned;
};

} // namespace tilewright::detail
