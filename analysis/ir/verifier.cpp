#include "analysis/ir/verifier.h"

#include "analysis/ir/call_graph.h"
#include "analysis/ir/verifier_internal.h"

#include <algorithm>

namespace tilewright {

VerifyContext::VerifyContext(const Module &module) : module(module) {
  for (const Graph &graph : module.all())
    parameters.push_back(graph.parameters());
}

bool VerifyContext::sameShape(const Op &a, const Op &b) {
  if (!a.shape.isTuple || !b.shape.isTuple)
    return a.shape.sameDimsAndType(b.shape);
  if (sameTuples.count({&a, &b}))
    return true;
  bool isSame = a.shape.sameDimsAndType(b.shape);
  if (isSame)
    sameTuples.emplace(&a, &b);
  return isSame;
}

bool OpCheck::failAt(SourceLoc place, std::string text) {
  if (message.empty()) {
    where = place;
    message =
        fmt::format("{}{} {}", toString(op.opcode), text.starts_with("needs ") ? "" : ":", text);
  }
  return false;
}

SourceLoc OpCheck::attributeLoc(std::string_view name) const {
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == name && attribute.loc.isKnown())
      return attribute.loc;
  return op.loc;
}

std::string OpCheck::name(size_t i) const {
  return fmt::format("operand %{} {}", operandOp(i).name, briefText(operand(i)));
}

bool OpCheck::operandCount(size_t count) {
  return operands() == count ||
         fail("needs {} operand{}, {} given", count, count == 1 ? "" : "s", operands());
}

bool OpCheck::operandCountAtLeast(size_t count) {
  return operands() >= count ||
         fail("needs at least {} operand{}, {} given", count, count == 1 ? "" : "s", operands());
}

bool OpCheck::areTensors(size_t from, size_t to) {
  for (size_t i = from; i < to; ++i)
    if (operand(i).isTuple || operand(i).isBuffer ||
        dtypeClass(operand(i).dtype) == DTypeClass::NonNumeric)
      return fail("{} is not a tensor", name(i));
  return true;
}

bool OpCheck::isScalar(size_t i) {
  return (areTensors(i, i + 1) && operand(i).isScalar()) || fail("{} is not a scalar", name(i));
}

bool OpCheck::isIntegerScalar(size_t i) {
  return (operand(i).isScalar() && isInteger(operand(i).dtype)) ||
         fail("{} is not an integer scalar", name(i));
}

bool OpCheck::resultDims(const std::vector<int64_t> &dims) {
  if (!op.shape.isTuple && op.shape.dims == dims)
    return true;
  return fail("the result is {}, its operands and attributes make it {}", briefText(op.shape),
              briefText(Shape::tensor(op.shape.isTuple ? DType::F32 : op.shape.dtype, dims)));
}

bool OpCheck::resultIs(const Shape &expected) {
  return op.shape.sameDimsAndType(expected) ||
         fail("the result is {}, it must be {}", briefText(op.shape), briefText(expected));
}

bool OpCheck::typesAgree(DType a, DType b) { return a == b || (isFloat(a) && isFloat(b)); }

bool OpCheck::resultTypeLike(size_t i) {
  return typesAgree(op.shape.dtype, operand(i).dtype) ||
         fail("the result is {}, {} has another element type", briefText(op.shape), name(i));
}

bool OpCheck::dimsInRange(std::string_view attribute, const std::vector<int64_t> &dims,
                          size_t rank) {
  std::vector<bool> seen(rank);
  std::string_view one = attribute == "dimensions" ? "dimension" : attribute;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= static_cast<int64_t>(rank))
      return failIn(attribute, "{} {} is out of range, the rank is {}", one, dim, rank);
    if (seen[static_cast<size_t>(dim)])
      return failIn(attribute, "{} lists {} twice", attribute, dim);
    seen[static_cast<size_t>(dim)] = true;
  }
  return true;
}

bool OpCheck::exactlyOneDimension(size_t rank) {
  std::string_view attribute = op.opcode == Opcode::Iota ? "iota_dimension" : "dimensions";
  if (op.attrs.dimensions.size() != 1)
    return failIn(attribute, "needs exactly one dimension, {} given", op.attrs.dimensions.size());
  return dimsInRange(attribute, op.attrs.dimensions, rank);
}

bool OpCheck::isAboutUnbounded() const {
  bool isUnbounded = op.shape.isUnbounded();
  for (size_t i = 0; i < operands(); ++i)
    isUnbounded |= operand(i).isUnbounded();
  return isUnbounded;
}

bool OpCheck::run() {
  bool isCall = true;
  if (!tuplesAndCalls(isCall))
    return false;
  // Which extents fit each other is known at run time only; no analysis takes such an op.
  if (isCall || isAboutUnbounded())
    return true;
  // Each family handles its opcodes; the remaining ones are elementwise.
  using Family = bool (OpCheck::*)(bool &);
  for (Family family :
       {&OpCheck::shapeOps, &OpCheck::contractions, &OpCheck::windows, &OpCheck::indexed,
        &OpCheck::collectives, &OpCheck::opaque, &OpCheck::countsOnly}) {
    bool handled = true;
    if (!(this->*family)(handled))
      return false;
    if (handled)
      return true;
  }
  return elementwise();
}

namespace {

/// The error in a shape by itself, or empty.
std::optional<std::string> shapeProblem(const Shape &shape) {
  if (shape.isTuple) {
    for (const Shape &element : shape.elements)
      if (auto problem = shapeProblem(element))
        return problem;
    return std::nullopt;
  }
  for (int64_t dim : shape.dims)
    if (dim < 0)
      return fmt::format("extent {} of {} is negative", dim, briefText(shape));
  if (!shape.isUnbounded() && !shape.byteSize())
    return fmt::format("{} takes more bytes than 64 bits can count", briefText(shape));
  if (!shape.dynamic.empty() && shape.dynamic.size() != shape.dims.size())
    return fmt::format("{} dims of {} are marked dynamic or not", shape.dynamic.size(),
                       briefText(shape));
  if (shape.layout && !shape.layout->minorToMajor.empty()) {
    std::vector<int64_t> order = shape.layout->minorToMajor;
    std::sort(order.begin(), order.end());
    bool isPermutation = order.size() == shape.dims.size();
    for (size_t i = 0; isPermutation && i < order.size(); ++i)
      isPermutation = order[i] == static_cast<int64_t>(i);
    if (!isPermutation)
      return fmt::format("the layout of {} is not a permutation of its dims", shape.str());
  }
  return std::nullopt;
}

llvm::Error verifyGraph(VerifyContext &context, const Graph &graph) {
  const Module &module = context.module;
  auto refuse = [&](SourceLoc where, std::string message) {
    return makeError(module.diagAt(where, std::move(message)));
  };
  if (graph.size() == 0 || graph.root().index >= graph.size())
    return refuse(graph.loc, fmt::format("computation %{} has no root", graph.name()));
  size_t parameterCount = 0;
  for (const Op &op : graph.all())
    parameterCount += op.opcode == Opcode::Parameter;
  std::vector<const Op *> byNumber(parameterCount);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    for (OpId operand : op.operands)
      if (operand.index >= i)
        return refuse(op.loc, fmt::format("%{} reads an op that does not precede it", op.name));
    for (const CalledGraph &called : op.called)
      if (called.graph.index >= module.all().size())
        return refuse(op.loc, fmt::format("%{} calls a computation that does not exist", op.name));
    if (auto problem = shapeProblem(op.shape))
      return refuse(op.loc, *problem);
    if (op.opcode == Opcode::Parameter) {
      int64_t number = op.attrs.parameterNumber;
      if (number < 0 || number >= static_cast<int64_t>(parameterCount))
        return refuse(op.loc, fmt::format("parameter: number {} is out of range, %{} has {}",
                                          number, graph.name(), parameterCount));
      const Op *&slot = byNumber[static_cast<size_t>(number)];
      if (slot)
        return refuse(op.loc,
                      fmt::format("parameter: number {} is %{} already", number, slot->name));
      slot = &op;
    }
    OpCheck check(context, graph, op);
    if (!check.run())
      return refuse(check.where, std::move(check.message));
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error verify(const Module &module) {
  if (module.entryId.index >= module.all().size())
    return makeError(module.diagAt({}, "the module has no entry computation"));
  VerifyContext context(module);
  for (const Graph &graph : module.all())
    if (llvm::Error error = verifyGraph(context, graph))
      return error;
  return calleesFirst(module).takeError(); // refuses recursion
}

} // namespace tilewright
