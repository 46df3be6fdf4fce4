// What it takes to turn one layout of a tile into another, or to take it through shared memory.
//
// - *free*: registers are renamed. Values of less than a word that sit in other words are packed
//   anew, an ALU instruction a word.
// - *within warps*: shuffles, as many as the most words that a lane of a warp sends or receives
//   (words for one pair of lanes are packed first). A shuffle is a matching of lanes, and a
//   bipartite multigraph of greatest degree D falls into D matchings (König): D are enough, and
//   none that sends each word straight to its lane has fewer.
// - *through shared memory*: written in vectors as wide as a thread's registers allow in any order,
//   a barrier, and read; in the form (layout_table.h) with the fewest passes, conflicts counted. In
//   a loop two slots take turns, so that one barrier a step is enough.
// Where both of the last two can do it, the cheaper one counts. Bounds from below are made of a few
// threads; prices are kept, so that each is found once.
#pragma once

#include "analysis/program/inference/labelling.h"
#include "analysis/program/inference/layout_table.h"
#include "analysis/program/inference/prices.h"

#include <unordered_map>

namespace tilewright::inference {

/// Registers of all warps in shared memory, one way.
struct FormAccess {
  bool isPossible = false;
  int64_t passes = 0, instructions = 0;
  int64_t bytesPerLane = 0, degree = 1;
  int64_t packs = 0; ///< ALU instructions of all warps that put values of less than a word together
  bool isMatrix = false; ///< by ldmatrix
};

struct Move {
  enum class Way : uint8_t { None, Free, Shuffles, Shared };
  Way way = Way::None; ///< None: the same layout
  Cost cost = 0;
  int64_t barriers = 0;
  int64_t shuffles = 0; ///< a warp
  int64_t packs = 0;
  FormId form = 0; ///< Shared
  FormAccess store, load;
  int64_t bytes = 0; ///< of shared memory
};

class MovePricer {
public:
  MovePricer(LayoutTable &table, const LayoutPrices &prices) : table(table), prices(prices) {}

  /// The way without values leaving their threads, if there is one.
  bool isFree(LayoutId from, LayoutId to);
  Cost bound(LayoutId from, LayoutId to, unsigned bits);
  const Move &move(LayoutId from, LayoutId to, unsigned bits);

  const FormAccess &access(LayoutId layout, FormId form, unsigned bits, bool isStore);
  Cost costOf(const FormAccess &access) const;
  /// At most costOf(access()).
  Cost accessBound(LayoutId layout, unsigned bits, bool isStore) const;

private:
  layout::MoveClass leastClass(const LayoutEntry &from, const LayoutEntry &to) const;
  layout::MoveClass classOf(LayoutId from, LayoutId to);
  int64_t leastShuffles(const LayoutEntry &from, const LayoutEntry &to, unsigned bits) const;
  int64_t shuffles(const LayoutEntry &from, const LayoutEntry &to, unsigned bits) const;
  Cost shuffleCost(int64_t shuffles, int64_t warps) const;
  int64_t packsOf(const LayoutEntry &from, const LayoutEntry &to, unsigned bits) const;
  void throughShared(Move &best, LayoutId from, LayoutId to, unsigned bits);
  FormAccess linearAccess(const LayoutEntry &entry, const SharedForm &form, unsigned bits,
                          bool isStore) const;
  FormAccess countedAccess(const LayoutEntry &entry, const SharedForm &form, unsigned bits,
                           bool isStore) const;
  void preferMatrix(FormAccess &access, const LayoutEntry &entry, const SharedForm &form,
                    unsigned bits) const;

  LayoutTable &table;
  const LayoutPrices &prices;
  std::unordered_map<uint64_t, Cost> bounds;
  std::unordered_map<uint64_t, layout::MoveClass> classes;
  std::unordered_map<uint64_t, Move> moves;
  std::unordered_map<uint64_t, FormAccess> accesses;
};

} // namespace tilewright::inference
