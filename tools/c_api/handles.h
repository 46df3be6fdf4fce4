// The objects behind the handles of tilewright.h.
//
// A handle is a number that was never given before, in the guise of a pointer: it is looked up and
// never followed, so a freed or made-up one is found out. Its top bits are set and it is odd, which
// no address of an object is.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

namespace tilewright::capi {

struct Object {
  virtual ~Object() = default;
};

class Handles {
public:
  static Handles &all();

  /// Throws std::bad_alloc.
  void *add(std::shared_ptr<Object> object);
  /// Null where there is none. The object stays while the caller holds it.
  std::shared_ptr<Object> find(const void *handle) const;
  /// False where there is none.
  bool remove(const void *handle);

private:
  mutable std::shared_mutex mutex;
  std::unordered_map<uint64_t, std::shared_ptr<Object>> objects; ///< never iterated
  uint64_t given = 0;
};

} // namespace tilewright::capi
