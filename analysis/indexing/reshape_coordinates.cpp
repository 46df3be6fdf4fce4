#include "analysis/indexing/indexing_internal.h"
#include "analysis/support/checked.h"

namespace tilewright::indexing {

std::vector<Expr> reshapeCoordinates(ExprContext &ctx, const std::vector<int64_t> &from,
                                     std::span<const Expr> at, const std::vector<int64_t> &to) {
  std::vector<Expr> result;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The next smallest group: grow the side with the smaller product until they agree. Products
    // stay below the shapes' element count, which fits.
    size_t firstFrom = i, firstTo = j;
    int64_t a = i < from.size() ? from[i++] : 1, b = j < to.size() ? to[j++] : 1;
    while (a != b) {
      if (a < b && i < from.size())
        a *= from[i++];
      else if (j < to.size())
        b *= to[j++];
      else
        break;
    }
    Expr linear = ctx.constant(0);
    for (size_t k = firstFrom; k < i; ++k)
      linear = linear * from[k] + at[k];
    // Row-major digits; the outermost needs no remainder.
    int64_t weight = b;
    for (size_t k = firstTo; k < j; ++k) {
      weight /= to[k];
      Expr digit = linear.floorDiv(weight);
      result.push_back(to[k] == 1 ? ctx.constant(0) : k == firstTo ? digit : digit.mod(to[k]));
    }
  }
  return result;
}

namespace {

bool isPlain(const Shape &shape) {
  return !shape.layout || shape.layout->annotations.find("T(") == std::string::npos;
}

/// Dims from the slowest-varying one in memory to the fastest.
std::vector<int64_t> majorToMinor(const Shape &shape) {
  std::vector<int64_t> order = shape.minorToMajorOrDefault();
  return {order.rbegin(), order.rend()};
}

} // namespace

std::optional<std::vector<Expr>> bitcastCoordinates(ExprContext &ctx, const Shape &from,
                                                    std::span<const Expr> at, const Shape &to,
                                                    std::vector<MapVariable> &extra) {
  int64_t fromBits = bitWidth(from.dtype), toBits = bitWidth(to.dtype);
  bool narrows = fromBits > toBits; // an element of `from` covers several of `to`
  if (!isPlain(from) || !isPlain(to) || fromBits == 0 || toBits == 0 ||
      (narrows ? fromBits % toBits : toBits % fromBits) != 0)
    return std::nullopt;
  std::vector<int64_t> fromOrder = majorToMinor(from), toOrder = majorToMinor(to);
  if (fromOrder.size() != from.rank() || toOrder.size() != to.rank())
    return std::nullopt;
  std::vector<int64_t> fromDims, toDims;
  std::vector<Expr> physical;
  for (int64_t d : fromOrder) {
    fromDims.push_back(from.dims[static_cast<size_t>(d)]);
    physical.push_back(at[static_cast<size_t>(d)]);
  }
  for (int64_t d : toOrder)
    toDims.push_back(to.dims[static_cast<size_t>(d)]);
  if (narrows) {
    int64_t parts = fromBits / toBits;
    Expr part = ctx.range(static_cast<unsigned>(extra.size()));
    extra.push_back(rangeVariable(part, parts));
    fromDims.push_back(parts);
    physical.push_back(part);
  } else if (toBits > fromBits) {
    toDims.push_back(toBits / fromBits);
  }
  std::vector<Expr> moved = reshapeCoordinates(ctx, fromDims, physical, toDims);
  std::vector<Expr> result(to.rank());
  for (size_t i = 0; i < toOrder.size(); ++i)
    result[static_cast<size_t>(toOrder[i])] = moved[i];
  return result;
}

} // namespace tilewright::indexing
