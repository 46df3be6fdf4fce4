// Features: one kernel plan as numbers, the input of the time formula.
//
// They are derived from the tiles of the group (which dims an input's tile covers, which program
// ids and loop steps move it), from its ops and from the schedule. Nothing here knows the name of
// a kernel family, or who compiled the kernel.
//
// Quantities are per CTA and loop iteration unless they say otherwise: a group with loops of I₁,
// I₂ … iterations one after the other is described by their sum and the mean iteration. Sizes are
// bytes, counts are counts, clocks are clocks of one SM.
#pragma once

#include "analysis/tiling/plan.h"
#include "costmodel/device.h"

namespace tilewright {

/// What is not a number.
struct FeatureKind {
  bool empty = false;       ///< a result without elements: nothing is launched
  bool matrix = false;      ///< has a dot
  bool pipelined = false;   ///< the loop copies to shared memory ahead of use
  bool looped = false;      ///< more than one iteration
  bool serial = false;      ///< the loop body is a chain through several pipes (two dots)
  bool mmaSync = false;     ///< its dots hold up the warps that issue them
  bool tensorFlops = false; ///< useful FLOPs run on tensor cores
  DType flopType = DType::F32;

  auto operator<=>(const FeatureKind &) const = default;
};

/// Q: double for one plan, Lanes for eight of one kind. Holds nothing but Q.
template <class Q> struct FeatureNumbers {
  // The launch.
  Q ctas = 1;
  Q iterations = 1;     ///< mean over CTAs
  Q lastIterations = 1; ///< of the longest CTA
  Q warps = 4;
  Q inFlight = 1;   ///< stages on their way while one is used
  Q unroll = 1;     ///< iterations whose loads are issued together
  Q roundTrips = 1; ///< waits for one another of the loads that are issued together
  Q rowWalk = 0;    ///< 1: every iteration of a loop of direct loads starts new rows

  // Arithmetic.
  Q wgmmaClocks = 0, mmaSyncClocks = 0; ///< tensor pipe at its data-sheet rate
  Q fmaClocks = 0;
  Q mmaSteps = 0;           ///< 32-byte steps along k (mma.sync)
  Q mmaInstructions = 0;    ///< mma and ldmatrix instructions, all warps
  Q aluOps = 0, sfuOps = 0; ///< lane operations
  Q halfRateOps = 0;        ///< of aluOps, those on a pipe of half the lanes that are issued
  Q relayoutClocks = 0;     ///< shared memory, for operands that go through registers
  Q relayoutRoundTrips = 0; ///< loads that can not be pipelined because of it
  Q scatterClocks = 0;      ///< L1, for copies of single elements to shared memory
  Q serialGroups = 0;       ///< wgmma that are waited for before anything else goes on

  // Memory.
  Q sharedBytes = 0;      ///< read and written in shared memory
  Q loadBytes = 0;        ///< L2 to SM
  Q neighbourShare = 0;   ///< share of loadBytes that the next CTA reads too
  Q tags = 0;             ///< 128-byte lines looked up in L1
  Q loadInstructions = 0; ///< all warps
  Q loadsPerThread = 0;

  // Once a CTA, after or outside the loops.
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
  Q partialSectors = 0; ///< 32-byte sectors that are written in part

  // The whole kernel.
  Q readBytes = 0, writeBytes = 0; ///< compulsory DRAM traffic
  Q dirtyAtStart = 1;              ///< 1: L2 starts full of what a flush wrote; 0: nothing dirty
  Q cachedBytes = 0; ///< read from L2 or left there, with no DRAM traffic (warm caches)
  Q writtenBack = 0; ///< of writeBytes, what DRAM takes for certain (warm caches)
  /// Contiguous bytes of a tile row; large where tiles follow each other in memory.
  Q readSegment = 1e4, writeSegment = 1e4;
  /// Mean of (32 / contiguous bytes)² over what is read; twice that where the rest of a row is read
  /// by later iterations.
  Q readPieces = 0;
  Q workspaceBytes = 0; ///< partial sums of a split-K that pass through memory
  Q flops = 0;          ///< of dots, in the steps that are taken: for the roofline
  Q issuedFlops = 0;    ///< of all ops by their tiles: whole ones, repeated where they are

  // Order of the CTAs over the last two parallel dims ("rows" and "columns" of tiles), repeated
  // for every tile of the others. A row operand moves with the row only, a column operand with the
  // column only.
  Q tileRows = 1, tileColumns = 1, batches = 1;
  Q groupRows = 1;                               ///< rows that are walked together
  Q rowOperandBytes = 0, columnOperandBytes = 0; ///< of one batch
  Q rowSlabBytes = 0, columnSlabBytes = 0;       ///< of one tile row, one tile column

  // Resources.
  Q residentWarps = 4; ///< with those that only copy
  Q rawRegisters = 0;  ///< per thread, as estimated; above the limit they spill
  Q registers = 0;     ///< per thread, as allocated
  Q sharedPerCta = 0;
  Q occupancy = 1; ///< CTAs per SM; 0: the kernel can not be launched
  Q occupancyByRegisters = 0, occupancyByShared = 0, occupancyByWarps = 0, occupancyByBlocks = 0;
};

template <class Q> struct FeaturesOf : FeatureKind, FeatureNumbers<Q> {};
using Features = FeaturesOf<double>;

/// Features of a plan. Errors: Internal for a plan that does not fit its group (a parameter
/// without a value, an expression that overflows), Unsupported for a group with no tiles.
llvm::Expected<Features> featuresOf(const KernelPlan &plan, const Device &device);

/// The instruction that a compiler would choose for the plan's dots: wgmma where the device has
/// it, a warp group is there and a dot has at least 64 rows in its tile; mma.sync where the tensor
/// cores take the type; fma otherwise and for groups without a dot.
llvm::Expected<Instruction> preferredInstruction(const KernelPlan &plan, const Device &device);

} // namespace tilewright
