// Which rows of a table are priced, which are not, and which are not believed.
#include "analysis/support/digest.h"
#include "costmodel/calibration.h"
#include "costmodel/estimate.h"
#include "costmodel/evaluation.h"
#include "costmodel/testing/data.h"

#include <cmath>
#include <filesystem>

namespace tilewright {
namespace {

using testing::datasetOf;
using testing::h100;

const std::string copyHeader = "kernel,dtype,d0,block,warps,time_ns,error\n";

/// A copy of 64 Mi bf16 of which 256 MiB move: 82 us or more.
std::string copyRow(const std::string &timeNs, int warps = 4) {
  return fmt::format("copy1d,bf16,67108864,1024,{},{},\n", warps, timeNs);
}

std::string datasetErrorOf(const std::string &text) {
  TemplateLibrary library = testing::bundledTemplates();
  std::vector<Table> tables = {llvm::cantFail(Table::parse("t.csv", text))};
  auto data = loadDataset(tables, library, h100());
  return data ? "" : takeDiag(data.takeError()).str();
}

Dataset dataOf(const std::string &text) {
  return datasetOf({llvm::cantFail(Table::parse("t.csv", text))});
}

TEST(Dataset, WhatCanNotBeLaunchedHasNoPriceAndAReason) {
  Dataset data = dataOf(copyHeader + copyRow("100000", 64) + copyRow("100000"));
  EXPECT_EQ(data.rows.size(), 1u);
  ASSERT_EQ(data.unpriced.size(), 1u);
  EXPECT_EQ(data.unpriced[0].family, "copy1d/bf16");
  EXPECT_NE(data.unpriced[0].reason.find("2048 threads a CTA, h100-sxm has at most 1024"),
            std::string::npos)
      << data.unpriced[0].reason;
  EvaluationReport report = evaluate(data, h100(), priorCalibration(h100()));
  EXPECT_TRUE(std::isfinite(report.overall.mape));
  EXPECT_EQ(report.overall.unpricedRows, 1);
  EXPECT_EQ(toJson(report).find("nan"), std::string::npos);
}

TEST(Dataset, NothingPricedIsNullInJson) {
  Dataset data = dataOf(copyHeader + copyRow("100000", 64));
  EXPECT_TRUE(data.rows.empty());
  std::string json = toJson(evaluate(data, h100(), priorCalibration(h100())));
  EXPECT_EQ(json.find("inf"), std::string::npos) << json;
  EXPECT_EQ(json.find("nan"), std::string::npos) << json;
}

TEST(Dataset, TimesThatCanNotBeAreLeftOutWithTheirLine) {
  for (const char *time : {"1e-300", "249", "30000", "1e300", "3.7e12"}) {
    Dataset data =
        dataOf(copyHeader + copyRow("100000", 8) + copyRow(time) + copyRow("100000", 16));
    EXPECT_EQ(data.rows.size(), 2u) << time;
    ASSERT_EQ(data.leftOut.size(), 1u) << time;
    EXPECT_EQ(data.leftOut[0].line, 3u);
    EXPECT_NE(data.leftOut[0].reason.find("time_ns is "), std::string::npos);
  }
  for (const char *time : {"60000", "82000", "1e9"})
    EXPECT_TRUE(dataOf(copyHeader + copyRow(time)).leftOut.empty()) << time;
}

TEST(Dataset, AFileInMicrosecondsIsRefused) {
  std::string error =
      datasetErrorOf(copyHeader + copyRow("100", 4) + copyRow("99.5", 8) + copyRow("1e5", 16));
  EXPECT_NE(error.find("t.csv: 2 of 3 times can't be, the first on line 2"), std::string::npos)
      << error;
  EXPECT_NE(error.find("time_ns is in nanoseconds"), std::string::npos) << error;
}

TEST(Dataset, TwoTimesOfOnePlanMustBeAlike) {
  Dataset data = dataOf(copyHeader + copyRow("100000") + copyRow("90000", 8) + copyRow("10100000"));
  ASSERT_EQ(data.rows.size(), 1u);
  EXPECT_EQ(data.rows[0].line, 3u);
  ASSERT_EQ(data.leftOut.size(), 2u);
  EXPECT_EQ(data.leftOut[0].line, 2u);
  EXPECT_EQ(data.leftOut[1].line, 4u);
  EXPECT_NE(data.leftOut[0].reason.find("1e+05 ns on line 2 and 1.01e+07 ns on line 4"),
            std::string::npos)
      << data.leftOut[0].reason;
  EXPECT_TRUE(dataOf(copyHeader + copyRow("100000") + copyRow("900000")).leftOut.empty());
}

TEST(Dataset, TablesWithoutRowsOrColumnsOfAFamilyAreErrors) {
  EXPECT_NE(datasetErrorOf(copyHeader).find("no rows under the header"), std::string::npos);
  EXPECT_NE(datasetErrorOf("name,time_ns\ncopy1d,1000\n").find("no column"), std::string::npos);
  EXPECT_NE(datasetErrorOf("name,time_ns\ncopy1d,1000\n").find("'kernel'"), std::string::npos);
}

/// Files of the runner's, with their ops beside them.
class RunnerFile : public ::testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::path(::testing::TempDir()) /
             ("runner." + std::to_string(getpid()) + "." +
              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
    path = folder / "rows.csv";
    write(path + ".problems.json",
          "{\"schema\": \"tilewright.problems\", \"schema_version\": 1, \"problems\": [{\"hash\": "
          "\"p\", \"hlo\": \"HloModule m\\nENTRY e {\\n  a = f32[1048576] parameter(0)\\n"
          "  ROOT n = f32[1048576] negate(a)\\n}\\n\"}]}");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static void write(const std::string &file, const std::string &text) {
    llvm::cantFail(writeFileAtomically(file, text));
  }
  static std::string row(int warps, const std::string &device, const std::string &timeNs) {
    std::string cells = fmt::format(
        "measure,1,k,elementwise,p,t0=1024 warps={} stages=1 split_k=1 group_m=1 instruction=fma,"
        "cold,{},,{}",
        warps, timeNs, device);
    return cells + "," + rowCheck(cells) + "\n";
  }
  Dataset load(const std::string &rows, const Device &device = h100()) {
    write(path,
          "role,attempt,kernel,kind,problem,plan,regime,time_ns,error,device,row_check\n" + rows);
    TemplateLibrary library = testing::bundledTemplates();
    const std::string paths[] = {path};
    auto data = loadDataset(paths, library, device);
    EXPECT_TRUE(static_cast<bool>(data)) << takeDiag(data.takeError()).str();
    return data ? std::move(*data) : Dataset{};
  }

  std::filesystem::path folder;
  std::string path;
};

constexpr const char *ours = "NVIDIA H100 80GB HBM3";

TEST_F(RunnerFile, RowsAreOfAKindOfOurOwn) {
  Dataset data = load(row(4, ours, "5000"));
  ASSERT_EQ(data.rows.size(), 1u);
  EXPECT_EQ(data.rows[0].kind, "elementwise");
  EXPECT_EQ(dataOf(copyHeader + copyRow("100000")).rows[0].kind, "");
}

TEST_F(RunnerFile, TimesOfOtherCodeAreNotPriced) {
  const std::string loop = row(4, ours, "5000"), another = row(8, ours, "5000");
  for (const char *kind : {"dot", "reduction", "convolution"}) {
    std::string other = another.substr(0, another.rfind(','));
    other.replace(other.find("elementwise"), 11, kind);
    Dataset data = load(loop + other + "," + rowCheck(other) + "\n");
    EXPECT_EQ(data.rows.size(), 1u) << kind;
    ASSERT_EQ(data.unpriced.size(), 1u) << kind;
    EXPECT_EQ(data.unpriced[0].reason,
              fmt::format("measured as {} code, and such a plan is elementwise code now; measure "
                          "it again",
                          kind));
  }
}

TEST_F(RunnerFile, AChangedRowIsLeftOut) {
  std::string changed = row(8, ours, "5120");
  changed.replace(changed.find("5120"), 4, "4120");
  Dataset data = load(row(4, ours, "5000") + changed + row(2, ours, "5000"));
  EXPECT_EQ(data.rows.size(), 2u);
  ASSERT_EQ(data.leftOut.size(), 1u);
  EXPECT_EQ(data.leftOut[0].line, 3u);
  EXPECT_NE(data.leftOut[0].reason.find("row_check"), std::string::npos);
}

TEST_F(RunnerFile, RowsOfAnotherDeviceAreLeftOut) {
  Dataset data = load(row(4, ours, "5000") + row(8, "NVIDIA H200", "5000"));
  EXPECT_EQ(data.rows.size(), 1u);
  ASSERT_EQ(data.leftOut.size(), 1u);
  EXPECT_EQ(data.leftOut[0].line, 3u);
  EXPECT_NE(data.leftOut[0].reason.find("measured on 'NVIDIA H200', h100-sxm is 'NVIDIA H100"),
            std::string::npos)
      << data.leftOut[0].reason;
  Device unnamed = h100(); // of a description that does not say its name nothing is known
  unnamed.driverNames.clear();
  EXPECT_TRUE(load(row(8, "NVIDIA H200", "5000"), unnamed).leftOut.empty());
}

TEST_F(RunnerFile, RowsOfAKilledRunnerAreThere) {
  Dataset data = load(row(4, ours, "5000") + row(8, ours, "5000").substr(0, 30));
  EXPECT_EQ(data.rows.size(), 1u);
  ASSERT_EQ(data.leftOut.size(), 1u);
  EXPECT_EQ(data.leftOut[0].line, 3u);
  EXPECT_NE(data.leftOut[0].reason.find("not whole"), std::string::npos);
}

TEST_F(RunnerFile, ACutFileOfOpsIsRefused) {
  std::string text = llvm::cantFail(readFile(path + ".problems.json"));
  write(path, "role,attempt,kernel,kind,problem,plan,regime,time_ns,error,device,row_check\n" +
                  row(4, ours, "5000"));
  for (size_t length : {size_t(0), text.size() / 2, text.size() - 1}) {
    write(path + ".problems.json", text.substr(0, length));
    TemplateLibrary library = testing::bundledTemplates();
    const std::string paths[] = {path};
    auto data = loadDataset(paths, library, h100());
    ASSERT_FALSE(static_cast<bool>(data)) << length;
    EXPECT_NE(takeDiag(data.takeError()).str().find("problems.json"), std::string::npos);
  }
}

/// Every bundled row is believed, on the device that it was measured on.
TEST(Dataset, BundledRowsAreBelieved) {
  const char *folders[][2] = {{"h100-sxm", "h100-sxm/tilewright-1/check.csv.gz"},
                              {"h200-sxm", "h200-sxm/tilewright-1/check.csv.gz"},
                              {"h100-sxm", "h100-sxm/memory.csv.gz"},
                              {"h100-sxm", "h100-sxm/attention.csv.gz"}};
  for (auto [device, file] : folders) {
    TemplateLibrary library = testing::bundledTemplates();
    const std::string paths[] = {std::string("datasets/measurements/") + file};
    Dataset data = llvm::cantFail(loadDataset(paths, library, llvm::cantFail(loadDevice(device))));
    EXPECT_GT(data.rows.size(), 25u) << file;
    EXPECT_TRUE(data.leftOut.empty()) << file << ": " << data.leftOut.front().reason;
  }
}

TEST(Dataset, BundledFilesNameNoCard) {
  namespace fs = std::filesystem;
  size_t tables = 0;
  for (const fs::directory_entry &entry :
       fs::recursive_directory_iterator("datasets/measurements")) {
    const std::string name = entry.path().string();
    if (!name.ends_with(".csv") && !name.ends_with(".csv.gz"))
      continue;
    const std::string text = llvm::cantFail(readFile(name));
    EXPECT_EQ(text.find("GPU-"), std::string::npos) << name;
    ++tables;
  }
  EXPECT_GT(tables, 15u);
}

/// 60 to 76 % of what was measured of our own kernels lies within the bundled spread of their kind.
TEST(Spreads, HoldWhatWasMeasuredOfEachKind) {
  const Device device = h100();
  const Calibration calibration = llvm::cantFail(loadCalibration("h100-sxm"));
  TemplateLibrary library = testing::bundledTemplates();
  std::vector<std::string> paths;
  for (const std::string &file : calibration.spreadFiles)
    paths.push_back(fmt::format("datasets/measurements/h100-sxm/tilewright-{}/{}",
                                file == "attention.csv.gz" ? 2 : 1, file));
  ASSERT_FALSE(paths.empty());
  Dataset data = llvm::cantFail(loadDataset(paths, library, device));
  std::map<std::string, std::pair<int, int>> inside; // of all
  const Parameters parameters = parametersFor(calibration, device);
  for (const DatasetRow &row : data.rows) {
    const Estimate e =
        estimateTime(row.features, device, parameters, calibration.spreadOf(row.kind));
    auto &[in, all] = inside[row.kind];
    in += std::abs(std::log(row.timeNs / e.timeNs)) <= e.sigmaLn;
    ++all;
  }
  EXPECT_GE(calibration.spreads.size(), 7u);
  for (const KindSpread &spread : calibration.spreads) {
    const auto [in, all] = inside[spread.kind];
    EXPECT_EQ(all, spread.rows) << spread.kind;
    EXPECT_GE(in, 0.60 * all) << spread.kind;
    if (all >= 8) { // of fewer the spread is a guess, or wider
      EXPECT_LE(in, 0.76 * all + 1) << spread.kind;
    }
  }
}

/// What nothing was measured of is not given the spread of what was.
TEST(Spreads, AKindThatWasNotMeasuredIsAGuess) {
  Calibration calibration = llvm::cantFail(loadCalibration("h100-sxm"));
  EXPECT_LT(calibration.spreadOf("").sigmaLn, 0.1);
  calibration.spreads.clear();
  EXPECT_EQ(calibration.spreadOf("reduction").sigmaLn, Calibration::unknownSigmaLn);
  EXPECT_FALSE(calibration.spreadOf("reduction").isOfKind);
  calibration.spreads = {{"reduction", 0.2, 10}};
  EXPECT_EQ(calibration.spreadOf("reduction").sigmaLn, 0.2);
  EXPECT_EQ(calibration.spreadOf("elementwise").sigmaLn, Calibration::unknownSigmaLn);
}

/// By the instruction that the device prefers, without a calibration.
Estimate estimateOn(const Device &device, const std::string &row) {
  KernelPlan plan = llvm::cantFail(testing::planFrom(row));
  plan.instruction = llvm::cantFail(preferredInstruction(plan, device));
  return llvm::cantFail(estimateTime(plan, device, priorCalibration(device)));
}

std::string productRow(std::string_view tile, std::string_view type = "bf16") {
  return fmt::format("kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,group_m\n"
                     "gemm,{},4096,4096,4096,{},8,3,8\n",
                     type, tile);
}
const std::string longCopy = "kernel,dtype,d0,block,warps\ncopy1d,bf16,67108864,1024,4\n";

/// Where the best instruction can't be used, the gap to it is part of the spread: the time of the
/// same tile on the same chip, were its tensor cores fed as a Hopper's are, lies within. Where the
/// instruction would change nothing, it is not.
TEST(Spreads, HoldTheTimeOfAnInstructionThatIsNotModelled) {
  const Device b200 = llvm::cantFail(loadDevice("b200"));
  Device fed = b200;
  fed.computeCapability = "9.0";
  fed.warpgroupMma = true;
  Device plain = fed; // the same plans, and no instruction that they lack
  plain.warpgroupMma = false;
  for (const char *type : {"bf16", "f16"})
    for (const char *tile : {"128,128,64", "128,256,64", "64,128,64"}) {
      const Estimate known = estimateOn(b200, productRow(tile, type)),
                     best = estimateOn(fed, productRow(tile, type));
      EXPECT_LT(best.timeNs, 0.85 * known.timeNs) << type << " " << tile;
      EXPECT_LE(known.timeNs * std::exp(-known.sigmaLn), 1.02 * best.timeNs) << type << " " << tile;
      // One that no more than the instruction's own gap and the spread of the plan itself explain.
      const double usual = estimateOn(plain, productRow(tile, type)).sigmaLn;
      EXPECT_LT(known.sigmaLn, std::hypot(usual, 1.25 * std::log(known.timeNs / best.timeNs) + 0.1))
          << type << " " << tile;
      EXPECT_DOUBLE_EQ(best.sigmaLn, Calibration::unknownSigmaLn);
    }
  EXPECT_DOUBLE_EQ(estimateOn(b200, longCopy).sigmaLn, Calibration::unknownSigmaLn);
}

/// The spread of the clock counts as far as a kernel hangs on it.
TEST(Spreads, HoldTheClockUnderLoad) {
  const Device l4 = llvm::cantFail(loadDevice("l4"));
  const double sigma = estimateOn(l4, productRow("128,128,64")).sigmaLn;
  EXPECT_GT(sigma, std::hypot(Calibration::unknownSigmaLn, 0.5 * l4.clockSigmaLn));
  EXPECT_LT(sigma, std::hypot(Calibration::unknownSigmaLn, 1.1 * l4.clockSigmaLn));
  EXPECT_NEAR(estimateOn(l4, longCopy).sigmaLn, Calibration::unknownSigmaLn, 0.02);
}

} // namespace
} // namespace tilewright
