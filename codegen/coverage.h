// Coverage: what becomes of one kernel: lowered, assembled, checked, or refused with the reason.
//
// The plan is lowered for the device at its full size and assembled where there is a ptxas. Its
// numbers are checked at reduced sizes of the same structure (shrink.h), once with extents that
// are aligned as the original's, once with odd ones.
#pragma once

#include "codegen/check.h"
#include "codegen/ptxas.h"
#include "codegen/shrink.h"

namespace tilewright {

struct KernelCoverage {
  std::string name;
  std::string refusal; ///< why there is no code; empty: there is
  std::string kind;    ///< of the lowering
  bool isAssembled = false;
  std::string assemblyError; ///< of ptxas, or empty
  AssemblyReport assembly;   ///< where it is assembled
  /// Of the two reduced sizes; in the refusal's case skipped.
  CheckOutcome aligned, odd;

  bool spills() const { return assembly.spills(); }
  /// Lowered, assembled without spills where there is an assembler, and right at both sizes.
  bool isCovered(bool hasAssembler) const;
};

struct CoverageOptions {
  CheckOptions check;
  bool checkNumbers = true;
  uint64_t maxWork = uint64_t(1) << 22; ///< of a reduced size, see shrinkSpec()
};

/// Errors: Internal only; what can't be done is part of the result.
llvm::Expected<KernelCoverage> coverKernel(const KernelSpec &spec, const Toolchain &toolchain,
                                           const CoverageOptions &options = {});

} // namespace tilewright
