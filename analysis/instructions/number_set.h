// Sets of small numbers that instructions take, as data: "8|16|24|32..256/16".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class NumberSet {
public:
  /// Numbers and ranges FIRST..LAST/STEP between bars, ascending. Empty text: the empty set.
  explicit NumberSet(std::string_view text);

  bool isEmpty() const { return numbers.empty(); }
  bool has(int64_t number) const;
  const std::vector<int64_t> &values() const { return numbers; }
  /// The largest below and the smallest above a number that is not in the set.
  std::vector<int64_t> nearest(int64_t number) const;

  /// "8, 16, 24, then multiples of 16 from 32 to 256".
  std::string str() const;

private:
  struct Range {
    int64_t first = 0, last = 0, step = 1;
  };
  std::vector<Range> ranges;
  std::vector<int64_t> numbers;
};

/// "8, 16 or 32"; "none" for an empty list.
std::string numbersText(const std::vector<int64_t> &numbers, std::string_view last = "or");

} // namespace tilewright
