// Registers and occupancy. Internal to the cost model.
#pragma once

#include "costmodel/device.h"
#include "costmodel/features.h"
#include "costmodel/trace.h"

namespace tilewright {

/// What the register estimate reads: facts known before compiling, per thread.
template <class Q> struct RegisterFacts {
  Instruction instruction = Instruction::Fma;
  int dots = 0;
  Q accumulators = 0;      ///< of the last dot
  Q innerAccumulators = 0; ///< of the other dots
  Q copies = 0;            ///< asynchronous copies
  /// An operand's elements are found one by one (a convolution of few features): digits, addresses
  /// and masks of a chunk of eight.
  bool gathered = false;
  bool masked = false; ///< positions are compared between two dots
  Q relayoutWords = 0;
  // Without a dot:
  Q loadedWords = 0;      ///< 32-bit words of the loads of an iteration, or of those unrolled
  Q wordRegisters = 0;    ///< registers that they take until they are used
  bool packed = false;    ///< words of several elements, which take registers to be unpacked
  Q loopAccumulators = 0; ///< of a reduction over a loop
  Q keptElements = 0;     ///< f32 that stay live over a reduction inside the CTA
  Q broadcastElements = 0;
  bool loop = false;      ///< a loop of direct loads
  Q unroll = 1;           ///< iterations whose loads go out together
  bool walksRows = false; ///< its iterations start new rows
  Q rows = 0;             ///< otherwise: rows that a thread goes along at once
  bool tables = false;    ///< an input has several rows, so that addresses and masks have two dims
};

/// Least-squares estimates on the register counts that ptxas reported for the measured kernels
/// (mean absolute error 6 to 9 registers); may exceed what a thread can have.
template <class Q>
Q estimateRegisters(const RegisterFacts<Q> &facts, const Q &warps, const DeviceLimits &limits);

/// What ptxas does with a loop of direct loads. It would hold all that the loads of an iteration
/// bring; where a full SM has no registers for that, it takes those of a full SM or, beyond, the
/// fewest that the accumulators need, and loads wait for one another to use the same registers.
template <class Q> struct LoopRegisters {
  Q all = 0;      ///< of a thread
  Q forLoads = 0; ///< of them, what loads on their way may fill
};
template <class Q>
LoopRegisters<Q> loopRegisters(const RegisterFacts<Q> &facts, const Q &warps,
                               const DeviceLimits &limits);

/// Registers per thread with which CTAs of so many warps fill an SM.
template <class Q> Q fullSmRegisters(const Q &warps, const DeviceLimits &limits);

/// Fills registers and occupancy from rawRegisters, sharedPerCta and residentWarps.
template <class Q> void setOccupancy(FeaturesOf<Q> &features, const DeviceLimits &limits);

} // namespace tilewright
