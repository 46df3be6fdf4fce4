// Atoms: the smallest pieces of which kernels are made.
//
// An atom is an op with the cheap ops that it alone reads, which are never better apart:
//
//     m = multiply(x, y);  n = negate(m);  s = add(m, n)        one atom: nobody else reads m or n
//
// Views that move no byte belong to no atom: whoever reads the view reads the value behind it. What
// is computed from constants alone, and broadcasts, are part of every kernel that reads them.
// Everything else is in exactly one atom. Fusions of another compiler, updates in place and what
// has no kernel of ours (`isFixed`) are atoms that no other one joins.
#pragma once

#include "tools/explore/grouping.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilewright {

using AtomId = uint32_t;

struct GraphAtom {
  std::vector<OpId> ops;              ///< ascending
  OpId result;                        ///< the op whose value others read
  std::vector<AtomId> reads, readers; ///< ascending
  /// Those of `reads` that come out of a tuple or from behind a barrier: they lie in memory.
  std::vector<AtomId> readsStored;
  bool isFixed = false;
  bool isRequired = false; ///< a result of the graph, or read by what has no kernel here
  bool isCheap = false;    ///< no product or window: may be computed again in a reader
  bool hasSeveral = false; ///< its result is a tuple, of which each reader may read another tensor
};

class AtomGraph {
public:
  /// Of the ops of a greedy grouping's kernels, each of which is a set of atoms. `others`: ops that
  /// run and have no kernel; each is a fixed atom, so that paths lead through it.
  /// `apart`: ops that join no other one.
  AtomGraph(const Module &module, const Graph &graph, std::span<const KernelGroup> greedy,
            std::span<const OpId> others, std::span<const OpId> apart = {});

  /// In topological order.
  std::span<const GraphAtom> all() const { return atoms; }
  const GraphAtom &operator[](AtomId id) const { return atoms[id]; }
  size_t size() const { return atoms.size(); }

  /// The atoms of a kernel of the greedy grouping, ascending.
  const std::vector<AtomId> &ofKernel(size_t kernel) const { return kernels[kernel]; }
  /// The atoms whose results an op's value is made of, through views: one, but for tuples.
  std::vector<AtomId> valuesOf(OpId op) const;
  /// The atom that computes an op; nothing for those that are in none.
  std::optional<AtomId> atomOf(OpId op) const;

  /// The atoms that a set reads and does not contain, ascending. Sets are ascending.
  std::vector<AtomId> inputsOf(std::span<const AtomId> set) const;
  /// A path leaves the set from one of these results of it, and returns. What is computed and not
  /// stored may have other readers: they compute it again, or another kernel stores it.
  bool waitsForItself(std::span<const AtomId> set, std::span<const AtomId> results) const;
  /// The kernel of a set of atoms that stores the results of some of them: all ops as `ops`, none
  /// as `recomputed`.
  KernelGroup kernelOf(std::span<const AtomId> set, std::span<const AtomId> results) const;

private:
  /// Where an op is.
  enum class Place : uint8_t { Outside, Atom, Repeated, Alias };

  void placeOps(std::span<const KernelGroup> greedy, std::span<const OpId> others);
  void makeAtoms(std::span<const KernelGroup> greedy, std::span<const OpId> others,
                 std::span<const OpId> apart);
  void findReads();
  void sortTopologically();
  void connect(std::span<const KernelGroup> greedy);
  bool isFixedKernel(const KernelGroup &kernel) const;
  template <class Visit> void visitSources(OpId op, const Visit &visit) const;
  OpId behindAliases(OpId op) const;

  const Graph &graph;
  bool isScheduledModule;
  std::vector<std::vector<OpId>> users;
  std::vector<Place> places;       ///< by op
  std::vector<int64_t> atomNumber; ///< by op, -1: none
  std::vector<GraphAtom> atoms;
  std::vector<std::vector<AtomId>> kernels;
};

} // namespace tilewright
