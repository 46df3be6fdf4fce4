// Sums of progressions.
#include "analysis/sets/closed_forms.h"

#include <algorithm>
#include <numeric>

namespace tilewright::sets {
namespace {

/// Overlapping sums are added as bits over at most this span, in units of their common step.
constexpr int64_t maxBits = 1 << 18;

struct Factor {
  int64_t step, count; ///< {0, step, …, (count - 1)·step}
};

/// All sums of elements of the factors as bits, then as progressions from `base`.
std::optional<std::vector<Progression>> addAsBits(const std::vector<Factor> &factors, int64_t base,
                                                  size_t maxParts, Work &work) {
  int64_t unit = 0, span = 0;
  for (const Factor &f : factors) {
    unit = std::gcd(unit, f.step);
    span += f.step * (f.count - 1);
  }
  int64_t size = span / unit + 1;
  if (size > maxBits)
    return std::nullopt;
  std::vector<bool> bits(size), next;
  bits[0] = true;
  int64_t reached = 1, steps = 0; // bits from `reached` on are clear
  for (const Factor &f : factors) {
    int64_t step = f.step / unit;
    steps += reached * f.count;
    if (steps > 16 * maxBits || !work.spend(static_cast<uint64_t>(reached * f.count)))
      return std::nullopt;
    next.assign(size, false);
    for (int64_t i = 0; i < reached; ++i)
      if (bits[i])
        for (int64_t k = 0; k < f.count; ++k)
          next[i + k * step] = true;
    reached += step * (f.count - 1);
    bits.swap(next);
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < size; ++i)
    if (bits[i])
      values.push_back(base + i * unit);
  std::vector<Progression> result = progressionsOf(values);
  if (result.size() > maxParts)
    return std::nullopt;
  return result;
}

} // namespace

std::optional<std::vector<Progression>>
valuesOf(const DigitSum &sum, const std::vector<int64_t> &extents, size_t maxParts, Work &work) {
  Interval range = rangeOf(sum, extents);
  if (range.lo < -maxMagnitude || range.hi > maxMagnitude)
    return std::nullopt;
  std::vector<Factor> factors;
  for (const DigitSum::Term &t : sum.terms)
    factors.push_back({std::abs(t.coefficient), extents[t.digit]});
  std::sort(factors.begin(), factors.end(),
            [](const Factor &a, const Factor &b) { return a.step < b.step; });

  // Merges factors that form one progression with their inner neighbour; the remaining sums are
  // usually disjoint.
  std::vector<Factor> merged;
  for (const Factor &f : factors) {
    Factor *inner = merged.empty() ? nullptr : &merged.back();
    if (inner && f.step % inner->step == 0 && f.step / inner->step <= inner->count)
      inner->count += (f.count - 1) * (f.step / inner->step);
    else
      merged.push_back(f);
  }
  if (merged.empty())
    return std::vector<Progression>{Progression::point(sum.constant)};
  int64_t span = 0;
  for (const Factor &f : merged) {
    if (f.step <= span)
      return addAsBits(factors, range.lo, maxParts, work);
    span += f.step * (f.count - 1);
  }

  // One factor stays a progression, the others are copies: fewest when the longest stays.
  auto longest =
      std::max_element(merged.begin(), merged.end(),
                       [](const Factor &a, const Factor &b) { return a.count < b.count; });
  std::vector<Progression> result{
      *normalised({range.lo, longest->count, longest->count > 1 ? longest->step : 1})};
  for (auto f = merged.begin(); f != merged.end(); ++f) {
    if (f == longest)
      continue;
    if (f->count > static_cast<int64_t>(maxParts / result.size()))
      return std::nullopt;
    size_t size = result.size();
    for (int64_t k = 1; k < f->count; ++k)
      for (size_t i = 0; i < size; ++i)
        result.push_back({result[i].offset + k * f->step, result[i].size, result[i].stride});
  }
  return result;
}

} // namespace tilewright::sets
