// The rules of tile programs: what can be decided at once is decided, the rest is a formula.
//
// With numbers every rule is decided. With symbolic sizes (each at least 1) what depends on them is
// a Requirement: the search's constraint, with the op's line as provenance.
#pragma once

#include "analysis/program/program.h"
#include "analysis/tiling/constraint.h"
#include "analysis/tiling/device_limits.h"

#include <span>

namespace tilewright::program {

struct VerifierRule {
  unsigned number;
  std::string_view text;
};
/// V1 … V18, in order.
std::span<const VerifierRule> verifierRules();

/// What breaks a rule, with actual against allowed.
struct Violation {
  unsigned rule;
  SourceLoc where;
  std::string message;
};

/// What has to hold of the sizes.
struct Requirement {
  unsigned rule;
  SourceLoc where;
  Formula formula;
  std::string message;
};

struct Verification {
  std::vector<Violation> violations;
  std::vector<Requirement> requirements;
  /// Rules that neither this nor numbers decide, by what they would have to say; tests enumerate.
  std::vector<Violation> undecided;

  /// The first violation as a located error; success if there is none.
  llvm::Error error(const Program &program) const;
};

/// V17 is asked where there are limits to compare with.
Verification verify(const Program &program, const DeviceLimits *limits = nullptr);

} // namespace tilewright::program
