// --device with several names and --set: the devices that a command is asked for.
#pragma once

#include "costmodel/device_change.h"
#include "tools/tilewright/plan_options.h"

namespace tilewright::cli {

/// A device with the calibration that prices it.
struct AskedDevice {
  Device device;
  std::vector<ChangedNumber> changes; ///< of its description
  Calibration calibration;

  /// What a reader of its prices has to know, first what was changed.
  std::vector<DeviceNote> notes() const;
};

struct DeviceChoices {
  std::string names = "h100-sxm"; ///< separated by commas
  std::vector<std::string> sets;  ///< each the changes of a variant
  CLI::Option *option = nullptr, *setOption = nullptr;

  bool areSeveral() const { return names.find(',') != std::string::npos || sets.size() > 1; }
};

/// A device by its name or file, as it is, with a calibration as calibrationFor() takes it.
llvm::Expected<AskedDevice> askedDevice(const std::string &name, const std::string &calibration);

/// "changes": `key`, `unit`, `before` (null where there was none), `after`, `follows` (the number
/// that it was changed along with, else null).
Json changesJson(const std::vector<ChangedNumber> &changes);

/// Adds --device and --set.
void addDeviceChoices(CLI::App &command, DeviceChoices &choices,
                      const std::string &help = "Device name or JSON file");

/// Each variant of each device, in the order given. BadInput also for one that is asked for twice.
llvm::Expected<std::vector<AskedDevice>> askedDevices(const DeviceChoices &choices,
                                                      const PlanChoices &plans);

/// Answers of a command on one device or several: of one the answer itself, of several a document
/// "tilewright.COMMAND.devices" of all.
class DeviceAnswers {
public:
  DeviceAnswers(std::string command, const DeviceChoices &choices, bool isJson)
      : command(std::move(command)), isOne(!choices.areSeveral()), isJson(isJson) {}

  /// Before the text of a device's answer: says which it is, where there are several or it was
  /// changed.
  void begin(const AskedDevice &device);
  /// The JSON of an answer, of what device, and its exit code. Null: an error was printed instead.
  void add(const AskedDevice &device, Json answer, int code);
  /// Prints what is still to print. Returns the worst exit code.
  int finish();

private:
  std::string command;
  bool isOne, isJson;
  Json runs = Json::array();
  size_t begun = 0;
  int worst = Fine;
};

} // namespace tilewright::cli
