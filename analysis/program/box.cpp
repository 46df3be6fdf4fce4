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
  BoxDim result{dim, dim, AxisId{}, index};
  if (axes.empty())
    return result;
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

/// Two neighbouring dims, of which an axis' coordinate is divided by the second's extent.
std::optional<BoxDim> alongBoth(const Program &p, const CopyOp &copy, size_t dim) {
  const std::vector<Expr> &index = copy.from.index;
  Expr inner = p[copy.from.tensor].dims[dim + 1];
  for (AxisId axis : p.axesOf(index[dim + 1]))
    if (index[dim] == p[axis].var.floorDiv(inner) && index[dim + 1] == p[axis].var.mod(inner))
      return BoxDim{dim, dim + 1, axis, p.number(0)};
  return std::nullopt;
}

llvm::Error checkEnd(const Program &p, const CopyOp &copy, const BoxDim &box) {
  const Axis &axis = p[box.axis];
  const TensorInfo &tensor = p[copy.from.tensor];
  Expr dim = tensor.dims[box.last];
  if (box.first != box.last)
    dim = tensor.dims[box.first] * dim;
  bool endsThere = box.start.isConstant(0) && !axis.lower && (!axis.bound || axis.bound == dim);
  if (endsThere || isNeverCut(axis))
    return llvm::Error::success();
  return refuse("{} is cut off at other places than dim {} of {} ends: copy via cp.async",
                axis.name, box.last, tensor.name);
}

} // namespace

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
      return refuse("dim {} of {} goes along no single axis: tma takes boxes", d, tensor.name);
    d = box->last;
    if (box->axis.isValid()) {
      order.push_back(box->axis);
      if (llvm::Error error = checkEnd(p, copy, *box))
        return error;
    }
    result.push_back(*box);
  }
  if (order.empty() || order.back() != buffer.order.back() || !result.back().axis.isValid())
    return refuse("the last axis of {} is not that of {}", buffer.name, tensor.name);
  if (order != buffer.order)
    return refuse("{} holds the axes in another order than {} has them: tma does not transpose",
                  buffer.name, tensor.name);
  return result;
}

} // namespace tilewright::program
