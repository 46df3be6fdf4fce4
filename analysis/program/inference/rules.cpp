#include "analysis/program/inference/rules.h"

#include "analysis/program/layout/images.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tilewright::inference {

using layout::Digit;
using layout::Hardware;
using program::AxisSet;

namespace {

constexpr OpRule ruleTable[] = {
    {NodeKind::Load, "load", LabelOf::Result, NeedOf::Restricted, ResultOf::Label, WorkOf::Access},
    {NodeKind::Store, "store", LabelOf::Operand, NeedOf::Restricted, ResultOf::Nothing,
     WorkOf::Access},
    {NodeKind::Atomic, "atomic", LabelOf::Operand, NeedOf::Restricted, ResultOf::Nothing,
     WorkOf::Atomic},
    {NodeKind::Map, "map", LabelOf::Result, NeedOf::Restricted, ResultOf::Label, WorkOf::Scalars},
    {NodeKind::Reduce, "reduce", LabelOf::Operand, NeedOf::Label, ResultOf::Reduced,
     WorkOf::Reduction},
    {NodeKind::Scan, "scan", LabelOf::Operand, NeedOf::Label, ResultOf::Label, WorkOf::Scan},
    {NodeKind::Dot, "dot", LabelOf::Instruction, NeedOf::Label, ResultOf::Label,
     WorkOf::Instruction},
    {NodeKind::Full, "full", LabelOf::Result, NeedOf::Label, ResultOf::Label, WorkOf::Fill},
    {NodeKind::Carried, "carried value", LabelOf::Result, NeedOf::Label, ResultOf::Label,
     WorkOf::Nothing},
    {NodeKind::Cast, "relayout", LabelOf::Result, NeedOf::Label, ResultOf::Label, WorkOf::Nothing},
    {NodeKind::Buffer, "buffer", LabelOf::Form, NeedOf::Label, ResultOf::Label, WorkOf::Nothing},
    {NodeKind::Read, "read", LabelOf::Result, NeedOf::Label, ResultOf::Label, WorkOf::Nothing},
    {NodeKind::SelectAxis, "select.axis", LabelOf::Operand, NeedOf::Label, ResultOf::Reduced,
     WorkOf::Select},
    {NodeKind::Join, "join", LabelOf::Operand, NeedOf::Label, ResultOf::Joined, WorkOf::Nothing},
    {NodeKind::SumSplits, "sum.splits", LabelOf::Result, NeedOf::Label, ResultOf::Label,
     WorkOf::Sum},
};

int64_t quotientUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

const OpRule &ruleOf(NodeKind kind) { return ruleTable[static_cast<size_t>(kind)]; }

int64_t Rules::words(LayoutId id, unsigned bits) const {
  return quotientUp(table[id].registers * bits, 32);
}

LayoutId Rules::reducedOver(LayoutId id, const TileBox &from, const AxisSet &over) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < from.axes.size(); ++d)
    if (contains(over, from.axes[d]))
      dims.push_back(d);
  return dims.empty() ? id : table.intern(layout::reduced(table[id].layout, dims));
}

LayoutId Rules::restricted(LayoutId id, const TileBox &from, const AxisSet &to) {
  return reducedOver(id, from, program::without(from.axes, to));
}

llvm::Expected<Held> Rules::resultFor(const GraphNode &node, LayoutId id, ResultOf how) {
  switch (how) {
  case ResultOf::Nothing:
    return Held{};
  case ResultOf::Label:
    return Held::layout(id);
  case ResultOf::Reduced:
    return Held::layout(reducedOver(id, node.space, node.over));
  case ResultOf::Joined:
    break;
  }
  const layout::TileLayout &part = table[id].layout;
  layout::TileDims dims = node.result.dims;
  size_t at = 0; // of the new dim
  while (node.result.axes[at] != node.over[0])
    ++at;
  for (size_t d = 0, from = 0; d < dims.size(); ++d)
    if (d != at)
      dims[d].box = part.dims()[from++].box;
  auto moved = [&](const layout::Digits &digits) {
    layout::Digits result = digits;
    for (Digit &digit : result)
      if (!digit.isCopy() && static_cast<size_t>(digit.dim) >= at)
        ++digit.dim;
    return result;
  };
  layout::Digits registers = moved(part.digits(Hardware::Register));
  registers.push_back({dims[at].extent, static_cast<int32_t>(at), 1});
  llvm::Expected<layout::TileLayout> joined = layout::TileLayout::make(
      std::move(dims), std::move(registers), moved(part.digits(Hardware::Lane)),
      moved(part.digits(Hardware::Warp)));
  if (!joined)
    return joined.takeError();
  return Held::layout(table.intern(std::move(*joined)));
}

llvm::Expected<NodeLabel> Rules::labelFor(const GraphNode &node, LayoutId id) {
  const OpRule &rule = ruleOf(node.kind);
  if (rule.label == LabelOf::Instruction)
    return fmaLabel(node, id);
  NodeLabel label;
  label.text = table[id].text;
  label.held = Held::layout(id);
  llvm::Expected<Held> result = resultFor(node, id, rule.result);
  if (!result)
    return result.takeError();
  label.result = *result;
  label.registers = static_cast<uint32_t>(words(id, node.space.bits));
  if (label.result.kind == Held::Kind::Layout)
    label.registers =
        std::max(label.registers, static_cast<uint32_t>(words(label.result.id, node.result.bits)));
  for (const GraphUse &use : node.uses)
    label.needs.push_back(Held::layout(
        rule.need == NeedOf::Restricted ? restricted(id, node.space, use.box.axes) : id));
  if (llvm::Error error = work(node, label, id))
    return error;
  label.own = timesOf(label.own, node.trips);
  return label;
}

llvm::Error Rules::work(const GraphNode &node, NodeLabel &label, LayoutId id) {
  switch (ruleOf(node.kind).work) {
  case WorkOf::Nothing:
  case WorkOf::Instruction:
    break;
  case WorkOf::Access:
  case WorkOf::Atomic:
    return access(node, label, id, ruleOf(node.kind).work == WorkOf::Atomic);
  case WorkOf::Scalars:
    label.own = scalars(node, id);
    break;
  case WorkOf::Reduction:
    label.own = reduction(node, label, id);
    break;
  case WorkOf::Scan:
    return scan(node, label, id);
  case WorkOf::Fill:
    label.own = node.warps * words(id, node.result.bits) * prices.alu;
    break;
  case WorkOf::Select:
    return select(node, label, id);
  case WorkOf::Sum:
    label.own = node.warps * words(id, node.result.bits) * (prices.line + prices.alu);
    break;
  }
  return llvm::Error::success();
}

llvm::Error Rules::access(const GraphNode &node, NodeLabel &label, LayoutId id, bool isAtomic) {
  auto [found, isNew] = accessCosts.try_emplace(std::pair(node.places.get(), id));
  AccessCost &known = found->second;
  if (isNew) {
    const layout::TileLayout &tile = table[id].layout;
    std::vector<int64_t> warps(static_cast<size_t>(table[id].warps));
    std::iota(warps.begin(), warps.end(), 0);
    const int64_t bits = node.places->elementBits();
    const int64_t vector = isAtomic ? 1 : node.places->vectorOf(tile, warps);
    const bool isPart = vector * bits < 8; // of a byte: it is loaded and shifted
    if (!isPart || node.kind == NodeKind::Load) {
      const int64_t width = std::max<int64_t>(1, vector * bits / 8),
                    data = std::max<int64_t>(1, width * 32 / 128);
      int64_t lines = 0, sectors = 0, instructions = 0;
      node.places->forEachAccess(tile, vector, warps, [&](const layout::Sectors &touched) {
        lines += touched.touched > 0 ? std::max(touched.lines, data) : 0;
        sectors += touched.touched;
        instructions += touched.touched > 0 ? (isPart ? 2 : 1) : 0;
      });
      const bool isStore = node.kind != NodeKind::Load;
      const int64_t copies = isStore ? table[id].warpCopies : 1; // one of several holders stores
      const int64_t atomics = isAtomic ? prices.atomic * instructions : 0;
      known.cost =
          (lines * prices.line + instructions * prices.alu + sectors * prices.sector + atomics) /
          copies;
      known.detail = fmt::format("{} B a lane, {} sectors of at least {}", width, sectors / copies,
                                 node.places->least().touched);
    }
  }
  if (known.cost >= impossible)
    return makeError(DiagClass::Unsupported, "a lane stores less than a byte");
  label.own = known.cost;
  label.detail = known.detail;
  return llvm::Error::success();
}

Cost Rules::scalars(const GraphNode &node, LayoutId id) {
  Cost sum = 0;
  for (const ScalarWork &work : node.work) {
    const LayoutId part = restricted(id, node.space, work.axes);
    sum += node.warps * prices.alu *
           (words(part, 32) * work.perElement + words(part, work.bits) * work.perWord);
  }
  return sum;
}

/// In threads, then butterflies over lanes, then a slot of each warp in shared memory.
Cost Rules::reduction(const GraphNode &node, NodeLabel &label, LayoutId id) {
  const layout::TileLayout &tile = table[id].layout;
  int64_t lanes = 1, warps = 1;
  for (Hardware axis : {Hardware::Lane, Hardware::Warp})
    for (const Digit &digit : tile.digits(axis))
      if (!digit.isCopy() && contains(node.over, node.space.axes[static_cast<size_t>(digit.dim)]))
        (axis == Hardware::Lane ? lanes : warps) *= digit.extent;
  const int64_t before = words(id, 32) * static_cast<int64_t>(node.resultCount);
  const int64_t after = words(label.result.id, 32) * static_cast<int64_t>(node.resultCount);
  const int64_t steps = std::bit_width(static_cast<uint64_t>(lanes)) - 1;
  Cost cost = node.warps * prices.alu * (before - after) +
              node.warps * after * steps * (prices.shuffle + prices.alu);
  if (warps > 1) // each leaves its words, and reads those of all
    cost += node.warps * after * ((1 + warps) * prices.pass + warps * prices.alu) +
            (node.isInLoop ? 2 : 1) * prices.barrier;
  label.detail = fmt::format("{} shuffles a warp{}", after * steps,
                             warps > 1 ? ", warps through shared memory" : "");
  return cost;
}

/// Threads scan neighbours, lanes in order follow them, and warps are slowest: along the axis
/// registers, lanes and warps come in this order.
llvm::Error Rules::scan(const GraphNode &node, NodeLabel &label, LayoutId id) {
  const layout::TileLayout &tile = table[id].layout;
  size_t dim = 0;
  while (node.space.axes[dim] != node.over[0])
    ++dim;
  int64_t lanes = 1, inThread = 1;
  for (Hardware axis : layout::allHardware)
    for (const Digit &digit : tile.digits(axis)) {
      if (digit.isCopy() || static_cast<size_t>(digit.dim) != dim)
        continue;
      if (axis == Hardware::Warp)
        return makeError(DiagClass::Unsupported,
                         "a scan goes along {} within a warp, not across "
                         "warps",
                         tile.dims()[dim].name);
      (axis == Hardware::Lane ? lanes : inThread) *= digit.extent;
    }
  const int64_t steps = std::bit_width(static_cast<uint64_t>(lanes)) - 1;
  const int64_t all = words(id, 32), rows = all / inThread;
  label.own = node.warps * (all * prices.alu * 2 + rows * steps * (prices.shuffle + prices.alu));
  label.detail = fmt::format("{} shuffles a warp", rows * steps);
  return llvm::Error::success();
}

llvm::Error Rules::select(const GraphNode &node, NodeLabel &label, LayoutId id) {
  const layout::TileLayout &tile = table[id].layout;
  bool isInLanes = false;
  for (Hardware axis : {Hardware::Lane, Hardware::Warp})
    for (const Digit &digit : tile.digits(axis))
      if (!digit.isCopy() && node.space.axes[static_cast<size_t>(digit.dim)] == node.over[0]) {
        if (axis == Hardware::Warp)
          return makeError(DiagClass::Unsupported,
                           "{} is spread over warps along the axis that is selected from",
                           node.uses[0].value);
        isInLanes = true;
      }
  const int64_t before = words(id, node.space.bits);
  const int64_t after = words(label.result.id, node.result.bits);
  label.own = node.warps * ((before - after) * prices.alu +
                            (isInLanes ? after * (prices.shuffle + prices.alu) : 0));
  return llvm::Error::success();
}

bool Rules::isInOrderOf(const GraphNode &node, const SharedForm &form) const {
  const std::vector<program::AxisId> &order = p[node.buffer].order;
  for (size_t n = 0; n < form.order.size(); ++n)
    if (node.space.axes[form.order[n]] != order[n])
      return false;
  return true;
}

std::vector<NodeLabel> Rules::formLabels(const GraphNode &node, std::optional<FormId> given) {
  std::vector<NodeLabel> result;
  std::vector<FormId> forms = table.formsOf(node.space.dims, node.space.bits);
  if (given && std::find(forms.begin(), forms.end(), *given) == forms.end())
    forms.push_back(*given);
  for (FormId id : forms) {
    const SharedForm &form = table.form(id);
    if (node.isCopied && !isInOrderOf(node, form))
      continue;
    NodeLabel label;
    label.text = form.text;
    label.held = label.result = Held::form(id);
    label.needs.assign(node.uses.size(), Held::form(id));
    result.push_back(std::move(label));
  }
  return result;
}

} // namespace tilewright::inference
