#include "tools/tilewright/measured_input.h"

#include "tools/tilewright/command_line.h"

#include <cmath>
#include <fmt/format.h>

namespace tilewright::cli {

void addMeasuredOptions(CLI::App *command, MeasuredOptions &options) {
  takesStandardInput(command->add_option("FILE", options.files,
                                         "Measurements: .csv or .csv.gz; - is standard input"));
  command->add_option("-d,--device", options.device, "Device name or JSON file")
      ->capture_default_str();
  command->add_option("--templates", options.templates, "Folder with more families");
  command->add_flag("--all-parameters", options.allParameters,
                    "Fit also the parameters that the data hardly identify");
  command->add_flag("--json", options.json, "Print JSON");
}

llvm::Expected<MeasuredInput> readMeasured(const MeasuredOptions &options, Times times) {
  llvm::Expected<Device> device = loadDevice(options.device, dataFolder("devices"));
  if (!device)
    return device.takeError();
  llvm::Expected<TemplateLibrary> templates = TemplateLibrary::load(dataFolder("templates"));
  if (!templates)
    return templates.takeError();
  if (!options.templates.empty())
    if (llvm::Error error = templates->addFolder(options.templates))
      return error;
  llvm::Expected<Dataset> data = loadDataset(options.files, *templates, *device, times);
  if (!data)
    return data.takeError();
  return MeasuredInput{std::move(*device), std::move(*data)};
}

Json rowJson(const DatasetRow &row) {
  Json plan = Json::object();
  for (size_t i = 0; i < row.choice.values.size(); ++i)
    plan[(*row.choice.names)[i]] = row.choice.values[i];
  plan["instruction"] = toString(row.choice.instruction);
  return {
      {"family", row.identity.family}, {"group", row.identity.group}, {"plan", std::move(plan)}};
}

std::string percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.1f}", 100 * fraction) : "-";
}

} // namespace tilewright::cli
