#include "analysis/instructions/number_set.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace tilewright {

namespace {
int64_t numberAt(std::string_view &text) {
  int64_t value = 0;
  auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return value;
}
} // namespace

NumberSet::NumberSet(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('|'), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    Range range;
    range.first = range.last = numberAt(part);
    if (part.starts_with("..")) {
      part.remove_prefix(2);
      range.last = numberAt(part);
      if (part.starts_with("/")) {
        part.remove_prefix(1);
        range.step = std::max<int64_t>(1, numberAt(part));
      }
    }
    for (int64_t value = range.first; value <= range.last; value += range.step)
      numbers.push_back(value);
    ranges.push_back(range);
  }
}

bool NumberSet::has(int64_t number) const {
  return std::binary_search(numbers.begin(), numbers.end(), number);
}

std::vector<int64_t> NumberSet::nearest(int64_t number) const {
  std::vector<int64_t> found;
  const auto above = std::upper_bound(numbers.begin(), numbers.end(), number);
  if (above != numbers.begin())
    found.push_back(*std::prev(above));
  if (above != numbers.end())
    found.push_back(*above);
  return found;
}

std::string NumberSet::str() const {
  std::string text;
  for (const Range &range : ranges) {
    const bool isFirst = text.empty();
    if (!isFirst)
      text += ", ";
    if (range.first == range.last)
      text += fmt::format("{}", range.first);
    else
      text += fmt::format("{}multiples of {} from {} to {}", isFirst ? "" : "then ", range.step,
                          range.first, range.last);
  }
  return text.empty() ? "none" : text;
}

std::string numbersText(const std::vector<int64_t> &numbers, std::string_view last) {
  if (numbers.empty())
    return "none";
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{}",
                        i == 0                    ? std::string()
                        : i + 1 == numbers.size() ? fmt::format(" {} ", last)
                                                  : std::string(", "),
                        numbers[i]);
  return text;
}

} // namespace tilewright
