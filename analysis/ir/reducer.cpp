#include "analysis/ir/reducer.h"

namespace tilewright {

std::optional<Opcode> reducerOpcode(const Graph &reducer) {
  if (!reducer.root().isValid())
    return std::nullopt;
  auto behindConverts = [&](OpId id) {
    while (reducer[id].opcode == Opcode::Convert || reducer[id].opcode == Opcode::Copy)
      id = reducer[id].operands[0];
    return id;
  };
  OpId result = reducer.root();
  if (reducer[result].opcode == Opcode::Tuple && reducer[result].operands.size() == 1)
    result = reducer[result].operands[0];
  const Op &root = reducer[behindConverts(result)];
  if (root.operands.size() != 2)
    return std::nullopt;
  const Op &first = reducer[behindConverts(root.operands[0])];
  const Op &second = reducer[behindConverts(root.operands[1])];
  if (first.opcode != Opcode::Parameter || second.opcode != Opcode::Parameter ||
      first.attrs.parameterNumber == second.attrs.parameterNumber)
    return std::nullopt;
  return root.opcode;
}

} // namespace tilewright
