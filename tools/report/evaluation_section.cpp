#include "tools/report/evaluation_section.h"

#include "tools/report/residuals.h"
#include "tools/report/scatter.h"
#include "tools/report/text.h"

namespace tilewright::report {

namespace {
constexpr size_t maxListed = 500;

void accuracyCells(std::string &out, const Accuracy &accuracy) {
  for (Quantity value : {accuracy.groups, accuracy.rows, accuracy.unpricedRows})
    put(out, "<td class=\"num\">{}</td>", count(value));
  for (Quantity fraction :
       {accuracy.mape, accuracy.medianApe, accuracy.p90Ape, accuracy.bias, accuracy.oracleAt1,
        accuracy.worstAt1, accuracy.oracleAt5, accuracy.oracleAt10, accuracy.randomAt5})
    put(out, "<td class=\"num\">{}</td>", percent(fraction));
}

std::string accuracyTable(const Evaluation &evaluation, std::string_view id) {
  std::string out;
  put(out,
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}-t\">"
      "<table class=\"records\" aria-labelledby=\"{0}-t\"><thead><tr>"
      "<th scope=\"col\">Family</th>",
      id);
  for (std::string_view head :
       {"Groups (count)", "Rows (count)", "Unpriced rows (count)", "MAPE (%)", "Median APE (%)",
        "90th percentile APE (%)", "Bias (%)", "Top&nbsp;1 (% of best)",
        "Worst top&nbsp;1 (% of best)", "Top&nbsp;5 (% of best)", "Top&nbsp;10 (% of best)",
        "Random&nbsp;5 (% of best)"})
    put(out, "<th scope=\"col\" class=\"num\">{}</th>", head);
  out += "</tr></thead><tbody>";
  size_t shown = 0;
  for (const Accuracy &family : evaluation.families) {
    if (shown++ == maxListed)
      break;
    put(out, "<tr><th scope=\"row\" class=\"mono\">{}</th>", escapeHtml(family.family));
    accuracyCells(out, family);
    out += "</tr>";
  }
  out += "</tbody>";
  if (evaluation.overall) {
    out += "<tfoot><tr><th scope=\"row\">overall</th>";
    accuracyCells(out, *evaluation.overall);
    out += "</tr></tfoot>";
  }
  out += "</table></div>";
  if (evaluation.families.size() > maxListed)
    put(out, "<p class=\"note\">The first {} of {} families.</p>", maxListed,
        count(static_cast<double>(evaluation.families.size())));
  return out;
}
} // namespace

std::string evaluationSection(const Evaluation &evaluation, std::string_view id) {
  std::string out;
  put(out,
      "<section class=\"evaluation\" id=\"{0}\" aria-labelledby=\"{0}-t\">"
      "<h2 id=\"{0}-t\">Predicted against measured</h2><p class=\"sub mono\">{1}</p>",
      id, escapeHtml(evaluation.file));
  std::string basis;
  if (!evaluation.device.empty())
    put(basis, "Device {}", escapeHtml(evaluation.device));
  if (!evaluation.calibration.empty())
    put(basis, "{}alibration {}", basis.empty() ? "C" : ", c", escapeHtml(evaluation.calibration));
  if (!basis.empty())
    put(out, "<p class=\"lede\">{}</p>", basis);
  out += accuracyTable(evaluation, id);
  out += "<p class=\"note\">APE is |predicted − measured| / measured, MAPE its mean. Top <i>n</i>: "
         "the speed of "
         "the best measured plan among the <i>n</i> that were predicted fastest, as a part of the "
         "best of all; random 5 takes five plans blindly.</p>";
  std::string figures = scatterFigures(evaluation, fmt::format("{}-s", id));
  if (!figures.empty())
    out += "<h3>Every measurement</h3>" + figures;
  std::string regret = regretTable(evaluation, fmt::format("{}-g", id));
  if (!regret.empty())
    put(out, "<h3 id=\"{}-g\">Problems where the choice costs most</h3>{}", id, regret);
  std::string residuals = residualFigures(evaluation, fmt::format("{}-p", id));
  if (!residuals.empty())
    out += "<h3>Error against what was chosen</h3>" + residuals;
  return out + "</section>";
}

} // namespace tilewright::report
