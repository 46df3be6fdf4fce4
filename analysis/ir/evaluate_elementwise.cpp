// Elementwise ops: one scalar op at every point. Also map, whose scalar op is a computation.
#include "analysis/ir/evaluator_impl.h"

namespace tilewright::eval {

namespace {
/// Checks that operands have the result's dims, or are scalars where `allowScalars`; gives how far
/// each operand moves from one element to the next.
llvm::Expected<std::vector<int64_t>> operandSteps(const OpRun &run, bool allowScalars) {
  std::vector<int64_t> steps;
  for (size_t k = 0; k < run.operands.size(); ++k) {
    if (run.operands[k].size() != 1)
      return run.error(DiagClass::BadInput, "operand {} is a tuple", k);
    const Shape &shape = run.operandShape(k);
    if (shape.dims == run.op.shape.dims)
      steps.push_back(1);
    else if (allowScalars && shape.dims.empty())
      steps.push_back(0);
    else
      return run.error(DiagClass::BadInput, "operand {} is {} but the result {}", k,
                       shape.str(false), run.op.shape.str(false));
  }
  return steps;
}

void recordReads(const OpRun &run, const Tensor &result, std::span<const int64_t> steps) {
  if (run.isRecording())
    for (int64_t i = 0; i < result.size(); ++i)
      for (size_t k = 0; k < steps.size(); ++k)
        run.read(i, k, i * steps[k]);
}
} // namespace

llvm::Expected<Value> evaluateElementwise(OpRun &run) {
  llvm::Expected<std::vector<int64_t>> steps =
      operandSteps(run, run.op.opcode == Opcode::Select || run.op.opcode == Opcode::Clamp);
  if (!steps)
    return steps.takeError();
  std::vector<DType> types;
  for (size_t k = 0; k < run.operands.size(); ++k)
    types.push_back(run.operandShape(k).dtype);
  llvm::Expected<ScalarOp> op = ScalarOp::make(run.op, types, run.context.rounding());
  if (!op) {
    Diag diag = takeDiag(op.takeError());
    return run.error(diag.cls, "{}", diag.message);
  }
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  if (llvm::Error error = run.charge((*result)->size()))
    return error;
  Tensor &out = **result;
  std::array<Scalar, ScalarOp::maxOperands> in;
  for (int64_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < types.size(); ++k)
      in[k] = load(run.operand(k), i * (*steps)[k]);
    store(out, i, op->apply(in.data()));
  }
  recordReads(run, out, *steps);
  return Value{*result};
}

llvm::Expected<Value> evaluateMap(OpRun &run) {
  llvm::Expected<std::vector<int64_t>> steps = operandSteps(run, false);
  if (!steps)
    return steps.takeError();
  llvm::Expected<GraphId> graph = run.called(CallRole::ToApply);
  if (!graph)
    return graph.takeError();
  llvm::Expected<ScalarProgram *> program =
      run.context.scalarProgram(*graph, run.context.rounding());
  if (!program)
    return program.takeError();
  if ((*program)->parameterCount() != run.operands.size() || (*program)->resultCount() != 1)
    return run.error(DiagClass::BadInput, "its computation takes {} scalars, not {}",
                     (*program)->parameterCount(), run.operands.size());
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  if (llvm::Error error = run.charge((*result)->size(), (*program)->cost()))
    return error;
  Tensor &out = **result;
  for (int64_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < run.operands.size(); ++k)
      (*program)->parameter(k) = load(run.operand(k), i);
    (*program)->run();
    store(out, i, (*program)->result(0));
  }
  recordReads(run, out, *steps);
  return Value{*result};
}

} // namespace tilewright::eval
