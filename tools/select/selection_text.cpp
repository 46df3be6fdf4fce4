#include "tools/select/selection_text.h"

#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <set>

namespace tilewright {

namespace {

/// Names of all parameters of the table's plans, sorted.
std::set<std::string> parametersOf(const SelectionTable &table) {
  std::set<std::string> names;
  for (const SelectionRange &range : table.ranges)
    for (const auto &[name, value] : range.plan.values)
      names.insert(name);
  return names;
}

/// A comment can't be ended or continued by what it says.
std::string inComment(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c >= ' ' && c != '\\' ? c : ' ';
  return out;
}

/// What the code says of itself, as comment lines that begin with `mark`.
std::string about(const SelectionTable &table, const SelectionTitle &title, std::string_view mark) {
  return fmt::format(
      "{0} {1}\n{0} {2} = {3} to {4}{9}. Time lost: {5:.2g} % on average and {6:.2g} % "
      "at worst on the "
      "best plan known,\n{0} at most {7:.2g} % and {8:.2g} % on any plan of the "
      "search. A tile larger "
      "than its dim is that dim.\n",
      mark, inComment(title.about), inComment(title.dimension), table.from, table.to,
      100 * table.meanLoss, 100 * table.worstLoss, 100 * table.meanBound, 100 * table.worstBound,
      table.step > 1 ? fmt::format(" in steps of {}", table.step) : "");
}

} // namespace

std::string identifierOf(std::string_view word) {
  std::string out;
  for (char c : word)
    out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])))
    out.insert(out.begin(), '_');
  return out;
}

std::string selectionHeader(const SelectionTable &table, const SelectionTitle &title) {
  const std::set<std::string> names = parametersOf(table);
  const std::string space = identifierOf(title.function);
  std::string out;
  auto line = [&out]<typename... Args>(fmt::format_string<Args...> text, Args &&...args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  };
  line("{}#pragma once\n\n#include <cstdint>\n\n", about(table, title, "//"));
  line("namespace tiles::{} {{\n\nstruct Plan {{\n  std::int64_t from, to; // both included\n",
       space);
  for (const std::string &name : names)
    line("  std::int64_t {};\n", identifierOf(name));
  line("  const char *instruction;\n}};\n\ninline constexpr Plan plans[] = {{\n");
  for (const SelectionRange &range : table.ranges) {
    line("    {{{}, {}", range.from, range.to);
    for (const std::string &name : names) {
      const auto value = range.plan.values.find(name);
      line(", {}", value == range.plan.values.end() ? 1 : value->second);
    }
    line(", \"{}\"}},\n", toString(range.plan.instruction));
  }
  if (table.ranges.empty()) // an array of none is no C++
    line("    {{}},\n");
  line("}};\n\n/// The plan for this {}; null where there is none.\nconstexpr const Plan "
       "*select(std::int64_t size) {{\n  const Plan *first = plans, *last = plans + {};\n"
       "  while (first != last) {{\n    const Plan *middle = first + (last - first) / 2;\n"
       "    if (middle->to < size)\n      first = middle + 1;\n    else\n      last = middle;\n"
       "  }}\n  return first != plans + {} && first->from <= size{} ? first : nullptr;\n}}\n\n"
       "}} // namespace tiles::{}\n",
       inComment(title.dimension), table.ranges.size(), table.ranges.size(),
       table.step > 1 ? fmt::format(" && (size - first->from) % {} == 0", table.step) : "", space);
  return out;
}

std::string selectionPython(const SelectionTable &table, const SelectionTitle &title) {
  std::string out;
  auto line = [&out]<typename... Args>(fmt::format_string<Args...> text, Args &&...args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  };
  line("{}\nfrom bisect import bisect_left\n\nPLANS = [\n", about(table, title, "#"));
  for (const SelectionRange &range : table.ranges) {
    line("    ({}, {}, {{", range.from, range.to);
    for (const auto &[name, value] : range.plan.values)
      line("\"{}\": {}, ", identifierOf(name), value);
    line("\"instruction\": \"{}\"}}),\n", toString(range.plan.instruction));
  }
  line("]\n_ENDS = [plan[1] for plan in PLANS]\n\n\ndef select(size):\n"
       "    \"\"\"The plan for this {}, a dict; None where there is none.\"\"\"\n"
       "    place = bisect_left(_ENDS, size)\n"
       "    if place == len(PLANS) or size < PLANS[place][0]{}:\n        return None\n"
       "    return dict(PLANS[place][2])\n",
       identifierOf(title.dimension),
       table.step > 1 ? fmt::format(" or (size - PLANS[place][0]) % {}", table.step) : "");
  return out;
}

} // namespace tilewright
