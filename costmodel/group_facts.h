// What all plans of a group have in common, whatever their sizes: found once, when it is first
// asked for. Internal to the cost model.
#pragma once

#include "analysis/program/pass/resources.h"
#include "costmodel/dot_analysis.h"
#include "costmodel/reachable.h"

#include <array>
#include <optional>

namespace tilewright {

/// Of plans of one group and style on one device.
class GroupFacts {
public:
  const CodeChoice &code(const KernelPlan &plan, Instruction instruction) {
    std::optional<CodeChoice> &known = codes[static_cast<size_t>(instruction)];
    return known ? *known : known.emplace(codeOf(plan, instruction));
  }

  const Resources &resources(const KernelPlan &plan, Instruction instruction,
                             const DeviceLimits &limits) {
    std::optional<Resources> &known = taken[static_cast<size_t>(instruction)];
    return known ? *known
                 : known.emplace(
                       kernelResources(*plan.module, plan.ops(), *plan.tiled, instruction, limits));
  }

  const Reachable &reachable(const KernelPlan &plan) {
    return elements ? *elements : elements.emplace(reachableOf(plan.ops(), *plan.tiled));
  }

  const TileMovers &movers(const KernelPlan &plan) {
    return moving ? *moving : moving.emplace(moversOf(*plan.tiled));
  }

private:
  std::array<std::optional<CodeChoice>, 3> codes; ///< by instruction
  std::array<std::optional<Resources>, 3> taken;  ///< by instruction
  std::optional<Reachable> elements;
  std::optional<TileMovers> moving;
};

} // namespace tilewright
