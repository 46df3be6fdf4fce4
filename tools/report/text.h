// Numbers and untrusted names as text for people.
//
// Quantities get at most three significant digits; counts are exact. Missing or non-finite values
// read "–". Bytes are binary (KiB), rates decimal (GB/s).
#pragma once

#include "tools/report/document.h"

#include <fmt/format.h>
#include <iterator>
#include <string>
#include <string_view>

namespace tilewright::report {

/// Appends formatted text to `out`.
template <typename... Args>
void put(std::string &out, fmt::format_string<Args...> format, Args &&...args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

constexpr size_t maxNameLength = 160; ///< characters of a name that a report shows

/// Text that is safe in HTML, both between tags and in a quoted attribute: markup escaped, control
/// characters replaced, shortened.
std::string escapeHtml(std::string_view text, size_t maxLength = maxNameLength);

/// Text that is safe in a cell of a Markdown table: markup escaped, on one line, shortened.
std::string escapeMarkdown(std::string_view text, size_t maxLength = maxNameLength);

/// "1.23", "123", "12,300", "1.23e9"; 0 is "0".
std::string threeDigits(Quantity value);
/// An axis label: threeDigits without trailing zeros, "0.1" and "100".
std::string powerOfTen(double value);
/// A fraction as percent without the sign: 0.1234 is "12.3".
std::string percent(Quantity fraction);
/// A whole number with thousands separated: "2,535". Falls back on three digits beyond 10¹⁵.
std::string count(Quantity value);
/// "1 kernel", "3 kernels".
std::string counted(size_t number, std::string_view noun);

std::string timeText(Quantity ns);                           ///< "12.3 µs"
std::string bytesText(Quantity bytes);                       ///< "24.0 MiB"
std::string rateText(Quantity value, std::string_view unit); ///< "990 TFLOP/s"; `unit` "FLOP/s"

/// The unit for a column of times.
struct TimeUnit {
  std::string_view name;
  double ns; ///< length of the unit
};
/// The largest unit in which `largestNs` is at least one.
TimeUnit timeUnitFor(double largestNs);
/// `ns` in `unit`, the number alone.
std::string inUnit(Quantity ns, TimeUnit unit);

/// One-sigma band of a log-normal estimate as "8.33" percent up; missing without a sigma.
Quantity bandFraction(Quantity sigmaLn);

/// "t0 1 · t1 128", the neutral values (split_k 1, group_m 1) left out when `dropNeutral`.
std::string parametersText(const Parameters &parameters, bool dropNeutral = false);

/// "model.py:12", or the file alone; empty where it isn't known.
std::string sourceText(const Kernel &kernel);

/// " (attn/qkv)": a layer behind the name of what belongs to it; empty where it isn't known.
std::string layerText(const std::string &layer);

/// The last component of a path without ".hlo.txt" and the like.
std::string modelTitle(std::string_view path);

} // namespace tilewright::report
