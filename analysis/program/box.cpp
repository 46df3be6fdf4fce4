#include "analysis/program/box.h"

#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::program {

namespace {

template <typename... Args> llvm::Error refuse(fmt::format_string<Args...> format, Args &&...args) {
  return makeError(DiagClass::Unsupported, "{}", fmt::format(format, std::forward<Args>(args)...));
}

llvm::Error checkEnds(const Program &p, const CopyOp &copy, const std::vector<size_t> &dims) {
  if (!copy.conditions.empty())
    return refuse("tma takes no conditions: copy via cp.async");
  const Buffer &buffer = p[copy.buffer];
  for (size_t i = 0; i < buffer.order.size(); ++i) {
    const Axis &axis = p[buffer.order[i]];
    Expr dim = p[copy.from.tensor].dims[dims[i]];
    if (axis.lower || (axis.bound && axis.bound != dim))
      return refuse("{} is cut off at other places than dim {} of {} ends: copy via cp.async",
                    axis.name, dims[i], p[copy.from.tensor].name);
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::vector<size_t>> boxDims(const Program &p, const CopyOp &copy) {
  const Buffer &buffer = p[copy.buffer];
  const TensorInfo &tensor = p[copy.from.tensor];
  if (bitWidth(tensor.type) < 8 || buffer.padElements != 0)
    return refuse("tma takes whole bytes and rows without padding");
  std::vector<size_t> result;
  for (AxisId axis : buffer.order) {
    std::vector<size_t> found;
    for (size_t d = 0; d < copy.from.index.size(); ++d)
      if (copy.from.index[d] == p[axis].var)
        found.push_back(d);
    if (found.size() != 1)
      return refuse("{} goes along {} dims of {}, a box along one", p[axis].name, found.size(),
                    tensor.name);
    if (!result.empty() && found[0] < result.back())
      return refuse("{} holds the axes in another order than {} has them: tma does not transpose",
                    buffer.name, tensor.name);
    result.push_back(found[0]);
  }
  if (result.empty() || result.back() + 1 != copy.from.index.size())
    return refuse("the last axis of {} is not that of {}", buffer.name, tensor.name);
  if (llvm::Error error = checkEnds(p, copy, result))
    return error;
  return result;
}

} // namespace tilewright::program
