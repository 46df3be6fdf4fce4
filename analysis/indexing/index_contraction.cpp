// dot, scaled-dot, ragged-dot, reduce and scan.
#include "analysis/indexing/indexing_internal.h"
#include "analysis/ir/contraction_dims.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

namespace tilewright::indexing {

std::vector<int64_t> freeDims(const Shape &shape, const std::vector<int64_t> &batch,
                              const std::vector<int64_t> &contracting) {
  std::vector<int64_t> result;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.rank()); ++d)
    if (std::find(batch.begin(), batch.end(), d) == batch.end() &&
        std::find(contracting.begin(), contracting.end(), d) == contracting.end())
      result.push_back(d);
  return result;
}

namespace {

/// How a dot's result and its contracted dims (range variable si for number i) lie in its operands.
struct DotView {
  std::vector<MapVariable> contracted;
  std::vector<Expr> lhs, rhs; ///< coordinates; null in dims that are neither
};

/// Output dims are [batch, lhs free, rhs free], from output dim `first` on. `group` is a dim of the
/// rhs that is none of these.
llvm::Expected<DotView> dotView(const OpView &v, size_t first, std::optional<int64_t> group) {
  const DotDims &dims = v.op.attrs.dot;
  if (v.operandCount() < 2 || dims.lhsBatch.size() != dims.rhsBatch.size() ||
      dims.lhsContracting.size() != dims.rhsContracting.size())
    return v.malformed("its dims don't fit");
  const Shape &lhs = v.operand(0), &rhs = v.operand(1);
  if (!inRange(dims.lhsBatch, lhs.rank()) || !inRange(dims.lhsContracting, lhs.rank()) ||
      !inRange(dims.rhsBatch, rhs.rank()) || !inRange(dims.rhsContracting, rhs.rank()))
    return v.malformed("its dims don't fit");
  std::vector<int64_t> lhsFree = freeDims(lhs, dims.lhsBatch, dims.lhsContracting);
  std::vector<int64_t> rhsFree = freeDims(rhs, dims.rhsBatch, dims.rhsContracting);
  if (group)
    std::erase(rhsFree, *group);
  size_t batches = dims.lhsBatch.size();
  if (v.out.rank() != first + batches + lhsFree.size() + rhsFree.size())
    return v.malformed("operands and result don't fit");
  DotView view;
  for (size_t i = 0; i < dims.lhsContracting.size(); ++i)
    view.contracted.push_back(rangeVariable(v.ctx.range(static_cast<unsigned>(i)),
                                            lhs.dims[static_cast<size_t>(dims.lhsContracting[i])]));
  auto coordinates = [&](const Shape &shape, const std::vector<int64_t> &batch,
                         const std::vector<int64_t> &contracting, const std::vector<int64_t> &free,
                         size_t firstFree) {
    std::vector<Expr> at(shape.rank());
    for (size_t i = 0; i < batch.size(); ++i)
      at[static_cast<size_t>(batch[i])] = v.dim(first + i);
    for (size_t i = 0; i < contracting.size(); ++i)
      at[static_cast<size_t>(contracting[i])] = view.contracted[i].var;
    for (size_t i = 0; i < free.size(); ++i)
      at[static_cast<size_t>(free[i])] = v.dim(firstFree + i);
    return at;
  };
  view.lhs = coordinates(lhs, dims.lhsBatch, dims.lhsContracting, lhsFree, first + batches);
  view.rhs = coordinates(rhs, dims.rhsBatch, dims.rhsContracting, rhsFree,
                         first + batches + lhsFree.size());
  return view;
}

Maps dotMaps(const OpView &v) {
  llvm::Expected<DotView> view = dotView(v, 0, std::nullopt);
  if (!view)
    return view.takeError();
  OpIndexing result;
  for (const std::vector<Expr> *side : {&view->lhs, &view->rhs})
    result.operands.push_back(exactly(v.map(*side, view->contracted)));
  // scaled-dot: element i of an operand is scaled by element i // block of its scale.
  for (size_t i = 2; i < v.operandCount(); ++i) {
    const Shape &scale = v.operand(i);
    if (i > 3 || v.op.opcode != Opcode::ScaledDot)
      return v.malformed("it has too many operands");
    if (scale.isScalar()) {
      // Read once for each product, of which there may be none.
      result.operands.push_back(exactly(v.map({}, view->contracted)));
      continue;
    }
    std::vector<Expr> at = i == 2 ? view->lhs : view->rhs;
    if (scale.rank() != at.size())
      return v.malformed("a scale and its operand differ in rank");
    for (size_t d = 0; d < at.size(); ++d) {
      std::optional<int64_t> block = scaleBlock(v.operand(i - 2).dims[d], scale.dims[d]);
      if (!block)
        return v.malformed("a scale does not fit its operand");
      at[d] = at[d].floorDiv(*block);
    }
    result.operands.push_back(exactly(v.map(std::move(at), view->contracted)));
  }
  return result;
}

/// Groups lie where the sizes say that are known at run time, so that what depends on them is
/// taken from all groups.
Maps raggedDotMaps(const OpView &v) {
  using Mode = RaggedDims::Mode;
  std::optional<RaggedDims> ragged = raggedDims(v.op);
  if (!ragged || v.operandCount() != 3 || v.operand(2).rank() == 0 ||
      ragged->ragged >= static_cast<int64_t>(v.operand(0).rank()) ||
      ragged->group >= static_cast<int64_t>(v.operand(1).rank()))
    return v.malformed("its ragged and group dims don't fit");
  bool isFree = ragged->mode == Mode::Free, isContracting = ragged->mode == Mode::Contracting;
  llvm::Expected<DotView> view =
      dotView(v, isContracting ? 1 : 0, isFree ? std::optional(ragged->group) : std::nullopt);
  if (!view)
    return view.takeError();
  OpIndexing result;
  const Shape &sizes = v.operand(2);
  size_t batches = v.op.attrs.dot.lhsBatch.size();
  if (ragged->mode == Mode::Batch) {
    result.operands.push_back(exactly(v.map(view->lhs, view->contracted)));
    result.operands.push_back(exactly(v.map(view->rhs, view->contracted)));
    result.operands.push_back(
        exactly(IndexMap::knownEmpty(v.ctx, v.out.dims, static_cast<unsigned>(sizes.rank()))));
    return result;
  }
  std::vector<MapVariable> ranges = view->contracted;
  if (isFree) {
    Expr group = v.ctx.range(static_cast<unsigned>(ranges.size()));
    view->rhs[static_cast<size_t>(ragged->group)] = group;
    ranges.push_back(rangeVariable(group, sizes.dims.back()));
  }
  std::string_view why = isFree ? "rows behind the last group read nothing"
                                : "only of the group's share of the contracted dim";
  result.operands.push_back(atMost(v.map(view->lhs, view->contracted), std::string(why)));
  result.operands.push_back(
      atMost(v.map(view->rhs, ranges), isFree ? "only of the row's group" : std::string(why)));
  // The sizes up to the group's own, or all, to find the row's group.
  std::vector<Expr> at;
  for (size_t i = 0; i + 1 < sizes.rank() && i < batches; ++i)
    at.push_back(v.dim(i + (isContracting ? 1 : 0)));
  // A variable of its own: it is neither a contracted dim nor the loop over the groups.
  const Expr counted = v.ctx.range(static_cast<unsigned>(ranges.size()));
  at.push_back(counted);
  if (at.size() != sizes.rank())
    return v.malformed("its group sizes don't fit");
  std::vector<MapConstraint> before;
  if (isContracting)
    before.push_back({v.dim(0) - at.back(), {0, INT64_MAX}, 1, 0});
  result.operands.push_back(exactly(
      v.map(std::move(at), {rangeVariable(counted, sizes.dims.back())}, std::move(before))));
  return result;
}

Maps reduceMaps(const OpView &v) {
  size_t inputs = v.operandCount() / 2;
  if (inputs == 0 || v.operandCount() % 2 != 0)
    return v.malformed("needs an initial value for each input");
  const Shape &in = v.operand(0);
  std::vector<bool> reduced(in.rank());
  if (!inRange(v.op.attrs.dimensions, in.rank()))
    return v.malformed("its dimensions don't fit");
  for (int64_t d : v.op.attrs.dimensions)
    reduced[static_cast<size_t>(d)] = true;
  std::vector<Expr> at;
  std::vector<MapVariable> ranges;
  size_t kept = 0;
  for (size_t d = 0; d < in.rank(); ++d) {
    if (reduced[d]) {
      at.push_back(v.ctx.range(static_cast<unsigned>(ranges.size())));
      ranges.push_back(rangeVariable(at.back(), in.dims[d]));
    } else {
      at.push_back(v.dim(kept++));
    }
  }
  if (kept != v.out.rank())
    return v.malformed("operand and result don't fit");
  OpIndexing result;
  for (size_t i = 0; i < v.operandCount(); ++i)
    result.operands.push_back(!v.wants(i) ? OperandMaps{}
                                          : exactly(i < inputs ? v.map(at, ranges) : v.scalar()));
  return result;
}

Maps scanMaps(const OpView &v) {
  unsigned carries = 0;
  std::string_view text = rawAttribute(v.op, "num_carries");
  if (llvm::StringRef(text.data(), text.size()).getAsInteger(10, carries) ||
      carries >= v.operandCount() || v.op.attrs.dimensions.size() != 1)
    return v.malformed("its carries and dim don't fit");
  bool isReverse = rawAttribute(v.op, "is_reverse") == "true";
  size_t results = v.op.shape.isTuple ? v.op.shape.elements.size() : 1;
  size_t inputs = v.operandCount() - carries;
  size_t which = v.path.empty() ? 0 : static_cast<size_t>(v.path.front());
  bool isLastCarry = carries <= results && which >= results - carries;
  size_t along = static_cast<size_t>(v.op.attrs.dimensions[0]);
  OpIndexing result;
  for (size_t k = 0; k < v.operandCount(); ++k) {
    const Shape &in = v.operand(k);
    if (k >= inputs) {
      // A carry has the result's dims without the scanned one.
      std::vector<Expr> at;
      for (size_t d = 0; d < v.out.rank(); ++d)
        if (isLastCarry || d != along)
          at.push_back(v.dim(d));
      if (at.size() != in.rank())
        return v.malformed("a carry doesn't fit");
      result.operands.push_back(exactly(v.map(std::move(at))));
      continue;
    }
    if (along >= in.rank() || in.rank() != v.out.rank() + (isLastCarry ? 1 : 0))
      return v.malformed("an input doesn't fit");
    Expr position = v.ctx.range(0);
    std::vector<Expr> at;
    for (size_t d = 0, o = 0; d < in.rank(); ++d) {
      bool scanned = d == along;
      at.push_back(scanned ? position : v.dim(o));
      o += !(scanned && isLastCarry);
    }
    std::vector<MapConstraint> before;
    if (!isLastCarry) // positions up to the element's own
      before.push_back(
          {isReverse ? position - v.dim(along) : v.dim(along) - position, {0, INT64_MAX}, 1, 0});
    OperandMaps maps =
        exactly(v.map(std::move(at), {rangeVariable(position, in.dims[along])}, std::move(before)));
    maps.note = "through the carry: every position up to the element's own";
    if (!isLastCarry)
      maps.perStep = v.identity();
    result.operands.push_back(std::move(maps));
  }
  return result;
}

} // namespace

Maps contractionMaps(const OpView &v) {
  for (size_t i = 0; i < v.operandCount(); ++i)
    if (v.operand(i).isTuple)
      return v.malformed("an operand is a tuple");
  switch (v.op.opcode) {
  case Opcode::Reduce:
    return reduceMaps(v);
  case Opcode::Scan:
    return scanMaps(v);
  case Opcode::RaggedDot:
    return raggedDotMaps(v);
  default:
    return dotMaps(v);
  }
}

} // namespace tilewright::indexing
