// Why a program has no layouts, in words: impossible for all layouts, an op without any, or a
// smallest set of demands that contradict each other, with what it would cost to give one up.
#pragma once

#include "analysis/program/inference/infer_layouts.h"

namespace tilewright::inference {

/// Adds core, certificate and repairs to an answer that has no layouts. Leaves the problem built
/// with all its constraints.
void explain(LayoutProblem &problem, InferenceAnswer &answer);

/// Do labels of all nodes exist, by Z3 and not by elimination? Nothing: it gave up.
std::optional<bool> isFeasibleByZ3(LayoutProblem &problem);

} // namespace tilewright::inference
