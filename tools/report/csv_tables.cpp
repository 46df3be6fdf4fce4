// The report's tables as CSV.
#include "analysis/support/csv.h"
#include "tools/report/residuals.h"
#include "tools/report/summary.h"

#include <array>
#include <fmt/format.h>
#include <initializer_list>

namespace tilewright {

using namespace report;

namespace {

std::string cell(std::string_view text) { return csvCell(text); }
std::string cell(const Quantity &value) { return value ? fmt::format("{}", *value) : ""; }

/// Appends to one table; the header is complete before the first row.
class Table {
public:
  Table(std::string name, std::string header) : name(std::move(name)), text(header + "\n") {}
  void add(std::initializer_list<std::string> cells) {
    std::string line;
    for (const std::string &each : cells)
      line += (line.empty() && &each == cells.begin() ? "" : ",") + each;
    text += line + "\n";
    hasRows = true;
  }
  void moveTo(std::vector<ReportTable> &tables) {
    if (hasRows)
      tables.push_back({std::move(name), std::move(text)});
  }

private:
  std::string name, text;
  bool hasRows = false;
};

std::string parametersCell(const Parameters &parameters) {
  std::string text;
  for (const auto &[name, value] : parameters)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return cell(text);
}

std::string termsCell(const Kernel &kernel) {
  std::string text;
  for (const auto &[name, ns] : kernel.termsNs)
    text += fmt::format("{}{}={}", text.empty() ? "" : "; ", name, ns);
  return cell(text);
}

void addModel(Table &kernels, Table &unsupported, const Exploration &exploration,
              const Model &model) {
  Summary summary = summarise(model);
  for (const Kernel &kernel : model.kernels)
    kernels.add({cell(model.name),
                 cell(exploration.device.name),
                 cell(exploration.calibration),
                 cell(kernel.name),
                 cell(kernel.kind),
                 cell(kernel.rootShape),
                 cell(Quantity(static_cast<double>(kernel.ops.size()))),
                 parametersCell(kernel.plan.tile),
                 parametersCell(kernel.plan.schedule),
                 cell(kernel.plan.grid),
                 cell(Quantity(kernel.tripCount)),
                 cell(kernel.timeNs),
                 cell(totalTimeNs(kernel)),
                 kernel.timeNs ? cell(Quantity(summary.share(kernel))) : "",
                 cell(kernel.sigmaLn),
                 cell(kernel.limiter),
                 termsCell(kernel),
                 cell(kernel.flops),
                 cell(kernel.dramBytes),
                 cell(kernel.l2Bytes),
                 cell(kernel.registersPerThread),
                 cell(kernel.sharedBytes),
                 cell(kernel.threads),
                 cell(kernel.ctasPerSm),
                 cell(kernel.rawCandidates),
                 cell(kernel.feasibleCandidates),
                 cell(kernel.pricedCandidates),
                 cell(kernel.layer),
                 cell(kernel.opName),
                 cell(kernel.sourceFile),
                 cell(kernel.sourceLine)});
  for (const OpNote &note : model.unsupported)
    unsupported.add({cell(model.name), cell(note.op), cell(note.reason)});
}

void addAccuracy(Table &table, const Evaluation &evaluation, const Accuracy &accuracy,
                 std::string_view family) {
  table.add({cell(evaluation.file), cell(evaluation.device), cell(evaluation.calibration),
             cell(family), cell(accuracy.groups), cell(accuracy.rows), cell(accuracy.unpricedRows),
             cell(accuracy.mape), cell(accuracy.medianApe), cell(accuracy.p90Ape),
             cell(accuracy.bias), cell(accuracy.oracleAt1), cell(accuracy.worstAt1),
             cell(accuracy.oracleAt5), cell(accuracy.oracleAt10), cell(accuracy.randomAt5)});
}

} // namespace

llvm::Expected<std::vector<ReportTable>> renderCsv(std::span<const ReportInput> inputs) {
  llvm::Expected<Documents> documents = readDocuments(inputs);
  if (!documents)
    return documents.takeError();
  Table kernels("kernels", "model,device,calibration,kernel,kind,root_shape,ops,tile,schedule,grid,"
                           "trip_count,time_ns,total_time_ns,share,sigma_ln,limiter,terms_ns,flops,"
                           "dram_bytes,l2_bytes,registers,shared_bytes,threads,blocks_per_sm,"
                           "candidates_raw,candidates_feasible,candidates_priced,"
                           "layer,op_name,source_file,source_line");
  Table unsupported("unsupported", "model,op,reason");
  Table failures("failures", "file,model,message");
  Table accuracy("accuracy", "file,device,calibration,family,groups,rows,unpriced_rows,mape,"
                             "median_ape,p90_ape,bias,oracle_at_1,worst_at_1,oracle_at_5,"
                             "oracle_at_10,random_at_5");
  Table rows("rows", "file,family,group,plan,predicted_ns,measured_ns");
  Table regretRows("regrets", "file,problem,plans,best_ns,chosen_ns,share_of_best,"
                              "plans_for_99_percent");
  Table parameters("calibration", "file,device,parameter,value,unit,sigma_ln,prior,status,meaning");
  for (const Exploration &exploration : documents->explorations) {
    for (const Model &model : exploration.models)
      addModel(kernels, unsupported, exploration, model);
    for (const FailedModel &failure : exploration.failures)
      failures.add({cell(exploration.file), cell(failure.file), cell(failure.message)});
  }
  for (const Evaluation &evaluation : documents->evaluations) {
    for (const Accuracy &family : evaluation.families)
      addAccuracy(accuracy, evaluation, family, family.family);
    if (evaluation.overall)
      addAccuracy(accuracy, evaluation, *evaluation.overall, "overall");
    for (const Measured &row : evaluation.rows)
      rows.add({cell(evaluation.file), cell(row.family), cell(row.group), parametersCell(row.plan),
                cell(row.predictedNs), cell(row.measuredNs)});
    for (const Regret &regret : regrets(evaluation))
      regretRows.add({cell(evaluation.file), cell(regret.problem), fmt::format("{}", regret.plans),
                      cell(Quantity(regret.bestNs)), cell(Quantity(regret.chosenNs)),
                      cell(Quantity(regret.share())), fmt::format("{}", regret.needed)});
  }
  for (const CalibrationDocument &calibration : documents->calibrations)
    for (const CalibratedParameter &parameter : calibration.parameters)
      parameters.add({cell(calibration.file), cell(calibration.device), cell(parameter.name),
                      cell(parameter.value), cell(parameter.unit), cell(parameter.sigmaLn),
                      cell(parameter.prior), cell(parameter.status), cell(parameter.meaning)});
  std::vector<ReportTable> tables;
  for (Table *table :
       {&kernels, &unsupported, &failures, &accuracy, &rows, &regretRows, &parameters})
    table->moveTo(tables);
  return tables;
}

} // namespace tilewright
