#include "tests/cli/run_program.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright::test {

namespace fs = std::filesystem;

std::string Outcome::describe() const {
  return fmt::format("{}\nexit {} signal {}\n--- stdout\n{:.2000}\n--- stderr\n{:.2000}",
                     commandLine, exitCode, signal, out, err);
}

namespace {

Outcome runProgram(const char *program, const std::vector<std::string> &arguments,
                   const std::vector<std::string> &environment, unsigned seconds) {
  TemporaryFolder streams;
  std::string outPath = streams / "out", errPath = streams / "err";
  Outcome outcome;
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  outcome.commandLine = fmt::format("{}", fmt::join(words, " "));
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  pid_t child = fork();
  if (child == 0) {
    setenv("TILEWRIGHT_CACHE", "off", 1); // each test for itself
    for (const std::string &entry : environment)
      putenv(strdup(entry.c_str()));
    int in = open("/dev/null", O_RDONLY);
    int out = open(outPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open(errPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    alarm(seconds); // outlives exec
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    ADD_FAILURE() << "cannot run " << outcome.commandLine;
    return outcome;
  }
  if (WIFEXITED(status))
    outcome.exitCode = WEXITSTATUS(status);
  else
    outcome.signal = WTERMSIG(status);
  outcome.out = readBytes(outPath);
  outcome.err = readBytes(errPath);
  return outcome;
}

} // namespace

Outcome runTilewright(const std::vector<std::string> &arguments,
                      const std::vector<std::string> &environment, unsigned seconds) {
  return runProgram(TILEWRIGHT_PROGRAM, arguments, environment, seconds);
}

Outcome runProfiler(const std::vector<std::string> &arguments,
                    const std::vector<std::string> &environment, unsigned seconds) {
  return runProgram(TILEWRIGHT_PROFILE_PROGRAM, arguments, environment, seconds);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "tilewright-test-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    ADD_FAILURE() << "cannot make a temporary folder";
  root = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(root, ignored);
}

std::string TemporaryFolder::write(const std::string &name, const std::string &bytes) const {
  std::string path = *this / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::vector<std::string> TemporaryFolder::entries() const {
  std::vector<std::string> result;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root))
    result.push_back(entry.path().lexically_relative(root).string());
  std::sort(result.begin(), result.end());
  return result;
}

std::string readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace tilewright::test
