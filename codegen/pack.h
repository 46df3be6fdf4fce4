// Packs: a folder of kernels that can be launched and checked without the model they came from.
//
//   DIR/manifest.json      how to launch each kernel, fill its inputs and check its outputs
//   DIR/<kernel>.ll        LLVM IR as lowered, before LLVM's passes
//   DIR/<kernel>.ptx
//   DIR/<kernel>.cubin     where a ptxas was found
//   DIR/digest.txt         a digest over all of these (analysis/support/folder_digest.h)
//
// A pack that passes check is one that emit makes: everything in it follows from its plans, target,
// PTX version and seed, which check takes from the manifest, and is compared with what they give.
// What only an assembler knows (cubin, registers, spill_bytes, min_ctas_per_sm) is compared where
// the same version of ptxas is at hand, and is otherwise covered by the digest alone.
//
// Manifest, schema "tilewright.pack" version 1:
//   {schema, schema_version, target, architecture_specific, ptx_version, llvm, ptxas (or null),
//    problems: [{hash, expected [{output, positions, values, scale}], unchecked?, hlo}],
//    kernels: [{name, kind, entry, grid [x,y,z], block [x,y,z], dynamic_shared_bytes,
//      files {ll, ptx, cubin?}, parameters [{name, role "input"|"output", dtype, dims,
//      minor_to_major, bytes, range?}], workspaces [{name, bytes, zeroed}], tensor_maps
//      [{parameter, offset_bytes, dtype, dims, strides_bytes, box, swizzle_bytes}], notes, fill
//      {recipe "splitmix64", seed}, tolerance, registers?, spill_bytes?, min_ctas_per_sm?, plan
//      {root_tile, sequential [{op, dim, size}], warps, stages, split_k, group_m, instruction,
//      loops? [{loop, ahead?, wait?}], layouts? [{of, layout}]},
//      work? {flops, tensor_cores, dtype, read_bytes, write_bytes}, problem, plan_hash, plan_text,
//      hlo}]}
// A problem is the ops without a plan. `expected` holds elements of its outputs as the reference
// evaluator makes them: positions in memory, values ("nan", "inf", "-inf" where JSON has no number)
// and the root mean square of the values, below which errors are absolute; `unchecked` says why
// there are none. An input with a `range` holds integers from the first to the second of its
// numbers. `work` is what any kernel for the problem must do.
// Input number i holds fillArguments(hlo, seed)[i]: for float types without index use, element e is
// ((splitmix64(seed + i, e) >> 40) / 2^23) - 1, see fillTensor() in analysis/ir/tensor.h.
// A kernel's arguments are, in order: one pointer a parameter, one pointer a workspace, and one
// CUtensorMap by value (128 bytes, aligned to 64) a tensor map.
//   workspace   memory beside the results, aligned to 256; one that is "zeroed" must hold zeros
//               before the first launch and does again after each, the others may hold anything
//   tensor map  cuTensorMapEncodeTiled(type of dtype, rank = length of dims, address of parameter
//               number `parameter` plus offset_bytes, dims, strides_bytes, box, element strides of
//               1, no interleave, swizzle of swizzle_bytes (0, 32, 64, 128), L2 promotion of 256
//               bytes, out of bounds as zeros). All lists run from the innermost dim, and
//               strides_bytes leaves that one out. Types: f16 FLOAT16, bf16 BFLOAT16, f32 FLOAT32,
//               s32 INT32, and UINT8 for all of 8 bits.
#pragma once

#include "codegen/check.h"
#include "codegen/pack_manifest.h"
#include "codegen/ptxas.h"
#include "codegen/target.h"

#include <functional>

namespace tilewright {

struct EmittedKernel {
  std::string name;
  std::string reason; ///< why it is not in the pack; empty if it is
  bool hasCubin = false;
  std::string note; ///< what differs from the plan, why there is no cubin, warnings of ptxas
  LaunchShape launch;
  CodeChoice code;
  std::optional<AssemblyReport> assembly; ///< what ptxas said
};

struct EmitOptions {
  uint64_t seed = 1;
  bool assemble = true;      ///< look for ptxas
  bool refuseSpills = false; ///< kernels that spill registers are left out
  std::string dump;          ///< folder for the steps of every kernel, see dump.h; empty: none
  /// What a plan must do at least, where the caller knows: the runner refuses times that are
  /// shorter than that can be.
  std::function<std::optional<KernelWork>(const KernelPlan &)> workOf;
};

/// Lowers plans and writes a pack. The folder appears at once and whole; one that exists must be a
/// pack (it is replaced) or empty. Same plans, same LLVM and ptxas: same bytes. Plans that have no
/// code are left out and listed with the reason.
/// Errors: BadInput for a folder that can't be written or isn't a pack, Unsupported where target,
/// LLVM and ptxas have no PTX version in common, Internal.
llvm::Expected<std::vector<EmittedKernel>> emitPack(std::span<const KernelPlan> plans,
                                                    const Target &target, const std::string &folder,
                                                    const EmitOptions &options = {});
llvm::Expected<std::vector<EmittedKernel>> emitPack(std::span<const KernelSpec> specs,
                                                    const Target &target, const std::string &folder,
                                                    const EmitOptions &options = {});

struct CheckedKernel {
  std::string name;
  CheckOutcome outcome;
};

struct CheckedPack {
  std::vector<CheckedKernel> kernels; ///< empty where the pack is not what emit wrote
  /// Why the pack as a whole fails: its digest, no kernels, fields that belong to none of them.
  std::vector<std::string> problems;
  bool passes() const; ///< without a problem, and no kernel fails
};

struct PackCheckOptions {
  CheckOptions check;           ///< without the seed
  std::optional<uint64_t> seed; ///< of the inputs; nothing: the pack's own
  /// As emit had it, see EmitOptions.
  std::function<std::optional<KernelWork>(const KernelPlan &)> workOf;
  std::function<void(size_t done, size_t total)> progress = {}; ///< of the kernels that are run
};

/// Checks a pack in three steps, each of which must pass before the next: the files are those of
/// the digest; manifest and files are what the plans make now; and every kernel is right on the
/// emulator (see checkKernel()). Errors: BadInput for a folder without a manifest that can be read,
/// with the field and its place.
llvm::Expected<CheckedPack> checkPack(const std::string &folder,
                                      const PackCheckOptions &options = {});

} // namespace tilewright
