#include "tools/explore/instruction_times.h"

#include "analysis/tiling/program_style.h"
#include "costmodel/op_cost.h"

#include <fmt/format.h>

namespace tilewright {

pipeline::InstructionTimes instructionTimesOf(const Device &device,
                                              const Calibration &calibration) {
  const Parameters values = calibration.values();
  const double clock = device.smClock; // clocks per ns
  auto fromCalibration = [&](double value, std::string_view name) {
    const std::optional<int> at = parameterIndex(name);
    const CalibratedParameter::Status status =
        calibration.parameters[static_cast<size_t>(*at)].status;
    return pipeline::Time{value, fmt::format("{}, {}", name, toString(status))};
  };
  auto fromDevice = [&](double value, const char *name) {
    return pipeline::Time{value, fmt::format("{} of {}", name, device.name)};
  };
  pipeline::InstructionTimes times;
  times.tensorFlopsPerClock = [device](DType type) { return device.tensorFlopsPerClock(type); };
  times.tensorSource = fmt::format("tensor_* of {}", device.name);
  times.lanesOf = [](Opcode opcode, DType type) {
    const LaneOps ops = laneOpsOf(opcode, type, tilewrightStyle.scalarForms);
    return pipeline::LaneWork{ops.alu, ops.half, ops.sfu};
  };
  times.lanesSource = "counted in SASS (op_cost.def)";
  times.wgmmaRate = fromCalibration(values.wgmmaRate, "wgmma_rate");
  times.mmaSyncRate = fromCalibration(values.mmaSyncRate, "mma_sync_rate");
  const double share = values.l2Near / (device.smCount * clock); // all SMs copy
  times.copyBytesPerClock = share < values.loadPort ? fromCalibration(share, "l2_near")
                                                    : fromCalibration(values.loadPort, "load_port");
  times.copyLatency = fromCalibration(values.stageHit * clock, "stage_hit");
  times.directLoad = fromCalibration(values.directLoad * clock, "direct_load");
  times.sharedBytesPerClock =
      fromCalibration(values.sharedRate * device.sharedBytesPerClock, "shared_rate");
  times.aluLanesPerClock = fromDevice(device.fmaPerClock, "fma_per_clock");
  times.sfuLanesPerClock = fromDevice(device.sfuPerClock, "sfu_per_clock");
  times.exchange = fromCalibration(values.exchange * clock, "exchange");
  times.stepInstructions = fromCalibration(values.loopInstructions, "loop_instructions");
  times.stepBarrier = fromCalibration(values.iteration * clock, "iteration");
  return times;
}

} // namespace tilewright
