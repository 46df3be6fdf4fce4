#include "analysis/compiled/testing/compiled.h"
#include "analysis/import/import_file.h"
#include "analysis/support/diag.h"
#include "tools/audit/audit.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

namespace tilewright {
namespace {

std::string textOfFile(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string nameOf(const std::string &path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find('.'));
}
std::string listOf(const std::string &path) {
  return "datasets/measurements/h100-sxm/models/" + nameOf(path) + ".kernels.csv";
}

std::vector<MeasuredKernel> kernelsIn(const std::string &text) {
  auto table = Table::parse("list.csv", text);
  if (!table) {
    ADD_FAILURE() << takeDiag(table.takeError()).str();
    return {};
  }
  auto rows = readKernelList(*table);
  if (!rows) {
    ADD_FAILURE() << takeDiag(rows.takeError()).str();
    return {};
  }
  return std::move(*rows);
}

struct H100 {
  H100() {
    auto loaded = loadDevice("h100-sxm");
    device = std::move(*loaded);
    calibration = std::move(*defaultCalibration(device));
  }
  Device device;
  Calibration calibration;

  Audit audit(const Module &module, const std::vector<MeasuredKernel> *measured = nullptr,
              bool asMeasured = false, bool findsBest = false) const {
    AuditOptions options;
    options.measured = measured;
    options.usesMeasuredLaunch = asMeasured;
    options.findsBest = findsBest;
    auto result = auditModule(module, device, calibration, options);
    if (!result) {
      ADD_FAILURE() << takeDiag(result.takeError()).str();
      return {};
    }
    return std::move(*result);
  }
};

Module readDump(const std::string &path) {
  auto module = importFile(path);
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  return std::move(*module);
}

bool isConvolution(const PredictedRow &row) {
  return row.family == toString(LaunchKind::Convolution);
}

/// All kernels of the bundled dumps.
struct AllModels {
  std::vector<PredictedRow> rows;
  size_t withinTotal = 0, unmatched = 0;
  double unpricedNs = 0, measuredNs = 0;

  explicit AllModels(bool asMeasured) {
    const H100 h100;
    for (const std::string &path : compiledDumps()) {
      const std::vector<MeasuredKernel> list = kernelsIn(textOfFile(listOf(path)));
      const Audit audit = h100.audit(readDump(path), &list, asMeasured);
      unmatched += audit.unmatchedRows.size() + audit.unmatchedKernels.size();
      for (const AuditedKernel &kernel : audit.kernels)
        unpricedNs += kernel.timeNs == 0 ? kernel.measuredNs : 0;
      measuredNs += audit.measuredNs;
      withinTotal += std::abs(audit.timeNs / audit.measuredNs - 1) <= 0.12;
      for (PredictedRow &row : rowsOf(audit, nameOf(path)))
        rows.push_back(std::move(row));
    }
  }

  FamilyMetrics metrics(const std::vector<LaunchKind> &kinds, bool isWithout = false) const {
    std::vector<PredictedRow> chosen;
    for (const PredictedRow &row : rows) {
      const bool isOne = std::any_of(kinds.begin(), kinds.end(),
                                     [&](LaunchKind kind) { return row.family == toString(kind); });
      if (isOne != isWithout)
        chosen.push_back(row);
    }
    return metricsOf("all", chosen);
  }
};

double logBias(const std::vector<PredictedRow> &rows) {
  double sum = 0, n = 0;
  for (const PredictedRow &row : rows)
    if (!isConvolution(row)) {
      sum += std::log(row.predictedNs / row.measuredNs);
      ++n;
    }
  return std::expm1(sum / n);
}

// Bounds of what docs/accuracy.md says of the ten bundled dumps.
TEST(Audit, PricesTheKernelsOfWholeModelsFromTheDumpAlone) {
  const AllModels all(false);
  EXPECT_EQ(all.rows.size(), 159u);
  EXPECT_EQ(all.unmatched, 0u);
  EXPECT_LE(all.unpricedNs, 0.02 * all.measuredNs);
  EXPECT_GE(all.withinTotal, 7u);
  const FamilyMetrics metrics = all.metrics({LaunchKind::Convolution}, true);
  EXPECT_EQ(metrics.rows, 152);
  EXPECT_LE(metrics.medianApe, 0.085);
  EXPECT_LE(metrics.p90Ape, 0.28);
  EXPECT_LE(std::abs(logBias(all.rows)), 0.03);
  EXPECT_LE(all.metrics({LaunchKind::Tile, LaunchKind::TileDot}).medianApe, 0.10);
  EXPECT_LE(all.metrics({LaunchKind::Product}).medianApe, 0.08);
  EXPECT_LE(all.metrics({LaunchKind::Convolution}).medianApe, 0.25);
}

// The stated spread is that of the very kind: two thirds lie within, of kinds with enough kernels.
TEST(Audit, SpreadsAreThoseOfTheKinds) {
  const H100 h100;
  std::map<LaunchKind, std::pair<int, int>> counts; // within, all
  for (const std::string &path : compiledDumps()) {
    const std::vector<MeasuredKernel> list = kernelsIn(textOfFile(listOf(path)));
    for (const AuditedKernel &kernel : h100.audit(readDump(path), &list).kernels) {
      if (kernel.timeNs == 0 || kernel.measuredNs == 0)
        continue;
      auto &[within, all] = counts[kernel.kind];
      within += std::abs(std::log(kernel.measuredNs / kernel.timeNs)) <= kernel.sigmaLn;
      ++all;
    }
  }
  for (const auto &[kind, count] : counts) {
    if (count.second < 10)
      continue;
    const double share = double(count.first) / count.second;
    EXPECT_GE(share, 0.55) << toString(kind);
    EXPECT_LE(share, 0.85) << toString(kind);
  }
}

TEST(Audit, LaunchesAsMeasuredAreNoWorse) {
  const AllModels all(true);
  const FamilyMetrics metrics = all.metrics({LaunchKind::Convolution}, true);
  EXPECT_LE(metrics.medianApe, 0.085);
  EXPECT_LE(metrics.p90Ape, 0.23);
  EXPECT_LE(std::abs(logBias(all.rows)), 0.03);
}

TEST(Audit, NoKernelIsFasterThanItsBound) {
  const H100 h100;
  for (const std::string &path : compiledDumps()) {
    const Audit audit = h100.audit(readDump(path));
    for (const AuditedKernel &kernel : audit.kernels) {
      EXPECT_LE(kernel.boundNs, kernel.timeNs * 1.0001) << path << " " << kernel.op;
      EXPECT_FALSE(programOf(kernel).empty());
    }
  }
}

TEST(Audit, EqualKernelsInEqualStatesTakeEqualTimes) {
  const H100 h100;
  const Module module = compiledModule(R"(HloModule m, is_scheduled=true
big { p = f32[100000000] parameter(0)
  ROOT n = f32[100000000] negate(p)
}
one { p = f32[4096] parameter(0)
  ROOT n = f32[4096] negate(p)
}
two { q = f32[4096] parameter(0)
  ROOT m = f32[4096] negate(q)
}
ENTRY e {
  x = f32[100000000] parameter(0)
  y = f32[4096] parameter(1)
  z = f32[4096] parameter(2)
  a = f32[100000000] fusion(x), kind=kLoop, calls=big
  b = f32[4096] fusion(y), kind=kLoop, calls=one
  c = f32[100000000] fusion(a), kind=kLoop, calls=big
  d = f32[4096] fusion(z), kind=kLoop, calls=two
  ROOT t = (f32[100000000], f32[4096], f32[4096]) tuple(c, b, d)
})");
  const Audit audit = h100.audit(module);
  ASSERT_EQ(audit.kernels.size(), 4u);
  EXPECT_DOUBLE_EQ(audit.kernels[1].timeNs, audit.kernels[3].timeNs);
  EXPECT_EQ(audit.kernels[1].traffic.missedBytes, 4096 * 4);
}

TEST(Audit, NamesOfOpsMakeNoDifference) {
  const H100 h100;
  const std::string path = "datasets/models/dlrm.xla_optimized.hlo.txt";
  std::string text = textOfFile(path);
  text = std::regex_replace(text, std::regex("%loop_"), "%lp_");
  const Audit before = h100.audit(readDump(path)), after = h100.audit(compiledModule(text));
  ASSERT_EQ(before.kernels.size(), after.kernels.size());
  for (size_t i = 0; i < before.kernels.size(); ++i)
    EXPECT_DOUBLE_EQ(before.kernels[i].timeNs, after.kernels[i].timeNs);
}

// A row of a cache of a thousand is written, in a loop as often as it runs.
TEST(Audit, UpdatesInPlaceTakeTheTimeOfTheirWindow) {
  const H100 h100;
  auto timeOf = [&](const std::string &body) {
    const Audit audit = h100.audit(compiledModule(
        fusionText(body, {"f32[100000,1024]", "f32[1,1024]", "s32[]", "s32[]"}, "f32[100000,1024]",
                   "kLoop", ", input_output_alias={ {}: (0, {}, may-alias) }")));
    return audit.kernels.at(0).timeNs;
  };
  EXPECT_LT(timeOf("  ROOT u = f32[100000,1024] dynamic-update-slice(p0, p1, p2, p3)\n"), 3000);
  EXPECT_GT(timeOf("  ROOT u = f32[100000,1024] add(p0, p0)\n"), 100000);
}

// No kernel of ours, and none of XLA's emitters.
TEST(Audit, CallsOfLibrariesThatAreNoProductsHaveAPrice) {
  const H100 h100;
  const Audit audit = h100.audit(compiledModule(R"(HloModule m, is_scheduled=true
ENTRY e {
  q = bf16[2,8,1024,128]{3,2,1,0} parameter(0)
  x = f32[64,32768]{1,0} parameter(1)
  k = u32[1048576]{0} parameter(2)
  a = (bf16[2,8,1024,128]{3,2,1,0}, u8[0]{0}) custom-call(q, q, q), custom_call_target="__cudnn$fmhaSoftmax", backend_config={"cudnn_fmha_backend_config":{"intermediate_tensor_shape":{"dimensions":["2","8","1024","1024"]},"mask_type":"NO_MASK"}}
  n = (bf16[2,8,1024,128]{3,2,1,0}, u8[0]{0}) custom-call(q), custom_call_target="__cudnn$norm"
  t = (f32[64,8]{1,0}, s32[64,8]{1,0}) custom-call(x), custom_call_target="__gpu$TopK"
  s = (u32[1048576]{0}, u8[9437184]{0}) custom-call(k), custom_call_target="__cub$DeviceRadixSort"
  what = f32[64]{0} custom-call(x), custom_call_target="nobody_knows"
  ROOT r = ((bf16[2,8,1024,128]{3,2,1,0}, u8[0]{0}), (bf16[2,8,1024,128]{3,2,1,0}, u8[0]{0}), (f32[64,8]{1,0}, s32[64,8]{1,0}), (u32[1048576]{0}, u8[9437184]{0}), f32[64]{0}) tuple(a, n, t, s, what)
})"));
  ASSERT_EQ(audit.kernels.size(), 5u);
  for (size_t i = 0; i < 4; ++i) {
    const AuditedKernel &kernel = audit.kernels[i];
    EXPECT_GT(kernel.timeNs, 1000) << kernel.op;
    EXPECT_GE(kernel.sigmaLn, 0.4) << kernel.op;
    EXPECT_LE(kernel.boundNs, kernel.timeNs) << kernel.op;
  }
  EXPECT_EQ(audit.kernels[2].traffic.writtenBytes, 64 * 8 * 8) << "both results are written";
  EXPECT_EQ(audit.kernels[3].traffic.writtenBytes, 1048576 * 4) << "the workspace is not traffic";
  EXPECT_EQ(audit.kernels[4].timeNs, 0);
  EXPECT_FALSE(audit.kernels[4].reason.empty());
}

TEST(Audit, SaysWhatRecomputationWouldSave) {
  const H100 h100;
  const Audit audit =
      h100.audit(readDump("datasets/models/dlrm.xla_optimized.hlo.txt"), nullptr, false, true);
  ASSERT_FALSE(audit.findings.empty());
  for (size_t i = 1; i < audit.findings.size(); ++i)
    EXPECT_LE(audit.findings[i].gainNs, audit.findings[i - 1].gainNs);
  EXPECT_EQ(audit.kernels[audit.findings[0].kernel].op, "input_reduce_fusion");
  EXPECT_TRUE(std::any_of(audit.findings.begin(), audit.findings.end(),
                          [](const Finding &f) { return f.kind == Finding::Kind::Recomputation; }));
}

TEST(KernelList, ColumnsThatAreNeededAreNamed) {
  auto table = Table::parse("list.csv", "name,time_ns\na,1\n");
  ASSERT_TRUE(bool(table));
  auto rows = readKernelList(*table);
  ASSERT_FALSE(bool(rows));
  EXPECT_NE(takeDiag(rows.takeError()).str().find("list.csv:1"), std::string::npos);
}

TEST(KernelList, TimesAreAboveZeroAndNumbers) {
  for (const char *time : {"0", "-3", "x", ""}) {
    auto table = Table::parse("list.csv", fmt::format("kernel,time_ns\na,5\nb,{}\n", time));
    ASSERT_TRUE(bool(table));
    auto rows = readKernelList(*table);
    ASSERT_FALSE(bool(rows)) << time;
    EXPECT_NE(takeDiag(rows.takeError()).str().find("list.csv:3"), std::string::npos) << time;
  }
}

MatchedKernels matchOf(const std::string &dump, const std::string &list) {
  const Module module = readDump(dump);
  const CompiledSchedule schedule = scheduleOf(module);
  return matchKernels(module, schedule.launches, kernelsIn(list));
}

// A row too many is reported, and all others find their ops; so is a row that is missing.
TEST(KernelList, RowsThatFitNothingAreReportedAloneAndTheRestGoesOn) {
  for (const std::string &path : compiledDumps()) {
    const std::string text = textOfFile(listOf(path));
    std::vector<std::string> lines;
    std::stringstream stream(text);
    for (std::string line; std::getline(stream, line);)
      lines.push_back(line);
    auto joined = [](const std::vector<std::string> &from) {
      std::string all;
      for (const std::string &line : from)
        all += line + "\n";
      return all;
    };
    const Module module = readDump(path);
    const CompiledSchedule schedule = scheduleOf(module);
    for (size_t at = 1; at < lines.size(); at += 4) {
      // In front of a fusion's row; in front of others it is taken for a library's.
      if (lines[at].find("fusion") == std::string::npos)
        continue;
      const bool isBehindLibrary = at > 1 && lines[at - 1].find("fusion") == std::string::npos &&
                                   lines[at - 1].find("wrapped") == std::string::npos;
      if (isBehindLibrary)
        continue;
      std::vector<std::string> more = lines;
      std::string strange = lines[at];
      strange.replace(strange.find(',') + 1,
                      strange.find(',', strange.find(',') + 1) - strange.find(',') - 1,
                      "strange_kernel_of_nobody");
      more.insert(more.begin() + int64_t(at), strange);
      const MatchedKernels matched =
          matchKernels(module, schedule.launches, kernelsIn(joined(more)));
      EXPECT_EQ(matched.unmatchedRows, std::vector<size_t>{at - 1}) << path << " line " << at;
      EXPECT_TRUE(matched.unmatchedLaunches.empty()) << path << " line " << at;
    }
  }
}

TEST(KernelList, ListsOfAnotherModelOrCutOffLeaveTheRestUnmatched) {
  const std::string dump = "datasets/models/gpt2_block.xla_optimized.hlo.txt";
  const std::string own = textOfFile(listOf(dump));
  const std::string cut = own.substr(0, own.find('\n', own.size() / 2) + 1);
  const MatchedKernels half = matchOf(dump, cut);
  EXPECT_TRUE(half.unmatchedRows.empty());
  EXPECT_FALSE(half.unmatchedLaunches.empty());
  const MatchedKernels other =
      matchOf(dump, textOfFile("datasets/measurements/h100-sxm/models/dlrm.kernels.csv"));
  EXPECT_FALSE(other.unmatchedRows.empty());
  EXPECT_FALSE(other.unmatchedLaunches.empty());
}

} // namespace
} // namespace tilewright
