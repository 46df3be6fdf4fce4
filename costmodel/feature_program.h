// FeatureProgram: recorded arithmetic (trace.h) as straight-line code over lanes, 32 plans at a
// time in a structure of arrays. Internal to the cost model.
#pragma once

#include "costmodel/lanes.h"
#include "costmodel/trace_op.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright {

class Trace;

class FeatureProgram {
public:
  /// Groups of lanes that an instruction runs over, to amortise its dispatch.
  static constexpr int width = 4;
  static constexpr int plansPerRun = width * laneCount;
  struct Slot {
    LaneArray lanes[width];
  };
  struct Instruction {
    TraceOp op;
    uint32_t to, a, b;
  };

  /// Code for the requested nodes and their operands only. Slots are reused after the last read of
  /// their value.
  FeatureProgram(const Trace &trace, std::span<const uint32_t> wanted);

  struct Input {
    uint32_t column; ///< the plan's value to read
    uint32_t slot;
  };
  /// Slots to fill before every run.
  std::span<const Input> inputs() const { return inputList; }
  /// Slots of the requested nodes after a run, in order; comparisons give masks.
  std::span<const uint32_t> outputs() const { return outputSlots; }
  size_t slotCount() const { return slots; }

  /// Fills the slots of constants, once before any number of runs.
  void prepare(Slot *at) const {
    for (const Constant &constant : constants)
      for (LaneArray &lanes : at[constant.slot].lanes)
        lanes = LaneArray(constant.value);
  }
  /// In order; run by VectorKernels.
  std::span<const Instruction> instructions() const { return code; }

private:
  struct Constant {
    uint32_t slot;
    double value;
  };

  std::vector<Instruction> code;
  std::vector<Constant> constants;
  std::vector<Input> inputList;
  std::vector<uint32_t> outputSlots;
  size_t slots = 0;
};

} // namespace tilewright
