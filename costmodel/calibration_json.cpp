#include "analysis/support/printable.h"
#include "costmodel/calibration.h"
#include "costmodel/json_reader.h"
#include "costmodel/named_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

using nlohmann::json;

namespace tilewright {

namespace {

using Status = CalibratedParameter::Status;

/// No spread of ln(time) is beyond this.
constexpr double mostSigmaLn = 5;

std::optional<Status> parseStatus(std::string_view text) {
  for (Status status : {Status::Prior, Status::Fixed, Status::Fitted, Status::NotIdentified})
    if (toString(status) == text)
      return status;
  return std::nullopt;
}

/// A JSON string; names and paths may contain any character.
std::string jsonText(std::string_view text) {
  return json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string fileNames(const std::vector<std::string> &files) {
  std::string out = "[";
  for (size_t i = 0; i < files.size(); ++i)
    out += fmt::format("{}{}", i ? ", " : "",
                       jsonText(std::filesystem::path(files[i]).filename().string()));
  return out + "]";
}

/// The spreads of our own kernels, one line a kind; nothing where there are none.
std::string spreadsText(const Calibration &c) {
  if (c.spreads.empty())
    return "";
  std::string out =
      fmt::format("  \"spreads\": {{\"files\": {}, \"kinds\": [\n", fileNames(c.spreadFiles));
  for (size_t i = 0; i < c.spreads.size(); ++i) {
    const KindSpread &s = c.spreads[i];
    out += fmt::format(
        "    {{\"kind\": {}, \"sigma_ln\": {:.4g}, \"rows\": {}, \"inside\": {:.3g}, "
        "\"bias\": {:.4g}}}{}\n",
        jsonText(s.kind), s.sigmaLn, s.rows, s.inside, s.bias, i + 1 < c.spreads.size() ? "," : "");
  }
  return out + "  ]},\n";
}

llvm::Error readSpreads(const JsonFile &file, Calibration &c) {
  if (!file.root().contains("spreads"))
    return llvm::Error::success();
  auto object = file.object(file.root(), "spreads");
  if (!object)
    return object.takeError();
  auto files = file.strings(*object, "files");
  if (!files)
    return files.takeError();
  c.spreadFiles = std::move(*files);
  auto kinds = object->find("kinds");
  if (kinds == object->end() || !kinds->is_array())
    return file.errorAt("spreads", "'spreads' needs an array 'kinds'");
  for (const json &entry : *kinds) {
    constexpr std::string_view known[] = {"kind", "sigma_ln", "rows", "inside", "bias"};
    if (!entry.is_object())
      return file.errorAt("kinds", "'kinds' must hold objects");
    if (auto error = file.expectKeys(entry, known, "a spread"))
      return error;
    KindSpread spread;
    auto kind = file.string(entry, "kind");
    if (!kind)
      return kind.takeError();
    spread.kind = *kind;
    double rows = 0;
    const std::pair<const char *, double *> numbers[] = {{"sigma_ln", &spread.sigmaLn},
                                                         {"rows", &rows},
                                                         {"inside", &spread.inside},
                                                         {"bias", &spread.bias}};
    for (auto [key, target] : numbers) {
      auto value = file.number(entry, key);
      if (!value)
        return value.takeError();
      *target = *value;
    }
    if (!(spread.sigmaLn > 0 && spread.sigmaLn <= mostSigmaLn && rows >= 1 && rows < 1e15))
      return file.errorAt(spread.kind,
                          fmt::format("spread of '{}': sigma_ln {} of {} rows, "
                                      "plausible is up to {} of 1 row or more",
                                      excerpt(spread.kind), spread.sigmaLn, rows, mostSigmaLn));
    spread.rows = int64_t(rows);
    c.spreads.push_back(std::move(spread));
  }
  return llvm::Error::success();
}

/// Missing in files of earlier versions.
llvm::Error readOptions(const JsonFile &file, FitOptions &options) {
  if (!file.root().contains("options"))
    return llvm::Error::success();
  auto object = file.object(file.root(), "options");
  if (!object)
    return object.takeError();
  auto sigma = file.number(*object, "prior_sigma");
  if (!sigma)
    return sigma.takeError();
  auto error = file.number(*object, "model_error");
  if (!error)
    return error.takeError();
  auto iterations = file.number(*object, "max_iterations");
  if (!iterations)
    return iterations.takeError();
  options.priorSigma = *sigma;
  options.modelError = *error;
  options.maxIterations = int(std::clamp(*iterations, 0.0, 1e9));
  if (auto it = object->find("all_parameters"); it != object->end() && it->is_boolean())
    options.all = it->get<bool>();
  return llvm::Error::success();
}

} // namespace

std::string toJson(const Calibration &c) {
  std::string out = "{\n";
  out += "  \"schema\": \"tilewright.calibration\",\n  \"schema_version\": 1,\n";
  out += fmt::format("  \"device\": {},\n", jsonText(c.device));
  if (!c.deviceDigest.empty())
    out += fmt::format("  \"device_digest\": {},\n", jsonText(c.deviceDigest));
  if (!c.transferredFrom.empty())
    out += fmt::format("  \"transferred_from\": {},\n", jsonText(c.transferredFrom));
  out += fmt::format("  \"data\": {{\"files\": {}", fileNames(c.files));
  out += fmt::format(", \"hash\": {}, \"rows\": {}, \"groups\": {}}},\n", jsonText(c.dataHash),
                     c.rows, c.groups);
  out += fmt::format("  \"options\": {{\"all_parameters\": {}, \"prior_sigma\": {:.6g}, "
                     "\"model_error\": {:.6g}, \"max_iterations\": {}}},\n",
                     c.options.all, c.options.priorSigma, c.options.modelError,
                     c.options.maxIterations);
  out += fmt::format("  \"fit\": {{\"iterations\": {}, \"converged\": {}, \"mape\": {:.6g}, "
                     "\"sigma_ln\": {:.6g}}},\n",
                     c.iterations, c.converged, c.mape, c.sigmaLn);
  out += spreadsText(c);
  out += "  \"parameters\": {\n";
  for (int i = 0; i < parameterCount; ++i) {
    const CalibratedParameter &p = c.parameters[i];
    const ParameterInfo &info = parameterInfos()[i];
    out +=
        fmt::format("    {}: {{\"value\": {:.10g}, \"unit\": {}, \"status\": \"{}\", "
                    "\"sigma_ln\": {:.4g}, \"prior\": {:.10g}, \"meaning\": {}}}{}\n",
                    jsonText(info.name), p.value, jsonText(info.unit), toString(p.status),
                    p.sigmaLn, p.prior, jsonText(info.meaning), i + 1 < parameterCount ? "," : "");
  }
  return out + "  }\n}\n";
}

llvm::Expected<Calibration> parseCalibration(std::string name, std::string text) {
  auto file = JsonFile::parse(std::move(name), std::move(text));
  if (!file)
    return file.takeError();
  if (auto error = file->expectSchema("tilewright.calibration", 1))
    return error;
  constexpr std::string_view known[] = {
      "schema",  "schema_version",   "device",      "device_digest",
      "data",    "transferred_from", "options",     "fit",
      "spreads", "parameters",       "tool_version"};
  if (auto error = file->expectKeys(file->root(), known, "a calibration"))
    return error;
  Calibration c;
  auto device = file->string(file->root(), "device");
  if (!device)
    return device.takeError();
  if (!isPlainName(*device))
    return file->errorAt(
        "device", fmt::format("'device' is '{}', which is no name of a device", excerpt(*device)));
  c.device = *device;
  if (file->root().contains("device_digest")) {
    auto digest = file->string(file->root(), "device_digest");
    if (!digest)
      return digest.takeError();
    c.deviceDigest = *digest;
  }
  if (file->root().contains("transferred_from")) {
    auto from = file->string(file->root(), "transferred_from");
    if (!from)
      return from.takeError();
    c.transferredFrom = *from;
  }
  if (auto error = readOptions(*file, c.options))
    return error;
  if (auto error = readSpreads(*file, c))
    return error;
  auto data = file->object(file->root(), "data");
  if (!data)
    return data.takeError();
  auto files = file->strings(*data, "files");
  if (!files)
    return files.takeError();
  c.files = std::move(*files);
  auto hash = file->string(*data, "hash");
  if (!hash)
    return hash.takeError();
  c.dataHash = *hash;
  auto fit = file->object(file->root(), "fit");
  if (!fit)
    return fit.takeError();
  struct {
    const json &object;
    const char *key;
    double value = 0;
  } numbers[] = {
      {*data, "rows"}, {*data, "groups"}, {*fit, "iterations"}, {*fit, "mape"}, {*fit, "sigma_ln"}};
  for (auto &number : numbers) {
    auto value = file->number(number.object, number.key);
    if (!value)
      return value.takeError();
    if (!(*value >= 0 && *value < 1e15))
      return file->errorAt(number.key, fmt::format("'{}' is {}, out of range", number.key, *value));
    number.value = *value;
  }
  c.rows = int64_t(numbers[0].value);
  c.groups = int64_t(numbers[1].value);
  c.iterations = int(std::min(numbers[2].value, 1e9));
  c.mape = numbers[3].value;
  c.sigmaLn = numbers[4].value;
  if (!(c.sigmaLn > 0 && c.sigmaLn <= mostSigmaLn))
    return file->errorAt(
        "sigma_ln",
        fmt::format("'sigma_ln' of the fit is {}, plausible is up to {}", c.sigmaLn, mostSigmaLn));
  if (auto it = fit->find("converged"); it != fit->end() && it->is_boolean())
    c.converged = it->get<bool>();

  auto parameters = file->object(file->root(), "parameters");
  if (!parameters)
    return parameters.takeError();
  std::vector<std::string_view> names;
  for (const ParameterInfo &info : parameterInfos())
    names.push_back(info.name);
  if (auto error = file->expectKeys(*parameters, names, "the model"))
    return error;
  for (const ParameterInfo &info : parameterInfos()) {
    std::string key(info.name);
    auto entry = file->object(*parameters, key);
    if (!entry)
      return entry.takeError();
    CalibratedParameter p;
    auto value = file->number(*entry, "value");
    auto prior = value ? file->number(*entry, "prior") : value.takeError();
    auto sigma = prior ? file->number(*entry, "sigma_ln") : prior.takeError();
    auto status = sigma ? file->string(*entry, "status") : sigma.takeError();
    if (!status) {
      Diag diag = takeDiag(status.takeError());
      return file->errorAt(key, fmt::format("'{}': {}", key, diag.message));
    }
    auto parsed = parseStatus(*status);
    if (!parsed)
      return file->errorAt(key, fmt::format("'{}': status '{}' is not known", key, *status));
    if (!(*value > 0 && *value < 1e15 && *prior > 1e-9 && *prior < 1e15))
      return file->errorAt(key, fmt::format("'{}' is {} with a prior of {}, they must be positive",
                                            key, *value, *prior));
    constexpr double slack = 2; // bounds may differ a little between versions
    if (double ratio = *value / *prior; !(ratio * slack >= info.low && ratio <= info.high * slack))
      return file->errorAt(key, fmt::format("'{}' is {:.4g}, {:.4g} times its prior; allowed are "
                                            "{} to {} times",
                                            key, *value, ratio, info.low, info.high));
    if (!(*sigma >= 0 && *sigma <= mostSigmaLn))
      return file->errorAt(
          key, fmt::format("'{}': sigma_ln is {}, plausible is 0 to {}", key, *sigma, mostSigmaLn));
    p.value = *value;
    p.prior = *prior;
    p.sigmaLn = *sigma;
    p.status = *parsed;
    c.parameters.push_back(p);
  }
  return c;
}

llvm::Expected<Calibration> loadCalibration(const std::string &nameOrPath,
                                            const std::string &folder) {
  auto path = findNamed("calibration", nameOrPath, folder);
  if (!path)
    return path.takeError();
  auto text = readFile(*path, 16ull << 20);
  if (!text)
    return text.takeError();
  return parseCalibration(*path, std::move(*text));
}

llvm::Expected<Calibration> defaultCalibration(const Device &device, const std::string &folder) {
  const std::vector<std::string> known = namesIn(folder);
  if (!std::binary_search(known.begin(), known.end(), device.name))
    return priorCalibration(device);
  return loadCalibration(device.name, folder);
}

llvm::Expected<Calibration> calibrationFor(const Device &device, const std::string &nameOrPath,
                                           const std::string &folder) {
  return nameOrPath.empty() ? defaultCalibration(device, folder)
                            : loadCalibration(nameOrPath, folder);
}

bool isFittedOn(const Calibration &calibration, const Device &device) {
  if (!calibration.deviceDigest.empty())
    return calibration.deviceDigest == device.digest;
  constexpr double rounding = 1e-4; // of priors in such a file
  const auto priors = toArray(priorParameters(device));
  for (size_t i = 0; i < priors.size(); ++i)
    if (std::abs(calibration.parameters[i].prior / priors[i] - 1) > rounding)
      return false;
  return calibration.device == device.name;
}

Calibration transferred(const Calibration &calibration, const Device &device) {
  Calibration c = calibration;
  c.deviceDigest = device.digest;
  if (isFittedOn(calibration, device))
    return c;
  auto priors = toArray(priorParameters(device));
  for (size_t i = 0; i < c.parameters.size(); ++i) {
    c.parameters[i].value *= priors[i] / c.parameters[i].prior;
    c.parameters[i].prior = priors[i];
  }
  c.device = device.name;
  if (c.transferredFrom.empty() && calibration.isFitted())
    c.transferredFrom = calibration.device == device.name
                            ? "another description of " + calibration.device
                            : calibration.device;
  return c;
}

Parameters parametersFor(const Calibration &calibration, const Device &device) {
  return transferred(calibration, device).values();
}

} // namespace tilewright
