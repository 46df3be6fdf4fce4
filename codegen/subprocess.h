// Runs a tool and waits for it, with a timeout.
#pragma once

#include "analysis/support/diag.h"

#include <chrono>
#include <span>
#include <string>

namespace tilewright {

struct ProcessResult {
  int exitCode = 0; ///< of a process that ended by itself; 128 + signal otherwise
  bool timedOut = false;
  std::string output; ///< stdout and stderr together, at most 1 MiB
};

/// Runs `program` (a path) with arguments. After `timeout` it and everything it started in its
/// process group is killed. Errors: Internal when no process can be started.
llvm::Expected<ProcessResult> runProcess(const std::string &program,
                                         std::span<const std::string> arguments,
                                         std::chrono::milliseconds timeout);

} // namespace tilewright
