// Every candidate, one by one (internal to analysis/solve): what a search finds without searching.
//
// The longest list is walked in blocks, in the innermost loop. What depends on that parameter alone
// is a table, what depends on the others alone is a number for the whole block, and the rest is
// computed for each candidate, side by side. Nothing is skipped: a candidate is evaluated even
// where another constraint has refused all of its block.
#pragma once

#include "analysis/solve/compiled.h"
#include "analysis/solve/program.h"

namespace tilewright::detail {

/// Counts the points of lists[0] × lists[1] × … (by parameter) where all truths are true.
SearchResult scanAll(const Program &program, std::span<const RegisterId> truths,
                     std::span<const std::vector<int64_t>> lists, const SearchLimits &limits);

} // namespace tilewright::detail
