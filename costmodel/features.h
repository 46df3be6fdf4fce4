// Features: one kernel plan as numbers, the input of the time formula.
//
// They are derived from the tiles of the group (which dims an input's tile covers, which program
// ids and loop steps move it), from its ops and from the schedule. No kernel family is known by
// name, and no compiler: a plan's style (analysis/tiling/program_style.h) has what kernels of the
// same tiles differ in.
//
// Quantities are per CTA and loop iteration unless stated otherwise: a group with consecutive loops
// of I₁, I₂ … iterations is described by their sum and the mean iteration. Sizes are in bytes,
// clocks are clocks of one SM.
#pragma once

#include "analysis/tiling/plan.h"
#include "costmodel/device.h"

namespace tilewright {

/// The features that are not numbers; plans that agree in them are of one kind.
struct FeatureKind {
  bool empty = false;       ///< a result without elements: nothing is launched
  bool matrix = false;      ///< has a dot
  bool pipelined = false;   ///< the loop copies to shared memory ahead of use
  bool looped = false;      ///< more than one iteration
  bool serial = false;      ///< the loop body is a chain through several pipes (two dots)
  bool fed = false;         ///< a chain by wgmma, for which a producer's warps copy
  bool mmaSync = false;     ///< mma.sync blocks the warps that issue it
  bool tensorFlops = false; ///< useful FLOPs run on tensor cores
  DType flopType = DType::F32;

  auto operator<=>(const FeatureKind &) const = default;
};

/// Q: double for one plan, Lanes (LaneArray in memory) for eight of one kind. Holds nothing but Q.
template <class Q> struct FeatureNumbers {
  // The launch.
  Q ctas = 1;
  Q iterations = 1;     ///< mean over CTAs
  Q lastIterations = 1; ///< of the longest CTA
  Q warps = 4;
  Q inFlight = 1; ///< stages in flight while one is used
  Q unroll = 1;   ///< iterations whose loads are issued together
  Q roundTrips =
      1; ///< serialised batches into which register pressure splits the loads of one iteration
  Q rowWalk = 0; ///< 1: every iteration of a loop of direct loads starts new rows

  // Arithmetic.
  Q wgmmaClocks = 0, mmaSyncClocks = 0; ///< tensor pipe at its data-sheet rate
  Q lastWgmmaClocks = 0;                ///< those of wgmmaClocks that are the last dot's of a chain
  Q fmaClocks = 0;
  Q mmaSteps = 0;           ///< 32-byte steps along k (mma.sync)
  Q mmaInstructions = 0;    ///< mma and ldmatrix instructions, all warps
  Q aluOps = 0, sfuOps = 0; ///< lane operations
  Q halfRateOps = 0;        ///< those of aluOps that run on a pipe of half rate
  Q relayoutClocks = 0;     ///< shared memory, for operands that go through registers
  Q relayoutRoundTrips = 0; ///< loads that it keeps from being pipelined
  Q scatterClocks = 0;      ///< L1, for copies of single elements to shared memory
  Q serialGroups = 0;       ///< wgmma instructions that are each waited for before the next

  // Memory.
  Q sharedBytes = 0;      ///< read and written in shared memory
  Q loadBytes = 0;        ///< L2 to SM
  Q neighbourShare = 0;   ///< share of loadBytes that the next CTA reads too
  Q tags = 0;             ///< 128-byte lines looked up in L1
  Q loadInstructions = 0; ///< all warps
  Q loadsPerThread = 0;

  // Once a CTA, outside the loops.
  Q outsideLoadBytes = 0;
  Q outsideAluOps = 0, outsideHalfRateOps = 0, outsideSfuOps = 0;
  Q outputElements = 0; ///< of the results of dots
  Q storeBytes = 0;
  Q epilogueSharedBytes = 0;
  Q atomicsPerThread = 0;
  Q exchanges = 0; ///< trips between warps through shared memory
  /// Of the CTA of a split-K that adds up the sums of all: trips to L2 one after the other, and
  /// bytes that it reads beyond the mean, which is in outsideLoadBytes.
  Q lastRoundTrips = 0, lastLoadBytes = 0;
  Q counterAtomics = 0; ///< additions to counters in memory, by all threads of a CTA
  Q partialSectors = 0; ///< writes of a part of a 32-byte sector
  Q partialBytes = 0;   ///< written by those

  // The whole kernel.
  Q readBytes = 0, writeBytes = 0; ///< compulsory DRAM traffic
  Q dirtyAtStart = 1; ///< 1: L2 starts full of lines that a flush wrote; 0: nothing dirty
  Q cachedBytes = 0;  ///< read from L2 or left there, with no DRAM traffic (warm caches)
  Q writtenBack = 0;  ///< those of writeBytes that certainly reach DRAM (warm caches)
  Q codeInL2 = 0;     ///< 1: so are the kernel's instructions and parameters (warm caches)
  /// Contiguous bytes of a tile row (coalescing); large where tiles are contiguous in memory.
  Q readSegment = 1e4, writeSegment = 1e4;
  /// Mean of (32 / contiguous bytes)² over all reads; twice that where later iterations read the
  /// rest of a row.
  Q readPieces = 0;
  Q workspaceBytes = 0; ///< partial sums of a split-K that pass through memory
  Q flops = 0;          ///< of dots, in the steps that are taken: for the roofline
  Q issuedFlops = 0;    ///< of all ops by their tiles: whole ones, repeated where they are

  // Order of the CTAs over the last two parallel dims ("rows" and "columns" of tiles), repeated
  // for every tile of the others. A row operand moves with the row only, a column operand with the
  // column only.
  Q tileRows = 1, tileColumns = 1, batches = 1;
  Q groupRows = 1;                               ///< rows of tiles walked together (group_m)
  Q rowOperandBytes = 0, columnOperandBytes = 0; ///< of one batch
  Q rowSlabBytes = 0, columnSlabBytes = 0;       ///< of one tile row, one tile column

  // Resources.
  Q residentWarps = 4; ///< with producer warps
  Q rawRegisters = 0;  ///< per thread, as estimated; those above the limit spill
  Q registers = 0;     ///< per thread, as allocated
  Q sharedPerCta = 0;
  Q occupancy = 1; ///< CTAs per SM; 0: the kernel cannot be launched
  Q occupancyByRegisters = 0, occupancyByShared = 0, occupancyByWarps = 0, occupancyByCtas = 0;
};

template <class Q> struct FeaturesOf : FeatureKind, FeatureNumbers<Q> {};
using Features = FeaturesOf<double>;

/// Features of a plan. Errors: Internal for a plan that does not fit its group (a parameter
/// without a value, an expression that overflows), Unsupported for a group with no tiles.
llvm::Expected<Features> featuresOf(const KernelPlan &plan, const Device &device);

/// The instruction that a compiler would choose for the plan's dots: wgmma where the device has
/// it, the plan has a full warpgroup and a dot's tile has at least 64 rows; mma.sync where the
/// tensor cores take the type; fma otherwise and for groups without a dot.
llvm::Expected<Instruction> preferredInstruction(const KernelPlan &plan, const Device &device);

} // namespace tilewright
