// Tuples, and ops that run computations: call, fusion, while, conditional, async pairs.
#include "analysis/ir/verifier_internal.h"

#include <algorithm>

namespace tilewright {

GraphId OpCheck::callee(CallRole role, std::string_view attribute) {
  GraphId found;
  for (const CalledGraph &called : op.called) {
    if (called.role != role)
      continue;
    if (found.isValid()) {
      failIn(attribute, "needs one computation in {}", attribute);
      return {};
    }
    found = called.graph;
  }
  if (!found.isValid())
    failIn(attribute, "needs a computation in {}", attribute);
  return found;
}

bool OpCheck::takesScalars(GraphId id, std::string_view attribute,
                           const std::vector<DType> &types) {
  const Graph &callee = module.graph(id);
  const std::vector<OpId> &parameters = context.parameters[id.index];
  if (parameters.size() != types.size())
    return failIn(attribute, "%{} has {} parameters, {} are needed", callee.name(),
                  parameters.size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Op &parameter = callee.op(parameters[i]);
    if (!parameter.shape.isScalar())
      return failIn(attribute, "parameter %{} {} of %{} must be a scalar", parameter.name,
                    briefText(parameter.shape), callee.name());
    if (!typesAgree(parameter.shape.dtype, types[i]))
      return failIn(attribute, "parameter %{} {} of %{} must be {}", parameter.name,
                    briefText(parameter.shape), callee.name(), toString(types[i]));
  }
  return true;
}

bool OpCheck::combines(GraphId id, std::string_view attribute, const std::vector<DType> &types) {
  std::vector<DType> both = types;
  both.insert(both.end(), types.begin(), types.end());
  if (!takesScalars(id, attribute, both))
    return false;
  const Graph &callee = module.graph(id);
  const Shape &root = callee.op(callee.root()).shape;
  if (types.size() == 1 && !root.isTuple) // a tuple of one is as good
    return resultsInScalar(id, attribute, types[0]);
  bool fits = root.isTuple && root.elements.size() == types.size();
  for (size_t i = 0; fits && i < types.size(); ++i)
    fits = root.elements[i].isScalar() && typesAgree(root.elements[i].dtype, types[i]);
  return fits || failIn(attribute, "%{} results in {}, not in one scalar for each of the {} inputs",
                        callee.name(), briefText(root), types.size());
}

bool OpCheck::resultsInScalar(GraphId id, std::string_view attribute, DType type) {
  const Graph &callee = module.graph(id);
  const Shape &root = callee.op(callee.root()).shape;
  return (root.isScalar() && typesAgree(root.dtype, type)) ||
         failIn(attribute, "%{} results in {}, not {}[]", callee.name(), briefText(root),
                toString(type));
}

std::vector<DType> OpCheck::operandTypes(size_t count) const {
  std::vector<DType> types;
  for (size_t i = 0; i < count; ++i)
    types.push_back(operand(i).dtype);
  return types;
}

bool OpCheck::isResultOf(std::initializer_list<Opcode> starts) {
  switch (operandOp(0).opcode) {
  case Opcode::Parameter:
  case Opcode::GetTupleElement:
  case Opcode::OptimizationBarrier:
  case Opcode::AddDependency:
  case Opcode::Copy:
  case Opcode::While:
  case Opcode::Call:
    return true;
  default:
    return std::find(starts.begin(), starts.end(), operandOp(0).opcode) != starts.end() ||
           fail("{} is not the result of its start", name(0));
  }
}

bool OpCheck::takesOperands(GraphId id, std::string_view attribute, size_t from, size_t to) {
  const Graph &callee = module.graph(id);
  const std::vector<OpId> &parameters = context.parameters[id.index];
  if (parameters.size() != to - from)
    return failIn(attribute, "%{} has {} parameters, {} operands given", callee.name(),
                  parameters.size(), to - from);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Op &parameter = callee.op(parameters[i]);
    if (!context.sameShape(parameter, operandOp(from + i)))
      return failIn(attribute, "parameter %{} of %{} is {}, not {}", parameter.name, callee.name(),
                    briefText(parameter.shape), name(from + i));
  }
  return true;
}

bool OpCheck::resultsIn(GraphId id, std::string_view attribute, const Shape &result) {
  const Graph &callee = module.graph(id);
  const Shape &root = callee.op(callee.root()).shape;
  return root.sameDimsAndType(result) || failIn(attribute, "%{} results in {}, not {}",
                                                callee.name(), briefText(root), briefText(result));
}

bool OpCheck::resultsInOwn(GraphId id, std::string_view attribute) {
  const Graph &callee = module.graph(id);
  return context.sameShape(callee.op(callee.root()), op) || resultsIn(id, attribute, op.shape);
}

bool OpCheck::tuplesAndCalls(bool &handled) {
  switch (op.opcode) {
  case Opcode::Tuple: {
    Shape expected = Shape::tuple({});
    for (size_t i = 0; i < operands(); ++i)
      expected.elements.push_back(operand(i));
    return resultIs(expected);
  }
  case Opcode::GetTupleElement:
    return tupleElement();
  case Opcode::OptimizationBarrier:
    return operandCount(1) && resultIs(operand(0));
  case Opcode::AddDependency:
    return operandCount(2) && resultIs(operand(0));
  case Opcode::AfterAll:
    return resultIs(Shape::tensor(DType::Token, {}));
  case Opcode::Call: {
    GraphId body = callee(CallRole::ToApply, "to_apply");
    return body.isValid() && takesOperands(body, "to_apply", 0, operands()) &&
           resultsInOwn(body, "to_apply");
  }
  case Opcode::Fusion: {
    GraphId body = callee(CallRole::Calls, "calls");
    return body.isValid() && takesOperands(body, "calls", 0, operands()) &&
           resultsInOwn(body, "calls");
  }
  case Opcode::While:
    return whileLoop();
  case Opcode::Conditional:
    return conditional();
  case Opcode::AsyncStart:
  case Opcode::AsyncUpdate:
  case Opcode::AsyncDone:
    return async();
  case Opcode::CopyStart: {
    // (destination, source, context)
    bool fits = operandCount(1) && op.shape.isTuple && op.shape.elements.size() >= 2 &&
                op.shape.elements[0].sameDimsAndType(operand(0)) &&
                op.shape.elements[1].sameDimsAndType(operand(0));
    return fits || fail("the result {} must be a tuple of two {}", briefText(op.shape),
                        operands() ? briefText(operand(0)) : "operands");
  }
  case Opcode::CopyDone:
    if (!operandCount(1) || !isResultOf({Opcode::CopyStart}))
      return false;
    if (!operand(0).isTuple || operand(0).elements.empty())
      return fail("{} is not a tuple", name(0));
    return resultIs(operand(0).elements[0]);
  default:
    handled = false;
    return true;
  }
}

bool OpCheck::tupleElement() {
  if (!operandCount(1))
    return false;
  if (!operand(0).isTuple)
    return fail("{} is not a tuple", name(0));
  int64_t index = op.attrs.tupleIndex, count = static_cast<int64_t>(operand(0).elements.size());
  if (index < 0 || index >= count)
    return failIn("index", "index {} is out of range, {} has {} elements", index, name(0), count);
  return resultIs(operand(0).elements[static_cast<size_t>(index)]);
}

bool OpCheck::whileLoop() {
  if (!operandCount(1) || !resultIs(operand(0)))
    return false;
  GraphId condition = callee(CallRole::Condition, "condition");
  if (!condition.isValid())
    return false;
  GraphId body = callee(CallRole::Body, "body");
  return body.isValid() && takesOperands(condition, "condition", 0, 1) &&
         resultsIn(condition, "condition", Shape::tensor(DType::Pred, {})) &&
         takesOperands(body, "body", 0, 1) && resultsInOwn(body, "body");
}

bool OpCheck::conditional() {
  if (!operandCountAtLeast(2))
    return false;
  std::string_view attribute = "branch_computations";
  size_t branch = 0;
  for (const CalledGraph &called : op.called) {
    if (called.role != CallRole::Branch)
      continue;
    ++branch;
    if (branch < operands() && !(takesOperands(called.graph, attribute, branch, branch + 1) &&
                                 resultsInOwn(called.graph, attribute)))
      return false;
  }
  if (branch + 1 != operands())
    return failIn(attribute, "needs an operand for each of its {} branches, {} given", branch,
                  operands() - 1);
  const Shape &index = operand(0);
  bool isPred = index.isScalar() && index.dtype == DType::Pred;
  if (isPred && branch != 2)
    return failIn(attribute, "needs two branches for a pred, {} given", branch);
  return isPred || isIntegerScalar(0);
}

bool OpCheck::async() {
  if (op.opcode != Opcode::AsyncStart) {
    if (!operandCount(1))
      return false;
    if (!isResultOf({Opcode::AsyncStart, Opcode::AsyncUpdate}))
      return false;
    if (op.opcode == Opcode::AsyncUpdate)
      return resultIs(operand(0));
    if (!operand(0).isTuple || operand(0).elements.size() < 2)
      return fail("{} is not the result of its start", name(0));
    return resultIs(operand(0).elements[1]);
  }
  // ((operands), result, context …)
  if (!op.shape.isTuple || op.shape.elements.size() < 2)
    return fail("the result {} must be a tuple of the operands and the result",
                briefText(op.shape));
  Shape given = Shape::tuple({});
  for (size_t i = 0; i < operands(); ++i)
    given.elements.push_back(operand(i));
  if (!op.shape.elements[0].sameDimsAndType(given))
    return fail("element 0 of the result {} must be the operands {}", briefText(op.shape),
                briefText(given));
  if (op.attrs.asyncOpcode) // in short form there is no computation
    return true;
  GraphId body = callee(CallRole::Calls, "calls");
  return body.isValid() && takesOperands(body, "calls", 0, operands()) &&
         resultsIn(body, "calls", op.shape.elements[1]);
}

} // namespace tilewright
