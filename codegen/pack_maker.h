// From specs to the kernels of a pack: what emit writes, and what check compares a pack with.
#pragma once

#include "codegen/dump.h"
#include "codegen/pack.h"
#include "codegen/pack_manifest.h"

#include <map>
#include <set>

namespace tilewright {

/// A kernel that was made, or why it was not.
struct PackedKernel {
  EmittedKernel report;                                   ///< with a reason where it was left out
  ManifestKernel entry;                                   ///< of the manifest
  std::vector<std::pair<std::string, std::string>> files; ///< names and bytes, in `entry`'s order
  KernelDump dump; ///< without a base where nothing was compiled
};

/// Makes the kernels of one pack, in order. The same specs, target, PTX version, seed and assembler
/// give the same bytes, so that a pack can be derived again from its manifest.
class PackMaker {
public:
  PackMaker(Toolchain toolchain, const EmitOptions &options);

  /// The next kernel. Without an assembler, what `assembled` says of registers, of what the code
  /// asks for and of a cubin is taken from there. Errors: Internal.
  llvm::Expected<PackedKernel> add(const KernelSpec &spec,
                                   const ManifestKernel *assembled = nullptr);

  /// The manifest of the kernels so far.
  Manifest manifest() const;

private:
  llvm::Error compile(const KernelSpec &spec, const ManifestKernel *assembled,
                      PackedKernel &result);
  void addFacts(ManifestKernel &kernel);

  Toolchain toolchain;
  EmitOptions options;
  Manifest made; ///< with the kernels that were kept
  std::set<std::string> names, dumpNames;
  std::map<std::string, size_t> problems; ///< by ops
  std::map<std::string, std::string> plans;
  std::vector<std::vector<FillRange>> ranges; ///< of each problem's inputs
};

} // namespace tilewright
