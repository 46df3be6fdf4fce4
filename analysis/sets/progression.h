// Arithmetic progressions and boxes of them: the shape of a concrete tile.
//
//   {3, 4, 2}          = {3, 5, 7, 9}
//   {0, 2, 1} × {1, 3, 4} = {(0,1), (0,5), (0,9), (1,1), (1,5), (1,9)}
//
// Progressions are closed under intersection (Chinese remainders), and the difference of two boxes
// is a union of disjoint boxes, so that unions of boxes are counted and compared exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::sets {

/// { offset + k·stride : 0 ≤ k < size }. In normal form: size ≥ 0, stride ≥ 1, and stride 1 where
/// size ≤ 1; every element fits in 64 bits. The functions below take normal forms.
struct Progression {
  int64_t offset = 0, size = 1, stride = 1;

  static Progression interval(int64_t lo, int64_t hi) { return {lo, hi < lo ? 0 : hi - lo + 1, 1}; }
  static Progression point(int64_t value) { return {value, 1, 1}; }

  bool isEmpty() const { return size <= 0; }
  int64_t last() const { return offset + (size - 1) * stride; }
  bool contains(int64_t value) const;
  bool operator==(const Progression &) const = default;
  auto operator<=>(const Progression &) const = default;
  std::string str() const; ///< "{3, 5..9}", "[0, 7]", "{4}", "{}"
};

/// The normal form of the same set; strides may be negative or 0. Nothing if an element leaves 64
/// bits.
std::optional<Progression> normalised(Progression p);

/// The common elements, a progression again.
Progression intersect(const Progression &a, const Progression &b);

/// A product of progressions, one a dim. The box of no dims is one point.
using Box = std::vector<Progression>;

bool isEmpty(const Box &box);
/// Nothing on overflow.
std::optional<int64_t> pointCount(const Box &box);
Box intersect(const Box &a, const Box &b);
std::string str(const Box &box); ///< "[0, 7] x {1, 3..9}"

/// The remaining allowance of elementary steps.
struct Work {
  uint64_t left;
  /// False when the allowance does not cover it; it is then spent.
  [[nodiscard]] bool spend(uint64_t steps = 1) {
    if (steps > left) {
      left = 0;
      return false;
    }
    left -= steps;
    return true;
  }
};

/// A union of disjoint boxes of one rank.
class BoxUnion {
public:
  /// Adds the points of `box`. False if the work is spent or more than `maxBoxes` would be needed;
  /// the union must then not be used.
  [[nodiscard]] bool add(const Box &box, size_t maxBoxes, Work &work);
  const std::vector<Box> &boxes() const { return list; }
  std::optional<int64_t> count() const;

private:
  std::vector<Box> list;
};

/// The points of a that are not in any of `others`, as disjoint boxes. Nothing when the work is
/// spent or more than `maxBoxes` are needed.
std::optional<std::vector<Box>> difference(const Box &a, const std::vector<Box> &others,
                                           size_t maxBoxes, Work &work);

/// The least box that contains all of the boxes, which are not empty: per dim minimum, maximum and
/// the greatest common divisor of all differences.
std::optional<Box> hull(const std::vector<Box> &boxes);

/// Sorted, distinct values as disjoint progressions, runs of one step taken together.
std::vector<Progression> progressionsOf(const std::vector<int64_t> &values);

} // namespace tilewright::sets
