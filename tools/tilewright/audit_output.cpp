#include "tools/tilewright/audit_output.h"

#include "tools/tilewright/evaluation_output.h"
#include "tools/tilewright/explore_output.h"
#include "tools/tilewright/measured_input.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tilewright::cli {

namespace {

constexpr size_t mostFindings = 3; ///< kernels that are told in full

std::string microseconds(double ns) { return fmt::format("{:.2f}", ns / 1e3); }

double timeOf(const AuditedKernel &kernel) { return kernel.timeNs * double(kernel.trips); }

/// Kernels by what they are above their bounds, the most first; those without a price behind.
std::vector<size_t> byGain(const Audit &audit) {
  std::vector<size_t> order(audit.kernels.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return audit.kernels[a].toGainNs() > audit.kernels[b].toGainNs();
  });
  return order;
}

void printTotals(const Audit &audit, const AuditSubject &subject) {
  say("model {}, device {}, calibration {}\n", subject.model, subject.device->name,
      subject.calibration);
  int64_t launches = 0;
  double unpriced = 0;
  size_t without = 0;
  for (const AuditedKernel &kernel : audit.kernels) {
    launches += kernel.trips;
    without += kernel.timeNs == 0;
    unpriced += kernel.timeNs == 0 ? kernel.measuredNs : 0;
  }
  say("{} kernels a run, {} launched ops: predicted {} (±{:.0f} %)", launches, audit.kernels.size(),
      timeText(audit.timeNs), 100 * std::expm1(audit.sigmaLn));
  if (subject.measured)
    say(", measured {} ({:+.1f} %)", timeText(audit.measuredNs),
        100 * (audit.timeNs / std::max(1.0, audit.measuredNs) - 1));
  say("\n");
  if (without > 0)
    say("{} of them without a price{}\n", without,
        subject.measured ? fmt::format(", {:.1f} % of the measured time",
                                       100 * unpriced / std::max(1.0, audit.measuredNs))
                         : "");
  if (const auto &other = audit.regrouping) {
    if (other->reason.empty())
      say("explore's grouping of the same ops: {} kernels, {} in the order they run{}\n",
          other->kernels, timeText(other->timeNs),
          other->isComplete ? "" : " without ops that have no price");
    else
      say("explore's grouping of the same ops: none: {}\n", other->reason);
  }
  for (const std::string &note : audit.notes)
    say("note: {}\n", note);
}

void printKinds(const Audit &audit, const AuditSubject &subject) {
  struct Sum {
    size_t kernels = 0;
    double predicted = 0, bound = 0;
  };
  std::map<std::string, Sum> sums;
  for (const AuditedKernel &kernel : audit.kernels) {
    Sum &sum = sums[std::string(toString(kernel.kind))];
    ++sum.kernels;
    sum.predicted += timeOf(kernel);
    sum.bound += kernel.timeNs > 0 ? kernel.boundNs * double(kernel.trips) : 0;
  }
  const std::vector<PredictedRow> rows = rowsOf(audit, subject.model);
  const std::vector<FamilyMetrics> metrics = metricsByFamily(rows);
  TextTable table;
  table.head = {"kind", "ops", "predicted us", "share %", "of bound %"};
  if (subject.measured)
    table.head.insert(table.head.end(), {"median error %", "p90 %", "bias %"});
  auto addErrors = [&](std::vector<std::string> &row, const FamilyMetrics *of) {
    if (!subject.measured)
      return;
    row.push_back(of ? percent(of->medianApe) : "");
    row.push_back(of ? percent(of->p90Ape) : "");
    row.push_back(of ? fmt::format("{:+.1f}", 100 * of->bias) : "");
  };
  for (const auto &[kind, sum] : sums) {
    auto found = std::find_if(metrics.begin(), metrics.end(),
                              [&, name = kind](auto &m) { return m.family == name; });
    std::vector<std::string> row = {
        kind, fmt::format("{}", sum.kernels), microseconds(sum.predicted),
        fmt::format("{:.1f}", 100 * sum.predicted / std::max(1.0, audit.timeNs)),
        sum.predicted > 0 ? fmt::format("{:.0f}", 100 * sum.bound / sum.predicted) : ""};
    addErrors(row, found == metrics.end() ? nullptr : &*found);
    table.rows.push_back(std::move(row));
  }
  if (subject.measured) {
    const FamilyMetrics all = metricsOf("all", rows);
    std::vector<std::string> row = {"all", fmt::format("{}", rows.size()),
                                    microseconds(audit.timeNs), "100.0", ""};
    addErrors(row, &all);
    table.rows.push_back(std::move(row));
  }
  say("\n{}", table.text());
}

std::string nameOf(const AuditedKernel &kernel) {
  return kernel.layer.empty() ? "%" + kernel.op : fmt::format("%{} ({})", kernel.op, kernel.layer);
}

/// The first few kernels by what they would gain, each with all that is found of it.
void printFindings(const Audit &audit) {
  std::vector<size_t> order;
  for (const Finding &finding : audit.findings)
    if (!std::count(order.begin(), order.end(), finding.kernel))
      order.push_back(finding.kernel);
  if (order.empty()) {
    say("\nNo gain above what the predictions leave open.\n");
    return;
  }
  say("\nLook first at\n");
  for (size_t i = 0; i < order.size() && i < mostFindings; ++i) {
    const AuditedKernel &kernel = audit.kernels[order[i]];
    say("{}. {}: {}, {}, by {}{}\n", i + 1, nameOf(kernel), timeText(timeOf(kernel)),
        toString(kernel.kind), kernel.limiter,
        kernel.trips > 1 ? fmt::format(", {} times", kernel.trips) : "");
    for (const Finding &finding : audit.findings)
      if (finding.kernel == order[i])
        say("   {}{}: {}\n",
            finding.kind == Finding::Kind::Unexplained
                ? ""
                : fmt::format("up to {}, ", timeText(finding.gainNs)),
            toString(finding.kind), finding.text);
    if (!kernel.levers.empty()) {
      std::string text;
      for (size_t l = 0; l < kernel.levers.size() && l < 3; ++l)
        text += fmt::format("{}{} {}{}", l ? ", " : "", kernel.levers[l].what,
                            timeText(kernel.levers[l].gainNs),
                            kernel.levers[l].because.empty()
                                ? ""
                                : fmt::format(" (were it not for {})", kernel.levers[l].because));
      say("   by the model it would gain with {}\n", text);
    }
  }
  if (order.size() > mostFindings)
    say("{} more with findings; --json has all.\n", order.size() - mostFindings);
}

void printKernels(const Audit &audit, const AuditSubject &subject, size_t top) {
  TextTable table;
  table.head = {"kernel", "kind", "predicted us", "±%", "of bound %", "to gain us", "limit"};
  if (subject.measured)
    table.head.insert(table.head.end(), {"measured us", "ratio"});
  table.head.push_back("best plan us");
  std::vector<size_t> order = byGain(audit);
  if (top > 0 && order.size() > top)
    order.resize(top);
  for (size_t index : order) {
    const AuditedKernel &kernel = audit.kernels[index];
    std::vector<std::string> row = {kernel.op, std::string(toString(kernel.kind))};
    if (kernel.timeNs > 0) {
      row.push_back(microseconds(kernel.timeNs));
      row.push_back(fmt::format("{:.0f}", 100 * std::expm1(kernel.sigmaLn)));
      row.push_back(fmt::format("{:.0f}", 100 * kernel.shareOfBound()));
      row.push_back(microseconds(kernel.toGainNs()));
      row.push_back(kernel.limiter);
    } else {
      row.insert(row.end(), {"no price", "", "", "", ""});
    }
    if (subject.measured) {
      row.push_back(kernel.measuredNs > 0 ? microseconds(kernel.measuredNs) : "");
      row.push_back(kernel.measuredNs > 0 && kernel.timeNs > 0
                        ? fmt::format("{:.2f}", kernel.timeNs / kernel.measuredNs)
                        : "");
    }
    row.push_back(kernel.best ? microseconds(kernel.best->timeNs) : "");
    table.rows.push_back(std::move(row));
  }
  say("\n{}", table.text());
  if (order.size() < audit.kernels.size())
    say("{} more; --top 0 lists all.\n", audit.kernels.size() - order.size());
}

void printUnmatched(const Audit &audit, const AuditSubject &subject) {
  for (size_t row : audit.unmatchedRows)
    say("unmatched: {}:{}: {}, {}\n", subject.measuredFile, (*subject.measured)[row].line,
        (*subject.measured)[row].name, timeText((*subject.measured)[row].timeNs));
  for (size_t kernel : audit.unmatchedKernels)
    say("unmatched: %{} has no row in {}\n", audit.kernels[kernel].op, subject.measuredFile);
}

Json kernelJson(const AuditedKernel &kernel, const AuditSubject &subject) {
  Json json;
  json["op"] = kernel.op;
  if (!kernel.computation.empty())
    json["computation"] = kernel.computation;
  json["layer"] = kernel.layer;
  json["kind"] = toString(kernel.kind);
  json["program"] = programOf(kernel);
  json["trips"] = kernel.trips;
  json["ctas"] = kernel.shape.ctas;
  json["threads"] = kernel.shape.threads;
  json["how"] = kernel.how;
  json["priced_by"] = kernel.from;
  json["time_ns"] = kernel.timeNs > 0 ? Json(kernel.timeNs) : Json();
  json["sigma_ln"] = kernel.sigmaLn;
  if (!kernel.reason.empty())
    json["reason"] = kernel.reason;
  json["limiter"] = kernel.limiter;
  json["bound_ns"] = kernel.boundNs;
  json["share_of_bound"] = kernel.shareOfBound();
  json["time_to_gain_ns"] = kernel.toGainNs();
  json["read_bytes"] = kernel.traffic.readBytes;
  json["written_bytes"] = kernel.traffic.writtenBytes;
  json["missed_bytes"] = kernel.traffic.missedBytes;
  json["written_back_bytes"] = kernel.traffic.writtenBackBytes;
  json["registers"] = kernel.registers > 0 ? Json(kernel.registers) : Json();
  json["recompute_factor"] = kernel.recomputeFactor;
  json["levers"] = leversJson(kernel.levers);
  if (kernel.best)
    json["best_plan"] = {{"plan", kernel.best->text},
                         {"time_ns", kernel.best->timeNs},
                         {"sigma_ln", kernel.best->sigmaLn}};
  else if (!kernel.whyNoBest.empty())
    json["no_best_plan"] = kernel.whyNoBest;
  if (subject.measured) {
    json["measured_ns"] = kernel.measuredNs > 0 ? Json(kernel.measuredNs) : Json();
    json["rows"] = Json::array();
    for (size_t row : kernel.rows)
      json["rows"].push_back((*subject.measured)[row].line);
  }
  return json;
}

Json metricsJson(const FamilyMetrics &metrics) {
  return {{"kind", metrics.family},    {"kernels", metrics.rows}, {"median_ape", metrics.medianApe},
          {"p90_ape", metrics.p90Ape}, {"mape", metrics.mape},    {"bias", metrics.bias}};
}

} // namespace

void printAudit(const Audit &audit, const AuditSubject &subject, size_t top) {
  printTotals(audit, subject);
  printKinds(audit, subject);
  printFindings(audit);
  printKernels(audit, subject, top);
  printUnmatched(audit, subject);
}

Json auditJson(const Audit &audit, const AuditSubject &subject) {
  Json document = newDocument("audit");
  document["model"] = subject.model;
  document["module"] = subject.module;
  document["device"] = subject.device->name;
  document["calibration"] = subject.calibration;
  document["notes"] = audit.notes;
  document["time_ns"] = audit.timeNs;
  document["sigma_ln"] = audit.sigmaLn;
  if (subject.measured) {
    document["measured"] = subject.measuredFile;
    document["measured_ns"] = audit.measuredNs;
    const std::vector<PredictedRow> rows = rowsOf(audit, subject.model);
    document["errors"] = Json::array();
    for (const FamilyMetrics &metrics : metricsByFamily(rows))
      document["errors"].push_back(metricsJson(metrics));
    document["errors"].push_back(metricsJson(metricsOf("all", rows)));
  }
  if (const auto &other = audit.regrouping) {
    document["regrouping"] = {{"kernels", other->kernels},
                              {"sequence_time_ns", other->timeNs},
                              {"is_complete", other->isComplete}};
    if (!other->reason.empty())
      document["regrouping"]["reason"] = other->reason;
  }
  document["kernels"] = Json::array();
  for (const AuditedKernel &kernel : audit.kernels)
    document["kernels"].push_back(kernelJson(kernel, subject));
  document["findings"] = Json::array();
  for (const Finding &finding : audit.findings)
    document["findings"].push_back({{"kind", toString(finding.kind)},
                                    {"op", audit.kernels[finding.kernel].op},
                                    {"gain_ns", finding.gainNs},
                                    {"text", finding.text}});
  if (subject.measured) {
    document["unmatched_rows"] = Json::array();
    for (size_t row : audit.unmatchedRows)
      document["unmatched_rows"].push_back({{"line", (*subject.measured)[row].line},
                                            {"kernel", (*subject.measured)[row].name},
                                            {"time_ns", (*subject.measured)[row].timeNs}});
    document["unmatched_ops"] = Json::array();
    for (size_t kernel : audit.unmatchedKernels)
      document["unmatched_ops"].push_back(audit.kernels[kernel].op);
  }
  return document;
}

} // namespace tilewright::cli
