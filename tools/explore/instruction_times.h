// Times of instructions for pipelines, from a device and its calibration; the rest is assumed.
#pragma once

#include "analysis/program/pipeline/instruction_times.h"
#include "costmodel/calibration.h"

namespace tilewright {

pipeline::InstructionTimes instructionTimesOf(const Device &device, const Calibration &calibration);

} // namespace tilewright
