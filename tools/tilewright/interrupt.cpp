#include "tools/tilewright/interrupt.h"

#include <atomic>
#include <csignal>
#include <new>
#include <sys/mman.h>

namespace tilewright::cli {

namespace {

/// Shared with the processes that are split off: a signal may reach one of them only.
std::atomic<bool> *flag = nullptr;

void onSignal(int) { flag->store(true); }

} // namespace

void watchInterrupts() {
  if (flag)
    return;
  void *shared = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return; // then a signal ends the program, as without us
  flag = new (shared) std::atomic<bool>(false);
  struct sigaction action {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool isInterrupted() { return flag && flag->load(); }

} // namespace tilewright::cli
