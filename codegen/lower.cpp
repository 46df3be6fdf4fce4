#include "codegen/lower.h"

#include "analysis/support/checked.h"
#include "analysis/tiling/code_kind.h"
#include "analysis/tiling/element_work.h"
#include "codegen/lowering.h"

#include <algorithm>
#include <cctype>

namespace tilewright {

std::string symbolOf(const std::string &name) {
  std::string result = "tw_";
  for (char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result.substr(0, 200);
}

llvm::Expected<KernelModule> lowerKernel(const KernelSpec &spec, CodeMode mode) {
  if (auto error = validate(spec))
    return error;
  const Graph &graph = spec.graph();
  const KindOfCode code = kindOfCode(graph, idsOf(graph), resultsOf(graph));
  if (code.kind == CodeKind::Dot || code.kind == CodeKind::Chain || code.kind == CodeKind::Fused)
    return lowerProducts(spec, code.kind, mode);
  if (spec.schedule.splitK != 1 && code.kind != CodeKind::Reduction)
    return makeError(DiagClass::Unsupported,
                     "split_k {} without products of tiles, which it divides among CTAs{}",
                     spec.schedule.splitK, code.why.empty() ? "" : ": " + code.why);
  std::string why = code.why;
  if (code.kind == CodeKind::Reduction) {
    auto kernel = lowerProgram(spec, CodeKind::Reduction, mode);
    if (kernel)
      return kernel;
    Diag refusal = takeDiag(kernel.takeError());
    if (refusal.cls != DiagClass::Unsupported)
      return makeError(std::move(refusal));
    if (spec.schedule.splitK != 1)
      return makeError(std::move(refusal));
    why = std::move(refusal.message);
  }
  auto refusal = whyNotElementwise(graph, idsOf(graph), resultsOf(graph));
  if (!refusal)
    return refusal.takeError();
  if (!refusal->empty())
    return makeError(DiagClass::Unsupported, "{}",
                     code.kind == CodeKind::Reduction ? why : *refusal);
  auto kernel = lowerProgram(spec, CodeKind::Elementwise, mode, code.kind == CodeKind::Reduction);
  if (!kernel) { // reductions of several operands may have a program of rows, or one of loops
    Diag first = takeDiag(kernel.takeError());
    if (first.cls != DiagClass::Unsupported)
      return makeError(std::move(first));
    kernel = lowerProgram(spec, CodeKind::Elementwise, mode, true);
  }
  if (kernel && !why.empty())
    kernel->notes.push_back("each element by loops of one thread: " + why);
  if (kernel || code.kind != CodeKind::Reduction)
    return kernel;
  llvm::consumeError(kernel.takeError());
  return makeError(DiagClass::Unsupported, "{}", why);
}

llvm::Expected<KernelModule> lowerPlan(const KernelPlan &plan, CodeMode mode) {
  auto spec = specOf(plan);
  if (!spec)
    return spec.takeError();
  return lowerKernel(*spec, mode);
}

} // namespace tilewright
