// Predicted traffic against hardware counters: checks the bytes independently of the time.
//
// A table of counters has the columns of measurements and, by their names in Nsight Compute,
//   dram__bytes_read.sum         bytes read from DRAM
//   lts__t_sectors_op_read.sum   sectors of 32 bytes that SMs read from L2
//   l1tex__t_bytes.sum           bytes that threads and asynchronous copies request from L1
#pragma once

#include "costmodel/dataset.h"
#include "costmodel/parameters.h"

#include <array>
#include <string>
#include <vector>

namespace tilewright {

enum class TrafficLevel { DramRead, L2Read, L1 };
constexpr std::array<TrafficLevel, 3> trafficLevels = {TrafficLevel::DramRead, TrafficLevel::L2Read,
                                                       TrafficLevel::L1};
std::string_view toString(TrafficLevel level); ///< "DRAM read", "L2 read", "L1"

struct CountedLaunch {
  RowIdentity identity;
  unsigned line = 0;
  std::array<double, 3> counted{}, predicted{}; ///< bytes at each level
};

struct LevelError {
  TrafficLevel level;
  double medianApe = 0, worstApe = 0, bias = 0; ///< fractions
};

struct CounterReport {
  std::vector<CountedLaunch> launches;
  std::vector<LevelError> errors; ///< one a level; none without launches
  std::vector<UnpricedRows> unpriced;

  int64_t unpricedRows() const;
};

/// Errors (BadInput) are located: a missing column, a cell that is not a number.
llvm::Expected<CounterReport> compareCounters(const Table &table, TemplateLibrary &templates,
                                              const Device &device);

} // namespace tilewright
