// Targets: the GPU architectures that code can be generated for, and their PTX versions.
//
// LLVM only warns about an architecture it doesn't know, falls back to the oldest and then aborts
// in instruction selection, so everything is checked here before code generation starts.
#pragma once

#include "analysis/support/diag.h"

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// Version of the PTX instruction set: 8.5 is {8, 5}.
struct PtxVersion {
  int major = 0, minor = 0;
  auto operator<=>(const PtxVersion &) const = default;
  std::string str() const;     ///< "8.5"
  std::string feature() const; ///< LLVM's subtarget feature: "ptx85"
};

struct Target {
  std::string name;      ///< "sm_80", "sm_90a"; also ptxas's -arch
  int architecture = 80; ///< 80, 86, 88, 89, 90, 100, 103, 110, 120, 121
  /// An "a" target: its code runs on devices of exactly this architecture.
  bool isSpecific = false;
  /// An "f" target: its code runs on the devices of its family, those of its major number that are
  /// not older.
  bool isFamily = false;
  PtxVersion minimumPtx; ///< first version that has this target
};

/// The target of that name, if Tilewright and the LLVM it was built with both know it.
/// Errors: BadInput for a name that is no target, Unsupported for one that this LLVM lacks, with
/// the PTX versions of all: what the target needs, what LLVM writes, what ptxas and the driver
/// read.
llvm::Expected<Target> findTarget(std::string_view name);

/// Names of all targets that findTarget() accepts.
std::vector<std::string> targetNames();

/// Newest PTX version that this LLVM can write.
PtxVersion newestLlvmPtx();

/// Newest PTX version that the ptxas of a CUDA release reads: 11.8 → 7.8, 12.6 → 8.5.
/// For a release newer than the table, that of the newest one in it; nothing before 11.0.
std::optional<PtxVersion> ptxOfCudaRelease(int major, int minor);

/// A consumer or producer of PTX, and the newest version that it knows.
struct PtxReader {
  std::string name; ///< "LLVM 19.1.7", "ptxas 12.4", "driver 13.0"
  PtxVersion newest;
};

struct PtxChoice {
  PtxVersion version;
  std::string reason; ///< "PTX 8.4, the newest that ptxas 12.4 knows (LLVM 19.1.7: 8.5)"
};

/// The PTX version to write: the newest that all of them know. Unsupported if that is below the
/// target's minimum, with all versions named.
llvm::Expected<PtxChoice> choosePtxVersion(const Target &target,
                                           std::span<const PtxReader> readers);

/// The PTX version that this machine's driver reads, if there is a driver. Loads libcuda.so.1.
std::optional<PtxReader> findDriver();

} // namespace tilewright
