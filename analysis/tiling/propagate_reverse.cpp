// From an operand's tile to the tile of the result that it reaches, derived from the index map.
//
// Each coordinate of the result is a sum of coordinates of the operand, of ranges that run freely
// (the dims of a broadcast, the elements of a window) and of start values, perhaps divided by a
// constant. A sum of one coordinate moves a tile; a sum of several is the span of them, which is
// exact while no gaps are left; a quotient keeps what is a multiple, or the blocks that are
// touched. Constraints of the map on one coordinate of the result become masks. Anything else makes
// the dim whole, or the tile over-approximate.
#include "analysis/affine/linear_form.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

/// One coordinate of the result: (sum) floordiv divisor + shift.
struct Coordinate {
  LinearForm sum;
  int64_t divisor = 1, shift = 0;
  bool isMultiple = false; ///< the map holds only if the divisor divides the sum
};

Coordinate coordinateOf(Expr result) {
  Coordinate out{LinearForm::of(result)};
  if (out.sum.terms.size() != 1 || out.sum.terms[0].coefficient != 1)
    return out;
  const Expr term = out.sum.terms[0].expr;
  if (term.kind() != ExprKind::FloorDiv || !term.rhs().isConstant() || term.rhs().constant() < 2)
    return out;
  return {LinearForm::of(term.lhs()), term.rhs().constant(), out.sum.constant, false};
}

/// a - b, where that is a constant.
std::optional<int64_t> difference(LinearForm a, const LinearForm &b) {
  if (!a.add(b, -1) || !a.isConstant())
    return std::nullopt;
  return a.constant;
}

/// A variable of the map with the values it takes.
struct Values {
  VarId variable;
  TileDim tile;
  std::optional<int64_t> count; ///< for ranges: number of values
  bool mayBeEmpty = false;
  unsigned uses = 0; ///< number of coordinates in which it occurs
};

/// Smallest and largest value of sums, over all lanes and over the valid ones.
struct Span {
  Expr low, high, lanes; ///< lanes = high - low, in tile sizes only
  Expr validLow, validHigh;
  bool isDense = true; ///< no gaps between the valid ones
};

} // namespace

llvm::Expected<OperandTile> TilePropagator::resultTouched(OpId id, unsigned operand,
                                                          const FactoredTile &tile,
                                                          const ResultPath &path) {
  const Op &op = graph[id];
  const Shape *result = resultShape(op, path);
  if (!result || operand >= op.operands.size())
    return unsupported(op, "it has no such result or operand");
  const Shape &in = graph[op.operands[operand]].shape;
  if (op.opcode == Opcode::Bitcast)
    return throughBytes(id, tile, in, *result);
  if (op.opcode == Opcode::Reshape) {
    OperandTile out;
    out.tile = factory.reshape(tile, in.dims, result->dims, sinkFor(id, static_cast<int>(operand)));
    passGuards(op, tile, out);
    return out;
  }
  llvm::Expected<OperandMaps> back = operandToOutput(graph, id, operand, ctx, path);
  if (!back)
    return back.takeError();
  OperandTile out;
  const Expr zero = ctx.constant(0), one = ctx.constant(1);
  if (back->maps.empty() || back->maps[0].isKnownEmpty()) {
    for (int64_t extent : result->dims)
      out.tile.dims.push_back(
          factory.opaqueDim({zero, one, one, zero, zero}, extent, true, out.tile));
    return out;
  }
  if (back->maps.size() != 1)
    return unsupported(op,
                       fmt::format("operand {} is read in {} ways", operand, back->maps.size()));
  const IndexMap &map = back->maps[0];

  std::vector<Values> values;
  const std::vector<MapVariable> dims = map.variables(VarKind::Dim);
  for (size_t i = 0; i < dims.size(); ++i) {
    TileOrigin o = factory.plainOrigin(tile.dims[i], in.dims[i], static_cast<int>(i),
                                       sinkFor(id, static_cast<int>(operand)));
    const bool isCut = dims[i].domain != Interval::ofExtent(in.dims[i]);
    if (isCut) {
      o.tile.lower = o.tile.lower.max(dims[i].domain.lo);
      o.tile.upper = o.tile.upper.min(dims[i].domain.hi + 1);
    }
    values.push_back({dims[i].var.variable(), o.tile, std::nullopt, o.mayBeEmpty || isCut});
  }
  for (const MapVariable &range : map.variables(VarKind::Range)) {
    const int64_t count = range.domain.hi - range.domain.lo + 1;
    values.push_back({range.var.variable(),
                      {ctx.constant(range.domain.lo), ctx.constant(count), one,
                       ctx.constant(range.domain.lo), ctx.constant(range.domain.hi + 1)},
                      count});
  }
  std::vector<Expr> starts(ctx.variableCount()); // of runtime variables that are scalars
  for (const MapVariable &rt : map.variables(VarKind::Runtime))
    if (rt.source && rt.source->element.empty() && rt.domain.lo == 0 && rt.domain.hi != INT64_MAX)
      starts[rt.var.variable().index] = rt.source->tensor == id.index
                                            ? ownPosition(id, rt.domain.hi + 1)
                                            : startValue(OpId{rt.source->tensor}, rt.domain.hi);

  std::vector<Coordinate> coordinates;
  for (Expr expr : map.results())
    coordinates.push_back(coordinateOf(expr));
  for (const Coordinate &c : coordinates)
    for (const LinearForm::Term &term : c.sum.terms)
      for (Values &v : values)
        v.uses += term.expr.isVariable() && term.expr.variable() == v.variable;

  // Constraints on one coordinate become masks of it.
  std::vector<std::optional<Interval>> masks(coordinates.size());
  for (const MapConstraint &constraint : map.constraints()) {
    const LinearForm form = LinearForm::of(constraint.expr);
    bool isKept = constraint.modulus <= 1;
    for (Coordinate &c : coordinates)
      if (!isKept && c.divisor > 1 && constraint.modulus % c.divisor == 0)
        if (std::optional<int64_t> d = difference(c.sum, form))
          if ((*d + constraint.residue) % c.divisor == 0 && constraint.modulus == c.divisor) {
            c.isMultiple = true;
            isKept = true;
          }
    if (constraint.range != Interval{}) {
      bool isMask = false;
      for (size_t j = 0; j < coordinates.size() && !isMask; ++j) {
        const Coordinate &c = coordinates[j];
        Interval range = constraint.range;
        std::optional<int64_t> d = difference(LinearForm::of(map.results()[j]), form);
        if (!d && c.isMultiple)
          if (std::optional<int64_t> ofSum = difference(c.sum, form)) {
            const Interval sum = range + Interval::point(*ofSum),
                           divisor = Interval::point(c.divisor);
            range = {ceilDiv(sum, divisor).lo, floorDiv(sum, divisor).hi};
            d = c.shift;
          }
        if (!d)
          continue;
        const Interval moved = range + Interval::point(*d);
        masks[j] = masks[j] ? masks[j]->intersect(moved) : moved;
        isMask = true;
      }
      isKept &= isMask;
    }
    if (!isKept)
      markCovering(out, fmt::format("{} is not a mask of one dim", constraint.str()));
  }

  for (size_t j = 0; j < coordinates.size(); ++j) {
    const Coordinate &c = coordinates[j];
    const int64_t extent = result->dims[j];
    Expr base = ctx.constant(c.sum.constant);
    std::vector<std::pair<Values *, int64_t>> terms;
    bool isKnown = true;
    for (const LinearForm::Term &term : c.sum.terms) {
      if (!term.expr.isVariable()) {
        isKnown = false;
        break;
      }
      const VarId var = term.expr.variable();
      auto it = std::find_if(values.begin(), values.end(),
                             [&](const Values &v) { return v.variable == var; });
      if (it != values.end())
        terms.push_back({&*it, term.coefficient});
      else if (var.index < starts.size() && starts[var.index])
        base = base + starts[var.index] * term.coefficient;
      else
        isKnown = false;
    }
    for (auto &[v, factor] : terms)
      isKnown &= terms.size() + (c.divisor > 1) == 1 || v->tile.stride.isConstant();
    if (!isKnown) {
      markCovering(out, fmt::format("dim {} does not follow from the tile's offsets", j));
      out.tile.dims.push_back(factory.wholeDim(extent));
      continue;
    }
    TileDim made;
    bool mayBeEmpty = masks[j].has_value();
    for (auto &[v, factor] : terms)
      mayBeEmpty |= v->mayBeEmpty;
    if (terms.size() == 1 && c.divisor == 1) {
      auto &[v, factor] = terms[0];
      const TileDim &t = v->tile;
      const Expr first = t.lower * factor + base, last = (t.upper - 1) * factor + base;
      made = {t.offset * factor + base, t.size, t.stride * factor, factor > 0 ? first : last,
              (factor > 0 ? last : first) + 1};
    } else {
      Span span{base, base, zero, base, base};
      int64_t dense = 1; // number of consecutive values from the ranges so far
      std::stable_sort(terms.begin(), terms.end(), [](const auto &a, const auto &b) {
        const auto key = [](const auto &x) {
          return std::pair(!x.first->count.has_value(), magnitude(x.second));
        };
        return key(a) < key(b);
      });
      for (auto &[v, factor] : terms) {
        const TileDim &t = v->tile;
        const int64_t step = t.stride.constant() * factor, length = step < 0 ? -step : step;
        const Expr reach = (t.size - 1) * length;
        const Expr low = t.offset * factor + base - base + (step < 0 ? zero - reach : zero);
        span.low = span.low + low;
        span.high = span.high + low + reach;
        span.lanes = span.lanes + reach;
        const Expr maskLow = factor > 0 ? t.lower * factor : (t.upper - 1) * factor;
        const Expr maskHigh = factor > 0 ? (t.upper - 1) * factor : t.lower * factor;
        span.validLow = span.validLow + low.max(maskLow);
        span.validHigh = span.validHigh + (low + reach).min(maskHigh);
        span.isDense &= length <= dense && (v->count || magnitude(t.stride.constant()) == 1);
        if (v->count)
          dense += length * (*v->count - 1);
        if (v->mayBeEmpty && (terms.size() > 1 || !c.isMultiple))
          markDropped(op, out); // the span of an empty tile is not empty
      }
      if (!span.isDense)
        markCovering(out, fmt::format("dim {} is reached with gaps", j));
      const int64_t d = c.divisor;
      if (c.isMultiple)
        made = {span.low.ceilDiv(d), span.lanes.floorDiv(d) + 1, one, span.validLow.ceilDiv(d),
                span.validHigh.floorDiv(d) + 1};
      else
        made = {span.low.floorDiv(d), (span.lanes + (d - 1)).floorDiv(d) + 1, one,
                span.validLow.floorDiv(d), span.validHigh.floorDiv(d) + 1};
      if (c.shift != 0)
        made = {made.offset + c.shift, made.size, one, made.lower + c.shift, made.upper + c.shift};
    }
    Interval mask = Interval::ofExtent(extent);
    if (masks[j])
      mask = mask.intersect(*masks[j]);
    made.lower = made.lower.max(mask.lo);
    made.upper = made.upper.min(mask.hi + 1);
    out.tile.dims.push_back(factory.opaqueDim(std::move(made), extent, mayBeEmpty, out.tile));
  }
  for (const Values &v : values) {
    if (v.uses == 0 && v.mayBeEmpty)
      markDropped(op, out);
    if (v.uses > 1)
      markCovering(out, "two dims of the result move together");
  }
  if (back->coverage != Coverage::Exact)
    markCovering(out, back->note);
  passGuards(op, tile, out);
  return out;
}

} // namespace tilewright
