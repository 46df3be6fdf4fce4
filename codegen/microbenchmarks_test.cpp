// What the micro-benchmarks claim of themselves, counted on the emulator.
#include "codegen/emulator.h"
#include "codegen/lower.h"
#include "codegen/microbenchmarks.h"

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

} // namespace tilewright
