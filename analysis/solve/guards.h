// Which operations of a program may be left out at a point (internal to analysis/solve).
//
// What a kernel needs is `select(when, …)` over its variants, and what they demand `when = 0 or …`:
// at a point one of dozens counts. A register that is only read by the branch that a select does
// not take, or beside a truth that decides an `or` or `and` alone, need not be computed. Such a
// register has a *guard*: a condition, and the guard of what reads it.
//
//   select(w, a · a + 1, b)     a · a + 1 and a · a are only read where w is not 0
//
// A guard is used wherever its condition is known before the register's turn. Steps under the same
// guard become a run behind one jump. What is left out keeps an older value, which nothing reads.
#pragma once

#include "analysis/solve/program.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::detail {

class Guards {
public:
  /// `roots` are read at every point. The box is that of all parameters' candidates.
  Guards(const Program &program, std::span<const RegisterId> roots, std::span<const Abstract> box);

  /// The steps, with jumps over those that may be left out. `isKnown`: a register has its value
  /// before the first step.
  std::vector<Step> withJumps(std::span<const Step> steps,
                              llvm::function_ref<bool(RegisterId)> isKnown) const;

private:
  /// A register is read only where `condition` is 0, or is not, and the outer guard holds.
  struct Guard {
    RegisterId condition;
    bool isWhereZero;
    uint32_t outer, depth;
  };
  static constexpr uint32_t always = 0, never = UINT32_MAX;

  uint32_t guard(RegisterId condition, bool isWhereZero, uint32_t outer);
  uint32_t common(uint32_t a, uint32_t b) const;
  void visitReads(const Program &program, RegisterId reader, std::span<const Abstract> box);
  std::vector<uint32_t> chainOf(RegisterId id) const;

  std::vector<Guard> guards{{0, false, always, 0}}; ///< the first one always holds
  std::map<std::tuple<RegisterId, bool, uint32_t>, uint32_t> interned;
  std::vector<uint32_t> ofRegister; ///< never: nothing reads it
};

} // namespace tilewright::detail
