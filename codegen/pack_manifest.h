// The manifest of a pack, between memory and JSON text.
#pragma once

#include "codegen/kernel_module.h"
#include "codegen/kernel_spec.h"
#include "codegen/ptxas.h"

#include <optional>

namespace tilewright {

struct ManifestKernel {
  std::string name, kind, entry;
  LaunchShape launch;
  std::vector<KernelParameter> parameters;
  std::vector<KernelWorkspace> workspaces;
  std::vector<TensorMap> tensorMaps;
  std::vector<std::string> notes;
  std::string llFile, ptxFile, cubinFile; ///< the last is empty when there is none
  uint64_t seed = 1;
  double tolerance = 0;
  std::optional<AssemblyReport> assembly;
  KernelSpec spec;
};

struct Manifest {
  std::string target, ptxVersion, llvm, ptxas; ///< ptxas: "13.0", empty when none was found
  bool isSpecific = false;
  std::vector<ManifestKernel> kernels;
};

std::string printManifest(const Manifest &manifest);

/// Errors: BadInput, naming `file` and the field.
llvm::Expected<Manifest> parseManifest(const std::string &file, const std::string &text);

/// A plan on its own, schema "tilewright.plan" version 1: {schema, schema_version, name, plan, hlo}
/// with the fields of a manifest's kernel.
std::string printPlan(const KernelSpec &spec);

/// Errors: BadInput, naming `file` and the field, or the place in the HLO text.
llvm::Expected<KernelSpec> parsePlan(const std::string &file, const std::string &text);

} // namespace tilewright
