// The contents of a module, as data for reports.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct ModuleSummary {
  struct Parameter {
    std::string name, shape; ///< shape without its layout
    int64_t bytes = 0;
  };
  /// An op without an index map: its own kernel, costed as declared.
  struct OpaqueOp {
    std::string computation, name, reason;
    SourceLoc loc;
  };

  std::string module, entry; ///< names
  size_t computations = 0;
  size_t ops = 0;                    ///< in all computations
  size_t entryOps = 0;               ///< in the entry alone, parameters included
  std::vector<Parameter> parameters; ///< of the entry, by number
  std::string resultShape;
  int64_t resultBytes = 0;
  std::optional<int64_t> parameterBytes; ///< all together; empty if over 64 bits
  std::optional<int64_t> constantBytes;  ///< of all computations
  size_t elidedConstants = 0;            ///< whose values the dump left out
  /// Over all computations, the most frequent first, ties by name.
  std::vector<std::pair<std::string, size_t>> opCounts;
  std::vector<OpaqueOp> opaque; ///< in file order
};

ModuleSummary summarize(const Module &module);

/// Why an op has no index map: "sort along dim 1", "custom-call to \"cublas$gemm\"",
/// "while: runs computations". Empty for ops that have one.
std::string opaqueReason(const Graph &graph, const Op &op);

} // namespace tilewright
