// Input buffers: made once, kept on the device while there is room.
//
// All plans of a problem read the same inputs, so that a pack of 48 plans fills them once.
#pragma once

#include "profiler/pack_reader.h"

#include <list>
#include <map>
#include <memory>

namespace tilewright::profile {

/// The bytes of an input in memory: elements in physical order, packed, little-endian, as
/// packTensor(fillTensor(…)) makes them. Several threads for large ones, always the same bytes.
std::vector<std::byte> filledBytes(const PackParameter &parameter, uint64_t seed);

class InputCache {
public:
  explicit InputCache(const Gpu &gpu) : gpu(gpu) {}

  /// The buffer of input number `number` of a kernel. Inputs that were not asked for longest are
  /// freed where memory is short.
  Result<std::shared_ptr<const DeviceBuffer>> input(const PackKernel &kernel, size_t number);

  /// Memory for an output or a workspace, freeing inputs that are not in use where it is short.
  Result<DeviceBuffer> scratch(uint64_t bytes);

private:
  using Key = std::string;
  struct Entry {
    std::shared_ptr<const DeviceBuffer> buffer;
    std::list<Key>::iterator age;
  };

  bool dropOldest();

  const Gpu &gpu;
  std::map<Key, Entry> entries;
  std::list<Key> ages; ///< oldest first
};

} // namespace tilewright::profile
