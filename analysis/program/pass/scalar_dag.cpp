#include "analysis/program/pass/scalar_dag.h"

#include <bit>

namespace tilewright::program {

/// What a conversion to this type of a node is, where it is one of the graph's.
std::optional<ScalarDag::Node> ScalarDag::convertedBack(const ScalarNode &node) const {
  if (node.kind != ScalarNode::Kind::Operation || node.opcode != Opcode::Convert)
    return std::nullopt;
  const ScalarNode &inner = nodes[node.operands[0]];
  bool isSame = inner.type == node.type && inner.kind != ScalarNode::Kind::Number &&
                inner.kind != ScalarNode::Kind::Index;
  if (isSame)
    return node.operands[0];
  bool isWidened = inner.kind == ScalarNode::Kind::Operation && inner.opcode == Opcode::Convert &&
                   inner.type == DType::F32 && isFloat(node.type) && node.type != DType::F64;
  if (isWidened && nodes[inner.operands[0]].type == node.type)
    return inner.operands[0];
  return std::nullopt;
}

ScalarDag::Node ScalarDag::add(ScalarNode node) {
  if (std::optional<Node> before = convertedBack(node))
    return *before;
  constexpr uint64_t none = UINT64_MAX;
  bool isConversion = node.kind == ScalarNode::Kind::Operation && node.opcode == Opcode::Convert;
  std::vector<uint64_t> key{static_cast<uint64_t>(node.kind),
                            node.value.index,
                            node.buffer.index,
                            node.index ? uint64_t{node.index.id()} : none,
                            std::bit_cast<uint64_t>(node.number),
                            static_cast<uint64_t>(node.opcode),
                            static_cast<uint64_t>(node.comparison),
                            node.isApproximate,
                            isConversion ? static_cast<uint64_t>(node.type) : none};
  key.insert(key.end(), node.operands.begin(), node.operands.end());
  auto [it, isNew] = known.try_emplace(std::move(key), static_cast<Node>(nodes.size()));
  if (isNew)
    nodes.push_back(std::move(node));
  return it->second;
}

ScalarDag::Node ScalarDag::number(double value) {
  ScalarNode node;
  node.number = value;
  return add(node);
}

ScalarDag::Node ScalarDag::value(ValueId id, DType type) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Value;
  node.value = id;
  node.type = type;
  return add(node);
}

ScalarDag::Node ScalarDag::operation(Opcode opcode, std::vector<Node> operands, DType type) {
  ScalarNode node;
  node.kind = ScalarNode::Kind::Operation;
  node.opcode = opcode;
  node.operands = std::move(operands);
  node.type = type;
  return add(std::move(node));
}

ScalarDag::Node ScalarDag::add(const ScalarExpr &scalar,
                               const std::function<Node(const ScalarNode &)> &leaf) {
  std::vector<Node> at;
  for (ScalarNode node : scalar.nodes) {
    if (node.kind != ScalarNode::Kind::Operation) {
      at.push_back(leaf(node));
      continue;
    }
    for (uint32_t &operand : node.operands)
      operand = at[operand];
    at.push_back(add(std::move(node)));
  }
  return at.back();
}

ScalarDag::Node ScalarDag::replaced(Node root, const std::map<Node, Node> &leaves) {
  if (auto it = leaves.find(root); it != leaves.end())
    return it->second;
  if (!isOperation(root))
    return root;
  ScalarNode node = nodes[root];
  for (uint32_t &operand : node.operands)
    operand = replaced(operand, leaves);
  return add(std::move(node));
}

std::set<ScalarDag::Node> ScalarDag::leavesOf(Node root) const {
  std::set<Node> leaves, seen;
  std::vector<Node> work{root};
  while (!work.empty()) {
    Node node = work.back();
    work.pop_back();
    if (!seen.insert(node).second)
      continue;
    if (!isOperation(node))
      leaves.insert(node);
    work.insert(work.end(), nodes[node].operands.begin(), nodes[node].operands.end());
  }
  return leaves;
}

ScalarExpr ScalarDag::exprOf(Node root,
                             const std::function<std::optional<ScalarNode>(Node)> &leaf) const {
  ScalarExpr result;
  std::function<uint32_t(Node)> copy = [&](Node at) -> uint32_t {
    if (std::optional<ScalarNode> other = leaf ? leaf(at) : std::nullopt)
      return result.add(*other);
    ScalarNode node = nodes[at];
    for (uint32_t &operand : node.operands)
      operand = copy(operand);
    return result.add(std::move(node));
  };
  copy(root);
  return result;
}

} // namespace tilewright::program
