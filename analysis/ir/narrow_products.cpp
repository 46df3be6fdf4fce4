#include "analysis/ir/narrow_products.h"

#include <algorithm>
#include <array>
#include <optional>

namespace tilewright {

namespace {

constexpr std::string_view suffix = ".f8";

/// The 8-bit floats that tensor cores take.
bool isNarrow(DType type) { return type == DType::F8E4M3FN || type == DType::F8E5M2; }

/// Types that hold all their values.
bool isWide(DType type) { return type == DType::BF16 || type == DType::F16 || type == DType::F32; }

/// What an operand of a dot is made of.
struct NarrowOperand {
  OpId values;               ///< of 8-bit floats
  std::optional<OpId> scale; ///< a scalar that all of them are multiplied by
};

/// convert(values), or nothing.
std::optional<OpId> widened(const Graph &graph, OpId id) {
  const Op &op = graph[id];
  if (op.opcode != Opcode::Convert || op.shape.isTuple || !isWide(op.shape.dtype))
    return std::nullopt;
  const Shape &from = graph[op.operands[0]].shape;
  return !from.isTuple && isNarrow(from.dtype) ? std::optional(op.operands[0]) : std::nullopt;
}

std::optional<OpId> spreadScalar(const Graph &graph, OpId id) {
  const Op &op = graph[id];
  if (op.opcode != Opcode::Broadcast)
    return std::nullopt;
  const Shape &from = graph[op.operands[0]].shape;
  return from.isScalar() && isWide(from.dtype) ? std::optional(op.operands[0]) : std::nullopt;
}

std::optional<NarrowOperand> narrowOperand(const Graph &graph, OpId id) {
  if (std::optional<OpId> values = widened(graph, id))
    return NarrowOperand{*values, {}};
  const Op &op = graph[id];
  if (op.opcode != Opcode::Multiply || op.shape.isTuple || !isWide(op.shape.dtype))
    return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<OpId> values = widened(graph, op.operands[i]);
    const std::optional<OpId> scale = spreadScalar(graph, op.operands[1 - i]);
    if (values && scale)
      return NarrowOperand{*values, scale};
  }
  return std::nullopt;
}

using NarrowOperands = std::array<NarrowOperand, 2>;

std::optional<NarrowOperands> narrowDot(const Graph &graph, const Op &op) {
  if (op.opcode != Opcode::Dot || op.operands.size() != 2 || op.shape.isTuple ||
      !isWide(op.shape.dtype))
    return std::nullopt;
  // An algorithm that is asked for is one of the wider type.
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == "algorithm")
      return std::nullopt;
  const std::optional<NarrowOperand> lhs = narrowOperand(graph, op.operands[0]);
  const std::optional<NarrowOperand> rhs = narrowOperand(graph, op.operands[1]);
  return lhs && rhs ? std::optional(NarrowOperands{*lhs, *rhs}) : std::nullopt;
}

/// Rewrites one graph, in order.
class Rewriter {
public:
  explicit Rewriter(const Graph &graph) : old(graph), result(graph.name()) {
    result.loc = graph.loc;
    result.signature = graph.signature;
    result.suffix = graph.suffix;
  }

  Graph run() {
    for (const Op &op : old.all()) {
      const std::optional<NarrowOperands> operands = narrowDot(old, op);
      place.push_back(operands ? product(op, *operands) : copy(op));
    }
    result.setRoot(place[old.root().index]);
    return std::move(result);
  }

private:
  OpId copy(Op op) {
    for (OpId &operand : op.operands)
      operand = place[operand.index];
    return result.add(std::move(op));
  }

  /// An op beside the dot, called after it.
  OpId make(const Op &dot, std::string_view part, Opcode opcode, Shape shape,
            std::vector<OpId> operands) {
    Op op;
    op.name = dot.name + std::string(part);
    while (old.find(op.name).isValid() || result.find(op.name).isValid())
      op.name += "_";
    op.opcode = opcode;
    op.shape = std::move(shape);
    op.operands = std::move(operands);
    op.loc = dot.loc;
    for (const RawAttribute &attribute : dot.rawAttrs)
      if (attribute.name == "metadata")
        op.rawAttrs.push_back(attribute);
    if (opcode == Opcode::Broadcast)
      op.rawAttrs.push_back({"dimensions", "{}", dot.loc});
    return result.add(std::move(op));
  }

  OpId inF32(const Op &dot, std::string_view part, OpId scalar) {
    const Shape shape = Shape::tensor(DType::F32, {});
    return result[scalar].shape.dtype == DType::F32
               ? scalar
               : make(dot, part, Opcode::Convert, shape, {scalar});
  }

  OpId product(const Op &dot, const NarrowOperands &operands) {
    Op narrow = dot;
    const bool isScaled = operands[0].scale || operands[1].scale;
    const bool isWidened = dot.shape.dtype != DType::F32;
    if (isScaled || isWidened) {
      narrow.name += suffix;
      while (old.find(narrow.name).isValid())
        narrow.name += "_";
      narrow.shape.dtype = DType::F32;
    }
    narrow.operands = {place[operands[0].values.index], place[operands[1].values.index]};
    // The precision that was asked for was one of the wider type.
    std::erase_if(narrow.rawAttrs, [](const RawAttribute &attribute) {
      return attribute.name == "operand_precision";
    });
    const Shape shape = narrow.shape;
    OpId value = result.add(std::move(narrow));
    std::optional<OpId> scale;
    for (size_t i = 0; i < 2; ++i)
      if (operands[i].scale) {
        const OpId one =
            inF32(dot, i ? ".rhs_scale" : ".lhs_scale", place[operands[i].scale->index]);
        scale = scale ? make(dot, ".scale", Opcode::Multiply, Shape::tensor(DType::F32, {}),
                             {*scale, one})
                      : one;
      }
    if (scale) {
      const OpId spread = make(dot, ".spread", Opcode::Broadcast, shape, {*scale});
      value = isWidened ? make(dot, ".scaled", Opcode::Multiply, shape, {value, spread})
                        : result.add(named(dot, Opcode::Multiply, {value, spread}));
    }
    return isWidened ? result.add(named(dot, Opcode::Convert, {value})) : value;
  }

  /// The op that stands for the dot.
  static Op named(const Op &dot, Opcode opcode, std::vector<OpId> operands) {
    Op op = dot;
    op.opcode = opcode;
    op.operands = std::move(operands);
    op.attrs = {};
    std::erase_if(op.rawAttrs,
                  [](const RawAttribute &attribute) { return attribute.name != "metadata"; });
    return op;
  }

  const Graph &old;
  Graph result;
  std::vector<OpId> place;
};

} // namespace

Module withNarrowProducts(const Module &module) {
  Module result = module;
  for (uint32_t i = 0; i < module.all().size(); ++i) {
    const Graph &graph = module.all()[i];
    if (std::any_of(graph.all().begin(), graph.all().end(),
                    [&](const Op &op) { return narrowDot(graph, op).has_value(); }))
      result.graph(GraphId{i}) = Rewriter(graph).run();
  }
  return result;
}

bool isNarrowedDot(const Graph &graph, const Op &op) {
  return op.opcode == Opcode::Dot && op.shape.dtype == DType::F32 &&
         op.name.find(suffix) != std::string::npos && isNarrow(graph[op.operands[0]].shape.dtype) &&
         isNarrow(graph[op.operands[1]].shape.dtype);
}

} // namespace tilewright
