#include "tests/bench/mlir_maps.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/MLIRContext.h"

namespace tilewright::bench {
namespace {

mlir::AffineExpr convert(Expr e, const std::vector<mlir::AffineExpr> &variables,
                         mlir::MLIRContext &context) {
  if (e.isConstant())
    return mlir::getAffineConstantExpr(e.constant(), &context);
  if (e.isVariable())
    return variables[e.variable().index];
  mlir::AffineExpr lhs = convert(e.lhs(), variables, context),
                   rhs = convert(e.rhs(), variables, context);
  switch (e.kind()) {
  case ExprKind::Add:
    return lhs + rhs;
  case ExprKind::Mul:
    return lhs * rhs;
  case ExprKind::FloorDiv:
    return lhs.floorDiv(rhs);
  case ExprKind::CeilDiv:
    return lhs.ceilDiv(rhs);
  default:
    return lhs % rhs;
  }
}

} // namespace

struct MlirMaps::Impl {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::vector<mlir::AffineMap> maps;
};

MlirMaps::MlirMaps(const std::vector<IndexMap> &maps) : impl(std::make_unique<Impl>()) {
  for (const IndexMap &map : maps) {
    if (usesMinMax(map)) {
      impl->maps.emplace_back();
      continue;
    }
    std::vector<mlir::AffineExpr> variables(map.context().variableCount());
    unsigned dims = 0, symbols = 0;
    for (const MapVariable &v : map.variables()) {
      VarId id = v.var.variable();
      bool isDim = map.context().info(id).kind == VarKind::Dim;
      variables[id.index] = isDim ? mlir::getAffineDimExpr(dims++, &impl->context)
                                  : mlir::getAffineSymbolExpr(symbols++, &impl->context);
    }
    llvm::SmallVector<mlir::AffineExpr> results;
    for (Expr result : map.results())
      results.push_back(convert(result, variables, impl->context));
    impl->maps.push_back(mlir::AffineMap::get(dims, symbols, results, &impl->context));
  }
}

MlirMaps::~MlirMaps() = default;
MlirMaps::MlirMaps(MlirMaps &&) noexcept = default;

size_t MlirMaps::compose(const std::vector<uint32_t> &path) const {
  mlir::AffineMap map = impl->maps[path[0]];
  for (size_t i = 1; i < path.size(); ++i)
    map = mlir::simplifyAffineMap(impl->maps[path[i]].compose(map));
  return map.getNumResults();
}

} // namespace tilewright::bench
