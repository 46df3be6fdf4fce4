// What the kernel of a compiled fusion does: what it reads, writes and evaluates.
//
// An emitter that makes one element of the result at a time evaluates each op of the body as often
// as its readers ask for it. Readers that reach it by the same *index path*, the list of ops
// between it and the root that change indices, ask for the same element and share an evaluation;
// others don't:
//
//   s = sum over i of x[i, j]      an element a row      y = e + exp(x)     x: once
//   y[r, j] = s[j] · x[r, j]       x: once itself        z = y + y[::-1]    x: twice, along two
//                                  and R times for s                        paths
//
// A kernel that makes a tile of each value (Triton's) evaluates each element of it once.
#pragma once

#include "analysis/ir/graph.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The ops between a value and the root that change indices, as far as loads depend on them.
struct IndexPath {
  std::string key;              ///< the same for the same elements
  bool isGathered = false;      ///< indices come from memory
  bool isIndex = false;         ///< the value is an index of a gather
  bool isTurned = false;        ///< a transpose moved the fastest dim
  bool isJoined = false;        ///< behind a concatenate or pad: lanes take different ways
  bool isBroadcastLast = false; ///< the next op repeats it
  double taps = 1;              ///< of the windows between
  auto operator<=>(const IndexPath &) const = default;
};

struct FusionOperand {
  double bytes = 0; ///< that the kernel needs of it, each once
  /// Which part, where it is a slice: strided through the whole of it. Parts of the same name
  /// are the same bytes.
  std::string region;
  std::vector<std::pair<IndexPath, double>> loads; ///< elements loaded, by path
};

struct FusionResult {
  double bytes = 0, elements = 0;   ///< written: of an update in place those of the update alone
  std::optional<int64_t> inPlaceOf; ///< the operand in whose buffer it is written
};

/// Instructions of all threads together, for one element each.
struct FusionWork {
  std::vector<FusionOperand> operands;
  std::vector<FusionResult> results;
  double instructions = 0, halfRate = 0, special = 0; ///< the latter two are among the first
  /// `instructions` if each op were evaluated once an element.
  double leastInstructions = 0;
  /// The op whose repetition costs most, and how often each of its elements is evaluated.
  std::string mostRepeated;
  double mostRepeats = 1;
  /// 32-bit words that a thread holds for each element of its tile: values of full size that a
  /// reduction needs and that are read again behind it. Of kernels that make tiles.
  double heldWords = 0;

  double recomputeFactor() const {
    return leastInstructions > 0 ? instructions / leastInstructions : 1;
  }
};

/// Of a `fusion` of `graph`. `isByTile`: each value once a tile.
FusionWork fusionWork(const Module &module, const Op &fusion, bool isByTile);

/// The ops that make the results of a computation: the root, or the operands of its tuple.
std::vector<OpId> bodyResults(const Graph &body);
/// Looks through views, conversions and copies.
OpId behindConversions(const Graph &body, OpId id);
/// Of a tuple the sum.
double elementsOf(const Shape &shape);
double bytesOf(const Shape &shape);

} // namespace tilewright
