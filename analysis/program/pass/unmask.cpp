#include "analysis/program/pass/unmask.h"

#include "analysis/affine/linear_form.h"
#include "analysis/program/infer.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::program {

namespace {

class Unmasker {
public:
  explicit Unmasker(const Program &program) : p(program) {}

  llvm::Expected<Program> run() {
    visit(p.body);
    if (!isFound)
      return makeError(DiagClass::Unsupported,
                       "{}: no choice by coordinates that some steps could do without", p.name);
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(p);
  }

private:
  void visit(Region &ops) {
    for (Op &op : ops) {
      if (auto *loop = op.as<ForOp>()) {
        loops.push_back(loop->var.variable());
        visit(loop->body);
        loops.pop_back();
      } else if (op.as<MapOp>() && !loops.empty()) {
        visitMap(op);
      }
    }
  }

  void visitMap(Op &op) {
    const ScalarExpr &scalar = op.as<MapOp>()->value;
    branches.clear();
    Expr all;
    for (uint32_t at = 0; at < scalar.nodes.size(); ++at)
      if (Expr holds = chosenWhere(scalar, at))
        all = all ? all * holds : holds;
    if (!all || !isOfLoops(all))
      return;
    Op whole = op;
    ScalarExpr &made = whole.as<MapOp>()->value;
    made.nodes.clear();
    std::map<uint32_t, uint32_t> known;
    copy(scalar, static_cast<uint32_t>(scalar.nodes.size() - 1), made, known);
    const AxisSet &axes = p[op.results[0]].tile.axes;
    bool isHeld = std::any_of(made.nodes.begin(), made.nodes.end(), [&](const ScalarNode &node) {
      return node.kind == ScalarNode::Kind::Value && p[node.value].tile.axes == axes;
    });
    if (!isHeld)
      return;
    IfOp branch;
    branch.condition = all;
    branch.then.push_back(std::move(whole));
    branch.otherwise.push_back(op);
    op.what = std::move(branch);
    op.results.clear();
    isFound = true;
  }

  /// Where a choice between a number and something else takes the other: 0 or 1; null: not known.
  Expr chosenWhere(const ScalarExpr &scalar, uint32_t at) {
    const ScalarNode &node = scalar.nodes[at];
    if (node.kind != ScalarNode::Kind::Operation || node.opcode != Opcode::Select)
      return Expr();
    auto isNumber = [&](size_t i) {
      return scalar.nodes[node.operands[i]].kind == ScalarNode::Kind::Number;
    };
    if (isNumber(1) == isNumber(2))
      return Expr();
    bool wanted = isNumber(2);
    Expr holds = certain(scalar, node.operands[0], wanted);
    if (holds)
      branches[at] = node.operands[wanted ? 1 : 2];
    return holds;
  }

  /// 1 where a condition is true, or false, in all lanes; null where that is not known.
  Expr certain(const ScalarExpr &scalar, uint32_t at, bool wanted) const {
    const ScalarNode &node = scalar.nodes[at];
    if (node.kind != ScalarNode::Kind::Operation)
      return Expr();
    if (node.opcode == Opcode::Not)
      return certain(scalar, node.operands[0], !wanted);
    if (node.opcode == (wanted ? Opcode::And : Opcode::Or)) {
      Expr left = certain(scalar, node.operands[0], wanted);
      Expr right = left ? certain(scalar, node.operands[1], wanted) : Expr();
      return right ? left * right : Expr();
    }
    if (node.opcode != Opcode::Compare)
      return Expr();
    Expr a = integerOf(p, scalar.nodes[node.operands[0]]),
         b = integerOf(p, scalar.nodes[node.operands[1]]);
    if (!a || !b)
      return Expr();
    Expr gap; // 0 or more where it is as wanted
    switch (node.comparison) {
    case Comparison::Ge:
      gap = wanted ? a - b : b - a - 1;
      break;
    case Comparison::Gt:
      gap = wanted ? a - b - 1 : b - a;
      break;
    case Comparison::Le:
      gap = wanted ? b - a : a - b - 1;
      break;
    case Comparison::Lt:
      gap = wanted ? b - a - 1 : a - b;
      break;
    case Comparison::Eq:
    case Comparison::Ne:
      return Expr();
    }
    Expr least = leastOf(gap);
    return least ? least.isAtLeast(p.number(0)) : least;
  }

  /// Over the lanes of all axes.
  Expr leastOf(Expr gap) const {
    LinearForm form = LinearForm::of(Simplifier(*p.context, Bounds()).simplify(gap));
    Expr least = p.number(form.constant);
    for (const LinearForm::Term &term : form.terms) {
      AxisId id = term.expr.isVariable() ? p.axisOf(term.expr.variable()) : AxisId{};
      if (!id.isValid() && !p.axesOf(term.expr).empty())
        return Expr();
      for (VarId var : variablesOf(term.expr))
        if (p.valueOf(var).isValid())
          return Expr();
      Expr at = term.expr;
      if (id.isValid())
        at = term.coefficient > 0 ? p[id].origin : p[id].origin + p[id].extent - 1;
      least = least + at * term.coefficient;
    }
    return least;
  }

  /// Whether it depends on the step at hand, and on no other loop's.
  bool isOfLoops(Expr e) const {
    bool isOfStep = false;
    for (VarId var : variablesOf(e)) {
      bool isKnown = std::find(loops.begin(), loops.end(), var) != loops.end();
      if (p.context->info(var).kind == VarKind::Step && !isKnown)
        return false;
      isOfStep |= var == loops.back();
    }
    return isOfStep;
  }

  /// The expression with the branches that are chosen.
  uint32_t copy(const ScalarExpr &from, uint32_t at, ScalarExpr &into,
                std::map<uint32_t, uint32_t> &known) const {
    if (auto branch = branches.find(at); branch != branches.end())
      return copy(from, branch->second, into, known);
    if (auto it = known.find(at); it != known.end())
      return it->second;
    ScalarNode node = from.nodes[at];
    for (uint32_t &operand : node.operands)
      operand = copy(from, operand, into, known);
    return known[at] = into.add(std::move(node));
  }

  Program p;
  std::vector<VarId> loops;              ///< around, outermost first
  std::map<uint32_t, uint32_t> branches; ///< of the map at hand: what choices take
  bool isFound = false;
};

} // namespace

llvm::Expected<Program> unmask(const Program &program) { return Unmasker(program).run(); }

} // namespace tilewright::program
