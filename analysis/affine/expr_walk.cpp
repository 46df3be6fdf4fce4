// Questions that walk an expression's DAG: evaluation, substitution, ranges, variables.
#include "analysis/affine/expr_internal.h"

#include <algorithm>

namespace tilewright {

using detail::apply;
using detail::ExprNode;
using detail::fold;
using detail::nodeOf;
using detail::Walk;

// Marks are kept by node id with a stamp per walk, so that starting a walk costs nothing.
// Expressions of several contexts share a thread's buffers: stamps are never reused.
struct Walk::Buffers {
  struct Mark {
    uint32_t stamp = 0, place = 0;
  };
  std::vector<Mark> marks;
  std::vector<const ExprNode *> order, stack;
  uint32_t stamp = 0;
};

std::vector<std::unique_ptr<Walk::Buffers>> &Walk::spare() {
  thread_local std::vector<std::unique_ptr<Buffers>> buffers;
  return buffers;
}

Walk::Walk(const ExprNode *root) {
  if (spare().empty()) {
    buffers = std::make_unique<Buffers>();
  } else {
    buffers = std::move(spare().back());
    spare().pop_back();
  }
  buffers->order.clear();
  if (++buffers->stamp == 0) {
    std::fill(buffers->marks.begin(), buffers->marks.end(), Buffers::Mark{});
    buffers->stamp = 1;
  }
  add(root);
}

Walk::~Walk() {
  constexpr size_t keptNodes = size_t{1} << 20; // larger buffers are given back
  if (buffers->marks.size() <= keptNodes)
    spare().push_back(std::move(buffers));
}

void Walk::add(const ExprNode *root) {
  // A node's operands are older than the node.
  if (buffers->marks.size() <= root->id)
    buffers->marks.resize(std::max<size_t>(root->id + 1, buffers->marks.size() * 2));
  auto isDone = [this](const ExprNode *node) {
    return buffers->marks[node->id].stamp == buffers->stamp;
  };
  std::vector<const ExprNode *> &stack = buffers->stack;
  stack.assign(1, root);
  while (!stack.empty()) {
    const ExprNode *node = stack.back();
    if (isDone(node)) {
      stack.pop_back();
    } else if (node->lhs && !isDone(node->lhs)) {
      stack.push_back(node->lhs);
    } else if (node->rhs && !isDone(node->rhs)) {
      stack.push_back(node->rhs);
    } else if (node->third && !isDone(node->third)) {
      stack.push_back(node->third);
    } else {
      stack.pop_back();
      buffers->marks[node->id] = {buffers->stamp, static_cast<uint32_t>(buffers->order.size())};
      buffers->order.push_back(node);
    }
  }
}

const std::vector<const ExprNode *> &Walk::order() const { return buffers->order; }
uint32_t Walk::operator[](const ExprNode *node) const { return buffers->marks[node->id].place; }

namespace {

VarId variableOf(const ExprNode *node) { return VarId{static_cast<uint32_t>(node->value)}; }

} // namespace

std::optional<int64_t> evaluate(Expr expr, const Assignment &point) {
  using Value = std::optional<int64_t>;
  return fold<Value>(
      nodeOf(expr),
      [&](const ExprNode *node) -> Value {
        if (node->kind == ExprKind::Constant)
          return node->value;
        return node->kind == ExprKind::Variable ? point.get(variableOf(node)) : std::nullopt;
      },
      [](const ExprNode *node, Value a, Value b, Value c) {
        bool isDefined = a && b && (c || !node->third);
        return isDefined ? apply(node->kind, *a, *b, c.value_or(0)) : std::nullopt;
      });
}

namespace {

template <typename Replacement> Expr substituteWith(Expr expr, const Replacement &replacement) {
  return fold<Expr>(
      nodeOf(expr),
      [&](const ExprNode *node) {
        Expr self(node);
        Expr to = self.isVariable() ? replacement(self.variable()) : Expr();
        return to ? to : self;
      },
      [](const ExprNode *node, Expr lhs, Expr rhs, Expr third) {
        Expr self(node);
        bool same = lhs == self.lhs() && rhs == self.rhs() && third == self.third();
        return same ? self : self.context().operation(node->kind, lhs, rhs, third);
      });
}

} // namespace

Expr substitute(Expr expr, const std::function<Expr(VarId)> &replacement) {
  return substituteWith(expr, replacement);
}

Expr substitute(Expr expr, std::span<const Expr> table) {
  return substituteWith(
      expr, [table](VarId var) { return var.index < table.size() ? table[var.index] : Expr(); });
}

std::vector<Expr> substitute(std::span<const Expr> exprs, std::span<const Expr> table) {
  std::vector<Expr> results;
  results.reserve(exprs.size());
  for (Expr expr : exprs)
    results.push_back(substitute(expr, table));
  return results;
}

Interval detail::apply(ExprKind kind, Interval a, Interval b, Interval c) {
  switch (kind) {
  case ExprKind::Add:
    return a + b;
  case ExprKind::Mul:
    return a * b;
  case ExprKind::FloorDiv:
    return floorDiv(a, b);
  case ExprKind::CeilDiv:
    return ceilDiv(a, b);
  case ExprKind::Mod:
    return mod(a, b);
  case ExprKind::Min:
    return min(a, b);
  case ExprKind::Max:
    return max(a, b);
  case ExprKind::IsAtLeast:
    return isAtLeast(a, b);
  case ExprKind::IsEqual:
    return isEqual(a, b);
  case ExprKind::Select:
    return select(c, a, b);
  case ExprKind::Pow2Ceil:
    return pow2Ceil(a);
  case ExprKind::Pow2Divisor:
    return pow2Divisor(a);
  case ExprKind::Log2:
    return log2(a);
  case ExprKind::Constant:
  case ExprKind::Variable:
  case ExprKind::Poison:
    break;
  }
  return {};
}

Interval rangeOf(Expr expr, const Bounds &bounds) {
  return fold<Interval>(
      nodeOf(expr),
      [&](const ExprNode *node) {
        if (node->kind == ExprKind::Constant)
          return Interval::point(node->value);
        return node->kind == ExprKind::Variable ? bounds.get(variableOf(node)) : Interval{};
      },
      [](const ExprNode *node, Interval a, Interval b, Interval c) {
        return apply(node->kind, a, b, c);
      });
}

std::vector<VarId> variablesOf(Expr expr) { return variablesOf(std::span<const Expr>(&expr, 1)); }

std::vector<VarId> variablesOf(std::span<const Expr> exprs) {
  std::vector<VarId> result;
  if (exprs.empty())
    return result;
  Walk walk(nodeOf(exprs.front()));
  for (Expr expr : exprs.subspan(1))
    walk.add(nodeOf(expr));
  for (const ExprNode *node : walk.order())
    if (node->kind == ExprKind::Variable)
      result.push_back(variableOf(node));
  std::sort(result.begin(), result.end());
  return result;
}

} // namespace tilewright
