// Fibers: one stack a GPU thread, switched cooperatively within one host thread.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace tilewright {

/// A set of fibers that run the same body. A fiber is entered by resume() and comes back when its
/// body ends or calls suspend(). An abandoned fiber is simply never resumed.
class FiberSet {
public:
  using Body = void (*)(void *);

  FiberSet() = default;
  FiberSet(const FiberSet &) = delete;
  FiberSet &operator=(const FiberSet &) = delete;
  ~FiberSet();

  /// Makes `count` fibers ready to start `body(argument)`. Stacks are kept from earlier calls.
  /// False when there is no memory for the stacks.
  bool start(unsigned count, Body body, void *argument);

  /// Runs fiber i until it suspends or ends. Precondition: it has not ended.
  void resume(unsigned i);
  /// Called by the running fiber.
  void suspend();

  bool isDone(unsigned i) const { return fibers[i]->done; }
  unsigned running() const { return current; }

private:
  struct Fiber {
    ucontext_t context;
    jmp_buf jump;
    void *stack = nullptr;
    bool started = false, done = false;
  };
  static void enter();
  void leave();

  /// Fibers stay where they are: contexts hold pointers into themselves.
  std::vector<std::unique_ptr<Fiber>> fibers;
  Body body = nullptr;
  void *argument = nullptr;
  unsigned current = 0;
  ucontext_t mainContext;
  jmp_buf mainJump;
};

} // namespace tilewright
