// Brute force, and random maps, for the tests of set questions.
#pragma once

#include "analysis/sets/sets.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <ostream>
#include <random>
#include <set>

namespace tilewright::sets {

inline void PrintTo(Truth truth, std::ostream *os) {
  *os << (truth == Truth::Yes ? "yes" : truth == Truth::No ? "no" : "unknown");
}

using Points = std::set<std::vector<int64_t>>;

inline bool isAllowed(const Reads &reads, Expr var, int64_t value) {
  for (const auto &[restricted, p] : reads.restrictions) {
    if (restricted != var)
      continue;
    bool isIn = false;
    for (int64_t k = 0; k < p.size; ++k)
      isIn |= p.offset + k * p.stride == value;
    if (!isIn)
      return false;
  }
  return true;
}

/// What a read reaches, by the map's own evaluation at every point of its domain.
inline void collect(const Reads &reads, Points &out, Assignment at = {}, size_t i = 0) {
  if (i == reads.map.variables().size()) {
    if (std::optional<std::vector<int64_t>> read = reads.map.evaluate(at))
      out.insert(*read);
    return;
  }
  const MapVariable &v = reads.map.variables()[i];
  for (int64_t value = v.domain.lo; value <= v.domain.hi; ++value)
    if (isAllowed(reads, v.var, value)) {
      at.set(v.var, value);
      collect(reads, out, at, i + 1);
    }
}

inline Points pointsOf(const IndexSet &set) {
  Points out;
  for (const Reads &reads : set.parts())
    collect(reads, out);
  return out;
}

inline Points pointsOf(const std::vector<Box> &boxes) {
  Points out;
  for (const Box &box : boxes) {
    std::vector<std::vector<int64_t>> tuples{{}};
    for (const Progression &p : box) {
      std::vector<std::vector<int64_t>> longer;
      for (const std::vector<int64_t> &tuple : tuples)
        for (int64_t k = 0; k < p.size; ++k) {
          longer.push_back(tuple);
          longer.back().push_back(p.offset + k * p.stride);
        }
      tuples = std::move(longer);
    }
    for (std::vector<int64_t> &tuple : tuples)
      EXPECT_TRUE(out.insert(std::move(tuple)).second) << "boxes overlap";
  }
  return out;
}

/// Small maps of every kind: strides, windows, floordiv, ceildiv and mod, min and max, constraints
/// by range and by modulus.
class RandomMaps {
public:
  RandomMaps(ExprContext &context, uint64_t seed) : ctx(context), random(seed) {}

  int64_t pick(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
  }

  Expr expression(const std::vector<MapVariable> &variables, int depth) {
    int64_t choice = pick(0, 9);
    if (depth == 0 || choice == 0) {
      if (pick(0, 5) == 0)
        return ctx.constant(pick(-5, 5));
      return variables[pick(0, variables.size() - 1)].var;
    }
    Expr a = expression(variables, depth - 1);
    switch (choice) {
    case 1:
    case 2:
      return a.floorDiv(pick(1, 6));
    case 3:
    case 4:
      return a.mod(pick(1, 6));
    case 5:
      return a * pick(-4, 6);
    case 6:
      return pick(0, 3) == 0 ? a.ceilDiv(pick(1, 5))
             : pick(0, 1)    ? a.min(expression(variables, depth - 1))
                             : a.max(pick(-3, 6));
    default:
      return a * pick(1, 5) + expression(variables, depth - 1) + pick(-3, 3);
    }
  }

  /// `rank` results over 1 … 4 variables of at most 7 values.
  IndexMap map(size_t rank) {
    std::vector<MapVariable> variables;
    size_t dims = pick(1, 2), ranges = pick(0, 2);
    for (size_t i = 0; i < dims; ++i)
      variables.push_back({ctx.dim(i), Interval::ofExtent(pick(1, 7)), std::nullopt});
    for (size_t i = 0; i < ranges; ++i) {
      int64_t lo = pick(-2, 2);
      variables.push_back({ctx.range(i), {lo, lo + pick(0, 5)}, std::nullopt});
    }
    std::vector<Expr> results;
    for (size_t i = 0; i < rank; ++i)
      results.push_back(expression(variables, static_cast<int>(pick(1, 3))));
    std::vector<MapConstraint> constraints;
    for (int64_t n = pick(-2, 2); n > 0; --n) {
      MapConstraint c;
      // Often on a result itself, as padding does.
      c.expr = rank > 0 && pick(0, 1) ? results[pick(0, rank - 1)] : expression(variables, 2);
      if (pick(0, 2) == 0) {
        c.modulus = pick(2, 5);
        c.residue = pick(0, c.modulus - 1);
      } else {
        c.range.lo = pick(-3, 4);
        c.range.hi = c.range.lo + pick(0, 8);
      }
      constraints.push_back(c);
    }
    return IndexMap(ctx, variables, results, constraints);
  }

  Box box(size_t rank) {
    Box out;
    for (size_t i = 0; i < rank; ++i) {
      int64_t stride = pick(1, 3);
      out.push_back(*normalised({pick(-1, 3), pick(1, 5), pick(0, 4) ? stride : -stride}));
    }
    return out;
  }

  IndexSet set(size_t rank) {
    IndexMap m = map(rank);
    IndexSet out = pick(0, 1) ? image(m) : image(m, box(m.variables(VarKind::Dim).size()));
    return out;
  }

private:
  ExprContext &ctx;
  std::mt19937_64 random;
};

} // namespace tilewright::sets
