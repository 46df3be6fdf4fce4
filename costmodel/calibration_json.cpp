#include "costmodel/calibration.h"
#include "costmodel/json_reader.h"

#include <algorithm>
#include <filesystem>

using nlohmann::json;

namespace tilewright {

namespace {

using Status = CalibratedParameter::Status;

std::optional<Status> parseStatus(std::string_view text) {
  for (Status status : {Status::Prior, Status::Fixed, Status::Fitted, Status::NotIdentified})
    if (toString(status) == text)
      return status;
  return std::nullopt;
}

/// JSON string; names and paths may hold anything.
std::string jsonText(std::string_view text) {
  return json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Files of earlier versions do not have them.
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
  if (!c.transferredFrom.empty())
    out += fmt::format("  \"transferred_from\": {},\n", jsonText(c.transferredFrom));
  out += "  \"data\": {\"files\": [";
  for (size_t i = 0; i < c.files.size(); ++i)
    out += fmt::format("{}{}", i ? ", " : "",
                       jsonText(std::filesystem::path(c.files[i]).filename().string()));
  out += fmt::format("], \"hash\": {}, \"rows\": {}, \"groups\": {}}},\n", jsonText(c.dataHash),
                     c.rows, c.groups);
  out += fmt::format("  \"options\": {{\"all_parameters\": {}, \"prior_sigma\": {:.6g}, "
                     "\"model_error\": {:.6g}, \"max_iterations\": {}}},\n",
                     c.options.all, c.options.priorSigma, c.options.modelError,
                     c.options.maxIterations);
  out += fmt::format("  \"fit\": {{\"iterations\": {}, \"converged\": {}, \"mape\": {:.6g}, "
                     "\"sigma_ln\": {:.6g}}},\n",
                     c.iterations, c.converged, c.mape, c.sigmaLn);
  out += "  \"parameters\": {\n";
  for (int i = 0; i < parameterCount; ++i) {
    const CalibratedParameter &p = c.parameters[i];
    const ParameterInfo &info = parameterInfos()[i];
    out +=
        fmt::format("    {}: {{\"value\": {:.10g}, \"unit\": {}, \"status\": \"{}\", "
                    "\"sigma_ln\": {:.4g}, \"prior\": {:.6g}, \"meaning\": {}}}{}\n",
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
  Calibration c;
  auto device = file->string(file->root(), "device");
  if (!device)
    return device.takeError();
  c.device = *device;
  if (file->root().contains("transferred_from")) {
    auto from = file->string(file->root(), "transferred_from");
    if (!from)
      return from.takeError();
    c.transferredFrom = *from;
  }
  if (auto error = readOptions(*file, c.options))
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
  if (auto it = fit->find("converged"); it != fit->end() && it->is_boolean())
    c.converged = it->get<bool>();

  auto parameters = file->object(file->root(), "parameters");
  if (!parameters)
    return parameters.takeError();
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
    if (!(*value > 0 && *value < 1e15 && *prior > 0))
      return file->errorAt(key, fmt::format("'{}' is {}, it must be positive", key, *value));
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
  std::string path =
      nameOrPath.ends_with(".json") ? nameOrPath : folder + "/" + nameOrPath + ".json";
  auto text = readFile(path, 16ull << 20);
  if (!text)
    return text.takeError();
  return parseCalibration(path, std::move(*text));
}

llvm::Expected<Calibration> defaultCalibration(const Device &device, const std::string &folder) {
  std::string path = folder + "/" + device.name + ".json";
  std::error_code error;
  if (std::filesystem::exists(path, error))
    return loadCalibration(path);
  return priorCalibration(device);
}

Calibration transferred(const Calibration &calibration, const Device &device) {
  if (calibration.device == device.name)
    return calibration;
  Calibration c = calibration;
  auto priors = toArray(priorParameters(device));
  for (size_t i = 0; i < c.parameters.size(); ++i) {
    c.parameters[i].value *= priors[i] / c.parameters[i].prior;
    c.parameters[i].prior = priors[i];
  }
  c.device = device.name;
  if (c.transferredFrom.empty())
    c.transferredFrom = calibration.device;
  return c;
}

Parameters parametersFor(const Calibration &calibration, const Device &device) {
  return transferred(calibration, device).values();
}

} // namespace tilewright
