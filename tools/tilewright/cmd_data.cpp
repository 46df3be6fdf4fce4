// tilewright data: imports, lists and compares measurements.
#include "datasets/anonymous.h"
#include "datasets/foreign_csv.h"
#include "datasets/store.h"
#include "tools/tilewright/command_line.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace tilewright::cli {

namespace {

struct DataArguments {
  std::vector<std::string> files;
  std::string format = "auto", out;
  std::vector<std::string> where, first, second; ///< conditions, see StoreFilter
  size_t limit = 50;
  bool json = false, all = false;
};

int runDataImport(const DataArguments &options) {
  llvm::Expected<std::string> text = readFile(options.files[0]);
  if (!text)
    return failInput(text.takeError());
  ForeignFormat format = ForeignFormat::Auto;
  for (ForeignFormat each :
       {ForeignFormat::Rows, ForeignFormat::NsightCompute, ForeignFormat::Benchmark})
    if (toString(each) == options.format)
      format = each;
  llvm::Expected<std::string> rows = importForeign(options.files[0], *text, format);
  if (!rows)
    return failInput(rows.takeError());
  if (options.out.empty()) {
    std::fwrite(rows->data(), 1, rows->size(), stdout);
    return Fine;
  }
  if (llvm::Error error = writeFileAtomically(options.out, *rows))
    return fail(std::move(error));
  note("{} rows of {} with their times in ns", std::count(rows->begin(), rows->end(), '\n') - 1,
       options.files[0]);
  return Fine;
}

int runStrip(const DataArguments &options) {
  llvm::Expected<Table> table = Table::read(options.files[0]);
  if (!table)
    return failInput(table.takeError());
  llvm::Expected<std::string> text = withoutUuids(*table);
  if (!text)
    return failInput(text.takeError());
  if (options.out.empty()) {
    std::fwrite(text->data(), 1, text->size(), stdout);
    return Fine;
  }
  if (llvm::Error error = writeFileAtomically(options.out, *text))
    return fail(std::move(error));
  return Fine;
}

Json orNull(const std::optional<double> &number) { return number ? Json(*number) : Json(); }

llvm::Expected<StoreFilter> filterOf(const DataArguments &options,
                                     const std::vector<std::string> &more = {}) {
  StoreFilter filter;
  filter.all = options.all;
  for (const std::vector<std::string> *conditions : {&options.where, &more})
    for (const std::string &condition : *conditions)
      if (llvm::Error error = filter.add(condition))
        return error;
  return filter;
}

llvm::Expected<MeasurementStore> openStore(std::span<const std::string> paths) {
  llvm::Expected<MeasurementStore> store = MeasurementStore::open(paths);
  if (store && !store->note().empty())
    note("{}", store->note());
  return store;
}

/// "580.159 1980 MHz": the recorded conditions of a measurement.
std::string conditionsText(const std::string &device, const std::string &driver,
                           const std::optional<double> &clockMhz, const std::string &toolVersion) {
  std::vector<std::string> parts;
  if (!device.empty())
    parts.push_back(device);
  if (!driver.empty())
    parts.push_back("driver " + driver);
  if (clockMhz)
    parts.push_back(fmt::format("{:g} MHz", *clockMhz));
  if (!toolVersion.empty())
    parts.push_back("version " + toolVersion);
  return fmt::format("{}", fmt::join(parts, ", "));
}

llvm::Expected<Json> fileJson(MeasurementStore &store, const StoredFile &file) {
  Json entry{
      {"file", file.path}, {"rows", file.rows}, {"timed", file.timed}, {"failed", file.failed}};
  for (const char *column : {"kernel", "device", "driver", "sm_clock_mhz", "tool_version"}) {
    llvm::Expected<std::vector<std::string>> cells = store.distinct(file.path, column, 4);
    if (!cells)
      return cells.takeError();
    bool isCut = cells->size() > 3;
    if (isCut)
      cells->resize(3);
    // The list of kernels has its own name.
    entry[std::string_view(column) == "kernel" ? "kernels" : column] =
        fmt::format("{}{}", fmt::join(*cells, ", "), isCut ? ", …" : "");
  }
  entry["least_ns"] = orNull(file.leastNs);
  entry["most_ns"] = orNull(file.maxNs);
  return entry;
}

Json seriesJson(const StoredSeries &series) {
  return {{"device", series.device},
          {"driver", series.driver},
          {"sm_clock_mhz", orNull(series.clockMhz)},
          {"tool_version", series.toolVersion},
          {"regime", series.regime},
          {"plans", series.plans},
          {"times", series.times},
          {"least_ns", orNull(series.leastNs)},
          {"most_ns", orNull(series.maxNs)}};
}

int runList(const DataArguments &options) {
  llvm::Expected<StoreFilter> filter = filterOf(options);
  if (!filter)
    return failInput(filter.takeError());
  llvm::Expected<MeasurementStore> store = openStore(options.files);
  if (!store)
    return failInput(store.takeError());
  llvm::Expected<std::vector<StoredFile>> files = store->files();
  if (!files)
    return fail(files.takeError());
  llvm::Expected<std::vector<StoredSeries>> all = store->series(*filter);
  if (!all)
    return fail(all.takeError());
  Json document = newDocument("data.list");
  document["files"] = Json::array();
  document["series"] = Json::array();
  for (const StoredFile &file : *files) {
    llvm::Expected<Json> entry = fileJson(*store, file);
    if (!entry)
      return fail(entry.takeError());
    document["files"].push_back(*entry);
    if (options.json)
      continue;
    say("{}: {} times{}", file.path, file.timed,
        file.leastNs ? fmt::format(" from {} to {}", timeText(*file.leastNs), timeText(*file.maxNs))
                     : "");
    if (file.failed)
      say(", {} rows without a time", file.failed);
    say("\n");
    for (const char *column : {"device", "driver", "sm_clock_mhz", "tool_version", "kernels"}) {
      std::string text = (*entry)[column].get<std::string>();
      if (!text.empty())
        say("  {:<14} {}\n", column, text);
    }
  }
  for (const StoredSeries &series : *all) {
    document["series"].push_back(seriesJson(series));
    std::string conditions =
        conditionsText(series.device, series.driver, series.clockMhz, series.toolVersion);
    if (!options.json && !conditions.empty())
      say("{}{}{}: {} times of {} plans\n", conditions, series.regime.empty() ? "" : ", ",
          series.regime, series.times, series.plans);
  }
  if (options.json)
    print(document);
  return Fine;
}

int runShow(const DataArguments &options) {
  llvm::Expected<StoreFilter> filter = filterOf(options);
  if (!filter)
    return failInput(filter.takeError());
  llvm::Expected<MeasurementStore> store = openStore(options.files);
  if (!store)
    return failInput(store.takeError());
  llvm::Expected<std::vector<StoredRow>> rows = store->rows(*filter);
  if (!rows)
    return fail(rows.takeError());
  Json document = newDocument("data.show");
  document["found"] = rows->size();
  document["rows"] = Json::array();
  size_t shown = options.limit ? std::min(options.limit, rows->size()) : rows->size();
  for (size_t i = 0; i < shown; ++i) {
    const StoredRow &row = (*rows)[i];
    if (options.json) {
      document["rows"].push_back({{"file", row.file},
                                  {"line", row.line},
                                  {"plan_hash", row.planHash},
                                  {"kernel", row.kernel},
                                  {"key", row.key},
                                  {"device", row.device},
                                  {"driver", row.driver},
                                  {"sm_clock_mhz", orNull(row.clockMhz)},
                                  {"tool_version", row.toolVersion},
                                  {"time_ns", orNull(row.timeNs)},
                                  {"error", row.error},
                                  {"counts", row.counts}});
      continue;
    }
    std::string conditions = conditionsText(row.device, row.driver, row.clockMhz, row.toolVersion);
    say("{}:{}: {:>9}  {}  {}{}{}\n", row.file, row.line,
        row.timeNs ? timeText(*row.timeNs) : "no time", row.planHash, row.key,
        conditions.empty() ? "" : "  (" + conditions + ")",
        row.error.empty() ? "" : ": " + row.error);
  }
  if (options.json)
    print(document);
  else if (shown < rows->size())
    say("and {} more (--limit 0 shows all)\n", rows->size() - shown);
  return rows->empty() ? AnswerIsNo : Fine;
}

/// Times by measurement key, over the rows that `conditions` select.
llvm::Expected<std::map<std::string, double>> timesOf(const DataArguments &options,
                                                      const std::string &path,
                                                      const std::vector<std::string> &conditions) {
  llvm::Expected<StoreFilter> filter = filterOf(options, conditions);
  if (!filter)
    return filter.takeError();
  llvm::Expected<MeasurementStore> store = openStore({&path, 1});
  if (!store)
    return store.takeError();
  llvm::Expected<std::vector<StoredRow>> rows = store->rows(*filter);
  if (!rows)
    return rows.takeError();
  std::map<std::string, double> times;
  for (const StoredRow &row : *rows)
    if (row.timeNs && *row.timeNs > 0)
      times[row.key] = *row.timeNs;
  if (times.empty() && conditions.empty() && options.where.empty())
    return makeError(DiagClass::BadInput, "{}: no row has a time_ns; see tilewright data import",
                     path);
  return times;
}

int runDiff(const DataArguments &options) {
  std::map<std::string, double> times[2];
  for (size_t i = 0; i < 2; ++i) {
    auto read = timesOf(options, options.files[i], i == 0 ? options.first : options.second);
    if (!read)
      return failInput(read.takeError());
    times[i] = std::move(*read);
  }
  std::vector<std::pair<double, const std::string *>> changes; // ln(second / first)
  for (const auto &[key, time] : times[0])
    if (auto other = times[1].find(key); other != times[1].end())
      changes.emplace_back(std::log(other->second / time), &key);
  size_t only[2] = {times[0].size() - changes.size(), times[1].size() - changes.size()};
  std::sort(changes.begin(), changes.end(), [](const auto &a, const auto &b) {
    double x = std::abs(a.first), y = std::abs(b.first);
    return x != y ? x > y : *a.second < *b.second;
  });
  double sum = 0;
  for (const auto &[change, key] : changes)
    sum += change;
  double mean = changes.empty() ? 0 : std::exp(sum / static_cast<double>(changes.size()));
  Json document = newDocument("data.diff");
  document["first"] = options.files[0];
  document["second"] = options.files[1];
  document["compared"] = changes.size();
  document["only_first"] = only[0];
  document["only_second"] = only[1];
  document["mean_ratio"] = changes.empty() ? Json() : Json(mean);
  document["rows"] = Json::array();
  for (const auto &[change, key] : changes)
    document["rows"].push_back({{"key", *key},
                                {"first_ns", times[0][*key]},
                                {"second_ns", times[1][*key]},
                                {"ratio", std::exp(change)}});
  if (options.json) {
    print(document);
    return changes.empty() ? AnswerIsNo : Fine;
  }
  say("{} measurements in both, {} only in the first, {} only in the second\n", changes.size(),
      only[0], only[1]);
  if (!changes.empty())
    say("second / first: {:.3f} (geometric mean)\n", mean);
  constexpr size_t shown = 20;
  for (size_t i = 0; i < changes.size() && i < shown; ++i)
    say("  {:>7.3f}  {:>9} {:>9}  {}\n", std::exp(changes[i].first),
        timeText(times[0][*changes[i].second]), timeText(times[1][*changes[i].second]),
        *changes[i].second);
  if (changes.size() > shown)
    say("  and {} smaller changes (--json has them all)\n", changes.size() - shown);
  return changes.empty() ? AnswerIsNo : Fine;
}

} // namespace

void addData(CLI::App &app, Selection &selection) {
  CLI::App *command = app.add_subcommand("data", "Measurements: taken in, listed, compared");
  command->require_subcommand(1);
  command->footer(
      "FILE is a measurement file (.csv or .csv.gz) or a folder of such files. A folder's index, "
      ".tilewright-index.sqlite, is\nmade and renewed as its files change; they are only ever "
      "read.\n"
      "A condition is COLUMN=PATTERN, with * and ?, for example --where 'kernel=gemm*' "
      "'driver=580.*'.\n"
      "Examples:\n"
      "  tilewright data import ncu.csv --out rows.csv\n"
      "  tilewright data strip old.csv --out new.csv\n"
      "  tilewright data list datasets/measurements/h100-sxm\n"
      "  tilewright data show measurements --where plan_hash=05ab51ad4bfee1d7\n"
      "  tilewright data diff before.csv after.csv\n"
      "  tilewright data diff all all --first 'driver=580.*' --second 'driver=590.*'");
  auto options = std::make_shared<DataArguments>();
  CLI::App *import = command->add_subcommand(
      "import", "Rows with kernel and time_ns from another tool's CSV; its columns are kept");
  takesStandardInput(
      import->add_option("FILE", options->files, "CSV, plain or gzip; - is standard input"))
      ->required()
      ->expected(1);
  import
      ->add_option("--format", options->format,
                   "auto, rows (time_ns is there: XLA's *.kernels.csv), ncu (Nsight Compute, raw "
                   "or details), benchmark (times with their unit in the column's name: Triton)")
      ->check(CLI::IsMember({"auto", "rows", "ncu", "benchmark"}))
      ->capture_default_str();
  import->add_option("-o,--out", options->out, "File to write (default: standard output)");
  import->callback(
      [options, &selection] { selection.run = [options] { return runDataImport(*options);
};
} // namespace tilewright::cli
);

CLI::App *strip = command->add_subcommand(
    "strip", "A measurement file without its card's UUID: a short hash in its place");
takesStandardInput(strip->add_option("FILE", options->files,
                                     "CSV, plain or gzip; - is standard input"))
    ->required()
    ->expected(1);
strip->add_option("-o,--out", options->out, "File to write (default: standard output)");
strip->callback([options, &selection] {
  selection.run = [options] { return runStrip(*options); };
});

auto addCommon = [&](CLI::App *each) {
  each->add_option("--where", options->where, "Conditions that rows must meet, all of them");
  each->add_flag("--json", options->json, "Print JSON");
};
CLI::App *list =
    command->add_subcommand("list", "What files hold: times, devices, drivers, clocks, tools");
list->add_option("FILE", options->files, "Measurement files or folders of them")->required();
addCommon(list);
list->callback([options, &selection] { selection.run = [options] { return runList(*options); }; });

CLI::App *show = command->add_subcommand("show", "Single measurements");
show->add_option("FILE", options->files, "Measurement files or folders of them")->required();
addCommon(show);
show->add_flag("--all", options->all,
               "Also rows that do not count: looks at the incumbent, first attempts");
show->add_option("--limit", options->limit, "Rows to show; 0: all")->capture_default_str();
show->callback([options, &selection] { selection.run = [options] { return runShow(*options); }; });

CLI::App *diff = command->add_subcommand(
    "diff", "Two files or folders, row by row: matched by kernel, shape, plan and regime");
diff->add_option("FILE", options->files, "The first and the second")->required()->expected(2);
addCommon(diff);
diff->add_option("--first", options->first, "Conditions for the first alone");
diff->add_option("--second", options->second, "Conditions for the second alone");
diff->callback([options, &selection] { selection.run = [options] { return runDiff(*options); }; });
}

} // namespace tilewright::cli
