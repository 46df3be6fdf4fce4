#include "analysis/program/layout/testing/random_layouts.h"

namespace tilewright::layout::testing {

std::vector<int64_t> primeFactors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; n > 1; ++p)
    for (; n % p == 0; n /= p)
      factors.push_back(p);
  return factors;
}

namespace {

std::vector<int64_t> randomExtents(Random &random) {
  const std::vector<int64_t> ranks = {1, 1, 2, 2, 3};
  const std::vector<int64_t> sizes = {1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 24, 32, 48, 64};
  std::vector<int64_t> extents(static_cast<size_t>(random.oneOf(ranks)));
  int64_t elements = 1;
  for (int64_t &extent : extents)
    elements *= extent = random.oneOf(sizes);
  while (elements > 4096) {
    int64_t &extent = random.oneOf(extents);
    elements /= extent;
    extent = 1;
  }
  return extents;
}

void makeFaulty(Random &random, Digits &digits, size_t rank) {
  if (digits.empty())
    return;
  const auto at = static_cast<size_t>(random.in(0, static_cast<int64_t>(digits.size()) - 1));
  switch (random.in(0, 2)) {
  case 0:
    if (!digits[at].isCopy())
      digits[at].stride =
          random.chance(50) ? digits[at].stride * 2 : std::max<int64_t>(1, digits[at].stride / 2);
    break;
  case 1:
    digits.push_back({2, static_cast<int32_t>(random.in(0, static_cast<int64_t>(rank) - 1)), 1});
    break;
  default:
    digits.erase(digits.begin() + static_cast<int64_t>(at));
  }
}

} // namespace

TileLayout randomLayout(Random &random, bool isRight) {
  std::vector<int64_t> extents = randomExtents(random);
  Digits digits;
  for (size_t d = 0; d < extents.size(); ++d) {
    std::vector<int64_t> factors = primeFactors(extents[d]);
    random.shuffle(factors);
    int64_t stride = 1;
    for (int64_t factor : factors) {
      digits.push_back({factor, static_cast<int32_t>(d), stride});
      stride *= factor;
    }
  }
  const std::vector<int64_t> copies = {0, 0, 1, 2};
  for (int64_t n = random.oneOf(copies); n > 0; --n)
    digits.push_back({random.in(2, 4), Digit::noDim, 0});
  if (!isRight)
    makeFaulty(random, digits, extents.size());
  random.shuffle(digits);
  std::array<Digits, 3> lists;
  const std::vector<size_t> axes = {0, 0, 1, 2};
  for (const Digit &digit : digits)
    lists[random.oneOf(axes)].push_back(digit);
  return valueOf(TileLayout::make(namedDims(extents), lists[0], lists[1], lists[2]));
}

TileLayout randomLayoutOfPowers(Random &random) {
  const int64_t bits = random.in(4, 10), a = random.in(0, bits);
  std::vector<int64_t> extents = {int64_t(1) << a, int64_t(1) << (bits - a)};
  Digits digits;
  for (int64_t b = 0; b < bits; ++b)
    digits.push_back(b < a ? Digit{2, 0, int64_t(1) << b} : Digit{2, 1, int64_t(1) << (b - a)});
  random.shuffle(digits);
  if (random.chance(33))
    digits.insert(digits.begin() + random.in(0, bits), {2, Digit::noDim, 0});
  return valueOf(TileLayout::make(namedDims(extents), {digits.begin() + 4, digits.end()},
                                  {digits.begin(), digits.begin() + 3}, {digits[3]}));
}

std::array<Digits, 3> inPieces(const TileLayout &layout, Random &random) {
  std::array<Digits, 3> lists;
  for (Hardware axis : allHardware)
    for (Digit digit : layout.digits(axis)) {
      std::vector<int64_t> factors = primeFactors(digit.extent);
      random.shuffle(factors);
      for (int64_t factor : factors) {
        lists[static_cast<size_t>(axis)].push_back({factor, digit.dim, digit.stride});
        digit.stride *= factor;
      }
    }
  return lists;
}

Code codeOf(std::span<const int64_t> at) {
  Code code = 0;
  for (int64_t x : at)
    code = code * 65'536 + x;
  return code;
}

std::vector<int64_t> decoded(Code code, size_t rank) {
  std::vector<int64_t> at(rank);
  for (size_t d = rank; d-- > 0; code /= 65'536)
    at[d] = code % 65'536;
  return at;
}

namespace {

/// Σ weight · coordinate of all places: sums of digits are sums of these.
std::vector<int64_t> weightedTable(const TileLayout &layout, const std::vector<int64_t> &weights) {
  std::array<std::vector<int64_t>, 3> parts;
  for (Hardware axis : allHardware) {
    std::vector<int64_t> &part = parts[static_cast<size_t>(axis)] = {0};
    for (const Digit &digit : layout.digits(axis)) {
      const int64_t step =
          digit.stride ? digit.stride * weights[static_cast<size_t>(digit.dim)] : 0;
      const size_t before = part.size();
      for (int64_t value = 1; value < digit.extent; ++value)
        for (size_t n = 0; n < before; ++n)
          part.push_back(part[n] + value * step);
    }
  }
  std::vector<int64_t> table;
  for (int64_t w : parts[2])
    for (int64_t l : parts[1])
      for (int64_t r : parts[0])
        table.push_back(w + l + r);
  return table;
}

} // namespace

std::vector<Code> tableOf(const TileLayout &layout) {
  std::vector<int64_t> weights(layout.rank(), 1);
  for (size_t d = layout.rank(); d-- > 1;)
    weights[d - 1] = weights[d] * 65'536;
  return weightedTable(layout, weights);
}

std::vector<int64_t> flatTableOf(const TileLayout &layout) {
  std::vector<int64_t> weights(layout.rank(), 1);
  for (size_t d = layout.rank(); d-- > 1;)
    weights[d - 1] = weights[d] * layout.dims()[d].box;
  return weightedTable(layout, weights);
}

} // namespace tilewright::layout::testing
