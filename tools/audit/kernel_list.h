// A list of measured kernels, in the order they ran, and which op of a compiled module each is.
#pragma once

#include "analysis/compiled/places.h"
#include "costmodel/measurements.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct MeasuredKernel {
  std::string name;
  double timeNs = 0;
  double ctas = 0, threads = 0, registers = 0; ///< 0: not in the list
  unsigned line = 0;
};

/// Columns `kernel` and `time_ns`, and as far as they are there `grid_x`, `grid_y`, `grid_z`,
/// `block_x`, `block_y`, `block_z`, `regs`. Errors (BadInput) are located.
llvm::Expected<std::vector<MeasuredKernel>> readKernelList(const Table &table);

struct MatchedKernels {
  std::vector<std::vector<size_t>> ofLaunch; ///< rows of the list, by launch
  std::vector<size_t> unmatchedRows;
  std::vector<size_t> unmatchedLaunches; ///< that should have run a kernel
};

/// By order, with names as a check. Equal fusions are compiled once and run under the first one's
/// name. A library call takes its main kernel and the side kernels around it (sums of a split,
/// padding, layout changes). Copies have no row. Behind a row that fits nothing matching goes on
/// where a name is next met.
MatchedKernels matchKernels(const Module &module, const std::vector<Launch> &launches,
                            const std::vector<MeasuredKernel> &rows);

} // namespace tilewright
