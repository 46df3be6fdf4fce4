#include "analysis/affine/expr_internal.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace tilewright {

using detail::ExprNode;
using detail::nodeOf;

size_t ExprContext::KeyHash::operator()(const ExprNode *n) const {
  auto mix = [](uint64_t h, uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdull;
  };
  uint64_t h = mix(static_cast<uint64_t>(n->kind), static_cast<uint64_t>(n->value));
  h = mix(h, n->lhs ? n->lhs->id + 1 : 0);
  return mix(h, n->rhs ? n->rhs->id + 1 : 0);
}

bool ExprContext::KeyEqual::operator()(const ExprNode *a, const ExprNode *b) const {
  return a->kind == b->kind && a->value == b->value && a->lhs == b->lhs && a->rhs == b->rhs;
}

namespace {

uint64_t mixHash(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h ^= h >> 33;
  return h * 0xff51afd7ed558ccdull;
}

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
  // Different nodes differ somewhere below; the hash decides where looking would take long.
  if (a->lhs && depth > 0) {
    if (int order = compareNodes(a->lhs, b->lhs, depth - 1))
      return order;
    return compareNodes(a->rhs, b->rhs, depth - 1);
  }
  if (a->hash != b->hash)
    return compareNumbers(a->hash, b->hash);
  return compareNumbers(a->id, b->id);
}

} // namespace

int compareStructure(Expr a, Expr b) { return compareNodes(a.node, b.node, 12); }

ExprContext::ExprContext() { poisonExpr = intern(ExprKind::Poison, 0, nullptr, nullptr); }

Expr ExprContext::intern(ExprKind kind, int64_t value, const ExprNode *lhs, const ExprNode *rhs) {
  ExprNode probe{
      kind, static_cast<uint32_t>(nodes.size()), value, lhs, rhs, this, 0, ExprNode::noLeader, 1};
  if (auto it = interned.find(&probe); it != interned.end())
    return Expr(*it);
  probe.hash = mixHash(static_cast<uint64_t>(kind), 17);
  if (kind == ExprKind::Variable) {
    const Variable &var = variables[static_cast<size_t>(value)];
    probe.leader = static_cast<uint32_t>(value);
    probe.hash = mixHash(probe.hash, static_cast<uint64_t>(var.kind));
    for (char c : var.name)
      probe.hash = mixHash(probe.hash, static_cast<unsigned char>(c));
  } else if (lhs) {
    probe.hash = mixHash(mixHash(probe.hash, lhs->hash), rhs->hash);
    probe.treeSize = static_cast<uint32_t>(
        std::min<uint64_t>(uint64_t{1} + lhs->treeSize + rhs->treeSize, UINT32_MAX));
    probe.leader = lhs->leader;
    if (rhs->leader != ExprNode::noLeader &&
        (probe.leader == ExprNode::noLeader ||
         compareVariables(VarId{rhs->leader}, VarId{probe.leader}) < 0))
      probe.leader = rhs->leader;
  } else {
    probe.hash = mixHash(probe.hash, static_cast<uint64_t>(value));
  }
  nodes.push_back(probe);
  interned.insert(&nodes.back());
  return Expr(&nodes.back());
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

std::optional<int64_t> detail::apply(ExprKind kind, int64_t a, int64_t b) {
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
         kind == ExprKind::Max;
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
    bool leftChain = lhs.kind() == kind, rightChain = rhs.kind() == kind;
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
  case ExprKind::Constant:
  case ExprKind::Variable:
  case ExprKind::Poison:
    assert(false && "not a binary kind");
    break;
  }
  return intern(kind, 0, nodeOf(lhs), nodeOf(rhs));
}

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
