#include "profiler/pack_reader.h"
#include "profiler/testing/test_pack.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright::profile {

namespace {

using Json = nlohmann::ordered_json;

std::string whyRefused(const std::string &text) {
  Result<Pack> pack = parsePack("m.json", text);
  return pack ? "" : pack.failure().message;
}

/// Every value of a document in turn replaced by something else.
void forEachMutation(Json &root, Json &at, const std::function<void(const std::string &)> &each,
                     const std::string &path) {
  if (at.is_structured())
    for (size_t i = 0; i < at.size(); ++i) {
      auto child = std::next(at.begin(), static_cast<std::ptrdiff_t>(i));
      forEachMutation(root, *child, each,
                      path + "/" + (at.is_object() ? child.key() : std::to_string(i)));
    }
  Json old = at;
  for (const Json &other :
       {Json(), Json(-1), Json(1e300), Json("x"), Json::array(), Json::array({Json::object()}),
        Json::object(), Json(INT64_MAX), Json(UINT64_MAX), Json(true)}) {
    at = other;
    SCOPED_TRACE(path + " = " + other.dump());
    each(root.dump());
  }
  at = old;
}

} // namespace

TEST(PackReader, ReadsWhatEmitWrites) {
  Result<Pack> pack = parsePack("m.json", smallManifest());
  ASSERT_TRUE(pack) << pack.failure().message;
  ASSERT_EQ(pack->kernels.size(), 1u);
  const PackKernel &kernel = pack->kernels[0];
  EXPECT_EQ(kernel.planHash, "00000000000000bb");
  EXPECT_EQ(kernel.plan, "t0=4 warps=4");
  EXPECT_EQ(kernel.geometry.grid[0], 3u);
  EXPECT_EQ(kernel.threads(), 128);
  ASSERT_EQ(kernel.parameters.size(), 3u);
  EXPECT_EQ(kernel.parameters[0].bytes, 48u);
  EXPECT_TRUE(kernel.parameters[1].range.isGiven);
  EXPECT_TRUE(kernel.parameters[2].isOutput);
  ASSERT_EQ(kernel.expectations.size(), 1u);
  EXPECT_EQ(kernel.expectations[0].parameter, 2u);
  ASSERT_TRUE(kernel.work.has_value());
  EXPECT_TRUE(kernel.work->onTensorCores);
  EXPECT_TRUE(kernel.workspaces[0].isZeroed);
  EXPECT_EQ(kernel.tensorMaps[0].strides, std::vector<uint64_t>{16});
}

TEST(PackReader, RefusalsNameTheField) {
  Json good = Json::parse(smallManifest());
  auto refuse = [&](const std::function<void(Json &)> &change) {
    Json other = good;
    change(other);
    return whyRefused(other.dump());
  };
  // The message, behind the place where the value stands.
  auto refusedWith = [&](const std::function<void(Json &)> &change) {
    std::string why = refuse(change);
    EXPECT_EQ(why.find("m.json:1:"), 0u) << why;
    return why.substr(std::min(why.find(": ") + 2, why.size()));
  };
  EXPECT_EQ(refuse([](Json &j) { j["schema_version"] = 2; }),
            "m.json:1:46: 'schema_version' is not 1; use the tilewright-profile that came with the "
            "pack's tilewright");
  EXPECT_EQ(refusedWith([](Json &j) { j["kernels"][0]["grid"][0] = 0; }),
            "'kernels[0].grid' is 0, allowed are 1 to 2147483647");
  EXPECT_EQ(refusedWith([](Json &j) { j["kernels"][0]["parameters"][1]["dtype"] = "q7"; }),
            "'kernels[0].parameters[1].dtype' is not an element type");
  EXPECT_NE(whyRefused("{\n  \"schema\": tilewright\n}").find("m.json:2:14: not valid JSON"),
            std::string::npos);
  EXPECT_NE(refuse([](Json &j) { j["kernels"].push_back(j["kernels"][0]); }).find("same plan"),
            std::string::npos);
  EXPECT_NE(refuse([](Json &j) {
              j["problems"][0]["expected"][0]["positions"][2] = 24;
            }).find("element 24 of 24"),
            std::string::npos);
  EXPECT_NE(whyRefused(std::string(100, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(whyRefused("{").find("not valid JSON"), std::string::npos);
}

TEST(PackReader, NothingThatIsDamagedCrashes) {
  Json root = Json::parse(smallManifest());
  size_t mutations = 0;
  forEachMutation(
      root, root,
      [&](const std::string &text) {
        ++mutations;
        Result<Pack> pack = parsePack("m.json", text);
        EXPECT_TRUE(pack || pack.failure().kind == FailureKind::BadInput);
      },
      "");
  EXPECT_GT(mutations, 500u);
  std::string text = smallManifest();
  for (size_t keep = 0; keep < text.size(); keep += 7)
    EXPECT_FALSE(parsePack("m.json", text.substr(0, keep)));
}

TEST(PackReader, WhatRunsWhere) {
  struct Case {
    const char *target;
    bool isSpecific;
    int major, minor;
    int answer; // 0 refused, 1 cubin, 2 PTX
  };
  for (const Case &c : {Case{"sm_90", false, 9, 0, 1}, Case{"sm_80", false, 8, 6, 1},
                        Case{"sm_86", false, 8, 0, 0}, Case{"sm_80", false, 9, 0, 2},
                        Case{"sm_90a", true, 9, 0, 1}, Case{"sm_90a", true, 10, 0, 0},
                        Case{"sm_100", false, 9, 0, 0}, Case{"sm_100", false, 10, 3, 1},
                        Case{"sm_100f", false, 10, 0, 1}, Case{"sm_100f", false, 10, 3, 1},
                        Case{"sm_103f", false, 10, 0, 0}, Case{"sm_100f", false, 12, 0, 0},
                        Case{"compute_90", false, 9, 0, 0}, Case{"", false, 9, 0, 0}}) {
    Pack pack;
    pack.target = c.target;
    pack.isSpecific = c.isSpecific;
    GpuInfo gpu;
    gpu.name = "G";
    gpu.major = c.major;
    gpu.minor = c.minor;
    Result<bool> asPtx = needsPtx(pack, gpu);
    EXPECT_EQ(asPtx ? (*asPtx ? 2 : 1) : 0, c.answer) << c.target << " on " << c.major << c.minor;
    if (!asPtx) {
      EXPECT_EQ(asPtx.failure().kind, FailureKind::NoGpu);
      EXPECT_NE(asPtx.failure().message.find("--target sm_"), std::string::npos);
    }
  }
}

TEST(PackReader, CodeStaysInsideThePack) {
  Pack pack;
  pack.folder = ".";
  PackKernel kernel;
  for (const char *name : {"../x", "/etc/passwd", "", "nothing.cubin"}) {
    kernel.cubinFile = name;
    EXPECT_FALSE(readCode(pack, kernel, false)) << name;
  }
}

} // namespace tilewright::profile
