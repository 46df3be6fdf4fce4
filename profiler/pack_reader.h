// A pack as the runner sees it: kernels, inputs and expected results.
//
// Packs are described in codegen/pack.h; here the manifest is read without LLVM. Fields that this
// version does not know are ignored, those it needs are checked: sizes, counts and names come from
// a file that may be damaged.
#pragma once

#include "analysis/ir/fill.h"
#include "profiler/gpu.h"

#include <optional>
#include <vector>

namespace tilewright::profile {

struct PackParameter {
  std::string name;
  bool isOutput = false;
  DType dtype = DType::F32;
  std::vector<int64_t> dims, minorToMajor;
  int64_t elements = 0;
  uint64_t bytes = 0;
  FillRange range; ///< of an input's values
};

/// Memory that a kernel's CTAs share, one pointer argument after those of the parameters.
struct PackWorkspace {
  std::string name;
  uint64_t bytes = 0;
  bool isZeroed = false; ///< zeros before the first launch; the kernel leaves zeros behind
};

/// A tensor map argument, after the workspaces; see cuTensorMapEncodeTiled. Innermost dim first.
struct PackTensorMap {
  size_t parameter = 0; ///< that it views
  uint64_t offsetBytes = 0;
  DType dtype = DType::F16;
  std::vector<uint64_t> dims, strides; ///< elements; bytes, of dims 1 and on
  std::vector<uint32_t> box;
  uint32_t swizzleBytes = 0;
};

/// Elements that the reference evaluator made of one output.
struct PackExpectation {
  size_t parameter = 0;           ///< position among the kernel's parameters
  std::vector<int64_t> positions; ///< in memory, in elements
  std::vector<double> values;
  double scale = 0; ///< root mean square of the output, under which errors are absolute
};

/// The kernel's minimum work, for detecting impossible times.
struct PackWork {
  double flops = 0;
  bool onTensorCores = false;
  DType type = DType::F32;
  double readBytes = 0, writeBytes = 0; ///< compulsory
};

struct PackKernel {
  std::string name, kind, entry;
  std::string problem, planHash; ///< 16 hexadecimal digits each; of the ops, and of ops and plan
  std::string plan;              ///< "t0=64 t1=64 k0=32 warps=4 …"
  LaunchGeometry geometry;
  std::string cubinFile, ptxFile; ///< the first is empty where there is only PTX
  std::vector<PackParameter> parameters;
  std::vector<PackWorkspace> workspaces;
  std::vector<PackTensorMap> tensorMaps;
  uint64_t seed = 1;
  double tolerance = 0;
  std::optional<PackWork> work;
  std::vector<PackExpectation> expectations;
  std::string unchecked; ///< why there are no expectations, if there are none

  int64_t threads() const {
    return static_cast<int64_t>(geometry.block[0]) * geometry.block[1] * geometry.block[2];
  }
};

struct PackProblem {
  std::string hash, hlo;
};

struct Pack {
  std::string folder, hash; ///< hash of the manifest's bytes
  std::string target;       ///< "sm_90a"
  bool isSpecific = false;  ///< the target runs on that architecture alone
  std::vector<PackKernel> kernels;
  std::vector<PackProblem> problems;
};

/// Reads DIR/manifest.json. BadInput, naming the file with the place and the field, also where a
/// file is not what the pack's digest was made of (nothing of such a pack is run), and without
/// kernels.
Result<Pack> readPack(const std::string &folder);

/// The same from text, for tests.
Result<Pack> parsePack(const std::string &file, const std::string &text);

/// The bytes of a kernel's code: the cubin, or PTX with a final zero byte where there is no cubin
/// or PTX is asked for.
Result<std::vector<char>> readCode(const Pack &pack, const PackKernel &kernel, bool asPtx);

/// True if the driver must compile the pack's PTX for this GPU. A cubin runs within one generation,
/// PTX on later ones, too, and code for a specific architecture on that one alone. NoGpu where
/// nothing of the pack can run, with the reason.
Result<bool> needsPtx(const Pack &pack, const GpuInfo &gpu);

} // namespace tilewright::profile
