#include "tools/report/calibration_section.h"

#include "tools/report/text.h"

#include <algorithm>
#include <cmath>

namespace tilewright::report {

namespace {
constexpr size_t maxParameters = 300;

/// The value over its prior with one standard deviation, on a logarithmic axis from 1/4 to 4.
std::string ratioBar(const CalibratedParameter &parameter) {
  if (!parameter.value || !parameter.prior || *parameter.value <= 0 || *parameter.prior <= 0)
    return "–";
  constexpr double width = 160, height = 14, middle = width / 2;
  double logRatio = std::log2(*parameter.value / *parameter.prior);
  double sigma = parameter.status == "fitted" || parameter.status == "not identified"
                     ? parameter.sigmaLn.value_or(0) / std::log(2.0)
                     : 0;
  auto at = [&](double log) { return middle + std::clamp(log, -2.0, 2.0) * (width - 8) / 4; };
  std::string out;
  put(out,
      "<svg class=\"bar\" role=\"img\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">"
      "<title>{2} times its prior</title><path class=\"axis\" d=\"M{3} 0V{1}\"/>"
      "<path class=\"spread\" d=\"M{4:.1f} {5}H{6:.1f}\"/>"
      "<circle class=\"c-tensor\" cx=\"{7:.1f}\" cy=\"{5}\" r=\"3.5\"/></svg>",
      width, height, threeDigits(*parameter.value / *parameter.prior), middle, at(logRatio - sigma),
      height / 2, at(logRatio + sigma), at(logRatio));
  return out;
}

std::string uncertainty(const CalibratedParameter &parameter) {
  if (parameter.status != "fitted" && parameter.status != "not identified")
    return "–";
  Quantity band = bandFraction(parameter.sigmaLn);
  return band ? fmt::format("±{} %", percent(band)) : "–";
}
} // namespace

std::string calibrationSection(const CalibrationDocument &calibration, std::string_view id) {
  std::string out;
  put(out,
      "<section class=\"calibration\" id=\"{0}\" aria-labelledby=\"{0}-t\"><h2 id=\"{0}-t\">"
      "Calibration{1}{2}</h2><p class=\"sub mono\">{3}</p><p class=\"lede\">",
      id, calibration.device.empty() ? "" : " of ", escapeHtml(calibration.device, 60),
      escapeHtml(calibration.file));
  if (calibration.rows && *calibration.rows > 0)
    put(out, "Fitted to {} measurements of {} problems, mean error {} %.", count(calibration.rows),
        count(calibration.groups), percent(calibration.mape));
  else
    out += "Nothing was fitted: these are the priors of the device's description.";
  put(out,
      "</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}-t\">"
      "<table class=\"records\" aria-labelledby=\"{0}-t\"><thead><tr><th scope=\"col\">Parameter"
      "</th><th scope=\"col\" class=\"num\">Value</th><th scope=\"col\">Unit</th>"
      "<th scope=\"col\" class=\"num\">One standard deviation</th>"
      "<th scope=\"col\" class=\"num\">Prior</th><th scope=\"col\">Value over prior, ¼ to 4</th>"
      "<th scope=\"col\">Status</th><th scope=\"col\">Meaning</th></tr></thead><tbody>",
      id);
  size_t shown = std::min(calibration.parameters.size(), maxParameters);
  for (size_t i = 0; i < shown; ++i) {
    const CalibratedParameter &parameter = calibration.parameters[i];
    put(out,
        "<tr><th scope=\"row\" class=\"mono\">{}</th><td class=\"num\">{}</td><td>{}</td>"
        "<td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        escapeHtml(parameter.name, 60), threeDigits(parameter.value),
        escapeHtml(parameter.unit, 20), uncertainty(parameter), threeDigits(parameter.prior),
        ratioBar(parameter), escapeHtml(parameter.status, 30), escapeHtml(parameter.meaning, 300));
  }
  out += "</tbody></table></div>";
  if (shown < calibration.parameters.size())
    put(out, "<p class=\"note\">The first {} of {}.</p>", shown,
        counted(calibration.parameters.size(), "parameter"));
  return out + "</section>";
}

} // namespace tilewright::report
