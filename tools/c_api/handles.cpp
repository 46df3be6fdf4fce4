#include "tools/c_api/handles.h"

#include <mutex>

namespace tilewright::capi {

namespace {

constexpr uint64_t mark = uint64_t(0x7477) << 48;

uint64_t numberOf(const void *handle) { return reinterpret_cast<uintptr_t>(handle); }

} // namespace

Handles &Handles::all() {
  static Handles *handles = new Handles; // never destroyed: threads may outlive main()
  return *handles;
}

void *Handles::add(std::shared_ptr<Object> object) {
  const std::unique_lock lock(mutex);
  const uint64_t number = mark | (++given << 1) | 1;
  objects.emplace(number, std::move(object));
  return reinterpret_cast<void *>(static_cast<uintptr_t>(number));
}

std::shared_ptr<Object> Handles::find(const void *handle) const {
  const std::shared_lock lock(mutex);
  const auto it = objects.find(numberOf(handle));
  return it == objects.end() ? nullptr : it->second;
}

bool Handles::remove(const void *handle) {
  std::shared_ptr<Object> last; // destroyed without the lock
  const std::unique_lock lock(mutex);
  const auto it = objects.find(numberOf(handle));
  if (it == objects.end())
    return false;
  last = std::move(it->second);
  objects.erase(it);
  return true;
}

} // namespace tilewright::capi
