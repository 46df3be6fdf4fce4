// What instructions take on one SM, in clocks: from a device and its calibration, or assumed.
#pragma once

#include "analysis/ir/dtype.h"
#include "analysis/ir/op.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright::pipeline {

/// A number with where it comes from: "calibration h100-sxm, fitted", "assumed".
struct Time {
  double value = 0;
  std::string source = "assumed";
};

/// Instructions of one lane for a scalar op: all but special functions, those of them on a pipe of
/// half the rate, special functions.
struct LaneWork {
  double alu = 0, half = 0, sfu = 0;
};

struct InstructionTimes {
  std::function<double(DType)> tensorFlopsPerClock; ///< dense, f32 sums; 0: none
  std::string tensorSource = "assumed";
  std::function<LaneWork(Opcode, DType)> lanesOf;
  std::string lanesSource = "assumed";
  Time wgmmaRate{1}, mmaSyncRate{1}; ///< shares of it that are reached
  Time wgmmaLatency{30};             ///< behind the last product, until sums are there
  Time wgmmaIssue{40};               ///< of a step's products, by the warps that start them
  Time copyBytesPerClock{64};        ///< from the L2 into an SM
  Time copyLatency{700};             ///< of a copy's first byte
  Time tmaIssue{20};                 ///< of a box
  Time directLoad{400};              ///< round trip of a load into registers
  Time sharedBytesPerClock{128};
  Time aluLanesPerClock{128}, sfuLanesPerClock{16};
  Time shuffle{1};            ///< clocks of the SM for a warp's
  Time shuffleLatency{25};    ///< until its result is there
  Time exchange{400};         ///< between warps through shared memory
  Time stepInstructions{100}; ///< of a warp, a step: addresses, waits
  Time stepBarrier{80};       ///< barrier and wait of a step without a producer

  struct Row {
    std::string name, unit;
    const Time *time;
  };
  std::vector<Row> rows() const;
};

} // namespace tilewright::pipeline
