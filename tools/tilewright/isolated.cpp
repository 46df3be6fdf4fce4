#include "tools/tilewright/isolated.h"

#include "analysis/support/diag.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace tilewright::cli {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// The first byte of what a child sends: the text of the result, or an error, or nothing more.
constexpr char resultMark = 'r', errorMark = 'e', noMemoryMark = 'm';

Diag outOfMemory() {
  Diag diag;
  diag.cls = DiagClass::BudgetSpent;
  diag.message = "out of memory; give the program more, or run fewer --jobs";
  return diag;
}

std::string toText(const Diag &diag) {
  return Json{{"class", static_cast<int>(diag.cls)},
              {"message", diag.message},
              {"file", diag.file},
              {"line", diag.line},
              {"column", diag.column},
              {"source", diag.sourceLine},
              {"notes", diag.notes}}
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

Diag fromText(const std::string &text) {
  Json json = Json::parse(text);
  Diag diag;
  diag.cls = static_cast<DiagClass>(json["class"].get<int>());
  diag.message = json["message"];
  diag.file = json["file"];
  diag.line = json["line"];
  diag.column = json["column"];
  diag.sourceLine = json["source"];
  diag.notes = json["notes"].get<std::vector<std::string>>();
  return diag;
}

/// Sends all of it; gives up where nobody listens.
void send(int pipe, std::string_view text) {
  while (!text.empty()) {
    ssize_t sent = ::write(pipe, text.data(), text.size());
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      _exit(1);
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

/// The child's life; never returns.
[[noreturn]] void work(const std::function<llvm::Expected<std::string>()> &what, int pipe,
                       pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody is left to take the result
  if (getppid() != parent)
    _exit(1);
  std::string text;
  try {
    auto result = what();
    text =
        result ? resultMark + std::move(*result) : errorMark + toText(takeDiag(result.takeError()));
  } catch (const std::bad_alloc &) {
    text.assign(1, noMemoryMark);
  } catch (const std::system_error &error) { // no more threads, no more files
    Diag diag;
    diag.cls = DiagClass::BudgetSpent;
    diag.message = error.what();
    text = errorMark + toText(diag);
  } catch (const std::exception &error) {
    Diag diag;
    diag.cls = DiagClass::Internal;
    diag.message = error.what();
    text = errorMark + toText(diag);
  }
  std::fflush(stdout);
  send(pipe, text);
  _exit(0);
}

/// What the child sends until it closes its end. False where the time is over before.
bool receive(int pipe, unsigned seconds, std::string &text) {
  auto end = Clock::now() + std::chrono::seconds(seconds);
  char block[1 << 16];
  while (true) {
    if (seconds > 0) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      pollfd poll{pipe, POLLIN, 0};
      int ready =
          left > 0 ? ::poll(&poll, 1, static_cast<int>(std::min<int64_t>(left, 1 << 30))) : 0;
      if (ready < 0 && errno == EINTR)
        continue;
      if (left <= 0)
        return false;
      if (ready == 0)
        continue;
    }
    ssize_t got = ::read(pipe, block, sizeof block);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return true;
    text.append(block, static_cast<size_t>(got));
  }
}

/// Why a child ended without a word.
llvm::Error deathOf(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return makeError(DiagClass::BudgetSpent,
                     "was killed (signal 9), as the system does where memory runs out");
  if (WIFSIGNALED(status))
    return makeError(DiagClass::Internal, "crashed (signal {}: {})", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
  return makeError(DiagClass::Internal, "ended early (exit code {})", WEXITSTATUS(status));
}

} // namespace

llvm::Expected<std::string> runIsolated(const std::function<llvm::Expected<std::string>()> &what,
                                        unsigned seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return makeError(DiagClass::BudgetSpent, "no pipe: {}", std::strerror(errno));
  std::fflush(stdout); // else both would print what waits in the buffer
  std::fflush(stderr);
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    close(ends[0]);
    work(what, ends[1], parent);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return makeError(DiagClass::BudgetSpent, "no process: {}", std::strerror(errno));
  }
  std::string text;
  bool isInTime = receive(ends[0], seconds, text);
  close(ends[0]);
  if (!isInTime)
    kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (!isInTime)
    return makeError(DiagClass::BudgetSpent, "took more than {} s; allow more with --model-limit",
                     seconds);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || text.empty())
    return deathOf(status);
  switch (text[0]) {
  case resultMark:
    return text.substr(1);
  case errorMark:
    return makeError(fromText(text.substr(1)));
  default:
    return makeError(outOfMemory());
  }
}

} // namespace tilewright::cli
