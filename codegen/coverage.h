// Coverage: the outcome of one kernel: lowered, assembled, checked, or refused with the reason.
//
// The plan is lowered for the device at full size and assembled if ptxas is found. Its numbers are
// checked at reduced sizes of the same structure (shrink.h), once with extents as aligned as the
// original's and once with odd ones.
#pragma once

#include "codegen/check.h"
#include "codegen/ptxas.h"
#include "codegen/shrink.h"

namespace tilewright {

struct KernelCoverage {
  std::string name;
  std::string refusal; ///< why there is no code; empty if there is
  std::string kind;    ///< of the lowering
  bool isAssembled = false;
  std::string assemblyError; ///< of ptxas, or empty
  AssemblyReport assembly;   ///< where it is assembled
  /// Checks at the two reduced sizes; skipped after a refusal.
  CheckOutcome aligned, odd;

  bool spills() const { return assembly.spills(); }
  /// True if it was lowered, assembled without spills (if ptxas is found), and is right at both
  /// sizes.
  bool isCovered(bool hasAssembler) const;
};

struct CoverageOptions {
  CheckOptions check;
  bool checkNumbers = true;
  uint64_t maxWork = uint64_t(1) << 22; ///< of a reduced size, see shrinkSpec()
};

/// Errors: Internal only; refusals are part of the result.
llvm::Expected<KernelCoverage> coverKernel(const KernelSpec &spec, const Toolchain &toolchain,
                                           const CoverageOptions &options = {});

} // namespace tilewright
