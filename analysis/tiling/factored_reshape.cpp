// Reshape of factored tiles: regroup the atoms along the new dims.
#include "analysis/support/checked.h"
#include "analysis/tiling/factored_tile.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright {
namespace {

bool comparable(int64_t a, int64_t b) { return a % b == 0 || b % a == 0; }

void sortUnique(std::vector<int64_t> &values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Weights at which both sides can be cut: a divisor chain from 1 to `total`, each comparable with
/// every weight of either side. All weights if they form a chain; otherwise gcds and lcms of pairs
/// are tried as well, to keep the part that can't be cut (a core) as small as possible.
std::vector<int64_t> commonCuts(const std::vector<int64_t> &a, const std::vector<int64_t> &b,
                                int64_t total) {
  std::vector<int64_t> weights = a;
  weights.insert(weights.end(), b.begin(), b.end());
  sortUnique(weights);
  bool isChain = true;
  for (size_t i = 0; i + 1 < weights.size(); ++i)
    isChain &= weights[i + 1] % weights[i] == 0;
  if (isChain)
    return weights;
  std::vector<int64_t> candidates = weights, cuts;
  for (int64_t x : a)
    for (int64_t y : b) {
      int64_t g = std::gcd(x, y);
      candidates.push_back(g);
      std::optional<int64_t> lcm = checkedMul(x / g, y);
      if (lcm && total % *lcm == 0)
        candidates.push_back(*lcm);
    }
  sortUnique(candidates);
  for (int64_t candidate : candidates) {
    auto fits = [&](int64_t weight) { return comparable(candidate, weight); };
    if (std::all_of(weights.begin(), weights.end(), fits) &&
        std::all_of(cuts.begin(), cuts.end(), fits))
      cuts.push_back(candidate);
  }
  return cuts;
}

/// A part of the linear index with its lane digit.
struct Piece {
  Atom atom;
  int64_t weight; ///< in the linear index
};

/// Suffix products of the extents over 1, ascending from 1 to their product.
std::vector<int64_t> weightsOf(std::span<const int64_t> extents) {
  std::vector<int64_t> weights{1};
  for (size_t i = extents.size(); i > 0; --i)
    if (extents[i - 1] > 1)
      weights.push_back(weights.back() * extents[i - 1]);
  return weights;
}

std::string productText(std::span<const int64_t> extents) {
  std::string out;
  for (int64_t extent : extents)
    out += fmt::format("{}{}", out.empty() ? "" : " x ", extent);
  return out;
}

bool isPrime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0)
      return false;
  return n > 1;
}

/// "must divide 64 or be a multiple of 64".
std::string boundaryText(const TileOrigin &origin, int64_t c) {
  const int64_t outer = origin.extent / c;
  const std::string because =
      origin.extent % c == 0
          ? fmt::format("because {} is split into {} x {}", origin.extent, outer, c)
          : fmt::format("because {} is split at {}", origin.extent, c);
  if (origin.isRooted())
    return isPrime(c)
               ? fmt::format("tile {{0}} must be 1 or a multiple of {}, {}", c, because)
               : fmt::format("tile {{0}} must divide {} or be a multiple of it, {}", c, because);
  if (origin.cases.empty())
    return fmt::format("tile {{0}} must be 1, since its start or stride is not known, {}", because);
  if (!origin.isRegular())
    return fmt::format("tile {{0}} must fit the blocks of {} wherever it starts, {}", c, because);
  const TilePattern &p = origin.cases.front().pattern;
  const std::string covered = p.step == 1 ? fmt::format("[{}, {})", p.lower, p.upper)
                                          : fmt::format("every {}{} of [{}, {})", p.step,
                                                        p.step == 2   ? "nd"
                                                        : p.step == 3 ? "rd"
                                                                      : "th",
                                                        origin.lower, origin.upper);
  const int64_t first = (p.lower / c + 1) * c;
  if (p.step == 1 && first + c >= p.upper && p.base % c != 0)
    return fmt::format("tile {{0}} must divide {}, {}, of which {} is covered",
                       std::abs(first - p.base), because, covered);
  const int64_t align = std::gcd(c, p.base);
  if (p.step == 1 && align < c)
    return fmt::format("tile {{0}} must divide {}, {}, of which {} is covered in tiles from {} on",
                       align, because, covered, p.base);
  return fmt::format("tile {{0}} must divide {} or be a multiple of it, {}, of which {} is covered",
                     c, because, covered);
}

} // namespace

FactoredDim
TileFactory::cut(Atom digit, std::span<const int64_t> weights,
                 const std::function<void(size_t, unsigned, const TileOrigin &, int64_t)> &onCut) {
  FactoredDim out;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t w = weights[i];
    const TileOrigin o = origins[digit.origin];
    const int64_t above = digit.inner * digit.extent / w;
    if (std::optional<int64_t> block = onlyBlock(o, w)) {
      // All CTAs stay within one block: the digits above are known, and what is below is a
      // dim of its own.
      FactoredDim outer = constantDim(*block % above, above);
      out.insert(out.end(), outer.begin(), outer.end());
      TileOrigin within = shiftedOrigin(o, -*block * w, 1, w);
      digit = {intern(std::move(within)), digit.inner, w / digit.inner};
      continue;
    }
    onCut(i, digit.origin, o, w);
    out.push_back({digit.origin, w, above});
    digit.extent = w / digit.inner;
  }
  out.push_back(digit);
  return out;
}

void TileFactory::requireCuts(const Atom &atom, const ConditionSink &conditions) const {
  for (int64_t weight : {atom.inner, atom.inner * atom.extent})
    if (auto it = cutConditions.find({atom.origin, weight}); it != cutConditions.end()) {
      TileCondition condition = it->second.condition;
      condition.cutBy = &it->second.by;
      conditions(std::move(condition));
    }
}

FactoredTile TileFactory::reshape(const FactoredTile &tile, std::span<const int64_t> from,
                                  std::span<const int64_t> to, const ConditionSink &conditions) {
  FactoredTile out;
  out.guards = tile.guards;
  out.dims.resize(to.size());
  if (std::count(to.begin(), to.end(), 0) > 0) {
    for (size_t j = 0; j < to.size(); ++j)
      out.dims[j] = wholeDim(to[j]);
    return out;
  }
  FactoredDim digits;
  for (const FactoredDim &dim : tile.dims)
    digits.insert(digits.end(), dim.begin(), dim.end());
  digits = mergeAtoms(std::move(digits));

  std::vector<int64_t> extents;
  for (const Atom &atom : digits)
    extents.push_back(atom.extent);
  const std::vector<int64_t> source = weightsOf(extents), target = weightsOf(to);
  const int64_t total = source.back();
  const std::vector<int64_t> cuts = commonCuts(source, target, total);
  // The dim of `from` that holds a weight, for the conditions.
  auto dimOf = [&](int64_t weight) {
    int64_t w = 1;
    for (size_t i = from.size(); i > 0; --i) {
      w *= from[i - 1];
      if (weight < w)
        return static_cast<int>(i - 1);
    }
    return -1;
  };
  std::vector<Piece> parts; // all digits, cut; innermost first
  for (size_t i = digits.size(); i > 0; --i) {
    const int64_t bottom = source[digits.size() - i], top = source[digits.size() - i + 1];
    std::vector<int64_t> at, within; // descending: in the linear index, in the origin
    for (auto it = cuts.rbegin(); it != cuts.rend(); ++it)
      if (bottom < *it && *it < top) {
        at.push_back(*it);
        within.push_back(digits[i - 1].inner * (*it / bottom));
      }
    FactoredDim mine = cut(
        digits[i - 1], within, [&](size_t number, unsigned origin, const TileOrigin &o, int64_t w) {
          TileCondition condition{cutCondition(o, w),
                                  dimOf(at[number]),
                                  "reshape-split",
                                  boundaryText(o, w),
                                  {o.tile.size}};
          cutConditions.try_emplace({origin, w}, CutBy{std::move(condition), conditions});
        });
    int64_t weight = bottom;
    for (size_t k = mine.size(); k > 0; --k) {
      parts.push_back({mine[k - 1], weight});
      weight *= mine[k - 1].extent;
    }
  }

  std::vector<Piece> pieces; // innermost first
  size_t next = 0;
  for (size_t c = 0; c + 1 < cuts.size(); ++c) {
    const int64_t lo = cuts[c], hi = cuts[c + 1];
    std::vector<Piece> mine; // innermost first
    for (; next < parts.size() && parts[next].weight < hi; ++next)
      mine.push_back(parts[next]);
    std::vector<int64_t> inTarget{lo};
    for (int64_t weight : target)
      if (lo < weight && weight < hi)
        inTarget.push_back(weight);
    inTarget.push_back(hi);
    if (mine.size() == 1 && inTarget.size() == 2) {
      pieces.push_back(mine.front());
      continue;
    }
    // A core: all of it, or one element (P3).
    std::vector<Formula> full, unit;
    Expr offset = ctx.constant(0), count = ctx.constant(1);
    std::vector<int64_t> fromExtents, toExtents;
    std::vector<Expr> args;
    for (auto it = mine.rbegin(); it != mine.rend(); ++it) {
      requireCuts(it->atom, conditions);
      const TileOrigin &o = origins[it->atom.origin];
      const DigitRun run = digitRun(o, it->atom.inner, it->atom.extent);
      full.push_back(run.step.isConstant(1) ? isAlwaysFull(o, it->atom.inner, it->atom.extent)
                                            : Formula::constant(false));
      unit.push_back(Formula::lessEqual(run.most, ctx.constant(1)));
      offset = offset + run.first * (it->weight / lo);
      count = count * run.most;
      fromExtents.push_back(it->atom.extent);
      args.push_back(run.most);
      if (o.mayBeEmpty)
        out.addGuard(it->atom.origin);
    }
    for (size_t k = inTarget.size() - 1; k > 0; --k)
      toExtents.push_back(inTarget[k] / inTarget[k - 1]);
    std::string tiles;
    for (size_t k = 0; k < args.size(); ++k)
      tiles += fmt::format("{}{{{}}}", k ? " x " : "", k);
    conditions({Formula::any({Formula::all(full), Formula::all(unit)}), dimOf(mine.back().weight),
                "reshape-core",
                fmt::format("tile {} must be all of {} or one element, because {} becomes {} and "
                            "the two have no common boundary",
                            tiles, productText(fromExtents), productText(fromExtents),
                            productText(toExtents)),
                args});
    for (size_t k = 0; k + 1 < inTarget.size(); ++k) {
      const int64_t weight = inTarget[k], extent = inTarget[k + 1] / weight;
      Expr start = offset.floorDiv(weight / lo);
      if (inTarget[k + 1] != hi)
        start = start.mod(extent);
      TileOrigin o = rootOrigin(ctx, ctx.constant(0), count.min(extent), extent);
      TilePattern &p = o.cases.front().pattern;
      p.start = o.tile.offset = start;
      p.end = start + p.size;
      pieces.push_back({{intern(std::move(o)), 1, extent}, weight});
    }
  }

  size_t p = 0;
  int64_t weight = 1;
  for (size_t j = to.size(); j > 0; --j) {
    weight *= to[j - 1];
    FactoredDim &dim = out.dims[j - 1];
    for (; p < pieces.size() && pieces[p].weight < weight; ++p)
      dim.insert(dim.begin(), pieces[p].atom);
    dim = mergeAtoms(std::move(dim));
  }
  return out;
}

} // namespace tilewright
