#include "analysis/tiling/testing/tiles.h"
#include "costmodel/reachable.h"

#include <gtest/gtest.h>
#include <set>

namespace tilewright {
namespace {

/// Elements of %x that the kernel of these lines reads.
double together(const std::string &lines) {
  TiledText t = tileText(lines);
  return reachableOf(t.graph(), t.group).together.at(t.graph().find("x").index);
}

TEST(Reachable, SlicesOfOneTensorAreReadTogether) {
  const std::string x = "  x = f32[16] parameter(0)\n";
  auto sum = [&](const char *a, const char *b, int size) {
    return together(x + fmt::format("  a = f32[{0}] slice(x), slice={{[{1}]}}\n"
                                    "  b = f32[{0}] slice(x), slice={{[{2}]}}\n"
                                    "  ROOT r = f32[{0}] add(a, b)\n",
                                    size, a, b));
  };
  EXPECT_EQ(sum("0:8", "8:16", 8), 16); // halves
  EXPECT_EQ(sum("0:8", "1:9", 8), 9);   // neighbours
  EXPECT_EQ(sum("2:6", "2:6", 4), 4);   // the same
  EXPECT_EQ(sum("0:16:2", "1:16:2", 8), 16);
  EXPECT_EQ(sum("0:16:4", "2:16:4", 4), 8);
  EXPECT_EQ(sum("0:16:4", "0:8:2", 4), 6); // {0, 4, 8, 12} and {0, 2, 4, 6}
}

TEST(Reachable, AStencilLeavesOutWhatNoPointReads) {
  std::string lines = "  x = f32[20,20] parameter(0)\n";
  std::set<std::pair<int, int>> read;
  std::string last;
  int count = 0;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      if (i == 4 && j == 4)
        continue;
      const std::string name = fmt::format("p{}", count);
      lines += fmt::format("  {} = f32[16,16] slice(x), slice={{[{}:{}], [{}:{}]}}\n", name, i,
                           i + 16, j, j + 16);
      if (count > 0) {
        lines += fmt::format("  s{} = f32[16,16] add({}, {})\n", count, last, name);
        last = fmt::format("s{}", count);
      } else {
        last = name;
      }
      ++count;
      for (int a = 0; a < 16; ++a)
        for (int b = 0; b < 16; ++b)
          read.emplace(i + a, j + b);
    }
  EXPECT_EQ(together(lines), double(read.size()));
  EXPECT_EQ(read.size(), 20u * 20 - 1);
}

TEST(Reachable, PaddingAndCroppingReadNoMoreThanIsThere) {
  EXPECT_EQ(together("  x = s32[6,5] parameter(0)\n  z = s32[] constant(0)\n"
                     "  ROOT c = s32[6,3] pad(x, z), padding=0_0x-2_0\n"),
            18);
  EXPECT_EQ(together("  x = s32[6,5] parameter(0)\n  z = s32[] constant(0)\n"
                     "  ROOT c = s32[6,9] pad(x, z), padding=0_0x2_2\n"),
            30);
}

} // namespace
} // namespace tilewright
