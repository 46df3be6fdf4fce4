#include "analysis/affine/expr.h"

#include "analysis/support/checked.h"

#include <cassert>
#include <fmt/format.h>

namespace tilewright {

using detail::ExprNode;

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
      kind, static_cast<uint32_t>(nodes.size()), value, lhs, rhs, this, 0, ExprNode::noLeader};
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

namespace {

std::optional<int64_t> apply(ExprKind kind, int64_t a, int64_t b) {
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

bool isCommutative(ExprKind kind) {
  return kind == ExprKind::Add || kind == ExprKind::Mul || kind == ExprKind::Min ||
         kind == ExprKind::Max;
}

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
const ExprNode *nodeOf(Expr e) {
  static_assert(sizeof(Expr) == sizeof(const ExprNode *));
  const ExprNode *node;
  __builtin_memcpy(&node, &e, sizeof node);
  return node;
}

} // namespace

Expr ExprContext::binary(ExprKind kind, Expr lhs, Expr rhs) {
  assert(lhs && rhs && &lhs.context() == this && &rhs.context() == this);
  if (lhs.isPoison() || rhs.isPoison())
    return poisonExpr;
  if (lhs.isConstant() && rhs.isConstant()) {
    std::optional<int64_t> value = apply(kind, lhs.constant(), rhs.constant());
    return value ? constant(*value) : poisonExpr;
  }
  if (isCommutative(kind) && !rhs.isConstant()) {
    bool leftChain = lhs.kind() == kind, rightChain = rhs.kind() == kind;
    bool wrongWay = leftChain != rightChain ? rightChain : compareStructure(rhs, lhs) < 0;
    if (lhs.isConstant() || wrongWay)
      std::swap(lhs, rhs);
  }
  switch (kind) {
  case ExprKind::Add:
    if (rhs.isConstant(0))
      return lhs;
    break;
  case ExprKind::Mul:
    if (rhs.isConstant(1))
      return lhs;
    if (rhs.isConstant(0))
      return rhs;
    break;
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
    if (rhs.isConstant(1))
      return lhs;
    if (rhs.isConstant() && rhs.constant() <= 0)
      return poisonExpr;
    break;
  case ExprKind::Mod:
    if (rhs.isConstant(1))
      return constant(0);
    if (rhs.isConstant() && rhs.constant() <= 0)
      return poisonExpr;
    break;
  case ExprKind::Min:
  case ExprKind::Max:
    if (lhs == rhs)
      return lhs;
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

std::optional<int64_t> evaluate(Expr expr, const Assignment &point) {
  // Small expressions are the common case: constants and variables need no memo table.
  if (expr.isConstant())
    return expr.constant();
  if (expr.isVariable())
    return point.get(expr.variable());
  NodeMap<std::optional<int64_t>> values;
  postOrder(nodeOf(expr), [&](const ExprNode *node) {
    std::optional<int64_t> &value = values[node];
    if (node->kind == ExprKind::Constant) {
      value = node->value;
    } else if (node->kind == ExprKind::Variable) {
      value = point.get(VarId{static_cast<uint32_t>(node->value)});
    } else if (node->lhs) {
      std::optional<int64_t> a = values[node->lhs], b = values[node->rhs];
      values[node] = a && b ? apply(node->kind, *a, *b) : std::nullopt;
    }
  });
  return values[nodeOf(expr)];
}

namespace {

class Substituter {
public:
  explicit Substituter(const std::function<Expr(VarId)> &replacement) : replacement(replacement) {}

  Expr run(Expr expr) {
    postOrder(nodeOf(expr), [&](const ExprNode *node) {
      Expr &result = results[node];
      if (result)
        return;
      Expr self(node);
      if (self.isVariable()) {
        Expr to = replacement(self.variable());
        result = to ? to : self;
      } else if (!node->lhs) {
        result = self;
      } else {
        Expr lhs = results[node->lhs], rhs = results[node->rhs];
        bool same = lhs == self.lhs() && rhs == self.rhs();
        results[node] = same ? self : self.context().binary(node->kind, lhs, rhs);
      }
    });
    return results[nodeOf(expr)];
  }

private:
  const std::function<Expr(VarId)> &replacement;
  NodeMap<Expr> results;
};

} // namespace

Expr substitute(Expr expr, const std::function<Expr(VarId)> &replacement) {
  return Substituter(replacement).run(expr);
}

Expr substitute(Expr expr, std::span<const Expr> table) {
  return substitute(std::span<const Expr>(&expr, 1), table).front();
}

std::vector<Expr> substitute(std::span<const Expr> exprs, std::span<const Expr> table) {
  std::function<Expr(VarId)> replacement = [table](VarId var) {
    return var.index < table.size() ? table[var.index] : Expr();
  };
  Substituter substituter(replacement);
  std::vector<Expr> results;
  results.reserve(exprs.size());
  for (Expr expr : exprs)
    results.push_back(substituter.run(expr));
  return results;
}

Interval rangeOf(Expr expr, const Bounds &bounds) {
  NodeMap<Interval> ranges;
  postOrder(nodeOf(expr), [&](const ExprNode *node) {
    Interval result;
    if (node->kind == ExprKind::Constant) {
      result = Interval::point(node->value);
    } else if (node->kind == ExprKind::Variable) {
      result = bounds.get(VarId{static_cast<uint32_t>(node->value)});
    } else if (node->lhs) {
      Interval a = ranges[node->lhs], b = ranges[node->rhs];
      switch (node->kind) {
      case ExprKind::Add:
        result = a + b;
        break;
      case ExprKind::Mul:
        result = a * b;
        break;
      case ExprKind::FloorDiv:
        result = floorDiv(a, b);
        break;
      case ExprKind::CeilDiv:
        result = ceilDiv(a, b);
        break;
      case ExprKind::Mod:
        result = mod(a, b);
        break;
      case ExprKind::Min:
        result = min(a, b);
        break;
      case ExprKind::Max:
        result = max(a, b);
        break;
      case ExprKind::Constant:
      case ExprKind::Variable:
      case ExprKind::Poison:
        break;
      }
    }
    ranges[node] = result;
  });
  return ranges[nodeOf(expr)];
}

std::vector<VarId> variablesOf(Expr expr) { return variablesOf(std::span<const Expr>(&expr, 1)); }

std::vector<VarId> variablesOf(std::span<const Expr> exprs) {
  std::vector<VarId> result;
  for (Expr expr : exprs)
    postOrder(nodeOf(expr), [&](const ExprNode *node) {
      if (node->kind == ExprKind::Variable)
        result.push_back(VarId{static_cast<uint32_t>(node->value)});
    });
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

namespace {

// Binding strength: a sum binds loosest; products, divisions and remainders share one level and
// are always parenthesised when they meet, since "a * b floordiv c" would be ambiguous to read.
enum Strength { SumLevel, ProductLevel, AtomLevel };

/// Prints as a tree. Shared sub-expressions of a deep DAG repeat, so the text is cut at a limit
/// rather than growing without bound.
class Printer {
public:
  std::string text;

  void print(const ExprNode *node, Strength outer) {
    if (text.size() > limit) {
      if (!text.ends_with("..."))
        text += "...";
      return;
    }
    switch (node->kind) {
    case ExprKind::Constant:
      text += std::to_string(node->value);
      return;
    case ExprKind::Variable:
      text += node->context->info(VarId{static_cast<uint32_t>(node->value)}).name;
      return;
    case ExprKind::Poison:
      text += "<overflow>";
      return;
    case ExprKind::Min:
    case ExprKind::Max:
      text += node->kind == ExprKind::Min ? "min(" : "max(";
      print(node->lhs, SumLevel);
      text += ", ";
      print(node->rhs, SumLevel);
      text += ")";
      return;
    case ExprKind::Add:
      parenthesised(outer > SumLevel, [&] { printSum(node); });
      return;
    case ExprKind::Mul:
      if (node->rhs->kind == ExprKind::Constant && node->rhs->value == -1) {
        parenthesised(outer > SumLevel, [&] {
          text += "-";
          print(node->lhs, AtomLevel);
        });
        return;
      }
      infix(node, " * ", outer);
      return;
    case ExprKind::FloorDiv:
      infix(node, " floordiv ", outer);
      return;
    case ExprKind::CeilDiv:
      infix(node, " ceildiv ", outer);
      return;
    case ExprKind::Mod:
      infix(node, " mod ", outer);
      return;
    }
  }

private:
  static constexpr size_t limit = 4000;

  template <typename F> void parenthesised(bool yes, F inside) {
    if (yes)
      text += "(";
    inside();
    if (yes)
      text += ")";
  }

  void infix(const ExprNode *node, const char *op, Strength outer) {
    parenthesised(outer > ProductLevel, [&] {
      print(node->lhs, AtomLevel);
      text += op;
      print(node->rhs, AtomLevel);
    });
  }

  void printSum(const ExprNode *node) {
    if (node->lhs->kind == ExprKind::Add)
      printSum(node->lhs);
    else
      print(node->lhs, SumLevel);
    const ExprNode *term = node->rhs;
    bool negativeConstant = term->kind == ExprKind::Constant && term->value < 0;
    bool negativeTerm = term->kind == ExprKind::Mul && term->rhs->kind == ExprKind::Constant &&
                        term->rhs->value < 0 && term->rhs->value != INT64_MIN;
    if (negativeConstant && term->value != INT64_MIN) {
      text += " - " + std::to_string(-term->value);
    } else if (negativeTerm) {
      text += " - ";
      print(term->lhs, AtomLevel);
      if (term->rhs->value != -1)
        text += " * " + std::to_string(-term->rhs->value);
    } else {
      text += " + ";
      print(term, term->kind == ExprKind::Add ? ProductLevel : SumLevel);
    }
  }
};

} // namespace

std::string Expr::str() const {
  Printer printer;
  printer.print(node, SumLevel);
  return printer.text;
}

} // namespace tilewright
