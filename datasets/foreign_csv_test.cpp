#include "datasets/foreign_csv.h"

#include <gtest/gtest.h>

namespace tilewright {

namespace {

std::string imported(const std::string &text, ForeignFormat format = ForeignFormat::Auto) {
  auto result = importForeign("f.csv", text, format);
  return result ? *result : "error: " + takeDiag(result.takeError()).str();
}

void expectRefusal(const std::string &text, const std::string &expected) {
  std::string result = imported(text);
  EXPECT_NE(result.find(expected), std::string::npos) << result;
}

} // namespace

TEST(LocalNumber, AsPeopleAndToolsWriteThem) {
  const std::pair<const char *, double> good[] = {{"1", 1},
                                                  {"-2.5", -2.5},
                                                  {"+3", 3},
                                                  {"1e3", 1000},
                                                  {"1,234", 1234},
                                                  {"1,234,567", 1234567},
                                                  {"1,234.5", 1234.5},
                                                  {"1.234,5", 1234.5},
                                                  {"1.234.567", 1234567},
                                                  {"0,5", 0.5},
                                                  {"12,34", 12.34},
                                                  {"1 234", 1234},
                                                  {"1\xc2\xa0"
                                                   "234",
                                                   1234},
                                                  {"1'234.5", 1234.5},
                                                  {" 7 ", 7},
                                                  {"1\xe2\x80\xaf"
                                                   "234,5",
                                                   1234.5}};
  for (const auto &[text, value] : good) {
    auto number = parseLocalNumber(text);
    ASSERT_TRUE(number.has_value()) << text;
    EXPECT_DOUBLE_EQ(*number, value) << text;
  }
  for (const char *bad : {"", " ", "x", "1x", "1,23,456.7", "1.2.3", "nan", "inf", "1e999", "--1",
                          "1,2,3", ",5,", "1 x"})
    EXPECT_FALSE(parseLocalNumber(bad)) << bad;
}

TEST(Foreign, XlaKernelTimes) {
  EXPECT_EQ(imported("order,kernel,time_ns,min_ns,grid_x\n0,fusion_34,7777,7744,4096\n"),
            "kernel,time_ns,order,min_ns,grid_x\nfusion_34,7777,0,7744,4096\n");
}

TEST(Foreign, NsightComputeRaw) {
  const std::string text =
      "==PROF== Connected to process 7\n==PROF== Profiling \"k\"\n"
      "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\"\n"
      "\"\",\"\",\"usecond\",\"Mbyte\"\n"
      "\"0\",\"k<float, 4>\",\"1,234.5\",\"2.1\"\n";
  EXPECT_EQ(imported(text), "kernel,time_ns,ID,dram__bytes_read.sum\n"
                            "\"k<float, 4>\",1.2345e+06,0,2.1\n");
}

TEST(Foreign, NsightComputeDetails) {
  const std::string text =
      "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"0\",\"a\",\"Duration\",\"us\",\"4.5\"\n"
      "\"0\",\"a\",\"Registers\",\"register/thread\",\"42\"\n"
      "\"1\",\"b\",\"Duration\",\"ms\",\"1,5\"\n";
  EXPECT_EQ(imported(text), "kernel,time_ns,ID,Registers [register/thread]\n"
                            "a,4500,0,42\nb,1.5e+06,1,\n");
}

TEST(Foreign, BenchmarkTables) {
  EXPECT_EQ(
      imported("M,N,triton (ms),torch (ms)\n128,256,0.01,0.02\n512,256,nan,0.5\n"),
      "kernel,time_ns,M,N\ntriton,10000,128,256\ntorch,20000,128,256\ntorch,500000,512,256\n");
  EXPECT_EQ(imported("kernel,time_us,note\ngemm,12.5,x\n"), "kernel,time_ns,note\ngemm,12500,x\n");
  // As a spreadsheet exports it where the comma is the decimal point.
  EXPECT_EQ(imported("\xef\xbb\xbfkernel;time_us\r\ngemm;12,5\r\n"),
            "kernel,time_ns\ngemm,12500\n");
}

/// As `ncu --csv --page raw` writes it: a dozen columns before the metrics, numbers with thousands
/// separated, "n/a" for what could not be collected.
TEST(Foreign, NsightComputeRawInFull) {
  const std::string text =
      "==PROF== Connected to process 84 (/usr/bin/python3.11)\n"
      "==PROF== Profiling \"triton_poi_fused_add_0\" - 0: 0%....50%....100% - 3 passes\n"
      "==PROF== Disconnected from process 84\n"
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\","
      "\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"gpu__time_duration.sum\","
      "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\"\n"
      "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"us\",\"%\"\n"
      "\"0\",\"84\",\"python3.11\",\"127.0.0.1\",\"triton_poi_fused_add_0\",\"1\",\"7\","
      "\"(128, 1, 1)\",\"(65,536, 1, 1)\",\"0\",\"9.0\",\"1,112.35\",\"23.10\"\n"
      "\"1\",\"84\",\"python3.11\",\"127.0.0.1\",\"void f<(int)3>(T1 *)\",\"1\",\"7\","
      "\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"n/a\",\"n/a\"\n";
  std::string result = imported(text);
  EXPECT_TRUE(result.starts_with("kernel,time_ns,ID,Process ID,")) << result;
  EXPECT_NE(result.find("\ntriton_poi_fused_add_0,1.11235e+06,0,84,"), std::string::npos) << result;
  EXPECT_NE(result.find("\nvoid f<(int)3>(T1 *),,1,84,"), std::string::npos) << result;
  // An error is at the file's line, what ncu printed before the table counted.
  std::string bad = text;
  bad.replace(bad.find("1,112.35"), 8, "soon    ");
  expectRefusal(bad, "f.csv:6:1: error: column 'gpu__time_duration.sum' is 'soon");
}

TEST(Foreign, CountersWithoutUnitsAreInNanoseconds) {
  EXPECT_EQ(imported("kernel,d0,gpu__time_duration.sum\ngemm,4096,204736\n"),
            "kernel,time_ns,d0\ngemm,204736,4096\n");
}

TEST(Foreign, WhatNamesTheKernelElsewhere) {
  EXPECT_EQ(imported("benchmark,bytes,time_ns,min_ns\ncopy_warm,8192,1056,1056\n"),
            "kernel,time_ns,bytes,min_ns\ncopy_warm,1056,8192,1056\n");
  EXPECT_EQ(imported("dtype,m,time_ns,name\nbf16,16,25569,nvjet_sm90\n"),
            "kernel,time_ns,dtype,m\nnvjet_sm90,25569,bf16,16\n");
  // Tabs, and a comment before the header.
  EXPECT_EQ(imported("# H100 driver 13000\nidx\tkind\tmed_us\tline\n0\tew\t294.24\ta=1, b=2\n"),
            "kernel,time_ns,idx,line\new,294240,0,\"a=1, b=2\"\n");
}

/// Triton's perf_report: one column a provider; speed is mostly given as a rate.
TEST(Foreign, TritonBenchmarks) {
  EXPECT_EQ(imported("N,Triton (ms),Torch (ms)\n256.0,0.006144,0.008192\n384.0,,0.01\n"),
            "kernel,time_ns,N\nTriton,6144,256.0\nTorch,8192,256.0\nTorch,10000,384.0\n");
  expectRefusal("M,N,K,cuBLAS (TFLOPS),Triton (TFLOPS)\n256.0,256.0,256.0,4.09,4.09\n",
                "'cuBLAS (TFLOPS)' is a rate: let the benchmark return milliseconds");
  expectRefusal("N,Triton (ms)\n256.0,0.1\n512.0,fast\n",
                "f.csv:3:1: error: column 'Triton (ms)' is 'fast'");
}

TEST(Foreign, RefusalsAreLocated) {
  expectRefusal("", "an empty file");
  expectRefusal("a,b\n1,2\n", "f.csv: no column with a unit of time");
  expectRefusal("kernel,time_ns\nk,5\nk,five\n", "f.csv:3:1: error: column 'time_ns' is 'five'");
  expectRefusal("Kernel Name,x\nk,1\n", "no column 'gpu__time_duration.sum'");
  expectRefusal("Kernel Name,gpu__time_duration.sum\n,byte\nk,1\n", "f.csv:2:1: error: 'byte'");
  expectRefusal("kernel,time_us\nk\n", "f.csv:2:1: error: 1 fields, but the header has 2");
}

TEST(Foreign, NothingThatIsDamagedCrashes) {
  const std::string text = "==P==\n\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n"
                           "\"\",\"\",\"ns\"\n\"0\",\"k\",\"1,234\"\n";
  for (size_t keep = 0; keep <= text.size(); ++keep)
    for (ForeignFormat format : {ForeignFormat::Auto, ForeignFormat::Rows,
                                 ForeignFormat::NsightCompute, ForeignFormat::Benchmark})
      imported(text.substr(0, keep), format);
  for (size_t at = 0; at < text.size(); ++at)
    for (char c : {'"', ',', ';', '\n', '\0', 'x'}) {
      std::string other = text;
      other[at] = c;
      imported(other);
    }
}

} // namespace tilewright
