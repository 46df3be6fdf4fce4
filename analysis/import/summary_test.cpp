#include "analysis/import/import_file.h"
#include "analysis/import/summary.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(Summary, CountsAndNamesWhatHasNoMap) {
  llvm::Expected<Module> module = importBuffer(std::make_shared<const SourceBuffer>("test", R"(
HloModule summary_of_many

lt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
twice { v = f32[4,8] parameter(0) ROOT w = f32[4,8] add(v, v) }

ENTRY main {
  y = s4[3] parameter(1)
  x = f32[4,8] parameter(0)
  k = f32[1000] constant({...})
  sorted = f32[4,8] sort(x), dimensions={1}, to_apply=lt
  cc = f32[4,8] custom-call(sorted, k), custom_call_target="vendor"
  all = f32[4,8] all-reduce(cc), to_apply=sum
  ROOT out = f32[4,8] call(all), to_apply=twice
}
)"));
  ASSERT_TRUE(static_cast<bool>(module));
  ModuleSummary summary = summarize(*module);
  EXPECT_EQ(summary.module, "summary_of_many");
  EXPECT_EQ(summary.entry, "main");
  EXPECT_EQ(summary.computations, 4u);
  EXPECT_EQ(summary.ops, 15u);
  EXPECT_EQ(summary.entryOps, 7u);
  ASSERT_EQ(summary.parameters.size(), 2u);
  EXPECT_EQ(summary.parameters[0].name, "x"); // by number, not by place
  EXPECT_EQ(summary.parameters[0].shape, "f32[4,8]");
  EXPECT_EQ(summary.parameterBytes, 128 + 2); // s4[3] takes two bytes
  EXPECT_EQ(summary.constantBytes, 4000);
  EXPECT_EQ(summary.elidedConstants, 1u);
  EXPECT_EQ(summary.resultBytes, 128);
  EXPECT_EQ(summary.opCounts.front(), (std::pair<std::string, size_t>("parameter", 7)));
  EXPECT_EQ(summary.opCounts[1], (std::pair<std::string, size_t>("add", 2)));
  ASSERT_EQ(summary.opaque.size(), 3u);
  EXPECT_EQ(summary.opaque[0].reason, "sort along dim 1");
  EXPECT_EQ(summary.opaque[1].reason, "custom-call to \"vendor\"");
  EXPECT_EQ(summary.opaque[2].reason, "all-reduce: exchanges data between devices");
  EXPECT_EQ(summary.opaque[2].name, "all");
}
