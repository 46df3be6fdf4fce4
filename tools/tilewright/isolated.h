// Work that may go wrong in any way, in a process of its own.
#pragma once

#include "llvm/Support/Error.h"

#include <functional>
#include <string>

namespace tilewright::cli {

/// Runs `work` in a child process and returns the text that it made. Whatever ends the child costs
/// no more than this work: a crash and a bug are Internal errors, no memory and no time left are
/// BudgetSpent. What the work changes in memory is lost, what it writes to files stays. Call it
/// while there is one thread only; `seconds` of 0 are no limit.
llvm::Expected<std::string> runIsolated(const std::function<llvm::Expected<std::string>()> &work,
                                        unsigned seconds);

} // namespace tilewright::cli
