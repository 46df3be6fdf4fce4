// A loop of a tile program that copies what it reads, as a scheduling problem (pipeline_loop.h).
//
// Copies, reads and products are ops of their own; what is computed between two products is one, or
// two: what a product of the same step adds to (the rescaling of an attention's outputs) is apart.
// With a producer, and where a step has nothing that all warps meet in, each warpgroup of the
// consumers is a role of its own. One CTA has the SM.
#pragma once

#include "analysis/program/pipeline/instruction_times.h"
#include "analysis/program/pipeline/pipeline_loop.h"
#include "analysis/program/program.h"

namespace tilewright::pipeline {

enum class WarpOrder : uint8_t {
  AsEmitted, ///< ops of a warp follow each other as its code has them, slots are given back there
  Any,       ///< whatever order: what no code with these slots goes below
};

struct ProgramLoop {
  PipelineLoop loop;
  std::string variable;
  int64_t steps = 0;  ///< in the middle CTA
  int64_t groups = 1; ///< of consumers
  int64_t slots = 0;  ///< of its rings; the least
  int64_t ahead = 0; ///< steps that copies are issued early; with a producer as many as slots allow
  bool isProduced = false, isRotated = false, isFlying = false; ///< produced_loop.h
};

/// The loops of a program that have copies of their own, in order of the text.
std::vector<const program::ForOp *> copyingLoops(const program::Program &program);

/// The program's sizes are numbers. Unsupported: products in inner loops or conditions.
llvm::Expected<ProgramLoop> pipelineLoopOf(const program::Program &program,
                                           const program::ForOp &loop,
                                           const InstructionTimes &times, WarpOrder order);

} // namespace tilewright::pipeline
