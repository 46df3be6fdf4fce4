// tilewright program: a tile program, verified, with its folds beside its lines. It is read, or
// built from a plan.
#include "analysis/program/report.h"
#include "analysis/program/text.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/command_line.h"
#include "tools/tilewright/program_input.h"
#include "tools/tilewright/program_pipeline.h"

namespace tilewright::cli {

namespace {

struct ProgramArguments {
  std::string file;
  std::vector<std::string> lets;
  bool json = false, text = false, passes = false;
  PipelineArguments pipeline;
};

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

/// The program, numbers put in, after each pass.
llvm::Error sayPasses(const program::PlanProgram &made) {
  for (const program::PlanStage &stage : made.stages) {
    program::SizeValues sizes;
    for (const std::string &size : program::freeSizes(stage.program))
      if (auto at = made.sizes.find(size); at != made.sizes.end())
        sizes.insert(*at);
    llvm::Expected<program::Program> shown = program::substituteSizes(stage.program, sizes);
    if (!shown)
      return shown.takeError();
    program::inlineSingleSteps(*shown);
    say("== {}\n{}", stage.name, program::printProgram(*shown));
    for (const std::string &reason : stage.reasons)
      say("-- {}\n", reason);
  }
  return llvm::Error::success();
}

/// The program as it runs. BadInput: a size without a number, a program that breaks a rule.
llvm::Expected<program::Program> numbersIn(const program::PlanProgram &made) {
  if (std::vector<std::string> open = program::freeSizes(made.last()); !open.empty())
    for (const std::string &size : open)
      if (made.sizes.find(size) == made.sizes.end())
        return makeError(DiagClass::BadInput, "size {} has no number: --let {}=NUMBER", size, size);
  llvm::Expected<program::Program> concrete = program::concreteProgram(made);
  if (!concrete)
    return concrete.takeError();
  if (llvm::Error error = program::verify(*concrete).error(*concrete))
    return error;
  return concrete;
}

int runProgram(const ProgramArguments &options) {
  llvm::Expected<std::string> text = readFile(options.file);
  if (!text)
    return failInput(text.takeError());
  if (options.passes && !isPlan(*text))
    return failInput(makeError(DiagClass::BadInput,
                               "{}: --passes shows how a plan's program is made, and this is a "
                               "program",
                               options.file));
  const std::string plan = isPlan(*text) ? *text : "";
  llvm::Expected<program::PlanProgram> made =
      programOfText(options.file, std::move(*text), options.lets);
  if (!made)
    return failInput(made.takeError());
  if (options.pipeline.isAsked) {
    llvm::Expected<program::Program> concrete = numbersIn(*made);
    if (!concrete)
      return failInput(concrete.takeError());
    return runPipelines({*concrete, options.file, plan}, options.pipeline, options.json,
                        options.text);
  }
  const program::Program &last = made->last();
  DeviceLimits limits;
  llvm::Expected<program::ProgramReport> report =
      program::reportOf(last, made->lastSizes(), &limits);
  if (!report)
    return failInput(report.takeError());
  if (options.json) {
    print(toJson(*report, last.name));
  } else if (options.text) {
    llvm::Expected<program::Program> shown = program::substituteSizes(last, made->lastSizes());
    if (!shown)
      return failInput(shown.takeError());
    say("{}", program::printProgram(*shown));
  } else if (options.passes) {
    if (llvm::Error error = sayPasses(*made))
      return failInput(std::move(error));
  } else {
    say("{}", report->str());
  }
  return report->isLegal ? Fine : AnswerIsNo;
}

} // namespace

void addProgram(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<ProgramArguments>();
  CLI::App *command = app.add_subcommand(
      "program", "A tile program, or that of a plan: verified, with its folds beside its lines");
  command->footer(
      "Example: tilewright program tests/programs/softmax.tile --let M=4096 --let C=1024 "
      "--let R=4 --let W=4\n"
      "What has no program (sorts, top-k, scans) is refused by name.");
  takesStandardInput(
      command->add_option("FILE", options->file,
                          "The text of a tile program, or a plan as explore --out writes it; - is "
                          "standard input"))
      ->required();
  command->add_option("--let", options->lets, "NAME=NUMBER: a number for a size; may be repeated")
      ->allow_extra_args(false);
  auto *json = command->add_flag("--json", options->json, "Print JSON");
  auto *text = command->add_flag("--text", options->text, "Print the program alone, numbers put in")
                   ->excludes(json);
  auto *passes =
      command
          ->add_flag("--passes", options->passes,
                     "Of a plan: print the program after each pass, and what the pass left and why")
          ->excludes(json)
          ->excludes(text);
  addPipelineOptions(*command, options->pipeline, *passes);
  command->callback(
      [options, &selection] { selection.run = [options] { return runProgram(*options); }; });
}

} // namespace tilewright::cli
