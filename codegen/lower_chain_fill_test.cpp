// Attention under masks of any fill: rows of which the first steps, the last ones or all have no
// score that is kept.
#include "codegen/lower.h"
#include "codegen/testing/attention.h"

#include <cstdlib>
#include <span>

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

constexpr Tiles mmaTiles[] = {{Instruction::MmaSync, 32, 16, 2, 2},
                              {Instruction::MmaSync, 64, 32, 1, 1},
                              {Instruction::MmaSync, 16, 16, 1, 3},
                              {Instruction::MmaSync, 32, 64, 2, 2}};
constexpr Tiles wgmmaTiles[] = {{Instruction::Wgmma, 64, 16, 4, 2},
                                {Instruction::Wgmma, 64, 32, 4, 3},
                                {Instruction::Wgmma, 64, 64, 4, 1}};

/// Each fill, mask and type with one of the tiles, so that each tile meets each fill, and each mask
/// of each type; with all of them where the environment asks for it, as the test of label `soak`.
void expectPassOfAll(std::span<const Tiles> all) {
  const bool isEvery = std::getenv("TILEWRIGHT_EVERY_TILE") != nullptr;
  int number = 0;
  for (size_t fill = 0; fill < std::size(fills); ++fill)
    for (size_t mask = 0; mask < std::size(masks); ++mask)
      for (size_t type : {0, 1})
        for (size_t tile = 0; tile < all.size(); ++tile)
          if (isEvery || tile == (fill + mask + 2 * type) % all.size())
            expectPassOf(all[tile], fills[fill], masks[mask], type ? "bf16" : "f16",
                         ++number % 7 % 3 != 0);
}

TEST(LowerChainFill, EveryFillMaskAndType) { expectPassOfAll(mmaTiles); }

TEST(LowerChainFill, EveryFillMaskAndTypeOfWarpgroups) { expectPassOfAll(wgmmaTiles); }

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
