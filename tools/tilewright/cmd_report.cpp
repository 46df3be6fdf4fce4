// tilewright report: results as one self-contained HTML file, or Markdown.
#include "tools/report/report.h"
#include "tools/tilewright/command.h"

#include <filesystem>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string out;
  bool markdown = false;
};

int run(const Options &options) {
  std::vector<ReportInput> inputs;
  for (std::string path : options.inputs) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      path += "/explore.json";
    llvm::Expected<std::string> text = readFile(path);
    if (!text)
      return failInput(text.takeError());
    inputs.push_back({path, std::move(*text)});
  }
  llvm::Expected<std::string> report =
      options.markdown ? renderMarkdown(inputs) : renderReport(inputs);
  if (!report)
    return failInput(report.takeError());
  if (options.out.empty()) {
    std::fwrite(report->data(), 1, report->size(), stdout);
    return Fine;
  }
  if (llvm::Error error = writeFileAtomically(options.out, *report))
    return fail(std::move(error));
  return Fine;
}

} // namespace

void addReport(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("report", "One HTML file that opens offline");
  command->footer("Examples:\n"
                  "  tilewright report out --out report.html\n"
                  "  tilewright report out evaluation.json --markdown");
  command
      ->add_option("INPUT", options->inputs,
                   "Folders of explore, or JSON files of explore and evaluate")
      ->required();
  command->add_option("--out", options->out, "File to write (default: standard output)");
  command->add_flag("--markdown", options->markdown, "Markdown instead of HTML");
  command->callback([options, &selection] { selection.run = [options] { return run(*options); }; });
}

} // namespace tilewright::cli
