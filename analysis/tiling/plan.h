// KernelPlan: a tiled group with numbers for every parameter.
//
// The hinge between analysis and everything after it: the cost model, code generation and reports
// see only the plan, never where it came from. A measurement made by another compiler becomes a
// plan too.
#pragma once

#include "analysis/tiling/device_limits.h"
#include "analysis/tiling/tiled_group.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

enum class Instruction : uint8_t { Fma, MmaSync, Wgmma };
std::string_view toString(Instruction instruction); ///< "fma", "mma.sync", "wgmma"

/// How the programs of a kernel are ordered and executed.
struct Schedule {
  int64_t warps = 4;
  int64_t stages = 1; ///< buffers of the pipelined loop; 1: loads are not pipelined
  int64_t splitK = 1; ///< programs that share one output tile, adding with atomics
  int64_t groupM = 1; ///< rows of tiles that are walked together, for L2 reuse
  Instruction instruction = Instruction::Fma;
  bool operator==(const Schedule &) const = default;
};

/// Whose code a plan stands for: what it takes of registers and of shared memory, and how many
/// threads beside the plan's warps, follows from how its compiler makes kernels.
enum class Compiler : uint8_t {
  Own,    ///< our code generation
  Triton, ///< as the kernels of others that were measured
};

struct KernelPlan {
  std::string name;
  std::shared_ptr<const Module> module;
  GraphId graph;
  std::shared_ptr<ExprContext> context; ///< owns the expressions of `tiled`
  std::shared_ptr<const TiledGroup> tiled;
  std::vector<int64_t> values; ///< of tiled->space.parameters, in order
  Instruction instruction = Instruction::Fma;
  Compiler compiler = Compiler::Own;

  const Graph &ops() const { return module->graph(graph); }
  Assignment assignment() const { return tiled->space.assign(values); }
  int64_t value(std::string_view parameter, int64_t otherwise = 1) const;
  Schedule schedule() const; ///< the schedule parameters and the instruction
};

} // namespace tilewright
