// Runs sessions in processes of their own, one after the other, until the work is done.
//
// A kernel can fault, hang or take the process down. Then the supervisor writes a row with the
// error, ends the process if it still runs, and starts the next one, which continues after that
// row.
#pragma once

#include "profiler/session.h"

namespace tilewright::profile {

struct Supervision {
  double timeoutSeconds = 60; ///< that one kernel may take, all its samples together
  unsigned fruitless = 3;     ///< processes in a row that may die before any kernel, at most
};

/// The work of one process: session or counters.
using SessionBody = std::function<SessionEnd(Journal &, const SessionHooks &)>;

/// Writes the rows for a step that a process did not survive.
using BlameStep = std::function<Status(Journal &, const Step &, const std::string &why)>;

/// Runs until the body is done, stops, or can't go on. The journal is up to date afterwards.
SessionEnd supervise(Journal &journal, const Supervision &supervision, const SessionBody &body,
                     const BlameStep &blame);

/// Rows with an error for what the step leaves open.
Status blameStep(const std::vector<WorkItem> &items, const SessionOptions &options,
                 Journal &journal, const Step &step, const std::string &why);

} // namespace tilewright::profile
