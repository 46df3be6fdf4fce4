// What the files of `Expr` share: nodes, traversal, arithmetic. Not for other folders.
#pragma once

#include "analysis/affine/expr.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilewright::detail {

/// The value of one operation; nothing where it has none or leaves 64 bits.
std::optional<int64_t> apply(ExprKind kind, int64_t a, int64_t b);

/// Calls `visit` on every node once, operands first, without recursion: chains can be long.
template <typename Visit> void postOrder(const ExprNode *root, Visit visit) {
  std::unordered_set<const ExprNode *> done;
  std::vector<std::pair<const ExprNode *, bool>> stack{{root, false}};
  while (!stack.empty()) {
    auto [node, expanded] = stack.back();
    stack.pop_back();
    if (done.count(node))
      continue;
    if (!expanded && node->lhs) {
      stack.push_back({node, true});
      stack.push_back({node->rhs, false});
      stack.push_back({node->lhs, false});
      continue;
    }
    done.insert(node);
    visit(node);
  }
}

template <typename T> class NodeMap {
public:
  T &operator[](const ExprNode *node) { return values[node]; }

private:
  std::unordered_map<const ExprNode *, T> values;
};

/// How Exprs hand out their node without making it public to users.
inline const ExprNode *nodeOf(Expr e) {
  static_assert(sizeof(Expr) == sizeof(const ExprNode *));
  const ExprNode *node;
  __builtin_memcpy(&node, &e, sizeof node);
  return node;
}

} // namespace tilewright::detail
