// tilewright program: a tile program, verified, with its folds beside its lines.
#include "analysis/program/report.h"
#include "analysis/program/text.h"
#include "tools/tilewright/command.h"

#include <charconv>

namespace tilewright::cli {

namespace {

struct ProgramArguments {
  std::string file;
  std::vector<std::string> lets;
  bool json = false, text = false;
};

/// "BM=128".
llvm::Expected<program::SizeValues> sizesOf(const std::vector<std::string> &lets) {
  program::SizeValues sizes;
  for (const std::string &let : lets) {
    size_t equal = let.find('=');
    int64_t value = 0;
    std::string number = equal == std::string::npos ? "" : let.substr(equal + 1);
    auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (equal == 0 || number.empty() || status != std::errc() ||
        end != number.data() + number.size())
      return makeError(DiagClass::BadInput, "--let: '{}' is not NAME=NUMBER", let);
    if (!sizes.emplace(let.substr(0, equal), value).second)
      return makeError(DiagClass::BadInput, "--let: {} is given twice", let.substr(0, equal));
  }
  return sizes;
}

Json toJson(const program::ReportedAmount &amount) {
  return {{"count", std::string(program::toString(amount.count))},
          {"amount", amount.number ? Json(*amount.number) : Json()},
          {"text", amount.text}};
}

Json toJson(const std::vector<program::ReportedAmount> &amounts) {
  Json list = Json::array();
  for (const program::ReportedAmount &amount : amounts)
    list.push_back(toJson(amount));
  return list;
}

Json toJson(const program::ProgramReport &report, const std::string &name) {
  Json document = newDocument("program");
  document["program"] = name;
  document["legal"] = report.isLegal;
  document["counts"] = toJson(report.whole);
  document["lines"] = Json::array();
  for (const program::ReportedLine &line : report.lines)
    document["lines"].push_back(
        {{"text", line.text}, {"folds", toJson(line.amounts)}, {"broken", line.broken}});
  document["shared"] = toJson(report.shared);
  document["broken"] = report.broken;
  document["needs"] = report.open;
  return document;
}

int runProgram(const ProgramArguments &options) {
  llvm::Expected<std::string> text = readFile(options.file);
  if (!text)
    return failInput(text.takeError());
  llvm::Expected<program::Program> read = program::parseProgram(std::move(*text), options.file);
  if (!read)
    return failInput(read.takeError());
  llvm::Expected<program::SizeValues> sizes = sizesOf(options.lets);
  if (!sizes)
    return failInput(sizes.takeError());
  DeviceLimits limits;
  llvm::Expected<program::ProgramReport> report = program::reportOf(*read, *sizes, &limits);
  if (!report)
    return failInput(report.takeError());
  if (options.json) {
    print(toJson(*report, read->name));
  } else if (options.text) {
    llvm::Expected<program::Program> shown = program::substituteSizes(*read, *sizes);
    if (!shown)
      return failInput(shown.takeError());
    say("{}", program::printProgram(*shown));
  } else {
    say("{}", report->str());
  }
  return report->isLegal ? Fine : AnswerIsNo;
}

} // namespace

void addProgram(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<ProgramArguments>();
  CLI::App *command =
      app.add_subcommand("program", "A tile program: verified, with its folds beside its lines");
  command->footer(
      "Example: tilewright program tests/programs/softmax.tile --let M=4096 --let C=1024 "
      "--let R=4 --let W=4");
  command->add_option("FILE", options->file, "The text of a tile program")->required();
  command->add_option("--let", options->lets, "NAME=NUMBER: a number for a size; may be repeated")
      ->allow_extra_args(false);
  auto *json = command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--text", options->text, "Print the program alone, numbers put in")
      ->excludes(json);
  command->callback(
      [options, &selection] { selection.run = [options] { return runProgram(*options); }; });
}

} // namespace tilewright::cli
