#include "analysis/tiling/code_constraints.h"

#include "analysis/tiling/element_work.h"
#include "analysis/tiling/resource_view.h"
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

/// A tile of a convolution in groups of features lies within one: others have other inputs.
void addFeatureGroups(const Graph &graph, TiledGroup &group) {
  const ResourceView view(graph, group);
  for (unsigned i = 0; i < group.instances.size(); ++i) {
    const Op &op = view.op(i);
    if (!view.isDot(i) || op.opcode != Opcode::Convolution || op.attrs.featureGroupCount == 1)
      continue;
    const int64_t features =
        graph[op.operands[1]].shape.dims[static_cast<size_t>(op.attrs.conv.kernelOutput)] /
        op.attrs.featureGroupCount;
    auto need = [&](Formula formula, std::string text, std::vector<Expr> args) {
      group.constraints.push_back({std::move(formula),
                                   {group.instances[i].op, "%" + op.name, -1, -1, "feature-group",
                                    std::move(text), std::move(args)}});
    };
    const std::vector<DotSide> sides = dotSides(view, i);
    Expr wide = view.constant(0);
    for (size_t dim = 0; dim < sides.size(); ++dim)
      if (sides[dim] == DotSide::Columns)
        wide = wide + isAtLeast(view.rootTile[dim], view.constant(2));
    const Expr columns = dotTiles(view, i).columns, all = view.constant(features);
    need(Formula::divides(columns, all),
         "n tile {0} must divide the {1} output features of a group", {columns, all});
    need(Formula::lessEqual(wide, view.constant(1)),
         "output features of a tile come from {0} dims, of at most 1 in groups of features",
         {wide});
  }
}

/// CTAs can share the sum of a product of tiles, or of rows, alone.
void addNoSplit(const Graph &graph, TiledGroup &group, const KindOfCode &code) {
  const TileParameter &split = *group.space.find("split_k");
  if (code.kind == CodeKind::Dot || code.kind == CodeKind::Reduction || split.largest() == 1)
    return;
  const OpId root = group.group.roots.back();
  const std::string where = code.kind == CodeKind::Chain ? "behind another dot"
                            : code.why.empty()           ? "without products of tiles"
                                                         : "without products of tiles: " + code.why;
  group.constraints.push_back({Formula::lessEqual(split.size, split.size.context().constant(1)),
                               {root,
                                "%" + graph[root].name,
                                -1,
                                -1,
                                "no-split",
                                "{0} CTAs share a sum, of at most 1 " + where,
                                {split.size}}});
}

} // namespace

void addCodeConstraints(const Graph &graph, TiledGroup &group) {
  const KindOfCode code = kindOfCode(graph, group);
  for (unsigned root : group.roots)
    addWholeBytes(graph, group, root);
  addNoSplit(graph, group, code);
  if (code.kind == CodeKind::Dot)
    addFeatureGroups(graph, group);
  if (code.kind != CodeKind::Elementwise)
    return;
  auto refusal = whyNotElementwise(graph, group.group.ops, group.group.roots);
  if (!refusal) { // an op without index maps has no tiles, either
    llvm::consumeError(refusal.takeError());
    return;
  }
  const OpId root = group.group.roots.back();
  if (refusal->empty())
    return;
  std::string text = *refusal;
  if (!code.why.empty())
    text += fmt::format("; loops are what is left, since {}; make them separate kernels", code.why);
  group.constraints.push_back(
      {Formula::constant(false), {root, "%" + graph[root].name, -1, -1, "no-code", text, {}}});
}

} // namespace tilewright
