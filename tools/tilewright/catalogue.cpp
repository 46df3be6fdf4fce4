#include "tools/tilewright/catalogue.h"

#include "tools/tilewright/device_output.h"

#include <algorithm>

namespace tilewright::cli {

Json deviceEntry(const Device &device, const std::vector<std::string> &calibrated) {
  Json numbers = Json::array();
  for (const DeviceNumber &number : device.numbers)
    numbers.push_back({{"key", number.key},
                       {"value", number.value},
                       {"unit", number.unit},
                       {"meaning", number.meaning},
                       {"source", number.source}});
  const bool has = std::binary_search(calibrated.begin(), calibrated.end(), device.name);
  return {{"name", device.name},
          {"compute_capability", device.computeCapability},
          {"driver_names", device.driverNames},
          {"digest", device.digest},
          {"notes", notesJson(notesOf(device))},
          {"numbers", std::move(numbers)},
          {"calibration", has ? Json(device.name) : Json()}};
}

std::string standingOf(const Calibration &calibration, const std::string &folder) {
  llvm::Expected<Device> device = loadDevice(calibration.device, folder);
  if (!device) {
    llvm::consumeError(device.takeError());
    return "no description of that name";
  }
  return isFittedOn(calibration, *device) ? "as described" : "fitted on another description";
}

Json calibrationEntry(const Calibration &calibration, const std::string &deviceFolder) {
  Json entry = Json::parse(toJson(calibration));
  entry["standing"] = standingOf(calibration, deviceFolder);
  return entry;
}

Json familyEntry(const Family &family) {
  Json arguments = Json::array();
  for (const FamilyArgument &argument : family.arguments)
    arguments.push_back({{"name", argument.name},
                         {"choices", argument.choices},
                         {"is_optional", argument.isOptional}});
  return {{"name", family.name},
          {"about", family.about},
          {"arguments", std::move(arguments)},
          {"example", family.example}};
}

} // namespace tilewright::cli
