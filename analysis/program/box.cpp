#include "analysis/program/box.h"

#include "analysis/affine/linear_form.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::program {

namespace {

template <typename... Args> llvm::Error refuse(fmt::format_string<Args...> format, Args &&...args) {
  return makeError(DiagClass::Unsupported, "{}", fmt::format(format, std::forward<Args>(args)...));
}

/// Whether no tile of an axis is cut off, or that depends on what is no number yet.
bool isNeverCut(const Axis &axis) {
  if (axis.lower)
    return false;
  if (!axis.bound || !axis.bound.isConstant() || !axis.extent.isConstant())
    return !axis.bound || axis.bound.isConstant();
  return axis.bound.constant() % axis.extent.constant() == 0;
}

/// The axis that an index goes along, element by element, and the index at its coordinate 0.
std::optional<BoxDim> alongAxis(const Program &p, Expr index, size_t dim) {
  AxisSet axes = p.axesOf(index);
  if (axes.size() > 1)
    return std::nullopt;
  BoxDim result{dim, dim, AxisId{}, index, p.number(1), Expr()};
  if (axes.empty())
    return result;
  result.size = p.resolved(p[axes[0]].extent);
  Expr var = p[axes[0]].var;
  std::vector<Expr> table(p.context->variableCount());
  table[var.variable().index] = p.number(0);
  result.axis = axes[0];
  result.start = substitute(index, std::span<const Expr>(table));
  for (const LinearForm::Term &term : LinearForm::of(index).terms) {
    bool isAxis = term.expr == var && term.coefficient == 1;
    if (!isAxis && !p.axesOf(term.expr).empty())
      return std::nullopt;
  }
  return result;
}

/// The digit of an axis that an index goes along: (i // s) % n.
std::optional<BoxDim> alongDigit(const Program &p, Expr index, size_t dim) {
  AxisSet axes = p.axesOf(index);
  if (axes.size() != 1 || !p.resolved(p[axes[0]].origin).isConstant(0) || p[axes[0]].bound)
    return std::nullopt;
  Expr var = p[axes[0]].var, extent = p.resolved(p[axes[0]].extent);
  std::vector<Expr> table(p.context->variableCount());
  table[var.variable().index] = p.number(0);
  BoxDim result{dim, dim, axes[0], substitute(index, std::span<const Expr>(table)), Expr(), Expr()};
  for (const LinearForm::Term &term : LinearForm::of(index).terms) {
    if (p.axesOf(term.expr).empty())
      continue;
    Expr digit = term.expr;
    if (term.coefficient != 1 || result.stride)
      return std::nullopt;
    if (digit.kind() == ExprKind::Mod) {
      result.size = p.resolved(digit.rhs());
      digit = digit.lhs();
    }
    result.stride = p.number(1);
    if (digit.kind() == ExprKind::FloorDiv) {
      result.stride = p.resolved(digit.rhs());
      digit = digit.lhs();
    }
    if (digit != var)
      return std::nullopt;
    if (!result.size)
      result.size = extent.floorDiv(result.stride);
  }
  return result;
}

/// Whether digits follow each other: in the order of memory they are the axis' lanes.
bool areInOrder(const Program &p, const std::vector<BoxDim> &box) {
  Simplifier simplifier(*p.context, Bounds());
  for (size_t d = 0; d < box.size(); ++d) {
    if (!box[d].stride)
      continue;
    auto isDigit = [&](size_t other) { return box[other].axis == box[d].axis; };
    bool isLast = d + 1 == box.size() || !isDigit(d + 1);
    Expr inner = isLast ? p.number(1) : box[d + 1].stride * box[d + 1].size;
    if (simplifier.simplify(inner - box[d].stride) != p.number(0))
      return false;
    bool isApart = false; // digits with another axis in between
    for (size_t other = d + 2; other < box.size(); ++other)
      isApart = isApart || (isLast && isDigit(other));
    if (isApart)
      return false;
  }
  return true;
}

/// Two neighbouring dims, of which an axis' coordinate is divided by the second's extent.
std::optional<BoxDim> alongBoth(const Program &p, const CopyOp &copy, size_t dim) {
  const std::vector<Expr> &index = copy.from.index;
  Expr inner = p[copy.from.tensor].dims[dim + 1];
  for (AxisId axis : p.axesOf(index[dim + 1]))
    if (index[dim] == p[axis].var.floorDiv(inner) && index[dim + 1] == p[axis].var.mod(inner))
      return BoxDim{dim, dim + 1, axis, p.number(0), p.resolved(p[axis].extent), Expr()};
  return std::nullopt;
}

llvm::Error checkEnd(const Program &p, const CopyOp &copy, const BoxDim &box) {
  const Axis &axis = p[box.axis];
  const TensorInfo &tensor = p[copy.from.tensor];
  Expr dim = tensor.dims[box.last];
  if (box.first != box.last)
    dim = tensor.dims[box.first] * dim;
  bool isSummed = false; // else nobody looks at lanes that do not count
  forEachOp(p.body, [&](const Op &op, const LoopNest &) {
    if (const auto *dot = op.as<DotOp>())
      isSummed = isSummed || contains(dot->over, box.axis);
    if (const auto *reduce = op.as<ReduceOp>())
      isSummed = isSummed || contains(reduce->over, box.axis);
  });
  if (!isSummed)
    return llvm::Error::success();
  bool endsThere = box.start.isConstant(0) && !axis.lower && (!axis.bound || axis.bound == dim);
  if (endsThere || isNeverCut(axis))
    return llvm::Error::success();
  return refuse("{} is cut off at other places than dim {} of {} ends: copy via cp.async",
                axis.name, box.last, tensor.name);
}

} // namespace

bool isCutInPieces(const Buffer &buffer, const BoxDim &dim) {
  return !dim.stride && buffer.order.size() == 2 && dim.axis == buffer.order[0];
}

llvm::Expected<std::vector<BoxDim>> boxOf(const Program &p, const CopyOp &copy) {
  const Buffer &buffer = p[copy.buffer];
  const TensorInfo &tensor = p[copy.from.tensor];
  if (bitWidth(tensor.type) < 8 || buffer.padElements != 0)
    return refuse("tma takes whole bytes and rows without padding");
  if (!copy.conditions.empty())
    return refuse("tma takes no conditions: copy via cp.async");
  std::vector<BoxDim> result;
  std::vector<AxisId> order;
  for (size_t d = 0; d < copy.from.index.size(); ++d) {
    std::optional<BoxDim> box =
        d + 1 < copy.from.index.size() ? alongBoth(p, copy, d) : std::nullopt;
    if (!box)
      box = alongAxis(p, copy.from.index[d], d);
    if (!box)
      box = alongDigit(p, copy.from.index[d], d);
    if (!box)
      return refuse("dim {} of {} goes along no single axis: tma takes boxes", d, tensor.name);
    d = box->last;
    if (box->axis.isValid()) {
      if (!box->stride || order.empty() || order.back() != box->axis)
        order.push_back(box->axis);
      if (llvm::Error error = checkEnd(p, copy, *box))
        return error;
    }
    result.push_back(*box);
  }
  if (!areInOrder(p, result))
    return refuse("the digits of an axis of {} lie in another order in {}", buffer.name,
                  tensor.name);
  if (result.back().stride)
    return refuse("the rows of {} come from several dims of {}", buffer.name, tensor.name);
  if (order.empty() || order.back() != buffer.order.back() || !result.back().axis.isValid())
    return refuse("the last axis of {} is not that of {}", buffer.name, tensor.name);
  if (order != buffer.order)
    return refuse("{} holds the axes in another order than {} has them: tma does not transpose",
                  buffer.name, tensor.name);
  return result;
}

} // namespace tilewright::program
