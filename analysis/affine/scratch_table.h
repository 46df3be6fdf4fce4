// Reusable tables by expression that are cleared in constant time.
#pragma once

#include "analysis/affine/expr.h"

#include <array>

namespace tilewright::detail {

/// Values by Expr::id(). As large as its entries, not as the context.
template <typename T> class ScratchTable {
public:
  /// Null if there is none. Pointers hold until the next set().
  const T *find(uint32_t key) const {
    for (size_t at = start(key);; at = (at + 1) & (slots.size() - 1)) {
      const Slot &slot = slots[at];
      if (slot.stamp != stamp)
        return nullptr;
      if (slot.key == key)
        return &slot.value;
    }
  }
  bool contains(uint32_t key) const { return find(key) != nullptr; }

  void set(uint32_t key, T value) {
    if (const T *known = find(key)) {
      *const_cast<T *>(known) = value;
      return;
    }
    if (2 * (count + 1) > slots.size())
      grow();
    place({key, stamp, value});
    ++count;
  }

  void clear() {
    count = 0;
    if (slots.size() > kept || ++stamp == 0) {
      stamp = 1;
      slots.assign(first, Slot{});
      slots.shrink_to_fit();
      shift = 32 - firstBits;
    }
  }

private:
  static constexpr unsigned firstBits = 6;
  static constexpr size_t first = size_t{1} << firstBits, kept = size_t{1} << 14;
  struct Slot {
    uint32_t key = 0, stamp = 0;
    T value{};
  };

  size_t start(uint32_t key) const { return key * 0x9e3779b9u >> shift; }
  void place(Slot slot) {
    size_t at = start(slot.key);
    while (slots[at].stamp == stamp)
      at = (at + 1) & (slots.size() - 1);
    slots[at] = slot;
  }
  void grow() {
    std::vector<Slot> old = std::move(slots);
    slots.assign(2 * old.size(), Slot{});
    --shift;
    for (const Slot &slot : old)
      if (slot.stamp == stamp)
        place(slot);
  }

  std::vector<Slot> slots = std::vector<Slot>(first);
  size_t count = 0;
  uint32_t stamp = 1;
  unsigned shift = 32 - firstBits;
};

/// RAII loan of a thread's object with clear(), returned when the loan ends.
template <typename T> class Loan {
public:
  Loan() {
    if (spare().empty()) {
      item = std::make_unique<T>();
    } else {
      item = std::move(spare().back());
      spare().pop_back();
      item->clear();
    }
  }
  Loan(const Loan &) = delete;
  Loan &operator=(const Loan &) = delete;
  ~Loan() { spare().push_back(std::move(item)); }

  T *operator->() const { return item.get(); }
  T &operator*() const { return *item; }

private:
  static std::vector<std::unique_ptr<T>> &spare() {
    thread_local std::vector<std::unique_ptr<T>> items;
    return items;
  }
  std::unique_ptr<T> item;
};

} // namespace tilewright::detail
