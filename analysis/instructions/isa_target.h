// GPU architectures as an assembler's targets, and sets of them.
#pragma once

#include "analysis/support/diag.h"

#include <string>
#include <string_view>

namespace tilewright {

/// "sm_90a": code for an "a" target runs on that architecture alone, for an "f" target on its
/// family (those of the same tens that are not older), for others on all newer ones, too.
struct IsaTarget {
  enum class Suffix { None, Family, Specific };
  int architecture = 0;
  Suffix suffix = Suffix::None;

  std::string str() const;
  /// Errors (BadInput): not of the form sm_80, sm_100f, sm_90a; a suffix before sm_90.
  static llvm::Expected<IsaTarget> parse(std::string_view name);
};

/// The target of a device that takes most: sm_90a for compute capability 9.0, sm_89 for 8.9.
/// Errors (BadInput): not of the form 9.0.
llvm::Expected<IsaTarget> targetOfCapability(std::string_view capability);

/// Which targets take something: all from an architecture on, or those named, where "100f" is every
/// f and a target of that family from it on, and "100a" that target alone.
struct Availability {
  int from = 0;           ///< 0: none by number alone
  std::string_view named; ///< "90a 100f 110f"

  bool has(const IsaTarget &target) const;
  /// "sm_80 or newer"; "sm_90a"; "targets with f or a of sm_100 to sm_109 and sm_110 to sm_119".
  std::string str() const;
  bool operator==(const Availability &) const = default;
};

} // namespace tilewright
