// Values that are still needed in memory, of which a choice is a path to none (choice.h): what its
// searches have in common. Internal to the folder.
#pragma once

#include "tools/explore/partition/choice_internal.h"

#include <array>
#include <bit>

namespace tilewright {

/// A set of at most maxExactAtoms atoms.
struct AtomSet {
  static constexpr size_t words = maxExactAtoms / 64;
  std::array<uint64_t, words> bits{};

  bool operator==(const AtomSet &) const = default;
  void insert(AtomId a) { bits[a / 64] |= uint64_t(1) << a % 64; }
  bool contains(AtomId a) const { return bits[a / 64] >> a % 64 & 1; }
  bool isEmpty() const { return bits == decltype(bits){}; }
  AtomSet without(const AtomSet &other) const {
    AtomSet result;
    for (size_t w = 0; w < words; ++w)
      result.bits[w] = bits[w] & ~other.bits[w];
    return result;
  }
  void add(const AtomSet &other) {
    for (size_t w = 0; w < words; ++w)
      bits[w] |= other.bits[w];
  }
  bool meets(const AtomSet &other) const {
    for (size_t w = 0; w < words; ++w)
      if (bits[w] & other.bits[w])
        return true;
    return false;
  }
  /// From the largest down.
  template <class Visit> void forEach(const Visit &visit) const {
    for (size_t w = words; w-- > 0;)
      for (uint64_t rest = bits[w]; rest;) {
        const unsigned bit = 63 - unsigned(std::countl_zero(rest));
        rest &= ~(uint64_t(1) << bit);
        visit(AtomId(64 * w + bit));
      }
  }
  AtomId largest() const {
    for (size_t w = words; w-- > 0;)
      if (bits[w])
        return AtomId(64 * w + 63 - unsigned(std::countl_zero(bits[w])));
    return 0;
  }

  struct Hash {
    size_t operator()(const AtomSet &set) const {
      uint64_t hash = 0x9e3779b97f4a7c15;
      for (uint64_t word : set.bits) {
        hash = (hash ^ word) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };
};

inline AtomSet setOf(std::span<const AtomId> atoms) {
  AtomSet set;
  for (AtomId a : atoms)
    set.insert(a);
  return set;
}

/// The ways on from a set of needed values, and what they cost at least.
class NeededSets {
public:
  /// References must live as long. Columns that are in no choice below `upperBound` are left out.
  NeededSets(const ChoiceProblem &problem, double upperBound, const Packing &packing);

  AtomSet required() const { return setOf(problem.required); }
  const AtomSet &resultsOf(size_t column) const { return results[column]; }
  /// What is needed before a column runs.
  AtomSet before(const AtomSet &needed, size_t column) const {
    AtomSet rest = needed.without(results[column]);
    rest.add(inputs[column]);
    return rest;
  }

  /// What the columns still to come cost at least: the shares of what they must compute, and what
  /// atoms that are computed already have passed on to what is needed.
  double remaining(const AtomSet &needed) const;

  /// The columns that may run last: those that make the latest needed value. Only where one stores
  /// something else that another column, of a needed value, may read, that other one may run later.
  template <class Take> void forEachLast(const AtomSet &needed, const Take &take) const {
    const AtomId latest = needed.largest();
    bool mayBeRead = false;
    for (size_t c : makers[latest]) {
      take(c);
      if (problem.columns[c].results.size() < 2)
        continue;
      AtomSet before;
      needed.without(results[c]).forEach([&](AtomId a) { before.add(ancestors[a]); });
      mayBeRead |= before.meets(results[c]);
    }
    if (!mayBeRead)
      return;
    needed.forEach([&](AtomId a) {
      if (a == latest)
        return;
      for (size_t c : makers[a])
        if (!results[c].contains(latest))
          take(c);
    });
  }

  const ChoiceProblem &problem;

private:
  const Packing &packing;
  std::vector<std::vector<size_t>> makers; ///< by value
  std::vector<AtomSet> results, inputs;    ///< by column
  std::vector<AtomSet> ancestors;          ///< by atom
};

} // namespace tilewright
