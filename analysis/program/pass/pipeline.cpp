#include "analysis/program/pass/pipeline.h"

#include "analysis/program/pass/edit.h"
#include "analysis/support/diag.h"

namespace tilewright::program {

llvm::Expected<Program> pipeline(const Program &program) {
  auto refuse = [&](const char *why) {
    return makeError(DiagClass::Unsupported, "{}: {}", program.name, why);
  };
  if (program.producerWarps || !program.roles.empty())
    return refuse("another role copies, as far ahead as there are slots");
  Program p = program;
  llvm::Expected<Expr> added = addSize(p, "stages");
  if (!added)
    return added.takeError();
  Expr stages = *added;
  bool isFound = false, isAhead = false;
  auto visit = [&](auto &&self, Region &ops) -> void {
    for (Op &op : ops) {
      for (Region *inner : regionsOf(op))
        self(self, *inner);
      auto *loop = op.as<ForOp>();
      if (!loop || loop->issue.empty())
        continue;
      isFound = true;
      isAhead |= static_cast<bool>(loop->ahead);
      loop->ahead = stages - 1;
      for (const Op &copy : loop->issue)
        if (const auto *o = copy.as<CopyOp>())
          p.buffers[o->buffer.index].stages = stages;
    }
  };
  visit(visit, p.body);
  if (!isFound)
    return refuse("no loop copies what it reads");
  if (isAhead)
    return refuse("a loop runs ahead already");
  if (llvm::Error error = inferTypes(p))
    return error;
  return p;
}

} // namespace tilewright::program
