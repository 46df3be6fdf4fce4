// Ops that run computations.
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/ir/quotes.h"
#include "analysis/support/printable.h"

#include <fmt/format.h>

namespace tilewright::stablehlo {

namespace {

bool isBinary(Opcode opcode) {
  switch (opcode) {
  case Opcode::Add:
  case Opcode::And:
  case Opcode::Atan2:
  case Opcode::Divide:
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Multiply:
  case Opcode::Or:
  case Opcode::Power:
  case Opcode::Remainder:
  case Opcode::ShiftLeft:
  case Opcode::ShiftRightArithmetic:
  case Opcode::ShiftRightLogical:
  case Opcode::Subtract:
  case Opcode::Xor:
    return true;
  default:
    return false;
  }
}

} // namespace

bool lowerReduce(Lowering &l) {
  Op op = l.make(Opcode::Reduce);
  GraphId reducer;
  if (!l.need("dimensions") || !l.integers("dimensions", op.attrs.dimensions))
    return false;
  if (const Attribute *applies = l.text.attributes.take("applies")) {
    const std::string_view name = l.reader.lexer.slice(applies->value);
    const OpRow *row = findOp(name);
    const bool isKnown = row && row->lower == lowerDirect && isBinary(row->opcode);
    if (!l.hasOperands(2))
      return false;
    if (!isKnown || l.operand(0).isTuple)
      return l.failAt(applies->offset, fmt::format("'{}' is no op on two values", excerpt(name)));
    const DType type = l.operand(0).dtype;
    reducer = l.reader.named(fmt::format("{}.{}", toString(row->opcode), toString(type)),
                             makeReducer, row->opcode, type, l.loc());
  } else if (!l.hasRegions(1) || !l.reducer(0, reducer)) {
    return false;
  }
  op.called.push_back({CallRole::ToApply, reducer});
  return l.finish(std::move(op));
}

bool lowerReduceWindow(Lowering &l) {
  Op op = l.make(Opcode::ReduceWindow);
  std::vector<int64_t> sizes;
  GraphId reducer;
  if (!l.hasRegions(1) || !l.need("window_dimensions") || !l.integers("window_dimensions", sizes) ||
      !windowOf(l, sizes, "base_dilations", "window_dilations", op.attrs.window) ||
      !l.reducer(0, reducer))
    return false;
  op.called.push_back({CallRole::ToApply, reducer});
  return l.finish(std::move(op));
}

bool lowerSelectAndScatter(Lowering &l) {
  Op op = l.make(Opcode::SelectAndScatter);
  std::vector<int64_t> sizes;
  GraphId select, scatter;
  if (!l.hasRegions(2) || !l.need("window_dimensions") || !l.integers("window_dimensions", sizes) ||
      !windowOf(l, sizes, "", "", op.attrs.window) || !l.reducer(0, select) ||
      !l.reducer(1, scatter))
    return false;
  op.called = {{CallRole::Select, select}, {CallRole::Scatter, scatter}};
  return l.finish(std::move(op));
}

bool lowerSort(Lowering &l) {
  Op op = l.make(Opcode::Sort);
  int64_t dim = -1;
  bool isStable = false;
  GraphId comparator;
  if (l.text.operands.empty())
    return l.hasOperands(1);
  if (!l.hasRegions(1) || !l.integer("dimension", dim) || !l.flag("is_stable", isStable) ||
      !l.reducer(0, comparator))
    return false;
  if (dim < 0)
    dim += l.operand(0).rank();
  op.attrs.dimensions = {dim};
  op.called.push_back({CallRole::ToApply, comparator});
  if (isStable)
    addRaw(op, "is_stable", "true");
  return l.finish(std::move(op));
}

bool lowerMap(Lowering &l) {
  Op op = l.make(Opcode::Map);
  GraphId body;
  if (!l.hasRegions(1) || !l.integers("dimensions", op.attrs.dimensions) || !l.reducer(0, body))
    return false;
  op.called.push_back({CallRole::ToApply, body});
  return l.finish(std::move(op));
}

/// The loop carries its own values and, behind them, what its regions use from outside.
bool lowerWhile(Lowering &l) {
  if (!l.hasRegions(2) || !l.hasResults(l.text.operands.size()))
    return false;
  Region &condition = l.text.regions[0], &body = l.text.regions[1];
  const std::vector<OpId> &outer = l.text.captures[0]->outer;
  const size_t own = l.text.operands.size();
  for (const Region *region : {&condition, &body}) {
    if (region->arguments.size() != own)
      return l.failAt(region->offset, fmt::format("the region has {} arguments, the loop {} values",
                                                  region->arguments.size(), own));
    for (size_t i = 0; i < own; ++i)
      if (!region->arguments[i].sameDimsAndType(l.operand(i)))
        return l.failAt(region->offset,
                        fmt::format("argument {} is {}, the loop's value {}", i,
                                    briefText(region->arguments[i]), briefText(l.operand(i))));
  }
  if (condition.results.size() != 1 || body.results.size() != own)
    return l.failAt(
        condition.results.size() != 1 ? condition.offset : body.offset,
        fmt::format("the region returns {} values, not {}",
                    condition.results.size() != 1 ? condition.results.size() : body.results.size(),
                    condition.results.size() != 1 ? 1 : own));
  std::vector<OpId> initial = l.text.operands;
  initial.insert(initial.end(), outer.begin(), outer.end());
  const OpId state = l.tuple(initial, "state");
  const Shape shape = l.scope.graph.op(state).shape;
  for (Region *region : {&condition, &body})
    region->scope->graph.op(region->scope->state).shape = shape;
  std::vector<OpId> next = body.results;
  for (size_t i = 0; i < outer.size(); ++i)
    next.push_back(body.scope->stateField(own + i, shape.elements[own + i], l.loc()));
  const OpId root = body.scope->tuple(next, "next", SourceLoc{body.offset});
  Op op = l.make(Opcode::While);
  op.operands = {state};
  op.shape = shape;
  op.called = {{CallRole::Condition, l.reader.finish(*condition.scope, condition.results[0])},
               {CallRole::Body, l.reader.finish(*body.scope, root)}};
  l.packed = l.scope.add(std::move(op), l.text.base);
  return true;
}

/// Each branch takes a tuple of what it uses from outside.
bool lowerConditional(Lowering &l) {
  if (!l.hasOperands(1))
    return false;
  if (l.text.regions.empty() || (l.row.name == "stablehlo.if" && l.text.regions.size() != 2))
    return l.hasRegions(l.row.name == "stablehlo.if" ? 2 : 1);
  Op op = l.make(Opcode::Conditional);
  for (size_t i = 0; i < l.text.regions.size(); ++i) {
    Region &region = l.text.regions[i];
    if (!region.arguments.empty())
      return l.failAt(region.offset, fmt::format("a branch has no arguments, {} are given",
                                                 region.arguments.size()));
    if (region.results.size() != l.text.types.size())
      return l.failAt(region.offset, fmt::format("the branch returns {} values, the op {}",
                                                 region.results.size(), l.text.types.size()));
    const OpId operand = l.tuple(l.text.captures[i]->outer, fmt::format("operands.{}", i));
    region.scope->graph.op(region.scope->state).shape = l.scope.graph.op(operand).shape;
    op.operands.push_back(operand);
    op.called.push_back(
        {CallRole::Branch,
         l.reader.finish(*region.scope,
                         region.scope->rootOf(region.results, SourceLoc{region.offset}))});
  }
  return l.finish(std::move(op));
}

bool lowerCall(Lowering &l) {
  std::string function;
  if (!l.need("callee") || !l.symbol("callee", function))
    return false;
  l.ignore("no_inline");
  const uint32_t offset = l.text.offset;
  if (!l.finish(l.make(Opcode::Call)))
    return false;
  const OpId call{static_cast<uint32_t>(l.scope.graph.size() - 1)};
  l.scope.calls.push_back({call, CallRole::ToApply, std::move(function), offset});
  return true;
}

/// A call of what it stands for.
bool lowerComposite(Lowering &l) {
  std::string function;
  if (!l.need("decomposition") || !l.symbol("decomposition", function))
    return false;
  for (std::string_view name : {"name", "composite_attributes", "version"})
    l.ignore(name);
  if (!l.finish(l.make(Opcode::Call)))
    return false;
  const OpId call{static_cast<uint32_t>(l.scope.graph.size() - 1)};
  l.scope.calls.push_back({call, CallRole::ToApply, std::move(function), l.text.offset});
  return true;
}

namespace {

/// Text that reads back as one value of HLO.
bool isHloValue(std::string_view text) {
  HloParseError error;
  HloLexer lexer(text, 0, static_cast<uint32_t>(text.size()), error);
  const bool isPlain = inQuotes(text).size() == text.size() + 2; // nothing to be escaped
  return isPlain && !text.empty() && lexer.skipValue() && lexer.atEnd() && !error.isSet;
}

} // namespace

bool lowerCustomCall(Lowering &l) {
  Op op = l.make(Opcode::CustomCall);
  std::string target, config;
  bool hasSideEffect = false;
  if (!l.need("call_target_name") || !l.symbol("call_target_name", target) ||
      !l.flag("has_side_effect", hasSideEffect))
    return false;
  if (target.empty())
    return l.fail("the custom call's target is empty");
  if (target == "mhlo.erf" && l.hasOperands(1) && l.hasResults(1)) { // as torch_xla writes it
    op.opcode = Opcode::Erf;
    return l.finish(std::move(op));
  }
  for (std::string_view name : {"api_version", "operand_layouts", "result_layouts",
                                "output_operand_aliases", "custom_call_schedule"})
    l.ignore(name);
  if (const Attribute *attribute = l.text.attributes.take("backend_config")) {
    MlirLexer in = l.at(*attribute);
    config = l.reader.lexer.slice(attribute->value);
    if (in.peek() == '"' && !in.string(config))
      return false;
  }
  std::vector<std::pair<std::string, uint32_t>> functions;
  if (const Attribute *called = l.text.attributes.take("called_computations")) {
    MlirLexer in = l.at(*called);
    if (!in.expect('['))
      return false;
    while (in.peek() != ']') {
      std::string function;
      if (!functions.empty() && !in.expect(','))
        return false;
      const uint32_t at = in.place();
      if (!in.symbol(function))
        return false;
      functions.emplace_back(std::move(function), at);
    }
  }
  // As it stands between HLO's quotes.
  const std::string text = inQuotes(target);
  op.attrs.customCallTarget = text.substr(1, text.size() - 2);
  if (const Attribute *sharding = l.text.attributes.take("mhlo.sharding")) {
    std::string value;
    if (l.at(*sharding).peek() == '"' && l.at(*sharding).string(value) && value.starts_with('{') &&
        isHloValue(value))
      addRaw(op, "sharding", value);
  }
  if (hasSideEffect)
    addRaw(op, "custom_call_has_side_effect", "true");
  if (!config.empty())
    addRaw(op, "backend_config", inQuotes(config));
  if (!l.finish(std::move(op)))
    return false;
  const OpId call{static_cast<uint32_t>(l.scope.graph.size() - 1)};
  for (auto &[function, at] : functions)
    l.scope.calls.push_back({call, CallRole::Other, std::move(function), at});
  return true;
}

} // namespace tilewright::stablehlo
