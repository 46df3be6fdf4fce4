// What commands say of the device that they price for.
#pragma once

#include "costmodel/calibration.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// "note: …" lines on stdout.
void printNotes(const std::vector<DeviceNote> &notes);
/// Array of `kind` and `text`.
Json notesJson(const std::vector<DeviceNote> &notes);

/// notesOf() the device, and that a calibration is of another description, if it is.
std::vector<DeviceNote> notesOn(const Device &device, const Calibration &calibration);

} // namespace tilewright::cli
