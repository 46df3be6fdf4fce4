#include "analysis/program/pass/dependence.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tilewright::program {

namespace {

using Kind = Dependence::Kind;

/// Adds terms times a number; those that cancel go.
void addTerms(std::map<ScalarDag::Node, double> &into,
              const std::map<ScalarDag::Node, double> &terms, double by) {
  for (auto [node, coefficient] : terms) {
    double &sum = into[node];
    sum += coefficient * by;
    if (sum == 0)
      into.erase(node);
  }
}

} // namespace

Dependence Dependences::other(Node node) const {
  Dependence result;
  result.kind = Kind::Other;
  result.why =
      fmt::format("'{}' depends on a reduction in a way that no factor corrects", text(node));
  return result;
}

const Dependence &Dependences::of(Node node) {
  auto it = known.find(node);
  if (it == known.end())
    it = known.emplace(node, dag.isOperation(node) ? compute(node) : leaf(node)).first;
  return it->second;
}

/// c·e as {e: c}.
std::map<Dependences::Node, double> Dependences::linear(Node node) const {
  const ScalarNode &n = dag[node];
  auto scaled = [&](Node of, double by) {
    std::map<Node, double> terms;
    addTerms(terms, linear(of), by);
    return terms;
  };
  if (n.kind == ScalarNode::Kind::Operation) {
    auto number = [&](size_t i) -> std::optional<double> {
      const ScalarNode &operand = dag[n.operands[i]];
      bool isNumber = operand.kind == ScalarNode::Kind::Number && operand.number != 0;
      return isNumber ? std::optional(operand.number) : std::nullopt;
    };
    if (n.opcode == Opcode::Negate)
      return scaled(n.operands[0], -1);
    if (n.opcode == Opcode::Multiply)
      for (size_t i : {0, 1})
        if (auto by = number(i))
          return scaled(n.operands[1 - i], *by);
    if (n.opcode == Opcode::Divide)
      if (auto by = number(1))
        return scaled(n.operands[0], 1 / *by);
  }
  return {{node, 1.0}};
}

std::optional<std::map<Dependences::Node, double>> Dependences::termsOf(Node node) {
  const Dependence &d = of(node);
  if (d.isComplete())
    return std::map<Node, double>{};
  if (d.kind == Kind::Reduced)
    return linear(node);
  if (d.kind == Kind::Shifted)
    return d.terms;
  return std::nullopt;
}

Dependence Dependences::sum(Node node, bool isSubtracted) {
  Node left = dag[node].operands[0], right = dag[node].operands[1];
  const Dependence a = of(left), b = of(right);
  auto isZero = [&](Node n) {
    return dag[n].kind == ScalarNode::Kind::Number && dag[n].number == 0;
  };
  if (a.kind == Kind::Scaled && (a == b || isZero(right))) {
    Dependence both = a;
    both.hasZeros |= b.hasZeros;
    return both;
  }
  if (b.kind == Kind::Scaled && isZero(left))
    return b;
  auto x = termsOf(left), y = termsOf(right);
  if (!x || !y)
    return other(node);
  Dependence result;
  result.kind = Kind::Shifted;
  result.terms = std::move(*x);
  addTerms(result.terms, *y, isSubtracted ? -1 : 1);
  return result;
}

Dependence Dependences::product(const Dependence &a, const Dependence &b) const {
  Dependence result = a;
  result.kind = Kind::Scaled;
  addTerms(result.terms, b.terms, 1);
  result.hasZeros |= b.hasZeros;
  result.factors.insert(result.factors.end(), b.factors.begin(), b.factors.end());
  if (a.isComplete() && b.isComplete())
    result.kind = Kind::Free;
  for (const Dependence *d : {&a, &b})
    if (!d->isComplete() && d->kind != Kind::Scaled) {
      result.kind = Kind::Other;
      result.why = d->kind == Kind::Other ? d->why : "an operand of a dot is a shifted value";
    }
  return result;
}

Dependence Dependences::product(Node node, bool isDivided) {
  Node left = dag[node].operands[0], right = dag[node].operands[1];
  const Dependence &a = of(left), &b = of(right);
  for (bool isLeft : {true, false}) { // of a shifted value and a number
    const Dependence &d = isLeft ? a : b;
    const ScalarNode &number = dag[isLeft ? right : left];
    if (d.kind != Kind::Shifted)
      continue;
    bool isNumber = number.kind == ScalarNode::Kind::Number && number.number != 0;
    if (!isNumber || (isDivided && !isLeft))
      return other(node);
    Dependence result;
    result.kind = Kind::Shifted;
    addTerms(result.terms, d.terms, isDivided ? 1 / number.number : number.number);
    return result;
  }
  auto scaleOf = [&](Node n, const Dependence &d) {
    Dependence scale = d;
    if (d.kind == Kind::Reduced) {
      scale = {};
      scale.kind = Kind::Scaled;
      scale.factors = {{n, false}};
    }
    return scale;
  };
  Dependence x = scaleOf(left, a), y = scaleOf(right, b);
  if (isDivided) {
    for (auto &[term, coefficient] : y.terms)
      coefficient = -coefficient;
    for (Dependence::Factor &factor : y.factors)
      factor.isDivisor = !factor.isDivisor;
  }
  return product(x, y);
}

/// One of several values, of which numbers fit to any: zero among scaled ones, infinities among
/// shifted ones.
Dependence Dependences::choice(Node node, size_t first) {
  const std::vector<uint32_t> &operands = dag[node].operands;
  if (first > 0 && !of(operands[0]).isComplete())
    return other(node);
  const Dependence *found = nullptr;
  for (size_t i = first; i < operands.size(); ++i)
    if (!of(operands[i]).isComplete())
      found = &of(operands[i]);
  if (!found || (found->kind != Kind::Shifted && found->kind != Kind::Scaled))
    return other(node);
  bool isScaled = found->kind == Kind::Scaled;
  Dependence result = *found;
  if (isScaled && first == 0)
    return other(node); // a maximum of scaled values: their signs are not known
  for (size_t i = first; i < operands.size(); ++i) {
    const ScalarNode &operand = dag[operands[i]];
    bool isNumber = operand.kind == ScalarNode::Kind::Number &&
                    (isScaled ? operand.number == 0 : std::isinf(operand.number));
    if (!isNumber && of(operands[i]) != *found)
      return other(node);
    result.hasZeros |= isScaled && (isNumber || of(operands[i]).hasZeros);
  }
  return result;
}

Dependence Dependences::compute(Node node) {
  const ScalarNode n = dag[node];
  Kind most = Kind::Number;
  bool isFree = false;
  for (Node operand : n.operands) {
    const Dependence &d = of(operand);
    if (d.kind == Kind::Other)
      return d;
    most = std::max(most, d.kind);
    isFree |= d.kind == Kind::Free;
  }
  Dependence result;
  result.kind = most;
  if (most <= Kind::Free || (most == Kind::Reduced && !isFree))
    return result;
  switch (n.opcode) {
  case Opcode::Add:
  case Opcode::Subtract:
    return sum(node, n.opcode == Opcode::Subtract);
  case Opcode::Multiply:
  case Opcode::Divide:
    return product(node, n.opcode == Opcode::Divide);
  case Opcode::Negate: {
    result = of(n.operands[0]);
    if (result.kind == Kind::Shifted)
      for (auto &[term, coefficient] : result.terms)
        coefficient = -coefficient;
    return result;
  }
  case Opcode::Exp: {
    result = of(n.operands[0]);
    if (result.kind != Kind::Shifted)
      return other(node);
    result.kind = Kind::Scaled;
    return result;
  }
  case Opcode::Log: {
    result = of(n.operands[0]);
    if (result.kind != Kind::Scaled || !result.factors.empty())
      return other(node);
    result.kind = Kind::Shifted;
    return result;
  }
  case Opcode::Convert:
    return isFloat(n.type) ? of(n.operands[0]) : other(node);
  case Opcode::Select:
    return choice(node, 1);
  case Opcode::Maximum:
  case Opcode::Minimum:
    return choice(node, 0);
  default:
    return other(node);
  }
}

/// A term c·e with shift(e) in place of e.
Dependences::Node Dependences::shifted(Node node, const std::function<Node(Node)> &shift) {
  ScalarNode n = dag[node];
  std::map<Node, double> terms = linear(node);
  if (terms.begin()->first == node)
    return shift(node);
  for (uint32_t &operand : n.operands)
    if (of(operand).kind == Kind::Reduced)
      operand = shifted(operand, shift);
  n.sources.clear();
  return dag.add(std::move(n));
}

Dependences::Node Dependences::inStep(Node node, const std::function<Node(Node)> &shift) {
  const Dependence d = of(node);
  if (d.isComplete())
    return node;
  if (d.kind == Kind::Reduced)
    return shifted(node, shift);
  ScalarNode n = dag[node];
  bool isProduct =
      d.kind == Kind::Scaled && (n.opcode == Opcode::Multiply || n.opcode == Opcode::Divide);
  if (isProduct && of(n.operands[1]).kind == Kind::Reduced)
    return inStep(n.operands[0], shift);
  if (isProduct && of(n.operands[0]).kind == Kind::Reduced) {
    Node rest = inStep(n.operands[1], shift);
    return n.opcode == Opcode::Multiply
               ? rest
               : dag.operation(Opcode::Divide, {dag.number(1), rest}, n.type);
  }
  for (uint32_t &operand : n.operands)
    operand = inStep(operand, shift);
  n.sources.clear(); // not yet what its op says
  return dag.add(std::move(n));
}

} // namespace tilewright::program
