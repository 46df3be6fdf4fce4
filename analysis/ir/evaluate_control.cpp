// Ops that run other computations or only handle tuples, and leaves.
#include "analysis/ir/evaluator_impl.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/numeric.h"

#include <algorithm>

namespace tilewright::eval {

namespace {
llvm::Expected<bool> readFlag(const OpRun &run, const Value &value) {
  if (value.size() != 1 || value[0]->size() != 1 || value[0]->dtype() != DType::Pred)
    return run.error(DiagClass::BadInput, "its condition isn't one pred");
  return value[0]->integer(0) != 0;
}

llvm::Expected<Value> evaluateWhile(OpRun &run) {
  llvm::Expected<GraphId> condition = run.called(CallRole::Condition);
  if (!condition)
    return condition.takeError();
  llvm::Expected<GraphId> body = run.called(CallRole::Body);
  if (!body)
    return body.takeError();
  if (run.operands.size() != 1)
    return run.error(DiagClass::BadInput, "{} operands, not one", run.operands.size());
  std::vector<Value> state = std::move(run.operands);
  while (true) {
    llvm::Expected<Value> flag = run.context.runGraph(*condition, state);
    if (!flag)
      return flag.takeError();
    llvm::Expected<bool> goesOn = readFlag(run, *flag);
    if (!goesOn)
      return goesOn.takeError();
    if (!*goesOn)
      return std::move(state[0]);
    llvm::Expected<Value> next = run.context.runGraph(*body, state);
    if (!next)
      return next.takeError();
    state[0] = std::move(*next);
  }
}

/// pred: true takes the first branch; an index out of range takes the last.
llvm::Expected<Value> evaluateConditional(OpRun &run) {
  size_t branches = static_cast<size_t>(
      std::count_if(run.op.called.begin(), run.op.called.end(),
                    [](const CalledGraph &callee) { return callee.role == CallRole::Branch; }));
  if (branches == 0 || run.operands.size() != branches + 1 || run.operands[0].size() != 1 ||
      run.operand(0).size() != 1 ||
      !(run.operand(0).dtype() == DType::Pred || isInteger(run.operand(0).dtype())))
    return run.error(DiagClass::BadInput, "{} branches and {} operands don't fit", branches,
                     run.operands.size());
  size_t chosen;
  if (run.operand(0).dtype() == DType::Pred) {
    chosen = run.operand(0).integer(0) ? 0 : 1;
  } else {
    int64_t index = run.operand(0).integer(0);
    chosen = index < 0 ? branches - 1 : std::min(static_cast<size_t>(index), branches - 1);
  }
  llvm::Expected<GraphId> branch = run.called(CallRole::Branch, chosen);
  if (!branch)
    return branch.takeError();
  return run.context.runGraph(*branch, std::span(run.operands).subspan(chosen + 1, 1));
}

llvm::Expected<Value> evaluateTupleElement(OpRun &run) {
  if (run.op.operands.size() != 1)
    return run.error(DiagClass::BadInput, "{} operands, not one", run.op.operands.size());
  const Shape &tuple = run.graph.op(run.op.operands[0]).shape;
  int64_t index = run.op.attrs.tupleIndex;
  if (index < 0 || index >= static_cast<int64_t>(tuple.elements.size()))
    return run.error(DiagClass::BadInput, "index {} of a tuple of {}", index,
                     tuple.elements.size());
  size_t begin = 0;
  for (int64_t i = 0; i < index; ++i)
    begin += leavesOf(tuple.elements[i]).size();
  size_t count = leavesOf(tuple.elements[index]).size();
  const Value &all = run.operands[0];
  return Value(all.begin() + begin, all.begin() + begin + count);
}

/// Fills up a value to the leaves of the op's shape with zeros: contexts of asynchronous ops.
llvm::Expected<Value> withContext(OpRun &run, Value value) {
  std::vector<const Shape *> leaves = leavesOf(run.op.shape);
  if (value.size() > leaves.size())
    return run.error(DiagClass::BadInput, "its shape {} is too small", run.op.shape.str(false));
  for (size_t k = value.size(); k < leaves.size(); ++k) {
    llvm::Expected<std::shared_ptr<Tensor>> zeros = run.context.allocate(*leaves[k]);
    if (!zeros)
      return zeros.takeError();
    value.push_back(*zeros);
  }
  return value;
}

/// async-start's shape is ((operands), result, context…): the computation runs at once.
llvm::Expected<Value> evaluateAsyncStart(OpRun &run) {
  if (run.op.called.empty())
    return run.error(DiagClass::Unsupported, "starts an op that is not evaluated");
  llvm::Expected<Value> result = run.context.runGraph(run.op.called.front().graph, run.operands);
  if (!result)
    return result.takeError();
  Value value;
  for (const Value &operand : run.operands)
    value.insert(value.end(), operand.begin(), operand.end());
  value.insert(value.end(), result->begin(), result->end());
  return withContext(run, std::move(value));
}

/// The leaves of element `index` of the operand's tuple shape.
llvm::Expected<Value> elementOfOperand(OpRun &run, size_t index) {
  if (run.op.operands.size() != 1)
    return run.error(DiagClass::BadInput, "{} operands, not one", run.op.operands.size());
  const Shape &tuple = run.graph.op(run.op.operands[0]).shape;
  if (tuple.elements.size() <= index)
    return run.error(DiagClass::BadInput, "its operand is {}", tuple.str(false));
  size_t begin = 0;
  for (size_t i = 0; i < index; ++i)
    begin += leavesOf(tuple.elements[i]).size();
  const Value &all = run.operands[0];
  return Value(all.begin() + begin, all.begin() + begin + leavesOf(tuple.elements[index]).size());
}

llvm::Expected<Value> evaluateIota(OpRun &run) {
  const Shape &shape = run.op.shape;
  const std::vector<int64_t> &dims = run.op.attrs.dimensions;
  if (shape.isTuple || dims.size() > 1 || (dims.empty() && shape.rank() > 0) ||
      !areDistinctDims(dims, std::max(shape.rank(), 1u)))
    return run.error(DiagClass::BadInput, "needs one counting dim of {}", shape.str(false));
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(shape);
  if (!result)
    return result.takeError();
  Tensor &out = **result;
  if (llvm::Error error = run.charge(out.size()))
    return error;
  int64_t stride = dims.empty() || out.size() == 0 ? 1 : stridesOf(shape)[dims[0]];
  int64_t extent = dims.empty() || shape.dims.empty() ? 1 : shape.dims[dims[0]];
  DTypeClass cls = dtypeClass(shape.dtype);
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t count = i / stride % extent;
    if (cls == DTypeClass::Float || cls == DTypeClass::Complex)
      store(out, i, Scalar::of(std::complex<double>(static_cast<double>(count), 0)));
    else
      store(out, i, Scalar::of(count)); // finish() wraps
  }
  finish(run.context, out);
  return Value{*result};
}

llvm::Expected<Value> evaluateConstant(OpRun &run) {
  llvm::Expected<Tensor> value = parseLiteral(run.op.shape, run.op.literal);
  if (!value) {
    Diag diag = takeDiag(value.takeError());
    return run.error(diag.cls, "{}", diag.message);
  }
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  **result = std::move(*value);
  return Value{*result};
}

llvm::Expected<Value> evaluateDimensionSize(OpRun &run) {
  if (run.operands.size() != 1 || run.operands[0].size() != 1 ||
      run.op.attrs.dimensions.size() != 1 || run.op.shape.dtype != DType::S32 ||
      !areDistinctDims(run.op.attrs.dimensions, run.operandShape(0).rank()))
    return run.error(DiagClass::BadInput, "needs one dim of a tensor");
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  if ((*result)->size() != 1)
    return run.error(DiagClass::BadInput, "its result isn't a scalar");
  (*result)->setInteger(
      0, wrapInteger(DType::S32, run.operandShape(0).dims[run.op.attrs.dimensions[0]]));
  return Value{*result};
}
} // namespace

llvm::Expected<Value> evaluateLeaf(OpRun &run) {
  if (run.op.opcode == Opcode::Iota)
    return evaluateIota(run);
  if (run.op.opcode == Opcode::Constant)
    return evaluateConstant(run);
  return evaluateDimensionSize(run);
}

llvm::Expected<Value> evaluateControl(OpRun &run) {
  switch (run.op.opcode) {
  case Opcode::While:
    return evaluateWhile(run);
  case Opcode::Conditional:
    return evaluateConditional(run);
  case Opcode::GetTupleElement:
    return evaluateTupleElement(run);
  case Opcode::AsyncStart:
    return evaluateAsyncStart(run);
  case Opcode::AsyncDone:
    return elementOfOperand(run, 1);
  case Opcode::CopyDone:
    return elementOfOperand(run, 0);
  case Opcode::Tuple: {
    Value all;
    for (const Value &operand : run.operands)
      all.insert(all.end(), operand.begin(), operand.end());
    return all;
  }
  case Opcode::AfterAll:
    return withContext(run, {});
  case Opcode::Call:
  case Opcode::Fusion:
    if (run.op.called.empty())
      return run.error(DiagClass::BadInput, "calls no computation");
    return run.context.runGraph(run.op.called.front().graph, run.operands);
  default: // opt-barrier, async-update, add-dependency pass their first operand on
    if (run.operands.empty())
      return run.error(DiagClass::BadInput, "has no operand");
    if (run.op.opcode != Opcode::CopyStart)
      return std::move(run.operands[0]);
    // (destination, source, context)
    return run.operands[0].size() == 1 ? withContext(run, {run.operands[0][0], run.operands[0][0]})
                                       : run.error(DiagClass::BadInput, "copies a tuple");
  }
}

} // namespace tilewright::eval
