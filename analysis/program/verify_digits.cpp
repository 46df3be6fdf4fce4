#include "analysis/program/verifier.h"

#include <algorithm>

namespace tilewright::program {

namespace {

const LayoutSpec *digitsOf(const Op &op) {
  const LayoutSpec *spec = std::visit(
      [](const auto &o) -> const LayoutSpec * {
        if constexpr (requires { o.layout.has_value(); })
          return o.layout ? &*o.layout : nullptr;
        else if constexpr (requires { o.layout.family; })
          return &o.layout;
        else
          return nullptr;
      },
      op.what);
  return spec && spec->family == LayoutFamily::Digits ? spec : nullptr;
}

/// Products of extents; nothing where they are no numbers from 1 on, or too many.
std::optional<int64_t> countOf(const std::vector<Digit> &digits) {
  constexpr int64_t most = 1 << 20;
  int64_t count = 1;
  for (const Digit &digit : digits) {
    const bool isNumber = digit.extent.isConstant() && digit.stride.isConstant();
    if (!isNumber || digit.extent.constant() < 1 || digit.extent.constant() > most ||
        digit.stride.constant() < 0 || digit.stride.constant() > most)
      return std::nullopt;
    count *= digit.extent.constant();
    if (count > most)
      return std::nullopt;
  }
  return count;
}

/// Elements of an axis from 0 on that have holders: strides, ascending, are 1, e1, e1·e2, …
int64_t reachOf(const Layout &layout, AxisId axis) {
  std::vector<std::pair<int64_t, int64_t>> along; // stride, extent
  for (const std::vector<Digit> *digits : {&layout.registers, &layout.lanes, &layout.warps})
    for (const Digit &digit : *digits)
      if (digit.axis == axis && !digit.isCopy() && !digit.extent.isConstant(1))
        along.emplace_back(digit.stride.constant(), digit.extent.constant());
  std::sort(along.begin(), along.end());
  int64_t reach = 1;
  for (const auto &[stride, extent] : along) {
    if (stride != reach)
      return 0;
    reach *= extent;
  }
  return reach;
}

} // namespace

/// V8: digits of the text are a layout: as many lanes and warps as there are, and a holder, once,
/// of each element.
void Verifier::checkDigits(const Op &op, const Place &place) {
  const LayoutSpec *spec = digitsOf(op);
  if (!spec)
    return;
  AxisSet axes;
  if (!op.results.empty())
    axes = p[op.results[0]].tile.axes;
  if (const auto *store = op.as<StoreOp>()) {
    axes = p.axesOf(store->value);
    unite(axes, p.axesOf(store->to));
  }
  const Layout layout = p.layoutFor(*spec, axes, DType::F32, place.role);
  const std::optional<int64_t> lanes = countOf(layout.lanes), warps = countOf(layout.warps);
  if (!countOf(layout.registers) || !lanes || !warps)
    return violate(8, op.where, "digits are numbers: extents from 1 on, strides from 0 on");
  if (*lanes != 32)
    return violate(8, op.where, fmt::format("digits of {} lanes, a warp has 32", *lanes));
  Expr role = resolved(place.role.isValid() ? p[place.role].warps : p.warps);
  require(8, op.where, Formula::equal(role, p.number(*warps)),
          fmt::format("digits of {} warps, there are {}", *warps, text(role)));
  for (AxisId axis : axes) {
    const int64_t reach = reachOf(layout, axis);
    if (reach == 0)
      violate(8, op.where,
              fmt::format("digits along {} leave elements without a holder, or hold them twice",
                          p[axis].name));
    else
      require(8, op.where, Formula::lessEqual(resolved(p[axis].extent), p.number(reach)),
              fmt::format("digits reach {} elements along {}, which has {}", reach, p[axis].name,
                          text(p[axis].extent)));
  }
}

} // namespace tilewright::program
