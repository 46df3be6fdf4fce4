// Small programs, each around one op named %r: what is proved about the ops is proved of these.
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

/// The first one is the one that docs/ops.md shows. None for ops that the class says all about
/// (leaves, calls, opaque ops).
std::vector<Example> examplesOf(Opcode opcode, Grid grid);

/// The example as a module: with its frame and the computations that bodies may call (add, lt, ge,
/// neg, step), verified.
llvm::Expected<Module> moduleOf(const Example &example);

} // namespace tilewright::prove
