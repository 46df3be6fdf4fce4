#include "analysis/instructions/operand_limits.h"

#include <fmt/format.h>

namespace tilewright {

std::vector<std::string> tmaBoxRefusals(const std::vector<int64_t> &box, unsigned bits,
                                        int64_t swizzleBytes) {
  constexpr size_t mostDims = 5;
  constexpr int64_t mostElements = 256, unit = 16;
  std::vector<std::string> reasons;
  if (box.empty() || box.size() > mostDims)
    reasons.push_back(fmt::format("{} dims, of at most {} of a box", box.size(), mostDims));
  for (int64_t size : box)
    if (size < 1 || size > mostElements)
      reasons.push_back(
          fmt::format("{} elements along a dim, of 1 to {} of a box", size, mostElements));
  if (swizzleBytes == unit)
    reasons.push_back("a swizzle of 16 bytes is none that TMA has: 32, 64 and 128, or 0");
  if (box.empty() || bits == 0)
    return reasons;
  const int64_t lineBits = box.back() * bits;
  if (lineBits % (8 * unit) != 0) {
    const int64_t elements = 8 * unit / bits;
    const int64_t below = box.back() / elements * elements;
    reasons.push_back(fmt::format(
        "lines of {} elements are {} bits, of which TMA copies multiples of {} bytes; nearest {}",
        box.back(), lineBits, unit,
        below > 0 ? fmt::format("{} and {}", below, below + elements)
                  : fmt::format("{}", elements)));
  }
  if (swizzleBytes > unit && lineBits > 8 * swizzleBytes)
    reasons.push_back(fmt::format("lines of {} bytes, of at most {} with a swizzle of {} bytes; "
                                  "split the box into ones of {} elements",
                                  (lineBits + 7) / 8, swizzleBytes, swizzleBytes,
                                  8 * swizzleBytes / bits));
  return reasons;
}

std::vector<std::string> descriptorRefusals(const MatrixDescriptor &descriptor) {
  constexpr int64_t unit = 16, most = unit << 14, linesOfPattern = 8;
  std::vector<std::string> reasons;
  for (auto [name, value] :
       {std::pair{"address", descriptor.address}, std::pair{"leading offset", descriptor.leading},
        std::pair{"stride offset", descriptor.stride}}) {
    if (value % unit != 0)
      reasons.push_back(fmt::format("{} {} is no multiple of {} bytes; nearest {} and {}", name,
                                    value, unit, value / unit * unit, (value / unit + 1) * unit));
    if (value < 0 || value >= most)
      reasons.push_back(
          fmt::format("{} {}, of at most {} in 14 bits of 16 bytes", name, value, most - unit));
  }
  const int64_t swizzle = descriptor.swizzleBytes;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    reasons.push_back(fmt::format("no swizzle of {} bytes: 32, 64 and 128, or 0", swizzle));
  else if (swizzle > 0 && descriptor.address % (linesOfPattern * swizzle) != 0)
    reasons.push_back(fmt::format("address {} is no multiple of {}, the {} lines of a swizzle of "
                                  "{} bytes",
                                  descriptor.address, linesOfPattern * swizzle, linesOfPattern,
                                  swizzle));
  return reasons;
}

} // namespace tilewright
