#include "codegen/fiber.h"

#include <sys/mman.h>

// The first entry into a fiber needs ucontext; later switches use setjmp, which makes no system
// call for the signal mask. The address sanitizer follows swapcontext, but not such jumps.
#if defined(__SANITIZE_ADDRESS__)
#define TILEWRIGHT_FIBER_JUMPS 0
#else
#define TILEWRIGHT_FIBER_JUMPS 1
#endif

namespace tilewright {

namespace {
constexpr size_t stackBytes = 256 << 10; // pages are only taken when touched
thread_local FiberSet *entering = nullptr;
} // namespace

FiberSet::~FiberSet() {
  for (auto &fiber : fibers)
    if (fiber->stack)
      munmap(fiber->stack, stackBytes);
}

bool FiberSet::start(unsigned count, Body newBody, void *newArgument) {
  body = newBody;
  argument = newArgument;
  while (fibers.size() < count) {
    void *stack = mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
      return false;
    fibers.push_back(std::make_unique<Fiber>());
    fibers.back()->stack = stack;
  }
  for (unsigned i = 0; i < count; ++i) {
    Fiber &fiber = *fibers[i];
    fiber.started = fiber.done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = stackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &FiberSet::enter, 0);
  }
  return true;
}

void FiberSet::enter() {
  FiberSet &set = *entering;
  set.body(set.argument);
  set.fibers[set.current]->done = true;
  set.leave();
}

void FiberSet::resume(unsigned i) {
  current = i;
  Fiber &fiber = *fibers[i];
#if TILEWRIGHT_FIBER_JUMPS
  if (_setjmp(mainJump) == 0) {
    if (fiber.started)
      _longjmp(fiber.jump, 1);
    fiber.started = true;
    entering = this;
    setcontext(&fiber.context);
  }
#else
  entering = this;
  swapcontext(&mainContext, &fiber.context);
#endif
}

void FiberSet::suspend() {
#if TILEWRIGHT_FIBER_JUMPS
  if (_setjmp(fibers[current]->jump) == 0)
    leave();
#else
  leave();
#endif
}

void FiberSet::leave() {
#if TILEWRIGHT_FIBER_JUMPS
  _longjmp(mainJump, 1);
#else
  swapcontext(&fibers[current]->context, &mainContext);
#endif
}

} // namespace tilewright
