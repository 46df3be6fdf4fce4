// Scalar expressions of several ops as one graph, in which equal parts are one node.
#pragma once

#include "analysis/program/program.h"

#include <map>
#include <set>

namespace tilewright::program {

class ScalarDag {
public:
  using Node = uint32_t;

  /// `operands` of an operation are nodes of this graph.
  Node add(ScalarNode node);
  Node number(double value);
  Node value(ValueId id, DType type);
  Node operation(Opcode opcode, std::vector<Node> operands, DType type = DType::F32);
  /// An expression, whose leaves `leaf` adds.
  Node add(const ScalarExpr &scalar, const std::function<Node(const ScalarNode &)> &leaf);

  const ScalarNode &operator[](Node node) const { return nodes[node]; }
  bool isOperation(Node node) const { return nodes[node].kind == ScalarNode::Kind::Operation; }
  /// The same with leaves replaced.
  Node replaced(Node root, const std::map<Node, Node> &leaves);
  /// Leaves below a node, each once.
  std::set<Node> leavesOf(Node root) const;
  /// An expression, in which `leaf` stands for some nodes: none where it is to be computed.
  ScalarExpr exprOf(Node root,
                    const std::function<std::optional<ScalarNode>(Node)> &leaf = {}) const;

private:
  std::optional<Node> convertedBack(const ScalarNode &node) const;

  std::vector<ScalarNode> nodes;
  std::map<std::vector<uint64_t>, Node> known;
};

} // namespace tilewright::program
