// Which measured rows are believed.
//
// A time that can't be is worse than none: it pulls a fit, and nobody sees it. What is checked is
// what any kernel obeys: a launch takes device time, bytes and FLOPs take theirs at the device's
// peak rates, the same plan takes about the same time again, and a row is what the runner wrote.
#pragma once

#include "costmodel/dataset.h"

#include <optional>
#include <string>

namespace tilewright {

/// Why a row of the runner's can't be taken: its check does not fit, or it was measured on another
/// device. Nothing for one that can, and for tables that say neither.
std::optional<std::string> whyNotTrusted(const TableRow &row, const Device &device);

/// Why a time in ns can't be that of the kernel; `features` under the caches of the measurement.
std::optional<std::string> whyNoTime(double timeNs, const Features &features, const Device &device);

/// Why the plan can't be launched on the device, in numbers; nothing if it can.
std::optional<std::string> whyNotLaunched(const Features &features, const Device &device);

/// Takes out of `data` the rows of a plan that was measured twice with times more than ten-fold
/// apart: none of them is believed.
void leaveOutContradictions(Dataset &data);

} // namespace tilewright
