#include "analysis/support/diag.h"
#include "tools/report/report.h"
#include "tools/report/style.h"
#include "tools/report/testing/page.h"
#include "tools/report/testing/sample.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright;
using namespace tilewright::report;

namespace {
const char *const incomplete = R"(,"unsupported":[{"op":"sort.3","reason":"no index map"},
{"op":"fft.1","reason":"opaque"}],
"split_groups":[{"root":"add.9","ops":4,"reason":"no plan fits the device"}],"total_time_ns":87000,"total_is_complete":false,
"lower_bound_ns":40000,"simple_grouping_time_ns":100000,"alone_time_ns":83000)";
} // namespace

TEST(Report, SaysWhatAKernelWouldGain) {
  const std::string page = render({sampleExploration(
      R"({"name":"k","time_ns":2000,"lower_bound_ns":500,
"in_sequence":{"time_ns":1700,"limiter":"dispatch"},"limiter":"DRAM","levers":[{"what":"half the <registers>","gain_ns":300}]})",
      R"(,"total_time_ns":1700,"alone_time_ns":2000)")});
  checkPage(page);
  for (std::string_view part :
       {"Each kernel alone", "1.70 µs", "2.00 µs", "25.0 % of the time alone",
        "300 ns by half the &lt;registers&gt;", "dispatch"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "sums up to")) << "the total is that of the kernels in their order";
}

TEST(Report, HasAllItsParts) {
  std::string page =
      render({sampleExploration(sampleFiveKernels(), incomplete), sampleEvaluation()});
  checkPage(page);
  for (std::string_view part : {"<h2 id=\"m0-t\">block</h2>",
                                "87.0 µs",
                                "40.0 µs",
                                "NVIDIA H100 SXM",
                                "3.35 TB/s",
                                "bf16, f16 990 TFLOP/s",
                                "f32 67.0 TFLOP/s",
                                "k0_big",
                                "bf16[8,64]",
                                "t0 1 · t1 128 · k0 64",
                                "±8.33 %",
                                "132<div class=\"sub\">of 2,535</div>",
                                "dot.1, add.2, max.3",
                                "no index map",
                                "Split groups",
                                "add.9",
                                "no plan fits the device",
                                "Best plans",
                                "Not modelled",
                                "gemm/bf16",
                                "8.34",
                                "−1.23",
                                "overall",
                                "50.0 % within ±20 %"})
    EXPECT_TRUE(contains(page, part)) << part;
}

TEST(Report, OneDotAKernel) {
  std::string page = render({sampleExploration(sampleFiveKernels())});
  EXPECT_EQ(occurrences(page, "<circle class=\"dot"), 5u);
  EXPECT_TRUE(contains(page, "1 kernel without FLOPs on the left rail"));
  EXPECT_TRUE(contains(page, "1 kernel without DRAM traffic on the right rail"));
  EXPECT_EQ(occurrences(page, "<tr class=\"main\">"), 5u);

  std::string untimed = R"({"name":"k","flops":5,"dram_bytes":7})";
  page = render({sampleExploration(sampleFiveKernels() + "," + untimed)});
  EXPECT_EQ(occurrences(page, "<circle class=\"dot"), 5u);
  EXPECT_TRUE(contains(page, "1 kernel without a predicted time"));
}

TEST(Report, DotsOfAHugeModelAreBounded) {
  std::string kernels;
  for (int i = 0; i < 7000; ++i)
    kernels += fmt::format("{}{{\"name\":\"k{}\",\"time_ns\":{},\"flops\":5,\"dram_bytes\":7}}",
                           i ? "," : "", i, 100 + i);
  std::string page = render({sampleExploration(kernels)});
  checkPage(page);
  EXPECT_EQ(occurrences(page, "<circle class=\"dot"), 6000u);
  EXPECT_TRUE(contains(page, "1,000 cheaper kernels not drawn"));
  EXPECT_LT(page.size(), 5u << 20);
}

TEST(Report, IncompleteTotalsAreMarked) {
  std::string partial = render({sampleExploration(sampleFiveKernels(), incomplete)});
  EXPECT_TRUE(contains(partial, "Predicted time, incomplete"));
  EXPECT_TRUE(contains(partial, "excludes 2 unsupported ops"));
  std::string whole = render({sampleExploration(sampleFiveKernels())});
  EXPECT_FALSE(contains(whole, "incomplete"));
  // In the overview of several models too.
  std::string both = render(
      {sampleExploration(sampleFiveKernels(), incomplete), sampleExploration(sampleFiveKernels())});
  checkPage(both);
  EXPECT_EQ(occurrences(both, "<span class=\"warn\">incomplete</span>"), 1u);
}

TEST(Report, NamesAreEscapedEverywhere) {
  const std::string evil = "</title></script><script>alert(1)</script>\\\" onload=\\\"x";
  std::string kernel = fmt::format(
      R"({{"name":"{0}","ops":["{0}"],"root_shape":"{0}","kind":"{0}","limiter":"{0}","time_ns":5,
"flops":7,"dram_bytes":3,"plan":{{"tile":{{"{0}":"{0}"}},"schedule":{{"{0}":"{0}"}}}},
"terms":{{"{0}":5}},"alternatives":[{{"limiter":"{0}"}}]}})",
      evil);
  std::string json = sampleExploration(
      kernel,
      fmt::format(
          R"(,"unsupported":[{{"op":"{0}","reason":"{0}"}}],"no_kernel":[{{"op":"{0}","reason":"{0}"}}],"split_groups":[{{"root":"{0}","reason":"{0}"}}])",
          evil),
      evil);
  json.replace(json.find("NVIDIA H100 SXM"), 15, evil);
  json.replace(json.find("\"f32\""), 5, "\"" + evil + "\"");
  std::string evaluation = fmt::format(
      R"({{"schema":"tilewright.evaluate","schema_version":1,"device":"{0}","calibration":"{0}",
"families":[{{"family":"{0}"}}],"rows":[{{"family":"{0}","predicted_ns":5,"measured_ns":6}}]}})",
      evil);
  std::string page = render({json, json, evaluation});
  checkPage(page);
  EXPECT_FALSE(contains(page, "<script>alert"));
  EXPECT_TRUE(contains(page, "&lt;script&gt;alert"));
  EXPECT_FALSE(contains(render({json, evaluation}, true), "<script"));
}

TEST(Report, PolicyAllowsItsOwnScriptAndStyleOnly) {
  std::string page = render({sampleEvaluation()});
  auto between = [&](std::string_view open, std::string_view close) {
    size_t start = page.find(open) + open.size();
    return page.substr(start, page.find(close, start) - start);
  };
  EXPECT_TRUE(contains(page, "default-src 'none'"));
  EXPECT_TRUE(contains(page, "script-src '" + contentHash(between("<script>", "</script>")) + "'"));
  EXPECT_TRUE(contains(page, "style-src '" + contentHash(between("<style>", "</style>")) + "'"));
  // The hash of the empty text is well known.
  EXPECT_EQ(contentHash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

TEST(Report, SameInputsSameBytes) {
  std::vector<std::string> documents = {sampleExploration(sampleFiveKernels(), incomplete),
                                        sampleEvaluation()};
  EXPECT_EQ(render(documents), render(documents));
  EXPECT_EQ(render(documents, true), render(documents, true));
}

TEST(Report, EmptyAndZeroDocuments) {
  checkPage(render({sampleExploration("")}));
  checkPage(render({R"({"schema":"tilewright.explore","schema_version":1,"models":[]})"}));
  checkPage(render({R"({"schema":"tilewright.evaluate","schema_version":1,"families":[]})"}));
  checkPage(render({sampleExploration(sampleKernel("z", 0, 0, 0))}));
  checkPage(render({R"({"schema":"tilewright.explore","schema_version":1,"models":[
{"model":"","kernels":[{"name":""},{"name":"k","time_ns":0,"terms":{"DRAM":0}}]}]})"}));
}

TEST(Report, AnyNumberGivesAValidPage) {
  const std::vector<std::string> values = {
      "0", "null", "1e-300", "1e308", "1", "1e-3", "12345678901234567890"};
  const std::string base = sampleExploration(sampleFiveKernels(), incomplete);
  std::mt19937 random(17);
  for (int round = 0; round < 150; ++round) {
    // Replaces some of the numbers after a colon.
    std::string json;
    for (size_t i = 0; i < base.size(); ++i) {
      json += base[i];
      bool isNumber = base[i] == ':' && i + 1 < base.size() && isdigit(base[i + 1]);
      if (!isNumber || random() % 4 || json.ends_with("schema_version\":"))
        continue;
      json += values[random() % values.size()];
      i = base.find_first_of(",}\n", i) - 1;
    }
    checkPage(render({json}));
    EXPECT_FALSE(render({json}, true).empty());
    if (HasFailure())
      FAIL() << json;
  }
}

TEST(Report, StaysSmallForManyModels) {
  std::string kernels, models;
  for (int i = 0; i < 150; ++i)
    kernels += (i ? "," : "") + sampleKernel(fmt::format("k{}", i), 1000 + i, 1e9, 1e6);
  std::string one = sampleExploration(kernels);
  std::vector<std::string> documents(50, one);
  std::string page = render(documents);
  checkPage(page);
  EXPECT_LT(page.size(), 5u << 20);
  EXPECT_TRUE(contains(page, "cheaper kernels with"));
  EXPECT_LT(render(documents, true).size(), 5u << 20);

  std::string rows;
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i)
    rows += fmt::format("{}{{\"family\":\"f{}\",\"predicted_ns\":{},\"measured_ns\":{}}}",
                        i ? "," : "", i % 50, 1 + random() % 1000000, 1 + random() % 1000000);
  page = render({R"({"schema":"tilewright.evaluate","schema_version":1,"families":[],"rows":[)" +
                 rows + "]}"});
  checkPage(page);
  EXPECT_LT(page.size(), 5u << 20);
  EXPECT_TRUE(contains(page, "Panels for the first 40 of 50 families"));
}

TEST(Report, ManyOpsAndReasonsAreCut) {
  std::string ops, notes, splits;
  for (int i = 0; i < 5000; ++i) {
    ops += fmt::format("{}\"op.{}\"", i ? "," : "", i);
    notes += fmt::format("{}{{\"op\":\"o{}\",\"reason\":\"r{}\"}}", i ? "," : "", i, i % 300);
    splits += fmt::format("{}{{\"root\":\"g{}\",\"reason\":\"r\"}}", i ? "," : "", i);
  }
  std::string page = render(
      {sampleExploration("{\"name\":\"k\",\"ops\":[" + ops + "]}",
                         ",\"unsupported\":[" + notes + "],\"split_groups\":[" + splits + "]")});
  checkPage(page);
  EXPECT_TRUE(contains(page, "and 4,800 more"));
  EXPECT_TRUE(contains(page, "200 reasons more not listed"));
  EXPECT_TRUE(contains(page, "4,900 groups more not listed"));
  EXPECT_LT(page.size(), 200u << 10);
}

TEST(Report, MarkdownHasTheTables) {
  std::string text =
      render({sampleExploration(sampleFiveKernels(), incomplete), sampleEvaluation()}, true);
  for (std::string_view part : {"# Tilewright report", "## block", "(**incomplete**: excludes 2",
                                "| 1 | k0\\_big | 3 | t0 1", "- no index map: 1 op (sort.3)",
                                "- the 4 ops of add.9: no plan fits the device",
                                "| gemm/bf16 | 12 | 1,400 | 3 | 8.34 |", "| **overall** | 20 |"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  // Every row of a table has the cells of its head.
  std::vector<size_t> cells;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string_view line = std::string_view(text).substr(at, end - at);
    if (!line.starts_with("|")) {
      cells.clear();
      continue;
    }
    cells.push_back(occurrences(line, "|") - occurrences(line, "\\|"));
    EXPECT_EQ(cells.back(), cells.front()) << line;
  }
}

TEST(Report, GraphsShowWhatFlows) {
  std::string page = render({sampleExploration(
      sampleKernel("first", 1000, 1e6, 1e6) + "," + sampleMappedKernel("second", "\"first\"") +
      "," + sampleMappedKernel("third", "\"second\",\"gone\""))});
  checkPage(page);
  EXPECT_EQ(occurrences(page, "class=\"edge-arc\""), 2u); // one reads a kernel that is not listed
  EXPECT_TRUE(contains(page, "3 kernels in execution order with 2 edges between them"));
}

TEST(Report, TileMapsExplainWhatIsRefused) {
  std::string page = render({sampleExploration(sampleMappedKernel("k", ""))});
  checkPage(page);
  EXPECT_TRUE(contains(page, "with other sizes of t0 and t1"));
  EXPECT_TRUE(contains(page, "<td class=\"ramp6 own\">2.00</td>"));
  EXPECT_TRUE(contains(page, "<td class=\"ramp0\">9.00</td>"));
  EXPECT_EQ(occurrences(page, "<td class=\"no\""), 1u);
  EXPECT_TRUE(contains(page, "title=\"270000 bytes over the 232448 allowed\">a</td>"));
  EXPECT_TRUE(contains(page, "<dt>a</dt><dd>270000 bytes over the 232448 allowed</dd>"));
}

TEST(Report, RegretIsWhatTrustingThePredictionCosts) {
  std::string page = render({samplePlannedEvaluation()});
  checkPage(page);
  size_t poor = page.find(">poor<"), good = page.find(">good<");
  ASSERT_NE(good, std::string::npos);
  EXPECT_LT(poor, good); // worst first
  EXPECT_TRUE(contains(page, ">poor</th><td class=\"num\">2</td><td class=\"num\">0.100</td>"
                             "<td class=\"num\">0.400</td><td class=\"num\">25.0</td>"
                             "<td class=\"num\">2</td>"));
  EXPECT_TRUE(contains(render({samplePlannedEvaluation()}, true), "| poor | 2 | 0.100 | 0.400 |"));
}

TEST(Report, ResidualsByEachChoiceThatVaries) {
  std::string page = render({samplePlannedEvaluation()});
  // t0 has two values, warps one; ratios 1 and 0.25 at 16, 1.2 and 1.2 at 32.
  EXPECT_EQ(occurrences(page, "class=\"residual\""), 1u);
  EXPECT_TRUE(contains(page, "16: 0.62 (0.33 to 0.93, 2 rows); 32: 1.20 (1.20 to 1.20, 2 rows)"));
}

TEST(Report, CalibrationsShowUncertaintyWhereFitted) {
  std::string page = render({sampleCalibration()});
  checkPage(page);
  EXPECT_TRUE(contains(page, "Fitted to 400 measurements of 12 problems, mean error 7.00 %"));
  EXPECT_EQ(occurrences(page, "±5.13 %"), 1u); // the fixed parameter has none
  EXPECT_TRUE(contains(page, "launch to the first instruction"));
  EXPECT_TRUE(contains(render({sampleCalibration()}, true), "| launch | 800 | ns | 5.00 |"));
}

TEST(Report, ModelsThatFailedAreNamed) {
  std::string document = sampleExploration(sampleFiveKernels());
  document.insert(document.size() - 1, R"(,"failures":[{"file":"bad<1>.hlo","class":"bad input",
    "message":"no such word"},{"file":"crash.hlo","class":"internal","message":"crashed"}])");
  std::string page = render({document});
  checkPage(page);
  EXPECT_TRUE(contains(page, "2 models could not be explored"));
  EXPECT_TRUE(contains(page, "bad&lt;1&gt;.hlo</span>: no such word"));
  std::string markdown = render({document}, true);
  EXPECT_TRUE(contains(markdown, "crash.hlo: crashed")) << markdown;
}

TEST(Report, TwoRunsAreCompared) {
  std::string before = sampleExploration(sampleKernel("same", 1000, 1e6, 1e6) + "," +
                                         sampleKernel("faster", 4000, 1e6, 1e6));
  std::string after = sampleExploration(sampleKernel("same", 1000, 1e6, 1e6) + "," +
                                        sampleKernel("faster", 3000, 1e6, 1e6));
  std::string page = render({before, after});
  checkPage(page);
  size_t compare = page.find("id=\"compare\"");
  ASSERT_NE(compare, std::string::npos);
  std::string_view section =
      std::string_view(page).substr(compare, page.find("</section>", compare) - compare);
  EXPECT_TRUE(contains(section, "<td class=\"num\">5.00</td><td class=\"num\">4.00</td>"
                                "<td class=\"num\">−20.0 %</td>"));
  EXPECT_TRUE(contains(section, "faster"));
  EXPECT_FALSE(contains(section, ">same<"));
  EXPECT_FALSE(contains(render({before}), "id=\"compare\""));
}

TEST(Report, ModelsOnSeveralDevicesAreAMatrix) {
  auto on = [](const std::string &device, const std::string &kernels) {
    std::string text = sampleExploration(kernels);
    return text.replace(text.find("h100-sxm"), std::string("h100-sxm").size(), device);
  };
  const std::string first = on("h100-sxm", sampleKernel("k0", 40000, 1e9, 1e7)),
                    second = on("b<200", sampleKernel("k0", 10000, 1e9, 1e7));
  const std::string both = R"({"schema":"tilewright.explore.devices","schema_version":1,"runs":[)" +
                           first + "," + second + "]}";
  // Of one document with runs, and of two documents.
  for (const std::vector<std::string> &documents :
       {std::vector<std::string>{both}, {first, second}}) {
    const std::string page = render(documents);
    checkPage(page);
    EXPECT_NE(page.find("id=\"devices\""), std::string::npos);
    EXPECT_NE(page.find("b&lt;200 (µs)"), std::string::npos);
    EXPECT_NE(page.find("<td class=\"num\">4.00×</td>"), std::string::npos);
    EXPECT_EQ(page.find("b<200"), std::string::npos);
  }
  EXPECT_EQ(render({first}).find("id=\"devices\""), std::string::npos);
  EXPECT_EQ(render({first, first}).find("id=\"devices\""), std::string::npos);
  const std::string markdown = render({both}, true);
  EXPECT_NE(markdown.find("| block | 40.0 | 10.0 | 4.00× |"), std::string::npos) << markdown;
  ReportInput bad{
      "d.json",
      R"({"schema":"tilewright.explore.devices","schema_version":1,"runs":[{"models":3}]})"};
  auto refused = renderReport({&bad, 1});
  ASSERT_FALSE(static_cast<bool>(refused));
  EXPECT_NE(takeDiag(refused.takeError()).message.find("runs[0].models"), std::string::npos);
}

TEST(Report, ErrorsComeThrough) {
  ReportInput bad{"bad.json", "{\"schema\":\"tilewright.explore\",\"schema_version\":1}"};
  EXPECT_EQ(takeDiag(renderReport({&bad, 1}).takeError()).cls, DiagClass::BadInput);
  EXPECT_EQ(takeDiag(renderMarkdown({&bad, 1}).takeError()).file, "bad.json");
}

/// What a reader of the prices has to know of the device stands in the page and in the Markdown.
TEST(Report, NotesOnTheDeviceAreShown) {
  std::string json = sampleExploration(sampleFiveKernels());
  const std::string models = "\"models\":[";
  json.insert(json.find(models), "\"notes\":[{\"kind\":\"unmodelled-instruction\",\"text\":"
                                 "\"b200 has <tcgen05> & more\"}],");
  EXPECT_TRUE(contains(render({json}), "b200 has &lt;tcgen05&gt; &amp; more"));
  EXPECT_TRUE(contains(render({json}, true), "Note: b200 has"));
  EXPECT_FALSE(contains(render({sampleExploration(sampleFiveKernels())}, true), "Note:"));
}
