#include "codegen/lower.h"

#include "analysis/support/checked.h"
#include "analysis/tiling/code_kind.h"
#include "analysis/tiling/element_work.h"
#include "codegen/chain_lowering.h"
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

namespace {

KernelSignature signatureOf(const Graph &graph, const Lowering::Extras &extras) {
  KernelSignature signature;
  signature.isOutput.assign(graph.parameters().size(), false);
  signature.isOutput.insert(signature.isOutput.end(), resultsOf(graph).size(), true);
  signature.workspaces = static_cast<unsigned>(extras.workspaces.size());
  signature.tensorMaps = extras.tensorMaps;
  return signature;
}

} // namespace

Lowering::Lowering(const KernelSpec &spec, CodeMode mode, unsigned lanes, Extras more)
    : spec(spec), graph(spec.graph()), results(resultsOf(graph)), threads(spec.schedule.warps * 32),
      extras(std::move(more)), inputCount(static_cast<unsigned>(graph.parameters().size())),
      k(symbolOf(spec.name), mode, threads + extras.extraThreads, signatureOf(graph, extras)),
      emitter(k, *spec.module, lanes),
      tid(emitter.variable(VarKind::ProgramId, "tid", Interval::ofExtent(threads), k.threadId())) {}

Expr Lowering::ctaVariable(int64_t grid) {
  return emitter.variable(VarKind::ProgramId, "ctaid", Interval::ofExtent(grid), k.ctaId());
}

Coordinates Lowering::decodeTiles(Expr linear, const std::vector<int64_t> &extents,
                                  const std::vector<int64_t> &tile) {
  std::vector<int64_t> counts, order;
  for (size_t i = 0; i < extents.size(); ++i) {
    counts.push_back(ceilDiv(extents[i], tile[i]));
    order.insert(order.begin(), static_cast<int64_t>(i));
  }
  Coordinates decoded = emitter.delinearize(linear, counts, order);
  // Tile numbers become variables of their own, so that later expressions simplify over small
  // ranges.
  Coordinates result;
  for (size_t i = 0; i < decoded.size(); ++i)
    result.push_back(counts[i] == 1 ? emitter.constant(0)
                                    : emitter.variable(VarKind::ProgramId, "pid",
                                                       Interval::ofExtent(counts[i]),
                                                       emitter.index(decoded[i])));
  return result;
}

KernelModule Lowering::finish(CodeChoice code, int64_t grid, int64_t sharedBytes) && {
  KernelModule kernel = std::move(k).finish();
  if (extras.movesRegisters)
    kernel.setMinCtasPerSm(1);
  kernel.kind = toString(code.kind);
  kernel.code = code;
  kernel.launch = {grid, threads + extras.extraThreads, sharedBytes};
  kernel.workspaces = std::move(extras.workspaces);
  for (OpId id : graph.parameters())
    kernel.parameters.push_back({graph[id].name, graph[id].shape, false});
  for (OpId id : results)
    kernel.parameters.push_back({graph[id].name, graph[id].shape, true});
  return kernel;
}

llvm::Expected<int64_t> tileCount(const std::vector<int64_t> &extents,
                                  const std::vector<int64_t> &tile) {
  constexpr int64_t maxCtas = 2147483647;
  int64_t count = 1;
  for (size_t i = 0; i < extents.size(); ++i) {
    auto product = checkedMul(count, ceilDiv(extents[i], tile[i]));
    if (!product || *product > maxCtas)
      return makeError(DiagClass::Unsupported, "a grid of more than {} CTAs", maxCtas);
    count = *product;
  }
  return count;
}

unsigned lanesFor(const Graph &graph, int64_t extent, int64_t tile) {
  unsigned widest = 8;
  for (const Op &op : graph.all())
    if (!op.shape.isTuple && op.shape.rank() > 0 &&
        (op.opcode == Opcode::Parameter || op.opcode == Opcode::Tuple))
      widest = std::max(widest, bitWidth(op.shape.dtype));
  for (OpId id : resultsOf(graph))
    widest = std::max(widest, bitWidth(graph[id].shape.dtype));
  unsigned lanes = std::max(128 / widest, leastLanes(graph, resultsOf(graph)));
  while (lanes > 1 && (extent % lanes != 0 || tile % lanes != 0))
    lanes /= 2;
  return lanes;
}

llvm::Expected<KernelModule> lowerKernel(const KernelSpec &spec, CodeMode mode) {
  if (auto error = validate(spec))
    return error;
  const Graph &graph = spec.graph();
  const KindOfCode code = kindOfCode(graph, idsOf(graph), resultsOf(graph));
  if (code.kind == CodeKind::Chain)
    return lowerChain(spec, mode);
  if (code.kind == CodeKind::Dot || code.kind == CodeKind::Fused)
    return lowerProducts(spec, code.kind, mode);
  if (spec.schedule.splitK != 1)
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
