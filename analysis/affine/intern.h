// Interning in a context: an arena that is freed at once, and a table of existing values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace tilewright::detail {

/// Memory for objects that live as long as their context and need no destructor.
class Arena {
public:
  template <typename T, typename... Args> T *make(Args &&...args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T))) T(std::forward<Args>(args)...);
  }
  /// A copy of the items; null for none.
  template <typename T> const T *copy(std::span<const T> items) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (items.empty())
      return nullptr;
    T *to = static_cast<T *>(allocate(items.size_bytes()));
    std::uninitialized_copy(items.begin(), items.end(), to);
    return to;
  }

private:
  void *allocate(size_t bytes) {
    constexpr size_t alignment = 8;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (bytes > left)
      grow(bytes);
    void *result = next;
    next += bytes;
    left -= bytes;
    return result;
  }
  void grow(size_t bytes) {
    constexpr size_t firstSlab = 4096, lastSlab = size_t{1} << 18;
    size_t size = std::min(firstSlab << std::min<size_t>(slabs.size(), 6), lastSlab);
    size = std::max(size, bytes);
    slabs.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    next = slabs.back().get();
    left = size;
  }

  std::vector<std::unique_ptr<std::byte[]>> slabs;
  std::byte *next = nullptr;
  size_t left = 0;
};

inline uint64_t mixHash(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h ^= h >> 33;
  return h * 0xff51afd7ed558ccdull;
}

/// Values found by a hash and a test of the caller's; nothing is ever taken out.
template <typename T> class InternTable {
public:
  size_t size() const { return count; }

  /// The value with that hash for which `isWanted` holds; null if there is none.
  template <typename Test> const T *find(uint64_t hash, const Test &isWanted) const {
    for (size_t at = hash >> shift;; at = (at + 1) & (slots.size() - 1)) {
      const Slot &slot = slots[at];
      if (slot.hash == 0)
        return nullptr;
      if (slot.hash == keyOf(hash) && isWanted(slot.value))
        return &slot.value;
    }
  }

  /// Adds a value that is not there.
  void insert(uint64_t hash, T value) {
    if (2 * (count + 1) > slots.size())
      grow();
    place({keyOf(hash), std::move(value)});
    ++count;
  }

private:
  struct Slot {
    uint64_t hash = 0; ///< 0: free
    T value{};
  };
  static uint64_t keyOf(uint64_t hash) { return hash | 1; }

  void place(Slot slot) {
    size_t at = slot.hash >> shift;
    while (slots[at].hash != 0)
      at = (at + 1) & (slots.size() - 1);
    slots[at] = std::move(slot);
  }
  void grow() {
    std::vector<Slot> old = std::move(slots);
    slots = std::vector<Slot>(2 * old.size());
    --shift;
    for (Slot &slot : old)
      if (slot.hash != 0)
        place(std::move(slot));
  }

  static constexpr unsigned firstBits = 5;
  std::vector<Slot> slots = std::vector<Slot>(size_t{1} << firstBits);
  size_t count = 0;
  unsigned shift = 64 - firstBits; ///< the high bits pick the slot
};

} // namespace tilewright::detail
