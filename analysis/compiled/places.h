// The order in which a compiled module launches its ops, where their values lie in memory, and
// what each launch touches.
//
//   kernel a: reads %x, writes %t       %x, results: places of their own, the same in every run
//   kernel b: reads %t, writes %u       %t, %u: one arena, by lifetime; %u takes the place of %t
//   kernel c: reads %u, writes result   where b is a loop over elements and %t dies there
//
// Addresses are not the compiler's own, but those that its allocator would be likely to choose:
// largest values first, each in the smallest gap that is free over its life.
#pragma once

#include "analysis/compiled/launches.h"

#include <map>

namespace tilewright {

/// Bytes of one buffer that a kernel touches.
struct MemoryAccess {
  uint32_t space = 0; ///< addresses in different spaces never meet
  int64_t offset = 0; ///< of the buffer
  int64_t extent = 0; ///< bytes of the buffer
  double bytes = 0;   ///< of them that are touched
  bool isWrite = false;
  /// Strided through the buffer where not all of it is read; equal ones are the same bytes.
  std::string region;
};

/// One launched op.
struct Launch {
  GraphId graph;
  OpId op;
  LaunchKind kind = LaunchKind::Other;
  std::optional<FusionWork> work; ///< of fusions
  std::vector<MemoryAccess> accesses;
};

/// Launches one after the other, and loops over others.
struct ScheduleItem {
  size_t launch = 0; ///< in CompiledSchedule::launches, where there is no body
  std::vector<ScheduleItem> body;
  int64_t trips = 1;
};

struct CompiledSchedule {
  std::vector<Launch> launches; ///< in order, those of a loop's body once
  std::vector<ScheduleItem> items;
  std::vector<std::string> notes; ///< "%while.3: how often it runs is unknown (…); one trip counts"
};

/// Of a module that a compiler has scheduled. BadInput for others; BudgetSpent where calls
/// multiply its ops beyond two million. Loops run as often as is known,
/// else once; of branches the one that touches most bytes runs.
llvm::Expected<CompiledSchedule> compiledSchedule(const Module &module);

} // namespace tilewright
