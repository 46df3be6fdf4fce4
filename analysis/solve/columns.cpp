#include "analysis/solve/columns.h"

#include <algorithm>

namespace tilewright::detail {

namespace {

template <typename Op> void forEach(Op op, Column a, Column b, int64_t *out, size_t count) {
  if (a.isNumber && b.isNumber)
    std::fill_n(out, count, op(*a.data, *b.data));
  else if (a.isNumber)
    for (size_t i = 0; i < count; ++i)
      out[i] = op(*a.data, b.data[i]);
  else if (b.isNumber)
    for (size_t i = 0; i < count; ++i)
      out[i] = op(a.data[i], *b.data);
  else
    for (size_t i = 0; i < count; ++i)
      out[i] = op(a.data[i], b.data[i]);
}

/// Calls visit.operator()<code>(), so that loops over points have no switch.
template <typename Visit> auto withConstant(Code code, Visit visit) {
  switch (code) {
#define TILEWRIGHT_CODE(NAME)                                                                      \
  case Code::NAME:                                                                                 \
    return visit.template operator()<Code::NAME>();
    TILEWRIGHT_CODE(Add)
    TILEWRIGHT_CODE(Mul)
    TILEWRIGHT_CODE(FloorDiv)
    TILEWRIGHT_CODE(CeilDiv)
    TILEWRIGHT_CODE(Mod)
    TILEWRIGHT_CODE(Min)
    TILEWRIGHT_CODE(Max)
    TILEWRIGHT_CODE(LessEqual)
    TILEWRIGHT_CODE(Equal)
    TILEWRIGHT_CODE(Divides)
    TILEWRIGHT_CODE(And)
    TILEWRIGHT_CODE(Or)
    TILEWRIGHT_CODE(Not)
    TILEWRIGHT_CODE(Pow2Ceil)
    TILEWRIGHT_CODE(Pow2Divisor)
    TILEWRIGHT_CODE(Log2)
    TILEWRIGHT_CODE(Select)
#undef TILEWRIGHT_CODE
  case Code::Parameter:
  case Code::Constant:
  case Code::Undefined:
    break;
  }
  return visit.template operator()<Code::Undefined>();
}

} // namespace

void computeColumn(Code code, Column a, Column b, Column c, int64_t *out, size_t count) {
  withConstant(code, [&]<Code constant>() {
    if constexpr (constant == Code::Select)
      for (size_t i = 0; i < count; ++i)
        out[i] = c[i] ? a[i] : b[i];
    else
      forEach([](int64_t x, int64_t y) { return compute(constant, x, y); }, a, b, out, count);
  });
}

uint32_t computeColumnChecked(Code code, PartialColumn a, PartialColumn b, PartialColumn c,
                              int64_t *out, size_t count) {
  return withConstant(code, [&]<Code constant>() {
    uint32_t known = 0;
    for (size_t i = 0; i < count; ++i) {
      const Concrete result = computeChecked(constant, a[i], b[i], c[i]);
      out[i] = result.value;
      known |= uint32_t(result.isKnown) << i;
    }
    return known;
  });
}

} // namespace tilewright::detail
