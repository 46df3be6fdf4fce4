// The kernels of an audit as CSV.
#include "analysis/support/csv.h"
#include "tools/tilewright/audit_output.h"

#include <fmt/format.h>

namespace tilewright::cli {

namespace {

std::string known(double number) { return number > 0 ? fmt::format("{}", number) : ""; }

} // namespace

std::string auditCsvHead() {
  return "model,device,op,computation,layer,kind,program,trips,ctas,threads,how,priced_by,time_ns,"
         "sigma_ln,"
         "limiter,bound_ns,share_of_bound,time_to_gain_ns,best_plan,best_plan_ns,read_bytes,"
         "written_bytes,missed_bytes,written_back_bytes,registers,recompute_factor,lever,"
         "lever_gain_ns,lever_because,measured_ns\n";
}

std::string auditCsvRows(const Audit &audit, const AuditSubject &subject) {
  std::string text;
  for (const AuditedKernel &kernel : audit.kernels) {
    const bool isPriced = kernel.timeNs > 0;
    const Lever lever = kernel.levers.empty() ? Lever() : kernel.levers.front();
    const std::vector<std::string> cells = {subject.model,
                                            subject.device->name,
                                            kernel.op,
                                            kernel.computation,
                                            kernel.layer,
                                            std::string(toString(kernel.kind)),
                                            std::string(programOf(kernel)),
                                            fmt::format("{}", kernel.trips),
                                            fmt::format("{}", kernel.shape.ctas),
                                            fmt::format("{}", kernel.shape.threads),
                                            kernel.how,
                                            isPriced ? kernel.from : kernel.reason,
                                            known(kernel.timeNs),
                                            fmt::format("{}", kernel.sigmaLn),
                                            kernel.limiter,
                                            fmt::format("{}", kernel.boundNs),
                                            isPriced ? fmt::format("{}", kernel.shareOfBound())
                                                     : "",
                                            isPriced ? fmt::format("{}", kernel.toGainNs()) : "",
                                            kernel.best ? kernel.best->text : "",
                                            kernel.best ? known(kernel.best->timeNs) : "",
                                            fmt::format("{}", kernel.traffic.readBytes),
                                            fmt::format("{}", kernel.traffic.writtenBytes),
                                            fmt::format("{}", kernel.traffic.missedBytes),
                                            fmt::format("{}", kernel.traffic.writtenBackBytes),
                                            known(kernel.registers),
                                            fmt::format("{}", kernel.recomputeFactor),
                                            lever.what,
                                            known(lever.gainNs),
                                            lever.because,
                                            known(kernel.measuredNs)};
    text += csvRow(cells);
  }
  return text;
}

} // namespace tilewright::cli
