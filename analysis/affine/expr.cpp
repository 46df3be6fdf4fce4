#include "analysis/affine/expr_internal.h"
#include "analysis/affine/map_pool.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace tilewright {

using detail::ExprNode;
using detail::nodeOf;

namespace {

int compareNumbers(auto a, auto b) { return a < b ? -1 : a > b; }

} // namespace

int ExprContext::compareVariables(VarId a, VarId b) const {
  if (a == b)
    return 0;
  const Variable &x = info(a), &y = info(b);
  if (x.kind != y.kind)
    return compareNumbers(x.kind, y.kind);
  if (x.name.size() != y.name.size())
    return compareNumbers(x.name.size(), y.name.size());
  return x.name.compare(y.name);
}

namespace {

int compareNodes(const ExprNode *a, const ExprNode *b, int depth) {
  if (a == b)
    return 0;
  if (a->leader != b->leader) {
    if (a->leader == ExprNode::noLeader || b->leader == ExprNode::noLeader)
      return a->leader == ExprNode::noLeader ? 1 : -1;
    return a->context->compareVariables(VarId{a->leader}, VarId{b->leader});
  }
  if (a->kind != b->kind)
    return compareNumbers(a->kind, b->kind);
  if (a->kind == ExprKind::Constant)
    return compareNumbers(a->value, b->value);
  // Different nodes differ somewhere below; the hash decides where comparing would take long.
  if (a->lhs && depth > 0) {
    if (int order = compareNodes(a->lhs, b->lhs, depth - 1))
      return order;
    if (int order = compareNodes(a->rhs, b->rhs, depth - 1))
      return order;
    return a->third ? compareNodes(a->third, b->third, depth - 1) : 0;
  }
  if (a->hash != b->hash)
    return compareNumbers(a->hash, b->hash);
  return compareNumbers(a->id, b->id);
}

} // namespace

int compareStructure(Expr a, Expr b) { return compareNodes(a.node, b.node, 12); }

ExprContext::ExprContext() : pool(std::make_unique<detail::MapPool>(*this)) {
  poisonExpr = intern(ExprKind::Poison, 0, nullptr, nullptr);
}
ExprContext::~ExprContext() = default;

Expr ExprContext::intern(ExprKind kind, int64_t value, const ExprNode *lhs, const ExprNode *rhs,
                         const ExprNode *third) {
  uint64_t operands = lhs ? uint64_t{lhs->id} << 32 | rhs->id : 0;
  uint64_t key = detail::mixHash(detail::mixHash(static_cast<uint64_t>(kind), operands),
                                 static_cast<uint64_t>(value));
  if (third)
    key = detail::mixHash(key, third->id);
  if (const ExprNode *const *found = interned.find(key, [&](const ExprNode *n) {
        return n->kind == kind && n->value == value && n->lhs == lhs && n->rhs == rhs &&
               n->third == third;
      }))
    return Expr(*found);
  ExprNode *node =
      arena.make<ExprNode>(ExprNode{kind, static_cast<uint32_t>(interned.size()), value, lhs, rhs,
                                    third, this, 0, ExprNode::noLeader, 1, 0});
  node->hash = detail::mixHash(static_cast<uint64_t>(kind), 17);
  if (kind == ExprKind::Variable) {
    const Variable &var = variables[static_cast<size_t>(value)];
    node->leader = static_cast<uint32_t>(value);
    node->variables = uint64_t{1} << std::min<int64_t>(value, 63);
    node->hash = detail::mixHash(node->hash, static_cast<uint64_t>(var.kind));
    for (char c : var.name)
      node->hash = detail::mixHash(node->hash, static_cast<unsigned char>(c));
  } else if (lhs) {
    node->hash = detail::mixHash(detail::mixHash(node->hash, lhs->hash), rhs->hash);
    node->treeSize = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{1} + lhs->treeSize +
                                                                  (rhs == lhs ? 0 : rhs->treeSize) +
                                                                  (third ? third->treeSize : 0),
                                                              UINT32_MAX));
    node->variables = lhs->variables;
    node->leader = lhs->leader;
    for (const ExprNode *other : {rhs, third}) {
      if (!other)
        continue;
      node->variables |= other->variables;
      if (other->leader != ExprNode::noLeader &&
          (node->leader == ExprNode::noLeader ||
           compareVariables(VarId{other->leader}, VarId{node->leader}) < 0))
        node->leader = other->leader;
    }
  } else {
    node->hash = detail::mixHash(node->hash, static_cast<uint64_t>(value));
  }
  interned.insert(key, node);
  return Expr(node);
}

Expr ExprContext::constant(int64_t value) {
  return intern(ExprKind::Constant, value, nullptr, nullptr);
}

Expr ExprContext::poison() { return poisonExpr; }

Expr ExprContext::addVariable(VarKind kind, std::string name) {
  VarId id{static_cast<uint32_t>(variables.size())};
  variables.push_back({kind, std::move(name)});
  variableExprs.push_back(intern(ExprKind::Variable, id.index, nullptr, nullptr));
  return variableExprs.back();
}

Expr ExprContext::dim(unsigned i) {
  while (dims.size() <= i)
    dims.push_back(variable(VarKind::Dim, fmt::format("d{}", dims.size())));
  return dims[i];
}

Expr ExprContext::range(unsigned i) {
  while (ranges.size() <= i)
    ranges.push_back(variable(VarKind::Range, fmt::format("s{}", ranges.size())));
  return ranges[i];
}

Expr ExprContext::runtime(unsigned i) {
  while (runtimes.size() <= i)
    runtimes.push_back(variable(VarKind::Runtime, fmt::format("rt{}", runtimes.size())));
  return runtimes[i];
}

Expr ExprContext::variable(VarKind kind, std::string_view name) {
  std::string key = fmt::format("{}{}", static_cast<int>(kind), name);
  if (auto it = variablesByName.find(key); it != variablesByName.end())
    return variableExprs[it->second.index];
  Expr var = addVariable(kind, std::string(name));
  variablesByName.emplace(std::move(key), var.variable());
  return var;
}

Expr ExprContext::freshVariable(VarKind kind, std::string_view prefix) {
  for (size_t n = variables.size();; ++n) {
    std::string name = fmt::format("{}{}", prefix, n);
    if (!variablesByName.count(fmt::format("{}{}", static_cast<int>(kind), name)))
      return variable(kind, name);
  }
}

std::optional<int64_t> detail::apply(ExprKind kind, int64_t a, int64_t b, int64_t c) {
  switch (kind) {
  case ExprKind::Add:
    return checkedAdd(a, b);
  case ExprKind::Mul:
    return checkedMul(a, b);
  case ExprKind::FloorDiv:
    return b > 0 ? checkedFloorDiv(a, b) : std::nullopt;
  case ExprKind::CeilDiv:
    return b > 0 ? checkedCeilDiv(a, b) : std::nullopt;
  case ExprKind::Mod:
    return checkedMod(a, b);
  case ExprKind::Min:
    return std::min(a, b);
  case ExprKind::Max:
    return std::max(a, b);
  case ExprKind::IsAtLeast:
    return a >= b;
  case ExprKind::IsEqual:
    return a == b;
  case ExprKind::Select:
    return c != 0 ? a : b;
  case ExprKind::Pow2Ceil:
    return checkedPow2Ceil(a);
  case ExprKind::Pow2Divisor:
    return checkedPow2Divisor(a);
  case ExprKind::Log2:
    return checkedLog2(a);
  case ExprKind::Constant:
  case ExprKind::Variable:
  case ExprKind::Poison:
    break;
  }
  return std::nullopt;
}

namespace {

bool isCommutative(ExprKind kind) {
  return kind == ExprKind::Add || kind == ExprKind::Mul || kind == ExprKind::Min ||
         kind == ExprKind::Max || kind == ExprKind::IsEqual;
}

} // namespace

Expr ExprContext::binary(ExprKind kind, Expr lhs, Expr rhs) {
  assert(lhs && rhs && &lhs.context() == this && &rhs.context() == this);
  auto by = [this](Rule rule, Expr result) {
    counts.add(rule);
    return result;
  };
  if (lhs.isPoison() || rhs.isPoison())
    return by(Rule::FoldPoison, poisonExpr);
  bool divides = kind == ExprKind::FloorDiv || kind == ExprKind::CeilDiv || kind == ExprKind::Mod;
  if (divides && rhs.isConstant() && rhs.constant() <= 0)
    return by(Rule::DivisorNotPositive, poisonExpr);
  if (lhs.isConstant() && rhs.isConstant()) {
    std::optional<int64_t> value = detail::apply(kind, lhs.constant(), rhs.constant());
    return by(Rule::FoldConstants, value ? constant(*value) : poisonExpr);
  }
  if (isCommutative(kind) && !rhs.isConstant()) {
    bool isChain = kind != ExprKind::IsEqual;
    bool leftChain = isChain && lhs.kind() == kind, rightChain = isChain && rhs.kind() == kind;
    bool wrongWay = leftChain != rightChain ? rightChain : compareStructure(rhs, lhs) < 0;
    if (lhs.isConstant() || wrongWay) {
      std::swap(lhs, rhs);
      counts.add(Rule::OrderOperands);
    }
  }
  switch (kind) {
  case ExprKind::Add:
    if (rhs.isConstant(0))
      return by(Rule::AddZero, lhs);
    break;
  case ExprKind::Mul:
    if (rhs.isConstant(1))
      return by(Rule::MulOne, lhs);
    if (rhs.isConstant(0))
      return by(Rule::MulZero, rhs);
    break;
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
    if (rhs.isConstant(1))
      return by(Rule::DivideByOne, lhs);
    break;
  case ExprKind::Mod:
    if (rhs.isConstant(1))
      return by(Rule::ModOne, constant(0));
    break;
  case ExprKind::Min:
  case ExprKind::Max:
    if (lhs == rhs)
      return by(Rule::SameOperands, lhs);
    break;
  case ExprKind::IsAtLeast:
  case ExprKind::IsEqual:
    if (lhs == rhs)
      return by(Rule::CompareSame, constant(1));
    break;
  default:
    assert(false && "not a binary kind");
    break;
  }
  return intern(kind, 0, nodeOf(lhs), nodeOf(rhs));
}

Expr ExprContext::unary(ExprKind kind, Expr operand) {
  assert(operand && &operand.context() == this);
  if (operand.isPoison()) {
    counts.add(Rule::FoldPoison);
    return poisonExpr;
  }
  if (operand.isConstant()) {
    counts.add(Rule::FoldConstants);
    std::optional<int64_t> value = detail::apply(kind, operand.constant(), 0);
    return value ? constant(*value) : poisonExpr;
  }
  return intern(kind, 0, nodeOf(operand), nodeOf(operand));
}

Expr ExprContext::select(Expr condition, Expr ifTrue, Expr ifFalse) {
  assert(condition && ifTrue && ifFalse && &condition.context() == this);
  auto by = [this](Rule rule, Expr result) {
    counts.add(rule);
    return result;
  };
  if (condition.isPoison() || ifTrue.isPoison() || ifFalse.isPoison())
    return by(Rule::FoldPoison, poisonExpr);
  if (condition.isConstant())
    return by(Rule::SelectKnown, condition.constant() != 0 ? ifTrue : ifFalse);
  if (ifTrue == ifFalse)
    return by(Rule::SelectSame, ifTrue);
  return intern(ExprKind::Select, 0, nodeOf(ifTrue), nodeOf(ifFalse), nodeOf(condition));
}

Expr ExprContext::operation(ExprKind kind, Expr lhs, Expr rhs, Expr third) {
  switch (kind) {
  case ExprKind::Select:
    return select(third, lhs, rhs);
  case ExprKind::Pow2Ceil:
  case ExprKind::Pow2Divisor:
  case ExprKind::Log2:
    return unary(kind, lhs);
  default:
    return binary(kind, lhs, rhs);
  }
}

Expr select(Expr c, Expr a, Expr b) { return c.context().select(c, a, b); }
Expr Expr::isAtLeast(Expr o) const { return context().binary(ExprKind::IsAtLeast, *this, o); }
Expr Expr::isEqual(Expr o) const { return context().binary(ExprKind::IsEqual, *this, o); }
Expr Expr::pow2Ceil() const { return context().unary(ExprKind::Pow2Ceil, *this); }
Expr Expr::pow2Divisor() const { return context().unary(ExprKind::Pow2Divisor, *this); }
Expr Expr::log2() const { return context().unary(ExprKind::Log2, *this); }

Expr Expr::operator+(Expr o) const { return context().binary(ExprKind::Add, *this, o); }
Expr Expr::operator*(Expr o) const { return context().binary(ExprKind::Mul, *this, o); }
Expr Expr::operator-(Expr o) const { return *this + o * -1; }
Expr Expr::operator-() const { return *this * -1; }
Expr Expr::floorDiv(Expr o) const { return context().binary(ExprKind::FloorDiv, *this, o); }
Expr Expr::ceilDiv(Expr o) const { return context().binary(ExprKind::CeilDiv, *this, o); }
Expr Expr::mod(Expr o) const { return context().binary(ExprKind::Mod, *this, o); }
Expr Expr::min(Expr o) const { return context().binary(ExprKind::Min, *this, o); }
Expr Expr::max(Expr o) const { return context().binary(ExprKind::Max, *this, o); }
Expr Expr::operator+(int64_t o) const { return *this + context().constant(o); }
Expr Expr::operator-(int64_t o) const { return *this - context().constant(o); }
Expr Expr::operator*(int64_t o) const { return *this * context().constant(o); }
Expr Expr::floorDiv(int64_t o) const { return floorDiv(context().constant(o)); }
Expr Expr::ceilDiv(int64_t o) const { return ceilDiv(context().constant(o)); }
Expr Expr::mod(int64_t o) const { return mod(context().constant(o)); }
Expr Expr::min(int64_t o) const { return min(context().constant(o)); }
Expr Expr::max(int64_t o) const { return max(context().constant(o)); }

} // namespace tilewright
