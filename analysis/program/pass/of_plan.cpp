#include "analysis/program/pass/of_plan.h"

#include "analysis/program/build/build.h"
#include "analysis/program/pass/online.h"
#include "analysis/program/pass/pipeline.h"
#include "analysis/program/pass/stage.h"
#include "analysis/program/pass/vectorise.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::program {

namespace {

/// A pass that does not apply leaves the program as it is, with its reason.
llvm::Error addUnapplied(PlanProgram &out, std::string pass, llvm::Error error) {
  Diag diag = takeDiag(std::move(error));
  if (diag.cls != DiagClass::Unsupported)
    return makeError(std::move(diag));
  out.stages.push_back({std::move(pass), out.last(), {std::move(diag.message)}});
  return llvm::Error::success();
}

llvm::Error addOnline(PlanProgram &out) {
  llvm::Expected<FusedProgram> fused = online(out.last());
  if (!fused)
    return addUnapplied(out, "online", fused.takeError());
  PlanStage made{"online", std::move(fused->program), {}};
  for (const NotFused &other : fused->others)
    made.reasons.push_back(fmt::format("{}: {}", other.loop, other.reason));
  out.stages.push_back(std::move(made));
  return llvm::Error::success();
}

llvm::Error addStaged(PlanProgram &out) {
  llvm::Expected<StagedProgram> staged = stage(out.last());
  if (!staged)
    return addUnapplied(out, "stage", staged.takeError());
  PlanStage made{"stage", std::move(staged->program), {}};
  for (const NotStaged &other : staged->others)
    made.reasons.push_back(fmt::format("{}: {}", other.load, other.reason));
  out.stages.push_back(std::move(made));
  return llvm::Error::success();
}

llvm::Error addVectorised(PlanProgram &out) {
  llvm::Expected<VectorisedProgram> wide = vectorise(out.last());
  if (!wide)
    return addUnapplied(out, "vectorise", wide.takeError());
  PlanStage made{"vectorise", std::move(wide->program), {}};
  for (const VectorLimit &limit : wide->limits)
    made.reasons.push_back(
        fmt::format("{}: vectors of {}: {}", limit.access, limit.lanes, limit.reason));
  out.stages.push_back(std::move(made));
  return llvm::Error::success();
}

llvm::Error addPipelined(PlanProgram &out) {
  llvm::Expected<Program> ahead = pipeline(out.last());
  if (!ahead)
    return addUnapplied(out, "pipeline", ahead.takeError());
  out.stages.push_back({"pipeline", std::move(*ahead), {}});
  return llvm::Error::success();
}

} // namespace

llvm::Expected<PlanProgram> programOfPlan(const KernelPlan &plan) {
  if (const int64_t splits = plan.value("split_k"); splits != 1)
    return makeError(DiagClass::Unsupported, "no program for a sum that {} CTAs share yet", splits);
  llvm::Expected<Variant> variant =
      variantOf(plan.ops(), *plan.tiled, plan.values, plan.instruction);
  if (!variant)
    return variant.takeError();
  llvm::Expected<Program> built = buildProgram(*plan.module, plan.ops(), *plan.tiled, *variant);
  if (!built)
    return built.takeError();
  PlanProgram out;
  out.stages.push_back({"build", std::move(*built), {}});
  if (llvm::Error error = addOnline(out))
    return error;
  if (llvm::Error error = addStaged(out))
    return error;
  if (llvm::Error error = addVectorised(out))
    return error;
  if (llvm::Error error = addPipelined(out))
    return error;
  out.sizes = sizesOf(out.last(), *plan.tiled, plan.values);
  return out;
}

} // namespace tilewright::program
