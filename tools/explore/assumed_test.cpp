// Prices of ops without a kernel, by the numbers that their formulas start from.
#include "costmodel/link.h"
#include "tools/explore/testing/explore.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

constexpr const char *computations = R"(HloModule m, replica_count=8
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
pairs { a = f32[] parameter(0)
  b = f32[] parameter(1)
  p = s32[] parameter(2)
  q = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=LT }
ties { a = f32[] parameter(0)
  b = f32[] parameter(1)
  p = s32[] parameter(2)
  q = s32[] parameter(3)
  e = pred[] compare(a, b), direction=EQ
  l = pred[] compare(p, q), direction=LT
  m = pred[] compare(a, b), direction=LT
  ROOT c = pred[] select(e, l, m) }
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
)";

Device deviceNamed(const char *name) { return llvm::cantFail(loadDevice(name)); }

/// An H100 with such a link; with none where the bandwidth is 0.
Device linkedDevice(double bandwidth, double latencyNs = 2000) {
  Device device = deviceNamed("h100-sxm");
  std::erase_if(device.numbers,
                [](const DeviceNumber &number) { return number.key.starts_with("link_"); });
  if (bandwidth > 0)
    device.numbers.push_back({"link_bandwidth", "GB/s", "", bandwidth, "a test"});
  if (latencyNs != 2000)
    device.numbers.push_back({"link_latency", "ns", "", latencyNs, "a test"});
  return device;
}

ExploredModel exploredEntry(const std::string &entry,
                            const Device &device = deviceNamed("h100-sxm")) {
  const Module module = parseVerified(computations + ("ENTRY main {\n" + entry + "\n}\n"));
  return llvm::cantFail(exploreModel(module, device, priorCalibration(device)));
}

/// The one row of an entry; all of its time.
AssumedOp rowOf(const std::string &entry, const Device &device = deviceNamed("h100-sxm")) {
  const ExploredModel model = exploredEntry(entry, device);
  EXPECT_EQ(model.assumed.size(), 1u) << entry;
  EXPECT_TRUE(model.isComplete()) << entry;
  return model.assumed.empty() ? AssumedOp() : model.assumed.front();
}

constexpr double line = 1 << 20, all = 64 * line * 4; ///< bytes of f32[64,1048576]

} // namespace

TEST(Assumed, SortsByRadixPassOverEachDigit) {
  const AssumedOp keys = rowOf("x = f32[64,1048576] parameter(0)\n"
                               "ROOT s = f32[64,1048576] sort(x), dimensions={1}, to_apply=less");
  EXPECT_EQ(keys.readBytes, 5 * all); // a histogram, four digits
  EXPECT_EQ(keys.writtenBytes, 4 * all);
  const AssumedOp pairs =
      rowOf("x = f32[64,1048576] parameter(0)\ny = s32[64,1048576] parameter(1)\n"
            "ROOT s = (f32[64,1048576], s32[64,1048576]) sort(x, y), "
            "dimensions={1}, to_apply=pairs");
  EXPECT_EQ(pairs.readBytes, 9 * all);
  EXPECT_EQ(pairs.writtenBytes, 8 * all);
  EXPECT_GT(pairs.timeNs, 1.5 * keys.timeNs);
}

TEST(Assumed, ComparatorsOfSeveralKeysMerge) {
  const AssumedOp row = rowOf("x = f32[64,1048576] parameter(0)\ny = s32[64,1048576] parameter(1)\n"
                              "ROOT s = (f32[64,1048576], s32[64,1048576]) sort(x, y), "
                              "dimensions={1}, to_apply=ties");
  EXPECT_EQ(row.readBytes, 9 * 2 * all); // tiles of 4096, then 8 times two become one
  EXPECT_EQ(row.writtenBytes, 9 * 2 * all);
}

TEST(Assumed, ShortLinesAreSortedWhereTheyAre) {
  const AssumedOp row = rowOf("x = f32[65536,1024] parameter(0)\n"
                              "ROOT s = f32[65536,1024] sort(x), dimensions={1}, to_apply=less");
  EXPECT_EQ(row.readBytes, all);
  EXPECT_EQ(row.writtenBytes, all);
  EXPECT_EQ(row.flops, 65536.0 * 512 * 55); // 10·11/2 rounds of 512 exchanges
}

TEST(Assumed, FewOfALineAreTakenInOnePassManyInThree) {
  auto text = [](int k) {
    return fmt::format("x = f32[64,1048576] parameter(0)\n"
                       "ROOT t = (f32[64,{0}], s32[64,{0}]) topk(x), k={0}, largest=true",
                       k);
  };
  EXPECT_EQ(rowOf(text(16)).readBytes, all);
  EXPECT_EQ(rowOf(text(17)).readBytes, 3 * all);
}

// As written, n²/2 additions a line: 35 TFLOP.
TEST(Assumed, RunningSumsAreScans) {
  for (const char *pad : {"0_0x1048575_0", "0_0x0_1048575"}) {
    const AssumedOp row =
        rowOf(fmt::format("x = f32[64,1048576] parameter(0)\nz = f32[] constant(0)\n"
                          "ROOT s = f32[64,1048576] reduce-window(x, z), "
                          "window={{size=1x1048576 pad={}}}, to_apply=add",
                          pad));
    EXPECT_EQ(row.readBytes, all + 4);
    EXPECT_EQ(row.writtenBytes, all);
    EXPECT_LT(row.timeNs, 1e6);
    EXPECT_NE(row.reason.find("a scan"), std::string::npos) << row.reason;
  }
}

TEST(Assumed, RunningSumsInAFusionAre) {
  const Module module = parseVerified(R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
f { x = f32[64,262144] parameter(0)
  z = f32[] constant(0)
  y = f32[64,262144] exponential(x)
  ROOT s = f32[64,262144] reduce-window(y, z), window={size=1x262144 pad=0_0x262143_0}, to_apply=add }
ENTRY e { x = f32[64,262144] parameter(0)
  ROOT s = f32[64,262144] fusion(x), kind=kLoop, calls=f })");
  const ExploredModel model = Explored().run(module);
  ASSERT_EQ(model.assumed.size(), 1u);
  EXPECT_EQ(model.assumed[0].readBytes, 64.0 * 262144 * 4);
}

TEST(Assumed, ShortRunningSumsKeepTheirKernel) {
  const ExploredModel model = exploredEntry("x = f32[64,64] parameter(0)\nz = f32[] constant(0)\n"
                                            "ROOT s = f32[64,64] reduce-window(x, z), "
                                            "window={size=1x64 pad=0_0x63_0}, to_apply=add");
  EXPECT_EQ(model.assumed.size() + model.kernels.size(), 1u);
  EXPECT_TRUE(findKernel(parseVerified(computations + std::string(R"(ENTRY e {
  x = f32[64,64] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[64,64] reduce-window(x, z), window={size=1x64 pad=0_0x63_0}, to_apply=add })")),
                         "s")
                  .
                  operator bool());
}

TEST(Assumed, OtherWindowsKeepTheirKernel) {
  EXPECT_TRUE(exploredEntry("x = f32[64,1024] parameter(0)\nz = f32[] constant(0)\n"
                            "ROOT s = f32[64,1024] reduce-window(x, z), "
                            "window={size=1x17 pad=0_0x16_0}, to_apply=add")
                  .assumed.empty());
}

TEST(Assumed, FftsCountTheirRounds) {
  const AssumedOp row = rowOf("x = c64[64,1048576] parameter(0)\n"
                              "ROOT f = c64[64,1048576] fft(x), fft_type=FFT, "
                              "fft_length={1048576}");
  EXPECT_DOUBLE_EQ(row.flops, 5 * 64 * line * 20);
  EXPECT_EQ(row.readBytes, 2 * 2 * all); // long lines take two passes
  const AssumedOp real = rowOf("x = f32[1024,16,128] parameter(0)\n"
                               "ROOT f = c64[1024,16,65] fft(x), fft_type=RFFT, "
                               "fft_length={16,128}");
  EXPECT_DOUBLE_EQ(real.flops, 2.5 * 1024 * 16 * 128 * (4 + 7));
}

TEST(Assumed, RandomBitsAreWrittenOnce) {
  const AssumedOp row = rowOf("s = u64[2] parameter(0)\n"
                              "ROOT r = (u64[2], u32[64,1048576]) rng-bit-generator(s), "
                              "algorithm=rng_philox");
  EXPECT_EQ(row.writtenBytes, all + 16);
  EXPECT_EQ(row.readBytes, 0);
}

// Bound: 137 GFLOP at 1.07 PFLOP/s, 129 us, or 512 MiB of matrices; groups end inside tiles.
TEST(Assumed, RaggedProductsAreDenseOnesOfMoreRows) {
  const AssumedOp row =
      rowOf("x = bf16[4096,4096] parameter(0)\nw = bf16[16,4096,4096] parameter(1)\n"
            "n = s32[16] parameter(2)\n"
            "ROOT y = bf16[4096,4096] ragged-dot(x, w, n), lhs_contracting_dims={1}, "
            "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}");
  EXPECT_EQ(row.flops, 137438953472);
  EXPECT_GT(row.timeNs, 150e3);
  EXPECT_LT(row.timeNs, 300e3);
  EXPECT_NE(row.reason.find("5120 rows"), std::string::npos) << row.reason;
  EXPECT_NE(row.reason.find("6128 at worst"), std::string::npos) << row.reason;
}

TEST(Assumed, ScaledProductsTakeTheNarrowestTypeOfTheDevice) {
  const std::string text = "a = f4e2m1fn[4096,4096] parameter(0)\nb = f4e2m1fn[4096,4096] "
                           "parameter(1)\nsa = f8e8m0fnu[4096,128] parameter(2)\n"
                           "sb = f8e8m0fnu[4096,128] parameter(3)\n"
                           "ROOT d = bf16[4096,4096] scaled-dot(a, b, sa, sb), "
                           "lhs_contracting_dims={1}, rhs_contracting_dims={1}";
  const AssumedOp b200 = rowOf(text, deviceNamed("b200")), h100 = rowOf(text);
  EXPECT_EQ(b200.flops, 137438953472);
  EXPECT_GT(b200.timeNs, 15e3);
  EXPECT_LT(b200.timeNs, 40e3);
  EXPECT_GT(b200.sigmaLn, 0.4);
  EXPECT_GT(h100.timeNs, 69e3); // at the peak of its 8-bit floats
  EXPECT_GT(h100.sigmaLn, b200.sigmaLn);
}

TEST(Assumed, BlockScaledCallsAreProductsOfTheirElements) {
  auto call = [](const std::string &scales, const std::string &more) {
    return rowOf(fmt::format("a = f4e2m1fn[1,4096,4096] parameter(0)\n"
                             "b = f4e2m1fn[1,4096,4096] parameter(1)\n"
                             "sa = {0} parameter(2)\nsb = {0} parameter(3)\n"
                             "g = f32[] parameter(4)\n"
                             "ROOT d = bf16[1,4096,4096] custom-call(a, b, sa, sb{1}), "
                             "custom_call_target=\"__op$block_scaled_dot\"",
                             scales, more),
                 deviceNamed("b200"));
  };
  const AssumedOp nv = call("f8e4m3fn[1,4096,256]", ", g"), mx = call("f8e8m0fnu[1,4096,128]", ""),
                  padded = call("f8e8m0fnu[1,4224,132]", "");
  EXPECT_EQ(nv.flops, 137438953472);
  EXPECT_EQ(nv.timeNs, mx.timeNs);
  EXPECT_GT(mx.timeNs, 15e3);
  EXPECT_NE(nv.reason.find("blocks of 16, and a scale of all"), std::string::npos) << nv.reason;
  EXPECT_NE(mx.reason.find("blocks of 32"), std::string::npos) << mx.reason;
  EXPECT_EQ(mx.reason.find("padding"), std::string::npos) << mx.reason;
  EXPECT_NE(padded.reason.find("blocks of 32, scales with padding"), std::string::npos)
      << padded.reason;
  EXPECT_EQ(padded.readBytes - mx.readBytes, 2 * (4224 * 132 - 4096 * 128));
}

TEST(Assumed, AttentionCallsAreTheirProducts) {
  auto attention = [](const std::string &target, const std::string &mask) {
    return rowOf(fmt::format(
        R"(q = bf16[4,16,2048,128] parameter(0)
k = bf16[4,16,2048,128] parameter(1)
v = bf16[4,16,2048,128] parameter(2)
c = (bf16[4,16,2048,128], u8[16777216]) custom-call(q, k, v), custom_call_target="{}", backend_config={{"cudnn_fmha_backend_config":{{"fmha_scale":0.1,"intermediate_tensor_shape":{{"element_type":"BF16","dimensions":["4","16","2048","2048"]}},"mask_type":"{}"}}}}
ROOT r = bf16[4,16,2048,128] get-tuple-element(c), index=0)",
        target, mask));
  };
  const AssumedOp whole = attention("__cudnn$fmhaSoftmax", "NO_MASK"),
                  causal = attention("__cudnn$fmhaSoftmax", "CAUSAL"),
                  backward = attention("__cudnn$fmhaSoftmaxBackward", "NO_MASK");
  EXPECT_EQ(whole.flops, 4.0 * 4 * 16 * 2048 * 2048 * 128);
  EXPECT_EQ(whole.writtenBytes, 4.0 * 16 * 2048 * 128 * 2) << "the workspace is not traffic";
  EXPECT_GT(whole.timeNs, whole.flops / 989e3) << "below the peak";
  EXPECT_LT(whole.timeNs, 2.5 * whole.flops / 989e3);
  EXPECT_NEAR(causal.timeNs, whole.timeNs / 2, 1);
  EXPECT_GT(backward.timeNs, 2 * whole.timeNs);
}

TEST(Assumed, NormsSortsAndSelectionsOfLibrariesGoOverTheirBytes) {
  const AssumedOp norm = rowOf(R"(x = bf16[8192,1024] parameter(0)
w = bf16[1024] parameter(1)
c = (bf16[8192,1024], u8[0]) custom-call(x, w), custom_call_target="__cudnn$norm"
ROOT r = bf16[8192,1024] get-tuple-element(c), index=0)");
  EXPECT_EQ(norm.readBytes, 8192.0 * 1024 * 2 + 2048);
  EXPECT_EQ(norm.writtenBytes, 8192.0 * 1024 * 2);
  const AssumedOp sort = rowOf(R"(k = u32[1048576] parameter(0)
v = s32[1048576] parameter(1)
c = (u32[1048576], s32[1048576], u8[9437184]) custom-call(k, v), custom_call_target="__cub$DeviceRadixSort"
ROOT r = u32[1048576] get-tuple-element(c), index=0)");
  EXPECT_EQ(sort.readBytes, 4.0 * 8 * 1048576 + 4 * 1048576);
  EXPECT_EQ(sort.writtenBytes, 4.0 * 8 * 1048576);
  const AssumedOp top = rowOf(R"(x = f32[64,32768] parameter(0)
c = (f32[64,8], s32[64,8]) custom-call(x), custom_call_target="__gpu$TopK"
ROOT r = f32[64,8] get-tuple-element(c), index=0)");
  EXPECT_EQ(top.readBytes, 64.0 * 32768 * 4);
  EXPECT_EQ(top.writtenBytes, 64.0 * 8 * 8);
}

TEST(Assumed, CallsWhoseConfigurationSaysNothingHaveNoPrice) {
  for (const char *config :
       {"", ", backend_config={}", ", backend_config={\"cudnn_fmha_backend_config\":7}",
        ", "
        "backend_config={\"cudnn_fmha_backend_config\":{\"intermediate_tensor_shape\":{"
        "\"dimensions\":[\"4\",\"x\",\"8\",\"8\"]}}}"}) {
    const ExploredModel model = exploredEntry(
        fmt::format("q = bf16[4,2,8,8] parameter(0)\nROOT c = bf16[4,2,8,8] custom-call(q, q, q), "
                    "custom_call_target=\"__cudnn$fmhaSoftmax\"{}",
                    config));
    EXPECT_TRUE(model.assumed.empty()) << config;
    EXPECT_EQ(model.unsupported.size(), 1u) << config;
  }
}

TEST(Assumed, ScattersWithoutATilingAreAtomics) {
  auto histogram = [](int64_t bins, const std::string &attributes) {
    return rowOf(fmt::format("x = f32[{0}] parameter(0)\ni = s32[16777216,1] parameter(1)\n"
                             "u = f32[16777216] parameter(2)\n"
                             "ROOT y = f32[{0}] scatter(x, i, u), update_window_dims={{}}, "
                             "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                             "index_vector_dim=1{1}, to_apply=add",
                             bins, attributes));
  };
  const AssumedOp few = histogram(8, ""), some = histogram(256, ""), many = histogram(1 << 20, "");
  // All in one sector: one atomic a clock of 1.98 GHz. In 32 sectors, 32 at once.
  EXPECT_NEAR(few.timeNs, 16777216 / 1.98, 1);
  EXPECT_NEAR(some.timeNs, few.timeNs / 32, 1);
  EXPECT_LT(many.timeNs, some.timeNs);
  EXPECT_GT(many.timeNs, 2 * 4 * 16777216 / 3352.0); // indices and updates come from DRAM
  EXPECT_GE(few.sigmaLn, 0.7);
  // Indices that never meet need no atomics.
  EXPECT_LT(histogram(8, ", unique_indices=true").timeNs, few.timeNs / 10);
}

TEST(Assumed, CollectivesTakeWhatTheirLinkTakes) {
  const std::string text = "g = f32[25000000] parameter(0)\n"
                           "ROOT s = f32[25000000] all-reduce(g), "
                           "replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=add";
  const ExploredModel without = exploredEntry(text, linkedDevice(0));
  ASSERT_EQ(without.unsupported.size(), 1u);
  EXPECT_EQ(without.unsupported[0].linkBytes, 175000000);
  EXPECT_NE(without.unsupported[0].reason.find("no link_bandwidth"), std::string::npos);

  const Device device = linkedDevice(50, 1000);
  const AssumedOp ring = rowOf(text, device);
  EXPECT_DOUBLE_EQ(ring.timeNs, 3.5e6 + 14 * 1000);
  EXPECT_EQ(ring.linkBytes, 175000000);
  // Of little data the steps count, and a tree has fewer: 2·3 rather than 2·7.
  const AssumedOp tree = rowOf("g = f32[256] parameter(0)\nROOT s = f32[256] all-reduce(g), "
                               "replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=add",
                               device);
  EXPECT_NEAR(tree.timeNs, 6000 + 2048 / 50.0, 1e-6);
}

TEST(Assumed, TheDoneOfACollectiveTakesNoTime) {
  const ExploredModel model =
      exploredEntry("g = f32[1024] parameter(0)\n"
                    "s = f32[1024] all-reduce-start(g), replica_groups={{0,1}}, to_apply=add\n"
                    "ROOT d = f32[1024] all-reduce-done(s)",
                    linkedDevice(50));
  EXPECT_TRUE(model.isComplete());
  ASSERT_EQ(model.assumed.size(), 2u);
  EXPECT_GT(model.assumed[0].timeNs, 0);
  EXPECT_EQ(model.assumed[1].timeNs, 0);
}

TEST(Assumed, FactorisationsAreListedWithTheirWork) {
  const ExploredModel model = exploredEntry("m = f32[8,1024,1024] parameter(0)\n"
                                            "ROOT c = f32[8,1024,1024] cholesky(m), lower=true");
  ASSERT_EQ(model.unsupported.size(), 1u);
  EXPECT_EQ(model.unsupported[0].flops, int64_t(8) * 1024 * 1024 * 1024 / 3);
  EXPECT_EQ(model.unsupported[0].bytes, 2 * 8 * 1024 * 1024 * 4);
}

TEST(DeviceLinks, AreNoPartOfTheDigest) {
  const std::string text = R"(, "link_bandwidth": {"value": 450, "unit": "GB/s", "source": "s"}})";
  std::string plain = llvm::cantFail(readFile("datasets/devices/l4.json"));
  plain = plain.substr(0, plain.find(",\n  \"link_bandwidth\"")) + "}";
  std::string linked = plain;
  linked.replace(linked.rfind('}'), std::string::npos, text);
  const Device a = llvm::cantFail(parseDevice("a", plain));
  const Device b = llvm::cantFail(parseDevice("b", linked));
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_FALSE(linkOf(a));
  ASSERT_TRUE(linkOf(b));
  EXPECT_EQ(linkOf(b)->bandwidth, 450);
  EXPECT_EQ(linkOf(b)->latencyNs, 2000);
}

TEST(DeviceLinks, AreKnownOfTheBundledDevices) {
  for (const std::string &name : deviceNames("datasets/devices")) {
    const std::optional<DeviceLink> link = linkOf(deviceNamed(name.c_str()));
    ASSERT_TRUE(link) << name;
    EXPECT_GE(link->bandwidth, 32) << name;
    EXPECT_LE(link->bandwidth, 900) << name;
    EXPECT_GE(link->latencyNs, 1000) << name;
  }
}
