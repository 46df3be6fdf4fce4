// Labels of dots: instruction variants with what they take of their operands; and floors.
#include "analysis/program/inference/rules.h"
#include "analysis/program/layout/program_layouts.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::inference {

using program::AxisId;
using program::AxisSet;
using program::DotWay;
using program::LayoutFamily;

namespace {

int64_t extentAlong(const TileBox &box, AxisId axis) {
  for (size_t d = 0; d < box.axes.size(); ++d)
    if (box.axes[d] == axis)
      return box.dims[d].extent;
  return 1;
}

/// Products of a dot, and the bits of its wider operand.
struct DotSize {
  int64_t products = 1, bits = 16;
};
DotSize sizeOf(const GraphNode &node) {
  DotSize size;
  size.products = node.result.elements();
  size.bits = std::max(node.uses[0].box.bits, node.uses[1].box.bits);
  for (AxisId axis : node.over)
    size.products *=
        std::max(extentAlong(node.uses[0].box, axis), extentAlong(node.uses[1].box, axis));
  return size;
}

Cost matrixCost(const GraphNode &node, const LayoutPrices &prices) {
  DotSize size = sizeOf(node);
  const auto *dot = node.op->as<program::DotOp>();
  return size.products * size.bits * 4 * static_cast<int64_t>(dot->products) /
         prices.tensorBitsPerClock;
}

/// An operand of a matrix instruction.
struct MatrixOperand {
  const GraphUse *use;
  bool isMemory; ///< a buffer
  AxisSet free;
};

} // namespace

/// By fma: threads go over the contracted axis with what they hold of the result.
llvm::Expected<NodeLabel> Rules::fmaLabel(const GraphNode &node, LayoutId id) {
  NodeLabel label;
  label.text = table[id].text;
  label.held = label.result = Held::layout(id);
  label.registers = static_cast<uint32_t>(words(id, node.result.bits));
  const layout::TileLayout &sum = table[id].layout;
  for (size_t n = 0; n < node.uses.size(); ++n) {
    const TileBox &box = node.uses[n].box;
    if (n == 2) {
      label.needs.push_back(Held::layout(id));
      continue;
    }
    // What a thread multiplies: its rows or columns, all of the contracted axis.
    std::array<layout::Digits, 3> lists;
    layout::TileDims dims = box.dims;
    for (layout::Hardware axis : layout::allHardware)
      for (layout::Digit digit : sum.digits(axis)) {
        const AxisId along = digit.isCopy() ? AxisId{} : node.space.axes[size_t(digit.dim)];
        auto found = std::find(box.axes.begin(), box.axes.end(), along);
        if (found == box.axes.end()) {
          if (axis == layout::Hardware::Register)
            continue;
          digit.dim = layout::Digit::noDim;
          digit.stride = 0;
        } else {
          digit.dim = static_cast<int32_t>(found - box.axes.begin());
          dims[size_t(digit.dim)].box =
              sum.dims()[static_cast<size_t>(
                             std::find(node.space.axes.begin(), node.space.axes.end(), along) -
                             node.space.axes.begin())]
                  .box;
        }
        lists[static_cast<size_t>(axis)].push_back(digit);
      }
    for (size_t d = box.axes.size(); d-- > 0;)
      if (contains(node.over, box.axes[d]))
        lists[0].push_back({dims[d].extent, static_cast<int32_t>(d), 1});
    llvm::Expected<layout::TileLayout> need = layout::TileLayout::make(
        std::move(dims), std::move(lists[0]), std::move(lists[1]), std::move(lists[2]));
    if (!need)
      return need.takeError();
    label.needs.push_back(Held::layout(table.intern(std::move(*need))));
  }
  const DotSize size = sizeOf(node);
  const int64_t depth = size.products / std::max<int64_t>(1, node.result.elements());
  label.own = timesOf(node.warps * table[id].registers * depth * prices.alu, node.trips);
  return label;
}

std::vector<NodeLabel> Rules::instructionLabels(const GraphNode &node, const TileGraph &graph,
                                                std::string &reason) {
  const auto *dot = node.op->as<program::DotOp>();
  const bool isGroup = dot->way == DotWay::Wgmma;
  std::vector<NodeLabel> result;
  std::array<MatrixOperand, 2> operands;
  for (size_t n = 0; n < 2; ++n) {
    const GraphUse &use = node.uses[n];
    operands[n] = {&use, graph.nodes[use.from].kind == NodeKind::Buffer,
                   program::without(use.box.axes, node.over)};
  }
  if (node.space.axes.size() < 2 || operands[0].free.size() != 1 || node.over.size() != 1) {
    reason = fmt::format("{} takes matrices of rows, columns and one contracted axis",
                         program::toString(dot->way));
    return result;
  }
  const int64_t units = isGroup ? node.warps / 4 : node.warps;
  const int64_t rows = node.space.dims[node.space.dims.size() - 2].extent;
  const int64_t columns = node.space.dims.back().extent, high = isGroup ? 64 : 16;
  if (isGroup && node.warps % 4 != 0) {
    reason = fmt::format("wgmma takes warps in fours, the role has {}", node.warps);
    return result;
  }
  // Forms that wgmma's descriptors take: swizzled panels, of less than 16 bits along the
  // contracted axis only.
  auto formsOf = [&](const MatrixOperand &operand) {
    std::vector<FormId> forms;
    for (FormId id : table.formsOf(operand.use->box.dims, operand.use->box.bits)) {
      const SharedForm &form = table.form(id);
      const bool isAlong = contains(node.over, operand.use->box.axes[form.order.back()]);
      const GraphNode &from = graph.nodes[operand.use->from];
      if (operand.isMemory && from.isCopied && !isInOrderOf(from, form))
        continue;
      if (form.swizzle != 0 && (isAlong || operand.use->box.bits == 16))
        forms.push_back(id);
    }
    return forms;
  };
  const int64_t elementBits = sizeOf(node).bits;
  for (int64_t r = 1; r <= units; ++r) {
    if (units % r != 0 || rows % (r * high) != 0 || columns % (units / r * 8) != 0)
      continue;
    const int64_t c = units / r;
    program::LayoutSpec spec{
        isGroup ? LayoutFamily::Wgmma : LayoutFamily::Mma, {p.number(r), p.number(c)}, {}};
    llvm::Expected<layout::TileLayout> sums = layout::tileLayoutOf(
        p, p.layoutFor(spec, node.space.axes, DType::F32, node.role), node.space.axes);
    if (!sums) {
      reason = takeDiag(sums.takeError()).message;
      continue;
    }
    const LayoutId sum = table.intern(std::move(*sums));
    auto fragment = [&](size_t n) -> std::optional<LayoutId> {
      program::FragmentShape shape;
      shape.rows = {operands[n].free[0], p.resolved(p[operands[n].free[0]].extent)};
      shape.contracted = {node.over[0], p.resolved(p[node.over[0]].extent)};
      shape.r = p.number(r);
      shape.c = p.number(c);
      shape.isLeft = n == 0;
      shape.isGroup = isGroup;
      llvm::Expected<layout::TileLayout> held = layout::tileLayoutOf(
          p, program::operandFragment(shape, operands[n].use->box.bits), operands[n].use->box.axes);
      if (!held) {
        llvm::consumeError(held.takeError());
        return std::nullopt;
      }
      return table.intern(std::move(*held));
    };
    std::array<std::vector<std::pair<Held, std::string>>, 2> sources;
    for (size_t n = 0; n < 2; ++n) {
      const char *side = n == 0 ? "A" : "B";
      if (!isGroup || (n == 0 && !operands[n].isMemory))
        if (std::optional<LayoutId> id = fragment(n))
          sources[n].emplace_back(Held::layout(*id), fmt::format("{} in registers", side));
      if (isGroup)
        for (FormId form : formsOf(operands[n]))
          sources[n].emplace_back(Held::form(form),
                                  fmt::format("{} in {}", side, table.form(form).text));
    }
    for (const auto &[left, leftText] : sources[0])
      for (const auto &[right, rightText] : sources[1]) {
        NodeLabel label;
        label.text = fmt::format("{} x {} {}, {}, {}", r, c, isGroup ? "warpgroups" : "warps",
                                 leftText, rightText);
        label.held = label.result = Held::layout(sum);
        label.needs = {left, right};
        if (node.uses.size() > 2)
          label.needs.push_back(Held::layout(sum));
        label.registers = static_cast<uint32_t>(words(sum, node.result.bits));
        label.own = timesOf(matrixCost(node, prices), node.trips);
        result.push_back(std::move(label));
      }
  }
  if (result.empty() && reason.empty())
    reason = fmt::format("{} x {} results for {} {}: {} takes multiples of {} x 8 for each, of {} "
                         "bits",
                         rows, columns, units, isGroup ? "warpgroups" : "warps",
                         program::toString(dot->way), high, elementBits);
  return result;
}

/// Whatever the layouts, values go into shared memory and come out of it once.
Cost Rules::sharedFloorOf(const GraphNode &node, const TileGraph &graph) const {
  const auto *dot = node.op->as<program::DotOp>();
  if (node.kind == NodeKind::Dot && dot->way == DotWay::Wgmma)
    return 0;
  const bool isBuffer = node.kind == NodeKind::Buffer;
  Cost sum = 0;
  for (const GraphUse &use : node.uses)
    if (isBuffer || graph.nodes[use.from].kind == NodeKind::Buffer)
      sum += use.trips * ((use.box.elements() * use.box.bits + 1023) / 1024 * prices.pass +
                          (isBuffer ? prices.barrier : 0));
  return sum;
}

Cost Rules::floorOf(const GraphNode &node, const TileGraph &graph) const {
  return sharedFloorOf(node, graph) + ownFloorOf(node);
}

Cost Rules::ownFloorOf(const GraphNode &node) const {
  const int64_t elements = node.space.elements();
  switch (ruleOf(node.kind).work) {
  case WorkOf::Access:
  case WorkOf::Atomic: {
    const layout::Sectors least = node.places->least();
    const int64_t bits = node.places->count() * node.places->elementBits();
    return node.trips *
           (least.touched * prices.sector + std::max(least.lines, bits / 1024) * prices.line +
            bits / 4096 * prices.alu);
  }
  case WorkOf::Scalars: {
    Cost sum = 0;
    for (const ScalarWork &work : node.work) {
      int64_t count = 1;
      for (size_t d = 0; d < node.space.axes.size(); ++d)
        if (contains(work.axes, node.space.axes[d]))
          count *= node.space.dims[d].extent;
      sum += (count + 31) / 32 * work.perElement + (count * work.bits + 1023) / 1024 * work.perWord;
    }
    return node.trips * sum * prices.alu;
  }
  case WorkOf::Reduction:
    return node.trips * prices.alu *
           (std::max<int64_t>(0, elements - node.result.elements() + 31) / 32);
  case WorkOf::Instruction: {
    const auto *dot = node.op->as<program::DotOp>();
    return node.trips * (dot->way == DotWay::Fma ? sizeOf(node).products / 32 * prices.alu
                                                 : matrixCost(node, prices));
  }
  case WorkOf::Fill:
    return node.trips * prices.alu * ((elements * node.result.bits + 1023) / 1024);
  default:
    return 0;
  }
}

} // namespace tilewright::inference
