// tilewright data: measurements, taken in, listed and compared.
#include "costmodel/measured_plans.h"
#include "datasets/foreign_csv.h"
#include "tools/tilewright/command.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tilewright::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string format = "auto", out;
  bool json = false;
};

int runImport(const Options &options) {
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
  return Fine;
}

/// Rows of a table that count; of a file that knows no attempts, all.
std::vector<size_t> countingRows(const Table &table) {
  if (MeasuredPlans::describes(table)) {
    std::set<size_t> rows = rowsThatCount(table);
    return {rows.begin(), rows.end()};
  }
  std::vector<size_t> rows(table.rowCount());
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = i;
  return rows;
}

/// The different cells of a column, in order of appearance, at most three.
std::string distinct(const Table &table, const char *column) {
  std::vector<std::string> seen;
  for (size_t i = 0; i < table.rowCount() && seen.size() < 4; ++i) {
    std::string cell(TableRow(table, i).text(column));
    if (!cell.empty() && std::find(seen.begin(), seen.end(), cell) == seen.end())
      seen.push_back(cell);
  }
  std::string text;
  for (size_t i = 0; i < seen.size() && i < 3; ++i)
    text += (i ? ", " : "") + seen[i];
  return seen.size() > 3 ? text + ", …" : text;
}

int runList(const Options &options) {
  Json document = newDocument("data.list");
  document["files"] = Json::array();
  for (const std::string &path : options.files) {
    llvm::Expected<Table> table = Table::read(path);
    if (!table)
      return failInput(table.takeError());
    size_t failed = 0, timed = 0;
    double least = INFINITY, most = 0;
    for (size_t i : countingRows(*table)) {
      TableRow row(*table, i);
      auto time = row.number("time_ns");
      if (!time)
        return failInput(time.takeError());
      if (!*time || !row.text("error").empty()) {
        ++failed;
        continue;
      }
      ++timed;
      least = std::min(least, **time);
      most = std::max(most, **time);
    }
    Json entry{{"file", path},
               {"rows", table->rowCount()},
               {"timed", timed},
               {"failed", failed},
               {"kernels", distinct(*table, "kernel")},
               {"device", distinct(*table, "device")},
               {"driver", distinct(*table, "driver")},
               {"sm_clock_mhz", distinct(*table, "sm_clock_mhz")},
               {"tool_version", distinct(*table, "tool_version")}};
    entry["least_ns"] = timed ? Json(least) : Json();
    entry["most_ns"] = timed ? Json(most) : Json();
    document["files"].push_back(entry);
    if (options.json)
      continue;
    fmt::print("{}: {} times{}", path, timed,
               timed ? fmt::format(" from {} to {}", timeText(least), timeText(most)) : "");
    if (failed)
      fmt::print(", {} rows without a time", failed);
    fmt::print("\n");
    for (const char *column : {"device", "driver", "sm_clock_mhz", "tool_version", "kernels"}) {
      std::string text = entry[column].get<std::string>();
      if (!text.empty())
        fmt::print("  {:<14} {}\n", column, text);
    }
  }
  if (options.json)
    print(document);
  return Fine;
}

/// What two rows must agree in to be the same measurement: every column that is no result.
std::string keyOf(const TableRow &row) {
  static const std::set<std::string, std::less<>> identity = {
      "kernel", "problem", "plan",    "regime", "dtype", "batch",    "d0",     "d1",
      "d2",     "tile_m",  "tile_n",  "tile_k", "block", "head_dim", "causal", "warps",
      "stages", "split_k", "group_m", "order",  "M",     "N",        "K"};
  std::string key; // in an order that does not depend on the file's
  for (const std::string &column : identity)
    if (std::string_view cell = row.text(column); !cell.empty())
      key += fmt::format("{}{}={}", key.empty() ? "" : " ", column, cell);
  return key;
}

llvm::Expected<std::map<std::string, double>> timesOf(const std::string &path) {
  llvm::Expected<Table> table = Table::read(path);
  if (!table)
    return table.takeError();
  if (!table->column("time_ns"))
    return makeError(DiagClass::BadInput, "{}: no column 'time_ns'; see tilewright data import",
                     path);
  std::map<std::string, double> times;
  for (size_t i : countingRows(*table)) {
    TableRow row(*table, i);
    auto time = row.number("time_ns");
    if (!time)
      return time.takeError();
    if (*time && **time > 0 && row.text("error").empty())
      times[keyOf(row)] = **time;
  }
  return times;
}

int runDiff(const Options &options) {
  std::map<std::string, double> times[2];
  for (size_t i = 0; i < 2; ++i) {
    auto read = timesOf(options.files[i]);
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
  fmt::print("{} measurements in both, {} only in the first, {} only in the second\n",
             changes.size(), only[0], only[1]);
  if (!changes.empty())
    fmt::print("second / first: {:.3f} (geometric mean)\n", mean);
  constexpr size_t shown = 20;
  for (size_t i = 0; i < changes.size() && i < shown; ++i)
    fmt::print("  {:>7.3f}  {:>9} {:>9}  {}\n", std::exp(changes[i].first),
               timeText(times[0][*changes[i].second]), timeText(times[1][*changes[i].second]),
               *changes[i].second);
  if (changes.size() > shown)
    fmt::print("  and {} smaller changes (--json has them all)\n", changes.size() - shown);
  return changes.empty() ? AnswerIsNo : Fine;
}

} // namespace

void addData(CLI::App &app, Selection &selection) {
  CLI::App *command = app.add_subcommand("data", "Measurements: taken in, listed, compared");
  command->require_subcommand(1);
  command->footer("Examples:\n"
                  "  tilewright data import ncu.csv --out rows.csv\n"
                  "  tilewright data list datasets/measurements/h100-sxm/gemm.csv.gz\n"
                  "  tilewright data diff before.csv after.csv");
  auto options = std::make_shared<Options>();
  CLI::App *import = command->add_subcommand(
      "import", "Rows with kernel and time_ns from another tool's CSV; its columns are kept");
  import->add_option("FILE", options->files, "CSV, plain or gzip")->required()->expected(1);
  import
      ->add_option("--format", options->format,
                   "auto, rows (time_ns is there: XLA's *.kernels.csv), ncu (Nsight Compute, raw "
                   "or details), benchmark (times with their unit in the column's name: Triton)")
      ->check(CLI::IsMember({"auto", "rows", "ncu", "benchmark"}))
      ->capture_default_str();
  import->add_option("--out", options->out, "File to write (default: standard output)");
  import->callback(
      [options, &selection] { selection.run = [options] { return runImport(*options);
};
} // namespace tilewright::cli
);
CLI::App *list = command->add_subcommand("list", "What files hold: times, devices, tools");
list->add_option("FILE", options->files, "Measurements: .csv or .csv.gz")->required();
list->add_flag("--json", options->json, "Print JSON");
list->callback([options, &selection] { selection.run = [options] { return runList(*options); }; });
CLI::App *diff = command->add_subcommand(
    "diff", "Two files, row by row: matched by kernel, shape, plan and regime");
diff->add_option("FILE", options->files, "The first and the second")->required()->expected(2);
diff->add_flag("--json", options->json, "Print JSON");
diff->callback([options, &selection] { selection.run = [options] { return runDiff(*options); }; });
}

} // namespace tilewright::cli
