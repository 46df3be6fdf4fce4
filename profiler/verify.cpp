#include "profiler/verify.h"

#include "analysis/ir/numeric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace tilewright::profile {

namespace {

constexpr uint64_t readWhole = 16u << 20; ///< bytes of an output that are read whole
constexpr uint64_t probeBytes = 4096;
constexpr uint64_t probes = 64; ///< of a larger output

/// The value at a position (in elements) of bytes that start at a whole byte.
double valueAt(DType type, std::span<const std::byte> bytes, uint64_t position) {
  unsigned bits = bitWidth(type);
  uint64_t at = position * bits, code = 0;
  if (bits < 8)
    code = std::to_integer<uint64_t>(bytes[at / 8]) >> (at % 8);
  else
    for (unsigned i = 0; i < bits / 8; ++i)
      code |= std::to_integer<uint64_t>(bytes[at / 8 + i]) << (8 * i);
  uint64_t word = decodeWord(type, code);
  return isFloat(type) ? std::bit_cast<double>(word)
                       : doubleFromInteger(type, static_cast<int64_t>(word));
}

double relativeError(double value, double expected, double scale) {
  if (std::isnan(value) || std::isnan(expected))
    return std::isnan(value) == std::isnan(expected) ? 0 : INFINITY;
  if (value == expected)
    return 0;
  if (!std::isfinite(value) || !std::isfinite(expected))
    return INFINITY;
  return std::abs(value - expected) / std::max(std::abs(expected), scale);
}

/// Is 0xff… a NaN of the type, so that a result that holds it was not written?
bool isPoisonable(DType type) {
  if (!isFloat(type) || bitWidth(type) < 8)
    return false;
  unsigned bits = bitWidth(type);
  return std::isnan(decodeFloat(type, bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1));
}

/// First position of an element that is still poison, or -1.
int64_t firstPoison(DType type, std::span<const std::byte> bytes) {
  size_t width = bitWidth(type) / 8;
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    size_t i = 0;
    while (i < width && bytes[at + i] == std::byte(0xff))
      ++i;
    if (i == width)
      return static_cast<int64_t>(at / width);
  }
  return -1;
}

std::string element(const PackParameter &parameter, int64_t position) {
  return "%" + parameter.name + " element " + std::to_string(position);
}

class Checker {
public:
  Checker(const PackKernel &kernel, const ReadOutput &read) : kernel(kernel), read(read) {}

  Result<Verification> run() {
    for (size_t i = 0; i < kernel.parameters.size() && result.isRight; ++i)
      if (kernel.parameters[i].isOutput)
        if (Status failed = checkOutput(i))
          return *failed;
    return result;
  }

private:
  Status checkOutput(size_t number) {
    const PackParameter &parameter = kernel.parameters[number];
    std::vector<std::byte> whole;
    bool isWhole = parameter.bytes <= readWhole;
    if (isWhole) {
      whole.resize(parameter.bytes);
      if (Status failed = read(number, 0, whole))
        return failed;
    }
    bool expectsNan = false;
    for (const PackExpectation &expectation : kernel.expectations)
      if (expectation.parameter == number) {
        if (Status failed = compare(parameter, expectation, isWhole ? &whole : nullptr))
          return failed;
        expectsNan |= std::any_of(expectation.values.begin(), expectation.values.end(),
                                  [](double value) { return std::isnan(value); });
      }
    if (!result.isRight || expectsNan || !isPoisonable(parameter.dtype))
      return fine();
    if (isWhole)
      return findPoison(parameter, whole, 0);
    for (uint64_t i = 0; i < probes && result.isRight; ++i) {
      uint64_t last = (parameter.bytes - probeBytes) / 16 * 16;
      uint64_t offset = i + 1 == probes ? last : last / probes * i / 16 * 16;
      std::vector<std::byte> block(probeBytes);
      if (Status failed = read(number, offset, block))
        return failed;
      findPoison(parameter, block, offset);
    }
    return fine();
  }

  Status compare(const PackParameter &parameter, const PackExpectation &expectation,
                 const std::vector<std::byte> *whole) {
    unsigned bits = bitWidth(parameter.dtype);
    for (size_t i = 0; i < expectation.positions.size(); ++i) {
      int64_t position = expectation.positions[i];
      double value = 0;
      if (whole) {
        value = valueAt(parameter.dtype, *whole, static_cast<uint64_t>(position));
      } else {
        // Whole bytes around the element.
        uint64_t first = static_cast<uint64_t>(position) * bits / 8;
        std::vector<std::byte> own(std::max(1u, bits / 8));
        if (Status failed = read(expectation.parameter, first, own))
          return failed;
        value = valueAt(parameter.dtype, own,
                        bits < 8 ? static_cast<uint64_t>(position) % (8 / bits) : 0);
      }
      double wanted = expectation.values[i];
      double error = relativeError(value, wanted, expectation.scale);
      result.maxError = std::max(result.maxError, error);
      if (error > kernel.tolerance) {
        char text[160];
        std::snprintf(text, sizeof text,
                      " is %.9g, expected %.9g: relative error %.3g, allowed %.3g", value, wanted,
                      error, kernel.tolerance);
        result.isRight = false;
        result.reason = element(parameter, position) + text;
        return fine();
      }
    }
    return fine();
  }

  Status findPoison(const PackParameter &parameter, std::span<const std::byte> bytes,
                    uint64_t offset) {
    int64_t at = firstPoison(parameter.dtype, bytes);
    if (at >= 0) {
      result.isRight = false;
      result.reason =
          element(parameter, at + static_cast<int64_t>(offset * 8 / bitWidth(parameter.dtype))) +
          " was never written";
    }
    return fine();
  }

  const PackKernel &kernel;
  const ReadOutput &read;
  Verification result;
};

} // namespace

Result<Verification> verify(const PackKernel &kernel, const ReadOutput &read) {
  return Checker(kernel, read).run();
}

} // namespace tilewright::profile
