#include "profiler/supervisor.h"

#include "analysis/support/printable.h"
#include "profiler/text.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright::profile {

namespace {

volatile std::sig_atomic_t stopAsked = 0;
void askToStop(int) { stopAsked = 1; }

/// SIGINT and SIGTERM end the run after the kernel at hand.
class StopSignals {
public:
  StopSignals() {
    struct sigaction action {};
    action.sa_handler = askToStop;
    sigaction(SIGINT, &action, &oldInterrupt);
    sigaction(SIGTERM, &action, &oldTerminate);
  }
  ~StopSignals() {
    sigaction(SIGINT, &oldInterrupt, nullptr);
    sigaction(SIGTERM, &oldTerminate, nullptr);
  }

private:
  struct sigaction oldInterrupt {
  }, oldTerminate{};
};

void say(const std::string &line) {
  std::fprintf(stderr, "%s\n", printableMessage(line).c_str());
  std::fflush(stderr);
}

/// The process that measures; reports steps through a pipe. Never returns.
[[noreturn]] void runChild(Journal &journal, const SessionBody &body, int pipe, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(static_cast<int>(SessionEnd::Stopped)); // it died before we asked
  SessionHooks hooks;
  hooks.before = [&](const Step &step) {
    // Steps are small, so that a write to a pipe is whole.
    ssize_t ignored = write(pipe, &step, sizeof step);
    static_cast<void>(ignored);
  };
  hooks.shouldStop = [] { return stopAsked != 0; };
  hooks.say = say;
  SessionEnd end = body(journal, hooks);
  std::fflush(nullptr);
  _exit(static_cast<int>(end)); // no destructors: a broken context may hang in them
}

struct ChildEnd {
  std::optional<Step> lastStep;
  bool timedOut = false;
  int status = 0; ///< as waitpid gives it
};

/// Follows the child's steps; ends it when one takes too long.
ChildEnd follow(pid_t child, int pipe, double timeoutSeconds) {
  ChildEnd result;
  for (;;) {
    pollfd entry{pipe, POLLIN, 0};
    int ready = poll(&entry, 1, static_cast<int>(timeoutSeconds * 1000));
    if (ready < 0 && errno == EINTR) {
      if (stopAsked)
        kill(child, SIGTERM);
      continue;
    }
    if (ready == 0) {
      result.timedOut = true;
      kill(child, SIGKILL);
      break;
    }
    Step step;
    ssize_t got = read(pipe, &step, sizeof step);
    if (got < 0 && errno == EINTR)
      continue;
    if (got != static_cast<ssize_t>(sizeof step))
      break; // the child has closed its end
    result.lastStep = step;
  }
  while (waitpid(child, &result.status, 0) < 0 && errno == EINTR) {
  }
  return result;
}

std::string deathOf(const ChildEnd &end, double timeoutSeconds) {
  if (end.timedOut)
    return "not done after " + numberText(timeoutSeconds) + " s";
  if (WIFSIGNALED(end.status))
    return std::string("the process died: ") + strsignal(WTERMSIG(end.status));
  return "the process ended with code " + std::to_string(WEXITSTATUS(end.status));
}

std::optional<SessionEnd> orderlyEnd(const ChildEnd &end) {
  if (end.timedOut || !WIFEXITED(end.status))
    return std::nullopt;
  int code = WEXITSTATUS(end.status);
  for (SessionEnd known : {SessionEnd::Done, SessionEnd::BadInput, SessionEnd::NoGpu,
                           SessionEnd::Stopped, SessionEnd::DeviceLost})
    if (code == static_cast<int>(known))
      return known;
  return std::nullopt;
}

} // namespace

SessionEnd supervise(Journal &journal, const Supervision &supervision, const SessionBody &body,
                     const BlameStep &blame) {
  StopSignals signals;
  unsigned fruitless = 0;
  for (;;) {
    int ends[2];
    if (pipe(ends) != 0) {
      say(std::string("error: can't make a pipe: ") + std::strerror(errno));
      return SessionEnd::BadInput;
    }
    std::fflush(nullptr);
    pid_t parent = getpid(), child = fork();
    if (child < 0) {
      say(std::string("error: can't start a process: ") + std::strerror(errno));
      return SessionEnd::BadInput;
    }
    if (child == 0) {
      close(ends[0]);
      runChild(journal, body, ends[1], parent);
    }
    close(ends[1]);
    size_t rowsBefore = journal.rows().size();
    ChildEnd end = follow(child, ends[0], supervision.timeoutSeconds);
    close(ends[0]);
    if (Status failed = journal.refresh()) {
      say("error: " + failed->message);
      return SessionEnd::BadInput;
    }
    std::optional<SessionEnd> known = orderlyEnd(end);
    if (known && *known != SessionEnd::DeviceLost)
      return *known;
    std::string why = deathOf(end, supervision.timeoutSeconds);
    if (!known && end.lastStep) {
      say("note: " + why + "; going on in a new one");
      if (Status failed = blame(journal, *end.lastStep, why)) {
        say("error: " + failed->message);
        return SessionEnd::BadInput;
      }
    }
    if (stopAsked)
      return SessionEnd::Stopped;
    fruitless = journal.rows().size() > rowsBefore ? 0 : fruitless + 1;
    if (fruitless >= supervision.fruitless) {
      say("error: " + why + ", " + std::to_string(fruitless) +
          " times before a kernel was measured");
      return SessionEnd::NoGpu;
    }
  }
}

Status blameStep(const std::vector<WorkItem> &items, const SessionOptions &options,
                 Journal &journal, const Step &step, const std::string &why) {
  Schedule schedule = replay(items, options, journal);
  bool isIncumbent = step.kind == Step::Kind::Incumbent;
  for (size_t i = 0; i < options.regimes.size(); ++i) {
    auto regime = static_cast<unsigned>(i);
    // The row that was begun may be there, whole: the process died after it.
    bool isOpen = isIncumbent ? i == 0 && schedule.next().kind == Step::Kind::Incumbent &&
                                    schedule.next().block == step.block
                              : schedule.isOpen(step.kernel, step.attempt, regime);
    if (!isOpen)
      continue;
    Record record = newRecord(items[step.kernel], step, options);
    record[Column::Regime] = toString(options.regimes[i]);
    record[Column::Error] = why;
    if (Status failed = journal.append({record.all().begin(), record.all().end()}))
      return failed;
  }
  return fine();
}

} // namespace tilewright::profile
