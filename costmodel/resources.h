// Registers and occupancy. Internal to the cost model.
#pragma once

#include "costmodel/device.h"
#include "costmodel/features.h"

namespace tilewright {

/// What the register estimate reads: facts known before compiling, per thread.
struct RegisterFacts {
  Instruction instruction = Instruction::Fma;
  int dots = 0;
  double accumulators = 0;      ///< of the last dot
  double innerAccumulators = 0; ///< of the other dots
  double copies = 0;            ///< asynchronous copies
  /// An operand's elements are found one by one (a convolution of few features): digits, addresses
  /// and masks of a chunk of eight.
  bool gathered = false;
  bool masked = false; ///< positions are compared between two dots
  double relayoutWords = 0;
  // Without a dot:
  double loadedWords = 0;      ///< 32-bit words of loads that are in flight together
  double loopAccumulators = 0; ///< of a reduction over a loop
  double keptElements = 0;     ///< f32 that stay live over a reduction inside the CTA
  double broadcastElements = 0;
  bool tables = false; ///< an input has several rows, so that addresses and masks have two dims
};

/// Least-squares estimates on the register counts that ptxas reported for the measured kernels
/// (mean absolute error 6 to 9 registers); may exceed what a thread can have.
double estimateRegisters(const RegisterFacts &facts, double warps, const DeviceLimits &limits);

/// Registers per thread with which CTAs of so many warps fill an SM.
double fullSmRegisters(double warps, const DeviceLimits &limits);

/// Fills registers and occupancy from rawRegisters, sharedPerCta and warps.
void setOccupancy(Features &features, const DeviceLimits &limits);

} // namespace tilewright
