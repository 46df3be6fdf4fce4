// The dialect check, in which StableHLO's test programs say their results: each op is the custom
// call that the same programs have otherwise, `@check.expect_eq(actual, expected)`.
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/support/printable.h"

#include <fmt/format.h>

namespace tilewright::stablehlo {

namespace {

bool finishCheck(Lowering &l, std::string target) {
  if (l.operand(0).isDynamic() || !l.operand(0).sameDimsAndType(l.operand(1)))
    return l.fail(
        fmt::format("{} is compared with {}", briefText(l.operand(0)), briefText(l.operand(1))));
  for (std::string_view name : {"tolerance", "min_ulp_difference", "max_ulp_difference"})
    l.ignore(name); // those of `eval` count
  Op op = l.make(Opcode::CustomCall);
  op.shape = Shape::tuple({});
  op.attrs.customCallTarget = std::move(target);
  return l.finish(std::move(op));
}

} // namespace

bool lowerCheck(Lowering &l) {
  if (!l.hasOperands(2))
    return false;
  l.text.types.clear(); // the short form's are those of the operands
  return finishCheck(l, std::string(l.text.name));
}

/// `check.expect_eq_const %x, dense<…> : type`: the value is a constant.
bool lowerCheckConstant(Lowering &l) {
  Type type;
  Dense dense;
  if (!l.hasOperands(1) || !denseValue(l, "value", type, dense))
    return false;
  l.text.types.clear();
  l.text.operands.push_back(constantOf(l, type.shape, std::move(dense)));
  return finishCheck(l, std::string(l.text.name.substr(0, l.text.name.rfind('_'))));
}

} // namespace tilewright::stablehlo
