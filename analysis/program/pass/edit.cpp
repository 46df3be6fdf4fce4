#include "analysis/program/pass/edit.h"

#include "analysis/program/substitute.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::program {

std::string freeName(const Program &p, const std::string &wanted) {
  auto isTaken = [&](const std::string &name) {
    auto isNamed = [&](const auto &part) { return part.name == name; };
    auto any = [&](const auto &list) { return std::any_of(list.begin(), list.end(), isNamed); };
    bool isLoop = false;
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      isLoop |= op.as<ForOp>() && op.as<ForOp>()->name == name;
    });
    return isLoop || any(p.tensors) || any(p.lets) || any(p.axes) || any(p.buffers) ||
           any(p.values) || any(p.grid.variables) || any(p.roles) ||
           std::any_of(p.sizes.begin(), p.sizes.end(),
                       [&](Expr size) { return p.context->info(size.variable()).name == name; });
  };
  std::string name = wanted;
  for (int number = 1; isTaken(name); ++number)
    name = wanted + std::to_string(number);
  return name;
}

llvm::Expected<Expr> addSize(Program &p, const std::string &name) {
  std::vector<std::string> sizes = freeSizes(p);
  if (std::find(sizes.begin(), sizes.end(), name) != sizes.end())
    return makeError(DiagClass::Unsupported, "{}: it has a size named {} already", p.name, name);
  Expr size = p.context->variable(VarKind::TileParam, name);
  p.sizes.push_back(size);
  return size;
}

} // namespace tilewright::program
