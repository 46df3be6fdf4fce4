// Entries of what there is by name: devices, calibrations, families.
#pragma once

#include "costmodel/calibration.h"
#include "costmodel/families.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// With its numbers, their units, meaning and sources, its notes, and the calibration of its name,
/// if that is one of `calibrated` (sorted).
Json deviceEntry(const Device &device, const std::vector<std::string> &calibrated);

/// What a calibration says of the device that it names, as `folder` describes that now.
std::string standingOf(const Calibration &calibration, const std::string &folder);
Json calibrationEntry(const Calibration &calibration, const std::string &deviceFolder);

Json familyEntry(const Family &family);

} // namespace tilewright::cli
