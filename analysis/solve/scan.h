// Exhaustive evaluation of every candidate (internal to analysis/solve), the reference for the
// search.
//
// The innermost loop walks the longest list in blocks. Registers that depend on that parameter
// alone are tables, registers that depend only on the others are one number for the whole block,
// and the rest is computed for each candidate of the block in vectors. Nothing is skipped: a
// candidate is evaluated even where another constraint has refused all of its block.
#pragma once

#include "analysis/solve/compiled.h"
#include "analysis/solve/program.h"

namespace tilewright::detail {

/// Counts the points of lists[0] × lists[1] × … (by parameter) where all truths are true.
SearchResult scanAll(const Program &program, std::span<const RegisterId> truths,
                     std::span<const std::vector<int64_t>> lists, const SearchLimits &limits);

} // namespace tilewright::detail
