#include "analysis/program/grid.h"

namespace tilewright::program {

namespace {

int64_t constantOr(Expr e, int64_t otherwise) {
  return e && e.isConstant() ? e.constant() : otherwise;
}

} // namespace

Expr ctaCount(const Program &p) {
  Expr items = p.number(1);
  for (const GridVariable &variable : p.grid.variables)
    items = items * p.resolved(variable.count);
  if (!p.grid.persistent)
    return items;
  Expr turns = items.ceilDiv(p.resolved(p.grid.persistent));
  return items.ceilDiv(turns.max(1));
}

llvm::Expected<GridMap> gridMapOf(const Program &p, ExprContext &context) {
  GridMap result;
  std::vector<int64_t> counts;
  ProgramOrder order;
  Expr split = p.splitVariable();
  for (const GridVariable &variable : p.grid.variables) {
    int64_t count = constantOr(variable.count, 0);
    if (count < 1)
      return makeError(DiagClass::BadInput, "{}: {} has {} tiles, at least 1 is needed", p.name,
                       variable.name, count);
    if (split && variable.var == split) {
      order.splits = count;
      result.splitVariable = variable.var.variable();
      continue;
    }
    result.tileVariables.push_back(variable.var.variable());
    counts.push_back(count);
  }
  for (unsigned dim = 0; dim < counts.size(); ++dim) {
    bool isColumn = dim + 1 == counts.size(), isRow = dim + 2 == counts.size();
    (isColumn ? order.columns : isRow ? order.rows : order.outer).push_back(dim);
  }
  order.group = std::max<int64_t>(constantOr(p.grid.group, 1), 1);
  if (p.grid.persistent) {
    int64_t items = order.splits;
    for (int64_t count : counts)
      if (__builtin_mul_overflow(items, count, &items))
        return makeError(DiagClass::Unsupported, "{}: more than 2^63 tiles", p.name);
    int64_t most = std::max<int64_t>(constantOr(p.grid.persistent, 1), 1);
    order.tilesPerProgram = (items + most - 1) / most;
  }
  llvm::Expected<ProgramMap> map = ProgramMap::make(context, counts, order);
  if (!map)
    return map.takeError();
  result.map = std::move(*map);
  return result;
}

} // namespace tilewright::program
