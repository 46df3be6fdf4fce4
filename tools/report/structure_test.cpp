// How a page is read: what stands on top, what is folded, what is told apart.
#include "tools/report/document.h"
#include "tools/report/graph_fold.h"
#include "tools/report/testing/page.h"
#include "tools/report/testing/sample.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::report;

namespace {

Kernel workOf(const std::string &kind, const std::string &layer = {}) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.layer = layer;
  return kernel;
}

/// A kernel in a layer, with a lever and a bound.
std::string layeredKernel(const std::string &name, const std::string &layer, double timeNs,
                          double gainNs) {
  return fmt::format(R"({{"name":"{}","kind":"dot","layer":"{}","ops":["{}.op"],"time_ns":{},
"lower_bound_ns":{},"limiter":"L2","levers":[{{"what":"half the instructions","gain_ns":{}}}]}})",
                     name, layer, name, timeNs, timeNs / 4, gainNs);
}

std::vector<std::string> shapesOf(const std::vector<GraphNode> &nodes) {
  std::vector<std::string> shapes;
  for (const GraphNode &node : nodes)
    shapes.push_back(fmt::format("{}+{}/{} {}", node.first, node.count, node.repeats, node.label));
  return shapes;
}

} // namespace

TEST(ReportFold, WhatRepeatsIsOneNode) {
  std::vector<Kernel> kernels = {workOf("embed")};
  for (int layer = 0; layer < 12; ++layer)
    for (const char *kind : {"norm", "dot", "dot", "softmax"})
      kernels.push_back(workOf(kind, fmt::format("layer_{}/{}", layer, kind)));
  kernels.push_back(workOf("head", "head"));
  EXPECT_EQ(shapesOf(foldKernels(kernels, 10)),
            (std::vector<std::string>{"0+1/1 ", "1+48/12 layer_*", "49+1/1 head"}));
  // Few enough are not folded.
  EXPECT_EQ(foldKernels(kernels, 50).size(), 50u);
}

TEST(ReportFold, LayersAreOneNodeWhereNothingRepeats) {
  std::vector<Kernel> kernels;
  for (int i = 0; i < 90; ++i)
    kernels.push_back(workOf(fmt::format("kind{}", i), fmt::format("part{}/sub{}", i / 30, i / 3)));
  const std::vector<GraphNode> nodes = foldKernels(kernels, 30);
  ASSERT_EQ(nodes.size(), 30u);
  EXPECT_EQ(nodes[1].label, "part0/sub1");
  EXPECT_EQ(foldKernels(kernels, 10).size(), 3u);
}

TEST(ReportFold, WhatTakesTimeStaysAlone) {
  std::vector<Kernel> kernels;
  for (int i = 0; i < 90; ++i) {
    kernels.push_back(workOf(fmt::format("kind{}", i)));
    kernels.back().timeNs = i % 30 == 7 ? 1000 : 1;
  }
  EXPECT_EQ(shapesOf(foldKernels(kernels, 7)),
            (std::vector<std::string>{"0+7/1 ", "7+1/1 ", "8+29/1 ", "37+1/1 ", "38+29/1 ",
                                      "67+1/1 ", "68+22/1 "}));
}

// Every kernel is in exactly one node, whatever the list is like, and there are as few nodes as
// were asked for.
TEST(ReportFold, NoKernelIsLost) {
  for (size_t kinds : {1u, 2u, 3u, 7u, 1000u})
    for (size_t count : {0u, 1u, 5u, 61u, 333u, 1000u}) {
      std::vector<Kernel> kernels;
      for (size_t i = 0; i < count; ++i)
        kernels.push_back(workOf(fmt::format("kind{}", i * i % 31 % kinds)));
      size_t next = 0;
      const std::vector<GraphNode> nodes = foldKernels(kernels, 60);
      for (const GraphNode &node : nodes) {
        EXPECT_EQ(node.first, next);
        EXPECT_EQ(node.count % node.repeats, 0u);
        next += node.count;
      }
      EXPECT_EQ(next, count);
      EXPECT_LE(nodes.size(), 60u);
    }
}

TEST(ReportStructure, TopSaysWhereWhatAndHow) {
  const std::string page =
      render({sampleExploration(layeredKernel("k0_a", "layer_0/mlp", 6000, 1000) + "," +
                                    layeredKernel("k1_a", "layer_1/mlp", 5000, 900) + "," +
                                    layeredKernel("k2_b", "head", 1000, 100),
                                R"(,"total_time_ns":12000,"lower_bound_ns":3000)")});
  checkPage(page);
  for (std::string_view part :
       {"Where the time goes",
        "<b>91.7 %</b> <a href=\"#m0-k-0\"><span class=\"mono\">k0_a</span></a> "
        "layer_0/mlp and 1 like it, 11.0 µs",
        "What limits it", "25.0 % of speed of light: the lower bound is 3.00 µs", "What would help",
        "<b>2.00 µs</b> (16.7 %) by half the instructions",
        "data-find=\"layer_ /mlp\">layer_*/mlp</th><td class=\"num\">2</td>"})
    EXPECT_TRUE(contains(page, part)) << part;
}

// Without scripts all rows are there; with them later ones are text until they are wanted.
TEST(ReportStructure, LaterRowsStandAside) {
  std::string kernels;
  for (int i = 0; i < 333; ++i)
    kernels += (i ? "," : "") + sampleKernel(fmt::format("k{}_x", i), 1000 + i, 1e9, 1e6);
  const std::string page = render({sampleExploration(kernels)});
  checkPage(page);
  EXPECT_EQ(occurrences(page, "<tr class=\"main\">"), 333u);
  const std::string_view shown = std::string_view(page).substr(0, page.find("<noscript"));
  EXPECT_EQ(occurrences(shown, "<tr class=\"main\">"), 40u);
  EXPECT_EQ(occurrences(page, "<noscript data-rows=\"m0-k\">"), 3u);
}

TEST(ReportStructure, FoldedGraphsOpen) {
  std::string kernels;
  for (int i = 0; i < 100; ++i)
    kernels +=
        fmt::format("{}{{\"name\":\"k{}\",\"kind\":\"{}\",\"time_ns\":5,\"reads\":[\"k{}\"]}}",
                    i ? "," : "", i, i % 2 ? "dot" : "add", i - 1);
  const std::string page = render({sampleExploration(kernels)});
  checkPage(page);
  EXPECT_TRUE(contains(page, "100 kernels folded to 1 row"));
  EXPECT_TRUE(contains(page, "50 × 2 kernels alike, the first of them, 100 % of the time"));
  EXPECT_TRUE(contains(page, "data-e=\"0 1\"")); // inside of the fold
}

TEST(ReportStructure, ModelsOfOneTitleAreToldApart) {
  const std::string page = render({sampleExploration(sampleFiveKernels(), "", "a/net.hlo.txt"),
                                   sampleExploration(sampleFiveKernels(), "", "b/net.hlo.txt")});
  checkPage(page);
  const std::string_view overview =
      std::string_view(page).substr(0, page.find("<section class=\"model\""));
  for (std::string_view part :
       {"Contents", "href=\"#m0\"", "href=\"#m1\"", "a/net.hlo.txt</div>", "b/net.hlo.txt</div>"})
    EXPECT_TRUE(contains(overview, part)) << part;
}

TEST(ReportStructure, PlansThatTakeAsLongAreOneRow) {
  const std::string page = render({sampleExploration(
      R"({"name":"k","time_ns":1000,"alternatives":[
{"plan":{"tile":{"t0":1,"t1":64},"schedule":{"warps":4,"group_m":1}},"time_ns":1000},
{"plan":{"tile":{"t0":1,"t1":64},"schedule":{"warps":4,"group_m":2}},"time_ns":1000.00002},
{"plan":{"tile":{"t0":1,"t1":64},"schedule":{"warps":4,"group_m":4}},"time_ns":1000.00002},
{"plan":{"tile":{"t0":1,"t1":32},"schedule":{"warps":8,"group_m":1}},"time_ns":1100}]})")});
  checkPage(page);
  EXPECT_TRUE(contains(page, "as fast with group_m 2; group_m 4"));
  EXPECT_TRUE(contains(page, "<td class=\"mono\">t1 32 · warps 8</td>"));
  EXPECT_EQ(occurrences(page, "<tr><th scope=\"row\" class=\"num\">"), 2u);
}

TEST(ReportStructure, TileMapsNameTheirSchedules) {
  std::string kernel = sampleMappedKernel("k", "");
  kernel.replace(kernel.find("\"refusals\""), 0,
                 R"("schedules":[{"cell":2,"schedule":{"warps":8,"stages":2}}],)");
  const std::string page = render({sampleExploration(kernel)});
  checkPage(page);
  EXPECT_TRUE(contains(page, "title=\"with warps 8 · stages 2\">3.00<small>w8 s2</small></td>"));
  EXPECT_TRUE(contains(page, "warps (w) and stages (s) that suit it best"));
  kernel.replace(kernel.find("\"cell\":2"), 8, "\"cell\":9");
  ReportInput bad{"d.json", sampleExploration(kernel)};
  auto refused = renderReport({&bad, 1});
  ASSERT_FALSE(static_cast<bool>(refused));
  EXPECT_NE(takeDiag(refused.takeError()).message.find("schedules[0].cell is 9"),
            std::string::npos);
}

TEST(ReportStructure, ChangesHaveReasons) {
  auto kernel = [](const char *name, double time, int tile, const char *limiter, double dram) {
    return fmt::format(
        R"({{"name":"{}","ops":["a"],"time_ns":{},"limiter":"{}","terms":{{"DRAM":{}}},
"plan":{{"tile":{{"t0":{}}}}}}})",
        name, time, limiter, dram, tile);
  };
  const std::string before = sampleExploration(kernel("k0_dot", 9000, 64, "L2", 3000) + "," +
                                               kernel("k1_gone", 500, 1, "L2", 0));
  std::string after = sampleExploration(kernel("k0_new<", 700, 1, "L2", 0) + "," +
                                        kernel("k1_dot", 6000, 128, "DRAM", 5000));
  after.replace(after.find("\"sm_count\":132"), 14, "\"sm_count\":144");
  const std::string page = render({before, after});
  checkPage(page);
  for (std::string_view part :
       {"144 SMs in place of 132",
        "plan: t0 64 → 128; limited by L2 → DRAM; DRAM 3.00 µs → 5.00 µs", "gone, of 1 op",
        "new, of 1 op", "k0_new&lt;", "3 kernels with another time"})
    EXPECT_TRUE(contains(page, part)) << part;
}

TEST(ReportStructure, ListingsStandBesideTheirKernels) {
  std::string kernels = sampleFiveKernels();
  kernels.replace(kernels.find("\"root_shape\""), 0, "\"plan_file\":\"plans/k0.json\",");
  ReportInput input{"d.json", sampleExploration(kernels)};
  std::vector<std::string> asked;
  input.listings = [&](const std::string &file) {
    asked.push_back(file);
    std::string large;
    for (int i = 0; i < 5000; ++i)
      large += fmt::format("line {}\n", i);
    return std::vector<ReportListing>{{"PTX <x>", "ld.global a<b;\nret;\n"}, {"large", large}};
  };
  llvm::Expected<std::string> page = renderReport({&input, 1});
  ASSERT_TRUE(bool(page));
  checkPage(*page);
  EXPECT_EQ(asked, std::vector<std::string>{"plans/k0.json"});
  EXPECT_TRUE(contains(*page, "PTX &lt;x&gt;, 2 lines</summary>"));
  EXPECT_TRUE(contains(*page, "ld.global a&lt;b;\nret;\n</pre>"));
  EXPECT_TRUE(contains(*page, ", the first of them</summary>"));
  EXPECT_FALSE(contains(*page, "line 4999"));
}
