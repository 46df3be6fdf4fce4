// Audits as text and JSON.
#pragma once

#include "tools/audit/audit.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// What an audit is of.
struct AuditSubject {
  std::string model, module;
  const Device *device = nullptr;
  std::string calibration; ///< its label
  const std::vector<MeasuredKernel> *measured = nullptr;
  std::string measuredFile;
};

/// One screen: totals, by kind, what to look at first, and `top` kernels (0: all).
void printAudit(const Audit &audit, const AuditSubject &subject, size_t top);
Json auditJson(const Audit &audit, const AuditSubject &subject);

/// A row a kernel, in the order they run.
std::string auditCsvHead();
std::string auditCsvRows(const Audit &audit, const AuditSubject &subject);

} // namespace tilewright::cli
