// Registers and occupancy. Internal to the cost model.
#pragma once

#include "costmodel/device.h"
#include "costmodel/features.h"
#include "costmodel/trace.h"

namespace tilewright {

/// Inputs of the register estimate: facts known before compiling, per thread.
template <class Q> struct RegisterFacts {
  Instruction instruction = Instruction::Fma;
  int dots = 0;
  Q accumulators = 0;      ///< of the last dot
  Q innerAccumulators = 0; ///< of the other dots
  Q copies = 0;            ///< asynchronous copies
  /// An operand is addressed element by element (a convolution of few features): digits, addresses
  /// and masks of a chunk of eight.
  bool gathered = false;
  bool masked = false; ///< positions are compared between two dots
  Q relayoutWords = 0;
  // Without a dot:
  Q loadedWords = 0;      ///< 32-bit words loaded in an iteration, or in the unrolled iterations
  Q wordRegisters = 0;    ///< registers that hold them until they are used
  bool packed = false;    ///< words of several elements, which take registers to be unpacked
  Q loopAccumulators = 0; ///< of a reduction over a loop
  Q keptElements = 0;     ///< f32 values live across a reduction within the CTA
  Q broadcastElements = 0;
  bool loop = false;      ///< a loop of direct loads
  Q unroll = 1;           ///< iterations whose loads are issued together
  bool walksRows = false; ///< its iterations start new rows
  Q rows = 0;             ///< otherwise: rows that a thread walks along at once
  bool tables = false;    ///< an input has several rows, so that addresses and masks have two dims
};

/// What ptxas takes for the things that RegisterFacts counts.
struct TritonRegisters {
#define TILEWRIGHT_TRITON_REGISTERS(constant, value, origin, of) double constant = value;
#include "costmodel/triton_registers.def"
};

/// Registers that ptxas takes of a thread (mean absolute error 6 to 9 registers); may exceed a
/// thread's limit.
template <class Q>
Q estimateRegisters(const RegisterFacts<Q> &facts, const Q &warps, const DeviceLimits &limits,
                    const TritonRegisters &of = {});

/// The facts of a plan. The errors of featuresOf().
llvm::Expected<RegisterFacts<double>> registerFactsOf(const KernelPlan &plan, const Device &device);

/// How ptxas allocates registers in a loop of direct loads. It would keep all loads of an iteration
/// in flight; if a full SM has too few registers for that, it takes the share of a full SM or,
/// beyond that, the fewest that the accumulators need, and loads are serialised on the same
/// registers.
template <class Q> struct LoopRegisters {
  Q all = 0;      ///< of a thread
  Q forLoads = 0; ///< those available to loads in flight
};
template <class Q>
LoopRegisters<Q> loopRegisters(const RegisterFacts<Q> &facts, const Q &warps,
                               const DeviceLimits &limits, const TritonRegisters &of = {});

/// Registers per thread with which CTAs of `warps` warps fill an SM.
template <class Q> Q fullSmRegisters(const Q &warps, const DeviceLimits &limits);

/// Computes registers and occupancy from rawRegisters, sharedPerCta and residentWarps.
template <class Q> void setOccupancy(FeaturesOf<Q> &features, const DeviceLimits &limits);

} // namespace tilewright
