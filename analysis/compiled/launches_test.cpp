#include "analysis/compiled/testing/compiled.h"
#include "analysis/import/import_file.h"

#include <fstream>
#include <sstream>

namespace tilewright {
namespace {

LaunchDims dimsOf(const std::string &text) {
  const Module module = compiledModule(text);
  const Op &op = module.entry()[module.entry().root()];
  return launchDimsOf(module, op, launchKindOf(module, op), fusionWork(module, op, false), 132);
}

TEST(Launches, LoopsTakeFourElementsAThreadWhereThereAreEnough) {
  const LaunchDims small =
      dimsOf(fusionText("  ROOT n = f32[1000] negate(p0)\n", {"f32[1000]"}, "f32[1000]"));
  EXPECT_EQ(small.kind, LaunchKind::Loop);
  EXPECT_EQ(small.ctas, 8);
  EXPECT_EQ(small.threads, 128);
  const LaunchDims tiny =
      dimsOf(fusionText("  ROOT n = f32[30] negate(p0)\n", {"f32[30]"}, "f32[30]"));
  EXPECT_EQ(tiny.ctas, 1);
  EXPECT_EQ(tiny.threads, 64);
  const LaunchDims large =
      dimsOf(fusionText("  ROOT n = f32[1048576] negate(p0)\n", {"f32[1048576]"}, "f32[1048576]"));
  EXPECT_EQ(large.ctas, 1048576 / 4 / 128);
}

TEST(Launches, TransposesTakeTilesOfSixtyFourWhereBothSidesHaveThem) {
  auto turned = [](const char *from, const char *to, const char *dims) {
    return dimsOf(fusionText(fmt::format("  ROOT t = {} transpose(p0), dimensions={}\n", to, dims),
                             {from}, to, "kInput"));
  };
  EXPECT_EQ(turned("bf16[8192,64]", "bf16[64,8192]", "{1,0}").ctas, 128);
  EXPECT_EQ(turned("bf16[5,5,1,240]", "bf16[240,5,5,1]", "{3,0,1,2}").ctas, 8);
  EXPECT_EQ(turned("bf16[7,7,3,64]", "bf16[64,7,7,3]", "{3,0,1,2}").ctas, 10)
      << "an odd number of rows";
  EXPECT_EQ(turned("bf16[8,2304,1024]", "bf16[8,1024,2304]", "{0,2,1}").ctas, 8 * 36 * 16);
}

TEST(Launches, KernelsAreNamedAfterTheirOps) {
  EXPECT_EQ(kernelName("loop_add_fusion.1"), "loop_add_fusion_1");
  EXPECT_EQ(kernelName("cublas-lt-matmul"), "cublas_lt_matmul");
}

// Names and metadata make no difference, shapes and constants do.
TEST(Launches, EqualFusionsHaveOneIdentity) {
  auto identity = [](const std::string &text) {
    const Module module = compiledModule(text);
    return kernelIdentity(module, module.entry()[module.entry().root()]);
  };
  const std::string text = fusionText("  c = f32[] constant(2)\n"
                                      "  b = f32[8] broadcast(c), dimensions={}\n"
                                      "  ROOT n = f32[8] multiply(p0, b)\n",
                                      {"f32[8]"}, "f32[8]");
  auto replaced = [&](std::string from, const std::string &to) {
    std::string other = text;
    for (size_t at = 0; (at = other.find(from, at)) != std::string::npos; at += to.size())
      other.replace(at, from.size(), to);
    return other;
  };
  EXPECT_EQ(identity(text), identity(replaced("p0", "other")));
  EXPECT_EQ(identity(text), identity(replaced("b = f32[8] broadcast(c), dimensions={}",
                                              "b = f32[8] broadcast(c), dimensions={}, "
                                              "metadata={op_name=\"x\"}")));
  EXPECT_NE(identity(text), identity(replaced("constant(2)", "constant(3)")));
  EXPECT_NE(identity(text), identity(replaced("[8]", "[9]")));
}

TEST(Launches, ConfigurationsOfTilesAreRead) {
  const std::string config =
      "backend_config={\"fusion_backend_config\":{\"block_level_fusion_config\":{\"num_stages\":3,"
      "\"num_warps\":\"8\",\"output_tiles\":[{\"sizes\":[\"1\",\"4\",\"768\"]}]},\"kind\":"
      "\"__triton\"}}";
  std::string text = fusionText("  ROOT n = f32[8,1024,768] negate(p0)\n", {"f32[8,1024,768]"},
                                "f32[8,1024,768]", "kCustom");
  text.replace(text.rfind("calls=body"), 10, "calls=body, " + config);
  const Module module = compiledModule(text);
  const Op &op = module.entry()[module.entry().root()];
  const auto tile = tileConfigOf(module, op);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->outputTiles[0], (std::vector<int64_t>{1, 4, 768}));
  EXPECT_EQ(tile->warps, 8);
  EXPECT_EQ(tile->stages, 3);
  EXPECT_EQ(launchKindOf(module, op), LaunchKind::Tile);
  EXPECT_EQ(heldTile(module, op, *tile).padded, 4 * 1024) << "filled up to powers of two";
  const LaunchDims dims =
      launchDimsOf(module, op, LaunchKind::Tile, fusionWork(module, op, true), 132);
  EXPECT_EQ(dims.ctas, 8 * 256);
  EXPECT_EQ(dims.threads, 256);
}

TEST(Launches, ConfigurationsThatMakeNoSenseAreNone) {
  for (const char *config :
       {"{}", "\"text\"", "{\"fusion_backend_config\":7}",
        "{\"fusion_backend_config\":{\"block_level_fusion_config\":{}}}",
        "{\"fusion_backend_config\":{\"block_level_fusion_config\":{\"num_warps\":\"x\","
        "\"output_tiles\":[]}}}",
        "{\"fusion_backend_config\":{\"block_level_fusion_config\":{\"num_warps\":\"0\","
        "\"output_tiles\":[{\"sizes\":[\"1\"]}]}}}",
        "{\"fusion_backend_config\":{\"block_level_fusion_config\":{\"num_warps\":\"4\","
        "\"output_tiles\":[{\"sizes\":[\"-1\"]}]}}}",
        "{\"fusion_backend_config\":{\"triton_gemm_config\":{\"block_m\":\"64\"}}}"}) {
    std::string text =
        fusionText("  ROOT n = f32[8] negate(p0)\n", {"f32[8]"}, "f32[8]", "kCustom");
    text.replace(text.rfind("calls=body"), 10, std::string("calls=body, backend_config=") + config);
    const Module module = compiledModule(text);
    EXPECT_FALSE(tileConfigOf(module, module.entry()[module.entry().root()])) << config;
  }
}

// Of the kernels that XLA ran on an H100, by name: CTAs and threads.
TEST(Launches, RulesGiveTheSizesOfMeasuredLaunches) {
  size_t compared = 0, equal = 0;
  for (const std::string &path : compiledDumps()) {
    auto module = importFile(path);
    ASSERT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
    const std::string name = path.substr(path.rfind('/') + 1);
    std::ifstream file("datasets/measurements/h100-sxm/models/" + name.substr(0, name.find('.')) +
                       ".kernels.csv");
    ASSERT_TRUE(file);
    std::map<std::string, std::pair<double, double>> measured;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::stringstream cells(line);
      std::vector<std::string> row;
      for (std::string cell; std::getline(cells, cell, ',');)
        row.push_back(cell);
      measured[row[1]] = {std::stod(row[4]) * std::stod(row[5]) * std::stod(row[6]),
                          std::stod(row[7])};
    }
    for (const Launch &launch : scheduleOf(*module).launches) {
      const Op &op = module->graph(launch.graph)[launch.op];
      auto found = measured.find(kernelName(op.name));
      if (!launch.work || launch.kind == LaunchKind::Other || found == measured.end())
        continue;
      const LaunchDims dims = launchDimsOf(*module, op, launch.kind, *launch.work, 132);
      ++compared;
      equal += dims.ctas == found->second.first && dims.threads == found->second.second;
    }
  }
  EXPECT_GE(compared, 115u);
  EXPECT_GE(equal + 5, compared) << equal << " of " << compared;
}

} // namespace
} // namespace tilewright
