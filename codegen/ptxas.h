// The ptxas assembler, if this machine has one. It is run as a program, never linked.
#pragma once

#include "codegen/target.h"

namespace tilewright {

struct Ptxas {
  std::string path;
  int releaseMajor = 0, releaseMinor = 0; ///< of CUDA: 13, 0
  std::string version;                    ///< "13.0.88"; "13.0" where it does not say more
  PtxVersion newestPtx;                   ///< that it reads
};

/// "ptxas 13.0" and what it reads.
PtxReader readerOf(const Ptxas &ptxas);

/// Searches PATH, then $CUDA_HOME/bin, $CUDA_PATH/bin and /usr/local/cuda/bin, and asks the first
/// ptxas found for its version. Empty if there is none. Errors: Unsupported when the one found
/// doesn't answer within ten seconds, or says no version.
llvm::Expected<std::optional<Ptxas>> findPtxas();

/// Reads "…release 12.4, V12.4.131…" from the text of `ptxas --version`.
std::optional<std::pair<int, int>> parsePtxasRelease(std::string_view text);

/// The same with all that it says: "12.4.131".
std::string parsePtxasVersion(std::string_view text);

/// The version of the ptxas that wrote a cubin, by the note that it leaves there; empty where it
/// left none.
std::string writerOfCubin(std::string_view cubin);

/// What `ptxas -v` says about a kernel.
struct AssemblyReport {
  int64_t registers = -1; ///< a thread; -1: not said
  int64_t spillStoreBytes = 0, spillLoadBytes = 0;
  int64_t staticSharedBytes = 0;
  std::vector<std::string> warnings;
  bool spills() const { return spillStoreBytes > 0 || spillLoadBytes > 0; }
};
AssemblyReport parseAssemblyLog(std::string_view log);

struct Assembled {
  std::string cubin;
  std::string log; ///< the whole output of ptxas -v
  AssemblyReport report;
};

/// Assembles PTX for exactly `target` (an "a" target needs its "a").
/// Errors: Internal with ptxas's first message when it refuses, BudgetSpent after two minutes.
llvm::Expected<Assembled> assemble(const Ptxas &ptxas, const Target &target,
                                   const std::string &ptx);

/// The tools that compile kernels.
struct Toolchain {
  Target target;
  PtxVersion version;
  std::optional<Ptxas> ptxas;
  std::string versionReason; ///< see PtxChoice
};

/// The toolchain for a target on this machine: LLVM, ptxas unless `assembling` is false, and the
/// driver, where there is one.
/// Errors: those of choosePtxVersion() and findPtxas().
llvm::Expected<Toolchain> findToolchain(const Target &target, bool assembling = true);

} // namespace tilewright
