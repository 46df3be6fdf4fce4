// The roofline of a model: every kernel as a dot under its device's ceilings.
#pragma once

#include "tools/report/summary.h"

#include <string>
#include <string_view>

namespace tilewright::report {

/// FLOP per DRAM byte against FLOP/s, both logarithmic. A dot's area is its kernel's share of the
/// time, its colour the limiting term. Kernels without FLOPs or without DRAM bytes have no place on
/// the first axis: they stand on a rail at its left or right end, those on the left at the height
/// that their DRAM bandwidth has there, so that the distance to the slope still reads as the unused
/// bandwidth. Kernels without a time are counted below the chart. `id` is unique in the page.
std::string rooflineFigure(const Device &device, const Model &model, const Summary &summary,
                           std::string_view id);

} // namespace tilewright::report
