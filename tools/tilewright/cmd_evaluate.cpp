// tilewright evaluate: the cost model and classical baselines against measurements.
#include "costmodel/counters.h"
#include "tools/tilewright/ablation_output.h"
#include "tools/tilewright/measured_input.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

struct EvaluateArguments : MeasuredOptions {
  std::string calibration, baseline;
  bool leftOut = false, familyOut = false, noMeasurement = false, learningCurve = false,
       ablation = false;
  bool rows = false, markdown = false, counters = false;
  std::vector<std::string> merged; ///< "NAME=FAMILY,FAMILY,…"
  int folds = 5, draws = 10, thinning = 4;
};

EvaluationProgress shownAs(Progress &progress) {
  return [&progress](size_t done, size_t total) { progress.update(done, total); };
}

llvm::Expected<EvaluationReport> reportFor(const EvaluateArguments &options,
                                           const MeasuredInput &input) {
  FitOptions fit;
  fit.all = options.allParameters;
  Progress progress(options.familyOut ? "families left out" : "folds left out");
  if (options.leftOut)
    return evaluateLeftOut(input.data, input.device, fit, options.folds, shownAs(progress));
  if (options.familyOut)
    return evaluateFamilyOut(input.data, input.device, fit, shownAs(progress));
  if (options.noMeasurement)
    return evaluatePrior(input.data, input.device);
  if (!options.baseline.empty())
    return evaluateBaseline(input.data, input.device, *parseBaseline(options.baseline));
  llvm::Expected<Calibration> calibration =
      calibrationFor(input.device, options.calibration, dataFolder("calibrations"));
  if (!calibration)
    return calibration.takeError();
  return evaluate(input.data, input.device, *calibration);
}

Json curveJson(const LearningCurve &curve) {
  Json document = newDocument("evaluate.learning_curve");
  document["folds"] = curve.folds;
  document["draws"] = curve.draws;
  document["all_mape"] = curve.all.overall.mape;
  document["points"] = Json::array();
  for (const LearningPoint &p : curve.points) {
    Json families = Json::array();
    for (const FamilyMetrics &family : p.designedFamilies)
      if (family.rows)
        families.push_back({{"family", family.family}, {"mape", family.mape}});
    document["points"].push_back(
        {{"measurements", p.measurements},
         {"designed",
          {{"mape", p.designed.mape},
           {"ratio_to_all", p.designed.mape / std::max(curve.all.overall.mape, 1e-12)},
           {"oracle_at_1", p.designed.oracleAt1},
           {"oracle_at_5", p.designed.oracleAt5},
           {"families", std::move(families)}}},
         {"random",
          {{"mape_median", p.randomMape},
           {"mape_lowest", p.randomLow},
           {"mape_highest", p.randomHigh},
           {"oracle_at_1_median", p.randomOracleAt1},
           {"oracle_at_5_median", p.randomOracleAt5}}}});
  }
  return document;
}

int runLearningCurve(const EvaluateArguments &options, const MeasuredInput &input) {
  LearningOptions learning;
  learning.folds = options.folds;
  learning.draws = options.draws;
  learning.fit.all = options.allParameters;
  Progress progress("points of the curve");
  learning.progress = shownAs(progress);
  llvm::Expected<LearningCurve> curve = learningCurve(input.data, input.device, learning);
  if (!curve)
    return failInput(curve.takeError());
  if (!options.out.empty())
    if (llvm::Error error = writeFileAtomically(options.out, dump(curveJson(*curve))))
      return fail(std::move(error));
  if (options.json) {
    print(curveJson(*curve));
    return Fine;
  }
  TextTable points = curveTable(*curve), families = curveFamilies(*curve);
  say("device {}: calibrated on so many measurements of other shapes, {} folds; random: "
      "median and range of {} draws\n\n{}\nMAPE % with designed measurements\n\n{}",
      input.device.name, curve->folds, curve->draws,
      options.markdown ? points.markdown() : points.text(),
      options.markdown ? families.markdown() : families.text());
  return Fine;
}

/// Grouped families: "NAME=FAMILY,FAMILY,…".
llvm::Expected<FamilyClass> parseMerged(const Dataset &data, const std::string &text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    return makeError(DiagClass::BadInput, "--merge '{}' is not NAME=FAMILY,FAMILY,…", text);
  FamilyClass merged{text.substr(0, equals), CLI::detail::split(text.substr(equals + 1), ',')};
  auto isKnown = [&](const std::string &family) {
    return std::any_of(data.rows.begin(), data.rows.end(),
                       [&](const DatasetRow &row) { return row.identity.family == family; }) ||
           std::any_of(data.unpriced.begin(), data.unpriced.end(),
                       [&](const UnpricedRows &rows) { return rows.family == family; });
  };
  for (const std::string &family : merged.families)
    if (!isKnown(family))
      return makeError(DiagClass::BadInput, "--merge '{}': no rows of family '{}'", text, family);
  return merged;
}

llvm::Expected<std::vector<FamilyClass>> parseAllMerged(const EvaluateArguments &options,
                                                        const Dataset &data) {
  std::vector<FamilyClass> all;
  for (const std::string &text : options.merged) {
    auto merged = parseMerged(data, text);
    if (!merged)
      return merged.takeError();
    all.push_back(std::move(*merged));
  }
  return all;
}

int runAblation(const EvaluateArguments &options, const MeasuredInput &input) {
  auto classes = parseAllMerged(options, input.data);
  if (!classes)
    return failInput(classes.takeError());
  AblationOptions ablation;
  ablation.folds = options.folds;
  ablation.thinning = options.thinning;
  ablation.fit.all = options.allParameters;
  Progress progress("terms left out");
  ablation.progress = shownAs(progress);
  auto report = evaluateAblations(input.data, input.device, ablation);
  if (!report)
    return failInput(report.takeError());
  AblationView view(input.data, input.device, *report, std::move(*classes));
  if (!options.out.empty())
    if (llvm::Error error = writeFileAtomically(options.out, dump(view.json())))
      return fail(std::move(error));
  if (options.json) {
    print(view.json());
    return Fine;
  }
  TextTable table = view.table();
  say("{}\n\n{}", view.head(), options.markdown ? table.markdown() : table.text());
  return Fine;
}

/// Errors of one file's launches; null where there is no launch.
Json countersJson(const std::string &file, const CounterReport &report) {
  Json levels = Json::array();
  for (TrafficLevel level : trafficLevels) {
    const bool has = !report.errors.empty();
    const LevelError error = has ? report.errors[size_t(level)] : LevelError{level};
    auto orNull = [&](double value) { return has ? Json(value) : Json(); };
    levels.push_back({{"level", toString(level)},
                      {"median_ape", orNull(error.medianApe)},
                      {"worst_ape", orNull(error.worstApe)},
                      {"bias", orNull(error.bias)}});
  }
  Json unpriced = Json::array();
  for (const UnpricedRows &rows : report.unpriced)
    unpriced.push_back({{"family", rows.family}, {"reason", rows.reason}, {"rows", rows.rows}});
  return {{"file", file},
          {"launches", report.launches.size()},
          {"unpriced_rows", report.unpricedRows()},
          {"unpriced", std::move(unpriced)},
          {"levels", std::move(levels)}};
}

void printCounters(const std::string &file, const CounterReport &report, bool markdown) {
  if (report.errors.empty())
    say("{}: no launch has a prediction, nothing is compared\n", file);
  TextTable text;
  text.head = {"bytes", "launches", "median error %", "worst %", "bias %"};
  for (const LevelError &e : report.errors)
    text.rows.push_back({std::string(toString(e.level)), fmt::format("{}", report.launches.size()),
                         percent(e.medianApe), percent(e.worstApe),
                         fmt::format("{:+.1f}", 100 * e.bias)});
  if (!text.rows.empty())
    say("{}", markdown ? text.markdown() : text.text());
  for (const UnpricedRows &rows : report.unpriced)
    say("{}not priced: {} rows of {}: {}\n", markdown ? "- " : "", rows.rows, rows.family,
        rows.reason);
}

/// Predicted bytes against hardware counters.
int runCounters(const EvaluateArguments &options) {
  llvm::Expected<Device> device = loadDevice(options.device, dataFolder("devices"));
  if (!device)
    return failInput(device.takeError());
  llvm::Expected<TemplateLibrary> templates = TemplateLibrary::load(dataFolder("templates"));
  if (!templates)
    return failInput(templates.takeError());
  if (!options.templates.empty())
    if (llvm::Error error = templates->addFolder(options.templates))
      return failInput(std::move(error));
  Json document = newDocument("evaluate.counters");
  document["files"] = Json::array();
  size_t launches = 0;
  for (const std::string &file : options.files) {
    llvm::Expected<Table> table = Table::read(file);
    if (!table)
      return failInput(table.takeError());
    llvm::Expected<CounterReport> report = compareCounters(*table, *templates, *device);
    if (!report)
      return failInput(report.takeError());
    document["files"].push_back(countersJson(file, *report));
    launches += report->launches.size();
    if (!options.json)
      printCounters(file, *report, options.markdown);
  }
  if (options.json)
    print(document);
  return launches > 0 ? Fine : AnswerIsNo;
}

int runEvaluate(const EvaluateArguments &options) {
  if (options.counters)
    return runCounters(options);
  llvm::Expected<MeasuredInput> input = readMeasured(options);
  if (!input)
    return failInput(input.takeError());
  if (options.learningCurve)
    return runLearningCurve(options, *input);
  if (options.ablation)
    return runAblation(options, *input);
  llvm::Expected<EvaluationReport> report = reportFor(options, *input);
  if (!report)
    return failInput(report.takeError());
  auto classes = parseAllMerged(options, input->data);
  if (!classes)
    return failInput(classes.takeError());
  for (const FamilyClass &merged : *classes)
    report->families.push_back(
        metricsOfFamilies(merged.name, input->data, *report, merged.families));
  if (options.json || !options.out.empty()) {
    Json document = Json::parse(withToolVersion(toJson(*report)));
    if (options.rows) {
      document["rows"] = Json::array();
      for (size_t i = 0; i < input->data.rows.size(); ++i) {
        Json row = rowJson(input->data.rows[i]);
        row["predicted_ns"] = report->predictedNs[i];
        row["measured_ns"] = input->data.rows[i].timeNs;
        document["rows"].push_back(std::move(row));
      }
    }
    if (!options.out.empty())
      if (llvm::Error error = writeFileAtomically(options.out, dump(document)))
        return fail(std::move(error));
    if (options.json) {
      print(document);
      return input->data.rows.empty() ? AnswerIsNo : Fine;
    }
  }
  TextTable table = metricsTable(*report);
  say("{}\n\n{}", describe(*report), options.markdown ? table.markdown() : table.text());
  std::vector<std::string> notes = notesOf(*report);
  if (!notes.empty())
    say("\n");
  for (const std::string &note : notes)
    say("{}{}\n", options.markdown ? "- " : "", note);
  return input->data.rows.empty() ? AnswerIsNo : Fine;
}

} // namespace

void addEvaluate(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<EvaluateArguments>();
  CLI::App *command =
      app.add_subcommand("evaluate", "Accuracy of predictions against measurements");
  command->footer("Examples:\n"
                  "  tilewright evaluate datasets/measurements/h100-sxm/gemm.csv.gz --left-out\n"
                  "  tilewright evaluate mine.csv --device h200-sxm --calibration h100-sxm\n"
                  "Exit code 1: no row has a price.");
  addMeasuredOptions(command, *options);
  command->get_option("FILE")->required();
  CLI::Option_group *how = command->add_option_group("How rows are priced (default: by the "
                                                     "device's calibration, else its priors)");
  how->add_option("--calibration", options->calibration,
                  "Calibration name or JSON file; one of another device is carried over by the "
                  "descriptions of both");
  how->add_flag("--left-out", options->leftOut,
                "Each shape by a fit that has not seen it (cross-validation)");
  how->add_flag("--family-out", options->familyOut, "Each family by a fit to the other families");
  how->add_flag("--no-measurement", options->noMeasurement, "By the device description alone");
  how->add_option("--baseline", options->baseline, "By a classical model")
      ->check(CLI::IsMember({"roofline", "traffic-waves", "xla"}));
  how->add_flag("--learning-curve", options->learningCurve,
                "By fits to a few measurements of other shapes, designed and random");
  how->add_flag("--ablation", options->ablation,
                "Each shape by fits that have not seen it, without each term of the formula in "
                "turn: what the term is worth");
  how->add_flag("--counters", options->counters,
                "Predicted bytes against hardware counters in FILE, in place of times");
  how->require_option(0, 1);
  command->add_option("--merge", options->merged,
                      "NAME=FAMILY,FAMILY,…: also the numbers of families taken together");
  command->add_option("--folds", options->folds, "With --left-out, --learning-curve and --ablation")
      ->capture_default_str()
      ->check(CLI::Range(2, 100));
  command->add_option("--draws", options->draws, "Random draws with --learning-curve")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--thinning", options->thinning,
                   "With --ablation: fits see one of so many configurations of a problem")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_flag("--markdown", options->markdown, "Print Markdown tables");
  command->add_flag("--rows", options->rows, "Write each row's times into the JSON, too");
  command->add_option("-o,--out", options->out, "Also write the JSON to a file");
  command->callback(
      [options, &selection] { selection.run = [options] { return runEvaluate(*options); }; });
}

} // namespace tilewright::cli
