// StableHLO programs that say their results: custom calls @check.expect_*(actual, expected), as in
// StableHLO's own test data. Those of this project lie in tests/eval/stablehlo; TILEWRIGHT_ORACLE
// names a folder of others.
#include "analysis/import/import_file.h"
#include "analysis/ir/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iostream>
#include <map>

using namespace tilewright;

namespace {

struct Check {
  OpId actual, expected;
  bool isExact = false;
};

/// The entry with the checks' operands as its result, and without the checks.
std::vector<Check> withChecksAsResult(Module &module) {
  const Graph &old = module.entry();
  Graph graph(old.name());
  std::vector<OpId> now(old.size());
  std::vector<Check> checks;
  Op tuple;
  tuple.opcode = Opcode::Tuple;
  tuple.name = "checked values";
  tuple.shape = Shape::tuple({});
  for (uint32_t i = 0; i < old.size(); ++i) {
    Op op = old.op(OpId{i});
    for (OpId &operand : op.operands)
      operand = now[operand.index];
    if (op.opcode == Opcode::CustomCall && op.attrs.customCallTarget.starts_with("check.")) {
      checks.push_back(
          {op.operands[0], op.operands[1], op.attrs.customCallTarget == "check.expect_eq"});
      for (OpId operand : op.operands) {
        tuple.operands.push_back(operand);
        tuple.shape.elements.push_back(graph.op(operand).shape);
      }
      continue;
    }
    now[i] = graph.add(std::move(op));
  }
  graph.setRoot(graph.add(std::move(tuple)));
  module.graph(module.entryId) = std::move(graph);
  return checks;
}

double toleranceOf(DType type) {
  switch (type) {
  case DType::F64:
  case DType::F32:
  case DType::C64:
  case DType::C128:
    return 2e-3;
  default:
    return 2e-2;
  }
}

/// The largest difference of two tensors, relative above 1; equal infinities and NaNs differ by 0.
double differenceOf(const Tensor &a, const Tensor &b, bool isExact) {
  double worst = 0;
  const bool isComplex = dtypeClass(a.dtype()) == DTypeClass::Complex;
  for (int64_t i = 0; i < a.size(); ++i)
    for (unsigned part = 0; part < (isComplex ? 2u : 1u); ++part) {
      if (!isComplex && !isFloat(a.dtype())) {
        worst = std::max(worst, a.integer(i) == b.integer(i) ? 0.0 : HUGE_VAL);
        continue;
      }
      const double x = isComplex ? (part ? a.complex(i).imag() : a.complex(i).real()) : a.real(i);
      const double y = isComplex ? (part ? b.complex(i).imag() : b.complex(i).real()) : b.real(i);
      if (x == y || (std::isnan(x) && std::isnan(y)))
        continue;
      const double gap = std::abs(x - y) / std::max(1.0, std::abs(y));
      worst = std::max(worst, isExact || !std::isfinite(gap) ? HUGE_VAL : gap);
    }
  return worst;
}

/// What became of a program: "right", or what is wrong, without numbers and names.
std::string outcomeOf(const std::filesystem::path &path) {
  llvm::Expected<Module> module = importFile(path.string());
  if (!module) {
    const Diag diag = takeDiag(module.takeError());
    return (diag.cls == DiagClass::Unsupported ? "refused: " : "BAD: ") + diag.message;
  }
  const std::vector<Check> checks = withChecksAsResult(*module);
  if (checks.empty())
    return "read, nothing to check";
  llvm::Expected<std::vector<Tensor>> values = evaluate(*module, module->entryId, {});
  if (!values)
    return "not evaluated: " + takeDiag(values.takeError()).message;
  for (size_t i = 0; i < checks.size(); ++i) {
    const Tensor &actual = (*values)[2 * i], &expected = (*values)[2 * i + 1];
    if (!actual.shape().sameDimsAndType(expected.shape()))
      return "BAD: shapes differ";
    const double gap = differenceOf(actual, expected, checks[i].isExact);
    if (gap > toleranceOf(actual.dtype()))
      return fmt::format("BAD: wrong by {:.3g} in {}", gap, actual.shape().str(false));
  }
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
  EXPECT_GE(outcomes.size(), 7u);
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
