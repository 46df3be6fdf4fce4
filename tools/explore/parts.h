// Parts of a model: the entry computation, and the loops' bodies and branches that it runs.
#pragma once

#include "tools/explore/grouping.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// A computation that runs, explored as a graph of its own.
struct ModelPart {
  struct Loop {
    GraphId body;
    int64_t trips = 0;
    bool isCounted = true; ///< false: nobody knows how often it runs, one trip is taken
  };
  /// An op of a computation that is not a part: the condition of a loop.
  struct Condition {
    GraphId graph;
    OpReason entry;
  };

  GraphId id;
  Grouping grouping; ///< loops and conditionals whose computations are parts are in `noKernel`
  std::vector<Loop> loops;
  std::vector<std::vector<GraphId>> conditionals; ///< the branches of each
  std::vector<size_t> conditionalRows;            ///< their rows in `grouping.noKernel`
  std::vector<Condition> conditions;
  std::vector<OpReason> notes; ///< what the file says otherwise than is taken

  double timeNs = 0;     ///< of one run; countRuns() adds the time of its loops and branches
  int64_t runs = 0;      ///< per run of the model, by countRuns()
  bool isCounted = true; ///< false in a loop of unknown length: `runs` is for one trip of it
};

/// The parts, those that are run before those that run them; the entry is the last. A loop whose
/// trip count can't be read off stays in `grouping.unsupported`, with the reason; its body and its
/// condition are parts that run once. Each computation
/// is one part, however many ops run it; computations nest no deeper than 64.
std::vector<ModelPart> modelParts(const Module &module);

/// From each part's own time of one run: adds the times of its loops and, for each conditional, of
/// its most expensive branch; then counts how often each part runs.
void countRuns(const Module &module, std::vector<ModelPart> &parts);

/// The parts that one of them runs, and those that these run, ascending; all before it.
std::vector<size_t> partsRunBy(const std::vector<ModelPart> &parts, size_t part);

} // namespace tilewright
