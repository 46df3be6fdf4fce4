// Called computations on scalars: reducers of any shape, selections, map.
#include "analysis/ir/literal.h"
#include "codegen/scalar_ops.h"

namespace tilewright {

llvm::Expected<Values> ScalarOps::applyGraph(const Graph &computation, const Values &arguments) {
  std::vector<llvm::Value *> values(computation.size());
  for (uint32_t i = 0; i < computation.size(); ++i) {
    const Op &op = computation[OpId{i}];
    if (op.opcode == Opcode::Tuple && OpId{i} == computation.root())
      break;
    if (!op.shape.isScalar() || !isSupported(op.shape.dtype))
      return makeError(DiagClass::Unsupported, "%{}: no code for a value of type {} in %{}",
                       op.name, op.shape.str(false), computation.name());
    if (op.opcode == Opcode::Parameter) {
      auto number = static_cast<size_t>(op.attrs.parameterNumber);
      if (number >= arguments.size())
        return makeError(DiagClass::Unsupported, "%{} takes more than {} arguments",
                         computation.name(), arguments.size());
      values[i] = arguments[number];
      continue;
    }
    if (op.opcode == Opcode::Constant) {
      auto tensor = parseLiteral(op.shape, op.literal);
      if (!tensor)
        return tensor.takeError();
      values[i] = isFloat(op.shape.dtype) ? constant(op.shape.dtype, tensor->real(0))
                                          : constant(op.shape.dtype, tensor->integer(0));
      continue;
    }
    if (opClass(op.opcode) != OpClass::Elementwise || op.opcode == Opcode::Map ||
        op.operands.empty())
      return makeError(DiagClass::Unsupported, "%{}: no code for {} in %{}", op.name,
                       toString(op.opcode), computation.name());
    Values operands;
    for (OpId operand : op.operands)
      operands.push_back(values[operand.index]);
    auto value = apply(op, computation[op.operands.back()].shape.dtype, operands);
    if (!value)
      return value.takeError();
    values[i] = *value;
  }
  const Op &root = computation[computation.root()];
  if (root.opcode != Opcode::Tuple)
    return Values{values[computation.root().index]};
  Values results;
  for (OpId operand : root.operands)
    results.push_back(values[operand.index]);
  return results;
}

} // namespace tilewright
