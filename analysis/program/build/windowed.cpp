#include "analysis/program/build/builder.h"

#include <algorithm>

namespace tilewright::program {

/// Windows, and dots without tiles: a loop over the op's own iteration, an element of the result a
/// lane.
Builder::Made Builder::windowed(OpId id, const OpIndexing &maps, const Coordinates &at,
                                const Guard &guard, unsigned result) {
  const tilewright::Op &op = graph[id];
  bool isProduct = op.opcode == Opcode::Dot || op.opcode == Opcode::Convolution;
  if (!isProduct && op.operands.size() != 2)
    return foldedTogether(id, maps, at, guard, result);
  size_t factors = isProduct ? 2 : 1;
  for (size_t i = 0; i < factors; ++i)
    if (maps.operands[i].maps.size() != 1)
      return unsupported(id, "an operand is read at several places");
  DType type = partType(op.shape.dtype);
  const bool isOfParts = isProduct && isComplex(op.shape.dtype);
  Combination with{Opcode::Add, Monoid::Add, sumType(type), 0};
  if (!isProduct) {
    auto found = combinationOf(id, type);
    if (!found) { // reducers of more than one op
      llvm::consumeError(found.takeError());
      return foldedTogether(id, maps, at, guard, result);
    }
    with = *found;
  } else if (type == DType::Pred) {
    return unsupported(id, "products of pred");
  }
  std::vector<MapVariable> ranges = maps.operands[0].maps[0].variables(VarKind::Range);
  if (isProduct) // what one operand has no need of, the other may
    for (const MapVariable &variable : maps.operands[1].maps[0].variables(VarKind::Range))
      if (std::none_of(ranges.begin(), ranges.end(),
                       [&](const MapVariable &other) { return other.var == variable.var; }))
        ranges.push_back(variable);
  bool isEmpty = false;
  for (size_t i = 0; i < factors; ++i)
    isEmpty |= maps.operands[i].maps[0].isKnownEmpty();
  for (const MapVariable &range : ranges)
    isEmpty |= range.domain.isEmpty();
  if (isEmpty) {
    if (isProduct)
      return numberOf(0);
    return initialised(id, with, result, numberOf(with.identity));
  }
  unsigned outer = levelOf(at, guard), opened = 0;
  Aside aside = putAside(outer);
  std::vector<Binding> bound;
  for (const MapVariable &range : ranges) {
    std::string name = names.of("tuvwz");
    Expr step = context.variable(VarKind::Step, name);
    int64_t count = range.domain.hi - range.domain.lo + 1;
    setBounds(step, Interval::ofExtent(count));
    openLoop(outer + opened++, step, name, p.number(count));
    bound.push_back({range.var, step + range.domain.lo});
  }
  std::vector<Leaf> read;
  Guard conditions;
  bool isNeutral = false;
  if (isOfParts) {
    Made product = complexProduct(id, maps, at, guard, &conditions, bound);
    if (!product)
      return product;
    read.push_back(*product);
  }
  for (unsigned i = 0; i < factors && !isOfParts; ++i) {
    Guard own;
    Made x = throughMap(id, i, maps.operands[i].maps[0], at, guard, &own, bound);
    if (!x)
      return x;
    DType from = partType(graph[op.operands[i]].shape.dtype);
    isNeutral = !isProduct && isFloat(from) && setElse(*x, with.identity);
    bool isFloatOfFloat = isFloat(from) && isFloat(with.type) && from != DType::F64;
    Made wide = isProduct && isFloatOfFloat && with.type != DType::F64
                    ? std::move(x)
                    : converted(*x, from, with.type);
    if (!wide)
      return wide;
    read.push_back(*wide);
    conditions.insert(conditions.end(), own.begin(), own.end());
  }
  Leaf x = read[0];
  if (isProduct && !isOfParts) {
    Made product = binary(Opcode::Multiply, read[0], read[1], with.type, false);
    if (!product)
      return product;
    x = *product;
  }
  std::optional<Leaf> condition;
  if (!isNeutral) {
    auto found = predicate(id, conditions);
    if (!found)
      return found.takeError();
    condition = *found;
  }
  Leaf total = x;
  if (opened > 0 || condition) {
    auto sum = accumulate(outer, with, x, condition, {});
    if (!sum)
      return sum.takeError();
    for (unsigned i = 0; i < opened; ++i)
      closeLoop();
    valueLevels[sum->index] = outer;
    total = leafOf(*sum);
  }
  putBack(std::move(aside));
  if (isProduct)
    return converted(total, with.type, type);
  return initialised(id, with, result, total);
}

} // namespace tilewright::program
