// StableHLO programs that say their results: custom calls @check.expect_*(actual, expected), as in
// StableHLO's own test data. Those of this project lie in tests/eval/stablehlo; TILEWRIGHT_ORACLE
// names a folder of others.
#include "analysis/import/check_calls.h"
#include "analysis/import/import_file.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/tensor_difference.h"
#include "tests/eval/oracle.h"

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
std::string outcomeOf(const std::string &name, std::string text) {
  llvm::Expected<std::vector<Module>> modules =
      importModules(std::make_shared<const SourceBuffer>(name, std::move(text)));
  if (!modules) {
    const Diag diag = takeDiag(modules.takeError());
    return (diag.cls == DiagClass::Unsupported ? "refused: " : "BAD: ") + diag.message;
  }
  for (Module &module : *modules)
    if (const std::string outcome = outcomeOf(module); outcome != "right")
      return outcome;
  return "right";
}

} // namespace

TEST(StableHloChecks, ProgramsEvaluateToWhatTheySay) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator("tests/eval/stablehlo")) {
    llvm::Expected<std::string> text = readFile(entry.path().string());
    ASSERT_TRUE(static_cast<bool>(text));
    EXPECT_EQ(outcomeOf(entry.path().string(), std::move(*text)), "right") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 8u);
}

// Programs of others: each is read or refused in words, and what is evaluated is right.
TEST(StableHloChecks, ProgramsOfOthersToo) {
  if (!hasOracle())
    GTEST_SKIP() << noOracle;
  const bool isVerbose = std::getenv("TILEWRIGHT_ORACLE_VERBOSE") != nullptr;
  std::map<std::string, size_t> counts;
  for (const auto &[name, text] : oracleTexts(".mlir")) {
    const std::string outcome = outcomeOf(name, text);
    ++counts[outcome];
    EXPECT_FALSE(outcome.starts_with("BAD")) << name << ": " << outcome;
    if (isVerbose && outcome != "right")
      std::cout << name << ": " << outcome << "\n";
  }
  for (const auto &[outcome, count] : counts)
    std::cout << count << " " << outcome << "\n";
  EXPECT_GT(counts["right"], 0u);
}
