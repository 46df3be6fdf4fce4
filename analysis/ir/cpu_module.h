// Whose module is it: signs that a module was compiled, or lowered, for a CPU.
//
// JAX without a GPU prints modules for the CPU that it runs on. Priced as a GPU's they are wrong by
// a factor of several, and nothing in their form is an error, so they are recognised by what only
// XLA's CPU compiler writes and by what JAX lowers otherwise for a CPU.
#pragma once

#include "analysis/ir/graph.h"

#include <optional>
#include <string>

namespace tilewright {

struct CpuSign {
  GraphId graph;
  OpId op;
  bool isCompiled = false; ///< compiled for a CPU; else lowered for one
  std::string what;        ///< "a fusion of kind __ynn_fusion"

  /// A note for people: what it is, what follows, and what to give instead.
  std::string note() const;
};

/// The first sign of a module in file order; signs of the compiler before those of lowering.
std::optional<CpuSign> cpuSign(const Module &module);

} // namespace tilewright
