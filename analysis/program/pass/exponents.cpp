#include "analysis/program/pass/exponents.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tilewright::program {

namespace {

constexpr double log2OfE = 1.4426950408889634;
/// Products and quotients of usual scores by these stay in the range of floats.
constexpr double leastFactor = 1e-6, mostFactor = 1e6;

bool isOperation(const ScalarNode &node, Opcode opcode) {
  return node.kind == ScalarNode::Kind::Operation && node.opcode == opcode;
}

/// x · c, or x / (1 / c).
struct Scaled {
  uint32_t operand;
  double factor;
};
std::optional<Scaled> scaledOf(const ScalarExpr &scalar, const ScalarNode &node) {
  bool isDivision = isOperation(node, Opcode::Divide);
  if (!isDivision && !isOperation(node, Opcode::Multiply))
    return std::nullopt;
  for (size_t i : {1, 0}) {
    const ScalarNode &number = scalar.nodes[node.operands[i]];
    if (number.kind == ScalarNode::Kind::Number && (i == 1 || !isDivision))
      return Scaled{node.operands[1 - i], isDivision ? 1 / number.number : number.number};
  }
  return std::nullopt;
}

/// Infinities, and what stands for -inf in a shift.
bool isLimit(double number) {
  return std::isinf(number) || number == std::numeric_limits<float>::lowest();
}

class Exponents {
public:
  explicit Exponents(const Program &program) : p(program) {}

  llvm::Expected<Program> run() {
    forEachOp(p.body, [&](const Op &op, const LoopNest &loops) {
      for (ValueId id : op.results)
        definitions[id].push_back(&op);
      const auto *reduce = op.as<ReduceOp>();
      if (reduce && reduce->monoid == Monoid::Max && !loops.empty() &&
          p[op.results[0]].tile.type == DType::F32)
        scores.insert(op.results[0]);
    });
    findScores();
    forEachOp(p.body, [&](const Op &op, const LoopNest &) { look(op); });
    if (exponentials == 0)
      return makeError(DiagClass::Unsupported,
                       "{}: no exponential is shifted by a maximum that a loop carries", p.name);
    bool isScaled = !isSeenElsewhere && factors.size() == 1 && *factors.begin() >= leastFactor &&
                    *factors.begin() <= mostFactor;
    factor = isScaled ? *factors.begin() : 1;
    rewrite(p.body);
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(p);
  }

private:
  /// Where a factor commutes: branches of choices and both sides of a maximum.
  std::vector<uint32_t> insideOf(const ScalarNode &node) const {
    if (isOperation(node, Opcode::Select))
      return {node.operands[1], node.operands[2]};
    if (isOperation(node, Opcode::Maximum))
      return node.operands;
    return {};
  }

  /// Values that stand where a factor commutes with all that is computed of them.
  void collect(const ScalarExpr &scalar, uint32_t at, std::set<ValueId> &into) const {
    const ScalarNode &node = scalar.nodes[at];
    if (node.kind == ScalarNode::Kind::Value)
      into.insert(node.value);
    for (uint32_t inner : insideOf(node))
      collect(scalar, inner, into);
  }

  static const ScalarExpr *formOf(const Op &op) {
    if (const auto *map = op.as<MapOp>())
      return &map->value;
    const auto *reduce = op.as<ReduceOp>();
    return reduce && reduce->monoid == Monoid::Max ? &reduce->value : nullptr;
  }

  bool canBeScore(ValueId id) const {
    const std::vector<const Op *> &made = definitions.at(id);
    return p[id].tile.type == DType::F32 && std::all_of(made.begin(), made.end(), [](const Op *op) {
             return formOf(*op) || (op->as<FullOp>() && isLimit(op->as<FullOp>()->number));
           });
  }

  /// Maxima, what they are maxima of, and what is chosen among them.
  void findScores() {
    for (bool isNew = true; isNew;) {
      isNew = false;
      for (const auto &[id, made] : definitions)
        for (const Op *op : made) {
          std::set<ValueId> used;
          if (const ScalarExpr *form = formOf(*op))
            collect(*form, static_cast<uint32_t>(form->nodes.size() - 1), used);
          bool isScore = scores.count(id) > 0;
          for (ValueId other : used)
            if (isScore ? canBeScore(other) : scores.count(other) > 0 && canBeScore(id))
              isNew |= scores.insert(isScore ? other : id).second;
        }
    }
  }

  /// The difference of an exponential's argument that scores are part of, and its factor.
  struct Shifted {
    uint32_t left, right;
    double factor;
  };
  std::optional<Shifted> shiftedOf(const ScalarExpr &scalar, const ScalarNode &node) const {
    if (!isOperation(node, Opcode::Exp) || node.type != DType::F32)
      return std::nullopt;
    const ScalarNode *argument = &scalar.nodes[node.operands[0]];
    double by = 1;
    if (std::optional<Scaled> scaled = scaledOf(scalar, *argument)) {
      by = scaled->factor;
      argument = &scalar.nodes[scaled->operand];
    }
    if (!isOperation(*argument, Opcode::Subtract))
      return std::nullopt;
    std::set<ValueId> used;
    collect(scalar, argument->operands[1], used);
    bool isShifted =
        std::any_of(used.begin(), used.end(), [&](ValueId id) { return scores.count(id) > 0; });
    return isShifted ? std::optional(Shifted{argument->operands[0], argument->operands[1], by})
                     : std::nullopt;
  }

  bool isOfScores(const Op &op) const {
    return formOf(op) && op.results.size() == 1 && scores.count(op.results[0]) > 0;
  }

  void look(const Op &op) {
    for (const ScalarExpr *scalar : scalarsOf(op))
      look(*scalar, static_cast<uint32_t>(scalar->nodes.size() - 1), isOfScores(op));
  }

  void look(const ScalarExpr &scalar, uint32_t at, bool isForm) {
    const ScalarNode &node = scalar.nodes[at];
    if (isForm) {
      if (node.kind == ScalarNode::Kind::Value && scores.count(node.value) > 0)
        return;
      if (node.kind == ScalarNode::Kind::Number && isLimit(node.number))
        return;
      std::vector<uint32_t> inner = insideOf(node);
      for (uint32_t operand : inner)
        look(scalar, operand, true);
      if (isOperation(node, Opcode::Select))
        look(scalar, node.operands[0], false);
      if (!inner.empty())
        return;
      std::optional<Scaled> scaled = scaledOf(scalar, node);
      factors.insert(scaled ? scaled->factor : 1);
      return look(scalar, scaled ? scaled->operand : at, false);
    }
    isSeenElsewhere |= node.kind == ScalarNode::Kind::Value && scores.count(node.value) > 0;
    if (std::optional<Shifted> shifted = shiftedOf(scalar, node)) {
      ++exponentials;
      look(scalar, shifted->left, true);
      look(scalar, shifted->right, true);
      return;
    }
    for (uint32_t operand : node.operands)
      look(scalar, operand, false);
  }

  void rewrite(Region &ops) {
    for (Op &op : ops) {
      for (Region *inner : regionsOf(op))
        rewrite(*inner);
      bool isForm = isOfScores(op);
      for (const ScalarExpr *scalar : scalarsOf(op)) {
        ScalarExpr made;
        known.clear();
        copy(*scalar, static_cast<uint32_t>(scalar->nodes.size() - 1), isForm, made);
        *const_cast<ScalarExpr *>(scalar) = std::move(made);
      }
    }
  }

  uint32_t copy(const ScalarExpr &from, uint32_t at, bool isForm, ScalarExpr &into) {
    if (auto it = known.find({at, isForm}); it != known.end())
      return it->second;
    uint32_t made = copyNode(from, at, isForm, into);
    known[{at, isForm}] = made;
    return made;
  }

  uint32_t copyNode(const ScalarExpr &from, uint32_t at, bool isForm, ScalarExpr &into) {
    ScalarNode node = from.nodes[at];
    bool isScore = node.kind == ScalarNode::Kind::Value && scores.count(node.value) > 0;
    if (isForm && insideOf(node).empty() && !isScore) {
      std::optional<Scaled> scaled = scaledOf(from, node);
      return copy(from, scaled && factor != 1 ? scaled->operand : at, false, into);
    }
    if (std::optional<Shifted> shifted = isForm ? std::nullopt : shiftedOf(from, node))
      return exponential(from, *shifted, into);
    if (isForm && factor != 1)
      node.sources.clear(); // not what its op says
    for (size_t i = 0; i < node.operands.size(); ++i) {
      bool isCondition = isOperation(node, Opcode::Select) && i == 0;
      node.operands[i] = copy(from, node.operands[i], isForm && !isCondition, into);
    }
    return into.add(std::move(node));
  }

  uint32_t exponential(const ScalarExpr &from, const Shifted &shifted, ScalarExpr &into) {
    auto number = [&](double value) {
      ScalarNode node;
      node.number = value;
      return into.add(std::move(node));
    };
    auto operation = [&](Opcode opcode, uint32_t left, uint32_t right) {
      ScalarNode node;
      node.kind = ScalarNode::Kind::Operation;
      node.opcode = opcode;
      node.operands = {left, right};
      node.isApproximate = opcode == Opcode::Power;
      return into.add(std::move(node));
    };
    uint32_t left = copy(from, shifted.left, true, into);
    uint32_t right = copy(from, shifted.right, true, into);
    uint32_t gap = operation(Opcode::Subtract, left, right);
    uint32_t exponent = operation(Opcode::Multiply, gap, number(shifted.factor * factor * log2OfE));
    return operation(Opcode::Power, number(2), exponent);
  }

  Program p;
  std::map<ValueId, std::vector<const Op *>> definitions;
  std::set<ValueId> scores;
  std::set<double> factors; ///< that scores are multiplied by
  bool isSeenElsewhere = false;
  size_t exponentials = 0;
  double factor = 1; ///< that goes into the exponents
  std::map<std::pair<uint32_t, bool>, uint32_t> known;
};

} // namespace

llvm::Expected<Program> quickExponents(const Program &program) { return Exponents(program).run(); }

} // namespace tilewright::program
