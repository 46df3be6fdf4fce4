#include "analysis/sets/nodes.h"

#include <algorithm>

namespace tilewright::sets {

NodeList::NodeList(std::span<const Expr> roots) {
  std::vector<Expr> stack(roots.begin(), roots.end()), found;
  while (!stack.empty()) {
    Expr e = stack.back();
    stack.pop_back();
    if (!position.emplace(e.id(), 0).second)
      continue;
    found.push_back(e);
    if (!e.isConstant() && !e.isVariable() && !e.isPoison()) {
      stack.push_back(e.lhs());
      stack.push_back(e.rhs());
    }
  }
  // Operands exist before what uses them.
  std::sort(found.begin(), found.end(), [](Expr a, Expr b) { return a.id() < b.id(); });
  for (uint32_t i = 0; i < found.size(); ++i)
    position[found[i].id()] = i;
  list.reserve(found.size());
  for (Expr e : found) {
    Node node{e};
    if (!e.isConstant() && !e.isVariable() && !e.isPoison()) {
      node.lhs = position[e.lhs().id()];
      node.rhs = position[e.rhs().id()];
    }
    list.push_back(node);
  }
}

} // namespace tilewright::sets
