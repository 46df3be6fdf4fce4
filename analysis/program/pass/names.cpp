#include "analysis/program/pass/names.h"

#include <algorithm>

namespace tilewright::program {

namespace {

bool isTaken(const Program &p, const std::string &name) {
  auto any = [&](const auto &list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto &part) { return part.name == name; });
  };
  bool isLoop = false;
  forEachOp(p.body, [&](const Op &op, const LoopNest &) {
    isLoop |= op.as<ForOp>() && op.as<ForOp>()->name == name;
  });
  return isLoop || any(p.tensors) || any(p.lets) || any(p.axes) || any(p.buffers) ||
         any(p.values) || any(p.grid.variables) || any(p.roles) ||
         std::any_of(p.sizes.begin(), p.sizes.end(),
                     [&](Expr size) { return p.context->info(size.variable()).name == name; });
}

} // namespace

std::string freeName(const Program &program, const std::string &wanted) {
  std::string name = wanted;
  for (int number = 1; isTaken(program, name); ++number)
    name = wanted + std::to_string(number);
  return name;
}

} // namespace tilewright::program
