// Resources of a tiled group, as expressions in its parameters.
//
// They model our code generation; shared memory equals the bytes that a CTA is launched with:
//   dot       both operand tiles are staged in shared memory, `stages` buffers of each (cp.async
//             multi-stage), padded to whole products and to units of 128 B; a tile of several
//             batches takes them one by one. fma stages operands in the type of the sums. The
//             accumulators live in registers; the epilogue and the sums of split-K pass through the
//             stages' memory, so that they need none beside it. For wgmma the tiles are whole units
//             of 1024 B, and each stage has two barriers of 8 B.
//   chain of two dots (chain_constraints.h)  Q is staged once, K and V in `stages` buffers, each
//             with the whole contraction of the first dot; P stays in registers. Tiles are padded
//             to whole products and to units of 128 B, for wgmma of 1024 B, which has two barriers
//             a stage for K, two for V, and one for Q. No memory for anything else: rows are
//             reduced within warps.
//   convolution  as a dot: its image operand is the windows of the tile's positions, gathered as
//             they are copied, at one window element at a time (see packedConvolutionStep). In
//             groups of features it is one only where a tile is within a group
//   reduction  none here: analysis/program/pass/resources.h has it
//   elementwise  an input whose fastest dim follows another root dim than the fastest is staged
//             once, a whole tile, so that both the read and the write run along rows.
// Items do not share memory: their sizes add up.
#pragma once

#include "analysis/tiling/code_kind.h"
#include "analysis/tiling/device_limits.h"
#include "analysis/tiling/plan.h"
#include "analysis/tiling/tiled_group.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// One buffer or one set of registers, for the op `op`.
struct ResourceItem {
  OpId op;
  std::string name; ///< "operand 0 of %dot.1 (%a), 3 stages" reads as name and amount
  Expr amount;      ///< bytes per CTA, or 32-bit registers per thread
};

/// See code_kind.h.
const KindOfCode &kindOfCode(const Graph &graph, const TiledGroup &group);

struct CodeChoice {
  CodeKind kind = CodeKind::Elementwise;
  Instruction instruction = Instruction::Fma; ///< of the dots
};

/// The kind of code, and the instruction that it takes where the plan says `instruction`: a simpler
/// one if that does not take the types. What a tile would change is a constraint instead.
CodeChoice codeOf(const Graph &graph, const TiledGroup &group, Instruction instruction);

struct Resources {
  Expr threads;     ///< per CTA: those of the plan's warps, and of producer warps
  Expr grid;        ///< CTAs: tiles of all parallel dims, times split_k
  Expr sharedBytes; ///< per CTA: the sum of the items
  std::vector<ResourceItem> sharedItems;
  Expr accumulatorRegistersPerThread; ///< the sum of the items, each ⌈registers / threads⌉
  std::vector<ResourceItem> accumulatorItems;
  /// Registers that ptxas is expected to use, before the limit for the CTA's number of threads: the
  /// sum of the items. Negative items are registers that it saves to fit more CTAs on an SM.
  Expr registersPerThread;
  std::vector<ResourceItem> registerItems;
  /// Bytes that a CTA leaves in a workspace where several share sums of rows; null of other kinds.
  Expr partialSumBytes;
};

/// Packed steps of a convolution: its sum loops over window elements and tiles of the input
/// features; with fewer features (of a group) than a matrix instruction takes, a step packs several
/// window elements. Returns the size of such a step, or empty if steps are not packed.
std::optional<int64_t> packedConvolutionStep(const Op &op, const Shape &kernel);

/// By formulas of this folder, without what comes from programs: kernelResources() in
/// analysis/program/pass/resources.h has all. On a device with these limits: ptxas gives registers
/// up to have more CTAs on an SM.
Resources resourcesByKind(const Graph &graph, const TiledGroup &group, const CodeChoice &code,
                          const DeviceLimits &limits);

/// Registers of a thread that the code for a dot has beside the accumulators, for fragments of
/// operands and for addresses: with fewer it spills. So that tiles of dots and convolutions of up
/// to 160 (mma.sync) and 192 (fma) accumulators were compiled without spills, for sm_80 and sm_90a
/// with one and with four stages, and of more were not. What wgmma leaves of what its warps can
/// have is warpgroupRegistersBesideSums.
int64_t registersBesideAccumulators(Instruction instruction, bool hasTransposedBytes = false);

/// Registers beside the sums of a thread that multiplies with wgmma: descriptors, the ring of
/// stages, coordinates and masks of the epilogue took 26 to 45 with ptxas 13.0.
constexpr int64_t warpgroupRegistersBesideSums = 48;
/// The same in a chain of two dots, beside scores, their exponentials and sums.
constexpr int64_t chainRegistersBesideSums = 36;
/// Registers that a warpgroup of producer warps keeps of a thread when it gives the others away.
constexpr int64_t copyingWarpRegisters = 40;
/// Most registers that a thread of `warps` consumer warps can have beside the producer warps:
/// an even share of an SM, or more where a whole warpgroup of producer warps gives its own away
/// (setmaxnreg).
Expr mostWarpgroupRegisters(Expr warps, const DeviceLimits &limits);

/// True if a dot of the group has an 8-bit operand whose contracted dim is not contiguous. mma.sync
/// takes words of four elements along it, which are assembled from bytes on the way to shared
/// memory, with dozens of registers.
bool hasTransposedBytes(const Graph &graph, const Group &group);

/// Most bytes for the partial sums of split-K that our code asks for.
constexpr int64_t maxPartialSumBytes = int64_t(1) << 34;

/// Appends the device's limits on these resources as constraints of "device", with rules "threads",
/// "grid-limit", "shared-memory", "registers" and "partial-sums". Their texts give the amounts
/// needed and allowed, itemised.
void addResourceConstraints(const Graph &graph, TiledGroup &group, const DeviceLimits &limits,
                            const CodeChoice &code, const Resources &resources);

/// Appends an instruction's constraints on the tiles of every dot, rule "mma-shape":
///   mma.sync  m multiple of 16, n of 8, k of 32 bytes, or the whole dims, which are padded; the
///             16x8 results divided evenly among the warps; batch tiles of 1; what
///             whyNoMatrixProduct() takes
///             Convolutions, too: m is batch and positions, n the output features (of one group),
///             k the input features.
///   wgmma     m multiple of 64 and the 64x8 results divided evenly among groups of four warps;
///             operands that TMA can copy; otherwise as above, 8 and 16 bits only, no convolutions
///   fma       no chain of two dots, no results that share a byte
void addInstructionConstraints(const Graph &graph, TiledGroup &group, Instruction instruction);

} // namespace tilewright
