// Times of instructions that tests assume: those of an H100 by its data sheet.
#pragma once

#include "analysis/program/pipeline/instruction_times.h"

namespace tilewright::pipeline::testing {

inline InstructionTimes assumedTimes() {
  InstructionTimes times;
  times.tensorFlopsPerClock = [](DType type) { return bitWidth(type) == 8 ? 8192.0 : 4096.0; };
  times.lanesOf = [](Opcode opcode, DType) {
    return opcode == Opcode::Exp ? LaneWork{1, 0, 1} : LaneWork{1, 0, 0};
  };
  return times;
}

} // namespace tilewright::pipeline::testing
