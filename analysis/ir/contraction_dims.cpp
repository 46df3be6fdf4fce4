#include "analysis/ir/contraction_dims.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

namespace tilewright {

std::optional<int64_t> scaleBlock(int64_t extent, int64_t scales) {
  if (extent < 0 || scales < 0 || (scales == 0) != (extent == 0) || scales > extent)
    return std::nullopt;
  if (scales == 0)
    return 1;
  if (extent % scales == 0)
    return extent / scales;
  for (uint64_t block = 2; block < static_cast<uint64_t>(extent); block *= 2)
    if (static_cast<uint64_t>(extent - 1) / block + 1 == static_cast<uint64_t>(scales))
      return static_cast<int64_t>(block); // twice the block makes fewer
  return std::nullopt;
}

namespace {

/// The number in "{3}"; nothing for an empty or longer list.
std::optional<int64_t> onlyNumber(const Op &op, std::string_view name) {
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == name) {
      llvm::StringRef text(attribute.text);
      int64_t number = 0;
      text = text.trim();
      if (text.consume_front("{") && text.consume_back("}") &&
          !text.trim().getAsInteger(10, number) && number >= 0)
        return number;
    }
  return std::nullopt;
}

} // namespace

std::optional<RaggedDims> raggedDims(const Op &op) {
  std::optional<int64_t> ragged = onlyNumber(op, "lhs_ragged_dims");
  std::optional<int64_t> group = onlyNumber(op, "rhs_group_dims");
  if (!ragged)
    return std::nullopt;
  auto isIn = [&](const std::vector<int64_t> &list) {
    return std::find(list.begin(), list.end(), *ragged) != list.end();
  };
  RaggedDims result;
  result.ragged = *ragged;
  if (isIn(op.attrs.dot.lhsBatch)) {
    result.mode = RaggedDims::Mode::Batch;
  } else if (isIn(op.attrs.dot.lhsContracting)) {
    result.mode = RaggedDims::Mode::Contracting;
  } else {
    if (!group)
      return std::nullopt;
    result.group = *group;
  }
  return result;
}

} // namespace tilewright
