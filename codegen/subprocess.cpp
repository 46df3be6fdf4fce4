#include "codegen/subprocess.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace tilewright {

llvm::Expected<ProcessResult> runProcess(const std::string &program,
                                         std::span<const std::string> arguments,
                                         std::chrono::milliseconds timeout) {
  // Output goes to a file: a pipe would stay open as long as any grandchild lives.
  llvm::SmallString<128> outputPath;
  int outputFd = -1;
  if (auto error = llvm::sys::fs::createTemporaryFile("tilewright", "log", outputFd, outputPath))
    return makeError(DiagClass::Internal, "no temporary file for the output of {}: {}", program,
                     error.message());
  llvm::sys::fs::remove(outputPath);

  std::vector<char *> argv{const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, outputFd, 1);
  posix_spawn_file_actions_adddup2(&actions, outputFd, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = -1;
  int failure = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    close(outputFd);
    return makeError(DiagClass::Internal, "can't start {}: {}", program, std::strerror(failure));
  }

  ProcessResult result;
  int status = 0;
  auto deadline = std::chrono::steady_clock::now() + timeout;
  auto pause = std::chrono::microseconds(200);
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      result.timedOut = true;
      kill(-pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10000));
  }
  result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

  constexpr size_t maxOutput = 1 << 20;
  lseek(outputFd, 0, SEEK_SET);
  char buffer[4096];
  ssize_t got;
  while (result.output.size() < maxOutput && (got = read(outputFd, buffer, sizeof buffer)) > 0)
    result.output.append(buffer, static_cast<size_t>(got));
  close(outputFd);
  return result;
}

} // namespace tilewright
