#include "analysis/sets/closed_forms.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace tilewright::sets {
namespace {

constexpr size_t maxPieces = 4096;              ///< of one set
constexpr int64_t maxComponentPoints = 1 << 15; ///< tried one by one for one component

/// The x with by·x ∈ range, for by ≠ 0.
Interval divideInterval(Interval range, int64_t by) {
  auto down = [&](int64_t v) { return *checkedFloorDiv(v, by); };
  auto up = [&](int64_t v) { return *checkedCeilDiv(v, by); };
  Interval result;
  int64_t low = by > 0 ? range.lo : range.hi, high = by > 0 ? range.hi : range.lo;
  if (low != INT64_MIN && low != INT64_MAX)
    result.lo = up(low);
  if (high != INT64_MIN && high != INT64_MAX)
    result.hi = down(high);
  return result;
}

/// One component of a piece: digits connected by results and constraints.
struct Tied {
  std::vector<uint32_t> results;
  std::vector<const Residual *> residuals;
  std::vector<uint32_t> digits;
};

std::vector<Tied> componentsOf(const DigitProgram::Values &values,
                               const std::vector<int64_t> &extents) {
  std::vector<uint32_t> parent(extents.size());
  std::iota(parent.begin(), parent.end(), 0);
  auto find = [&](uint32_t d) {
    while (parent[d] != d)
      d = parent[d] = parent[parent[d]];
    return d;
  };
  auto tie = [&](const DigitSum &sum) {
    for (const DigitSum::Term &t : sum.terms)
      parent[find(t.digit)] = find(sum.terms[0].digit);
  };
  for (const DigitSum &sum : values.results)
    tie(sum);
  for (const Residual &r : values.residuals)
    tie(r.sum);
  std::vector<Tied> out;
  std::vector<int32_t> componentOf(extents.size(), -1);
  auto component = [&](const DigitSum &sum) -> Tied & {
    int32_t &index = componentOf[find(sum.terms[0].digit)];
    if (index < 0) {
      index = static_cast<int32_t>(out.size());
      out.emplace_back();
    }
    return out[index];
  };
  for (uint32_t i = 0; i < values.results.size(); ++i) {
    if (values.results[i].isConstant())
      out.emplace_back().results.push_back(i); // a component of its own, without digits
    else
      component(values.results[i]).results.push_back(i);
  }
  for (const Residual &r : values.residuals)
    component(r.sum).residuals.push_back(&r);
  std::set<uint32_t> used;
  auto use = [&](Tied &tied, const DigitSum &sum) {
    for (const DigitSum::Term &t : sum.terms)
      if (used.insert(t.digit).second)
        tied.digits.push_back(t.digit);
  };
  for (Tied &tied : out) {
    for (uint32_t r : tied.results)
      use(tied, values.results[r]);
    for (const Residual *r : tied.residuals)
      use(tied, r->sum);
  }
  return out;
}

enum class Progress { Done, Empty, Failed };

/// Digits that only one constraint has are eliminated from it: some k in [0, n) brings c·k + rest
/// into [lo, hi] iff rest lies in [lo - c·(n - 1), hi] (for c > 0), provided that the steps of c
/// can't jump over the range. False when a constraint never holds.
bool eliminateDigits(DigitProgram::Values &values, const std::vector<int64_t> &extents) {
  std::vector<uint32_t> uses(extents.size());
  for (const DigitSum &sum : values.results)
    for (const DigitSum::Term &t : sum.terms)
      uses[t.digit] += 2; // never to be eliminated
  for (const Residual &r : values.residuals)
    for (const DigitSum::Term &t : r.sum.terms)
      ++uses[t.digit];
  std::vector<Residual> kept;
  for (Residual &r : values.residuals) {
    if (r.modulus == 1) {
      Interval all = rangeOf(r.sum, extents);
      r.range = r.range.intersect(all);
      for (size_t i = 0; i < r.sum.terms.size() && !r.range.isEmpty();) {
        const DigitSum::Term t = r.sum.terms[i];
        if (uses[t.digit] != 1 || r.range.hi - r.range.lo + 1 < std::abs(t.coefficient)) {
          ++i;
          continue;
        }
        r.range = r.range + Interval::ofExtent(extents[t.digit]) * Interval::point(-t.coefficient);
        r.sum.terms.erase(r.sum.terms.begin() + i);
        r.range = r.range.intersect(rangeOf(r.sum, extents));
        i = 0; // a wider range may admit larger steps
      }
      if (r.range.isEmpty())
        return false;
      if (r.range == rangeOf(r.sum, extents))
        continue;
    }
    kept.push_back(std::move(r));
  }
  values.residuals = std::move(kept);
  return true;
}

/// Keeps the values of `line`, those of `sum`, for which a constraint on a multiple of the same
/// digits holds. Does nothing and returns false if it is not a multiple.
bool filterLine(std::vector<Progression> &line, const DigitSum &sum, const Residual &r) {
  if (r.sum.terms.size() != sum.terms.size() || sum.terms.empty())
    return false;
  int64_t p = r.sum.terms[0].coefficient, q = sum.terms[0].coefficient;
  int64_t g = std::gcd(p, q);
  p /= g, q /= g;
  if (q < 0)
    p = -p, q = -q;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const DigitSum::Term &a = r.sum.terms[i], &b = sum.terms[i];
    if (a.digit != b.digit ||
        static_cast<__int128>(a.coefficient) * q != static_cast<__int128>(b.coefficient) * p)
      return false;
  }
  if (q != 1) // p/q·(value - constant) needs larger numbers; rare
    return false;
  // r.sum = p·(value - sum.constant) + r.sum.constant
  std::optional<int64_t> shift = checkedMul(p, sum.constant);
  shift = shift ? checkedSub(r.sum.constant, *shift) : std::nullopt;
  if (!shift || std::abs(*shift) > maxMagnitude)
    return false;
  Interval wanted = r.range + Interval::point(-*shift);
  if (r.range.lo == INT64_MIN)
    wanted.lo = INT64_MIN;
  if (r.range.hi == INT64_MAX)
    wanted.hi = INT64_MAX;
  Interval range = divideInterval(wanted, p);
  std::vector<Progression> kept;
  for (const Progression &values : line) {
    int64_t lo = std::max(range.lo, values.offset), hi = std::min(range.hi, values.last());
    Progression inside =
        lo > hi ? Progression{0, 0, 1} : intersect(values, Progression::interval(lo, hi));
    if (r.modulus > 1 && !inside.isEmpty()) {
      // p·value + shift ≡ residue: the first period decides.
      int64_t period = r.modulus / std::gcd(r.modulus, p);
      period /= std::gcd(period, inside.stride);
      int64_t k = 0, n = std::min(period, inside.size);
      if (n > maxComponentPoints)
        return false;
      auto holds = [&](int64_t v) {
        __int128 rest = (static_cast<__int128>(p) * v + *shift - r.residue) % r.modulus;
        return rest == 0;
      };
      while (k < n && !holds(inside.offset + k * inside.stride))
        ++k;
      std::optional<Progression> matching;
      if (k < n)
        matching =
            normalised({inside.offset + k * inside.stride, (inside.size - 1 - k) / period + 1,
                        inside.stride * (inside.size > k + period ? period : 1)});
      inside = matching.value_or(Progression{0, 0, 1});
    }
    if (!inside.isEmpty())
      kept.push_back(inside);
  }
  line = std::move(kept);
  return true;
}

/// Tries every value of the digits of a component.
Progress tryEveryValue(const Tied &tied, const DigitProgram::Values &values,
                       const std::vector<int64_t> &extents, Work &work, Component &out,
                       std::string &reason) {
  int64_t total = 1;
  for (uint32_t d : tied.digits) {
    total = checkedMul(total, extents[d]).value_or(maxComponentPoints + 1);
    if (total > maxComponentPoints) {
      reason = fmt::format("more than {} points of digits that depend on each other",
                           maxComponentPoints);
      return Progress::Failed;
    }
  }
  if (!work.spend(static_cast<uint64_t>(total) * (tied.digits.size() + 1))) {
    reason = "too many steps";
    return Progress::Failed;
  }
  std::vector<int64_t> at(extents.size());
  auto valueOf = [&](const DigitSum &sum) {
    int64_t value = sum.constant;
    for (const DigitSum::Term &t : sum.terms)
      value += t.coefficient * at[t.digit];
    return value;
  };
  std::vector<std::vector<int64_t>> tuples;
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i;
    for (uint32_t d : tied.digits) {
      at[d] = rest % extents[d];
      rest /= extents[d];
    }
    if (!std::all_of(tied.residuals.begin(), tied.residuals.end(),
                     [&](const Residual *r) { return r->holds(valueOf(r->sum)); }))
      continue;
    std::vector<int64_t> tuple;
    for (uint32_t r : tied.results)
      tuple.push_back(valueOf(values.results[r]));
    tuples.push_back(std::move(tuple));
    if (tied.results.empty())
      break; // only existence is needed
  }
  if (tuples.empty())
    return Progress::Empty;
  std::sort(tuples.begin(), tuples.end());
  tuples.erase(std::unique(tuples.begin(), tuples.end()), tuples.end());
  if (tied.results.size() == 1) {
    std::vector<int64_t> line;
    for (const std::vector<int64_t> &tuple : tuples)
      line.push_back(tuple[0]);
    out.line = progressionsOf(line);
  } else {
    out.points = std::move(tuples);
  }
  return Progress::Done;
}

Progress solve(const Tied &tied, const DigitProgram::Values &values,
               const std::vector<int64_t> &extents, size_t maxParts, Work &work, Component &out,
               std::string &reason) {
  out.results = tied.results;
  // One result, and constraints on multiples of it; or a single constraint alone.
  const DigitSum *sum = tied.results.size() == 1 ? &values.results[tied.results[0]]
                        : tied.results.empty() && tied.residuals.size() == 1
                            ? &tied.residuals[0]->sum
                            : nullptr;
  if (sum) {
    std::optional<std::vector<Progression>> line = valuesOf(*sum, extents, maxParts, work);
    if (line) {
      bool isFiltered = std::all_of(tied.residuals.begin(), tied.residuals.end(),
                                    [&](const Residual *r) { return filterLine(*line, *sum, *r); });
      if (isFiltered) {
        if (line->empty())
          return Progress::Empty;
        if (!tied.results.empty())
          out.line = std::move(*line);
        return Progress::Done;
      }
    }
  }
  return tryEveryValue(tied, values, extents, work, out, reason);
}

Progress productOf(const DigitProgram::Values &values, const std::vector<int64_t> &extents,
                   size_t maxParts, Work &work, Product &out, std::string &reason) {
  for (const DigitSum &sum : values.results)
    if (Interval range = rangeOf(sum, extents);
        range.lo < -maxMagnitude || range.hi > maxMagnitude) {
      reason = "numbers near 64 bits";
      return Progress::Failed;
    }
  for (const Tied &tied : componentsOf(values, extents)) {
    Component component;
    if (Progress o = solve(tied, values, extents, maxParts, work, component, reason);
        o != Progress::Done)
      return o;
    if (!component.results.empty())
      out.components.push_back(std::move(component));
  }
  return Progress::Done;
}

bool isEmptyPiece(const Piece &piece) {
  return std::any_of(piece.extents.begin(), piece.extents.end(), [](int64_t n) { return n <= 0; });
}

/// Adds the products of one read.
bool addProducts(const Reads &reads, const Options &options, size_t &piecesLeft, Work &steps,
                 std::vector<Product> &out, std::string &reason) {
  if (reads.map.isKnownEmpty())
    return true;
  DigitProgram program(reads);
  std::optional<Piece> start = program.start(reason);
  if (!start)
    return false;
  std::vector<Piece> work;
  if (!isEmptyPiece(*start))
    work.push_back(std::move(*start));
  while (!work.empty()) {
    if (piecesLeft-- == 0) {
      piecesLeft = 0;
      reason = fmt::format("more than {} pieces", maxPieces);
      return false;
    }
    Piece piece = std::move(work.back());
    work.pop_back();
    if (!steps.spend(program.size() * (piece.extents.size() + 1))) {
      reason = "too many steps";
      return false;
    }
    DigitProgram::Values values;
    switch (program.evaluate(piece, values)) {
    case DigitProgram::Outcome::Failed:
      reason = values.reason;
      return false;
    case DigitProgram::Outcome::Split:
      for (const Split::Alternative &alternative : values.split.alternatives) {
        std::optional<Piece> next = DigitProgram::apply(piece, values.split.digit, alternative);
        if (!next) {
          reason = "numbers near 64 bits";
          return false;
        }
        work.push_back(std::move(*next));
      }
      break;
    case DigitProgram::Outcome::Done: {
      if (!eliminateDigits(values, piece.extents))
        break;
      Product product;
      Progress o = productOf(values, piece.extents, options.maxBoxes, steps, product, reason);
      if (o == Progress::Failed)
        return false;
      if (o == Progress::Done)
        out.push_back(std::move(product));
      break;
    }
    }
  }
  return true;
}

/// Appends the boxes of a product, which are disjoint.
bool expand(size_t rank, const Product &product, size_t maxBoxes, std::vector<Box> &out) {
  size_t total = 1;
  for (const Component &c : product.components) {
    if (c.parts() > maxBoxes / total)
      return false;
    total *= c.parts();
  }
  std::vector<size_t> at(product.components.size());
  for (size_t i = 0; i < total; ++i) {
    Box box(rank);
    size_t rest = i;
    for (const Component &c : product.components) {
      size_t part = rest % c.parts();
      rest /= c.parts();
      if (c.results.size() == 1)
        box[c.results[0]] = c.line[part];
      else
        for (size_t r = 0; r < c.results.size(); ++r)
          box[c.results[r]] = Progression::point(c.points[part][r]);
    }
    out.push_back(std::move(box));
  }
  return true;
}

} // namespace

std::optional<int64_t> Product::pointCount() const {
  std::optional<int64_t> total = 1;
  for (const Component &c : components) {
    std::optional<int64_t> own = static_cast<int64_t>(c.points.size());
    if (c.results.size() == 1) {
      own = 0;
      for (const Progression &p : c.line)
        own = own ? checkedAdd(*own, p.size) : std::nullopt;
    }
    total = total && own ? checkedMul(*total, *own) : std::nullopt;
  }
  return total;
}

std::optional<std::vector<Product>> productsOf(const IndexSet &set, const Options &options,
                                               std::string &reason) {
  std::vector<Product> products;
  size_t piecesLeft = maxPieces;
  Work steps{options.maxSteps};
  for (const Reads &reads : set.parts())
    if (!addProducts(reads, options, piecesLeft, steps, products, reason))
      return std::nullopt;
  return products;
}

std::optional<std::vector<Box>> disjointBoxes(size_t rank, const std::vector<Product> &products,
                                              const Options &options, std::string &reason) {
  std::vector<Box> boxes;
  for (const Product &product : products)
    if (!expand(rank, product, options.maxBoxes, boxes)) {
      reason = fmt::format("more than {} boxes", options.maxBoxes);
      return std::nullopt;
    }
  if (products.size() <= 1)
    return boxes;
  // CTAs of a wave often read the same boxes.
  std::sort(boxes.begin(), boxes.end());
  boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
  Work work{options.maxSteps};
  BoxUnion result;
  for (const Box &box : boxes)
    if (!result.add(box, options.maxBoxes, work)) {
      reason = work.left == 0 ? fmt::format("more than {} steps", options.maxSteps)
                              : fmt::format("more than {} boxes", options.maxBoxes);
      return std::nullopt;
    }
  return result.boxes();
}

} // namespace tilewright::sets
