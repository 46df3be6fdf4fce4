#include "costmodel/evaluation.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright {

namespace {

llvm::json::Object toObject(const FamilyMetrics &m) {
  auto bounds = [](const ConfidenceInterval &i) { return llvm::json::Array{i.low, i.high}; };
  llvm::json::Object intervals{{"mape", bounds(m.mapeInterval)},
                               {"bias", bounds(m.biasInterval)},
                               {"oracle_at_1", bounds(m.oracleAt1Interval)},
                               {"oracle_at_5", bounds(m.oracleAt5Interval)},
                               {"oracle_at_10", bounds(m.oracleAt10Interval)}};
  return llvm::json::Object{{"family", llvm::json::fixUTF8(m.family)},
                            {"groups", m.groups},
                            {"rows", m.rows},
                            {"mape", m.mape},
                            {"median_ape", m.medianApe},
                            {"p90_ape", m.p90Ape},
                            {"bias", m.bias},
                            {"oracle_at_1", m.oracleAt1},
                            {"worst_at_1", m.worstAt1},
                            {"oracle_at_5", m.oracleAt5},
                            {"oracle_at_10", m.oracleAt10},
                            {"worst_at_5", m.worstAt5},
                            {"worst_at_10", m.worstAt10},
                            {"random_at_1", m.randomAt1},
                            {"random_at_5", m.randomAt5},
                            {"random_at_10", m.randomAt10},
                            {"kendall_tau_top", m.kendallTau},
                            {"tau_groups", m.tauGroups},
                            {"intervals", std::move(intervals)},
                            {"unpriced_rows", m.unpricedRows}};
}

} // namespace

std::string toJson(const EvaluationReport &report) {
  llvm::json::Array families, unpriced;
  for (const FamilyMetrics &m : report.families)
    families.push_back(toObject(m));
  for (const UnpricedRows &u : report.unpriced)
    unpriced.push_back(llvm::json::Object{{"family", llvm::json::fixUTF8(u.family)},
                                          {"reason", llvm::json::fixUTF8(u.reason)},
                                          {"rows", u.rows}});
  llvm::json::Object root{{"schema", "tilewright.evaluate"},
                          {"schema_version", 1},
                          {"device", report.device},
                          {"calibration", report.calibration},
                          {"folds", report.folds},
                          {"families", std::move(families)},
                          {"overall", toObject(report.overall)},
                          {"unpriced", std::move(unpriced)},
                          {"failed_rows", report.failedRows}};
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", llvm::json::Value(std::move(root))) << "\n";
  return text;
}

} // namespace tilewright
