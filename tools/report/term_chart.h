// The terms of an estimate: their names, their colours, and the bars that show them.
#pragma once

#include "tools/report/document.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

/// The kinds of term that have a colour of their own; the order in which bars and legends show
/// them.
enum class Term { Tensor, Fma, Shared, L2, Dram, Latency, Launch, Tail, Other };
constexpr size_t termCount = 9;

/// The kind of a term or limiter by its name, which the cost model is free to extend: "tensor",
/// "shared memory", "DRAM", ….
Term termOf(std::string_view name);

std::string_view termName(Term term);
/// The style sheet's class for the colour: "c-dram".
std::string_view termClass(Term term);

/// A small square in the term's colour, then `text`, not yet escaped.
std::string swatch(Term term, std::string_view text);

/// The terms in Term's order, then by name; zero and non-finite ones left out.
std::vector<std::pair<std::string, double>> orderedTerms(const Kernel &kernel);

/// One horizontal bar, cut in the proportions of `parts` (class and size), as an SVG of the given
/// size in pixels. `label` is its text for screen readers and tooltips, not yet escaped.
std::string stackedBar(const std::vector<std::pair<std::string_view, double>> &parts,
                       std::string_view label, double width, double height);

/// Each term of `kernel` as a bar of its own, with a line at the predicted time. `id` is unique in
/// the page. Empty when there is nothing to show.
std::string termChart(const Kernel &kernel, std::string_view id);

/// "tensor 41.2 %, DRAM 30.1 %": the parts of the terms' sum.
std::string termShares(const Kernel &kernel);

} // namespace tilewright::report
