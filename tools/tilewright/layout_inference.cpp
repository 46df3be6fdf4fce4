#include "tools/tilewright/layout_inference.h"

#include "analysis/program/inference/write_back.h"
#include "analysis/program/text.h"
#include "tools/tilewright/command_line.h"
#include "tools/tilewright/inference_output.h"

namespace tilewright::cli {

namespace {

constexpr size_t mostOptima = 16; ///< that --all and --rank list

llvm::Error addWishes(const std::string &option, const std::vector<std::string> &given, bool isHard,
                      inference::InferenceOptions &into) {
  for (const std::string &text : given) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return makeError(DiagClass::BadInput, "{}: '{}' is not VALUE=LAYOUT, as s='@ flat(4)'",
                       option, text);
    into.wishes.push_back({text.substr(0, equals), text.substr(equals + 1), isHard});
  }
  return llvm::Error::success();
}

llvm::Error rank(inference::LayoutProblem &problem, const std::string &name,
                 inference::InferenceAnswer &answer) {
  const std::vector<inference::GraphNode> &nodes = problem.graph().nodes;
  for (uint32_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].name == name) {
      answer.ranked = inference::rankLayouts(problem, n, mostOptima);
      return llvm::Error::success();
    }
  std::vector<std::string> names;
  for (const inference::GraphNode &node : nodes)
    names.push_back(node.name);
  const std::string nearest = nearestName(name, names);
  return makeError(DiagClass::BadInput, "--rank: no op is named {}{}", name,
                   nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest));
}

int showValue(inference::LayoutProblem &problem, const inference::InferenceAnswer &answer,
              const program::Program &program, const std::string &value, const LayoutView &view) {
  for (const inference::InferredNode &node : answer.layouts.nodes) {
    const inference::GraphNode &of = problem.graph().nodes[node.node];
    if (of.name == value && of.value.isValid() &&
        node.label.result.kind == inference::Held::Kind::Layout)
      return showLayout({value,
                         program[of.value].tile.type,
                         problem.table()[node.label.result.id].layout,
                         std::nullopt,
                         {}},
                        view);
  }
  return failInput(makeError(DiagClass::BadInput, "--value: no value {} has a layout", value));
}

} // namespace

void addInferenceOptions(CLI::App &command, InferenceArguments &options) {
  command.add_flag("--infer", options.infer,
                   "Of a program: the cheapest layouts of all its values, with the proof, or why "
                   "there are none");
  command.add_flag("--check", options.check,
                   "… and its own layouts by the same prices: exit code 1 where they cost more");
  command
      .add_option("--cast", options.casts,
                  "VALUE=LAYOUT: infer with this value so held; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--prefer", options.preferences,
                  "VALUE=LAYOUT: of layouts that cost the same, this one")
      ->allow_extra_args(false);
  command
      .add_option("--registers", options.registers,
                  "Infer with so many of a thread for a value, 255 at most")
      ->check(CLI::Range(int64_t(1), int64_t(255)));
  command.add_flag("--no-conversions", options.noConversions,
                   "Infer without shuffles and ways through shared memory");
  command.add_option("--rank", options.ranked,
                     "OP: infer and list the layouts of this value or op by what all costs then, "
                     "up to 16");
  command.add_flag("--text", options.text,
                   "Infer and print the program with these layouts, as it can be emitted");
  command.add_flag("--all", options.all, "Infer and list the choices that cost the same, up to 16");
}

int runInference(const program::Program &program, const InferenceArguments &options,
                 const std::string &value, const LayoutView &view) {
  inference::InferenceOptions how;
  how.registers = options.registers.value_or(how.registers);
  how.mayConvert = !options.noConversions;
  how.labels.maxOptima = options.all ? mostOptima : 0;
  if (llvm::Error error = addWishes("--cast", options.casts, true, how))
    return failInput(std::move(error));
  if (llvm::Error error = addWishes("--prefer", options.preferences, false, how))
    return failInput(std::move(error));
  llvm::Expected<std::unique_ptr<inference::LayoutProblem>> problem =
      inference::LayoutProblem::make(program, how);
  if (!problem)
    return failInput(problem.takeError());
  using Outcome = inference::InferenceAnswer::Outcome;
  inference::InferenceAnswer answer = inference::inferLayouts(**problem);
  if (answer.outcome == Outcome::Found && options.check)
    inference::priceGiven(**problem, answer);
  if (!options.ranked.empty() && answer.outcome == Outcome::Found)
    if (llvm::Error error = rank(**problem, options.ranked, answer))
      return failInput(std::move(error));
  if (!value.empty() && answer.outcome == Outcome::Found)
    return showValue(**problem, answer, program, value, view);
  if (view.isSvg)
    return failInput(
        makeError(DiagClass::BadInput, "--svg: which value's picture? name it with --value"));
  if (options.text && answer.outcome == Outcome::Found) {
    llvm::Expected<program::Program> made =
        inference::withLayouts(program, **problem, answer.layouts);
    if (!made)
      return fail(made.takeError());
    say("{}", program::printProgram(*made));
    return Fine;
  }
  if (view.isJson)
    print(inferenceJson(program.name, **problem, answer));
  else
    printInference(program.name, **problem, answer);
  const bool isDearer = options.check && (!answer.given || !answer.notGiven.empty() ||
                                          answer.given->cost > answer.layouts.cost);
  return answer.outcome == Outcome::Found && !isDearer ? Fine : AnswerIsNo;
}

} // namespace tilewright::cli
