// The report's tables as CSV.
#include "analysis/support/csv.h"
#include "tools/report/residuals.h"
#include "tools/report/summary.h"

#include <algorithm>
#include <fmt/format.h>
#include <variant>

namespace tilewright {

using namespace report;

namespace {

std::string cell(std::string_view text) { return csvCell(text); }
std::string cell(const Quantity &value) { return value ? fmt::format("{}", *value) : ""; }

/// A cell of a column that only some rows have: a tile size, a term.
using NamedCell = std::pair<std::string, std::string>;

/// One table. The columns of a group ("tile_") are those that any row has a cell for, in the order
/// in which they are met; a row without such a cell leaves it empty.
class Table {
public:
  /// In the header a column that ends in '*' stands for a group: "tile_*".
  Table(std::string name, std::string_view header) : name(std::move(name)) {
    while (!header.empty()) {
      const size_t end = header.find(',');
      columns.emplace_back(header.substr(0, end));
      header.remove_prefix(end == std::string_view::npos ? header.size() : end + 1);
    }
    groups.resize(columns.size());
  }

  void add(std::vector<std::variant<std::string, std::vector<NamedCell>>> cells) {
    for (size_t c = 0; c < cells.size(); ++c)
      if (const auto *named = std::get_if<std::vector<NamedCell>>(&cells[c]))
        for (const NamedCell &each : *named)
          if (std::find(groups[c].begin(), groups[c].end(), each.first) == groups[c].end())
            groups[c].push_back(each.first);
    rows.push_back(std::move(cells));
  }

  void moveTo(std::vector<ReportTable> &tables) {
    if (rows.empty())
      return;
    std::string text = headerLine() + "\n";
    for (const auto &row : rows)
      text += line(row) + "\n";
    tables.push_back({std::move(name), std::move(text)});
  }

private:
  using Row = std::vector<std::variant<std::string, std::vector<NamedCell>>>;

  std::string headerLine() const {
    std::string text;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (!columns[c].ends_with('*'))
        append(text, columns[c]);
      for (const std::string &each : groups[c])
        append(text, csvCell(columns[c].substr(0, columns[c].size() - 1) + each));
    }
    return text.substr(1);
  }

  std::string line(const Row &row) const {
    std::string text;
    for (size_t c = 0; c < row.size(); ++c) {
      if (const auto *plain = std::get_if<std::string>(&row[c])) {
        append(text, *plain);
        continue;
      }
      const auto &named = std::get<std::vector<NamedCell>>(row[c]);
      for (const std::string &each : groups[c]) {
        auto at = std::find_if(named.begin(), named.end(),
                               [&](const NamedCell &cell) { return cell.first == each; });
        append(text, at == named.end() ? "" : at->second);
      }
    }
    return text.substr(1);
  }

  static void append(std::string &text, const std::string &cell) { text += "," + cell; }

  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> groups; ///< a column's, empty where it is none
  std::vector<Row> rows;
};

std::vector<NamedCell> parameterCells(const Parameters &parameters) {
  std::vector<NamedCell> cells;
  for (const auto &[name, value] : parameters)
    cells.emplace_back(name, cell(value));
  return cells;
}

std::vector<NamedCell> termCells(const Kernel &kernel) {
  std::vector<NamedCell> cells;
  for (const auto &[name, ns] : kernel.termsNs)
    cells.emplace_back(name, cell(Quantity(ns)));
  return cells;
}

Quantity shareOfBound(const Kernel &kernel) {
  const bool isKnown = kernel.lowerBoundNs && kernel.aloneNs && *kernel.aloneNs > 0;
  return isKnown ? Quantity(*kernel.lowerBoundNs / *kernel.aloneNs) : std::nullopt;
}

Quantity timeToGain(const Kernel &kernel) {
  if (!kernel.lowerBoundNs || !kernel.aloneNs)
    return std::nullopt;
  return std::max(0.0, *kernel.aloneNs - *kernel.lowerBoundNs) * kernel.tripCount;
}

void addLevers(Table &levers, const Exploration &exploration, const Model &model) {
  for (const Kernel &kernel : model.kernels)
    for (const Lever &lever : kernel.levers)
      levers.add({cell(model.name), cell(exploration.device.name), cell(kernel.name),
                  cell(lever.what), cell(lever.gainNs), cell(lever.because)});
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
                 parameterCells(kernel.plan.tile),
                 parameterCells(kernel.plan.schedule),
                 cell(kernel.plan.grid),
                 cell(Quantity(kernel.tripCount)),
                 cell(kernel.aloneNs),
                 cell(kernel.timeNs),
                 cell(totalTimeNs(kernel)),
                 kernel.timeNs ? cell(Quantity(summary.share(kernel))) : "",
                 cell(kernel.sigmaLn),
                 cell(kernel.limiter),
                 cell(kernel.lowerBoundNs),
                 cell(shareOfBound(kernel)),
                 cell(timeToGain(kernel)),
                 termCells(kernel),
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
  Table kernels("kernels",
                "model,device,calibration,kernel,kind,root_shape,ops,tile_*,schedule_*,grid,"
                "trip_count,time_ns,in_sequence_ns,total_time_ns,share,sigma_ln,limiter,"
                "lower_bound_ns,share_of_bound,time_to_gain_ns,term_ns_*,flops,"
                "dram_bytes,l2_bytes,registers,shared_bytes,threads,blocks_per_sm,"
                "candidates_raw,candidates_feasible,candidates_priced,"
                "layer,op_name,source_file,source_line");
  Table levers("levers", "model,device,kernel,lever,gain_ns,because");
  Table unsupported("unsupported", "model,op,reason");
  Table failures("failures", "file,model,message");
  Table accuracy("accuracy", "file,device,calibration,family,groups,rows,unpriced_rows,mape,"
                             "median_ape,p90_ape,bias,oracle_at_1,worst_at_1,oracle_at_5,"
                             "oracle_at_10,random_at_5");
  Table rows("rows", "file,family,group,plan_*,predicted_ns,measured_ns");
  Table regretRows("regrets", "file,problem,plans,best_ns,chosen_ns,share_of_best,"
                              "plans_for_99_percent");
  Table parameters("calibration", "file,device,parameter,value,unit,sigma_ln,prior,status,meaning");
  for (const Exploration &exploration : documents->explorations) {
    for (const Model &model : exploration.models) {
      addModel(kernels, unsupported, exploration, model);
      addLevers(levers, exploration, model);
    }
    for (const FailedModel &failure : exploration.failures)
      failures.add({cell(exploration.file), cell(failure.file), cell(failure.message)});
  }
  for (const Evaluation &evaluation : documents->evaluations) {
    for (const Accuracy &family : evaluation.families)
      addAccuracy(accuracy, evaluation, family, family.family);
    if (evaluation.overall)
      addAccuracy(accuracy, evaluation, *evaluation.overall, "overall");
    for (const Measured &row : evaluation.rows)
      rows.add({cell(evaluation.file), cell(row.family), cell(row.group), parameterCells(row.plan),
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
       {&kernels, &levers, &unsupported, &failures, &accuracy, &rows, &regretRows, &parameters})
    table->moveTo(tables);
  return tables;
}

} // namespace tilewright
