// Smallest hitting sets of small families (internal to analysis/solve).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::detail {

/// Grows a family of sets and gives a smallest set that meets all of them. Sizes only grow with the
/// family, so that the search goes on from the last size.
class HittingSets {
public:
  explicit HittingSets(uint64_t maxSteps) : stepsLeft(maxSteps) {}

  void add(std::vector<size_t> set) { family.push_back(std::move(set)); } ///< ascending

  /// Ascending. Nothing when the steps are spent. Deterministic.
  std::optional<std::vector<size_t>> smallest();

private:
  enum class Outcome : uint8_t { Found, None, Spent };
  Outcome extend(std::vector<size_t> &chosen, size_t more);

  std::vector<std::vector<size_t>> family;
  size_t size = 0;
  uint64_t stepsLeft;
};

} // namespace tilewright::detail
