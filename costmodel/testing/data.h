// Helpers of the cost model's tests: bundled descriptions and parts of the bundled measurements.
#pragma once

#include "costmodel/dataset.h"

#include <functional>
#include <gtest/gtest.h>

namespace tilewright::testing {

inline Device h100() {
  auto device = loadDevice("h100-sxm");
  if (!device)
    ADD_FAILURE() << takeDiag(device.takeError()).str();
  return device ? *device : Device{};
}

inline TemplateLibrary bundledTemplates() {
  auto library = TemplateLibrary::load();
  if (!library) {
    ADD_FAILURE() << takeDiag(library.takeError()).str();
    return {};
  }
  return std::move(*library);
}

/// The rows of a bundled file whose text `keep` accepts.
inline Table measured(const std::string &file, const std::function<bool(std::string_view)> &keep) {
  auto text = readFile("datasets/measurements/h100-sxm/" + file);
  if (!text) {
    ADD_FAILURE() << takeDiag(text.takeError()).str();
    return {};
  }
  std::string kept;
  size_t pos = 0;
  bool header = true;
  while (pos < text->size()) {
    size_t end = std::min(text->find('\n', pos), text->size());
    std::string_view line(text->data() + pos, end - pos);
    if (header || keep(line))
      kept.append(line).push_back('\n');
    header = false;
    pos = end + 1;
  }
  return llvm::cantFail(Table::parse(file, kept));
}

inline Dataset datasetOf(std::vector<Table> tables) {
  TemplateLibrary templates = bundledTemplates();
  auto data = loadDataset(tables, templates, h100());
  if (!data) {
    ADD_FAILURE() << takeDiag(data.takeError()).str();
    return {};
  }
  return std::move(*data);
}

/// The plan of a row written as CSV.
inline llvm::Expected<KernelPlan> planFrom(const std::string &csv) {
  static TemplateLibrary templates = bundledTemplates();
  auto table = Table::parse("row.csv", csv);
  if (!table)
    return table.takeError();
  TableRow row(*table, 0);
  auto number = templates.match(row);
  if (!number)
    return row.error("no template");
  return templates.planOf(*number, row, h100());
}

} // namespace tilewright::testing
