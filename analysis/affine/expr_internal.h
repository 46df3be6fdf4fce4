// What the files of `Expr` share: nodes, traversal, arithmetic. Not for other folders.
#pragma once

#include "analysis/affine/expr.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilewright::detail {

/// The value of one operation; empty if it has none or leaves 64 bits. `c`: the third operand.
std::optional<int64_t> apply(ExprKind kind, int64_t a, int64_t b, int64_t c = 0);
/// Contains every value of the operation for operands in a, b and c; unbounded for leaves.
Interval apply(ExprKind kind, Interval a, Interval b, Interval c = {});

/// Expressions of up to this many tree nodes are walked as trees: recursion is bounded and looking
/// sub-expressions up costs more than visiting them again.
constexpr uint32_t smallTree = 64;

/// The nodes below a root, numbered so that operands come before what uses them. Does not allocate
/// once a thread's buffers have grown; walks may nest.
class Walk {
public:
  explicit Walk(const ExprNode *root);
  Walk(const Walk &) = delete;
  Walk &operator=(const Walk &) = delete;
  ~Walk();

  /// Adds the nodes below another root; nodes already seen keep their numbers.
  void add(const ExprNode *root);
  const std::vector<const ExprNode *> &order() const;
  /// The place of a node that was walked.
  uint32_t operator[](const ExprNode *node) const;

private:
  struct Buffers;
  static std::vector<std::unique_ptr<Buffers>> &spare();
  std::unique_ptr<Buffers> buffers;
};

/// Folds an expression from its leaves up: `leaf(node)`, `inner(node, lhs, rhs, third)`, where what
/// has no third operand gets a T{}.
template <typename T, typename Leaf, typename Inner>
T foldTree(const ExprNode *node, const Leaf &leaf, const Inner &inner) {
  if (!node->lhs)
    return leaf(node);
  T lhs = foldTree<T>(node->lhs, leaf, inner);
  T rhs = node->rhs == node->lhs ? lhs : foldTree<T>(node->rhs, leaf, inner);
  return inner(node, lhs, rhs, node->third ? foldTree<T>(node->third, leaf, inner) : T{});
}

template <typename T, typename Leaf, typename Inner>
T fold(const ExprNode *root, const Leaf &leaf, const Inner &inner) {
  if (root->treeSize <= smallTree)
    return foldTree<T>(root, leaf, inner);
  Walk walk(root);
  std::vector<T> values;
  values.reserve(walk.order().size());
  for (const ExprNode *node : walk.order())
    values.push_back(node->lhs ? inner(node, values[walk[node->lhs]], values[walk[node->rhs]],
                                       node->third ? values[walk[node->third]] : T{})
                               : leaf(node));
  return values.back();
}

/// Gives these files access to an Expr's node, which is not public.
inline const ExprNode *nodeOf(Expr e) {
  static_assert(sizeof(Expr) == sizeof(const ExprNode *));
  const ExprNode *node;
  __builtin_memcpy(&node, &e, sizeof node);
  return node;
}

} // namespace tilewright::detail
