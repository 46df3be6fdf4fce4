// tilewright report: renders results as one self-contained HTML file, as Markdown, CSV or a trace.
#include "analysis/support/output_folder.h"
#include "costmodel/measured_plans.h"
#include "tools/report/report.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/command_line.h"
#include "tools/tilewright/report_listings.h"

#include <filesystem>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

struct ReportArguments {
  std::vector<std::string> inputs;
  std::string against, out;
  bool markdown = false, csv = false, trace = false;
};

bool isMeasurements(const std::string &path) {
  return path.ends_with(".csv") || path.ends_with(".csv.gz");
}

/// Kernels of a measurement file: rows that count, with warm caches if there are any, as in a
/// running model.
llvm::Expected<MeasuredTrack> trackOf(const std::string &path) {
  llvm::Expected<Table> table = Table::read(path);
  if (!table)
    return table.takeError();
  for (const char *column : {"kernel", "time_ns"})
    if (!table->column(column))
      return makeError(DiagClass::BadInput, "{}: no column '{}'; see tilewright data import", path,
                       column);
  bool isOurs = MeasuredPlans::describes(*table);
  std::set<size_t> counting;
  if (isOurs)
    counting = rowsThatCount(*table);
  bool hasWarm = false;
  for (size_t i : counting)
    hasWarm |= TableRow(*table, i).text("regime") == "warm";
  MeasuredTrack track{path, {}};
  for (size_t i = 0; i < table->rowCount(); ++i) {
    TableRow row(*table, i);
    if (isOurs && (!counting.contains(i) || (row.text("regime") == "warm") != hasWarm))
      continue;
    auto time = row.number("time_ns");
    if (!time)
      return time.takeError();
    if (*time && **time > 0 && row.text("error").empty())
      track.kernels.emplace_back(row.text("kernel"), **time);
  }
  return track;
}

int writeText(const ReportArguments &options, const std::string &text) {
  if (options.out.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return Fine;
  }
  if (llvm::Error error = writeFileAtomically(options.out, text))
    return fail(std::move(error));
  return Fine;
}

int writeTables(const ReportArguments &options, const std::vector<ReportTable> &tables) {
  llvm::Expected<OutputFolder> folder = OutputFolder::open(options.out, "report", {});
  if (!folder)
    return failInput(folder.takeError());
  folder->removeAllBut({}); // tables of an earlier report that this one does not have
  for (const ReportTable &table : tables)
    if (llvm::Error failed = folder->write(table.name + ".csv", table.csv))
      return failInput(std::move(failed));
  if (llvm::Error failed = folder->finish())
    return failInput(std::move(failed));
  return Fine;
}

/// What the command line names, by kind.
struct ReportFiles {
  std::vector<ReportInput> documents;
  std::vector<MeasuredTrack> measured;
};

llvm::Error addDocument(ReportFiles &files, std::string path,
                        const std::shared_ptr<PackListings> &packs) {
  std::error_code error;
  std::function<std::vector<ReportListing>(const std::string &)> listings;
  if (std::filesystem::is_directory(path, error)) {
    listings = listingsOf(path, packs);
    path += "/explore.json";
  }
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  files.documents.push_back({path, std::move(*text), std::move(listings)});
  return llvm::Error::success();
}

llvm::Expected<ReportFiles> readFiles(const ReportArguments &options) {
  ReportFiles files;
  auto packs = std::make_shared<PackListings>();
  if (!options.against.empty()) // the first is what others are compared with
    if (llvm::Error error = addDocument(files, options.against, packs))
      return error;
  for (const std::string &path : options.inputs) {
    if (isMeasurements(path)) {
      if (!options.trace)
        return makeError(DiagClass::BadInput,
                         "{}: measurements are shown by --trace alone; tilewright evaluate makes a "
                         "document of them",
                         path);
      llvm::Expected<MeasuredTrack> track = trackOf(path);
      if (!track)
        return track.takeError();
      files.measured.push_back(std::move(*track));
    } else if (isPack(path)) {
      if (llvm::Error error = packs->add(path))
        return error;
    } else if (llvm::Error error = addDocument(files, path, packs)) {
      return error;
    }
  }
  return files;
}

int runReport(const ReportArguments &options) {
  llvm::Expected<ReportFiles> files = readFiles(options);
  if (!files)
    return failInput(files.takeError());
  const std::vector<ReportInput> &inputs = files->documents;
  if (options.csv) {
    if (options.out.empty())
      return failInput(
          makeError(DiagClass::BadInput, "--csv needs --out, the folder of its tables"));
    llvm::Expected<std::vector<ReportTable>> tables = renderCsv(inputs);
    return tables ? writeTables(options, *tables) : failInput(tables.takeError());
  }
  llvm::Expected<std::string> report = options.trace      ? renderTrace(inputs, files->measured)
                                       : options.markdown ? renderMarkdown(inputs)
                                                          : renderReport(inputs);
  return report ? writeText(options, *report) : failInput(report.takeError());
}

} // namespace

void addReport(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App *command = app.add_subcommand("report", "One HTML file that opens offline");
  command->footer("Examples:\n"
                  "  tilewright report out --out report.html\n"
                  "  tilewright report out pack --against before --out report.html\n"
                  "  tilewright report out evaluation.json --markdown\n"
                  "  tilewright report out measured.csv --trace --out trace.json");
  takesStandardInput(
      command->add_option("INPUT", options->inputs,
                          "Folders of explore, or JSON files of explore, evaluate and calibrate, - "
                          "is standard input; packs of emit, whose PTX is shown beside their "
                          "kernels; with --trace also measurements (.csv)"))
      ->required();
  command->add_option("--against", options->against,
                      "A folder or file of explore, of before: what changed since, and why");
  command->add_option("-o,--out", options->out, "File to write (default: standard output)");
  CLI::Option *markdown =
      command->add_flag("--markdown", options->markdown, "Markdown instead of HTML");
  CLI::Option *csv =
      command
          ->add_flag("--csv", options->csv, "The tables as CSV, one file each in the folder --out")
          ->excludes(markdown);
  command
      ->add_flag("--trace", options->trace,
                 "Kernels along time, predicted and measured, for chrome://tracing or Perfetto")
      ->excludes(markdown)
      ->excludes(csv);
  command->callback(
      [options, &selection] { selection.run = [options] { return runReport(*options); }; });
}

} // namespace tilewright::cli
