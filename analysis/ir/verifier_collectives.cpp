// Collectives: the shapes that each replica sends and receives.
#include "analysis/ir/verifier_internal.h"

namespace tilewright {

bool OpCheck::collectives(bool &handled) {
  auto elementOf = [&](size_t index, Opcode start) {
    if (!operandCount(1) || !isResultOf({start}))
      return false;
    if (!operand(0).isTuple || operand(0).elements.size() <= index)
      return fail("{} is not the result of its start", name(0));
    return resultIs(operand(0).elements[index]);
  };
  switch (op.opcode) {
  case Opcode::AllGather:
    return gatherLike(op.shape, false);
  case Opcode::AllGatherStart: // (operands, results), or the result alone
    return op.shape.isTuple ? startResult() && gatherLike(op.shape.elements[1], false)
                            : gatherLike(op.shape, false);
  case Opcode::ReduceScatter:
    return reducesWith() && gatherLike(op.shape, true);
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
    return reducesWith() && sameShapes(op.shape);
  case Opcode::AllReduceDone:
    return operandCount(1) && isResultOf({Opcode::AllReduceStart}) && resultIs(operand(0));
  case Opcode::AllGatherDone:
    if (operands() == 1 && !operand(0).isTuple)
      return isResultOf({Opcode::AllGatherStart}) && resultIs(operand(0));
    return elementOf(1, Opcode::AllGatherStart);
  case Opcode::CollectivePermuteDone:
    return elementOf(1, Opcode::CollectivePermuteStart);
  case Opcode::CollectiveBroadcast:
    return sameShapes(op.shape);
  case Opcode::AllToAll:
    if (!operandCountAtLeast(1) || !areTensors(0, operands()))
      return false;
    if (!op.attrs.dimensions.empty()) {
      if (!exactlyOneDimension(operand(0).rank()))
        return false;
      const int64_t along = op.attrs.dimensions[0], group = op.attrs.replicaGroups.size;
      const int64_t extent = operand(0).dims[static_cast<size_t>(along)];
      if (operands() == 1 && group > 0 && extent % group != 0)
        return failIn("replica_groups",
                      "{} along dim {} of {} is not a multiple of the {} replicas", extent, along,
                      name(0), group);
    }
    // Where the dim isn't split in place, its parts come and go as a tuple.
    return op.shape.isTuple && operands() == 1
               ? (op.shape.elements.size() == 1 &&
                  op.shape.elements[0].sameDimsAndType(operand(0))) ||
                     fail("the result {} must be a tuple of {}", briefText(op.shape), name(0))
               : sameShapes(op.shape);
  case Opcode::CollectivePermute:
    // With four operands the first is written into the second in place.
    if (!operandCountAtLeast(1))
      return false;
    return (operands() == 4 && op.shape.sameDimsAndType(operand(1))) || sameShapes(op.shape);
  case Opcode::CollectivePermuteStart:
    if (!operandCountAtLeast(1))
      return false;
    return (op.shape.isTuple && op.shape.elements.size() >= 2) ||
           fail("the result {} must be a tuple of the operand and the result", briefText(op.shape));
  case Opcode::RaggedAllToAll:
    return operandCount(6) && areTensors(0, 6) && resultIs(operand(1));
  case Opcode::Send:
    return operandCount(2);
  case Opcode::Recv:
    return operandCount(1);
  case Opcode::SendDone:
    return operandCount(1) && isResultOf({Opcode::Send});
  case Opcode::RecvDone:
    return operandCount(1) && isResultOf({Opcode::Recv});
  default:
    handled = false;
    return true;
  }
}

bool OpCheck::reducesWith() {
  if (!operandCountAtLeast(1) || !areTensors(0, operands()))
    return false;
  GraphId body = callee(CallRole::ToApply, "to_apply");
  return body.isValid() && combines(body, "to_apply", operandTypes(1));
}

bool OpCheck::startResult() {
  return (op.shape.isTuple && op.shape.elements.size() >= 2) ||
         fail("the result {} must be a tuple of the operands and the results", briefText(op.shape));
}

/// The result is the operand, or a tuple of the operands.
bool OpCheck::sameShapes(const Shape &result) {
  if (!operandCountAtLeast(1))
    return false;
  bool fits = operands() == 1 && result.sameDimsAndType(operand(0));
  if (!fits && result.isTuple && result.elements.size() == operands()) {
    fits = true;
    for (size_t i = 0; fits && i < operands(); ++i)
      fits = result.elements[i].sameDimsAndType(operand(i));
  }
  return fits || fail("the result {} must be like {}{}", briefText(result), name(0),
                      operands() == 1 ? "" : " and the other operands");
}

/// all-gather: a result is its operand with one dim multiplied by the number of replicas in a
/// group. reduce-scatter: the other way round.
bool OpCheck::gatherLike(const Shape &result, bool isScatter) {
  if (!operandCountAtLeast(1) || !areTensors(0, operands()) ||
      !exactlyOneDimension(operand(0).rank()))
    return false;
  bool isTuple = result.isTuple;
  if (isTuple ? result.elements.size() != operands() : operands() != 1)
    return fail("the result {} must have as many tensors as there are operands, {}",
                briefText(result), operands());
  size_t along = static_cast<size_t>(op.attrs.dimensions[0]);
  for (size_t i = 0; i < operands(); ++i) {
    const Shape &part = isTuple ? result.elements[i] : result;
    if (part.isTuple || part.rank() != operand(i).rank() || along >= part.rank() ||
        !typesAgree(part.dtype, operand(i).dtype))
      return fail("the result {} must be like {} but for dim {}", briefText(part), name(i), along);
    for (size_t dim = 0; dim < part.rank(); ++dim)
      if (dim != along && part.dims[dim] != operand(i).dims[dim])
        return fail("the result {} and {} differ in dim {}, only dim {} may", briefText(part),
                    name(i), dim, along);
    int64_t whole = isScatter ? operand(i).dims[along] : part.dims[along];
    int64_t share = isScatter ? part.dims[along] : operand(i).dims[along];
    if (share == 0 ? whole != 0 : whole % share != 0)
      return fail("{} along dim {} is not a multiple of {}", whole, along, share);
    int64_t group = op.attrs.replicaGroups.size;
    if (share > 0 && group > 0 && whole / share % group != 0)
      return failIn("replica_groups", "groups of {} replicas do not make {} of {} along dim {}",
                    group, whole, share, along);
  }
  return true;
}

} // namespace tilewright
