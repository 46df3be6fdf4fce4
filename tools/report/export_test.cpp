// The report's tables as CSV, and models as traces.
#include "analysis/support/diag.h"
#include "tools/report/report.h"
#include "tools/report/testing/sample.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace tilewright;
using namespace tilewright::report;

namespace {

using Json = nlohmann::json;

std::vector<ReportInput> inputsOf(const std::vector<std::string> &documents) {
  std::vector<ReportInput> inputs;
  for (const std::string &json : documents)
    inputs.push_back({fmt::format("d{}.json", inputs.size()), json});
  return inputs;
}

std::map<std::string, std::string> tablesOf(const std::vector<std::string> &documents) {
  auto tables = renderCsv(inputsOf(documents));
  if (!tables) {
    ADD_FAILURE() << takeDiag(tables.takeError()).str();
    return {};
  }
  std::map<std::string, std::string> result;
  for (ReportTable &table : *tables)
    result[table.name] = std::move(table.csv);
  return result;
}

/// Lines of cells, unquoted.
std::vector<std::vector<std::string>> parsed(const std::string &csv) {
  std::vector<std::vector<std::string>> lines(1);
  lines.back().emplace_back();
  bool quoted = false;
  for (size_t i = 0; i + 1 < csv.size(); ++i) {
    char c = csv[i];
    if (c == '"' && quoted && csv[i + 1] == '"')
      lines.back().back() += csv[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      lines.back().emplace_back();
    else if (c == '\n' && !quoted)
      lines.push_back({""});
    else
      lines.back().back() += c;
  }
  return lines;
}

Json traceOf(const std::vector<std::string> &documents, const std::vector<MeasuredTrack> &tracks) {
  auto trace = renderTrace(inputsOf(documents), tracks);
  if (!trace) {
    ADD_FAILURE() << takeDiag(trace.takeError()).str();
    return {};
  }
  return Json::parse(*trace);
}

/// Complete events of one track, in order; each begins where the one before it ends.
std::vector<Json> eventsOf(const Json &trace, size_t process, size_t track) {
  std::vector<Json> events;
  double at = 0;
  for (const Json &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == process && event["tid"] == track) {
      EXPECT_NEAR(event["ts"].get<double>(), at, 1e-9);
      at = event["ts"].get<double>() + event["dur"].get<double>();
      events.push_back(event);
    }
  return events;
}

std::string trackName(const Json &trace, size_t process, size_t track) {
  for (const Json &event : trace["traceEvents"])
    if (event["name"] == "thread_name" && event["pid"] == process && event["tid"] == track)
      return event["args"]["name"];
  return "";
}

} // namespace

TEST(CsvTables, HoldEveryRowWithAllDigits) {
  auto tables = tablesOf({sampleExploration(sampleFiveKernels()), sampleEvaluation()});
  ASSERT_TRUE(tables.contains("kernels"));
  auto kernels = parsed(tables["kernels"]);
  ASSERT_EQ(kernels.size(), 6u);
  for (const auto &line : kernels)
    EXPECT_EQ(line.size(), kernels[0].size());
  auto column = [&](const std::string &name) {
    size_t at = static_cast<size_t>(std::find(kernels[0].begin(), kernels[0].end(), name) -
                                    kernels[0].begin());
    EXPECT_LT(at, kernels[0].size()) << name;
    return at;
  };
  EXPECT_EQ(kernels[1][column("kernel")], "k0_big");
  EXPECT_EQ(kernels[1][column("time_ns")], "50000");
  // One column a parameter and a term, empty where a kernel has none.
  EXPECT_EQ(kernels[1][column("tile_t0")], "1");
  EXPECT_EQ(kernels[1][column("tile_t1")], "128");
  EXPECT_EQ(kernels[1][column("tile_k0")], "64");
  EXPECT_TRUE(kernels[1][column("term_ns_DRAM")].starts_with("300"));
  double shares = 0;
  for (size_t i = 1; i < kernels.size(); ++i)
    shares += std::stod(kernels[i][column("share")]);
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_EQ(parsed(tables["rows"]).size(), 6u);
  auto accuracy = parsed(tables["accuracy"]);
  ASSERT_EQ(accuracy.size(), 4u); // two families and all
  EXPECT_EQ(accuracy[1][7], "0.0834");
  EXPECT_EQ(accuracy[2][7], ""); // missing, not 0
  EXPECT_EQ(accuracy[3][3], "overall");
  EXPECT_FALSE(tables.contains("calibration")); // none given
  EXPECT_FALSE(tables.contains("unsupported"));
}

TEST(CsvTables, NamesThatHoldSeparatorsAreQuoted) {
  std::string name = R"(a \"b\", c\nd)";
  auto kernels = parsed(tablesOf({sampleExploration(sampleKernel(name, 1, 2, 3))})["kernels"]);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[1].size(), kernels[0].size());
  EXPECT_EQ(kernels[1][3], "a \"b\", c\nd");
}

TEST(Exports, LayersOfOpsWithoutAKernel) {
  const std::string document =
      sampleExploration(sampleKernel("k0_dot", 1000, 1, 1),
                        R"(,"unsupported":[{"op":"cc","reason":"a library's","layer":"attn/ffi"}],
"assumed":[{"op":"sorted","reason":"passes","layer":"rank","time_ns":5}])");
  auto page = renderReport(inputsOf({document}));
  ASSERT_TRUE(static_cast<bool>(page));
  EXPECT_NE(page->find(">cc (attn/ffi)<"), std::string::npos);
  EXPECT_NE(page->find(">sorted (rank)<"), std::string::npos);
}

TEST(Exports, LayersOfKernels) {
  std::string kernel = sampleKernel("k0_dot", 1000, 1, 1);
  kernel.insert(kernel.size() - 1, R"(,"layer":"attn<1>/qkv",
"source":{"op_name":"jit(f)/attn<1>/qkv/dot_general","file":"net.py","line":12})");
  const std::string document = sampleExploration(kernel + "," + sampleKernel("k1_add", 5, 1, 1));
  auto kernels = parsed(tablesOf({document})["kernels"]);
  const size_t columns = kernels[0].size();
  const std::vector<std::string> last(kernels[1].begin() + static_cast<long>(columns) - 4,
                                      kernels[1].end());
  EXPECT_EQ(last, (std::vector<std::string>{"attn<1>/qkv", "jit(f)/attn<1>/qkv/dot_general",
                                            "net.py", "12"}));
  EXPECT_EQ(kernels[2].back(), "");
  Json trace = traceOf({document}, {{"m.csv", {{"k0_dot", 2000}}}});
  for (size_t track : {0, 1}) {
    const Json arguments = eventsOf(trace, 0, track)[0]["args"];
    EXPECT_EQ(arguments["layer"], "attn<1>/qkv");
    EXPECT_EQ(arguments["source"], "net.py:12");
  }
  EXPECT_FALSE(eventsOf(trace, 0, 0)[1]["args"].contains("layer"));
  auto page = renderReport(inputsOf({document}));
  ASSERT_TRUE(static_cast<bool>(page));
  EXPECT_NE(page->find("<div class=\"sub\">attn&lt;1&gt;/qkv</div>"), std::string::npos);
  EXPECT_NE(page->find(">k0_dot (attn&lt;1&gt;/qkv)</text>"), std::string::npos);
  EXPECT_NE(page->find("net.py:12"), std::string::npos);
}

TEST(Trace, PredictedKernelsFollowEachOther) {
  Json trace = traceOf({sampleExploration(sampleFiveKernels())}, {});
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  std::vector<Json> events = eventsOf(trace, 0, 0);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0]["name"], "k0_big");
  EXPECT_EQ(events[0]["dur"], 50.0);
  EXPECT_EQ(events[1]["ts"], 50.0);
  EXPECT_EQ(events[0]["args"]["limiter"], "tensor");
  EXPECT_EQ(events[0]["args"]["tile"]["t1"], "128");
  EXPECT_EQ(events[0]["args"]["terms_ns"]["DRAM"], 300.0);
  EXPECT_EQ(trackName(trace, 0, 0), "predicted, h100-sxm");
  EXPECT_EQ(trackName(trace, 0, 1), "");
}

TEST(Trace, MeasuredKernelsStandUnderTheModelTheyAreOf) {
  std::string first = sampleExploration(sampleFiveKernels()),
              second = sampleExploration(sampleKernel("other", 10, 1, 1), "", "models/two.hlo.txt");
  // In another order, one kernel twice, one unknown, one missing.
  MeasuredTrack own{"out/own.csv",
                    {{"k2_small", 4000}, {"k0_big", 1}, {"nobody", 7}, {"k0_big", 60000}}};
  MeasuredTrack foreign{"xla.kernels.csv", {{"fusion_3", 7777}, {"fusion_4", 8993}}};
  Json trace = traceOf({first, second}, {own, foreign});
  EXPECT_EQ(trackName(trace, 0, 1), "measured, own.csv");
  std::vector<Json> events = eventsOf(trace, 0, 1);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "k0_big");
  EXPECT_EQ(events[0]["dur"], 60.0);
  EXPECT_NEAR(events[0]["args"]["measured_per_predicted"].get<double>(), 1.2, 1e-12);
  EXPECT_EQ(events[1]["name"], "k2_small");
  // Which of two models a stranger belongs to nobody knows.
  events = eventsOf(trace, 2, 0);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1]["name"], "fusion_4");
  // With one model it is that one's.
  trace = traceOf({first}, {foreign});
  EXPECT_EQ(eventsOf(trace, 0, 1).size(), 2u);
}

TEST(Trace, LoopsTakeAllTheirRuns) {
  std::string kernel = sampleKernel("body", 1000, 1, 1);
  kernel.replace(kernel.find("\"trip_count\":1"), 14, "\"trip_count\":12");
  Json trace = traceOf({sampleExploration(kernel)}, {{"m.csv", {{"body", 2000}}}});
  EXPECT_EQ(eventsOf(trace, 0, 0)[0]["dur"], 12.0);
  EXPECT_EQ(eventsOf(trace, 0, 0)[0]["args"]["predicted_ns"], 1000.0);
  EXPECT_EQ(eventsOf(trace, 0, 1)[0]["dur"], 24.0);
}

TEST(Exports, RefuseWhatTheReportRefuses) {
  for (const char *bad : {"", "{", R"({"schema":"tilewright.tile"})",
                          R"({"schema":"tilewright.explore","schema_version":1,"models":3})"}) {
    auto tables = renderCsv(inputsOf({bad}));
    EXPECT_FALSE(static_cast<bool>(tables)) << bad;
    auto trace = renderTrace(inputsOf({bad}), {});
    EXPECT_FALSE(static_cast<bool>(trace)) << bad;
    if (tables || trace)
      continue;
    EXPECT_EQ(takeDiag(tables.takeError()).message, takeDiag(trace.takeError()).message);
  }
}
