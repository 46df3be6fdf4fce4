// Attention under masks of any fill: rows of which the first steps, the last ones or all have no
// score that is kept.
#include "codegen/lower.h"
#include "codegen/testing/attention.h"

namespace tilewright {
namespace {

constexpr const char *fills[] = {"-1e4",     "-1e9",    "-1e20",         "-1e30",
                                 "-2.38e38", "-3.4e38", "-3.4028235e38", "-inf"};
constexpr Mask masks[] = {Mask::Causal, Mask::Window, Mask::LeftPadding, Mask::Steep,
                          Mask::Nothing};

struct Tiles {
  Instruction instruction;
  int64_t rows, keyStep, warps, stages;
};

void expectPassOf(const Tiles &tiles, const char *fill, Mask mask, const char *type,
                  bool isNormalisedFirst) {
  SCOPED_TRACE(fmt::format("fill {}, mask {}, {}, {} rows, {} keys a step", fill, int(mask), type,
                           tiles.rows, tiles.keyStep));
  expectPass(chainSpec(attention(1, 64, 64, 16, 16, mask, isNormalisedFirst, type, fill),
                       {1, tiles.rows, 16}, tiles.keyStep, tiles.warps, tiles.stages,
                       tiles.instruction));
}

TEST(LowerChainFill, EveryFillMaskAndType) {
  int number = 0;
  for (const char *fill : fills)
    for (Mask mask : masks)
      for (const char *type : {"f16", "bf16"})
        expectPassOf({Instruction::MmaSync, 32, 16, 2, 2}, fill, mask, type, ++number % 3 != 0);
}

TEST(LowerChainFill, EveryFillAndMaskOfWarpgroups) {
  int number = 0;
  for (const char *fill : fills)
    for (Mask mask : masks) {
      ++number;
      expectPassOf({Instruction::Wgmma, 64, number % 2 ? 16 : 32, 4, 1 + number % 3}, fill, mask,
                   number % 4 < 2 ? "f16" : "bf16", number % 3 != 0);
    }
}

TEST(LowerChainFill, OtherTiles) {
  int number = 0;
  for (const Tiles &tiles :
       {Tiles{Instruction::MmaSync, 64, 32, 1, 1}, Tiles{Instruction::MmaSync, 32, 64, 2, 2},
        Tiles{Instruction::Wgmma, 64, 16, 4, 2}})
    for (const char *fill : {"-1e9", "-2.38e38", "-inf"})
      for (Mask mask : masks) {
        ++number;
        expectPassOf(tiles, fill, mask, number % 2 ? "f16" : "bf16", number % 3 != 0);
      }
}

/// Without a division, sums and products of rows without a score are what the ops make of them:
/// NaN of exp(-inf - -inf), 0 where a select puts that out of account, the plain sum of a finite
/// fill.
TEST(LowerChainFill, UnnormalisedRowsWithoutAScore) {
  for (const char *fill : {"-inf", "-1e9", "-3.4e38"})
    for (bool isSelected : {false, true}) {
      std::string hlo = attention(1, 48, 48, 16, 16, Mask::LeftPadding, true, "bf16", fill);
      std::string::size_type at = hlo.find("  n = ");
      std::string n = isSelected ? "  none = f32[] constant(0)\n"
                                   "  nones = f32[1,48,48] broadcast(none), dimensions={}\n"
                                   "  n = f32[1,48,48] select(both, e, nones)\n"
                                 : "  n = f32[1,48,48] negate(e)\n";
      hlo.replace(at, hlo.find('\n', at) + 1 - at, n);
      for (int64_t step : {16, 48}) {
        SCOPED_TRACE(fmt::format("fill {}, selected {}, step {}", fill, isSelected, step));
        expectPass(chainSpec(hlo, {1, 32, 16}, step, 2, 2));
      }
    }
}

/// A maximum may start at the lowest number, or above some of the scores.
TEST(LowerChainFill, MaximaWithAStart) {
  for (const char *start : {"-3.4028235e38", "-1e30", "0"})
    for (Mask mask : {Mask::Causal, Mask::LeftPadding}) {
      std::string hlo = attention(1, 48, 48, 16, 16, mask, true, "bf16", "-1e30");
      std::string::size_type at = hlo.find("constant(-inf)");
      hlo.replace(at, 14, fmt::format("constant({})", start));
      SCOPED_TRACE(fmt::format("start {}, mask {}", start, int(mask)));
      expectPass(chainSpec(hlo, {1, 32, 16}, 16, 2, 2));
    }
}

/// Of masks with a finite fill, steps are left out where each row keeps a score, and only there.
TEST(LowerChainFill, StepsAreLeftOutWhereRowsKeepAScore) {
  auto products = [&](Mask mask, const char *fill) {
    return expectPass(chainSpec(attention(1, 64, 64, 16, 16, mask, true, "bf16", fill), {1, 32, 16},
                                16, 2, 2))
        .counts.mmaInstructions;
  };
  const int64_t all = products(Mask::None, "-inf");
  for (const char *fill : fills) {
    bool isNear = std::string(fill) == "-1e4", isInfinite = std::string(fill) == "-inf";
    for (Mask mask : {Mask::Causal, Mask::Window})
      EXPECT_EQ(products(mask, fill) < all, !isNear) << fill;
    for (Mask mask : {Mask::LeftPadding, Mask::Steep, Mask::Nothing})
      EXPECT_EQ(products(mask, fill) < all, isInfinite) << fill;
  }
}

} // namespace
} // namespace tilewright
