#include "profiler/inputs.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace tilewright::profile {

namespace {

/// For each position in memory, the logical row-major number of the element there.
class PhysicalOrder {
public:
  explicit PhysicalOrder(const PackParameter &p) : dims(p.dims), order(p.minorToMajor) {
    isRowMajor = std::is_sorted(order.rbegin(), order.rend());
    strides.assign(dims.size(), 1);
    for (size_t d = dims.size(); d-- > 1;)
      strides[d - 1] = strides[d] * dims[d];
  }
  int64_t logical(int64_t position) const {
    if (isRowMajor)
      return position;
    int64_t result = 0;
    for (int64_t dim : order) {
      auto d = static_cast<size_t>(dim);
      result += position % dims[d] * strides[d];
      position /= dims[d];
    }
    return result;
  }

private:
  const std::vector<int64_t> &dims, &order;
  std::vector<int64_t> strides;
  bool isRowMajor;
};

} // namespace

std::vector<std::byte> filledBytes(const PackParameter &parameter, uint64_t seed) {
  std::vector<std::byte> bytes(parameter.bytes);
  DType part = partType(parameter.dtype);
  unsigned bits = bitWidth(part), parts = bitWidth(parameter.dtype) / bits;
  WordFiller filler(parameter.dtype, seed, parameter.range);
  PhysicalOrder order(parameter);
  auto fill = [&](int64_t first, int64_t last) {
    for (int64_t position = first; position < last; ++position) {
      auto element = static_cast<uint64_t>(order.logical(position));
      for (unsigned k = 0; k < parts; ++k) {
        uint64_t code = filler.code(element * parts + k);
        uint64_t at = (static_cast<uint64_t>(position) * parts + k) * bits;
        if (bits < 8)
          bytes[at / 8] |= std::byte((code & ((1u << bits) - 1)) << (at % 8));
        else
          for (unsigned i = 0; i < bits / 8; ++i)
            bytes[at / 8 + i] = std::byte(code >> (8 * i) & 0xff);
      }
    }
  };
  // Chunks start on whole bytes, whatever the type.
  constexpr int64_t chunk = 1 << 16;
  int64_t chunks = (parameter.elements + chunk - 1) / chunk;
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t i; (i = next++) < chunks;)
      fill(i * chunk, std::min(parameter.elements, (i + 1) * chunk));
  };
  std::vector<std::thread> helpers;
  int64_t most = std::min<int64_t>(std::thread::hardware_concurrency(), chunks / 4);
  for (int64_t i = 1; i < most; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  return bytes;
}

Result<std::shared_ptr<const DeviceBuffer>> InputCache::input(const PackKernel &kernel,
                                                              size_t number) {
  const PackParameter &parameter = kernel.parameters[number];
  uint64_t seed = kernel.seed + number;
  std::string key = std::string(toString(parameter.dtype)) + " " + std::to_string(seed);
  for (int64_t dim : parameter.dims)
    key += " " + std::to_string(dim);
  for (int64_t dim : parameter.minorToMajor)
    key += "," + std::to_string(dim);
  if (parameter.range.isGiven)
    key += " " + std::to_string(parameter.range.low) + ":" + std::to_string(parameter.range.high);
  if (auto known = entries.find(key); known != entries.end()) {
    ages.splice(ages.end(), ages, known->second.age);
    return known->second.buffer;
  }
  Result<DeviceBuffer> buffer = scratch(parameter.bytes);
  if (!buffer)
    return buffer.failure();
  if (Status failed = gpu.copyIn(*buffer, filledBytes(parameter, seed)))
    return *failed;
  auto shared = std::make_shared<const DeviceBuffer>(std::move(*buffer));
  entries[key] = {shared, ages.insert(ages.end(), key)};
  return shared;
}

Result<DeviceBuffer> InputCache::scratch(uint64_t bytes) {
  for (;;) {
    Result<DeviceBuffer> buffer = gpu.allocate(bytes);
    if (buffer || buffer.failure().kind == FailureKind::DeviceLost || !dropOldest())
      return buffer;
  }
}

bool InputCache::dropOldest() {
  for (auto age = ages.begin(); age != ages.end(); ++age) {
    auto entry = entries.find(*age);
    if (entry->second.buffer.use_count() > 1)
      continue; // the kernel at hand reads it
    entries.erase(entry);
    ages.erase(age);
    return true;
  }
  return false;
}

} // namespace tilewright::profile
