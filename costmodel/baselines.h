// Classical cost models as baselines: what a tool would choose and predict without ours. They read
// the same features of the same plans; none of their parameters is fitted.
//
//   roofline       S. Williams, A. Waterman, D. Patterson: Roofline, CACM 52(4), 2009. The larger
//   of
//                  FLOPs at peak and compulsory bytes at the DRAM bandwidth.
//   traffic-waves  the score (traffic + 1)·waves by which the tile policies of Roller (OSDI 2022),
//                  Welder (OSDI 2023), BitBLAS and TileLang's carver order tiles: bytes that one
//                  CTA moves, times the waves of CTAs that fit the device. As a time: all SMs
//                  move that many bytes a wave at their shares of the DRAM bandwidth.
//   xla            OpenXLA's GPU models (xla/service/gpu/model): its dot fusion model for kernels
//                  with a dot (tile quantisation, pipelined loop with 1300 ns an iteration, L2
//                  bytes at 6.65 TB/s and 400 ns an iteration), its performance model for the
//                  others (compute and memory overlap to 95 %, one 32-byte transaction a clock and
//                  CTA, 64-byte granules). Formulas re-expressed, constants as published; its
//                  DRAM table is replaced by the line through it, 5.46 us + bytes at 92.6 % of the
//                  peak.
#pragma once

#include "costmodel/features.h"

#include <optional>
#include <string_view>

namespace tilewright {

enum class Baseline { Roofline, TrafficWaves, Xla };

std::string_view toString(Baseline baseline); ///< "roofline", "traffic-waves", "xla"
std::optional<Baseline> parseBaseline(std::string_view text);

/// Predicted time in ns of features that are not empty.
double baselineTime(Baseline baseline, const Features &features, const Device &device);

} // namespace tilewright
