#include "analysis/import/op_builder.h"

#include <fmt/format.h>

namespace tilewright {

OpId OpBuilder::append(Op op, std::string_view suffix) {
  op.loc = where;
  if (!metadata.empty())
    op.rawAttrs.push_back({"metadata", metadata, where});
  return scope.add(std::move(op), fmt::format("{}.{}", base, suffix));
}

OpId OpBuilder::add(Opcode opcode, Shape shape, std::vector<OpId> operands, OpAttributes attrs,
                    std::string_view suffix) {
  Op op;
  op.opcode = opcode;
  op.shape = std::move(shape);
  op.operands = std::move(operands);
  op.attrs = std::move(attrs);
  return append(std::move(op), suffix.empty() ? toString(opcode) : suffix);
}

OpId OpBuilder::constant(DType type, std::string literal) {
  Op op;
  op.opcode = Opcode::Constant;
  op.shape = Shape::tensor(type, {});
  op.literal = std::move(literal);
  return append(std::move(op), "constant");
}

OpId OpBuilder::broadcast(OpId of, const Shape &shape, std::vector<int64_t> dims) {
  OpAttributes attrs;
  attrs.dimensions = std::move(dims);
  return add(Opcode::Broadcast, shape, {of}, std::move(attrs));
}

OpId OpBuilder::splat(Shape shape, std::string literal) {
  const OpId value = constant(shape.dtype, std::move(literal));
  return shape.isScalar() ? value : broadcast(value, shape);
}

OpId OpBuilder::convert(OpId of, DType type) {
  Shape shape = scope.graph.op(of).shape;
  if (shape.dtype == type)
    return of;
  shape.dtype = type;
  return add(Opcode::Convert, std::move(shape), {of});
}

OpId OpBuilder::tuple(std::vector<OpId> elements, std::string_view suffix) {
  return scope.tuple(elements, fmt::format("{}.{}", base, suffix), where);
}

Graph makeReducer(std::string name, Opcode opcode, DType type) {
  Graph graph(std::move(name));
  for (int64_t i : {0, 1}) {
    Op op;
    op.opcode = Opcode::Parameter;
    op.name = i == 0 ? "lhs" : "rhs";
    op.shape = Shape::tensor(type, {});
    op.attrs.parameterNumber = i;
    graph.add(std::move(op));
  }
  Op op;
  op.opcode = opcode;
  op.name = toString(opcode);
  op.shape = Shape::tensor(type, {});
  op.operands = {OpId{0}, OpId{1}};
  graph.setRoot(graph.add(std::move(op)));
  return graph;
}

} // namespace tilewright
