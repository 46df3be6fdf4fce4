// The manifest of a pack, between memory and JSON text.
#pragma once

#include "analysis/ir/fill.h"
#include "codegen/expectation.h"
#include "codegen/kernel_module.h"
#include "codegen/kernel_spec.h"
#include "codegen/ptxas.h"

#include <optional>

namespace tilewright {

/// What a kernel does at least, for telling impossible times.
struct KernelWork {
  double flops = 0;
  bool onTensorCores = false;
  DType type = DType::F32;
  double readBytes = 0, writeBytes = 0; ///< compulsory
};

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
  int64_t minCtasPerSm = 0; ///< that the code asks for, see compileKernel(); 0: nothing
  KernelSpec spec;
  // For the runner.
  std::vector<FillRange> ranges; ///< of the inputs' values
  std::string problem, planHash, planText;
  std::optional<KernelWork> work;
};

struct Manifest {
  std::string target, ptxVersion, llvm, ptxas; ///< ptxas: "12.4.131", empty when none was found
  bool isSpecific = false;
  std::vector<ManifestKernel> kernels;
  std::vector<KernelProblem> problems; ///< each once
};

std::string printManifest(const Manifest &manifest);

/// What a pack is made from: target, versions, and of each kernel the plan, the ops, the seed, and
/// what only an assembler knows. The rest follows from these (see PackMaker) and is not read.
/// Errors: BadInput, naming the field, at its place in `file`.
llvm::Expected<Manifest> parseManifest(const std::string &file, const std::string &text);

/// A plan on its own, schema "tilewright.plan" version 1: {schema, schema_version, name, plan, hlo}
/// with the fields of a manifest's kernel.
std::string printPlan(const KernelSpec &spec);

/// Errors: BadInput, naming the field, at its place in `file`, or at the place in the HLO text.
llvm::Expected<KernelSpec> parsePlan(const std::string &file, const std::string &text);

} // namespace tilewright
