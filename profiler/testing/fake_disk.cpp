// A disk that fails: preloaded ($LD_PRELOAD) into a program whose writing is tested.
//
// Counts what a program and the processes that it forks do to ordinary files: write, fdatasync,
// ftruncate, rename, all in one order. $TILEWRIGHT_FAKE_DISK says what happens at which of them,
// "NUMBER=ACTION":
//   before   every process of the program is killed before the operation
//   after    … after it
//   torn     half of the bytes are written, then every process is killed (as `before` for others)
//   short    only one byte is written, and the caller is told so
//   full     the operation fails: no space left
//   broken   the operation fails: input/output error
//   again    the operation fails: interrupted
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

struct Shared {
  std::atomic<unsigned long> operations{0};
};
Shared *shared = nullptr; ///< by all processes
pid_t first = 0;          ///< the program, whose children are forked
unsigned long number = 0;
std::string_view action; ///< needs no constructor, which would run after start()

__attribute__((constructor)) void start() {
  const char *text = std::getenv("TILEWRIGHT_FAKE_DISK");
  if (!text)
    return;
  void *memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    std::abort(); // a test that would test nothing
  first = getpid();
  number = std::strtoul(text, nullptr, 10);
  const char *equals = std::strchr(text, '=');
  action = equals ? equals + 1 : "";
  shared = new (memory) Shared;
}

[[noreturn]] void killAll() {
  if (getpid() != first)
    kill(first, SIGKILL);
  raise(SIGKILL);
  std::abort();
}

template <typename Function> Function *next(const char *symbol) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, symbol));
}

/// What happens to this operation; empty: nothing special. Kills for `before`.
std::string_view fate() {
  if (!shared || ++shared->operations != number)
    return "";
  if (action == "before")
    killAll();
  if (action == "full" || action == "broken" || action == "again")
    errno = action == "full" ? ENOSPC : action == "broken" ? EIO : EINTR;
  return action;
}
bool fails(std::string_view what) { return what == "full" || what == "broken" || what == "again"; }

bool isFile(int descriptor) {
  struct stat info {};
  int kept = errno;
  bool result = shared && fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  errno = kept;
  return result && descriptor > 2; // what the test itself reads is no part of it
}

/// Carries out an operation that is whole or not at all.
template <typename Run> int whole(const Run &run) {
  std::string_view what = fate();
  if (fails(what))
    return -1;
  if (what == "torn")
    killAll();
  int result = run();
  if (what == "after")
    killAll();
  return result;
}

} // namespace

extern "C" {

ssize_t write(int descriptor, const void *bytes, size_t count) {
  static auto *real = next<ssize_t(int, const void *, size_t)>("write");
  if (!isFile(descriptor))
    return real(descriptor, bytes, count);
  std::string_view what = fate();
  if (fails(what))
    return -1;
  if (what == "short" && count > 1)
    return real(descriptor, bytes, 1);
  ssize_t result = real(descriptor, bytes, what == "torn" ? count / 2 : count);
  if (what == "torn" || what == "after")
    killAll();
  return result;
}

int fdatasync(int descriptor) {
  static auto *real = next<int(int)>("fdatasync");
  return isFile(descriptor) ? whole([&] { return real(descriptor); }) : real(descriptor);
}

int ftruncate(int descriptor, off_t length) {
  static auto *real = next<int(int, off_t)>("ftruncate");
  return isFile(descriptor) ? whole([&] { return real(descriptor, length); })
                            : real(descriptor, length);
}

int rename(const char *from, const char *to) {
  static auto *real = next<int(const char *, const char *)>("rename");
  return whole([&] { return real(from, to); });
}

} // extern "C"
