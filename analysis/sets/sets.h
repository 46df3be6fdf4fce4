// Questions about the elements that index maps read: image, preimage, emptiness, inclusion,
// equality, exact count, and the footprint of several reads together.
//
//   map   (d0)[s0] -> (d0 * 2 + s0 - 1),  d0 in [0, 6], s0 in [0, 2], d0 * 2 + s0 in [1, 13]
//   box   d0 in [0, 1]
//   image {0, 1, 2, 3}: neighbouring windows overlap, so that 4 elements are read and not 5 or 6
//
// An IndexSet only describes a set; each question is answered by the first engine that can:
//   closed forms   maps are written over mixed-radix digits (tiles, reshapes, windows), constraints
//                  narrow digits, sums of digits are Minkowski sums of progressions; the result is
//                  a union of boxes. Microseconds, and independent of the sizes of the boxes.
//   enumeration    every point of the domain; for small ones.
//   library        integer sets with quantifiers (isl), for the rest.
// Each has its limit. When all are spent the answer is Unknown with the reason of the last: no
// question takes unbounded time or memory.
//
// Runtime variables that a box does not fix take every value of their domain: the set is then
// everything that some run may read. `IndexSet::coversAllRuns()` says so.
#pragma once

#include "analysis/affine/index_map.h"
#include "analysis/sets/progression.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::sets {

/// One read: the results of `map` at the points of its domain that also lie in the restrictions.
/// Variables without a restriction run over their domain.
struct Reads {
  IndexMap map;
  std::vector<std::pair<Expr, Progression>> restrictions; ///< a variable of the map, its values
};

/// The union of some reads of one tensor.
class IndexSet {
public:
  /// The empty set of points with `rank` coordinates.
  explicit IndexSet(size_t rank) : pointRank(rank) {}
  IndexSet(size_t rank, std::vector<Reads> parts) : pointRank(rank), reads(std::move(parts)) {}

  size_t rank() const { return pointRank; }
  const std::vector<Reads> &parts() const { return reads; }
  /// Both have one rank. The maps may be of different contexts.
  void unite(const IndexSet &other);
  bool coversAllRuns() const;

private:
  size_t pointRank;
  std::vector<Reads> reads;
};

/// The elements that `map` reads over its whole domain.
IndexSet image(const IndexMap &map);
/// The elements that `map` reads for the output elements of a box: one progression for each dim of
/// the map, in order. Points outside the domain read nothing.
IndexSet image(const IndexMap &map, const Box &box);

/// The output elements (one coordinate for each dim of the map) that read some element of
/// `target`, one progression for each result of the map.
IndexSet preimage(const IndexMap &map, const Box &target);

/// The points of a box, with the context that its map is made in.
IndexSet boxSet(ExprContext &context, const Box &box);

enum class Truth : uint8_t { No, Yes, Unknown };

enum class Engine : uint8_t { Auto, ClosedForms, Enumeration, Library };

struct Options {
  Engine engine = Engine::Auto;
  size_t maxBoxes = 1024;           ///< closed forms: boxes of one set
  uint64_t maxSteps = 4'000'000;    ///< closed forms: box operations
  int64_t maxPoints = 1 << 20;      ///< enumeration: points of all domains; library: points counted
  uint64_t maxOperations = 200'000; ///< library: its own operations, which it counts coarsely
};

/// `by` is the engine that answered; Unknown has a reason, for example "more than 1024 boxes".
struct Answer {
  Truth truth = Truth::Unknown;
  Engine by = Engine::Auto;
  std::string reason;
};

/// `points` is exact; empty means unknown, for the given reason.
struct Count {
  std::optional<int64_t> points;
  Engine by = Engine::Auto;
  std::string reason;
};

Answer isEmpty(const IndexSet &set, const Options &options = {});
/// True if every point of a is in b. Both have the same rank.
Answer isSubset(const IndexSet &a, const IndexSet &b, const Options &options = {});
Answer isEqual(const IndexSet &a, const IndexSet &b, const Options &options = {});

/// The number of different points: the union footprint in elements.
Count count(const IndexSet &set, const Options &options = {});

/// The set as disjoint boxes. Nothing when it takes more than `maxBoxes`, or when neither closed
/// forms nor enumeration can tell. Deterministic, but not the least number of boxes.
std::optional<std::vector<Box>> boxesOf(const IndexSet &set, const Options &options = {});

/// The least box that contains the set. Nothing for the empty set and where boxesOf() gives
/// nothing.
std::optional<Box> hullOf(const IndexSet &set, const Options &options = {});

} // namespace tilewright::sets
