#include "analysis/program/pass/split.h"

#include "analysis/program/monoid.h"
#include "analysis/program/pass/best_of_steps.h"
#include "analysis/program/pass/edit.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::program {

namespace {

/// Values that ops assign, in order.
std::vector<ValueId> assignedBy(const Region &ops) {
  std::vector<ValueId> result;
  forEachOp(ops, [&](const Op &op, const LoopNest &) {
    for (ValueId value : op.results)
      if (std::find(result.begin(), result.end(), value) == result.end())
        result.push_back(value);
  });
  return result;
}

/// The carried value with another one added by a monoid, in lanes that count.
bool isCombined(const Op &op, ValueId carried, Monoid monoid) {
  const auto *map = op.as<MapOp>();
  if (!map)
    return false;
  const std::vector<ScalarNode> &nodes = map->value.nodes;
  auto isCarried = [&](uint32_t at) {
    return nodes[at].kind == ScalarNode::Kind::Value && nodes[at].value == carried;
  };
  auto isSum = [&](const ScalarNode &node) {
    return node.kind == ScalarNode::Kind::Operation && opcodeOf(monoid) == node.opcode &&
           node.operands.size() == 2 && isCarried(node.operands[0]) != isCarried(node.operands[1]);
  };
  const ScalarNode &root = nodes.back();
  const bool isChoice = root.kind == ScalarNode::Kind::Operation && root.opcode == Opcode::Select &&
                        root.operands.size() == 3;
  return isSum(root) || (isChoice && isSum(nodes[root.operands[1]]) && isCarried(root.operands[2]));
}

/// What a loop makes of parts of its steps can be added up.
struct Parts {
  std::vector<ValueId> sums;
  Monoid monoid = Monoid::Add;
  size_t behind = 0; ///< the op behind which they are whole
};

/// Why a loop can't be shared out; empty where it can.
std::string whyNotSplit(const Program &p, size_t at, Parts &parts) {
  const Op &loop = p.body[at];
  Region before(p.body.begin(), p.body.begin() + static_cast<ptrdiff_t>(at));
  std::vector<ValueId> known = assignedBy(before);
  for (ValueId value : assignedBy(loop.as<ForOp>()->body))
    if (std::find(known.begin(), known.end(), value) != known.end())
      parts.sums.push_back(value);
  // Lanes of a sum are added up before CTAs are.
  parts.behind = at;
  const ReduceOp *reduce = nullptr;
  if (at + 1 < p.body.size())
    reduce = p.body[at + 1].as<ReduceOp>();
  const bool isOfLanes = reduce && parts.sums.size() == 1 && reduce->value.nodes.size() == 1 &&
                         reduce->value.root().kind == ScalarNode::Kind::Value &&
                         reduce->value.root().value == parts.sums[0] &&
                         opcodeOf(reduce->monoid).has_value();
  const std::optional<BestOfSteps> best = bestOfSteps(p, at, parts.sums);
  std::string why;
  forEachOpOf(loop, [&](const Op &op) {
    if (op.as<StoreOp>() || op.as<AtomicOp>())
      why = fmt::format("{} is written in every step", p[accessOf(op)->tensor].name);
    const auto *dot = op.as<DotOp>();
    for (ValueId value : op.results) {
      const bool isSum = std::find(parts.sums.begin(), parts.sums.end(), value) != parts.sums.end();
      if (isSum && !best && !(dot && dot->isAdded) &&
          !(isOfLanes && isCombined(op, value, reduce->monoid)))
        why = fmt::format("{} is no sum", p[value].name);
    }
  });
  if (why.empty() && parts.sums.empty())
    return "it sums up nothing";
  if (isOfLanes) {
    parts.monoid = reduce->monoid;
    parts.sums = p.body[at + 1].results;
    parts.behind = at + 1;
  }
  if (best)
    parts = {{best->value, best->place}, best->monoid, at + 2};
  return why;
}

} // namespace

llvm::Expected<Program> split(const Program &program) {
  auto refuse = [&](const std::string &why) {
    return makeError(DiagClass::Unsupported, "{}: {}", program.name, why);
  };
  if (program.splitVariable())
    return refuse("its sums are split already");
  std::optional<size_t> found;
  Parts of;
  for (size_t i = 0; i < program.body.size(); ++i) {
    if (!program.body[i].as<ForOp>())
      continue;
    if (found)
      return refuse("a second loop would need all of what the first one sums up");
    found = i;
    if (std::string why = whyNotSplit(program, i, of); !why.empty())
      return refuse("split_k needs sums: " + why);
  }
  if (!found)
    return refuse("no loop sums anything up");
  Program p = program;
  llvm::Expected<Expr> parts = addSize(p, "split_k");
  if (!parts)
    return parts.takeError();
  std::string name = freeName(p, "s");
  Expr var = p.context->variable(VarKind::ProgramId, name);
  p.grid.variables.push_back({name, var, *parts});
  auto *loop = p.body[*found].as<ForOp>();
  loop->splitVar = var;
  loop->splits = *parts;
  Op sum;
  sum.what = SumSplitsOp{of.sums, var, of.monoid};
  sum.results = of.sums;
  p.body.insert(p.body.begin() + static_cast<ptrdiff_t>(of.behind) + 1, std::move(sum));
  if (llvm::Error error = inferTypes(p))
    return error;
  return p;
}

llvm::Expected<Program> groupRows(const Program &program) {
  Program p = program;
  if (p.grid.group)
    return makeError(DiagClass::Unsupported, "{}: its rows are walked in groups already", p.name);
  Expr splitVar = p.splitVariable();
  auto tiles = std::count_if(p.grid.variables.begin(), p.grid.variables.end(),
                             [&](const GridVariable &v) { return v.var != splitVar; });
  if (tiles < 2)
    return makeError(DiagClass::Unsupported, "{}: its grid has no rows and columns", p.name);
  llvm::Expected<Expr> rows = addSize(p, "group_m");
  if (!rows)
    return rows.takeError();
  p.grid.group = *rows;
  return p;
}

} // namespace tilewright::program
