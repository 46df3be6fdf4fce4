#include "codegen/coverage.h"

#include "codegen/compile.h"
#include "codegen/lower.h"

namespace tilewright {

bool KernelCoverage::isCovered(bool hasAssembler) const {
  return refusal.empty() && assemblyError.empty() && (isAssembled || !hasAssembler) && !spills() &&
         aligned.status == CheckOutcome::Status::Pass && odd.status == CheckOutcome::Status::Pass;
}

namespace {

CheckOutcome skipped(std::string reason) {
  CheckOutcome outcome;
  outcome.status = CheckOutcome::Status::Skipped;
  outcome.reason = std::move(reason);
  return outcome;
}

llvm::Expected<CheckOutcome> checkReduced(const KernelSpec &spec, ShrunkSizes sizes,
                                          const CoverageOptions &options) {
  auto small = shrinkSpec(spec, sizes, options.maxWork);
  if (!small)
    return small.takeError();
  CheckOutcome outcome = checkKernel(*small, options.check);
  if (outcome.status == CheckOutcome::Status::Skipped) { // one CTA may take loops within loops
    CheckOptions patient = options.check;
    patient.maxEvents *= 16;
    outcome = checkKernel(*small, patient);
  }
  return outcome;
}

} // namespace

llvm::Expected<KernelCoverage> coverKernel(const KernelSpec &spec, const Toolchain &toolchain,
                                           const CoverageOptions &options) {
  KernelCoverage result;
  result.name = spec.name;
  result.aligned = result.odd = skipped("not checked");
  auto kernel = lowerKernel(spec, CodeMode::Device);
  if (!kernel) {
    Diag diag = takeDiag(kernel.takeError());
    if (diag.cls == DiagClass::Internal)
      return makeError(std::move(diag));
    result.refusal = diag.message;
    return result;
  }
  result.kind = kernel->kind;
  if (std::string problem = targetProblem(*kernel, toolchain); !problem.empty()) {
    result.refusal = fmt::format("{} {}", toString(spec.schedule.instruction), problem);
    return result;
  }
  auto compiled = compileKernel(*kernel, toolchain);
  if (!compiled)
    return compiled.takeError();
  result.isAssembled = compiled->assembled.has_value();
  if (compiled->assembled)
    result.assembly = compiled->assembled->report;
  result.assemblyError = compiled->assemblyError;
  if (options.checkNumbers) {
    auto aligned = checkReduced(spec, ShrunkSizes::Aligned, options);
    if (!aligned)
      return aligned.takeError();
    auto odd = checkReduced(spec, ShrunkSizes::Odd, options);
    if (!odd)
      return odd.takeError();
    result.aligned = std::move(*aligned);
    result.odd = std::move(*odd);
  }
  return result;
}

} // namespace tilewright
