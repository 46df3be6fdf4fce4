#include "tools/report/device_matrix.h"

#include "tools/report/summary.h"
#include "tools/report/text.h"

#include <algorithm>
#include <map>

namespace tilewright::report {

namespace {

constexpr size_t maxMatrixDevices = 16, maxMatrixModels = 500;

struct MatrixCell {
  Quantity ns;
  bool isPart = false; ///< without what is unsupported
};

/// In the order in which models and devices come.
struct DeviceMatrix {
  std::vector<std::string> models, devices;
  std::map<std::pair<size_t, size_t>, MatrixCell> cells; ///< by model and device
  double largestNs = 0;

  const MatrixCell *find(size_t model, size_t device) const {
    auto at = cells.find({model, device});
    return at == cells.end() ? nullptr : &at->second;
  }
  bool isShared() const {
    std::map<size_t, size_t> columns;
    for (const auto &[place, cell] : cells)
      if (++columns[place.first] > 1)
        return true;
    return false;
  }
};

size_t placeOf(std::vector<std::string> &names, const std::string &name) {
  auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    at = names.insert(names.end(), name);
  return static_cast<size_t>(at - names.begin());
}

DeviceMatrix matrixOf(const Documents &documents) {
  DeviceMatrix matrix;
  std::map<std::string, size_t> models; // those of a batch are many
  for (const Exploration &exploration : documents.explorations) {
    const size_t device = placeOf(matrix.devices, exploration.device.name);
    for (const Model &model : exploration.models) {
      const auto [at, isNew] = models.emplace(model.name, matrix.models.size());
      if (isNew)
        matrix.models.push_back(model.name);
      const Summary summary = summarise(model);
      matrix.cells[{at->second, device}] = {summary.totalNs, !summary.gaps.empty()};
      matrix.largestNs = std::max(matrix.largestNs, summary.totalNs.value_or(0));
    }
  }
  return matrix;
}

/// "2.1×": how much faster than on the first device.
std::string fasterText(const DeviceMatrix &matrix, size_t model, size_t device) {
  const MatrixCell *first = matrix.find(model, 0), *cell = matrix.find(model, device);
  if (!first || !cell || !first->ns || !cell->ns || *cell->ns <= 0)
    return "–";
  return threeDigits(*first->ns / *cell->ns) + "×";
}

std::string cellText(const DeviceMatrix &matrix, size_t model, size_t device, TimeUnit unit) {
  const MatrixCell *cell = matrix.find(model, device);
  return cell ? inUnit(cell->ns, unit) + (cell->isPart ? "*" : "") : "–";
}

const char *const partNote = "* without unsupported ops.";

} // namespace

std::string deviceMatrixHtml(const Documents &documents) {
  const DeviceMatrix matrix = matrixOf(documents);
  if (!matrix.isShared())
    return {};
  const TimeUnit unit = timeUnitFor(matrix.largestNs);
  const size_t devices = std::min(matrix.devices.size(), maxMatrixDevices),
               models = std::min(matrix.models.size(), maxMatrixModels);
  std::string out;
  put(out,
      "<section class=\"overview\" id=\"devices\" aria-labelledby=\"devices-t\"><h2 "
      "id=\"devices-t\">Models on "
      "devices</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-labelledby=\"devices-t\"><table class=\"records sortable\" "
      "aria-labelledby=\"devices-t\"><thead><tr><th scope=\"col\" data-sort=\"up\">Model</th>");
  for (size_t d = 0; d < devices; ++d) {
    put(out, "<th scope=\"col\" class=\"num\" data-sort=\"down\">{} ({})</th>",
        escapeHtml(matrix.devices[d], 70), unit.name);
    if (d > 0)
      put(out, "<th scope=\"col\" class=\"num\" data-sort=\"down\">faster</th>");
  }
  out += "</tr></thead><tbody>";
  for (size_t m = 0; m < models; ++m) {
    put(out, "<tr><th scope=\"row\">{}</th>", escapeHtml(modelTitle(matrix.models[m])));
    for (size_t d = 0; d < devices; ++d) {
      put(out, "<td class=\"num\">{}</td>", cellText(matrix, m, d, unit));
      if (d > 0)
        put(out, "<td class=\"num\">{}</td>", fasterText(matrix, m, d));
    }
    out += "</tr>";
  }
  put(out, "</tbody></table></div><p class=\"note\">Faster: than on {}. {}",
      escapeHtml(matrix.devices.front(), 70), partNote);
  if (models < matrix.models.size() || devices < matrix.devices.size())
    put(out, " The first {} of {} models, {} of {} devices.", models, matrix.models.size(), devices,
        matrix.devices.size());
  return out + "</p></section>";
}

std::string deviceMatrixMarkdown(const Documents &documents) {
  const DeviceMatrix matrix = matrixOf(documents);
  if (!matrix.isShared())
    return {};
  const TimeUnit unit = timeUnitFor(matrix.largestNs);
  const size_t devices = std::min(matrix.devices.size(), maxMatrixDevices),
               models = std::min(matrix.models.size(), maxMatrixModels);
  std::string out = "\n## Models on devices\n\n| Model |", rule = "|---|";
  for (size_t d = 0; d < devices; ++d) {
    put(out, " {} ({}) |", escapeMarkdown(matrix.devices[d], 70), unit.name);
    rule += "--:|";
    if (d > 0) {
      out += " faster |";
      rule += "--:|";
    }
  }
  out += "\n" + rule + "\n";
  for (size_t m = 0; m < models; ++m) {
    put(out, "| {} |", escapeMarkdown(modelTitle(matrix.models[m])));
    for (size_t d = 0; d < devices; ++d) {
      put(out, " {} |", cellText(matrix, m, d, unit));
      if (d > 0)
        put(out, " {} |", fasterText(matrix, m, d));
    }
    out += "\n";
  }
  put(out, "\nFaster: than on {}. {}\n", escapeMarkdown(matrix.devices.front(), 70),
      escapeMarkdown(partNote));
  return out;
}

} // namespace tilewright::report
