// The runner's errors. It links no LLVM, so it has its own small Expected.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tilewright::profile {

enum class FailureKind {
  BadInput,   ///< the user's files or flags: exit 2
  NoGpu,      ///< no driver, no device, or one that can't run the pack: exit 3
  Kernel,     ///< this kernel can't be measured; the next one can
  DeviceLost, ///< the context is broken: a new process is needed
};

/// Text rules as everywhere: lower case, no full stop, actual against allowed, one next step.
struct Failure {
  FailureKind kind = FailureKind::BadInput;
  std::string message;
};

/// Success, or why it failed.
using Status = std::optional<Failure>;
inline Status fine() { return std::nullopt; }

template <typename T> class Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Failure failure) : state(std::move(failure)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state); }
  T &operator*() { return std::get<T>(state); }
  const T &operator*() const { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const T *operator->() const { return &std::get<T>(state); }
  const Failure &failure() const { return std::get<Failure>(state); }

private:
  std::variant<T, Failure> state;
};

} // namespace tilewright::profile
