// DimFactors: which extents of a graph's tensors are the same number, factor by factor.
//
// Every dim is a product of factors, major to minor. Saying that two dims (or two runs of dims, as
// on the sides of a reshape) have the same elements in the same order splits factors until both
// are made of the same ones: 768 = 12·64 splits 768 into 12 and 64. Where no common refinement
// exists (6 = 2·3 = 3·2) the factors are frozen: they keep their sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright {

class DimFactors {
public:
  using List = std::vector<int>; ///< of factors, major to minor; the empty product is 1

  int add(int64_t size);
  /// The factors that `list` is made of now; those of size 1 are left out.
  List leaves(const List &list) const;
  int64_t size(int leaf) const { return factors[static_cast<size_t>(leaf)].size; }
  bool isFrozen(int leaf) const { return factors[static_cast<size_t>(leaf)].isFrozen; }

  /// The two have the same elements in the same order.
  void unify(const List &a, const List &b);
  void freeze(const List &list);
  size_t count() const { return factors.size(); }

private:
  struct Factor {
    int64_t size = 1;
    int same = -1; ///< the factor that this one was unified with
    List parts;    ///< major to minor, once split
    bool isFrozen = false;
  };
  void split(int leaf, int64_t minor);
  int find(int factor) const;

  std::vector<Factor> factors;
};

} // namespace tilewright
