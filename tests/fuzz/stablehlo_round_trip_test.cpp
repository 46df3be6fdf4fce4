// Random programs and the bundled models as StableHLO: what is read back computes the same.
#include "analysis/import/import_file.h"
#include "analysis/ir/evaluator.h"
#include "tests/fuzz/random_program.h"
#include "tests/fuzz/stablehlo_printer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

namespace tilewright::test {
namespace {

size_t setting(const char *name, size_t otherwise) {
  const char *value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

/// The module that its StableHLO text reads back to.
std::optional<Module> readBack(const Module &module, uint64_t seed) {
  std::optional<std::string> text = printStableHlo(module, seed);
  if (!text)
    return std::nullopt;
  llvm::Expected<Module> again =
      importBuffer(std::make_shared<const SourceBuffer>("printed.mlir", *text));
  if (!again) {
    ADD_FAILURE() << takeDiag(again.takeError()).str() << *text;
    return std::nullopt;
  }
  return std::move(*again);
}

TEST(StableHloRoundTrip, RandomProgramsComputeTheSame) {
  constexpr ProgramKind kinds[] = {
      ProgramKind::Elementwise, ProgramKind::Reduction, ProgramKind::Softmax,  ProgramKind::Dot,
      ProgramKind::Window,      ProgramKind::Indexed,   ProgramKind::Attention};
  const size_t programs = setting("TILEWRIGHT_FUZZ_PROGRAMS", 20);
  const size_t first = setting("TILEWRIGHT_FUZZ_SEED", 1);
  for (ProgramKind kind : kinds)
    for (size_t seed = first; seed < first + programs; ++seed) {
      const std::string text = randomProgram(kind, seed);
      SCOPED_TRACE(text);
      llvm::Expected<Module> module =
          importBuffer(std::make_shared<const SourceBuffer>("random.hlo.txt", text));
      ASSERT_TRUE(static_cast<bool>(module)) << takeDiag(module.takeError()).str();
      std::optional<Module> again = readBack(*module, seed);
      ASSERT_TRUE(again.has_value());
      const std::vector<Tensor> arguments = fillArguments(*module, module->entryId, seed);
      llvm::Expected<std::vector<Tensor>> expected = evaluate(*module, module->entryId, arguments);
      llvm::Expected<std::vector<Tensor>> actual = evaluate(*again, again->entryId, arguments);
      ASSERT_TRUE(static_cast<bool>(expected)) << takeDiag(expected.takeError()).str();
      ASSERT_TRUE(static_cast<bool>(actual)) << takeDiag(actual.takeError()).str();
      ASSERT_EQ(actual->size(), expected->size());
      for (size_t i = 0; i < actual->size(); ++i)
        EXPECT_TRUE(std::equal((*actual)[i].words().begin(), (*actual)[i].words().end(),
                               (*expected)[i].words().begin(), (*expected)[i].words().end()));
    }
}

/// Ops of a module that compute something, by opcode and shape.
std::map<std::string, size_t> opsOf(const Module &module) {
  std::map<std::string, size_t> counts;
  for (const Graph &graph : module.all())
    for (const Op &op : graph.all()) {
      const bool isReducer = graph.size() <= 4 && op.shape.isScalar();
      if (op.opcode != Opcode::Copy && op.opcode != Opcode::Constant &&
          op.opcode != Opcode::Broadcast && op.opcode != Opcode::Tuple && !isReducer)
        ++counts[fmt::format("{} {}", toString(op.opcode), op.shape.str(false))];
    }
  return counts;
}

TEST(StableHloRoundTrip, BundledModelsHaveTheSameOps) {
  size_t printed = 0;
  for (const auto &entry : std::filesystem::directory_iterator("datasets/models")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".hlo.txt"))
      continue;
    SCOPED_TRACE(path);
    llvm::Expected<Module> module = importFile(path);
    ASSERT_TRUE(static_cast<bool>(module)) << takeDiag(module.takeError()).str();
    std::optional<Module> again = readBack(*module, 1);
    if (!again)
      continue; // fusions, library calls
    EXPECT_EQ(opsOf(*module), opsOf(*again));
    ++printed;
  }
  EXPECT_GE(printed, 6u);
}

} // namespace
} // namespace tilewright::test
