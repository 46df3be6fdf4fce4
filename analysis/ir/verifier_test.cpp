// Modules made by hand, which no reader has checked. Modules as text: tests/import/bad_ops.hlo.txt.
#include "analysis/ir/verifier.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

Op parameter(std::string name, Shape shape, int64_t number) {
  Op op;
  op.name = std::move(name);
  op.opcode = Opcode::Parameter;
  op.shape = std::move(shape);
  op.attrs.parameterNumber = number;
  return op;
}

Op negate(std::string name, Shape shape, OpId operand) {
  Op op;
  op.name = std::move(name);
  op.opcode = Opcode::Negate;
  op.shape = std::move(shape);
  op.operands = {operand};
  return op;
}

std::string problem(Graph graph) {
  Module module;
  module.entryId = module.add(std::move(graph));
  llvm::Error error = verify(module);
  return error ? takeDiag(std::move(error)).message : "";
}

/// A graph of one parameter of that shape and a negate of it.
Graph graphOf(Shape shape) {
  Graph graph("g");
  OpId p = graph.add(parameter("p", shape, 0));
  graph.setRoot(graph.add(negate("n", shape, p)));
  return graph;
}

} // namespace

TEST(Verifier, AcceptsWhatIsRight) {
  EXPECT_EQ(problem(graphOf(Shape::tensor(DType::F32, {4, 0}))), "");
}

TEST(Verifier, RefusesModulesWithoutEntryOrRoot) {
  Module module;
  EXPECT_EQ(takeDiag(verify(module)).message, "the module has no entry computation");
  EXPECT_EQ(problem(Graph("g")), "computation %g has no root");
  Graph graph("g");
  graph.add(parameter("p", Shape::tensor(DType::F32, {}), 0));
  EXPECT_EQ(problem(std::move(graph)), "computation %g has no root");
}

TEST(Verifier, RefusesImpossibleShapes) {
  EXPECT_EQ(problem(graphOf(Shape::tensor(DType::F32, {4, -1}))),
            "extent -1 of f32[4,-1] is negative");
  EXPECT_EQ(problem(graphOf(Shape::tensor(DType::F64, {INT64_MAX / 4}))),
            "f64[2305843009213693951] takes more bytes than 64 bits can count");
  Shape shape = Shape::tensor(DType::F32, {2, 3});
  shape.layout = Layout{{0, 0}, ""};
  EXPECT_EQ(problem(graphOf(shape)),
            "the layout of f32[2,3]{0,0} is not a permutation of its dims");
  shape.layout = Layout{{0}, ""};
  EXPECT_EQ(problem(graphOf(shape)), "the layout of f32[2,3]{0} is not a permutation of its dims");
}

TEST(Verifier, RefusesOperandsThatDoNotPrecede) {
  Graph graph = graphOf(Shape::tensor(DType::F32, {4}));
  graph.op(graph.root()).operands[0] = graph.root();
  EXPECT_EQ(problem(std::move(graph)), "%n reads an op that does not precede it");
}

TEST(Verifier, RefusesCallsToNowhereAndToOneself) {
  Graph graph = graphOf(Shape::tensor(DType::F32, {4}));
  Op &op = graph.op(graph.root());
  op.opcode = Opcode::Call;
  op.called = {{CallRole::ToApply, GraphId{7}}};
  EXPECT_EQ(problem(graph), "%n calls a computation that does not exist");
  op.called = {{CallRole::ToApply, GraphId{0}}};
  EXPECT_EQ(problem(graph), "call: computation %g calls itself through %n");
}

TEST(Verifier, LongShapesAreCutShortInMessages) {
  Shape tuple = Shape::tuple(std::vector<Shape>(5000, Shape::tensor(DType::F32, {4})));
  std::string message = problem(graphOf(tuple));
  EXPECT_NE(message.find("is not a tensor"), std::string::npos) << message;
  EXPECT_LT(message.size(), 300u);
}
