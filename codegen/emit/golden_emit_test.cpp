// The programs of tests/programs, emitted and run on the emulator, against the interpreter; and
// what the emulator counts against the folds.
#include "codegen/compile.h"
#include "codegen/emit/testing/emulate.h"

#include <cstdlib>

namespace tilewright::emit::testing {
namespace {

using program::Program;
using program::SizeValues;
using program::testing::describe;
using program::testing::goldenPrograms;
using program::testing::parsed;
using program::testing::referenceOf;
using program::testing::SizeDice;
using program::testing::textOf;
using program::testing::withSizes;

/// The interpreter computes in doubles and rounds where a type does. Results of f32 differ by the
/// order of sums and by approximate functions, results of bf16 by one rounding (2^-8) more, where
/// something before it is bf16, too, by two.
double toleranceOf(const std::string &name) {
  static const std::map<std::string, double> exact{
      {"transposed_add", 0}, {"window", 0}, {"argmax", 0}, {"embedding", 0}};
  static const std::map<std::string, double> single{{"softmax", 2e-6},
                                                    {"softmax_steps", 2e-6},
                                                    {"layer_norm", 1e-4},
                                                    {"total", 2e-5},
                                                    {"scatter_add", 2e-6}};
  if (exact.count(name))
    return 0;
  if (auto at = single.find(name); at != single.end())
    return at->second;
  return name == "attention" ? 0x1p-6 : 0x1p-7;
}

/// Two warpgroups beside each other with 64 columns between them: half a panel each.
bool cutsPanels(const SizeValues &sizes) {
  auto columns = sizes.find("WC"), warps = sizes.find("W"), rows = sizes.find("WR");
  return columns != sizes.end() && columns->second > 1 &&
         warps->second == 4 * rows->second * columns->second;
}

void compareRuns(const program::testing::GoldenProgram &golden, const Program &symbolic,
                 const SizeValues &sizes, uint64_t seed) {
  Program program = withSizes(symbolic, sizes);
  std::string what = golden.name + " " + describe(sizes);
  Module module = referenceOf(golden.name, sizes);
  std::vector<Tensor> inputs = fillArguments(module, module.entryId, seed);
  llvm::Expected<program::RunResult> wanted = interpret(program, inputs);
  ASSERT_TRUE(bool(wanted)) << what << takeDiag(wanted.takeError()).str();
  llvm::Expected<Emulated> got = emulate(program, inputs);
  if (!got && cutsPanels(sizes)) {
    Diag diag = takeDiag(got.takeError());
    ASSERT_EQ(diag.cls, DiagClass::Unsupported) << what << diag.str();
    ASSERT_NE(diag.message.find("no whole panels"), std::string::npos) << diag.str();
    return;
  }
  ASSERT_TRUE(bool(got)) << what << takeDiag(got.takeError()).str();
  if (agree(got->results, wanted->results, toleranceOf(golden.name), what))
    expectCounts(program, *got, what);
}

class GoldenEmission : public ::testing::TestWithParam<size_t> {};

// TILEWRIGHT_PROGRAM_SIZES asks for more sizes of each program.
TEST_P(GoldenEmission, AgreesWithTheInterpreter) {
  const program::testing::GoldenProgram &golden = goldenPrograms()[GetParam()];
  const char *wanted = std::getenv("TILEWRIGHT_PROGRAM_SIZES");
  int runs = wanted ? std::atoi(wanted) : 5;
  Program symbolic = parsed(textOf(golden.name), golden.name);
  SizeDice dice(71);
  for (int run = 0; run < runs && !HasFatalFailure(); ++run) {
    SizeValues sizes = golden.sizes(dice);
    compareRuns(golden, symbolic, sizes, dice.word());
  }
}

/// Tiles that fit whole: no masks.
SizeValues alignedSizes(const std::string &name, SizeDice &dice) {
  SizeValues sizes;
  for (const program::testing::GoldenProgram &golden : goldenPrograms())
    if (golden.name == name)
      sizes = golden.sizes(dice);
  auto set = [&](const char *size, int64_t value) {
    if (sizes.count(size))
      sizes[size] = value;
  };
  if (sizes.count("BM") && sizes.count("M"))
    set("M", 2 * sizes["BM"]);
  if (sizes.count("BN") && sizes.count("N") && sizes.count("BK"))
    set("N", 2 * sizes["BN"]);
  if (sizes.count("BK"))
    set("K", 3 * sizes["BK"]);
  if (name == "attention")
    set("N", 2 * sizes["BM"]);
  if (name == "softmax" || name == "layer_norm") {
    set("C", 256);
    set("M", 2 * sizes["R"]);
  }
  return sizes;
}

TEST_P(GoldenEmission, AgreesWhereTilesAreWhole) {
  const program::testing::GoldenProgram &golden = goldenPrograms()[GetParam()];
  SizeDice dice(3);
  Program symbolic = parsed(textOf(golden.name), golden.name);
  compareRuns(golden, symbolic, alignedSizes(golden.name, dice), 5);
}

TEST_P(GoldenEmission, Assembles) {
  const program::testing::GoldenProgram &golden = goldenPrograms()[GetParam()];
  SizeDice dice(9);
  Program program =
      withSizes(parsed(textOf(golden.name), golden.name), alignedSizes(golden.name, dice));
  for (const char *targetName : {"sm_80", "sm_90a"}) {
    llvm::Expected<KernelModule> kernel = emitProgram(program, CodeMode::Device);
    ASSERT_TRUE(bool(kernel)) << golden.name << takeDiag(kernel.takeError()).str();
    llvm::Expected<Toolchain> toolchain = findToolchain(llvm::cantFail(findTarget(targetName)));
    if (!toolchain) {
      llvm::consumeError(toolchain.takeError());
      continue;
    }
    if (!targetProblem(*kernel, *toolchain).empty())
      continue;
    llvm::Expected<CompiledKernel> compiled = compileKernel(*kernel, *toolchain);
    ASSERT_TRUE(bool(compiled)) << golden.name << takeDiag(compiled.takeError()).str();
    EXPECT_NE(compiled->ptx.find(".entry"), std::string::npos);
    if (!toolchain->ptxas)
      continue;
    ASSERT_TRUE(compiled->assembled) << golden.name << compiled->assemblyError;
    EXPECT_TRUE(compiled->assembled->report.warnings.empty())
        << golden.name << compiled->assembled->report.warnings[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, GoldenEmission,
                         ::testing::Range<size_t>(0, goldenPrograms().size()),
                         [](const auto &info) { return goldenPrograms()[info.param].name; });

} // namespace
} // namespace tilewright::emit::testing
