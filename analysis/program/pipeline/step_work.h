// What one execution of an op does in a CTA: lanes of arithmetic, bytes of shared memory, products.
#pragma once

#include "analysis/program/pipeline/instruction_times.h"
#include "analysis/program/program.h"

namespace tilewright::pipeline {

struct StepWork {
  double alu = 0, half = 0, sfu = 0; ///< lanes
  double shuffles = 0;               ///< of warps
  double shuffleRounds = 0;          ///< one behind the other
  double sharedBytes = 0;
  double tensorClocks = 0;
  int exchanges = 0, directLoads = 0, barriers = 0;
  StepWork &operator+=(const StepWork &other);
};

/// A number of a program whose sizes are numbers, at its middle CTA and step; 1 where it has none.
int64_t numberAt(const program::Program &program, Expr expr);

StepWork workOf(const program::Program &program, const program::Op &op,
                const InstructionTimes &times);
/// Bytes that a copy moves in a step.
int64_t bytesOf(const program::Program &program, const program::CopyOp &copy);

} // namespace tilewright::pipeline
