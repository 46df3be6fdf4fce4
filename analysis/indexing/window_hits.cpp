#include "analysis/indexing/window_hits.h"

#include "analysis/support/checked.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

namespace tilewright {

namespace {

/// The positions first, first + step … up to last at which one window element meets the input.
struct Run {
  int64_t residue, first, last; ///< residue: first mod step
  bool operator<(const Run &other) const {
    return std::tie(residue, first) < std::tie(other.residue, other.first);
  }
};

/// Positions in any of the runs, which all have the same step.
std::optional<int64_t> unionOf(std::vector<Run> runs, int64_t step) {
  std::sort(runs.begin(), runs.end());
  int64_t count = 0;
  for (size_t i = 0; i < runs.size();) {
    const int64_t first = runs[i].first;
    int64_t last = runs[i].last;
    size_t next = i + 1;
    for (; next < runs.size() && runs[next].residue == runs[i].residue &&
           runs[next].first - step <= last;
         ++next)
      last = std::max(last, runs[next].last);
    std::optional<int64_t> sum = checkedAdd(count, (last - first) / step + 1);
    if (!sum)
      return std::nullopt;
    count = *sum;
    i = next;
  }
  return count;
}

} // namespace

std::optional<WindowHits> windowHits(const WindowDim &w, int64_t positions, int64_t extent) {
  constexpr int64_t maxWork = 1 << 20;
  std::optional<int64_t> last = checkedMul(extent - 1, w.baseDilation);
  if (extent <= 0 || positions <= 0)
    return WindowHits();
  if (!last || w.size > maxWork || w.stride < 1 || w.baseDilation < 1 ||
      w.baseDilation > maxWork / std::max<int64_t>(w.size, 1))
    return std::nullopt;
  const int64_t step = w.baseDilation / std::gcd(w.stride, w.baseDilation);
  WindowHits result;
  std::vector<Run> runs;
  for (int64_t k = 0; k < w.size; ++k) {
    // position·stride + shift in [0, last] and a multiple of the base dilation.
    std::optional<int64_t> at = checkedMul(k, w.windowDilation);
    std::optional<int64_t> shift = at ? checkedSub(*at, w.padLow) : std::nullopt;
    std::optional<int64_t> room = shift ? checkedSub(*last, *shift) : std::nullopt;
    if (!shift || *shift == INT64_MIN || !room)
      return std::nullopt;
    const int64_t low = std::max<int64_t>(0, *checkedCeilDiv(-*shift, w.stride));
    const int64_t high = std::min(positions - 1, *checkedFloorDiv(*room, w.stride));
    for (int64_t i = 0; i < step && low + i <= high; ++i) {
      // Residues modulo the dilation, so that nothing overflows.
      __int128 value = static_cast<__int128>(low + i) * w.stride + *shift;
      if (value % w.baseDilation != 0)
        continue;
      const int64_t first = low + i, count = (high - first) / step + 1;
      std::optional<int64_t> sum = checkedAdd(result.hits, count);
      if (!sum)
        return std::nullopt;
      result.hits = *sum;
      runs.push_back({first % step, first, first + (count - 1) * step});
      break;
    }
  }
  std::optional<int64_t> met = unionOf(std::move(runs), step);
  if (!met)
    return std::nullopt;
  result.positions = *met;
  return result;
}

std::optional<WindowHits> windowHits(const std::vector<WindowDim> &window,
                                     const std::vector<int64_t> &positions,
                                     const std::vector<int64_t> &extents) {
  WindowHits all{1, 1};
  for (size_t i = 0; i < window.size(); ++i) {
    std::optional<WindowHits> dim = windowHits(window[i], positions[i], extents[i]);
    std::optional<int64_t> hits = dim ? checkedMul(all.hits, dim->hits) : std::nullopt;
    if (!hits)
      return std::nullopt;
    all = {*hits, all.positions * dim->positions}; // no more than hits
  }
  return all;
}

} // namespace tilewright
