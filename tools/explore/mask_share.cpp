#include "tools/explore/mask_share.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr int64_t maxOuter = int64_t(1) << 20;
using Wide = __int128;

Wide floorDiv(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

/// Goes through all indices of the outer dims; along the inner one the conditions are an interval.
class Counter {
public:
  Counter(std::span<const AffineValue> conditions, std::span<const int64_t> dims)
      : conditions(conditions), dims(dims) {
    for (size_t d = 0; d < dims.size(); ++d)
      if (std::any_of(conditions.begin(), conditions.end(),
                      [&](const AffineValue &c) { return c.coefficients[d] != 0; }))
        outer.push_back(d);
    auto longest = std::max_element(outer.begin(), outer.end(),
                                    [&](size_t a, size_t b) { return dims[a] < dims[b]; });
    if (longest == outer.end())
      return;
    inner = *longest;
    outer.erase(longest);
    starts.assign(static_cast<size_t>(dims[inner]) + 1, 0);
    for (size_t d : outer) {
      isMet.emplace_back(static_cast<size_t>(dims[d]), false);
      combinations = combinations > maxOuter ? combinations : combinations * dims[d];
    }
  }

  MaskShare run() {
    if (starts.empty()) { // constants alone
      const bool holds = std::all_of(conditions.begin(), conditions.end(),
                                     [](const AffineValue &c) { return c.constant >= 0; });
      return {holds ? 1.0 : 0.0, holds};
    }
    if (combinations > maxOuter || dims[inner] > maxOuter)
      return {0, false};
    std::vector<int64_t> index(dims.size(), 0);
    double left = 0;
    for (int64_t number = 0; number < combinations; ++number) {
      int64_t rest = number;
      for (size_t d : outer) {
        index[d] = rest % dims[d];
        rest /= dims[d];
      }
      left += countInner(index);
    }
    MaskShare result;
    result.share = left / (double(combinations) * double(dims[inner]));
    for (const std::vector<bool> &met : isMet)
      result.isEveryLine &= std::find(met.begin(), met.end(), false) == met.end();
    for (int64_t i = 0, open = 0; i < dims[inner]; ++i)
      result.isEveryLine &= (open += starts[static_cast<size_t>(i)]) > 0;
    return result;
  }

private:
  double countInner(const std::vector<int64_t> &index) {
    Wide lo = 0, hi = dims[inner] - 1;
    for (const AffineValue &condition : conditions) {
      Wide rest = condition.constant;
      for (size_t d : outer)
        rest += Wide(condition.coefficients[d]) * index[d];
      const Wide c = condition.coefficients[inner];
      if (c > 0)
        lo = std::max(lo, -floorDiv(rest, c));
      else if (c < 0)
        hi = std::min(hi, floorDiv(rest, -c));
      else if (rest < 0)
        return 0;
    }
    if (lo > hi)
      return 0;
    for (size_t i = 0; i < outer.size(); ++i)
      isMet[i][static_cast<size_t>(index[outer[i]])] = true;
    ++starts[static_cast<size_t>(lo)];
    --starts[static_cast<size_t>(hi) + 1];
    return double(hi - lo + 1);
  }

  std::span<const AffineValue> conditions;
  std::span<const int64_t> dims;
  std::vector<size_t> outer; ///< dims that some condition speaks of, but for the longest of them
  size_t inner = 0;
  int64_t combinations = 1;
  std::vector<std::vector<bool>> isMet; ///< by outer dim and index
  std::vector<int64_t> starts; ///< along the inner dim: intervals that start less those that ended
};

} // namespace

MaskShare maskShare(std::span<const AffineValue> conditions, std::span<const int64_t> dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end())
    return {0, false};
  return Counter(conditions, dims).run();
}

} // namespace tilewright
