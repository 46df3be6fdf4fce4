// The summary of a run, as text and as JSON.
#pragma once

#include "profiler/journal.h"
#include "profiler/session.h"

namespace tilewright::profile {

struct RunSummary {
  size_t kernels = 0, rows = 0;        ///< in the packs; of these kernels in the file
  size_t measured = 0, unmeasured = 0; ///< rows with a time; kernels that still lack a row
  struct Problem {
    std::string kernel, regime, reason;
  };
  std::vector<Problem> failed; ///< rows with an error, the last attempt of each
  size_t rejectedSamples = 0;  ///< in rows that count
  size_t unchecked = 0;        ///< kernels without expected values
  unsigned driftedBlocks = 0;
  std::vector<std::string> throttles; ///< reasons seen, each once
};

RunSummary summarise(const std::vector<WorkItem> &items, const SessionOptions &options,
                     const Journal &journal);

std::string toText(const RunSummary &summary, const std::string &file);
std::string toJson(const RunSummary &summary, const std::string &file, const std::string &end);

} // namespace tilewright::profile
