#include "analysis/ir/evaluator_scalar.h"
#include "analysis/ir/literal.h"

#include <algorithm>

namespace tilewright::eval {

/// Walks a computation and appends its steps; a value is a list of slots, one a leaf.
class ScalarProgram::Compiler {
public:
  Compiler(const Module &module, Rounding rounding, ScalarProgram &program)
      : module(module), rounding(rounding), program(program) {}

  using Slots = std::vector<uint32_t>;

  /// Inlines a computation on these arguments; gives the root's slots.
  llvm::Expected<Slots> inlineGraph(GraphId id, const std::vector<Slots> &arguments) {
    // Calls nest without bound only if the module is wrong, but calls that fan out at each level
    // make exponentially many steps from a short file.
    const Graph &graph = module.graph(id);
    opCount += graph.size();
    if (++depth > maxDepth || opCount > maxOps)
      return makeError(DiagClass::Unsupported,
                       "computation is too large to run on scalars: over {} ops or calls nested "
                       "over {} deep",
                       maxOps, maxDepth);
    std::vector<Slots> values(graph.size());
    for (uint32_t i = 0; i < graph.size(); ++i) {
      llvm::Expected<Slots> slots = compileOp(graph, graph.all()[i], values, arguments);
      if (!slots)
        return slots.takeError();
      values[i] = std::move(*slots);
    }
    --depth;
    return values[graph.root().index];
  }

  uint32_t newSlot() {
    program.slots.emplace_back();
    return static_cast<uint32_t>(program.slots.size() - 1);
  }

  static void countLeaves(const Shape &shape, size_t &count) {
    if (!shape.isTuple)
      ++count;
    for (const Shape &element : shape.elements)
      countLeaves(element, count);
  }

private:
  static constexpr unsigned maxDepth = 64;
  static constexpr size_t maxOps = 100000;

  llvm::Error refuse(const Op &op, std::string_view why) const {
    return makeError(module.diagAt(op.loc,
                                   fmt::format("{} %{}: {}", toString(op.opcode), op.name, why),
                                   DiagClass::Unsupported));
  }

  llvm::Expected<Slots> compileOp(const Graph &graph, const Op &op,
                                  const std::vector<Slots> &values,
                                  const std::vector<Slots> &arguments) {
    if (!op.shape.isTuple && op.shape.elementCount() != 1)
      return refuse(op, "only scalars are evaluated inside this computation");
    switch (op.opcode) {
    case Opcode::Parameter: {
      size_t number = static_cast<size_t>(op.attrs.parameterNumber);
      size_t leaves = 0;
      countLeaves(op.shape, leaves);
      if (number >= arguments.size() || arguments[number].size() != leaves)
        return refuse(op, "the caller gives other arguments than this parameter expects");
      return arguments[number];
    }
    case Opcode::Constant: {
      llvm::Expected<Tensor> value = parseLiteral(op.shape, op.literal);
      if (!value)
        return makeError(module.diagAt(op.loc, takeDiag(value.takeError()).message));
      uint32_t slot = newSlot();
      program.slots[slot] = load(*value, 0);
      return Slots{slot};
    }
    case Opcode::Iota:
      return Slots{newSlot()};
    case Opcode::Tuple: {
      Slots all;
      for (OpId operand : op.operands)
        all.insert(all.end(), values[operand.index].begin(), values[operand.index].end());
      return all;
    }
    case Opcode::GetTupleElement:
      return tupleElement(graph, op, values);
    case Opcode::Call:
    case Opcode::Fusion:
    case Opcode::Map: {
      std::vector<Slots> inner;
      for (OpId operand : op.operands)
        inner.push_back(values[operand.index]);
      if (op.called.empty())
        return refuse(op, "calls no computation");
      return inlineGraph(op.called.front().graph, inner);
    }
    case Opcode::Broadcast:
    case Opcode::Reshape:
    case Opcode::Transpose:
    case Opcode::Bitcast:
      if (op.operands.size() == 1 && values[op.operands[0].index].size() == 1)
        return values[op.operands[0].index];
      return refuse(op, "needs one operand");
    default:
      return compileElementwise(graph, op, values);
    }
  }

  llvm::Expected<Slots> tupleElement(const Graph &graph, const Op &op,
                                     const std::vector<Slots> &values) {
    const Shape &tuple = graph.op(op.operands[0]).shape;
    size_t begin = 0, count = 0;
    int64_t index = op.attrs.tupleIndex;
    if (index < 0 || index >= static_cast<int64_t>(tuple.elements.size()))
      return refuse(op, "index is outside the tuple");
    for (int64_t i = 0; i < index; ++i)
      countLeaves(tuple.elements[i], begin);
    countLeaves(tuple.elements[index], count);
    const Slots &all = values[op.operands[0].index];
    return Slots(all.begin() + begin, all.begin() + begin + count);
  }

  llvm::Expected<Slots> compileElementwise(const Graph &graph, const Op &op,
                                           const std::vector<Slots> &values) {
    std::vector<DType> types;
    for (OpId operand : op.operands)
      types.push_back(graph.op(operand).shape.dtype);
    llvm::Expected<ScalarOp> scalar = ScalarOp::make(op, types, rounding);
    if (!scalar) {
      Diag diag = takeDiag(scalar.takeError());
      return makeError(module.diagAt(op.loc, diag.message, diag.cls));
    }
    Step step{*scalar, op.operands.size(), {}, newSlot()};
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Slots &slots = values[op.operands[i].index];
      if (slots.size() != 1)
        return refuse(op, "has a tuple for an operand");
      step.operands[i] = slots[0];
    }
    program.steps.push_back(step);
    return Slots{step.result};
  }

  const Module &module;
  Rounding rounding;
  ScalarProgram &program;
  unsigned depth = 0;
  size_t opCount = 0;
};

llvm::Expected<ScalarProgram> ScalarProgram::compile(const Module &module, GraphId id,
                                                     Rounding rounding) {
  ScalarProgram program;
  Compiler compiler(module, rounding, program);
  const Graph &graph = module.graph(id);
  std::vector<std::vector<uint32_t>> arguments;
  for (OpId parameter : graph.parameters()) {
    size_t leaves = 0;
    Compiler::countLeaves(graph.op(parameter).shape, leaves);
    std::vector<uint32_t> &slots = arguments.emplace_back();
    for (size_t i = 0; i < leaves; ++i)
      slots.push_back(compiler.newSlot());
  }
  program.parameters = program.slots.size();
  llvm::Expected<std::vector<uint32_t>> root = compiler.inlineGraph(id, arguments);
  if (!root)
    return root.takeError();
  program.results = std::move(*root);
  return program;
}

const ScalarOp *ScalarProgram::asBinaryOp() const {
  if (steps.size() != 1 || parameters != 2 || results.size() != 1)
    return nullptr;
  const Step &step = steps[0];
  bool isInOrder = step.operandCount == 2 && step.operands[0] == 0 && step.operands[1] == 1;
  return isInOrder && results[0] == step.result ? &step.op : nullptr;
}

} // namespace tilewright::eval
