#include "analysis/ir/run_time_extents.h"

#include <fmt/format.h>

namespace tilewright {

std::optional<std::string> runTimeExtentRefusal(const Graph &graph, const Op &op) {
  switch (op.opcode) {
  case Opcode::Parameter:
  case Opcode::Tuple:
  case Opcode::GetTupleElement:
  case Opcode::AfterAll:
    return std::nullopt;
  default:
    break;
  }
  const Op *dynamic = op.shape.isDynamic() ? &op : nullptr;
  for (OpId operand : op.operands)
    if (!dynamic && graph.op(operand).shape.isDynamic())
      dynamic = &graph.op(operand);
  if (!dynamic && op.opcode != Opcode::SetDimensionSize && op.opcode != Opcode::DynamicReshape)
    return std::nullopt;
  if (!dynamic)
    dynamic = &op;
  return fmt::format("%{} is {}: how many elements it has is known at run time only, which is not "
                     "supported; give its extents as fixed numbers",
                     dynamic->name, briefText(dynamic->shape));
}

} // namespace tilewright
