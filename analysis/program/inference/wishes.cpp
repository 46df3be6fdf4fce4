// Layouts that the text and the user give: casts, preferences, and what the program has.
#include "analysis/program/inference/layout_problem.h"
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/program_layouts.h"
#include "analysis/program/layout_text.h"
#include "analysis/program/pending_reads.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::inference {

llvm::Expected<LayoutId> LayoutProblem::layoutOf(uint32_t n, const std::string &text) {
  const GraphNode &node = tiles.nodes[n];
  llvm::Expected<layout::TileLayout> tile = [&]() -> llvm::Expected<layout::TileLayout> {
    if (text.empty() || text.front() != '@')
      return layout::instantiate(text, node.result.dims);
    llvm::Expected<program::LayoutSpec> spec =
        program::parseLayoutSpec(p, std::make_shared<SourceBuffer>("layout", text));
    if (!spec)
      return spec.takeError();
    return layout::tileLayoutOf(
        p, p.layoutFor(*spec, node.result.axes, p[node.value].tile.type, node.role),
        node.result.axes);
  }();
  if (!tile)
    return tile.takeError();
  if (std::string fault = tile->fault(); !fault.empty())
    return makeError(DiagClass::BadInput, "{} does not hold {}: {}", text, node.name, fault);
  constexpr int64_t lanesOfWarp = 32;
  if (const int64_t lanes = tile->count(layout::Hardware::Lane); lanes != lanesOfWarp)
    return makeError(DiagClass::BadInput, "{} is of {} lanes, a warp has {}", text, lanes,
                     lanesOfWarp);
  if (const int64_t warps = tile->count(layout::Hardware::Warp); warps != node.warps)
    return makeError(DiagClass::BadInput, "{} is of {} warps, {} has {}", text, warps, node.name,
                     node.warps);
  return layouts.intern(std::move(*tile));
}

/// A conversion behind a node, for all that uses its result.
uint32_t LayoutProblem::insertCast(uint32_t n) {
  const auto id = static_cast<uint32_t>(tiles.nodes.size());
  for (GraphNode &node : tiles.nodes)
    for (GraphUse &use : node.uses)
      if (use.from == n)
        use.from = id;
  const GraphNode &from = tiles.nodes[n];
  GraphNode cast;
  cast.kind = NodeKind::Cast;
  cast.name = fmt::format("cast of {}", from.name);
  cast.op = from.op;
  cast.role = from.role;
  cast.warps = from.warps;
  cast.trips = from.trips;
  cast.isInLoop = from.isInLoop;
  cast.space = cast.result = from.result;
  cast.hasResult = true;
  cast.uses.push_back({n, from.result, from.name, from.trips});
  tiles.nodes.push_back(std::move(cast));
  return id;
}

llvm::Error LayoutProblem::addCast(uint32_t n, const std::string &text) {
  llvm::Expected<LayoutId> layout = layoutOf(n, text);
  if (!layout)
    return layout.takeError();
  std::string value = tiles.nodes[n].name;
  const bool isOwn = ruleOf(tiles.nodes[n].kind).result == ResultOf::Label &&
                     ruleOf(tiles.nodes[n].kind).label != LabelOf::Instruction;
  if (!casts.try_emplace(isOwn ? n : insertCast(n), GivenCast{*layout, value, text}).second)
    return makeError(DiagClass::BadInput, "{} is cast twice", value);
  return llvm::Error::success();
}

llvm::Error LayoutProblem::readWishes() {
  for (uint32_t n = 0; n < tiles.nodes.size(); ++n)
    if (tiles.nodes[n].kind == NodeKind::Cast) {
      const program::Op &op = *tiles.nodes[n].op;
      const std::string text = program::printOp(p, op);
      if (llvm::Error error = addCast(n, text.substr(text.find('@')))) {
        Diag diag = takeDiag(std::move(error));
        return p.errorAt(op.where, diag.message, diag.cls);
      }
    }
  for (const LayoutWish &wish : choices.wishes) {
    auto found = std::find_if(tiles.nodes.begin(), tiles.nodes.end(), [&](const GraphNode &node) {
      return node.value.isValid() && node.kind != NodeKind::Buffer && node.name == wish.value;
    });
    if (found == tiles.nodes.end())
      return makeError(DiagClass::BadInput, "no value {} to give a layout to", wish.value);
    const auto n = static_cast<uint32_t>(found - tiles.nodes.begin());
    if (wish.isHard) {
      if (llvm::Error error = addCast(n, wish.layout))
        return error;
      continue;
    }
    llvm::Expected<LayoutId> layout = layoutOf(n, wish.layout);
    if (!layout)
      return layout.takeError();
    preferences.insert_or_assign(n, *layout);
  }
  return llvm::Error::success();
}

void LayoutProblem::readGiven() {
  for (uint32_t n = 0; n < tiles.nodes.size(); ++n) {
    const GraphNode &node = tiles.nodes[n];
    if (node.kind == NodeKind::Buffer) {
      llvm::Expected<layout::SharedLayout> shared = layout::sharedLayoutOf(p, p[node.buffer]);
      if (!shared) {
        llvm::consumeError(shared.takeError());
        continue;
      }
      std::vector<size_t> order;
      for (program::AxisId axis : p[node.buffer].order)
        order.push_back(
            static_cast<size_t>(std::find(node.space.axes.begin(), node.space.axes.end(), axis) -
                                node.space.axes.begin()));
      givenForms.emplace(n, layouts.addForm(node.space.dims, std::move(order), std::move(*shared),
                                            p[node.buffer].swizzle));
      continue;
    }
    const auto *store = node.op->as<program::StoreOp>();
    const bool isStore = node.kind == NodeKind::Store && store;
    if (!isStore && !node.value.isValid())
      continue;
    llvm::Expected<layout::TileLayout> tile = layout::tileLayoutOf(
        p,
        isStore ? program::heldAs(p, store->value, node.space.axes, store->layout, node.role)
                : p[node.value].tile.layout,
        isStore ? node.space.axes : node.result.axes);
    if (!tile)
      llvm::consumeError(tile.takeError());
    else if (tile->fault().empty() && tile->count(layout::Hardware::Warp) == node.warps &&
             tile->count(layout::Hardware::Lane) == 32)
      given.emplace(n, layouts.intern(std::move(*tile)));
  }
}

} // namespace tilewright::inference
