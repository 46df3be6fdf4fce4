// The programs of tests/programs, run tile by tile against the graph's evaluator.
#include "analysis/program/fold.h"
#include "analysis/program/testing/golden_programs.h"
#include "analysis/program/verify.h"

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

TEST(GoldenPrograms, AreCanonical) {
  for (const GoldenProgram &golden : goldenPrograms()) {
    std::string text = textOf(golden.name);
    Program program = parsed(text, golden.name);
    std::string printed = printProgram(program);
    if (std::getenv("UPDATE"))
      llvm::cantFail(writeFileAtomically("tests/programs/" + golden.name + ".tile", printed));
    else
      EXPECT_EQ(printed, text) << golden.name;
    EXPECT_EQ(printProgram(parsed(printed)), printed) << golden.name;
  }
}

// Symbolic: nothing is violated, and what is left to the sizes holds at legal ones. With numbers
// everything is decided.
TEST(GoldenPrograms, AreVerified) {
  SizeDice dice(5);
  for (const GoldenProgram &golden : goldenPrograms()) {
    Program symbolic = parsed(textOf(golden.name), golden.name);
    Verification open = verify(symbolic);
    for (const Violation &violation : open.violations)
      ADD_FAILURE() << golden.name << " V" << violation.rule << ": " << violation.message;
    for (int run = 0; run < 20; ++run) {
      SizeValues sizes = golden.sizes(dice);
      for (const Requirement &requirement : open.requirements)
        EXPECT_EQ(requirement.formula.evaluate(assignmentOf(symbolic, sizes)), true)
            << golden.name << " " << describe(sizes) << "V" << requirement.rule << ": "
            << requirement.message;
      DeviceLimits limits;
      Program program = withSizes(symbolic, sizes);
      Verification closed = verify(program, &limits);
      EXPECT_TRUE(closed.requirements.empty()) << golden.name;
      for (const Violation &violation : closed.violations)
        ADD_FAILURE() << golden.name << " " << describe(sizes) << "V" << violation.rule << ": "
                      << violation.message;
    }
  }
}

TEST(GoldenPrograms, AreCanonicalWithNumbers) {
  SizeDice dice(3);
  for (const GoldenProgram &golden : goldenPrograms()) {
    Program program = withSizes(parsed(textOf(golden.name)), golden.sizes(dice));
    EXPECT_TRUE(program.sizes.empty() && program.lets.empty()) << golden.name;
    std::string printed = printProgram(program);
    EXPECT_EQ(printProgram(parsed(printed)), printed) << golden.name;
  }
}

TEST(GoldenPrograms, AgreeWithTheEvaluator) {
  for (const GoldenProgram &golden : goldenPrograms()) {
    SizeDice dice(17);
    Program symbolic = parsed(textOf(golden.name));
    for (int run = 0; run < 4; ++run) {
      SizeValues sizes = golden.sizes(dice);
      Program program = withSizes(symbolic, sizes);
      Module module = referenceOf(golden.name, sizes);
      std::vector<Tensor> inputs = fillArguments(module, module.entryId, dice.word());
      llvm::Expected<std::vector<Tensor>> wanted =
          tilewright::evaluate(module, module.entryId, inputs);
      ASSERT_TRUE(bool(wanted)) << takeDiag(wanted.takeError()).str();
      RunOptions options;
      options.seed = dice.word();
      llvm::Expected<RunResult> got = interpret(program, inputs, options);
      ASSERT_TRUE(bool(got)) << golden.name << " " << describe(sizes) << "\n"
                             << takeDiag(got.takeError()).str();
      ASSERT_EQ(got->results.size(), wanted->size());
      for (size_t r = 0; r < wanted->size(); ++r)
        for (int64_t i = 0; i < (*wanted)[r].size(); ++i) {
          double want = (*wanted)[r].asDouble(i), have = got->results[r].asDouble(i);
          ASSERT_TRUE(std::abs(have - want) <= golden.tolerance * (1 + std::abs(want)))
              << golden.name << " " << describe(sizes) << "result " << r << " element " << i << ": "
              << have << ", not " << want;
        }
    }
  }
}
