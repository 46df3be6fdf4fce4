// Small programs, each around one op named %r: proofs about ops are proofs about these.
#pragma once

#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace tilewright::prove {

enum class Grid : uint8_t {
  Small, ///< a few shapes and attributes for each op: seconds in all
  Large, ///< many more
};

struct Example {
  std::string title; ///< "f32[7] slice={[0:7:2]}"
  std::string body;  ///< of an entry computation, as HLO text
};

/// docs/ops.md shows the first one. None for ops that their class describes completely (leaves,
/// calls, opaque ops).
std::vector<Example> examplesOf(Opcode opcode, Grid grid);

/// The example as a module: with its frame and the computations that bodies may call (add, lt, ge,
/// neg, step), verified.
llvm::Expected<Module> moduleOf(const Example &example);

} // namespace tilewright::prove
