// KernelPlan: a tiled group with numbers for every parameter.
//
// The interface between analysis and its users: the cost model, code generation and reports see
// only plans. A kernel of another compiler that was measured becomes a plan, too, of that
// compiler's style.
#pragma once

#include "analysis/tiling/device_limits.h"
#include "analysis/tiling/program_style.h"
#include "analysis/tiling/tiled_group.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

enum class Instruction : uint8_t { Fma, MmaSync, Wgmma };
std::string_view toString(Instruction instruction); ///< "fma", "mma.sync", "wgmma"

/// How the CTAs of a kernel are ordered and executed.
struct Schedule {
  int64_t warps = 4;
  int64_t stages = 1; ///< buffers of the pipelined loop; 1: loads are not pipelined
  int64_t splitK = 1; ///< CTAs that share one output tile, each with a part of the contraction
  int64_t groupM = 1; ///< rows of tiles walked together, for L2 reuse
  Instruction instruction = Instruction::Fma;
  bool operator==(const Schedule &) const = default;
};

struct KernelPlan {
  std::string name;
  std::shared_ptr<const Module> module;
  GraphId graph;
  std::shared_ptr<ExprContext> context; ///< owns the expressions of `tiled`
  std::shared_ptr<const TiledGroup> tiled;
  std::vector<int64_t> values; ///< of tiled->space.parameters, in order
  Instruction instruction = Instruction::Fma;
  ProgramStyle style = tilewrightStyle; ///< of the code that it stands for

  const Graph &ops() const { return module->graph(graph); }
  Assignment assignment() const { return tiled->space.assign(values); }
  int64_t value(std::string_view parameter, int64_t otherwise = 1) const;
  Schedule schedule() const; ///< the schedule parameters and the instruction
};

} // namespace tilewright
