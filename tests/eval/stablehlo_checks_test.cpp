// StableHLO programs that say their results: custom calls @check.expect_*(actual, expected), as in
// StableHLO's own test data. Those of this project lie in tests/eval/stablehlo; TILEWRIGHT_ORACLE
// names a folder of others.
#include "analysis/import/check_calls.h"
#include "analysis/import/import_file.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/tensor_difference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iostream>
#include <map>

using namespace tilewright;

namespace {

/// What others' rounding may leave, who compute sines and the like otherwise.
double toleranceOf(DType type) { return std::max(defaultTolerance(type), 2e-3); }

/// What a module's checks say: "right", or what is wrong, without numbers and names.
std::string outcomeOf(Module &module) {
  const std::vector<CheckCall> checks = takeChecks(module);
  if (checks.empty())
    return "read, nothing to check";
  llvm::Expected<std::vector<Tensor>> values = evaluate(module, module.entryId, {});
  if (!values)
    return "not evaluated: " + takeDiag(values.takeError()).message;
  for (size_t i = 0; i < checks.size(); ++i) {
    const Tensor &actual = (*values)[2 * i], &expected = (*values)[2 * i + 1];
    if (!actual.shape().sameDimsAndType(expected.shape()))
      return "BAD: shapes differ";
    const double allowed = checks[i].isExact ? 0 : toleranceOf(actual.dtype());
    if (const TensorDifference difference = differenceOf(actual, expected, allowed);
        difference.over > 0)
      return fmt::format("BAD: wrong by {:.3g} in {}", difference.worst, actual.shape().str(false));
  }
  return "right";
}

/// What became of a file's program, or of the first of several that isn't right.
std::string outcomeOf(const std::filesystem::path &path) {
  llvm::Expected<std::string> text = readFile(path.string());
  if (!text)
    return "BAD: " + takeDiag(text.takeError()).message;
  llvm::Expected<std::vector<Module>> modules =
      importModules(std::make_shared<const SourceBuffer>(path.string(), std::move(*text)));
  if (!modules) {
    const Diag diag = takeDiag(modules.takeError());
    return (diag.cls == DiagClass::Unsupported ? "refused: " : "BAD: ") + diag.message;
  }
  for (Module &module : *modules)
    if (const std::string outcome = outcomeOf(module); outcome != "right")
      return outcome;
  return "right";
}

/// Outcomes of the programs in a folder and below it, by program.
std::map<std::string, std::string> outcomesIn(const std::string &folder) {
  std::map<std::string, std::string> outcomes;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".mlir")
      outcomes[entry.path().string()] = outcomeOf(entry.path());
  return outcomes;
}

} // namespace

TEST(StableHloChecks, ProgramsEvaluateToWhatTheySay) {
  const auto outcomes = outcomesIn("tests/eval/stablehlo");
  EXPECT_GE(outcomes.size(), 8u);
  for (const auto &[path, outcome] : outcomes)
    EXPECT_EQ(outcome, "right") << path;
}

// Programs of others, where TILEWRIGHT_ORACLE names a folder of them: each is read or refused in
// words, and what is evaluated is right.
TEST(StableHloChecks, ProgramsOfOthersToo) {
  const char *folder = std::getenv("TILEWRIGHT_ORACLE");
  const bool isVerbose = std::getenv("TILEWRIGHT_ORACLE_VERBOSE") != nullptr;
  std::map<std::string, size_t> counts;
  for (const auto &[path, outcome] : outcomesIn(folder ? folder : "tests/eval/stablehlo")) {
    ++counts[outcome];
    EXPECT_FALSE(outcome.starts_with("BAD")) << path << ": " << outcome;
    if (isVerbose && outcome != "right")
      std::cout << path << ": " << outcome << "\n";
  }
  for (const auto &[outcome, count] : counts)
    std::cout << count << " " << outcome << "\n";
  EXPECT_GT(counts["right"], 0u);
}
