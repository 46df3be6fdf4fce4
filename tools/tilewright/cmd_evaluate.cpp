// tilewright evaluate and calibrate: the cost model against measurements.
#include "costmodel/evaluation.h"
#include "tools/tilewright/command.h"

#include <fmt/format.h>

namespace tilewright::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string device = "h100-sxm", calibration, templates, out;
  bool json = false, leftOut = false, all = false, rows = false;
  int folds = 5;
};

struct Inputs {
  Device device;
  Dataset data;
};

llvm::Expected<Inputs> readInputs(const Options &options) {
  llvm::Expected<Device> device = loadDevice(options.device, dataFolder("devices"));
  if (!device)
    return device.takeError();
  llvm::Expected<TemplateLibrary> templates = TemplateLibrary::load(dataFolder("templates"));
  if (!templates)
    return templates.takeError();
  if (!options.templates.empty())
    if (llvm::Error error = templates->addFolder(options.templates))
      return error;
  llvm::Expected<Dataset> data = loadDataset(options.files, *templates, *device);
  if (!data)
    return data.takeError();
  return Inputs{std::move(*device), std::move(*data)};
}

std::string percent(double fraction) { return fmt::format("{:.1f}", 100 * fraction); }

void printReport(const EvaluationReport &report) {
  fmt::print("device {}, calibration {}{}\n", report.device, report.calibration,
             report.folds ? fmt::format(" ({} folds, whole shapes left out)", report.folds) : "");
  fmt::print("{:<22} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>7} {:>7} {:>8} {:>8}\n", "family",
             "rows", "groups", "MAPE%", "med%", "p90%", "bias%", "top1%", "worst1%", "top5%",
             "top10%", "rand5%");
  auto line = [](const FamilyMetrics &m) {
    fmt::print("{:<22} {:>6} {:>6} ", m.family, m.rows, m.groups);
    if (m.rows == 0)
      fmt::print("{} rows without a price\n", m.unpricedRows);
    else
      fmt::print("{:>6} {:>6} {:>6} {:>6} {:>7} {:>7} {:>7} {:>8} {:>8}\n", percent(m.mape),
                 percent(m.medianApe), percent(m.p90Ape), percent(m.bias), percent(m.oracleAt1),
                 percent(m.worstAt1), percent(m.oracleAt5), percent(m.oracleAt10),
                 percent(m.randomAt5));
  };
  for (const FamilyMetrics &family : report.families)
    line(family);
  line(report.overall);
  for (const UnpricedRows &rows : report.unpriced)
    fmt::print("not priced: {} rows of {}: {}\n", rows.rows, rows.family, rows.reason);
  if (report.failedRows)
    fmt::print("left out: {} rows that failed when they were measured\n", report.failedRows);
}

Json rowJson(const DatasetRow &row, double predictedNs) {
  Json plan = Json::object();
  for (size_t i = 0; i < row.choice.values.size(); ++i)
    plan[(*row.choice.names)[i]] = row.choice.values[i];
  plan["instruction"] = toString(row.choice.instruction);
  return {{"family", row.identity.family},
          {"group", row.identity.group},
          {"plan", std::move(plan)},
          {"predicted_ns", predictedNs},
          {"measured_ns", row.timeNs}};
}

int runEvaluate(const Options &options) {
  llvm::Expected<Inputs> inputs = readInputs(options);
  if (!inputs)
    return failInput(inputs.takeError());
  EvaluationReport report;
  if (options.leftOut) {
    FitOptions fit;
    fit.all = options.all;
    llvm::Expected<EvaluationReport> crossed =
        evaluateLeftOut(inputs->data, inputs->device, fit, options.folds);
    if (!crossed)
      return failInput(crossed.takeError());
    report = std::move(*crossed);
  } else {
    llvm::Expected<Calibration> calibration =
        options.calibration.empty()
            ? defaultCalibration(inputs->device, dataFolder("calibrations"))
            : loadCalibration(options.calibration, dataFolder("calibrations"));
    if (!calibration)
      return failInput(calibration.takeError());
    report = evaluate(inputs->data, inputs->device, *calibration);
  }
  if (options.json || !options.out.empty()) {
    Json document = Json::parse(toJson(report));
    if (options.rows) {
      document["rows"] = Json::array();
      for (size_t i = 0; i < inputs->data.rows.size(); ++i)
        document["rows"].push_back(rowJson(inputs->data.rows[i], report.predictedNs[i]));
    }
    if (!options.out.empty())
      if (llvm::Error error = writeFileAtomically(options.out, dump(document)))
        return fail(std::move(error));
    if (options.json) {
      print(document);
      return Fine;
    }
  }
  printReport(report);
  return Fine;
}

int runCalibrate(const Options &options) {
  llvm::Expected<Inputs> inputs = readInputs(options);
  if (!inputs)
    return failInput(inputs.takeError());
  FitOptions fit;
  fit.all = options.all;
  llvm::Expected<Calibration> calibration = calibrate(inputs->data, inputs->device, fit);
  if (!calibration)
    return failInput(calibration.takeError());
  if (!options.out.empty())
    if (llvm::Error error = writeFileAtomically(options.out, toJson(*calibration)))
      return fail(std::move(error));
  if (options.json) {
    std::string text = toJson(*calibration);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return Fine;
  }
  fmt::print("device {}: {} rows in {} groups, {} iterations{}, MAPE {}%\n", calibration->device,
             calibration->rows, calibration->groups, calibration->iterations,
             calibration->converged ? "" : " (not converged)", percent(calibration->mape));
  fmt::print("{:<22} {:>10} {:<8} {:>7} {:>10}  {:<14} {}\n", "parameter", "value", "unit", "+-%",
             "prior", "status", "meaning");
  for (size_t i = 0; i < calibration->parameters.size(); ++i) {
    const CalibratedParameter &parameter = calibration->parameters[i];
    const ParameterInfo &info = parameterInfos()[i];
    fmt::print("{:<22} {:>10.3g} {:<8} {:>7} {:>10.3g}  {:<14} {}\n", info.name, parameter.value,
               info.unit,
               parameter.status == CalibratedParameter::Status::Fitted
                   ? fmt::format("{:.1f}", 100 * parameter.sigmaLn)
                   : "",
               parameter.prior, toString(parameter.status), info.meaning);
  }
  return Fine;
}

void addCommon(CLI::App *command, Options &options) {
  command->add_option("FILE", options.files, "Measurements: .csv or .csv.gz")->required();
  command->add_option("--device", options.device, "Device name or JSON file")
      ->capture_default_str();
  command->add_option("--templates", options.templates, "Folder with more families");
  command->add_flag("--all-parameters", options.all,
                    "Fit also the parameters that the data hardly identify");
  command->add_flag("--json", options.json, "Print JSON");
}

} // namespace

void addEvaluate(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      app.add_subcommand("evaluate", "Accuracy of predictions against measurements");
  command->footer("Example:\n"
                  "  tilewright evaluate datasets/measurements/h100-sxm/gemm.csv.gz --left-out");
  addCommon(command, *options);
  auto *calibration =
      command->add_option("--calibration", options->calibration,
                          "Calibration name or JSON file (default: the device's, else priors)");
  command
      ->add_flag("--left-out", options->leftOut,
                 "Price each shape by a fit that has not seen it (cross-validation)")
      ->excludes(calibration);
  command->add_option("--folds", options->folds, "With --left-out")
      ->capture_default_str()
      ->check(CLI::Range(2, 100));
  command->add_flag("--rows", options->rows, "Write each row's times into the JSON, too");
  command->add_option("--out", options->out, "Also write the JSON to a file");
  command->callback(
      [options, &selection] { selection.run = [options] { return runEvaluate(*options); }; });
}

void addCalibrate(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      app.add_subcommand("calibrate", "Fit the cost model's parameters to measurements");
  command->footer("Example:\n"
                  "  tilewright calibrate measured.csv --device h100-sxm --out my-h100.json");
  addCommon(command, *options);
  command->add_option("--out", options->out, "Write the calibration to a file");
  command->callback(
      [options, &selection] { selection.run = [options] { return runCalibrate(*options); }; });
}

} // namespace tilewright::cli
