#include "costmodel/spread_kind.h"

#include "analysis/tiling/resources.h"

namespace tilewright {

std::string spreadKindOf(const KernelPlan &plan) {
  if (plan.style.knownResources != KnownResources::Program)
    return "";
  const CodeChoice code = codeOf(plan.ops(), *plan.tiled, plan.instruction);
  std::string kind(toString(code.kind));
  if (hasProducts(code.kind))
    kind += " " + std::string(toString(code.instruction));
  return kind;
}

} // namespace tilewright
