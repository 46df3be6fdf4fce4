#include "analysis/program/pass/split.h"

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

/// Why a loop can't be shared out; empty where it can. `sums`: what it sums up.
std::string whyNotSplit(const Program &p, size_t at, std::vector<ValueId> &sums) {
  const Op &loop = p.body[at];
  Region before(p.body.begin(), p.body.begin() + static_cast<ptrdiff_t>(at));
  std::vector<ValueId> known = assignedBy(before);
  for (ValueId value : assignedBy(loop.as<ForOp>()->body))
    if (std::find(known.begin(), known.end(), value) != known.end())
      sums.push_back(value);
  std::string why;
  forEachOpOf(loop, [&](const Op &op) {
    if (op.as<StoreOp>() || op.as<AtomicOp>())
      why = fmt::format("{} is written in every step", p[accessOf(op)->tensor].name);
    const auto *dot = op.as<DotOp>();
    for (ValueId value : op.results)
      if (std::find(sums.begin(), sums.end(), value) != sums.end() && !(dot && dot->isAdded))
        why = fmt::format("{} is no sum of products", p[value].name);
  });
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
  std::vector<ValueId> sums;
  for (size_t i = 0; i < program.body.size(); ++i) {
    if (!program.body[i].as<ForOp>())
      continue;
    if (found)
      return refuse("a second loop would need all of what the first one sums up");
    found = i;
    if (std::string why = whyNotSplit(program, i, sums); !why.empty())
      return refuse("split_k needs sums of products: " + why);
  }
  if (sums.empty())
    return refuse("no loop sums up products");
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
  sum.what = SumSplitsOp{sums, var};
  sum.results = sums;
  p.body.insert(p.body.begin() + static_cast<ptrdiff_t>(*found) + 1, std::move(sum));
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
