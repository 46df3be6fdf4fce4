#include "tools/tilewright/device_output.h"

#include <fmt/format.h>

namespace tilewright::cli {

void printNotes(const std::vector<DeviceNote> &notes) {
  for (const DeviceNote &note : notes)
    say("note: {}\n", note.text);
}

Json notesJson(const std::vector<DeviceNote> &notes) {
  Json result = Json::array();
  for (const DeviceNote &note : notes)
    result.push_back({{"kind", note.kind}, {"text", note.text}});
  return result;
}

std::vector<DeviceNote> notesOn(const Device &device, const Calibration &calibration) {
  std::vector<DeviceNote> notes = notesOf(device);
  const Calibration used = transferred(calibration, device);
  if (calibration.isFitted() && !used.transferredFrom.empty())
    notes.push_back(
        {"carried-over",
         fmt::format("the calibration is carried over from {}: each parameter keeps its "
                     "ratio to what the description says",
                     used.transferredFrom)});
  return notes;
}

} // namespace tilewright::cli
