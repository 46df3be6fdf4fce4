// The HTML page around the sections.
#include "tools/report/calibration_section.h"
#include "tools/report/comparison.h"
#include "tools/report/device_matrix.h"
#include "tools/report/evaluation_section.h"
#include "tools/report/model_section.h"
#include "tools/report/overview.h"
#include "tools/report/style.h"
#include "tools/report/text.h"

#include <algorithm>

namespace tilewright {

using namespace report;

namespace {
// Together these keep a page of any number of models under about four megabytes.
constexpr size_t rowBudget = 1500, detailBudget = 400, mapBudget = 80, dotBudget = 6000;
constexpr size_t graphBudget = 1500, listingBudget = 60;
constexpr size_t maxListingBytes = 20000;
constexpr size_t maxSections = 120, maxFailures = 3000;

/// A listing as it is shown: escaped, its begin alone where it is long.
Listing shownListing(const ReportListing &listing) {
  std::string_view text = listing.text;
  const bool isCut = text.size() > maxListingBytes;
  if (isCut)
    text = text.substr(0, text.substr(0, maxListingBytes).rfind('\n'));
  Listing shown{
      listing.what, {}, static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), isCut};
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string line(rest.substr(0, end));
    std::replace(line.begin(), line.end(), '\t', ' ');
    shown.html += escapeHtml(line, 400) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return shown;
}

/// Asks for what was made of the `count` most expensive kernels of each model.
void addListings(Documents &documents, size_t count) {
  for (Exploration &exploration : documents.explorations)
    for (Model &model : exploration.models) {
      if (!exploration.listings)
        continue;
      const Summary summary = summarise(model);
      for (size_t rank = 0; rank < summary.byTime.size() && rank < count; ++rank) {
        Kernel &kernel = model.kernels[summary.byTime[rank]];
        if (!kernel.planFile.empty())
          for (const ReportListing &listing : exploration.listings(kernel.planFile))
            kernel.listings.push_back(shownListing(listing));
      }
    }
}

std::vector<ModelRef> allModels(const Documents &documents) {
  std::vector<ModelRef> models;
  for (const Exploration &exploration : documents.explorations)
    for (const Model &model : exploration.models)
      models.push_back({&exploration, &model, fmt::format("m{}", models.size())});
  return models;
}

std::string deviceText(const Device &device) {
  std::string out = escapeHtml(device.displayName.empty() ? device.name : device.displayName);
  if (out.empty())
    out = "unnamed device";
  if (device.smCount)
    put(out, ", {} SMs", count(device.smCount));
  if (device.clockGhz)
    put(out, ", {} GHz", threeDigits(device.clockGhz));
  if (device.dramBytesPerS)
    put(out, ", DRAM {}", rateText(device.dramBytesPerS, "B/s"));
  if (device.l2Bytes)
    put(out, ", L2 {}", bytesText(device.l2Bytes));
  return out;
}

void explorationLede(std::string &out, const Exploration &exploration) {
  put(out, "<p class=\"lede\">{}. {}. <span class=\"mono\">{}</span></p>",
      deviceText(exploration.device),
      exploration.calibration.empty() ? "Not calibrated"
                                      : "Calibration " + escapeHtml(exploration.calibration),
      escapeHtml(exploration.file));
  for (const std::string &note : exploration.notes)
    put(out, "<p class=\"warn\">{}.</p>", escapeHtml(note, 400));
  size_t failures = exploration.failures.size();
  if (failures == 0)
    return;
  put(out, "<p class=\"note\">{} could not be explored:</p><ul>", counted(failures, "model"));
  for (size_t i = 0; i < std::min(failures, maxFailures); ++i)
    put(out, "<li><span class=\"mono\">{}</span>: {}</li>",
        escapeHtml(exploration.failures[i].file, 200),
        escapeHtml(exploration.failures[i].message, 400));
  if (failures > maxFailures)
    put(out, "<li>{} more</li>", failures - maxFailures);
  out += "</ul>";
}

std::string footer(const Documents &documents) {
  std::string version;
  if (!documents.explorations.empty())
    version = documents.explorations.front().toolVersion;
  else if (!documents.evaluations.empty())
    version = documents.evaluations.front().toolVersion;
  std::string out = "<footer>";
  if (!documents.explorations.empty())
    out +=
        "<p><strong>How to read it.</strong> Time is that of all executions of a kernel in one "
        "run of its model, with what the kernels before it have left in L2, and the band of one "
        "standard deviation. A term is the time that one "
        "resource alone would take; terms overlap, so their sum is more than the predicted time, "
        "and the limiting one is the largest cause. Tile sizes are in elements: <code>t</code> "
        "for parallel dims of the root, <code>k</code> and others for sequential ones. Feasible "
        "plans: the candidates that meet every constraint, of all that were generated.</p>";
  out += "<p>Quantities have at most three significant digits, counts are exact. Bytes are binary "
         "(1 KiB = 1024 B), rates decimal.";
  if (!version.empty())
    put(out, " Written by Tilewright {}.", escapeHtml(version, 40));
  return out + "</p></footer>";
}

std::string pageHead(std::string_view title) {
  std::string out;
  put(out,
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\"><title>{}</title><style>",
      contentHash(styleSheet()), contentHash(script()), title);
  out += styleSheet();
  return out + "</style></head><body id=\"top\">";
}
} // namespace

llvm::Expected<std::string> renderReport(std::span<const ReportInput> inputs) {
  llvm::Expected<Documents> read = readDocuments(inputs);
  if (!read)
    return read.takeError();
  Documents &documents = *read;
  std::vector<ModelRef> models = allModels(documents);

  std::string title = "Tilewright report";
  if (models.size() == 1)
    title = escapeHtml(modelTitle(models[0].model->name), 60) + " · " + title;
  std::string out = pageHead(title) + "<header><h1>Tilewright report</h1>";
  for (const Exploration &exploration : documents.explorations)
    explorationLede(out, exploration);
  const std::string devices = deviceMatrixHtml(documents), changes = comparisonSection(documents);
  std::vector<ContentsItem> first;
  if (models.size() > 1)
    first.emplace_back("models", "Models");
  if (!devices.empty())
    first.emplace_back("devices", "Models on devices");
  if (!changes.empty())
    first.emplace_back("compare", "Comparison");
  out +=
      "</header><div class=\"finder\" role=\"search\" hidden=\"\"><a href=\"#top\">Top</a></div>" +
      contents(documents, models, maxSections, first) + "<main>";
  if (models.size() > 1)
    out += overview(models, maxSections);
  out += devices + changes;

  std::vector<size_t> kernels;
  for (const ModelRef &ref : models)
    if (kernels.size() < maxSections)
      kernels.push_back(ref.model->kernels.size());
  ModelLimits limits{{shareBudget(kernels, rowBudget, 5), shareBudget(kernels, detailBudget, 2),
                      shareBudget(kernels, mapBudget, 1)},
                     shareBudget(kernels, dotBudget, 5),
                     shareBudget(kernels, graphBudget, 5)};
  addListings(documents, std::min(limits.table.details, shareBudget(kernels, listingBudget, 1)));
  for (size_t i = 0; i < models.size() && i < maxSections; ++i)
    out += modelSection(*models[i].exploration, *models[i].model, limits, models[i].id);
  for (size_t i = 0; i < documents.evaluations.size(); ++i)
    out += evaluationSection(documents.evaluations[i], fmt::format("e{}", i));
  for (size_t i = 0; i < documents.calibrations.size(); ++i)
    out += calibrationSection(documents.calibrations[i], fmt::format("c{}", i));
  if (models.empty() && documents.evaluations.empty() && documents.calibrations.empty())
    out += "<p>The documents hold no models.</p>";
  out += "</main>" + footer(documents) + "<script>";
  out += script();
  return out + "</script></body></html>\n";
}

} // namespace tilewright
