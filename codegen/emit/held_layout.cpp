#include "codegen/emit/held_layout.h"

#include <bit>

namespace tilewright::emit {

namespace {

/// Digits with their places; nothing where one is no number. `product` gets that of the extents.
std::optional<std::vector<PlacedDigit>> placed(const std::vector<program::Digit> &digits,
                                               int64_t &product) {
  std::vector<PlacedDigit> result;
  product = 1;
  for (const program::Digit &digit : digits) {
    constexpr int64_t most = 1 << 20; // more than any tile has
    if (!digit.extent.isConstant() || !digit.stride.isConstant() || digit.extent.constant() < 1 ||
        digit.extent.constant() > most)
      return std::nullopt;
    result.push_back({digit.axis, digit.extent.constant(), digit.stride.constant(), product});
    product *= digit.extent.constant();
    if (product > most)
      return std::nullopt;
  }
  return result;
}

} // namespace

Expr digitOf(const PlacedDigit &digit, Expr number) {
  return number.floorDiv(digit.place).mod(digit.extent);
}

std::optional<HeldLayout> HeldLayout::of(const Layout &layout, int64_t warps) {
  HeldLayout result;
  result.source = layout;
  Layout normal = layout.normal();
  int64_t lanes = 1, warpsHeld = 1;
  auto registers = placed(normal.registers, result.count);
  auto inLanes = placed(normal.lanes, lanes), inWarps = placed(normal.warps, warpsHeld);
  if (!registers || !inLanes || !inWarps || lanes != 32 || warpsHeld != warps)
    return std::nullopt;
  result.inRegisters = std::move(*registers);
  result.inLanes = std::move(*inLanes);
  result.inWarps = std::move(*inWarps);
  return result;
}

HeldLayout HeldLayout::restrictedTo(const AxisSet &axes) const {
  AxisSet missing;
  int64_t warps = 1;
  for (const std::vector<PlacedDigit> *digits : {&inRegisters, &inLanes, &inWarps})
    for (const PlacedDigit &digit : *digits)
      if (digit.axis.isValid() && !program::contains(axes, digit.axis))
        program::insert(missing, digit.axis);
  for (const PlacedDigit &digit : inWarps)
    warps *= digit.extent;
  HeldLayout result = *of(source.withoutAxes(missing), warps); // digits stay numbers
  for (auto [axis, lane] : fixed)
    if (program::contains(axes, axis))
      result.fixed[axis] = lane;
  return result;
}

int64_t HeldLayout::registerPart(AxisId axis, int64_t r) const {
  if (auto at = fixed.find(axis); at != fixed.end())
    return at->second.lane;
  int64_t part = 0;
  for (const PlacedDigit &digit : inRegisters)
    if (digit.axis == axis)
      part += r / digit.place % digit.extent * digit.stride;
  return part;
}

std::vector<int64_t> HeldLayout::parts(const AxisSet &axes, int64_t r) const {
  std::vector<int64_t> result;
  for (AxisId axis : axes)
    result.push_back(registerPart(axis, r));
  return result;
}

Expr HeldLayout::threadPart(AxisId axis, Expr lane, Expr warp) const {
  Expr part = lane.context().constant(0);
  if (auto at = fixed.find(axis); at != fixed.end())
    return at->second.from ? at->second.from : part;
  for (const PlacedDigit &digit : inLanes)
    if (digit.axis == axis && !digit.isCopy())
      part = part + digitOf(digit, lane) * digit.stride;
  for (const PlacedDigit &digit : inWarps)
    if (digit.axis == axis && !digit.isCopy())
      part = part + digitOf(digit, warp) * digit.stride;
  return part;
}

uint64_t HeldLayout::threadBits(AxisId axis) const {
  uint64_t bits = 0;
  if (auto at = fixed.find(axis); at != fixed.end())
    return at->second.from ? UINT64_MAX : 0;
  for (const std::vector<PlacedDigit> *digits : {&inLanes, &inWarps})
    for (const PlacedDigit &digit : *digits) {
      if (digit.axis != axis || digit.isCopy())
        continue;
      auto extent = static_cast<uint64_t>(digit.extent),
           stride = static_cast<uint64_t>(digit.stride);
      if (!std::has_single_bit(extent) || !std::has_single_bit(stride))
        return UINT64_MAX;
      uint64_t here = (extent - 1) * stride;
      if (bits & here) // a sum, not a union
        return UINT64_MAX;
      bits |= here;
    }
  return bits;
}

int64_t HeldLayout::reach(AxisId axis) const {
  if (auto at = fixed.find(axis); at != fixed.end())
    return at->second.most + at->second.lane + 1;
  int64_t last = 0;
  for (const std::vector<PlacedDigit> *digits : {&inRegisters, &inLanes, &inWarps})
    for (const PlacedDigit &digit : *digits)
      if (digit.axis == axis)
        last += (digit.extent - 1) * digit.stride;
  return last + 1;
}

std::pair<AxisId, int64_t> HeldLayout::run() const {
  if (inRegisters.empty() || inRegisters[0].stride != 1)
    return {AxisId{}, 1};
  return {inRegisters[0].axis, inRegisters[0].extent};
}

} // namespace tilewright::emit
