// Mutants of HLO text: of each that is read, everything that asks about a module has an answer:
// printing, index maps, costs, grouping, tiles, plans, evaluation, all within limits.
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/import/module_equal.h"
#include "analysis/import/summary.h"
#include "analysis/indexing/indexing.h"
#include "analysis/indexing/op_cost.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/inline.h"
#include "analysis/support/diag.h"
#include "tests/fuzz/hlo_mutation.h"
#include "tests/fuzz/mutant_formats.h"
#include "tools/explore/explore.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tilewright::test {

namespace {

/// Good files, small enough to be explored by the hundred.
std::vector<std::string> originals() {
  constexpr uintmax_t mostBytes = 8192;
  std::vector<std::string> paths, texts;
  for (const char *folder : {"tests/import", "tests/cases", "datasets/models"})
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().string().ends_with(".hlo.txt") && entry.file_size() <= mostBytes)
        paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths)
    if (llvm::Expected<std::string> text = readFile(path)) {
      llvm::Expected<std::vector<Module>> modules =
          importModules(std::make_shared<SourceBuffer>(path, *text));
      if (modules)
        texts.push_back(std::move(*text));
      else
        llvm::consumeError(modules.takeError()); // some cases are bad on purpose
    } else {
      llvm::consumeError(text.takeError());
    }
  return texts;
}

llvm::Error fault(std::string what) { return makeError(DiagClass::Internal, "{}", what); }

/// Nothing for a refusal in words; a fault for what is none.
llvm::Error expectRefusal(llvm::Error error) {
  Diag diag = takeDiag(std::move(error));
  if (diag.cls == DiagClass::Internal || diag.message.empty())
    return fault("not an answer to bad input: " + diag.str());
  return llvm::Error::success();
}

llvm::Error lookAtOps(const Module &module, const Graph &graph) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    ExprContext context;
    llvm::Expected<OpIndexing> maps = outputToOperands(graph, OpId{i}, context);
    if (!maps)
      if (llvm::Error error = expectRefusal(maps.takeError()))
        return error;
    opCost(module, graph, OpId{i});
  }
  return llvm::Error::success();
}

llvm::Error evaluateSmall(const Module &module) {
  constexpr int64_t most = 1 << 14;
  for (const ArgumentFill &fill : argumentFills(module, module.entryId))
    if (fill.shape.elementCount().value_or(INT64_MAX) > most ||
        dtypeClass(fill.shape.dtype) == DTypeClass::NonNumeric)
      return llvm::Error::success();
  EvalOptions limits;
  limits.maxWork = 20000;
  limits.maxLiveElements = 1 << 16;
  std::vector<Tensor> arguments = fillArguments(module, module.entryId, 1);
  llvm::Expected<std::vector<Tensor>> results = evaluate(module, module.entryId, arguments, limits);
  return results ? llvm::Error::success() : expectRefusal(results.takeError());
}

/// Whether a text's module is explored too, which takes most of the time: each; with
/// TILEWRIGHT_MUTANTS_EXPLORED=n about one in n, so that an hour is one of the readers.
bool isExplored(const std::string &text) {
  const char *each = std::getenv("TILEWRIGHT_MUTANTS_EXPLORED");
  return llvm::xxh3_64bits(text) % std::max(1UL, each ? std::strtoul(each, nullptr, 10) : 1UL) == 0;
}

llvm::Error lookAt(const Module &module, const Device &device, const Calibration &calibration,
                   bool explores) {
  llvm::Expected<Module> again =
      importBuffer(std::make_shared<SourceBuffer>("again", printHlo(module)));
  if (!again)
    return fault("what is printed is refused: " + takeDiag(again.takeError()).str());
  std::string why;
  if (!equal(module, *again, &why))
    return fault("what is printed reads back to another module: " + why);
  summarize(module);
  llvm::Expected<Module> inlined = inlineCalls(module);
  if (!inlined)
    return expectRefusal(inlined.takeError());
  size_t ops = 0;
  for (const Graph &graph : inlined->all()) {
    ops += graph.size();
    if (llvm::Error error = lookAtOps(*inlined, graph))
      return error;
  }
  if (llvm::Error error = evaluateSmall(module))
    return error;
  constexpr size_t fewOps = 100;
  if (!explores || ops > fewOps)
    return llvm::Error::success();
  ExploreOptions options;
  options.search.maxPriced = 4;
  options.search.top = 1;
  llvm::Expected<ExploredModel> explored = exploreModel(module, device, calibration, options);
  return explored ? llvm::Error::success() : fault(takeDiag(explored.takeError()).str());
}

} // namespace

std::function<llvm::Error(const std::string &)> modelReader() {
  llvm::Expected<Device> device = loadDevice("h100-sxm");
  auto loaded = std::make_shared<Device>(device ? std::move(*device) : Device());
  llvm::consumeError(device.takeError());
  auto calibration = std::make_shared<Calibration>(priorCalibration(*loaded));
  return [loaded, calibration](const std::string &text) -> llvm::Error {
    llvm::Expected<std::vector<Module>> modules =
        importModules(std::make_shared<SourceBuffer>("mutant", text));
    if (!modules)
      return modules.takeError();
    for (const Module &module : *modules)
      if (llvm::Error error = lookAt(module, *loaded, *calibration, isExplored(text)))
        return error;
    return llvm::Error::success();
  };
}

MutantFormat hloFormat() {
  MutantFormat format;
  format.name = "hlo";
  format.originals = originals();
  format.mutant = [texts = format.originals](uint64_t seed) {
    return mutatedHlo(texts[seed % texts.size()], texts, seed);
  };
  format.read = modelReader();
  return format;
}

} // namespace tilewright::test
