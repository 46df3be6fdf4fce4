#include "analysis/program/text.h"

namespace tilewright::program {

std::string printFormula(const Program &program, const Formula &formula) {
  auto side = [&](Expr e) { return printExpr(program, e); };
  auto joined = [&](const char *word) {
    std::string text;
    for (const Formula &part : formula.parts())
      text += (text.empty() ? "" : word) + printFormula(program, part);
    return formula.parts().size() > 1 ? "(" + text + ")" : text;
  };
  switch (formula.kind()) {
  case Formula::Kind::True:
    return "true";
  case Formula::Kind::False:
    return "false";
  case Formula::Kind::LessEqual:
    return fmt::format("{} <= {}", side(formula.lhs()), side(formula.rhs()));
  case Formula::Kind::Equal:
    return fmt::format("{} = {}", side(formula.lhs()), side(formula.rhs()));
  case Formula::Kind::Divides:
    return fmt::format("{} divides {}", side(formula.lhs()), side(formula.rhs()));
  case Formula::Kind::Not:
    return "not " + printFormula(program, formula.parts().front());
  case Formula::Kind::And:
    return joined(" and ");
  case Formula::Kind::Or:
    return joined(" or ");
  }
  return "";
}

} // namespace tilewright::program
