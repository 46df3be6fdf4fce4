#include "analysis/sets/progression.h"

#include "analysis/support/checked.h"
#include "analysis/support/math.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::sets {
namespace {

using Wide = __int128;

/// Elements first, first + step, … of p, counted in positions of p.
Progression positions(const Progression &p, int64_t first, int64_t count, int64_t step) {
  if (count <= 1)
    return {p.offset + first * p.stride, count, 1};
  return {p.offset + first * p.stride, count, p.stride * step};
}

/// a minus `common`, which is a ∩ b for some b. False if the work is spent.
bool subtract(const Progression &a, const Progression &common, std::vector<Progression> &out,
              Work &work) {
  if (common.isEmpty()) {
    out.push_back(a);
    return true;
  }
  int64_t first = (common.offset - a.offset) / a.stride;
  int64_t last = (common.last() - a.offset) / a.stride;
  if (first > 0)
    out.push_back(positions(a, 0, first, 1));
  if (common.size > 1) {
    int64_t step = common.stride / a.stride;
    if (!work.spend(static_cast<uint64_t>(std::min(step - 1, common.size - 1))))
      return false;
    if (step - 1 <= common.size - 1) {
      for (int64_t r = 1; r < step; ++r)
        out.push_back(positions(a, first + r, common.size - 1, step));
    } else {
      for (int64_t k = 0; k + 1 < common.size; ++k)
        out.push_back(positions(a, first + k * step + 1, step - 1, 1));
    }
  }
  if (last + 1 < a.size)
    out.push_back(positions(a, last + 1, a.size - last - 1, 1));
  return true;
}

/// Appends a minus b, as disjoint boxes: points that differ in the first dim, then in the second
/// where the first agrees, and so on.
bool subtract(const Box &a, const Box &b, std::vector<Box> &out, Work &work) {
  if (!work.spend(a.size() + 1))
    return false;
  Box common = intersect(a, b);
  if (isEmpty(common)) {
    out.push_back(a);
    return true;
  }
  Box prefix = a;
  std::vector<Progression> rest;
  for (size_t d = 0; d < a.size(); ++d) {
    rest.clear();
    if (!subtract(a[d], common[d], rest, work))
      return false;
    for (const Progression &p : rest) {
      prefix[d] = p;
      out.push_back(prefix);
    }
    prefix[d] = common[d];
  }
  return true;
}

} // namespace

bool Progression::contains(int64_t value) const {
  return !isEmpty() && value >= offset && value <= last() &&
         (static_cast<Wide>(value) - offset) % stride == 0;
}

std::string Progression::str() const {
  if (isEmpty())
    return "{}";
  if (size == 1)
    return fmt::format("{{{}}}", offset);
  if (stride == 1)
    return fmt::format("[{}, {}]", offset, last());
  return fmt::format("{{{}, {}..{}}}", offset, offset + stride, last());
}

std::optional<Progression> normalised(Progression p) {
  if (p.size <= 0)
    return Progression{0, 0, 1};
  if (p.size == 1 || p.stride == 0)
    return Progression::point(p.offset);
  std::optional<int64_t> span = checkedMul(p.size - 1, p.stride);
  std::optional<int64_t> last = span ? checkedAdd(p.offset, *span) : std::nullopt;
  if (!last || p.stride == INT64_MIN)
    return std::nullopt;
  // Differences of elements must fit as well.
  if (p.stride < 0)
    return Progression{*last, p.size, -p.stride};
  return p;
}

Progression intersect(const Progression &a, const Progression &b) {
  const Progression none{0, 0, 1};
  if (a.isEmpty() || b.isEmpty())
    return none;
  int64_t lo = std::max(a.offset, b.offset), hi = std::min(a.last(), b.last());
  if (lo > hi)
    return none;
  if (a.stride == 1 && b.stride == 1)
    return Progression::interval(lo, hi);
  int64_t g = std::gcd(a.stride, b.stride);
  Wide gap = static_cast<Wide>(b.offset) - a.offset;
  if (gap % g != 0)
    return none;
  int64_t modulus = b.stride / g;
  Wide step = static_cast<Wide>(a.stride) * modulus;
  Wide t = (gap / g) % modulus * inverseModulo(a.stride / g % modulus, modulus) % modulus;
  if (t < 0)
    t += modulus;
  Wide x = a.offset + a.stride * t; // a common element, up to multiples of step
  Wide behind = static_cast<Wide>(lo) - x;
  Wide steps = behind / step + (behind % step > 0);
  x += steps * step;
  if (x < lo)
    x += step;
  while (x - step >= lo)
    x -= step;
  if (x > hi)
    return none;
  Wide size = (hi - x) / step + 1;
  if (size == 1)
    return Progression::point(static_cast<int64_t>(x));
  return {static_cast<int64_t>(x), static_cast<int64_t>(size), static_cast<int64_t>(step)};
}

bool isEmpty(const Box &box) {
  return std::any_of(box.begin(), box.end(), [](const Progression &p) { return p.isEmpty(); });
}

std::optional<int64_t> pointCount(const Box &box) {
  if (isEmpty(box))
    return 0;
  std::optional<int64_t> count = 1;
  for (const Progression &p : box)
    if (count)
      count = checkedMul(*count, p.size);
  return count;
}

Box intersect(const Box &a, const Box &b) {
  Box common(a.size());
  for (size_t d = 0; d < a.size(); ++d)
    common[d] = intersect(a[d], b[d]);
  return common;
}

std::string str(const Box &box) {
  std::vector<std::string> dims;
  for (const Progression &p : box)
    dims.push_back(p.str());
  return dims.empty() ? "()" : fmt::format("{}", fmt::join(dims, " x "));
}

std::optional<std::vector<Box>> difference(const Box &a, const std::vector<Box> &others,
                                           size_t maxBoxes, Work &work) {
  std::vector<Box> left, next;
  if (!isEmpty(a))
    left.push_back(a);
  for (const Box &other : others) {
    if (left.empty())
      break;
    next.clear();
    for (const Box &box : left)
      if (!subtract(box, other, next, work) || next.size() > maxBoxes)
        return std::nullopt;
    left.swap(next);
  }
  return left;
}

bool BoxUnion::add(const Box &box, size_t maxBoxes, Work &work) {
  std::optional<std::vector<Box>> fresh = difference(box, list, maxBoxes, work);
  if (!fresh || list.size() + fresh->size() > maxBoxes)
    return false;
  list.insert(list.end(), fresh->begin(), fresh->end());
  return true;
}

std::optional<int64_t> BoxUnion::count() const {
  std::optional<int64_t> total = 0;
  for (const Box &box : list) {
    std::optional<int64_t> n = pointCount(box);
    total = total && n ? checkedAdd(*total, *n) : std::nullopt;
  }
  return total;
}

std::optional<Box> hull(const std::vector<Box> &boxes) {
  if (boxes.empty())
    return std::nullopt;
  Box result(boxes[0].size());
  for (size_t d = 0; d < result.size(); ++d) {
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (const Box &box : boxes) {
      lo = std::min(lo, box[d].offset);
      hi = std::max(hi, box[d].last());
    }
    std::optional<int64_t> span = checkedSub(hi, lo);
    if (!span || *span == INT64_MAX)
      return std::nullopt;
    int64_t g = 0;
    for (const Box &box : boxes) {
      g = std::gcd(g, box[d].offset - lo);
      if (box[d].size > 1)
        g = std::gcd(g, box[d].stride);
    }
    result[d] = *span == 0 ? Progression::point(lo) : Progression{lo, *span / g + 1, g};
  }
  return result;
}

std::vector<Progression> progressionsOf(const std::vector<int64_t> &values) {
  std::vector<Progression> out;
  for (size_t i = 0; i < values.size();) {
    size_t j = i + 1;
    if (j == values.size()) {
      out.push_back(Progression::point(values[i]));
      break;
    }
    int64_t step = values[j] - values[i];
    while (j + 1 < values.size() && values[j + 1] - values[j] == step)
      ++j;
    // Two elements with a wide gap are more likely the end of one run and the start of the next.
    bool isRun = j > i + 1 || step == 1 || j + 1 == values.size();
    if (isRun) {
      out.push_back({values[i], static_cast<int64_t>(j - i + 1), step});
      i = j + 1;
    } else {
      out.push_back(Progression::point(values[i]));
      i = i + 1;
    }
  }
  return out;
}

} // namespace tilewright::sets
