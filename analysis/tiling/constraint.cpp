#include "analysis/tiling/constraint.h"

#include "analysis/affine/simplify.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace tilewright {

Formula Formula::constant(bool value) {
  return Formula(std::make_shared<Node>(Node{value ? Kind::True : Kind::False, {}, {}, {}}));
}

Formula Formula::lessEqual(Expr a, Expr b) {
  if (a.isConstant() && b.isConstant())
    return constant(a.constant() <= b.constant());
  return Formula(std::make_shared<Node>(Node{Kind::LessEqual, a, b, {}}));
}

Formula Formula::equal(Expr a, Expr b) {
  if (a == b && !a.isPoison())
    return constant(true);
  if (a.isConstant() && b.isConstant())
    return constant(a.constant() == b.constant());
  return Formula(std::make_shared<Node>(Node{Kind::Equal, a, b, {}}));
}

Formula Formula::divides(Expr divisor, Expr value) {
  if (divisor.isConstant(1) || (divisor == value && !value.isPoison()))
    return constant(true);
  if (divisor.isConstant() && value.isConstant() && divisor.constant() > 0)
    return constant(value.constant() % divisor.constant() == 0);
  return Formula(std::make_shared<Node>(Node{Kind::Divides, divisor, value, {}}));
}

Formula Formula::all(std::vector<Formula> parts) {
  std::vector<Formula> kept;
  for (Formula &part : parts) {
    if (part.isFalse())
      return part;
    if (part.kind() == Kind::And)
      kept.insert(kept.end(), part.parts().begin(), part.parts().end());
    else if (!part.isTrue())
      kept.push_back(std::move(part));
  }
  if (kept.empty())
    return constant(true);
  if (kept.size() == 1)
    return kept.front();
  return Formula(std::make_shared<Node>(Node{Kind::And, {}, {}, std::move(kept)}));
}

Formula Formula::any(std::vector<Formula> parts) {
  std::vector<Formula> kept;
  for (Formula &part : parts) {
    if (part.isTrue())
      return part;
    if (part.kind() == Kind::Or)
      kept.insert(kept.end(), part.parts().begin(), part.parts().end());
    else if (!part.isFalse())
      kept.push_back(std::move(part));
  }
  if (kept.empty())
    return constant(false);
  if (kept.size() == 1)
    return kept.front();
  return Formula(std::make_shared<Node>(Node{Kind::Or, {}, {}, std::move(kept)}));
}

Formula Formula::operator!() const {
  if (isTrue() || isFalse())
    return constant(isFalse());
  if (kind() == Kind::Not)
    return parts().front();
  return Formula(std::make_shared<Node>(Node{Kind::Not, {}, {}, {*this}}));
}

std::optional<bool> Formula::evaluate(const Assignment &point) const {
  switch (kind()) {
  case Kind::True:
    return true;
  case Kind::False:
    return false;
  case Kind::LessEqual:
  case Kind::Equal:
  case Kind::Divides: {
    std::optional<int64_t> a = tilewright::evaluate(lhs(), point);
    std::optional<int64_t> b = tilewright::evaluate(rhs(), point);
    if (!a || !b)
      return std::nullopt;
    if (kind() == Kind::LessEqual)
      return *a <= *b;
    if (kind() == Kind::Equal)
      return *a == *b;
    return *a > 0 ? std::optional(*b % *a == 0) : std::nullopt;
  }
  case Kind::And:
  case Kind::Or: {
    bool decisive = kind() == Kind::Or; // the value of an operand that decides the result
    bool unknown = false;
    for (const Formula &part : parts()) {
      std::optional<bool> value = part.evaluate(point);
      if (value == decisive)
        return decisive;
      unknown |= !value;
    }
    return unknown ? std::nullopt : std::optional(!decisive);
  }
  case Kind::Not: {
    std::optional<bool> value = parts().front().evaluate(point);
    return value ? std::optional(!*value) : std::nullopt;
  }
  }
  return std::nullopt;
}

void Formula::collectVariables(std::vector<VarId> &out) const {
  if (kind() == Kind::LessEqual || kind() == Kind::Equal || kind() == Kind::Divides) {
    Expr sides[] = {lhs(), rhs()};
    std::vector<VarId> found = variablesOf(sides);
    out.insert(out.end(), found.begin(), found.end());
  }
  for (const Formula &part : parts())
    part.collectVariables(out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

std::string Formula::str() const {
  switch (kind()) {
  case Kind::True:
    return "true";
  case Kind::False:
    return "false";
  case Kind::LessEqual:
    return fmt::format("{} <= {}", lhs().str(), rhs().str());
  case Kind::Equal:
    return fmt::format("{} = {}", lhs().str(), rhs().str());
  case Kind::Divides:
    return fmt::format("{} divides {}", lhs().str(), rhs().str());
  case Kind::Not:
    return fmt::format("not ({})", parts().front().str());
  case Kind::And:
  case Kind::Or: {
    std::string out;
    for (const Formula &part : parts()) {
      if (!out.empty())
        out += kind() == Kind::And ? " and " : " or ";
      bool nested = part.kind() == Kind::And || part.kind() == Kind::Or;
      out += nested ? "(" + part.str() + ")" : part.str();
    }
    return out;
  }
  }
  return {};
}

namespace {

/// Longer texts lose their smallest parts, and longer expressions become "f(t0, k0)".
constexpr size_t longestReason = 160, longestExpression = 40;

/// "f(t0, k0)".
std::string dependsText(Expr expr) {
  std::string names;
  for (VarId var : variablesOf({&expr, 1}))
    names += (names.empty() ? "" : ", ") + expr.context().info(var).name;
  return "f(" + names + ")";
}

/// The value at a point, or the partially evaluated expression: "(t0 * 1024) ceildiv 32".
std::string textAt(Expr expr, const Assignment &point) {
  if (std::optional<int64_t> value = evaluate(expr, point))
    return std::to_string(*value);
  ExprContext &context = expr.context();
  const Expr left = substitute(expr, [&](VarId var) {
    std::optional<int64_t> value = point.get(var);
    return value ? context.constant(*value) : Expr();
  });
  const Expr shown =
      left.isPoison() || left == expr ? expr : Simplifier(context, Bounds()).simplify(left);
  const std::string text = shown.str();
  return text.size() > longestExpression ? dependsText(shown) : text;
}

/// The parts of a sum, the smallest left out that go beyond `room`: "8 B for a, 4 B for b and 2
/// more".
std::string partsText(const std::vector<std::pair<Expr, std::string>> &parts,
                      const Assignment &point, size_t room) {
  std::vector<std::string> texts;
  std::vector<size_t> order; ///< the smallest last
  size_t length = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    texts.push_back(textAt(parts[i].first, point) + parts[i].second);
    order.push_back(i);
    length += texts.back().size() + 2;
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return evaluate(parts[a].first, point).value_or(0) >
           evaluate(parts[b].first, point).value_or(0);
  });
  size_t left = 0;
  for (; length > room && order.size() > 1; ++left) {
    length -= texts[order.back()].size() + 2;
    texts[order.back()].clear();
    order.pop_back();
  }
  std::string out;
  for (const std::string &text : texts)
    if (!text.empty())
      out += (out.empty() ? "" : ", ") + text;
  return left ? fmt::format("{} and {} more", out, left) : out;
}

} // namespace

bool Constraint::hasNumbers(const Assignment &point) const {
  return std::all_of(from.textArgs.begin(), from.textArgs.end(), [&](Expr each) {
    return each.isVariable() || // a name is no number
           tilewright::evaluate(each, point).has_value();
  });
}

std::string Constraint::describe(const Assignment &point, std::string_view lead) const {
  std::string out = from.opName;
  if (from.dim >= 0)
    out += fmt::format(" dim {}", from.dim);
  if (!out.empty())
    out += ": ";
  out += lead;
  const std::string &text = from.text;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t digit = i + 1;
    while (digit < text.size() && std::isdigit(static_cast<unsigned char>(text[digit])))
      ++digit;
    bool isPlaceholder =
        text[i] == '{' && digit > i + 1 && digit < text.size() && text[digit] == '}';
    size_t number = isPlaceholder ? std::stoul(text.substr(i + 1, digit - i - 1)) : 0;
    if (!isPlaceholder || number >= from.textArgs.size()) {
      out += text[i];
      continue;
    }
    const std::string shown = textAt(from.textArgs[number], point);
    const bool isSaidNext = text.compare(digit + 1, shown.size() + 1, " " + shown) == 0;
    if (!isSaidNext) // "{0} warps", which are as many as "warps" says
      out += shown;
    i = isSaidNext ? digit + 1 : digit;
  }
  if (from.parts.empty())
    return out;
  const size_t room = longestReason - std::min(longestReason, out.size());
  return out + ": " + partsText(from.parts, point, room);
}

} // namespace tilewright
