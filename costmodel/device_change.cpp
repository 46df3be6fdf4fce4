#include "costmodel/device_change.h"

#include "analysis/support/digest.h"
#include "analysis/support/printable.h"
#include "costmodel/json_reader.h"
#include "costmodel/named_files.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tilewright {

namespace {

using Json = nlohmann::json;

/// The numbers that can be changed.
namespace changeable {

struct Field {
  std::string_view key, unit;
  bool isWhole;
};

constexpr unsigned None = 0, Optional = 0, Check = 0, Apart = 0, Whole = 1;
constexpr Field fields[] = {
#define TILEWRIGHT_DEVICE_FIELD(target, key, unit, lowest, highest, traits, meaning)               \
  {key, unit, ((traits)&Whole) != 0},
#include "costmodel/device_fields.def"
};

} // namespace changeable

using ChangeableField = changeable::Field;

/// Numbers of which one is the product of the others, but for a factor that stays as it is.
struct Product {
  std::string_view product;
  std::array<std::string_view, 3> factors;
  std::string_view least; ///< the factor that follows the product, where that is asked for
};
/// The clock that prices use: the sustained one, where the description has one.
constexpr std::string_view clockUnderLoad = "clock";
constexpr Product products[] = {
    {"dram_bandwidth", {"dram_bus_width", "dram_data_rate", ""}, "dram_data_rate"},
    {"peak_bf16", {"sm_count", "tensor_bf16", clockUnderLoad}, "tensor_bf16"},
    {"peak_f32", {"sm_count", "fma_per_clock", clockUnderLoad}, "fma_per_clock"},
};

struct Change {
  const ChangeableField *field = nullptr;
  bool isFactor = false;
  double number = 0;
  std::string text; ///< of the number, as given
};

const ChangeableField *fieldOf(std::string_view key) {
  const auto *at = std::find_if(std::begin(changeable::fields), std::end(changeable::fields),
                                [&](const ChangeableField &field) { return field.key == key; });
  return at == std::end(changeable::fields) ? nullptr : at;
}

llvm::Error unknownField(std::string_view key) {
  std::string_view nearest;
  unsigned least = 1 + static_cast<unsigned>(key.size()) / 3;
  for (const ChangeableField &field : changeable::fields)
    if (unsigned distance =
            llvm::StringRef(key.data(), key.size())
                .edit_distance(llvm::StringRef(field.key.data(), field.key.size()), true, least);
        distance < least) {
      least = distance;
      nearest = field.key;
    }
  return makeError(DiagClass::BadInput,
                   "--set: a device has no number '{}'{}; tilewright devices NAME lists them",
                   excerpt(key),
                   nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest));
}

llvm::Expected<Change> parseChange(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return makeError(DiagClass::BadInput, "--set: '{}' is not FIELD=VALUE or FIELD=*FACTOR",
                     excerpt(text));
  Change change;
  change.field = fieldOf(text.substr(0, equals));
  if (!change.field)
    return unknownField(text.substr(0, equals));
  std::string_view number = text.substr(equals + 1);
  if (number.starts_with('*')) {
    change.isFactor = true;
    number.remove_prefix(1);
  }
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), change.number);
  if (error != std::errc() || end != number.data() + number.size() ||
      !std::isfinite(change.number) || change.number < 0)
    return makeError(DiagClass::BadInput, "--set {}: '{}' is no number of at least 0",
                     change.field->key, excerpt(number));
  change.text = number;
  return change;
}

llvm::Expected<std::vector<Change>> parseChanges(std::string_view text) {
  std::vector<Change> changes;
  while (!text.empty()) {
    const size_t end = text.find(',');
    llvm::Expected<Change> change = parseChange(text.substr(0, end));
    if (!change)
      return change.takeError();
    for (const Change &other : changes)
      if (other.field == change->field)
        return makeError(DiagClass::BadInput, "--set: '{}' is set twice", other.field->key);
    changes.push_back(std::move(*change));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return changes;
}

/// "h100-sxm.dram_bandwidth-x2"; of a long name the end is a hash of it.
std::string nameOf(const std::string &base, const std::vector<Change> &changes) {
  std::string name = base;
  for (const Change &change : changes)
    name += fmt::format(".{}-{}{}", change.field->key, change.isFactor ? "x" : "", change.text);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return !isPlainName(std::string(1, c)) && c != '.' && c != '_' && c != '-'; },
      '-');
  constexpr size_t digits = 8;
  if (name.size() > mostOfAName)
    name = name.substr(0, mostOfAName - digits - 1) + "." + shortDigits(fnv1a(name));
  return name;
}

/// A description on its way to another one.
class Changer {
public:
  explicit Changer(Json &description) : description(description) {}

  llvm::Error apply(const std::vector<Change> &asked) {
    for (const Change &change : asked)
      isAsked.push_back(change.field->key);
    for (const Change &change : asked) {
      const std::optional<double> before = valueOf(change.field->key);
      if (change.isFactor && !before)
        return makeError(DiagClass::BadInput,
                         "--set {0}: the description has no such number to multiply; give it as "
                         "{0}=VALUE",
                         change.field->key);
      double after = change.isFactor ? *before * change.number : change.number;
      if (change.isFactor && change.field->isWhole)
        after = std::round(after);
      set(*change.field, after, "");
    }
    followAll();
    return llvm::Error::success();
  }

  std::vector<ChangedNumber> changes;

private:
  std::optional<double> valueOf(std::string_view key) const {
    const auto at = description.find(std::string(key));
    if (at == description.end() || !at->is_object() || !at->contains("value") ||
        !(*at)["value"].is_number())
      return std::nullopt;
    return (*at)["value"].get<double>();
  }

  void set(const ChangeableField &field, double value, std::string_view cause) {
    const std::string key(field.key);
    changes.push_back({key, std::string(field.unit), valueOf(key), value, std::string(cause)});
    description[key]["value"] = value;
    description[key]["unit"] = field.unit;
    description[key]["source"] = cause.empty() ? "--set" : fmt::format("follows {}", cause);
  }

  bool mayFollow(std::string_view key) const {
    return valueOf(key) && std::find(isAsked.begin(), isAsked.end(), key) == isAsked.end();
  }

  /// By how much a number was changed.
  double ratioOf(std::string_view key) const {
    for (const ChangedNumber &each : changes)
      if (each.key == key && each.before && *each.before > 0)
        return each.after / *each.before;
    return 1;
  }

  void scale(std::string_view key, double factor, const std::string &causes) {
    const ChangeableField &field = *fieldOf(key);
    if (factor != 1 && std::isfinite(factor) && mayFollow(key))
      set(field, field.isWhole ? std::round(*valueOf(key) * factor) : *valueOf(key) * factor,
          causes);
  }

  void followAll() {
    scale("sustained_clock", ratioOf("sm_clock"), "sm_clock");
    for (const Product &each : products)
      follow(each);
    // One memory stream an SM stays one an SM.
    for (const ChangedNumber &each : std::vector(changes))
      if (each.key == "sm_count" && valueOf("memory_streams") == each.before)
        scale("memory_streams", ratioOf("sm_count"), "sm_count");
    // What a CTA can't have of an SM's shared memory stays as much.
    followDifference("shared_bytes_per_sm", "shared_bytes_per_block");
    followDifference("shared_bytes_per_block", "shared_bytes_per_sm");
  }

  void follow(const Product &each) {
    double factor = 1, others = 1; // of all factors; of those that can't follow
    std::string causes;
    for (std::string_view key : each.factors) {
      if (key == clockUnderLoad)
        key = valueOf("sustained_clock") ? "sustained_clock" : "sm_clock";
      const double ratio = ratioOf(key);
      factor *= ratio;
      others *= key == each.least ? 1 : ratio;
      if (ratio != 1)
        causes += (causes.empty() ? "" : " and ") + std::string(key);
    }
    if (mayFollow(each.product))
      scale(each.product, factor, causes);
    else
      scale(each.least, ratioOf(each.product) / others,
            std::string(each.product) + (causes.empty() ? "" : " and ") + causes);
  }

  void followDifference(std::string_view cause, std::string_view key) {
    for (const ChangedNumber &each : std::vector(changes))
      if (each.key == cause && each.follows.empty() && each.before && mayFollow(key))
        set(*fieldOf(key), *valueOf(key) + each.after - *each.before, cause);
  }

  Json &description;
  std::vector<std::string_view> isAsked;
};

} // namespace

std::string ChangedNumber::str() const {
  return fmt::format("{} {}{:.6g}{}{}", key, before ? fmt::format("{:.6g} -> ", *before) : "",
                     after, unit == "1" ? "" : " " + unit,
                     follows.empty() ? "" : ", follows " + follows);
}

llvm::Expected<ChangedDevice> loadDeviceWith(const std::string &nameOrPath,
                                             const std::string &folder,
                                             const std::string &changes) {
  auto path = findNamed("device", nameOrPath, folder);
  if (!path)
    return path.takeError();
  auto text = readFile(*path, 16ull << 20);
  if (!text)
    return text.takeError();
  llvm::Expected<Device> device = parseDevice(*path, *text);
  if (!device)
    return device.takeError();
  const std::string base = device->name;
  if (changes.empty() || changes == "as-is")
    return ChangedDevice{std::move(*device), base, {}};
  llvm::Expected<std::vector<Change>> asked = parseChanges(changes);
  if (!asked)
    return asked.takeError();
  Json description = Json::parse(*text); // which parseDevice() took
  Changer changer(description);
  if (llvm::Error error = changer.apply(*asked))
    return error;
  description["name"] = nameOf(base, *asked);
  llvm::Expected<Device> changed = parseDevice("", description.dump());
  if (!changed)
    return makeError(DiagClass::BadInput, "--set {}: {}", excerpt(changes, 200),
                     takeDiag(changed.takeError()).message);
  return ChangedDevice{std::move(*changed), base, std::move(changer.changes)};
}

} // namespace tilewright
