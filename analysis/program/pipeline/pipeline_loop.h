// A loop's steps as a scheduling problem: ops that take units and the issue of their warps, and
// waits between them, within a step and from step to step.
//
// Running example, a GEMM whose producer fills rings of n slots:
//
//   op    units          role        waits
//   copy  copies 512     producer    for the slot: the dot n steps before
//   dot   tensor 512     consumers   for the copy, which arrives 1,212 clocks after its start
//
// One interval later everything happens again (modulo scheduling: Rau 1994), so that op o of step t
// starts at start(o) + t·interval. Clocks are those of one SM.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright::pipeline {

struct LoopOp {
  struct Use {
    std::string unit; ///< "tensor", "copies", …: one op at a time
    int64_t busy = 0;
  };
  std::string name;
  std::vector<Use> units;
  std::string role;    ///< whose warps issue it
  int64_t issue = 0;   ///< clocks in which they do nothing else
  int64_t latency = 0; ///< from its start until its result is there

  /// Clocks that it takes of a unit.
  int64_t busyOf(const std::string &unit) const;
  int64_t longestBusy() const;
};

/// start(to) + distance·interval ≥ start(from) + delay.
struct Wait {
  size_t from = 0, to = 0;
  int64_t delay = 0, distance = 0;
  std::string why; ///< "slot of A", "order of warps", empty: a result
};

class PipelineLoop {
public:
  size_t add(LoopOp op);
  /// `to` takes the result that `from` made `distance` steps before.
  void needs(size_t from, size_t to, int64_t distance = 0);
  void wait(Wait wait) { waits.push_back(std::move(wait)); }
  /// A ring of slots: from the maker's start to the end of each use are at most slots·interval.
  void ring(const std::string &name, size_t maker, const std::vector<size_t> &uses, int64_t slots);
  /// The ops of a role follow each other as listed, each by so many steps early; then again.
  struct Turn {
    size_t op;
    int64_t early = 0;
  };
  void inOrder(const std::vector<Turn> &turns);

  std::vector<LoopOp> ops;
  std::vector<Wait> waits;
  std::set<std::string> orderedRoles; ///< whose waits keep their ops apart
};

/// Where an op stands: it starts at stage·interval + slot.
struct Place {
  int64_t stage = 0, slot = 0;
  bool operator==(const Place &) const = default;
};

/// What a schedule breaks, in words; empty: nothing.
std::string faultOf(const PipelineLoop &loop, int64_t interval, const std::vector<Place> &places);

/// A cycle of waits, and the least interval with which it may go round.
struct Recurrence {
  int64_t interval = 0;
  std::vector<size_t> waits; ///< of the loop, in order; empty: there is no cycle that needs any
  /// The waits go round within steps: no interval is enough.
  bool isDeadlock = false;
};
/// The cycle that needs the longest interval.
Recurrence longestRecurrence(const PipelineLoop &loop);
/// "copy A → dot (slot of A) → copy A".
std::string wordsOf(const PipelineLoop &loop, const Recurrence &recurrence);

/// The least stages with which these slots keep all waits; nothing: there are none.
std::optional<std::vector<Place>> earliestStages(const PipelineLoop &loop, int64_t interval,
                                                 const std::vector<int64_t> &slots);

} // namespace tilewright::pipeline
