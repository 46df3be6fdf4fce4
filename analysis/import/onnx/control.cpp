// Branches. One whose condition is known stands in place of the node.
#include "analysis/import/onnx/control.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

Env within(Node &n, Scope &scope, std::string prefix) {
  Env env;
  env.outer = &n.env;
  env.scope = &scope;
  env.opsets = n.env.opsets;
  env.prefix = std::move(prefix);
  const std::string &name = n.proto.name();
  env.origin = n.env.origin + (name.empty() ? "" : name + "/");
  env.depth = n.env.depth + 1;
  return env;
}

bool readGraph(Node &n, const ::onnx::GraphProto &graph, Env &env, std::vector<Value> &out) {
  return n.reader.bindInitializers(graph, env) && n.reader.readNodes(graph, env) &&
         n.reader.results(graph, env, out);
}

/// Values as ops of their scope.
bool opsOf(Node &n, Env &env, std::vector<Value> &values, std::vector<OpId> &out) {
  for (Value &value : values) {
    if (value.list || value.isAbsent)
      return n.refuse(
          "a sequence leaves a branch or a loop, whose length is known at run time only");
    out.push_back(n.reader.materialise(env, value, "value"));
  }
  return !n.hasFailed();
}

bool truthOf(Node &n, size_t i, OpId &out) {
  if (!n.isTensor(i))
    return false;
  if (n.dtype(i) != DType::Pred || n.shape(i).elementCount() != 1)
    return n.fail(fmt::format("the condition is {}", n.shape(i).str(false)));
  out = n.reshape(n.input(i), {});
  return true;
}

bool lowerIf(Node &n) {
  const ::onnx::GraphProto *graphs[] = {n.graph("then_branch"), n.graph("else_branch")};
  if (n.hasFailed() || !n.isTensor(0))
    return false;
  if (n.isKnown(0)) {
    const Tensor *condition = n.known(0);
    if (condition->size() != 1)
      return n.fail("the condition is not one truth value");
    Env env = within(n, n.scope, n.base + ".");
    std::vector<Value> values;
    return readGraph(n, *graphs[condition->integer(0) ? 0 : 1], env, values) &&
           n.finish(std::move(values));
  }
  OpId condition;
  if (!truthOf(n, 0, condition))
    return false;
  std::vector<OpId> operands = {condition};
  std::vector<CalledGraph> called;
  std::vector<Shape> shapes;
  for (const ::onnx::GraphProto *graph : graphs) {
    Captures captures;
    Scope scope(n.computations.freshName(n.base + ".branch"), &n.scope, RegionKind::Branch,
                &captures, n.scope.totals);
    scope.startState({}, SourceLoc{});
    Env env = within(n, scope, n.base + ".");
    std::vector<Value> values;
    std::vector<OpId> results;
    if (!readGraph(n, *graph, env, values) || !opsOf(n, env, values, results))
      return false;
    std::vector<Shape> now;
    for (OpId id : results)
      now.push_back(scope.graph.op(id).shape);
    if (called.empty())
      shapes = now;
    else if (now != shapes)
      return n.refuse("its branches result in different shapes");
    const OpId operand = n.tuple(captures.outer, "operands");
    scope.graph.op(scope.state).shape = n.shapeOf(operand);
    scope.graph.setRoot(scope.rootOf(results, SourceLoc{}));
    operands.push_back(operand);
    called.push_back({CallRole::Branch, n.computations.module.add(std::move(scope.graph))});
  }
  if (shapes.empty())
    return n.fail("its branches have no results");
  const OpId id =
      n.add(Opcode::Conditional, shapes.size() == 1 ? shapes[0] : Shape::tuple(shapes), operands);
  n.scope.graph.op(id).called = called;
  if (shapes.size() == 1)
    return n.finish(id);
  std::vector<OpId> results;
  for (size_t i = 0; i < shapes.size(); ++i)
    results.push_back(n.scope.element(id, i, SourceLoc{}));
  return n.finish(std::move(results));
}

} // namespace tilewright::onnx_format
