// FeatureProgram: recorded arithmetic (trace.h) as straight-line code over lanes, 32 plans at a
// time in a structure of arrays. Internal to the cost model.
#pragma once

#include "costmodel/lanes.h"
#include "costmodel/trace.h"

#include <span>
#include <vector>

namespace tilewright {

class FeatureProgram {
public:
  /// Groups of lanes that an instruction runs over, to amortise its dispatch.
  static constexpr int width = 4;
  static constexpr int plansPerRun = width * laneCount;
  struct Slot {
    Lanes lanes[width];
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
      for (Lanes &lanes : at[constant.slot].lanes)
        lanes = Lanes(constant.value);
  }
  void run(Slot *at) const;

private:
  struct Instruction {
    TraceOp op;
    uint32_t to, a, b;
  };
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

namespace feature_program {

inline Lanes rootOf(const Lanes &x) {
  Lanes result;
  for (int i = 0; i < laneCount; ++i)
    result.set(i, std::sqrt(x[i]));
  return result;
}
inline Lanes powerOfTwoBelow(const Lanes &x) {
  return Lanes::fromBits({x.bits().v & ~mantissaBits});
}
inline Lanes equal(const Lanes &a, const Lanes &b) { return maskOf({a.v == b.v}); }

template <class F>
inline void apply(FeatureProgram::Slot &to, const FeatureProgram::Slot &a,
                  const FeatureProgram::Slot &b, const F &f) {
  // One result after the other: four at once would pass through the stack.
#pragma GCC unroll 4
  for (int i = 0; i < FeatureProgram::width; ++i)
    to.lanes[i].v = f(a.lanes[i], b.lanes[i]).v;
}

} // namespace feature_program

// In the header, so that the code for each vector width has its own copy.
inline void FeatureProgram::run(Slot *at) const {
  using namespace feature_program;
  using L = const Lanes &;
  for (const Instruction &i : code) {
    Slot &to = at[i.to];
    const Slot &a = at[i.a], &b = at[i.b];
    switch (i.op) {
    case TraceOp::Input:
    case TraceOp::Constant:
      break;
    case TraceOp::Add:
      apply(to, a, b, [](L x, L y) { return x + y; });
      break;
    case TraceOp::Subtract:
      apply(to, a, b, [](L x, L y) { return x - y; });
      break;
    case TraceOp::Multiply:
      apply(to, a, b, [](L x, L y) { return x * y; });
      break;
    case TraceOp::Divide:
      apply(to, a, b, [](L x, L y) { return x / y; });
      break;
    case TraceOp::Larger:
      apply(to, a, b, [](L x, L y) { return larger(x, y); });
      break;
    case TraceOp::Smaller:
      apply(to, a, b, [](L x, L y) { return smaller(x, y); });
      break;
    case TraceOp::Floor:
      apply(to, a, b, [](L x, L) { return floorOf(x); });
      break;
    case TraceOp::Ceil:
      apply(to, a, b, [](L x, L) { return ceilOf(x); });
      break;
    case TraceOp::Root:
      apply(to, a, b, [](L x, L) { return rootOf(x); });
      break;
    case TraceOp::PowerBelow:
      apply(to, a, b, [](L x, L) { return powerOfTwoBelow(x); });
      break;
    case TraceOp::Less:
      apply(to, a, b, [](L x, L y) { return maskOf(x < y); });
      break;
    case TraceOp::LessEqual:
      apply(to, a, b, [](L x, L y) { return maskOf(x <= y); });
      break;
    case TraceOp::Equal:
      apply(to, a, b, [](L x, L y) { return equal(x, y); });
      break;
    }
  }
}

} // namespace tilewright
