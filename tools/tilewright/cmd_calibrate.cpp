// tilewright calibrate: fits parameters to measurements, transfers them to another device, and
// designs which measurements to take first.
#include "tools/tilewright/device_choices.h"
#include "tools/tilewright/evaluation_output.h"
#include "tools/tilewright/measured_input.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "tools/tilewright/plan_candidates.h"
#endif

#include <filesystem>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::cli {

namespace {

struct CalibrateArguments : MeasuredOptions {
  std::string calibration, transferTo, plansTo;
  std::vector<std::string> spreads; ///< measurements of our own kernels
  size_t design = 0;
  FitOptions fit;
};

FitOptions fitOptions(const CalibrateArguments &options) {
  FitOptions fit = options.fit;
  fit.all = options.allParameters;
  return fit;
}

/// Prints a calibration, and writes it where a file is named; one of a fit that did not end is
/// neither.
int showCalibration(const CalibrateArguments &options, const Calibration &calibration) {
  if (calibration.isFitted() && !calibration.converged)
    return fail(
        makeError(DiagClass::Unsupported,
                  "the fit did not converge in {} iterations over {} rows in {} groups, and "
                  "nothing is written: look at the rows with evaluate --rows",
                  calibration.iterations, calibration.rows, calibration.groups));
  const std::string text = withToolVersion(toJson(calibration));
  if (!options.out.empty())
    if (llvm::Error error = writeFileAtomically(options.out, text))
      return fail(std::move(error));
  if (options.json) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return Fine;
  }
  if (!calibration.files.empty())
    say("device {}: {} rows in {} groups, {} iterations{}, MAPE {}%\n", calibration.device,
        calibration.rows, calibration.groups, calibration.iterations,
        calibration.converged ? "" : " (not converged)", percent(calibration.mape));
  say("{}", parameterTable(calibration).text());
  std::string weak;
  for (size_t i = 0; i < calibration.parameters.size(); ++i)
    if (calibration.parameters[i].status == CalibratedParameter::Status::NotIdentified)
      weak += fmt::format("{}{}", weak.empty() ? "" : ", ", parameterInfos()[i].name);
  if (!weak.empty())
    say("not identified by these data, near their priors: {}\n", weak);
  return Fine;
}

int runTransfer(const CalibrateArguments &options) {
  llvm::Expected<Device> from = loadDevice(options.device, dataFolder("devices"));
  if (!from)
    return failInput(from.takeError());
  llvm::Expected<Device> to = loadDevice(options.transferTo, dataFolder("devices"));
  if (!to)
    return failInput(to.takeError());
  llvm::Expected<Calibration> calibration =
      calibrationFor(*from, options.calibration, dataFolder("calibrations"));
  if (!calibration)
    return failInput(calibration.takeError());
  if (!options.files.empty()) {
    llvm::Expected<MeasuredInput> input = readMeasured(options);
    if (!input)
      return failInput(input.takeError());
    calibration = calibrate(input->data, input->device, fitOptions(options));
    if (!calibration)
      return failInput(calibration.takeError());
  }
  if (!options.json)
    say("calibration of {} carried over to {}: each parameter keeps its ratio to what the "
        "description says\n",
        calibration->device, to->name);
  return showCalibration(options, transferred(*calibration, *to));
}

/// Lists the rows to measure; with --out, also fits to them alone.
int runDesign(const CalibrateArguments &options) {
  llvm::Expected<MeasuredInput> input =
      readMeasured(options, options.out.empty() ? Times::Optional : Times::Needed);
  if (!input)
    return failInput(input.takeError());
  std::vector<size_t> all(input->data.rows.size());
  std::iota(all.begin(), all.end(), size_t(0));
  std::vector<size_t> rows = designMeasurements(input->data, all, input->device, options.design);
  if (!options.out.empty()) {
    llvm::Expected<Calibration> calibration =
        calibrate(input->data, rows, input->device, fitOptions(options));
    if (!calibration)
      return failInput(calibration.takeError());
    return showCalibration(options, *calibration);
  }
  if (options.json) {
    Json document = newDocument("calibrate.design");
    document["device"] = input->device.name;
    document["rows"] = Json::array();
    for (size_t i : rows) {
      Json row = rowJson(input->data.rows[i]);
      row["file"] = input->data.files[input->data.rows[i].table];
      row["line"] = input->data.rows[i].line;
      document["rows"].push_back(std::move(row));
    }
    print(document);
    return Fine;
  }
  for (size_t i : rows) {
    const DatasetRow &row = input->data.rows[i];
    say("{}:{}: {}", input->data.files[row.table], row.line, row.identity.group);
    for (size_t k = 0; k < row.choice.values.size(); ++k)
      say(" {}={}", (*row.choice.names)[k], row.choice.values[k]);
    say("\n");
  }
  return Fine;
}

#ifdef TILEWRIGHT_HAS_CODEGEN
bool isPlanFile(const std::string &path) { return path.ends_with(".json"); }

/// Chooses plans to measure next, given the existing measurements.
int runPlanDesign(const CalibrateArguments &options) {
  MeasuredOptions measured = options;
  std::vector<std::string> files;
  std::copy_if(options.files.begin(), options.files.end(), std::back_inserter(files), isPlanFile);
  std::erase_if(measured.files, isPlanFile);
  if (!options.out.empty())
    return failInput(makeError(DiagClass::BadInput,
                               "--out fits to measurements, and plans have none yet; leave out {}",
                               files.front()));
  llvm::Expected<MeasuredInput> input = readMeasured(measured);
  if (!input)
    return failInput(input.takeError());
  std::vector<size_t> known(input->data.rows.size());
  std::iota(known.begin(), known.end(), size_t(0));
  llvm::Expected<PlanCandidates> candidates = addCandidates(files, input->device, input->data);
  if (!candidates)
    return failInput(candidates.takeError());
  std::vector<size_t> rows = designMeasurements(input->data, candidates->rows, input->device,
                                                options.design, fitOptions(options), known);
  std::error_code error;
  if (!options.plansTo.empty()) {
    std::filesystem::create_directories(options.plansTo, error);
    if (error)
      return fail(makeError(DiagClass::BadInput, "{}: cannot make the folder: {}", options.plansTo,
                            error.message()));
  }
  Json document = newDocument("calibrate.design");
  document["device"] = input->device.name;
  document["measured"] = known.size();
  document["rows"] = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    const DatasetRow &row = input->data.rows[rows[i]];
    size_t candidate = rows[i] - known.size(); // candidates come after measured rows
    const std::string &file = candidates->files[candidate];
    if (!options.plansTo.empty()) {
      std::string name = std::filesystem::path(file).filename().string();
      if (llvm::Error failed = writeFileAtomically(
              fmt::format("{}/{:04}_{}", options.plansTo, i, name), candidates->texts[candidate]))
        return fail(std::move(failed));
    }
    Json entry = rowJson(row);
    entry["file"] = file;
    document["rows"].push_back(std::move(entry));
    if (!options.json)
      say("{}\n", file);
  }
  document["unused"] = candidates->unused;
  if (options.json)
    print(document);
  else
    for (const std::string &line : candidates->unused)
      note("{}", line);
  return rows.empty() ? AnswerIsNo : Fine;
}
#endif

void printLeftOut(const Dataset &data) {
  for (const std::string &line : leftOutNotes(data.leftOut, data.files))
    note("{}", line);
}

/// Takes the spreads of our own kernels from other measurements than the fit's.
llvm::Error takeSpreads(const CalibrateArguments &options, const Device &device,
                        Calibration &calibration) {
  MeasuredOptions measured = options;
  measured.files = options.spreads;
  llvm::Expected<MeasuredInput> input = readMeasured(measured);
  if (!input)
    return input.takeError();
  printLeftOut(input->data);
  calibration.spreads = spreadsByKind(input->data, device, calibration);
  calibration.spreadFiles = input->data.files;
  if (calibration.spreads.empty())
    return makeError(DiagClass::BadInput,
                     "--spreads: none of the {} priced rows is of a kernel of our own; give files "
                     "of tilewright-profile",
                     input->data.rows.size());
  return llvm::Error::success();
}

/// Keeps a calibration and takes its spreads anew.
int runSpreads(const CalibrateArguments &options) {
  llvm::Expected<AskedDevice> asked = askedDevice(options.device, options.calibration);
  if (!asked)
    return failInput(asked.takeError());
  Calibration calibration = transferred(asked->calibration, asked->device);
  if (llvm::Error error = takeSpreads(options, asked->device, calibration))
    return failInput(std::move(error));
  return showCalibration(options, calibration);
}

int runCalibrate(const CalibrateArguments &options) {
  if (options.files.empty() && !options.spreads.empty())
    return runSpreads(options);
  if (!options.transferTo.empty())
    return runTransfer(options);
#ifdef TILEWRIGHT_HAS_CODEGEN
  bool hasPlans = std::any_of(options.files.begin(), options.files.end(), isPlanFile);
  if (options.design && hasPlans)
    return runPlanDesign(options);
  if (!options.plansTo.empty())
    return failInput(makeError(DiagClass::BadInput, "--plans needs plan files to choose from"));
#endif
  if (options.design)
    return runDesign(options);
  llvm::Expected<MeasuredInput> input = readMeasured(options);
  if (!input)
    return failInput(input.takeError());
  printLeftOut(input->data);
  llvm::Expected<Calibration> calibration =
      calibrate(input->data, input->device, fitOptions(options));
  if (!calibration)
    return failInput(calibration.takeError());
  if (!options.spreads.empty())
    if (llvm::Error error = takeSpreads(options, input->device, *calibration))
      return failInput(std::move(error));
  return showCalibration(options, *calibration);
}

} // namespace

void addCalibrate(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<CalibrateArguments>();
  CLI::App *command =
      app.add_subcommand("calibrate", "Fit the cost model's parameters to measurements");
  command->footer(
      "Examples:\n"
      "  tilewright calibrate measured.csv --device h100-sxm --out my-h100.json\n"
      "  tilewright calibrate planned.csv --design 16\n"
      "  tilewright calibrate plans/*.json measured.csv --design 64 --plans next\n"
      "  tilewright calibrate --device h100-sxm --transfer-to h200-sxm --out h200.json\n"
      "Exit code 1: the fit does not converge; nothing is written.");
  addMeasuredOptions(command, *options);
  CLI::Option *design =
      command
          ->add_option(
              "--design", options->design,
              "Choose so many of the rows to measure first and list them, best first; their "
              "times are not read. With --out, fit to them alone. Where FILEs are plans (.json, as "
              "explore --samples writes them), choose among these, given the measurements (.csv)")
          ->check(CLI::Range(1, 100000));
  CLI::Option *transfer =
      command
          ->add_option("--transfer-to", options->transferTo,
                       "Carry the calibration over to another device of the architecture, by its "
                       "description")
          ->excludes(design);
  command->add_option("--calibration", options->calibration,
                      "With --transfer-to, or --spreads without FILE: the calibration to take "
                      "(default: the device's, or a fit to FILE)");
  command
      ->add_option("--spreads", options->spreads,
                   "Measurements of our own kernels, of which the spread of each kind of kernel "
                   "is taken, but no parameter; without FILE, for a calibration that there is")
      ->excludes(design)
      ->excludes(transfer);
  command->add_option("-o,--out", options->out, "Write the calibration to a file");
  command
      ->add_option("--max-iterations", options->fit.maxIterations,
                   "Give a fit up that has not converged by then")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
#ifdef TILEWRIGHT_HAS_CODEGEN
  command
      ->add_option("--plans", options->plansTo,
                   "With --design: folder that gets the chosen plans, numbered, for emit")
      ->needs(design);
#endif
  command->callback([options, &selection] {
    if (options->files.empty() && options->transferTo.empty() && options->spreads.empty())
      throw CLI::RequiredError("FILE");
    selection.run = [options] { return runCalibrate(*options); };
  });
}

} // namespace tilewright::cli
