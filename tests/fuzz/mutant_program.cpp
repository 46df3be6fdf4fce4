// Mutants of tile programs: of each that is read, the text comes back, every rule has an answer,
// the folds are made, and a run with small numbers ends.
#include "analysis/program/fold.h"
#include "analysis/program/interpret.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"
#include "analysis/program/verify.h"
#include "tests/fuzz/mutant_formats.h"

#include <algorithm>
#include <filesystem>

namespace tilewright::test {

namespace {

namespace tp = tilewright::program;

std::vector<std::string> programTexts() {
  std::vector<std::string> paths, texts;
  for (const auto &entry : std::filesystem::directory_iterator("tests/programs"))
    if (entry.path().extension() == ".tile")
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths)
    if (llvm::Expected<std::string> text = readFile(path))
      texts.push_back(std::move(*text));
    else
      llvm::consumeError(text.takeError());
  return texts;
}

llvm::Error programFault(std::string what) { return makeError(DiagClass::Internal, "{}", what); }

/// A run of what the verifier accepts, or a refusal in words.
llvm::Error runSmall(const tp::Program &program) {
  tp::SizeValues sizes;
  int64_t next = 1;
  for (const std::string &size : tp::freeSizes(program))
    sizes[size] = next++ % 4 + 1;
  llvm::Expected<tp::Program> concrete = tp::substituteSizes(program, sizes);
  if (!concrete)
    return concrete.takeError();
  tp::foldsOf(*concrete);
  DeviceLimits limits;
  if (llvm::Error error = tp::verify(*concrete, &limits).error(*concrete))
    return error;
  std::vector<Tensor> inputs;
  for (const tp::TensorInfo &tensor : concrete->tensors) {
    if (tensor.isResult)
      continue;
    std::vector<int64_t> dims;
    int64_t size = 1;
    constexpr int64_t mostElements = 1 << 16;
    for (Expr dim : tensor.dims) {
      dims.push_back(dim.constant());
      if (dim.constant() < 0 || __builtin_mul_overflow(size, dim.constant(), &size) ||
          size > mostElements)
        return llvm::Error::success();
    }
    inputs.push_back(fillTensor(Shape::tensor(tensor.type, dims), 1));
  }
  tp::RunOptions options;
  options.maxWork = 50000;
  llvm::Expected<tp::RunResult> run = tp::interpret(*concrete, inputs, options);
  return run ? llvm::Error::success() : run.takeError();
}

llvm::Error readProgram(const std::string &text) {
  llvm::Expected<tp::Program> program = tp::parseProgram(text, "mutant.tile");
  if (!program)
    return program.takeError();
  std::string printed = tp::printProgram(*program);
  llvm::Expected<tp::Program> again = tp::parseProgram(printed, "printed.tile");
  if (!again)
    return programFault("what is printed is not read: " + takeDiag(again.takeError()).str() +
                        printed);
  if (tp::printProgram(*again) != printed)
    return programFault("what is printed is read as another program: " + printed);
  tp::verify(*program);
  tp::foldsOf(*program);
  if (llvm::Error error = runSmall(*program)) {
    Diag diag = takeDiag(std::move(error));
    if (diag.cls == DiagClass::Internal)
      return makeError(std::move(diag));
  }
  return llvm::Error::success();
}

} // namespace

MutantFormat programFormat() {
  return {"program",
          programTexts(),
          {"for t < 2\n  ",
           "issue ",
           "if eq(p, 0)\n  ",
           "barrier\n",
           "over ",
           " else -inf",
           " @ flat(1)",
           " @ digits(2:1@i, 32:0, 1:0)",
           ":1@i ",
           "reduce add ",
           "sum.splits ",
           "select.axis ",
           "join ",
           "scan max ",
           "A@(t + 1)",
           "max(",
           "cdiv(",
           "sel(",
           "pow2ceil(",
           "log2(",
           "4611686018427387904",
           " ahead 3",
           "ring ",
           "shared ",
           " in A",
           " x 2",
           " from 1",
           "relayout ",
           "role ",
           "cluster.barrier\n"},
          readProgram};
}

} // namespace tilewright::test
