// Inferred layouts written into programs, emitted and run on the emulator, against the
// interpreter's run of the program as it was: layouts change no value.
#include "analysis/program/inference/testing/study_programs.h"
#include "analysis/program/inference/write_back.h"
#include "codegen/emit/testing/emulate.h"

#include <set>

namespace tilewright::emit::testing {
namespace {

using program::Program;
using program::SizeValues;

std::vector<Tensor> inputsOf(const Program &p, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (const program::TensorInfo &tensor : p.tensors) {
    if (tensor.isResult)
      continue;
    std::vector<int64_t> dims;
    for (Expr dim : tensor.dims)
      dims.push_back(dim.constant());
    inputs.push_back(fillTensor(Shape::tensor(tensor.type, dims), seed++));
  }
  return inputs;
}

/// The program with inferred layouts; nothing where they are not written back, with the reason.
std::optional<Program> inferred(const Program &p, std::string &reason) {
  auto problem = inference::LayoutProblem::make(p, {});
  if (!problem) {
    reason = takeDiag(problem.takeError()).message;
    return std::nullopt;
  }
  inference::InferenceAnswer answer = inference::inferLayouts(**problem);
  if (answer.outcome != inference::InferenceAnswer::Outcome::Found) {
    reason = "none found";
    return std::nullopt;
  }
  llvm::Expected<Program> made = inference::withLayouts(p, **problem, answer.layouts);
  if (!made) {
    reason = takeDiag(made.takeError()).message;
    return std::nullopt;
  }
  return std::move(*made);
}

/// Runs a program with inferred layouts; the reason why it has none, empty where it is right.
std::string runInferred(const Program &p, const std::vector<Tensor> &inputs, double tolerance,
                        const std::string &what) {
  std::string reason;
  std::optional<Program> made = inferred(p, reason);
  if (!made)
    return reason;
  const std::string text = program::printProgram(*made);
  Program again = program::testing::parsed(text, what);
  EXPECT_EQ(program::printProgram(again), text);
  llvm::Expected<program::RunResult> wanted = interpret(p, inputs);
  EXPECT_TRUE(bool(wanted)) << what;
  if (!wanted)
    return takeDiag(wanted.takeError()).message;
  llvm::Expected<Emulated> got = emulate(again, inputs);
  if (!got)
    return takeDiag(got.takeError()).message + "\n" + text;
  if (agree(got->results, wanted->results, tolerance, what + "\n" + text))
    expectCounts(again, *got, what);
  return "";
}

std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>> &by) {
  for (const auto &[from, to] : by)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

/// With extents that the emulator goes over in a moment, and the producer that wgmma has code with.
std::string smaller(const std::string &text) {
  std::string result =
      replaced(text, {{"p < 32, q < 32", "p < 2, q < 1"},
                      {"b: bf16[4096, 4096], v: f32[4096]", "b: bf16[128, 4096], v: f32[128]"},
                      {"c: bf16[4096, 4096]", "c: bf16[4096, 128]"},
                      {"128 * q of 4096", "128 * q of 128"},
                      {"-> c: bf16[64, 4096]", "-> c: bf16[64, 128]"},
                      {"-> y: bf16[64, 4096]", "-> y: bf16[64, 64]"},
                      {"(x: bf16[64, 4096])", "(x: bf16[64, 64])"},
                      {"4096", "256"},
                      {"2048", "256"},
                      {"t < 64 ", "t < 4 "},
                      {"t < 16 ", "t < 2 "},
                      {"t < 32 ", "t < 2 "}});
  if (result.find("wgmma") == std::string::npos)
    return result;
  result = replaced(result, {{"warps 4", "warps 4 producer 1"},
                             {" ahead 3", ""},
                             {" ahead 1", ""},
                             {"q[i, d]\n", "q[i, d] via tma\n"},
                             {"<- k[j, d]\n", "<- k[j, d] via tma\n"},
                             {"<- v[j, d]\n", "<- v[j, d] via tma\n"},
                             {"a[i, k]\n", "a[i, k] via tma\n"},
                             {"b[j, k]\n", "b[j, k] via tma\n"},
                             {"<- x[j, k]\n", "<- x[j, k] via tma\n"}});
  return result;
}

TEST(InferredLayoutsEmitted, OfTheStudysPrograms) {
  for (const inference::testing::StudyProgram &study : inference::testing::studyPrograms()) {
    Program p = program::testing::parsed(smaller(study.text), study.name);
    EXPECT_EQ(runInferred(p, inputsOf(p, 5), 0x1p-6, study.name), "") << study.name;
  }
}

/// Every family of tile programs at random sizes; the few that are not written back say why.
TEST(InferredLayoutsEmitted, OfEveryFamily) {
  const std::set<std::string> refused = {"goes through shared memory", "is an index that is held",
                                         "no whole panels"};
  size_t right = 0;
  for (const program::testing::GoldenProgram &golden : program::testing::goldenPrograms()) {
    program::testing::SizeDice dice(29);
    Program symbolic = program::testing::parsed(program::testing::textOf(golden.name), golden.name);
    for (int run = 0; run < 2; ++run) {
      const SizeValues sizes = golden.sizes(dice);
      Module module = program::testing::referenceOf(golden.name, sizes);
      const std::string what = golden.name + " " + program::testing::describe(sizes);
      const std::string reason =
          runInferred(program::testing::withSizes(symbolic, sizes),
                      fillArguments(module, module.entryId, dice.word()), 0x1p-6, what);
      right += reason.empty();
      const bool isRefused =
          std::any_of(refused.begin(), refused.end(), [&](const std::string &words) {
            return reason.find(words) != std::string::npos;
          });
      EXPECT_TRUE(reason.empty() || isRefused) << what << ": " << reason;
    }
  }
  EXPECT_GE(right, program::testing::goldenPrograms().size()); // of twice as many
}

} // namespace
} // namespace tilewright::emit::testing
