// Runs the tilewright program as a user does, and keeps what came out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilewright::test {

struct Outcome {
  int exitCode = -1; ///< -1 when a signal ended the program
  int signal = 0;    ///< 14 (SIGALRM) where it ran longer than allowed
  std::string out, err;

  /// The command line and all that it printed, for a failure message.
  std::string describe() const;
  std::string commandLine;
};

/// Runs `tilewright arguments…` in the current folder with nothing on stdin. `environment` holds
/// "NAME=value" entries that are set in addition; there is no cache without one. Ends after
/// `seconds`.
Outcome runTilewright(const std::vector<std::string> &arguments,
                      const std::vector<std::string> &environment = {}, unsigned seconds = 120);

/// The same for `tilewright-profile`.
Outcome runProfiler(const std::vector<std::string> &arguments,
                    const std::vector<std::string> &environment = {}, unsigned seconds = 120);

/// A folder that is there while the object lives.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string operator/(const std::string &name) const { return (root / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const;
  /// Paths of all files and folders below, relative and sorted.
  std::vector<std::string> entries() const;

private:
  std::filesystem::path root;
};

std::string readBytes(const std::string &path);

} // namespace tilewright::test
