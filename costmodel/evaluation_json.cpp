#include "costmodel/evaluation.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace tilewright {

namespace {

/// Null for what is not a number: a mean over nothing.
llvm::json::Value orNull(double value) {
  return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
}

llvm::json::Object toObject(const FamilyMetrics &m) {
  auto bounds = [](const ConfidenceInterval &i) {
    return llvm::json::Array{orNull(i.low), orNull(i.high)};
  };
  llvm::json::Object intervals{{"mape", bounds(m.mapeInterval)},
                               {"bias", bounds(m.biasInterval)},
                               {"oracle_at_1", bounds(m.oracleAt1Interval)},
                               {"oracle_at_5", bounds(m.oracleAt5Interval)},
                               {"oracle_at_10", bounds(m.oracleAt10Interval)}};
  return llvm::json::Object{{"family", llvm::json::fixUTF8(m.family)},
                            {"groups", m.groups},
                            {"rows", m.rows},
                            {"mape", orNull(m.mape)},
                            {"median_ape", orNull(m.medianApe)},
                            {"p90_ape", orNull(m.p90Ape)},
                            {"bias", orNull(m.bias)},
                            {"oracle_at_1", orNull(m.oracleAt1)},
                            {"worst_at_1", orNull(m.worstAt1)},
                            {"oracle_at_5", orNull(m.oracleAt5)},
                            {"oracle_at_10", orNull(m.oracleAt10)},
                            {"worst_at_5", orNull(m.worstAt5)},
                            {"worst_at_10", orNull(m.worstAt10)},
                            {"random_at_1", orNull(m.randomAt1)},
                            {"random_at_5", orNull(m.randomAt5)},
                            {"random_at_10", orNull(m.randomAt10)},
                            {"kendall_tau_top", orNull(m.kendallTau)},
                            {"tau_groups", m.tauGroups},
                            {"intervals", std::move(intervals)},
                            {"unpriced_rows", m.unpricedRows}};
}

} // namespace

std::string toJson(const EvaluationReport &report) {
  llvm::json::Array families, unpriced, leftOut;
  for (const FamilyMetrics &m : report.families)
    families.push_back(toObject(m));
  for (const UnpricedRows &u : report.unpriced)
    unpriced.push_back(llvm::json::Object{{"family", llvm::json::fixUTF8(u.family)},
                                          {"reason", llvm::json::fixUTF8(u.reason)},
                                          {"rows", u.rows}});
  for (const LeftOutRow &row : report.leftOut)
    leftOut.push_back(llvm::json::Object{{"file", llvm::json::fixUTF8(report.files[row.table])},
                                         {"line", int64_t(row.line)},
                                         {"reason", llvm::json::fixUTF8(row.reason)}});
  llvm::json::Object root{{"schema", "tilewright.evaluate"},
                          {"schema_version", 1},
                          {"device", llvm::json::fixUTF8(report.device)},
                          {"calibration", llvm::json::fixUTF8(report.calibration)},
                          {"folds", report.folds},
                          {"families", std::move(families)},
                          {"overall", toObject(report.overall)},
                          {"unpriced", std::move(unpriced)},
                          {"failed_rows", report.failedRows},
                          {"left_out", std::move(leftOut)}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", llvm::json::Value(std::move(root))) << "\n";
  return text;
}

} // namespace tilewright
