#include "analysis/import/summary.h"

#include "analysis/ir/annotation.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace tilewright {

std::string opaqueReason(const Graph &graph, const Op &op) {
  if (isAnnotation(graph, op))
    return "";
  std::string_view opcode = toString(op.opcode);
  switch (opClass(op.opcode)) {
  case OpClass::Elementwise:
  case OpClass::Structured:
  case OpClass::Leaf:
  case OpClass::Tuple:
    return "";
  case OpClass::Collective:
    return fmt::format("{}: exchanges data between devices", opcode);
  case OpClass::Call:
    if (op.opcode == Opcode::Call || op.opcode == Opcode::Fusion)
      return ""; // can be inlined
    return fmt::format("{}: runs computations", opcode);
  case OpClass::Opaque:
    break;
  }
  if (op.opcode == Opcode::Sort && op.attrs.dimensions.size() == 1)
    return fmt::format("sort along dim {}", op.attrs.dimensions[0]);
  if (op.opcode == Opcode::CustomCall)
    return fmt::format("custom-call to \"{}\"", op.attrs.customCallTarget);
  return fmt::format("{}: has no index map", opcode);
}

ModuleSummary summarize(const Module &module) {
  ModuleSummary summary;
  summary.module = module.name;
  summary.computations = module.all().size();
  constexpr size_t opcodes = static_cast<size_t>(Opcode::Xor) + 1;
  std::array<size_t, opcodes> counts{};
  summary.constantBytes = summary.parameterBytes = 0;
  auto add = [](std::optional<int64_t> &sum, const Shape &shape) {
    std::optional<int64_t> bytes = shape.byteSize();
    sum = sum && bytes ? checkedAdd(*sum, *bytes) : std::nullopt;
  };
  for (const Graph &graph : module.all()) {
    summary.ops += graph.size();
    for (const Op &op : graph.all()) {
      ++counts[static_cast<size_t>(op.opcode)];
      if (op.opcode == Opcode::Constant) {
        add(summary.constantBytes, op.shape);
        summary.elidedConstants += op.isElidedConstant();
      }
      if (std::string reason = opaqueReason(graph, op); !reason.empty())
        summary.opaque.push_back({graph.name(), op.name, std::move(reason), op.loc});
    }
  }
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      summary.opCounts.emplace_back(toString(static_cast<Opcode>(i)), counts[i]);
  std::sort(summary.opCounts.begin(), summary.opCounts.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });

  const Graph &entry = module.entry();
  summary.entry = entry.name();
  summary.entryOps = entry.size();
  for (OpId id : entry.parameters()) {
    const Op &op = entry.op(id);
    summary.parameters.push_back({op.name, op.shape.str(false), op.shape.byteSize().value_or(0)});
    add(summary.parameterBytes, op.shape);
  }
  const Shape &result = entry.op(entry.root()).shape;
  summary.resultShape = result.str(false);
  summary.resultBytes = result.byteSize().value_or(0);
  return summary;
}

} // namespace tilewright
