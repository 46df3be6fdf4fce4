#include "tools/tilewright/device_choices.h"

#include "tools/tilewright/device_output.h"

#include <algorithm>

namespace tilewright::cli {

std::vector<DeviceNote> AskedDevice::notes() const {
  std::vector<DeviceNote> notes;
  for (const ChangedNumber &change : changes)
    notes.push_back({"changed-number", change.str()});
  for (DeviceNote &note : notesOn(device, calibration))
    notes.push_back(std::move(note));
  return notes;
}

Json changesJson(const std::vector<ChangedNumber> &changes) {
  Json result = Json::array();
  for (const ChangedNumber &change : changes)
    result.push_back({{"key", change.key},
                      {"unit", change.unit},
                      {"before", change.before ? Json(*change.before) : Json()},
                      {"after", change.after},
                      {"follows", change.follows.empty() ? Json() : Json(change.follows)}});
  return result;
}

void addDeviceChoices(CLI::App &command, DeviceChoices &choices, const std::string &help) {
  choices.option = command.add_option("-d,--device", choices.names,
                                      help + "; several, separated by commas, are compared");
  if (!choices.names.empty())
    choices.option->capture_default_str();
  choices.setOption =
      command
          .add_option(
              "--set", choices.sets,
              "What if: FIELD=VALUE or FIELD=*FACTOR of the device's description, separated by "
              "commas, as dram_bandwidth=*2,sm_count=144; numbers that follow are changed "
              "along. Given several times, each is a variant; as-is is one, too")
          ->allow_extra_args(false);
}

namespace {

std::vector<std::string> splitNames(const std::string &text) {
  std::vector<std::string> names;
  for (size_t at = 0;;) {
    const size_t end = text.find(',', at);
    const std::string name = text.substr(at, end - at);
    names.push_back(name == "-" ? "/dev/stdin" : name);
    if (end == std::string::npos)
      return names;
    at = end + 1;
  }
}

/// The calibration of the device as it was before it was changed.
llvm::Expected<Calibration> calibrationOf(const ChangedDevice &changed, const PlanChoices &plans) {
  Device named = changed.device;
  named.name = changed.base;
  llvm::Expected<Calibration> calibration = plans.calibrationOf(named);
  if (calibration && !calibration->isFitted())
    calibration->device = changed.device.name;
  return calibration;
}

} // namespace

llvm::Expected<AskedDevice> askedDevice(const std::string &name, const std::string &calibration) {
  llvm::Expected<Device> device = loadDevice(name, dataFolder("devices"));
  if (!device)
    return device.takeError();
  llvm::Expected<Calibration> found =
      calibrationFor(*device, calibration, dataFolder("calibrations"));
  if (!found)
    return found.takeError();
  return AskedDevice{std::move(*device), {}, std::move(*found)};
}

llvm::Expected<std::vector<AskedDevice>> askedDevices(const DeviceChoices &choices,
                                                      const PlanChoices &plans) {
  std::vector<AskedDevice> devices;
  const std::vector<std::string> sets =
      choices.sets.empty() ? std::vector<std::string>{""} : choices.sets;
  for (const std::string &name : splitNames(choices.names))
    for (const std::string &set : sets) {
      llvm::Expected<ChangedDevice> changed = loadDeviceWith(name, dataFolder("devices"), set);
      if (!changed)
        return changed.takeError();
      if (std::any_of(devices.begin(), devices.end(), [&](const AskedDevice &other) {
            return other.device.name == changed->device.name;
          }))
        return makeError(DiagClass::BadInput, "device {} is asked for twice", changed->device.name);
      llvm::Expected<Calibration> calibration = calibrationOf(*changed, plans);
      if (!calibration)
        return calibration.takeError();
      detail("device {}, {}calibration {}", changed->device.name,
             changed->changes.empty() ? "" : "changed, ",
             transferred(*calibration, changed->device).label());
      devices.push_back(
          {std::move(changed->device), std::move(changed->changes), std::move(*calibration)});
    }
  return devices;
}

void DeviceAnswers::begin(const AskedDevice &device) {
  if (isJson || (isOne && device.changes.empty()))
    return;
  if (begun++ > 0)
    say("\n");
  say("device {}\n", device.device.name);
  for (const ChangedNumber &change : device.changes)
    say("note: {}\n", change.str());
}

void DeviceAnswers::add(const AskedDevice &device, Json answer, int code) {
  worst = std::max(worst, code);
  if (answer.is_null())
    return;
  answer["device"] = device.device.name;
  if (!device.changes.empty())
    answer["changes"] = changesJson(device.changes);
  runs.push_back(std::move(answer));
}

int DeviceAnswers::finish() {
  if (!isJson)
    return worst;
  if (isOne) {
    for (const Json &only : runs)
      print(only);
    return worst;
  }
  Json document = newDocument(command + ".devices");
  document["runs"] = std::move(runs);
  print(document);
  return worst;
}

} // namespace tilewright::cli
