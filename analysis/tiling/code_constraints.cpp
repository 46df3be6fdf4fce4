#include "analysis/tiling/code_constraints.h"

#include "analysis/tiling/element_work.h"
#include "analysis/tiling/resources.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

/// Results share bytes only among the elements of one thread, which follow each other in memory.
void addWholeBytes(const Graph &graph, TiledGroup &group, unsigned root) {
  const TileInstance &instance = group.instances[root];
  const Op &op = graph[instance.op];
  const unsigned bits = op.shape.isTuple ? 0 : bitWidth(op.shape.dtype);
  if (bits == 0 || bits >= 8)
    return;
  const int64_t shared = 8 / bits;
  auto need = [&](Formula formula, int dim, std::string text, std::vector<Expr> args) {
    group.constraints.push_back(
        {std::move(formula),
         {instance.op, "%" + op.name, -1, dim, "whole-bytes", std::move(text), std::move(args)}});
  };
  if (op.shape.rank() == 0 || op.shape.elementCount().value_or(0) == 0)
    return;
  const int64_t fastest = op.shape.minorToMajorOrDefault()[0];
  const auto dim = static_cast<size_t>(fastest);
  const Expr size = instance.tile.dims[dim].size;
  const std::string because =
      fmt::format("{} elements of {} share a byte", shared, toString(op.shape.dtype));
  if (op.shape.dims[dim] % shared != 0)
    need(Formula::constant(false), int(fastest),
         fmt::format("its {} elements a row are no whole bytes, since {}", op.shape.dims[dim],
                     because),
         {});
  else
    need(Formula::divides(size.context().constant(shared), size), int(fastest),
         fmt::format("tile {{0}} must be a multiple of {}, since {}", shared, because), {size});
}

} // namespace

void addCodeConstraints(const Graph &graph, TiledGroup &group) {
  for (unsigned root : group.roots)
    addWholeBytes(graph, group, root);
  if (codeOf(graph, group, Instruction::Fma).kind != CodeKind::Elementwise)
    return;
  auto refusal = whyNotElementwise(graph, group.group.ops, group.group.roots);
  if (!refusal) { // an op without index maps has no tiles, either
    llvm::consumeError(refusal.takeError());
    return;
  }
  const OpId root = group.group.roots.back();
  if (!refusal->empty())
    group.constraints.push_back({Formula::constant(false),
                                 {root, "%" + graph[root].name, -1, -1, "no-code", *refusal, {}}});
}

} // namespace tilewright
