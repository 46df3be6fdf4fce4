// tilewright eval: the reference evaluator.
#include "analysis/import/check_calls.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/tensor_difference.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/eval_values.h"
#include "tools/tilewright/model_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::cli {

namespace {

struct EvalArguments {
  std::string model;
  ModuleChoice choice;
  std::vector<std::string> inputs, expected;
  uint64_t seed = 0, work = EvalOptions().maxWork;
  std::optional<double> tolerance;
  int64_t limit = 100;
  bool unrounded = false, json = false;
};

/// The tensors of a shape, those of a tuple by their places in it.
void collectSlots(const Shape &shape, const std::string &name, std::vector<ValueSlot> &slots) {
  if (!shape.isTuple)
    slots.push_back({name, shape});
  for (size_t i = 0; i < shape.elements.size(); ++i)
    collectSlots(shape.elements[i],
                 name.empty() ? std::to_string(i) : fmt::format("{}.{}", name, i), slots);
}

std::vector<ValueSlot> parameterSlots(const Graph &graph) {
  std::vector<ValueSlot> slots;
  for (OpId id : graph.parameters())
    collectSlots(graph.op(id).shape, graph.op(id).name, slots);
  return slots;
}

std::vector<ValueSlot> resultSlots(const Graph &graph) {
  const Shape &shape = graph.op(graph.root()).shape;
  std::vector<ValueSlot> slots;
  collectSlots(shape, shape.isTuple ? "" : "0", slots);
  return slots;
}

/// A result beside what it should be.
struct Comparison {
  std::string name;
  const Tensor *actual, *expected;
  double tolerance;
  TensorDifference difference;

  bool isRight() const { return difference.over == 0; }
};

Comparison compared(std::string name, const Tensor &actual, const Tensor &expected,
                    double tolerance) {
  return {std::move(name), &actual, &expected, tolerance,
          differenceOf(actual, expected, tolerance)};
}

/// The place of an element: [1, 0].
std::string placeText(const Tensor &tensor, int64_t element) {
  std::vector<int64_t> index(tensor.shape().rank());
  for (size_t d = index.size(); d-- > 0; element /= tensor.shape().dims[d])
    index[d] = element % tensor.shape().dims[d];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

void printComparison(const Comparison &one) {
  const TensorDifference &difference = one.difference;
  say("  {:<24} {:<20} {:<8} error {:.2e} (allowed {:.2e})", one.name,
      one.actual->shape().str(false), one.isRight() ? "equal" : "DIFFERS", difference.worst,
      one.tolerance);
  if (difference.element >= 0 && !one.isRight())
    say(": {} of {} elements, most at {}: {}, expected {}", difference.over, one.actual->size(),
        placeText(*one.actual, difference.element), elementText(*one.actual, difference.element),
        elementText(*one.expected, difference.element));
  say("\n");
}

Json comparisonJson(const Comparison &one) {
  Json row = {{"name", one.name},
              {"is_equal", one.isRight()},
              {"error", std::isfinite(one.difference.worst) ? Json(one.difference.worst) : Json()},
              {"allowed", one.tolerance},
              {"different", one.difference.over}};
  if (one.difference.element >= 0)
    row["worst_element"] = one.difference.element;
  return row;
}

/// What was evaluated, for printing.
struct Evaluation {
  std::vector<ValueSlot> inputSlots, resultSlots;
  std::vector<std::string> inputSources;
  std::vector<Tensor> results;
  std::vector<Comparison> comparisons;
};

void printEvaluation(const EvalArguments &options, const Module &module,
                     const Evaluation &evaluation) {
  say("module      {}\n", module.name.empty() ? "(unnamed)" : module.name);
  for (size_t i = 0; i < evaluation.inputSlots.size(); ++i)
    say("input       {:<24} {:<20} {}\n", evaluation.inputSlots[i].name,
        evaluation.inputSlots[i].shape.str(false), evaluation.inputSources[i]);
  for (size_t i = 0; i < evaluation.resultSlots.size(); ++i) {
    const Tensor &tensor = evaluation.results[i];
    const bool isWhole = tensor.size() <= options.limit;
    std::string text = isWhole ? literalText(tensor) : "";
    for (int64_t k = 0; !isWhole && k < options.limit; ++k)
      text += (k ? ", " : "") + elementText(tensor, k);
    if (!isWhole)
      text += fmt::format(", … ({} elements)", tensor.size());
    say("result      {:<24} {:<20} {}\n", evaluation.resultSlots[i].name, tensor.shape().str(false),
        text);
  }
  if (!evaluation.comparisons.empty())
    say("compared    |result - expected| / max(1, |expected|)\n");
  for (const Comparison &one : evaluation.comparisons)
    printComparison(one);
}

Json evaluationJson(const EvalArguments &options, const Module &module,
                    const Evaluation &evaluation) {
  Json document = newDocument("eval");
  document["module"] = module.name;
  document["inputs"] = Json::array();
  for (size_t i = 0; i < evaluation.inputSlots.size(); ++i)
    document["inputs"].push_back({{"name", evaluation.inputSlots[i].name},
                                  {"shape", evaluation.inputSlots[i].shape.str(false)},
                                  {"source", evaluation.inputSources[i]}});
  document["results"] = Json::array();
  for (size_t i = 0; i < evaluation.resultSlots.size(); ++i) {
    const Tensor &tensor = evaluation.results[i];
    document["results"].push_back({{"name", evaluation.resultSlots[i].name},
                                   {"shape", tensor.shape().str(false)},
                                   {"elements", tensor.size()},
                                   {"values", elementsJson(tensor, options.limit)}});
  }
  document["comparisons"] = Json::array();
  for (const Comparison &one : evaluation.comparisons)
    document["comparisons"].push_back(comparisonJson(one));
  return document;
}

/// The arguments: what is given, the file's weights, the rest from the seed.
llvm::Expected<std::vector<Tensor>> argumentsOf(const EvalArguments &options, const Module &module,
                                                Evaluation &evaluation) {
  evaluation.inputSlots = parameterSlots(module.entry());
  llvm::Expected<std::vector<std::optional<GivenValue>>> given =
      givenValues(evaluation.inputSlots, options.inputs);
  if (!given)
    return given.takeError();
  const std::vector<ArgumentFill> fills = argumentFills(module, module.entryId);
  llvm::Expected<std::vector<Tensor>> weights = readWeights(options.model, options.choice);
  if (!weights)
    return weights.takeError();
  const size_t firstWeight = given->size() - weights->size();
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < given->size(); ++i) {
    std::optional<GivenValue> &value = (*given)[i];
    const bool isWeight = !value && i >= firstWeight;
    evaluation.inputSources.push_back(value      ? value->source
                                      : isWeight ? "the model"
                                                 : fmt::format("seed {}", options.seed + i));
    if (value) {
      arguments.push_back(std::move(value->tensor));
      continue;
    }
    if (isWeight) {
      arguments.push_back(std::move((*weights)[i - firstWeight]));
      continue;
    }
    const std::optional<int64_t> count = fills[i].shape.elementCount();
    if (!count || static_cast<uint64_t>(*count) > EvalOptions().maxLiveElements)
      return makeError(DiagClass::BudgetSpent, "input {} is {}, more elements than are evaluated",
                       evaluation.inputSlots[i].name, fills[i].shape.str(false));
    arguments.push_back(fillTensor(fills[i].shape, options.seed + i, fills[i].range));
  }
  return arguments;
}

/// Results beside those that are given, and those of the program's own checks.
llvm::Error compareAll(const EvalArguments &options, const std::vector<CheckCall> &checks,
                       const std::vector<std::optional<GivenValue>> &expected,
                       Evaluation &evaluation) {
  for (size_t i = 0; i < checks.size(); ++i) {
    const Tensor &actual = evaluation.results[2 * i], &wanted = evaluation.results[2 * i + 1];
    if (!actual.shape().sameDimsAndType(wanted.shape()))
      return makeError(DiagClass::BadInput, "%{} compares {} and {}", checks[i].name,
                       actual.shape().str(false), wanted.shape().str(false));
    evaluation.comparisons.push_back(compared(
        checks[i].name, actual, wanted,
        options.tolerance.value_or(checks[i].isExact ? 0 : defaultTolerance(actual.dtype()))));
  }
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i])
      evaluation.comparisons.push_back(
          compared(evaluation.resultSlots[i].name, evaluation.results[i], expected[i]->tensor,
                   options.tolerance.value_or(defaultTolerance(evaluation.results[i].dtype()))));
  return llvm::Error::success();
}

int runEval(const EvalArguments &options) {
  llvm::Expected<Module> module = readModel(options.model, options.choice);
  if (!module)
    return failInput(module.takeError());
  const std::vector<CheckCall> checks = takeChecks(*module);
  Evaluation evaluation;
  evaluation.resultSlots = resultSlots(module->entry());
  if (!checks.empty() && !options.expected.empty())
    return failInput(makeError(DiagClass::BadInput,
                               "the program compares its results itself; leave out --expect"));
  llvm::Expected<std::vector<std::optional<GivenValue>>> expected =
      givenValues(evaluation.resultSlots, options.expected);
  if (!expected)
    return failInput(expected.takeError());
  llvm::Expected<std::vector<Tensor>> arguments = argumentsOf(options, *module, evaluation);
  if (!arguments)
    return failInput(arguments.takeError());
  EvalOptions evaluating;
  evaluating.roundEachStep = !options.unrounded;
  evaluating.maxWork = options.work;
  llvm::Expected<std::vector<Tensor>> results =
      evaluate(*module, module->entryId, *arguments, evaluating);
  if (!results)
    return failInput(results.takeError());
  evaluation.results = std::move(*results);
  if (llvm::Error error = compareAll(options, checks, *expected, evaluation))
    return failInput(std::move(error));
  if (!checks.empty())
    evaluation.resultSlots.clear();
  if (options.json)
    print(evaluationJson(options, *module, evaluation));
  else
    printEvaluation(options, *module, evaluation);
  return std::all_of(evaluation.comparisons.begin(), evaluation.comparisons.end(),
                     [](const Comparison &one) { return one.isRight(); })
             ? Fine
             : AnswerIsNo;
}

} // namespace

void addEval(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<EvalArguments>();
  CLI::App *command = app.add_subcommand("eval", "Results of a model by the reference evaluator");
  command->footer(
      "Examples:\n"
      "  tilewright eval model.hlo.txt --seed 7\n"
      "  tilewright eval model.hlo.txt --input x=x.npy --input n=3 --expect 0=y.npy\n"
      "  tilewright eval model.hlo.txt --input weights.npz --input '1={{1, 2}, {3, 4}}'\n"
      "Programs with custom calls @check.expect_* compare their results themselves.\n"
      "Exit code 1: a result differs from what is expected.");
  command->add_option("MODEL", options->model, modelHelp)->required();
  addModuleChoice(*command, options->choice);
  command
      ->add_option("--input", options->inputs,
                   "A parameter's value, by its name or number: NAME=FILE.npy, NAME=FILE.npz:KEY, "
                   "NAME=LITERAL, FILE.npy (the next one), FILE.npz (all that it names); may be "
                   "given several times; others are made of the seed")
      ->expected(1)
      ->take_all();
  command->add_option("--seed", options->seed, "Seed of the other inputs")->capture_default_str();
  command
      ->add_option("--expect", options->expected,
                   "A result to compare with, by its number, as inputs are given")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--tolerance", options->tolerance,
                   "Allowed |result - expected| / max(1, |expected|) (default: 1e-9 for f64, 1e-4 "
                   "for f32, 0.02 for 16 bits, 0.25 for fewer, 0 for integers)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--limit", options->limit, "Print at most so many elements of a result")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--unrounded", options->unrounded,
                    "Round nothing between ops: the exact result, up to double precision");
  command->add_option("--work", options->work, "Element operations after which it is given up")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runEval(*options); }; });
}

} // namespace tilewright::cli
