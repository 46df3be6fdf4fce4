#include "analysis/compiled/testing/compiled.h"

#include <random>

namespace tilewright {
namespace {

FusionWork workOf(const std::string &text, bool isByTile = false) {
  const Module module = compiledModule(text);
  return fusionWork(module, module.entry()[module.entry().root()], isByTile);
}

TEST(FusionWork, ReadsAndWritesEachElementOnce) {
  const FusionWork work = workOf(fusionText("  ROOT s = f32[64,32] add(p0, p1)\n",
                                            {"f32[64,32]", "f32[64,32]"}, "f32[64,32]"));
  ASSERT_EQ(work.operands.size(), 2u);
  for (const FusionOperand &operand : work.operands)
    EXPECT_EQ(operand.bytes, 64 * 32 * 4);
  ASSERT_EQ(work.results.size(), 1u);
  EXPECT_EQ(work.results[0].bytes, 64 * 32 * 4);
  EXPECT_EQ(work.instructions, 64 * 32);
  EXPECT_EQ(work.recomputeFactor(), 1);
}

// Readers that reach a value by the same path share its evaluation, others don't.
TEST(FusionWork, EvaluatesByIndexPath) {
  const FusionWork same = workOf(fusionText("  e = f32[64] exponential(p0)\n"
                                            "  ROOT s = f32[64] add(e, e)\n",
                                            {"f32[64]"}, "f32[64]"));
  const FusionWork other = workOf(fusionText("  e = f32[64] exponential(p0)\n"
                                             "  r = f32[64] reverse(e), dimensions={0}\n"
                                             "  ROOT s = f32[64] add(e, r)\n",
                                             {"f32[64]"}, "f32[64]"));
  EXPECT_EQ(same.recomputeFactor(), 1);
  EXPECT_GT(other.recomputeFactor(), 1.5);
  EXPECT_EQ(other.mostRepeated, "e");
  EXPECT_EQ(other.mostRepeats, 2);
  EXPECT_EQ(other.operands[0].bytes, 64 * 4) << "it is read once from memory all the same";
}

// A value that is spread is evaluated where it is used, unless a tile holds it.
TEST(FusionWork, RepeatsWhatIsSpread) {
  const std::string text = fusionText("  e = f32[8] exponential(p0)\n"
                                      "  b = f32[8,100] broadcast(e), dimensions={0}\n"
                                      "  ROOT s = f32[8,100] multiply(b, p1)\n",
                                      {"f32[8]", "f32[8,100]"}, "f32[8,100]");
  EXPECT_EQ(workOf(text).mostRepeats, 100);
  EXPECT_EQ(workOf(text, true).recomputeFactor(), 1);
}

TEST(FusionWork, SlicesReadTheirPartAndNameIt) {
  const FusionWork work = workOf(fusionText("  l = f32[16,8] slice(p0), slice={[0:16],[0:8]}\n"
                                            "  r = f32[16,8] slice(p0), slice={[0:16],[8:16]}\n"
                                            "  ROOT s = f32[16,8] add(l, r)\n",
                                            {"f32[16,64]"}, "f32[16,8]"));
  EXPECT_EQ(work.operands[0].bytes, 2 * 16 * 8 * 4);
  EXPECT_FALSE(work.operands[0].region.empty());
}

// Random updates in place: all follows the update, whatever the buffer's size is.
TEST(FusionWork, UpdatesInPlaceTouchTheirWindow) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    std::string buffer = "f32[", update = "f32[", starts, scalars;
    const int rank = 1 + int(random() % 3);
    double elements = 1, all = 1;
    std::vector<std::string> operands;
    for (int d = 0; d < rank; ++d) {
      const int extent = 1 + int(random() % 40), size = 1 + int(random() % unsigned(extent));
      buffer += fmt::format("{}{}", d ? "," : "", extent);
      update += fmt::format("{}{}", d ? "," : "", size);
      starts += fmt::format(", p{}", d + 2);
      elements *= size;
      all *= extent;
    }
    buffer += "]";
    update += "]";
    operands = {buffer, update};
    for (int d = 0; d < rank; ++d)
      operands.push_back("s32[]");
    const bool isConverted = random() % 2 == 0;
    const FusionWork work = workOf(fusionText(
        fmt::format("  {}w = {} negate(p1)\n  {}u = {} dynamic-update-slice(p0, w{})\n{}", "",
                    update, isConverted ? "" : "ROOT ", buffer, starts,
                    isConverted ? fmt::format("  ROOT b = {} bitcast(u)\n", buffer) : ""),
        operands, buffer));
    ASSERT_EQ(work.results.size(), 1u);
    EXPECT_EQ(work.results[0].bytes, elements * 4) << buffer << " " << update;
    EXPECT_EQ(work.results[0].elements, elements);
    EXPECT_EQ(work.results[0].inPlaceOf, 0);
    EXPECT_EQ(work.operands[0].bytes, 0) << "nothing of what stays is read";
    EXPECT_EQ(work.operands[1].bytes, elements * 4);
    EXPECT_LE(work.instructions, elements + 1) << "evaluations follow the update";
  }
}

TEST(FusionWork, ScattersTouchTheRowsTheyUpdate) {
  const FusionWork work = workOf(
      "HloModule m, is_scheduled=true\n"
      "add { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n" +
      fusionText("  ROOT s = f32[1000,64] scatter(p0, p1, p2), update_window_dims={1}, "
                 "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                 "index_vector_dim=1, to_apply=add\n",
                 {"f32[1000,64]", "s32[5,1]", "f32[5,64]"}, "f32[1000,64]", "kInput")
          .substr(std::string("HloModule m, is_scheduled=true\n").size()));
  EXPECT_EQ(work.results[0].bytes, 5 * 64 * 4);
  EXPECT_EQ(work.results[0].inPlaceOf, 0);
  EXPECT_EQ(work.operands[0].bytes, 5 * 64 * 4);
  EXPECT_EQ(work.operands[1].bytes, 5 * 4);
}

} // namespace
} // namespace tilewright
