// The roofline of a model: every kernel as a dot under its device's ceilings.
#pragma once

#include "tools/report/summary.h"

#include <string>
#include <string_view>

namespace tilewright::report {

struct DotLimits {
  size_t dots, titles;
};

/// FLOP per DRAM byte against FLOP/s, both logarithmic. A dot's area is its kernel's share of the
/// time, its colour the limiting term. Kernels without FLOPs or without DRAM bytes have no place on
/// the first axis: they stand on a rail at its left or right end, those on the left at the height
/// that their DRAM bandwidth has there, so that the distance to the slope still reads as the unused
/// bandwidth. Only the `limits.dots` most expensive kernels are drawn, and `limits.titles` of them
/// have a tooltip; the caption counts what is not drawn, kernels without a time among it. `id` is
/// unique in the page.
std::string rooflineFigure(const Device &device, const Model &model, const Summary &summary,
                           DotLimits limits, std::string_view id);

} // namespace tilewright::report
