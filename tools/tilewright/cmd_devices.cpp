// tilewright devices, tilewright calibrations: what is known of devices, and what was measured.
#include "costmodel/calibration.h"
#include "costmodel/named_files.h"
#include "tools/tilewright/catalogue.h"
#include "tools/tilewright/command_line.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/evaluation_output.h"
#include "tools/tilewright/measured_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::cli {

namespace {

struct DeviceArguments {
  std::string name; ///< empty: all
  bool json = false;
};

void printDevice(const Device &device) {
  say("device {}, compute capability {}{}{}\n", device.name, device.computeCapability,
      device.driverNames.empty() ? "" : ", for the driver ", fmt::join(device.driverNames, " or "));
  size_t widest = 0;
  for (const DeviceNumber &number : device.numbers)
    widest = std::max(widest, number.key.size());
  for (const DeviceNumber &number : device.numbers) {
    say("{:<{}}  {:.10g}{}: {}\n", number.key, widest, number.value,
        number.unit == "1" ? "" : fmt::format(" {}", number.unit), number.meaning);
    say("{:<{}}    {}\n", "", widest, number.source);
  }
}

void printDevices(const std::vector<Device> &devices, const std::vector<std::string> &calibrated) {
  TextTable table;
  table.head = {"device",      "capability", "SMs",  "GHz", "bf16 TFLOP/s",
                "f32 TFLOP/s", "DRAM GB/s",  "DRAM", "L2",  "calibration"};
  for (const Device &device : devices)
    table.rows.push_back(
        {device.name, device.computeCapability, fmt::format("{:g}", device.smCount),
         fmt::format("{:.4g}", device.smClock),
         fmt::format("{:.4g}", device.peakFlops(DType::BF16, true) / 1e3),
         fmt::format("{:.4g}", device.peakFlops(DType::F32, false) / 1e3),
         fmt::format("{:g}", device.dramBandwidth), bytesText(device.dramBytes),
         bytesText(device.l2Bytes),
         std::binary_search(calibrated.begin(), calibrated.end(), device.name) ? "yes" : "none"});
  say("{}", table.text());
}

/// Each of the files, or the errors of those that can't be read on stderr.
template <class T, class Load>
std::vector<T> loadAll(const DeviceArguments &options, const std::vector<std::string> &names,
                       const Load &load, int &code) {
  std::vector<T> result;
  std::vector<std::string> wanted = options.name.empty() ? names : std::vector{options.name};
  for (const std::string &name : wanted) {
    llvm::Expected<T> each = load(name);
    if (each)
      result.push_back(std::move(*each));
    else
      code = failInput(each.takeError());
  }
  return result;
}

int runDevices(const DeviceArguments &options) {
  const std::string folder = dataFolder("devices");
  int code = Fine;
  const std::vector<Device> devices = loadAll<Device>(
      options, deviceNames(folder),
      [&](const std::string &name) { return loadDevice(name, folder); }, code);
  const std::vector<std::string> calibrated = namesIn(dataFolder("calibrations"));
  if (options.json) {
    Json document = newDocument("devices");
    document["devices"] = Json::array();
    for (const Device &device : devices)
      document["devices"].push_back(deviceEntry(device, calibrated));
    print(document);
    return code;
  }
  if (options.name.empty())
    printDevices(devices, calibrated);
  for (const Device &device : devices) {
    if (!options.name.empty())
      printDevice(device);
    printNotes(notesOf(device));
  }
  return code;
}

int runCalibrations(const DeviceArguments &options) {
  const std::string folder = dataFolder("calibrations");
  int code = Fine;
  const std::vector<Calibration> calibrations = loadAll<Calibration>(
      options, namesIn(folder),
      [&](const std::string &name) { return loadCalibration(name, folder); }, code);
  if (options.json) {
    Json document = newDocument("calibrations");
    document["calibrations"] = Json::array();
    for (const Calibration &each : calibrations)
      document["calibrations"].push_back(calibrationEntry(each, dataFolder("devices")));
    print(document);
    return code;
  }
  for (const Calibration &each : calibrations) {
    say("calibration of {} ({}): {} rows in {} groups, MAPE {} %\n", each.device,
        standingOf(each, dataFolder("devices")), each.rows, each.groups, percent(each.mape));
    TextTable spreads;
    spreads.head = {"  spread of", "±%", "rows", "inside %", "bias %"};
    spreads.rows.push_back({"  the fitted rows", percent(std::expm1(each.sigmaLn)),
                            fmt::format("{}", each.rows), "", ""});
    for (const KindSpread &spread : each.spreads)
      spreads.rows.push_back({"  " + spread.kind, percent(std::expm1(spread.sigmaLn)),
                              fmt::format("{}", spread.rows), percent(spread.inside),
                              fmt::format("{:+.1f}", 100 * std::expm1(-spread.bias))});
    say("{}", spreads.text());
    if (!options.name.empty())
      say("{}", parameterTable(each).text());
  }
  return code;
}

} // namespace

void addDevices(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<DeviceArguments>();
  CLI::App *command = app.add_subcommand("devices", "Device descriptions, with their sources");
  command->footer(
      "Examples:\n"
      "  tilewright devices\n"
      "  tilewright devices h100\n"
      "A name is looked up in capitals or not, and its part before a '-' stands for the "
      "only one: H100.\n"
      "All commands take such a name, or a .json file, for --device.");
  takesStandardInput(command->add_option(
      "NAME", options->name, "Device name or JSON file: all its numbers; - is standard input"));
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runDevices(*options); }; });
}

void addCalibrations(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<DeviceArguments>();
  CLI::App *command =
      app.add_subcommand("calibrations", "Calibrations, with the spreads that they found");
  command->footer("Examples:\n"
                  "  tilewright calibrations\n"
                  "  tilewright calibrations h100");
  takesStandardInput(command->add_option(
      "NAME", options->name,
      "Calibration name or JSON file: all its parameters; - is standard input"));
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runCalibrations(*options); }; });
}

} // namespace tilewright::cli
