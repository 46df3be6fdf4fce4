#include "analysis/program/layout.h"

#include <cassert>

namespace tilewright::program {

namespace {

struct FamilyInfo {
  LayoutFamily family;
  std::string_view name;
  size_t arguments;
};

constexpr FamilyInfo families[] = {
    {LayoutFamily::Flat, "flat", 1},      {LayoutFamily::Across, "across", 1},
    {LayoutFamily::Rows, "rows", 2},      {LayoutFamily::Columns, "columns", 2},
    {LayoutFamily::Mma, "mma", 2},        {LayoutFamily::MmaA, "mma.a", 2},
    {LayoutFamily::MmaB, "mma.b", 2},     {LayoutFamily::Wgmma, "wgmma", 2},
    {LayoutFamily::WgmmaA, "wgmma.a", 2}, {LayoutFamily::Like, "like", 0},
    {LayoutFamily::Digits, "digits", 0}};

} // namespace

std::string_view toString(LayoutFamily family) {
  return families[static_cast<size_t>(family)].name;
}

std::optional<LayoutFamily> parseLayoutFamily(std::string_view name) {
  for (const FamilyInfo &info : families)
    if (info.name == name)
      return info.family;
  return std::nullopt;
}

size_t argumentCount(LayoutFamily family) {
  return families[static_cast<size_t>(family)].arguments;
}

Expr Layout::registerCount(ExprContext &context) const {
  Expr count = context.constant(1);
  for (const Digit &digit : registers)
    count = count * digit.extent;
  return count;
}

namespace {

std::vector<Digit> normalDigits(const std::vector<Digit> &digits) {
  std::vector<Digit> result;
  for (const Digit &digit : digits) {
    if (digit.extent.isConstant(1))
      continue;
    if (!result.empty() && result.back().axis == digit.axis && !digit.isCopy() &&
        digit.stride == result.back().stride * result.back().extent)
      result.back().extent = result.back().extent * digit.extent;
    else if (!result.empty() && digit.isCopy() && result.back().isCopy())
      result.back().extent = result.back().extent * digit.extent;
    else
      result.push_back(digit);
    if (result.back().isCopy())
      result.back().axis = AxisId{};
  }
  return result;
}

std::vector<Digit> asCopies(std::vector<Digit> digits, const AxisSet &axes) {
  for (Digit &digit : digits)
    if (digit.axis.isValid() && contains(axes, digit.axis))
      digit.stride = digit.extent.context().constant(0);
  return digits;
}

} // namespace

Layout Layout::normal() const {
  return {normalDigits(registers), normalDigits(lanes), normalDigits(warps)};
}

Layout Layout::withoutAxes(const AxisSet &axes) const {
  Layout result{registers, asCopies(lanes, axes), asCopies(warps, axes)};
  std::erase_if(result.registers, [&](const Digit &digit) {
    return digit.axis.isValid() && contains(axes, digit.axis);
  });
  return result;
}

namespace {

/// Builds digit lists for the axes of one tile.
class LayoutMaker {
public:
  LayoutMaker(std::span<const AxisExtent> axes, unsigned bits, Expr warps)
      : c(warps.context()), axes(axes), bits(bits), warps(warps) {}

  Layout result;

  /// As a divisor: a quotient is at least 1 for numbers that the warps can hold, which its interval
  /// does not show. For others it is 0, and the last digit of the lanes or warps has no values.
  static Expr divisor(Expr quotient) { return quotient.max(1); }

  /// v neighbours of the first of `order`, then lanes and warps as far as each axis has work for
  /// them; the last axis takes the threads that are left. `lanes` and `warps` are what is to
  /// spread.
  void spread(const std::vector<AxisExtent> &order, Expr v, Expr lanes, Expr warps) {
    for (size_t n = 0; n < order.size(); ++n) {
      auto [axis, extent] = order[n];
      bool isLast = n + 1 == order.size();
      Expr one = c.constant(1), vector = n == 0 ? v : one;
      Expr parts = extent.ceilDiv(vector);
      Expr l = isLast ? lanes : lanes.min(parts.pow2Ceil());
      Expr w =
          isLast ? warps : divisor(warps).pow2Divisor().min(parts.ceilDiv(divisor(l)).pow2Ceil());
      add(result.registers, axis, vector, one);
      add(result.lanes, axis, l, vector);
      add(result.warps, axis, w, vector * l);
      later.push_back({axis, parts.ceilDiv(divisor(l) * divisor(w)), vector * l * w});
      lanes = lanes.floorDiv(divisor(l));
      warps = warps.floorDiv(divisor(w));
    }
    for (const Digit &digit : later)
      result.registers.push_back(digit);
  }

  void flat(Expr v, bool isReversed) {
    std::vector<AxisExtent> order(axes.begin(), axes.end());
    if (!isReversed)
      std::reverse(order.begin(), order.end());
    if (order.empty())
      copies(c.constant(32), warps);
    else
      spread(order, v, c.constant(32), warps);
  }

  /// g threads along `column` (null: the tile has only rows), the others over `rows`.
  void rows(Expr v, Expr g, const AxisExtent *column, std::vector<AxisExtent> rows) {
    Expr one = c.constant(1), zero = c.constant(0);
    Expr lanes = g.min(32), warpsAlong = divisor(g.floorDiv(lanes));
    AxisId axis = column ? column->axis : AxisId{};
    if (column)
      add(result.registers, axis, v, one);
    add(result.lanes, axis, lanes, column ? v : zero);
    add(result.warps, axis, warpsAlong, column ? v * 32 : zero);
    if (column)
      later.push_back({axis, column->extent.ceilDiv(v * g), v * g});
    Expr lanesLeft = c.constant(32).floorDiv(lanes), warpsLeft = warps.floorDiv(warpsAlong);
    std::reverse(rows.begin(), rows.end());
    if (rows.empty()) {
      copies(lanesLeft, warpsLeft);
      for (const Digit &digit : later)
        result.registers.push_back(digit);
    } else {
      spread(rows, one, lanesLeft, warpsLeft);
    }
  }

  /// m16n8 fragments (PTX ISA, matrix fragments of m16n8): rows i, columns j. A missing axis: null.
  void accumulator(const AxisExtent *i, const AxisExtent *j, Expr r, Expr columns, bool isGroup) {
    Expr one = c.constant(1), zero = c.constant(0), two = c.constant(2), eight = c.constant(8);
    AxisId noAxis;
    Expr blocksJ = j ? j->extent.ceilDiv(columns * 8) : one;
    Expr blocksI = i ? i->extent.ceilDiv(r * (isGroup ? 64 : 16)) : one;
    AxisId ia = i ? i->axis : noAxis, ja = j ? j->axis : noAxis;
    if (j)
      add(result.registers, ja, two, one);
    if (i)
      add(result.registers, ia, two, eight);
    if (j)
      add(result.registers, ja, blocksJ, eight);
    if (i)
      add(result.registers, ia, blocksI, isGroup ? r * 64 : c.constant(16));
    add(result.lanes, ja, c.constant(4), j ? two : zero);
    add(result.lanes, ia, eight, i ? one : zero);
    if (isGroup) {
      add(result.warps, ia, c.constant(4), i ? c.constant(16) : zero);
      add(result.warps, ia, r, i ? c.constant(64) : zero);
      add(result.warps, ja, columns, j ? blocksJ * 8 : zero);
    } else {
      add(result.warps, ja, columns, j ? blocksJ * 8 : zero);
      add(result.warps, ia, r, i ? blocksI * 16 : zero);
    }
  }

  /// Operand fragments: `free` is the axis of rows or columns, k the contracted one.
  void operand(const AxisExtent *free, const AxisExtent *k, Expr r, Expr columns, bool isLeft,
               bool isGroup) {
    Expr one = c.constant(1), zero = c.constant(0), eight = c.constant(8), four = c.constant(4);
    Expr packed = c.constant(std::max(1u, 32 / bits)); // neighbours along k in a register
    AxisId fa = free ? free->axis : AxisId{}, ka = k ? k->axis : AxisId{};
    Expr along = isLeft ? r : columns;
    Expr tall = c.constant(isGroup ? 64 : isLeft ? 16 : 8);
    Expr blocks = free ? free->extent.ceilDiv(along * tall) : one;
    if (k)
      add(result.registers, ka, packed, one);
    if (isLeft && free)
      add(result.registers, fa, c.constant(2), eight);
    if (k)
      add(result.registers, ka, k->extent.ceilDiv(packed * 4), packed * 4);
    if (free)
      add(result.registers, fa, blocks, isGroup ? r * 64 : tall);
    add(result.lanes, ka, four, k ? packed : zero);
    add(result.lanes, fa, eight, free ? one : zero);
    if (isGroup) {
      add(result.warps, fa, four, free ? c.constant(16) : zero);
      add(result.warps, fa, r, free ? c.constant(64) : zero);
      add(result.warps, AxisId{}, columns, zero);
      return;
    }
    add(result.warps, isLeft ? AxisId{} : fa, columns, isLeft || !free ? zero : blocks * tall);
    add(result.warps, isLeft ? fa : AxisId{}, r, isLeft && free ? blocks * tall : zero);
  }

  /// Axes in front of those that a fragment has: in registers.
  void batch(std::span<const AxisExtent> others) {
    for (const AxisExtent &other : others)
      add(result.registers, other.axis, other.extent, c.constant(1));
  }

private:
  void add(std::vector<Digit> &digits, AxisId axis, Expr extent, Expr stride) {
    digits.push_back({axis, extent, stride});
  }
  void copies(Expr lanes, Expr warps) {
    add(result.lanes, AxisId{}, lanes, c.constant(0));
    add(result.warps, AxisId{}, warps, c.constant(0));
  }

  ExprContext &c;
  std::span<const AxisExtent> axes;
  unsigned bits;
  Expr warps;
  std::vector<Digit> later;
};

} // namespace

Layout makeLayout(const LayoutSpec &spec, std::span<const AxisExtent> axes, unsigned elementBits,
                  Expr warps) {
  assert(spec.family != LayoutFamily::Like && spec.family != LayoutFamily::Digits &&
         spec.arguments.size() == argumentCount(spec.family));
  LayoutMaker maker(axes, elementBits, warps);
  Expr a = spec.arguments[0], b = spec.arguments.back();
  const AxisExtent *last = axes.empty() ? nullptr : &axes.back();
  const AxisExtent *first = axes.size() < 2 ? nullptr : &axes[axes.size() - 2];
  std::span<const AxisExtent> others =
      axes.size() < 2 ? axes.first(0) : axes.first(axes.size() - 2);
  switch (spec.family) {
  case LayoutFamily::Flat:
  case LayoutFamily::Across:
    maker.flat(a, spec.family == LayoutFamily::Across);
    break;
  case LayoutFamily::Rows: // one axis: a value a row
    maker.rows(a, b, axes.size() < 2 ? nullptr : last,
               {axes.begin(), axes.size() < 2 ? axes.end() : axes.end() - 1});
    break;
  case LayoutFamily::Columns:
    maker.rows(a, b, last, {axes.begin(), axes.empty() ? axes.end() : axes.end() - 1});
    break;
  case LayoutFamily::Mma:
  case LayoutFamily::Wgmma: // one axis: a value a row
    maker.accumulator(first ? first : last, first ? last : nullptr, a, b,
                      spec.family == LayoutFamily::Wgmma);
    maker.batch(others);
    break;
  case LayoutFamily::MmaA:
  case LayoutFamily::MmaB:
  case LayoutFamily::WgmmaA:
    maker.operand(first, last, a, b, spec.family != LayoutFamily::MmaB,
                  spec.family == LayoutFamily::WgmmaA);
    maker.batch(others);
    break;
  case LayoutFamily::Like: // needs the program
  case LayoutFamily::Digits:
    break;
  }
  return maker.result;
}

Layout operandFragment(const FragmentShape &shape, unsigned elementBits) {
  LayoutMaker maker({}, elementBits, shape.r);
  maker.operand(&shape.rows, &shape.contracted, shape.r, shape.c, shape.isLeft, shape.isGroup);
  return maker.result;
}

} // namespace tilewright::program
