// The report as Markdown: the tables without the charts.
#include "tools/report/device_matrix.h"
#include "tools/report/model_section.h"
#include "tools/report/residuals.h"
#include "tools/report/text.h"

#include <algorithm>

namespace tilewright {

using namespace report;

namespace {
constexpr size_t maxRows = 60, maxListed = 60, maxRegrets = 10, maxParameters = 300;

void summaryLines(std::string &out, const Exploration &exploration, const Model &model,
                  const Summary &summary) {
  std::string gap = gapText(summary);
  put(out, "\n## {}\n\n", escapeMarkdown(modelTitle(model.name)));
  put(out, "{} on {}, {}: predicted {}{}", counted(model.kernels.size(), "kernel"),
      escapeMarkdown(exploration.device.name.empty() ? "an unnamed device"
                                                     : exploration.device.name),
      exploration.calibration.empty() ? "not calibrated"
                                      : "calibration " + escapeMarkdown(exploration.calibration),
      timeText(summary.totalNs),
      gap.empty() ? "" : " (**incomplete**: " + escapeMarkdown(gap, 400) + ")");
  if (model.lowerBoundNs)
    put(out, ", lower bound {}", timeText(model.lowerBoundNs));
  if (model.simpleGroupingNs)
    put(out, ", simple grouping {}", timeText(model.simpleGroupingNs));
  put(out, ", {}.\n", counted(model.unsupported.size(), "unsupported op"));
  for (const std::string &note : exploration.notes)
    put(out, "\nNote: {}.\n", escapeMarkdown(note, 400));
  for (const std::string &warning : summary.warnings)
    put(out, "\nWarning: {}.\n", escapeMarkdown(warning, 400));
}

std::string planText(const Plan &plan) {
  std::string text = parametersText(plan.tile), schedule = parametersText(plan.schedule, true);
  if (!schedule.empty())
    put(text, "{}{}", text.empty() ? "" : "; ", schedule);
  return text.empty() ? "–" : escapeMarkdown(text, 400);
}

void kernelRows(std::string &out, const Model &model, const Summary &summary) {
  if (model.kernels.empty())
    return;
  TimeUnit unit = timeUnitFor(totalTimeNs(model.kernels[summary.byTime[0]]).value_or(0));
  put(out,
      "\n| No. | Kernel | Ops (count) | Tile and schedule (elements) | Time ({}) | Band (±%) | "
      "Share (%) | Limited by | Plans feasible / raw |\n"
      "|--:|---|--:|---|--:|--:|--:|---|--:|\n",
      unit.name);
  size_t rows = std::min(maxRows, summary.byTime.size());
  double hidden = 0;
  for (size_t rank = 0; rank < summary.byTime.size(); ++rank) {
    size_t number = summary.byTime[rank];
    const Kernel &kernel = model.kernels[number];
    if (rank >= rows) {
      hidden += summary.share(kernel);
      continue;
    }
    put(out, "| {} | {} | {} | {} | {} | {} | {} | {} | {} / {} |\n", number + 1,
        escapeMarkdown(kernel.name) + escapeMarkdown(layerText(kernel.layer), 120),
        count(static_cast<double>(kernel.ops.size())), planText(kernel.plan),
        inUnit(totalTimeNs(kernel), unit), percent(bandFraction(kernel.sigmaLn)),
        kernel.timeNs ? percent(summary.share(kernel)) : "–",
        kernel.limiter.empty() ? "–" : escapeMarkdown(kernel.limiter, 40),
        count(kernel.feasibleCandidates), count(kernel.rawCandidates));
  }
  if (rows < summary.byTime.size())
    put(out, "\n{} with {} % of the time not listed.\n",
        counted(summary.byTime.size() - rows, "cheaper kernel"), percent(hidden));
}

void kernelNotes(std::string &out, const Model &model) {
  size_t listed = 0;
  for (size_t k = 0; k < model.kernels.size() && listed < maxListed; ++k)
    for (const std::string &note : model.kernels[k].notes)
      put(out, "{}- {}: {}\n", listed++ ? "" : "\nNotes:\n\n",
          escapeMarkdown(model.kernels[k].name), escapeMarkdown(note, 400));
}

void assumedList(std::string &out, const Model &model) {
  if (model.assumed.empty())
    return;
  out += "\nPriced without a plan:\n\n";
  size_t shown = std::min(model.assumed.size(), maxListed);
  for (size_t i = 0; i < shown; ++i) {
    const AssumedNote &op = model.assumed[i];
    put(out, "- {}{}: {}{}: {}\n", escapeMarkdown(op.op, 80),
        escapeMarkdown(layerText(op.layer), 120), timeText(op.timeNs),
        op.tripCount == 1 ? "" : fmt::format(", {} times", count(op.tripCount)),
        op.reason.empty() ? "no reason given" : escapeMarkdown(op.reason, 400));
  }
  if (shown < model.assumed.size())
    put(out, "- and {} more\n", count(static_cast<double>(model.assumed.size() - shown)));
}

void unsupportedList(std::string &out, const Model &model) {
  if (model.unsupported.empty())
    return;
  out += "\nNot in the total:\n\n";
  size_t listed = 0;
  for (const auto &[reason, ops] : byReason(model.unsupported)) {
    if (listed++ == maxListed) {
      out += "- and more reasons\n";
      break;
    }
    put(out, "- {}: {}", reason.empty() ? "no reason given" : escapeMarkdown(reason, 400),
        counted(ops.size(), "op"));
    for (size_t i = 0; i < ops.size() && i < 8; ++i)
      put(out, "{}{}", i ? ", " : " (", escapeMarkdown(ops[i], 80));
    out += ops.size() > 8 ? ", …)\n" : ")\n";
  }
}

void failureList(std::string &out, const Exploration &exploration) {
  if (exploration.failures.empty())
    return;
  put(out, "\n{} could not be explored:\n\n", counted(exploration.failures.size(), "model"));
  for (size_t i = 0; i < exploration.failures.size(); ++i) {
    if (i == maxListed) {
      put(out, "- {} more\n", exploration.failures.size() - i);
      break;
    }
    const FailedModel &failure = exploration.failures[i];
    put(out, "- {}: {}\n", escapeMarkdown(failure.file, 200), escapeMarkdown(failure.message, 400));
  }
}

void splitGroupList(std::string &out, const Model &model) {
  if (model.split.empty())
    return;
  out += "\nSplit groups:\n\n";
  size_t shown = std::min(model.split.size(), maxListed);
  for (size_t i = 0; i < shown; ++i)
    put(out, "- the {} ops of {}: {}\n", count(model.split[i].ops),
        escapeMarkdown(model.split[i].root, 80),
        model.split[i].reason.empty() ? "no reason given"
                                      : escapeMarkdown(model.split[i].reason, 400));
  if (shown < model.split.size())
    put(out, "- and {} more\n", model.split.size() - shown);
}

void accuracyRow(std::string &out, std::string_view name, const Accuracy &accuracy) {
  put(out, "| {} | {} | {} | {} |", name, count(accuracy.groups), count(accuracy.rows),
      count(accuracy.unpricedRows));
  for (Quantity fraction :
       {accuracy.mape, accuracy.medianApe, accuracy.p90Ape, accuracy.bias, accuracy.oracleAt1,
        accuracy.worstAt1, accuracy.oracleAt5, accuracy.oracleAt10, accuracy.randomAt5})
    put(out, " {} |", percent(fraction));
  out += "\n";
}

void regretRows(std::string &out, const Evaluation &evaluation) {
  std::vector<Regret> problems = regrets(evaluation);
  if (problems.empty())
    return;
  size_t shown = std::min(problems.size(), maxRegrets);
  put(out, "\nThe {} problems where the choice costs most, of {}:\n", shown, problems.size());
  out += "\n| Problem | Plans (count) | Fastest measured (µs) | Predicted fastest, measured (µs) | "
         "Top 1 (% of best) | Plans to try for 99 % |\n|---|--:|--:|--:|--:|--:|\n";
  for (size_t i = 0; i < shown; ++i)
    put(out, "| {} | {} | {} | {} | {} | {} |\n", escapeMarkdown(problems[i].problem, 80),
        count(static_cast<double>(problems[i].plans)), threeDigits(problems[i].bestNs / 1e3),
        threeDigits(problems[i].chosenNs / 1e3), percent(problems[i].share()), problems[i].needed);
}

void evaluationPart(std::string &out, const Evaluation &evaluation) {
  put(out, "\n## Predicted against measured: {}\n", escapeMarkdown(evaluation.file));
  out += "\n| Family | Groups (count) | Rows (count) | Unpriced rows (count) | MAPE (%) | "
         "Median APE (%) | 90th percentile APE (%) | Bias (%) | Top 1 (% of best) | Worst top 1 "
         "(% of best) | Top 5 (% of best) | Top 10 (% of best) | Random 5 (% of best) |\n"
         "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  size_t shown = std::min(evaluation.families.size(), maxRows);
  for (size_t i = 0; i < shown; ++i)
    accuracyRow(out, escapeMarkdown(evaluation.families[i].family), evaluation.families[i]);
  if (evaluation.overall)
    accuracyRow(out, "**overall**", *evaluation.overall);
  if (shown < evaluation.families.size())
    put(out, "\nThe first {} of {} families.\n", shown, evaluation.families.size());
  regretRows(out, evaluation);
}
void calibrationPart(std::string &out, const CalibrationDocument &calibration) {
  put(out, "\n## Calibration of {}\n", escapeMarkdown(calibration.device, 60));
  out += "\n| Parameter | Value | Unit | σ of ln (%) | Prior | Status | Meaning |\n"
         "|---|--:|---|--:|--:|---|---|\n";
  size_t shown = std::min(calibration.parameters.size(), maxParameters);
  for (size_t i = 0; i < shown; ++i) {
    const CalibratedParameter &parameter = calibration.parameters[i];
    put(out, "| {} | {} | {} | {} | {} | {} | {} |\n", escapeMarkdown(parameter.name, 60),
        threeDigits(parameter.value), escapeMarkdown(parameter.unit, 20),
        percent(parameter.sigmaLn), threeDigits(parameter.prior),
        escapeMarkdown(parameter.status, 30), escapeMarkdown(parameter.meaning, 300));
  }
  if (shown < calibration.parameters.size())
    put(out, "\nThe first {} of {} parameters.\n", shown, calibration.parameters.size());
}
} // namespace

llvm::Expected<std::string> renderMarkdown(std::span<const ReportInput> inputs) {
  llvm::Expected<Documents> documents = readDocuments(inputs);
  if (!documents)
    return documents.takeError();
  std::string out = "# Tilewright report\n" + deviceMatrixMarkdown(*documents);
  for (const Exploration &exploration : documents->explorations) {
    failureList(out, exploration);
    for (const Model &model : exploration.models) {
      Summary summary = summarise(model);
      summaryLines(out, exploration, model, summary);
      kernelRows(out, model, summary);
      splitGroupList(out, model);
      kernelNotes(out, model);
      assumedList(out, model);
      unsupportedList(out, model);
    }
  }
  for (const Evaluation &evaluation : documents->evaluations)
    evaluationPart(out, evaluation);
  for (const CalibrationDocument &calibration : documents->calibrations)
    calibrationPart(out, calibration);
  return out;
}

} // namespace tilewright
