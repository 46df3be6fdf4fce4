// ONNX's own tests (Debian's package libonnx-testdata): models with recorded inputs and outputs.
// Each is read or refused by name, and what is evaluated is right, within the tolerances of ONNX's
// backend test. Skipped where the package isn't installed; TILEWRIGHT_ONNX_TESTDATA names another
// place, TILEWRIGHT_ONNX_VERBOSE prints what became of each model.
#include "analysis/import/import_file.h"
#include "analysis/import/onnx/onnx_import.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/verifier.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iostream>
#include <map>

using namespace tilewright;
namespace fs = std::filesystem;

namespace {

fs::path testdata() {
  const char *named = std::getenv("TILEWRIGHT_ONNX_TESTDATA");
  return named ? named : "/usr/share/libonnx-testdata/data";
}

/// The tolerances of ONNX's backend test. What is recorded in bf16 was cut off, not rounded.
bool isClose(double actual, double expected, DType type) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected)))
    return true;
  const double relative = type == DType::BF16 ? 0x1p-7 : 1e-3;
  return std::abs(actual - expected) <= 1e-7 + relative * std::abs(expected);
}

/// The first element that differs; empty if there is none.
std::string difference(const Tensor &actual, const Tensor &expected) {
  if (!actual.shape().sameDimsAndType(expected.shape()))
    return fmt::format("is {}, expected {}", actual.shape().str(false),
                       expected.shape().str(false));
  for (int64_t i = 0; i < actual.size(); ++i) {
    const bool isSame = dtypeClass(actual.dtype()) == DTypeClass::Float
                            ? isClose(actual.real(i), expected.real(i), actual.dtype())
                            : actual.integer(i) == expected.integer(i);
    if (!isSame)
      return fmt::format("{} [{}] is {}, expected {}", actual.shape().str(false), i,
                         actual.asDouble(i), expected.asDouble(i));
  }
  return "";
}

/// The tensors of a data set, inputs or outputs; nothing where one is no tensor.
std::optional<std::vector<Tensor>> tensorsOf(const fs::path &folder, const char *kind) {
  std::vector<Tensor> tensors;
  for (size_t i = 0;; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.pb", kind, i);
    if (!fs::exists(file))
      return tensors;
    llvm::Expected<Tensor> tensor = readOnnxTensor(file.string());
    if (!tensor) {
      llvm::consumeError(tensor.takeError());
      return std::nullopt;
    }
    tensors.push_back(std::move(*tensor));
  }
}

std::shared_ptr<const SourceBuffer> sourceOf(const fs::path &path) {
  llvm::Expected<std::string> bytes = readFile(path.string());
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return nullptr;
  }
  return std::make_shared<const SourceBuffer>(path.string(), std::move(*bytes));
}

/// Inputs that may decide shapes: short lists and single numbers.
std::map<std::string, Tensor> shapeInputs(const std::vector<std::string> &names,
                                          const std::vector<Tensor> &tensors) {
  std::map<std::string, Tensor> given;
  for (size_t i = 0; i < std::min(names.size(), tensors.size()); ++i)
    if (tensors[i].shape().rank() <= 1 && tensors[i].size() <= 64 &&
        (!isFloat(tensors[i].dtype()) || i > 0 || tensors[i].shape().rank() == 0))
      given.emplace(names[i], tensors[i]);
  return given;
}

/// The package keeps bf16 as the bits of u16.
Tensor asType(const Tensor &tensor, DType type) {
  if (tensor.dtype() != DType::U16 || type != DType::BF16)
    return tensor;
  llvm::Expected<Tensor> real =
      unpackTensor(Shape::tensor(type, tensor.shape().dims), packTensor(tensor));
  return real ? std::move(*real) : tensor;
}

struct Outcome {
  std::string text;     ///< "right", "refused: …", "BAD: …"
  bool isGiven = false; ///< values of inputs had to be given
};

/// What one data set evaluates to.
std::string evaluated(const Module &module, const std::map<std::string, Tensor> &given,
                      const std::vector<std::string> &names,
                      const std::shared_ptr<const SourceBuffer> &source, const fs::path &folder) {
  const std::optional<std::vector<Tensor>> inputs = tensorsOf(folder, "input"),
                                           outputs = tensorsOf(folder, "output");
  if (!inputs || !outputs)
    return "no tensors";
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < inputs->size(); ++i)
    if (i >= names.size() || !given.contains(names[i]))
      arguments.push_back((*inputs)[i]);
  llvm::Expected<std::vector<Tensor>> weights = onnxWeights(source, given);
  if (!weights)
    return "BAD: " + takeDiag(weights.takeError()).message;
  arguments.insert(arguments.end(), weights->begin(), weights->end());
  const size_t wanted = module.entry().parameters().size();
  if (arguments.size() != wanted)
    return fmt::format("BAD: {} arguments for {} parameters", arguments.size(), wanted);
  const std::vector<std::vector<OpId>> users = module.entry().users();
  for (OpId id : module.entry().parameters()) {
    const Op &op = module.entry().op(id);
    Tensor &argument = arguments[static_cast<size_t>(op.attrs.parameterNumber)];
    argument = asType(argument, op.shape.dtype);
    if (users[id.index].empty() &&
        id != module.entry().root()) // CastLike takes a type, whatever the shape that is recorded
      argument = Tensor(op.shape);
  }
  EvalOptions options;
  options.maxWork = uint64_t(1) << 27;
  llvm::Expected<std::vector<Tensor>> results =
      evaluate(module, module.entryId, arguments, options);
  if (!results) {
    const Diag diag = takeDiag(results.takeError());
    return (diag.cls == DiagClass::BudgetSpent ? "too much work: " : "BAD: ") + diag.message;
  }
  if (results->size() != outputs->size())
    return fmt::format("BAD: {} results, expected {}", results->size(), outputs->size());
  for (size_t i = 0; i < results->size(); ++i)
    if (std::string text = difference((*results)[i], asType((*outputs)[i], (*results)[i].dtype()));
        !text.empty())
      return fmt::format("BAD: result {} {}", i, text);
  return "right";
}

Outcome outcomeOf(const fs::path &folder) {
  const std::shared_ptr<const SourceBuffer> source = sourceOf(folder / "model.onnx");
  if (!source)
    return {"BAD: no model"};
  std::map<std::string, Tensor> given;
  std::vector<std::string> names;
  llvm::Expected<Module> module = parseOnnx(source);
  bool isGiven = false;
  if (!module) {
    const Diag diag = takeDiag(module.takeError());
    const std::string problem =
        (diag.cls == DiagClass::Unsupported ? "refused: " : "BAD: ") + diag.message;
    const std::optional<std::vector<Tensor>> inputs =
        tensorsOf(folder / "test_data_set_0", "input");
    if (diag.message.find("known at run time only; make it a constant") == std::string::npos ||
        !inputs)
      return {problem};
    names = onnxInputNames(source);
    given = shapeInputs(names, *inputs);
    module = parseOnnx(source, given);
    isGiven = true;
    if (!module) {
      const Diag second = takeDiag(module.takeError());
      return {(second.cls == DiagClass::Unsupported ? "refused: " : "BAD: ") + second.message};
    }
  }
  if (llvm::Error error = verify(*module))
    return {"BAD: not valid: " + takeDiag(std::move(error)).message};
  std::string all = "read";
  for (size_t i = 0; fs::exists(folder / fmt::format("test_data_set_{}", i)); ++i) {
    const std::string one =
        evaluated(*module, given, names, source, folder / fmt::format("test_data_set_{}", i));
    if (all == "read" || one != "right")
      all = one;
  }
  return {all, isGiven};
}

/// A refusal without the names of nodes.
std::string kindOf(const std::string &outcome) {
  const size_t op = outcome.find('('), end = outcome.find("):");
  if (!outcome.starts_with("refused") || op == std::string::npos || end == std::string::npos)
    return outcome;
  return "refused: " + outcome.substr(op + 1, end - op - 1) + outcome.substr(end + 1);
}

struct Counts {
  std::map<std::string, size_t> outcomes;
  size_t all = 0, right = 0, refused = 0, given = 0;
};

void tryFolder(const fs::path &folder, Counts &counts) {
  std::vector<fs::path> models;
  for (const auto &entry : fs::directory_iterator(folder))
    models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  const bool isVerbose = std::getenv("TILEWRIGHT_ONNX_VERBOSE") != nullptr;
  for (const fs::path &model : models) {
    const Outcome outcome = outcomeOf(model);
    ++counts.all;
    ++counts.outcomes[kindOf(outcome.text)];
    counts.right += outcome.text == "right";
    counts.given += outcome.text == "right" && outcome.isGiven;
    counts.refused += outcome.text.starts_with("refused");
    EXPECT_FALSE(outcome.text.starts_with("BAD")) << model << ": " << outcome.text;
    if (isVerbose)
      std::cout << model.string() << ": " << outcome.text << "\n";
  }
}

} // namespace

TEST(OnnxTestdata, ModelsEvaluateToTheRecordedOutputs) {
  if (!fs::exists(testdata()))
    GTEST_SKIP() << "libonnx-testdata is not installed";
  Counts counts;
  for (const char *folder : {"node", "simple", "pytorch-operator", "pytorch-converted"})
    tryFolder(testdata() / folder, counts);
  for (const auto &[outcome, count] : counts.outcomes)
    std::cout << count << " " << outcome << "\n";
  std::cout << counts.right << " of " << counts.all << " right (" << counts.given
            << " with shapes given), " << counts.refused << " refused\n";
  EXPECT_GT(counts.right, 0u);
  EXPECT_LE(counts.refused * 100, counts.all * 15);
}
