#include "analysis/program/layout/shared_layout.h"

#include "analysis/support/diag.h"

#include <bit>

namespace tilewright::layout {

namespace {

unsigned log2Of(int64_t power) {
  return static_cast<unsigned>(std::countr_zero(static_cast<uint64_t>(power)));
}

} // namespace

SharedLayout::SharedLayout(TileDims dims, unsigned bits)
    : tile(std::move(dims)), bits(bits), digits(tile.size()) {}

llvm::Error SharedLayout::checkSwizzle(int64_t swizzle, int64_t rowBits) {
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return makeError(DiagClass::BadInput, "swizzle {}: there are 32, 64 and 128 bytes", swizzle);
  if (swizzle != 0 && rowBits % (8 * swizzle) != 0)
    return makeError(DiagClass::Unsupported,
                     "rows of {} bits are no multiple of the swizzle's {} bytes", rowBits, swizzle);
  return llvm::Error::success();
}

llvm::Error SharedLayout::checkSize(const TileDims &dims, int64_t padElements) {
  int64_t elements = 1;
  bool fits = padElements >= 0 && padElements <= maxElements;
  for (const TileDim &dim : dims) {
    fits = fits && dim.extent >= 1 && elements <= maxElements / dim.extent;
    elements = fits ? elements * dim.extent : elements;
  }
  if (!fits)
    return makeError(DiagClass::BadInput,
                     "shared memory has at most {} elements here, at least 1 "
                     "along each dim, and padding of 0 or more",
                     maxElements);
  return llvm::Error::success();
}

void SharedLayout::swizzleBy(int64_t width, bool isOfWords) {
  // PTX ISA, swizzling modes: bits 4 to 6 of an address are combined with bits 7 to 9.
  if (width == 0)
    return;
  unsigned count = log2Of(width / 16);
  for (unsigned b = 0; b < count; ++b)
    xors.push_back({7 + b, 4 + (isOfWords && count > 1 ? (b + 1) % count : b)});
}

void SharedLayout::addOuter(size_t inner, int64_t stride) {
  for (size_t d = tile.size() - inner; d-- > 0;) {
    digits[d].push_back({tile[d].extent, stride, false});
    stride *= tile[d].extent;
  }
}

llvm::Expected<SharedLayout> SharedLayout::rows(TileDims dims, unsigned elementBits,
                                                int64_t padElements, int64_t swizzle) {
  if (llvm::Error error = checkSize(dims, padElements))
    return error;
  SharedLayout result(std::move(dims), elementBits);
  if (result.tile.empty())
    return makeError(DiagClass::Unsupported, "a tile without dims has no rows");
  const int64_t row = (result.tile.back().extent + padElements) * elementBits;
  if (llvm::Error error = checkSwizzle(swizzle, row))
    return error;
  if (row % 8 != 0 && result.tile.size() > 1)
    return makeError(DiagClass::Unsupported, "rows of {} bits are no whole bytes", row);
  result.digits.back().push_back({result.tile.back().extent, elementBits, false});
  result.addOuter(1, row);
  result.swizzleBy(swizzle, false);
  result.words = fmt::format("rows of {} bytes", (row + 7) / 8);
  if (padElements != 0)
    result.words += fmt::format(", {} of padding", padElements * elementBits / 8);
  if (swizzle != 0)
    result.words += fmt::format(", swizzle {}", swizzle);
  return result;
}

llvm::Expected<SharedLayout> SharedLayout::tiled(TileDims dims, unsigned elementBits,
                                                 int64_t swizzle, bool isTransposed) {
  if (llvm::Error error = checkSize(dims, 0))
    return error;
  SharedLayout result(std::move(dims), elementBits);
  if (result.tile.size() < 2)
    return makeError(DiagClass::Unsupported, "tiles have two dims, this has {}",
                     result.tile.size());
  if (llvm::Error error = checkSwizzle(swizzle, 0))
    return error;
  const size_t last = result.tile.size() - 1;
  const size_t row = isTransposed ? last : last - 1, column = isTransposed ? last - 1 : last;
  const int64_t width = 8 * (swizzle ? swizzle : 16) / elementBits,
                tileBits = 8 * width * elementBits;
  const int64_t rows = result.tile[row].extent, columns = result.tile[column].extent;
  if (rows % 8 != 0 || columns % width != 0)
    return makeError(DiagClass::Unsupported, "tiles of 8 x {} do not divide {} x {}", width, rows,
                     columns);
  result.digits[column] = {{width, elementBits, false}, {columns / width, tileBits, false}};
  result.digits[row] = {{8, width * elementBits, false},
                        {rows / 8, columns / width * tileBits, false}};
  result.addOuter(2, rows * columns * elementBits);
  result.swizzleBy(swizzle, false);
  result.words =
      fmt::format("tiles of {} x {}{}", isTransposed ? width : 8, isTransposed ? 8 : width,
                  swizzle ? fmt::format(", swizzle {}", swizzle) : "");
  return result;
}

llvm::Expected<SharedLayout> SharedLayout::panels(TileDims dims, unsigned elementBits,
                                                  int64_t swizzle, bool isOfWords) {
  if (llvm::Error error = checkSize(dims, 0))
    return error;
  SharedLayout result(std::move(dims), elementBits);
  if (result.tile.empty())
    return makeError(DiagClass::Unsupported, "a tile without dims has no panels");
  const int64_t columns = result.tile.back().extent;
  if (llvm::Error error = checkSwizzle(swizzle, columns * elementBits))
    return error;
  if (swizzle == 0)
    return makeError(DiagClass::BadInput, "panels are as wide as a swizzle");
  const int64_t width = 8 * swizzle / elementBits;
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < result.tile.size(); ++d)
    rows *= result.tile[d].extent;
  result.digits.back() = {{width, elementBits, false}, {columns / width, rows * swizzle * 8, true}};
  result.addOuter(1, swizzle * 8);
  result.swizzleBy(swizzle, isOfWords);
  result.words = fmt::format("panels of {} bytes, swizzle {}{}", swizzle, swizzle,
                             isOfWords ? " of words" : "");
  return result;
}

llvm::Expected<SharedLayout> SharedLayout::permuted(TileDims dims, unsigned elementBits,
                                                    int64_t padElements,
                                                    const Permutation &permutation) {
  llvm::Expected<SharedLayout> result = rows(std::move(dims), elementBits, padElements);
  if (!result)
    return result;
  if (result->tile.size() < 2)
    return makeError(DiagClass::Unsupported, "chunks are permuted by row, and there is one row");
  result->permutation = permutation;
  if (permutation.span > 1)
    result->words += fmt::format(", {} chunks of {} bytes permuted every {} rows", permutation.span,
                                 permutation.chunk, permutation.step);
  return result;
}

int64_t SharedLayout::bitAddress(std::span<const int64_t> at) const {
  int64_t inside = 0, panel = 0;
  for (size_t d = 0; d < tile.size(); ++d) {
    int64_t rest = at[d];
    for (const AddressDigit &digit : digits[d]) {
      (digit.isPanel ? panel : inside) += rest % digit.extent * digit.stride;
      rest /= digit.extent;
    }
  }
  int64_t byte = inside / 8, within = inside % 8, swizzled = byte;
  for (const BitXor &x : xors)
    swizzled ^= (byte >> x.from & 1) << x.to;
  if (permutation.span > 1)
    swizzled ^= permutation.of(at[tile.size() - 2]);
  return swizzled * 8 + within + panel;
}

namespace {

template <typename Visit> void forEachElement(const TileDims &dims, const Visit &visit) {
  std::vector<int64_t> at(dims.size(), 0);
  for (bool isMore = true; isMore;) {
    visit(at);
    isMore = false;
    for (size_t d = dims.size(); d-- > 0 && !isMore;) {
      isMore = ++at[d] < dims[d].extent;
      if (!isMore)
        at[d] = 0;
    }
  }
}

} // namespace

int64_t SharedLayout::bytes() const {
  int64_t most = 0;
  forEachElement(tile, [&](const std::vector<int64_t> &at) {
    most = std::max(most, bitAddress(at) + int64_t(bits));
  });
  return (most + 7) / 8;
}

std::optional<std::pair<int64_t, int64_t>> SharedLayout::overlap() const {
  std::vector<int64_t> holder(static_cast<size_t>(bytes()) * 8 / bits + 1, -1);
  std::optional<std::pair<int64_t, int64_t>> found;
  int64_t number = 0;
  forEachElement(tile, [&](const std::vector<int64_t> &at) {
    // Elements start at multiples of their size: strides are.
    int64_t &before = holder[static_cast<size_t>(bitAddress(at) / bits)];
    if (before >= 0 && !found)
      found = {before, number};
    before = number++;
  });
  return found;
}

llvm::Expected<IndexMap> SharedLayout::toIndexMap(ExprContext &context) const {
  if (permutation.span > 1 || bits % 8 != 0)
    return makeError(DiagClass::Unsupported, "the byte of an element is no sum of quotients: {}",
                     words);
  Expr inside = context.constant(0), panel = inside;
  std::vector<int64_t> extents;
  for (size_t d = 0; d < tile.size(); ++d) {
    extents.push_back(tile[d].extent);
    int64_t place = 1;
    for (const AddressDigit &digit : digits[d]) {
      Expr part = context.dim(static_cast<unsigned>(d)).floorDiv(place).mod(digit.extent) *
                  (digit.stride / 8);
      Expr &sum = digit.isPanel ? panel : inside;
      sum = sum + part;
      place *= digit.extent;
    }
  }
  // x xor y of two bits is (x + y) mod 2: the bits go, and come back combined.
  Expr byte = inside;
  for (const BitXor &x : xors) {
    const int64_t from = int64_t(1) << x.from, to = int64_t(1) << x.to;
    byte = byte - inside.floorDiv(to).mod(2) * to +
           (inside.floorDiv(to) + inside.floorDiv(from)).mod(2) * to;
  }
  return IndexMap::overExtents(context, extents, {byte + panel});
}

std::string SharedLayout::str() const { return words; }

} // namespace tilewright::layout
