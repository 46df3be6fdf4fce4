// What the micro-benchmarks claim of themselves, counted on the emulator.
#include "codegen/emulator.h"
#include "codegen/lower.h"
#include "codegen/microbenchmarks.h"
#include "codegen/nvptx.h"
#include "codegen/target.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// Counts of the first CTA of a kernel, over memory of ones.
EmulationCounts firstCta(const KernelSpec &spec) {
  auto kernel = EmulatedKernel::compile(llvm::cantFail(lowerKernel(spec, CodeMode::Emulation)));
  if (!kernel) {
    ADD_FAILURE() << takeDiag(kernel.takeError()).str();
    return {};
  }
  const Graph &graph = spec.graph();
  std::vector<std::vector<float>> memory;
  std::vector<EmulatorBuffer> buffers;
  auto add = [&](OpId id, bool isOutput) {
    auto elements = static_cast<size_t>(*graph[id].shape.elementCount());
    std::vector<float> &block = memory.emplace_back(elements + 64, 1.0f);
    auto address = (reinterpret_cast<uintptr_t>(block.data()) + 255) / 256 * 256;
    buffers.push_back(
        {reinterpret_cast<std::byte *>(address), static_cast<int64_t>(4 * elements), isOutput});
  };
  for (OpId id : graph.parameters())
    add(id, false);
  add(graph.root(), true);
  EmulationOptions options;
  options.countBankConflicts = true;
  options.ctas = {0};
  return llvm::cantFail(kernel->run(buffers, options));
}

} // namespace

TEST(Microbenchmarks, NamesAndPlansAreUnique) {
  std::vector<KernelSpec> suite = llvm::cantFail(microbenchmarks());
  std::set<std::string> names;
  for (const KernelSpec &spec : suite)
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
  EXPECT_GT(names.size(), 100u);
}

/// The kernels differ in how many lanes of a store meet in a bank, and in little else.
TEST(Microbenchmarks, BanksAreHitMoreOftenTheLargerTheStride) {
  std::map<std::string, int> lanes = {
      {"bank_33", 4}, {"bank_34", 8}, {"bank_36", 16}, {"bank_40", 32}};
  std::map<std::string, EmulationCounts> counts;
  for (const KernelSpec &spec : llvm::cantFail(microbenchmarks()))
    if (lanes.contains(spec.name))
      counts[spec.name] = firstCta(spec);
  ASSERT_EQ(counts.size(), lanes.size());
  double last = 0;
  for (const auto &[name, count] : counts) {
    SCOPED_TRACE(name);
    int rows = std::stoi(name.substr(5));
    // Further accesses for each row: the more, the more lanes of a store of it meet.
    const double more = static_cast<double>(count.sharedWavefronts - count.sharedAccesses) / rows;
    EXPECT_GT(more, last);
    last = more;
    EXPECT_LT(static_cast<double>(count.sharedAccesses) / rows,
              1.3 * static_cast<double>(counts["bank_33"].sharedAccesses) / 33);
  }
}

/// Of two lengths of a probe, what its further steps have.
TEST(Microbenchmarks, ProbesDifferInWhatTheyShow) {
  std::map<std::string, std::string> code;
  std::map<std::string, EmulationCounts> counts;
  const Target target = llvm::cantFail(findTarget("sm_80"));
  for (const KernelSpec &spec : llvm::cantFail(microbenchmarks())) {
    const std::string kind = spec.name.substr(0, spec.name.find('_'));
    if (kind != "shuffle" && kind != "exchange" && kind != "select" && kind != "convert")
      continue;
    const KernelModule kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
    code[spec.name] = llvm::cantFail(emitPtx(kernel, target, target.minimumPtx));
    if (kind == "shuffle" || kind == "exchange")
      counts[spec.name] = firstCta(spec);
  }
  auto times = [&](const std::string &name, std::string_view what) {
    const std::string &text = code.at(name);
    int found = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(times("shuffle_8", "shfl.sync") - times("shuffle_2", "shfl.sync"), 6 * 5);
  EXPECT_EQ(counts["shuffle_8"].barriers, 0);
  EXPECT_EQ(counts["shuffle_8"].sharedAccesses, 0);
  EXPECT_GT(counts["exchange_2"].barriers, 0);
  EXPECT_EQ(counts["exchange_8"].barriers, 4 * counts["exchange_2"].barriers);
  EXPECT_GT(counts["exchange_8"].sharedAccesses, 3 * counts["exchange_2"].sharedAccesses);
  EXPECT_GE(times("select_1w_1", "selp"), 64);
  EXPECT_GE(times("convert_1w_1", "cvt.rn.bf16"), 32);
}

} // namespace tilewright
