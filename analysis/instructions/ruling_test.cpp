#include "analysis/instructions/number_set.h"
#include "analysis/instructions/ruling.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using Strings = std::vector<std::string>;
using Numbers = std::vector<int64_t>;

struct Asked {
  const char *name, *target = nullptr, *shape = nullptr, *types = nullptr;
};

/// One reason, which has this text.
void expectReason(const InstructionRuling &ruling, std::string_view text) {
  ASSERT_EQ(ruling.reasons.size(), 1u);
  EXPECT_NE(ruling.reasons[0].find(text), std::string::npos) << ruling.reasons[0];
}

InstructionRuling rule(const Asked &asked) {
  PtxInstruction instruction = llvm::cantFail(parseInstruction(asked.name));
  if (asked.shape)
    instruction.shape = llvm::cantFail(parseMatrixShape(asked.shape));
  if (asked.types)
    llvm::cantFail(setTypes(instruction, asked.types));
  std::optional<IsaTarget> target;
  if (asked.target)
    target = llvm::cantFail(IsaTarget::parse(asked.target));
  return ruleOn(instruction, target);
}

TEST(NumberSet, IsWrittenAsItIsSaid) {
  const NumberSet set("8|16|24|32..256/16");
  EXPECT_EQ(set.str(), "8, 16, 24, then multiples of 16 from 32 to 256");
  EXPECT_EQ(set.nearest(40), (Numbers{32, 48}));
  EXPECT_EQ(set.nearest(4), (Numbers{8}));
  EXPECT_EQ(set.nearest(264), (Numbers{256}));
  EXPECT_TRUE(set.has(48));
  EXPECT_FALSE(set.has(40));
  EXPECT_EQ(set.values().size(), 18u);
  EXPECT_EQ(NumberSet("").str(), "none");
}

TEST(IsaTarget, FamiliesAreThoseOfTheSameTens) {
  auto has = [](const Availability &of, const char *name) {
    return of.has(llvm::cantFail(IsaTarget::parse(name)));
  };
  const Availability family{0, "100f"}, one{0, "103a"};
  EXPECT_TRUE(has(family, "sm_100f") && has(family, "sm_103a") && has(family, "sm_103f"));
  EXPECT_FALSE(has(family, "sm_100") || has(family, "sm_110a") || has(family, "sm_90a"));
  EXPECT_FALSE(has({0, "103f"}, "sm_100a"));
  EXPECT_TRUE(has(one, "sm_103a"));
  EXPECT_FALSE(has(one, "sm_103f") || has(one, "sm_100a"));
  EXPECT_TRUE(has({80, {}}, "sm_121a") && !has({80, {}}, "sm_75"));
  for (const char *bad :
       {"", "sm_", "90a", "sm_90b", "sm_80a", "sm_90f", "sm_9999", "sm_-80", "sm_90aa"}) {
    llvm::Expected<IsaTarget> parsed = IsaTarget::parse(bad);
    EXPECT_FALSE(bool(parsed)) << bad;
    llvm::consumeError(parsed.takeError());
  }
  EXPECT_EQ(llvm::cantFail(targetOfCapability("9.0")).str(), "sm_90a");
  EXPECT_EQ(llvm::cantFail(targetOfCapability("8.9")).str(), "sm_89");
  EXPECT_EQ(llvm::cantFail(targetOfCapability("10.3")).str(), "sm_103a");
}

TEST(Ruling, NearestColumnsOfBytes) {
  const InstructionRuling ruling = rule({"wgmma", "sm_90a", "64,40,32", "s8,s8,s32"});
  EXPECT_FALSE(ruling.isTaken);
  expectReason(ruling, "n = 40: 8, 16, 24, then multiples of 16 from 32 to 256 "
                       "for s8; nearest 32 and 48");
  EXPECT_EQ(ruling.nearest, (Strings{"m64n48k32", "m64n32k32", "m64n64k32"}));
  EXPECT_TRUE(rule({"wgmma", "sm_90a", "64,40,16", "f16,f16,f32"}).isTaken);
}

TEST(Ruling, TheTargetComesFirst) {
  const InstructionRuling ruling = rule({"wgmma", "sm_100a", "64,40,32", "s8,s8,s32"});
  ASSERT_EQ(ruling.reasons.size(), 2u);
  EXPECT_EQ(ruling.reasons[0], "sm_100a: it needs sm_90a");
  EXPECT_EQ(ruling.reasons[1].find("n = 40: "), 0u);
  expectReason(rule({"mma.sync", "sm_75", "16,8,16", "bf16"}), "sm_75: it needs sm_80 or newer");
}

TEST(Ruling, SaysWhichTypesAreTaken) {
  const InstructionRuling ruling = rule({"wgmma", "sm_90a", nullptr, "bf16,bf16,bf16"});
  expectReason(ruling, "types bf16 x bf16 + bf16: it takes bf16 x bf16 + f32");
}

TEST(Ruling, SparseAndScaledFormsAreNotTakenForDenseOnes) {
  const InstructionRuling dense = rule({"mma.sync", "sm_90", "16,8,32", "bf16,bf16,f32"});
  EXPECT_FALSE(dense.isTaken);
  EXPECT_EQ(dense.nearest, (Strings{"m16n8k16", "m16n8k8", "with .sp"}));
  EXPECT_TRUE(rule({"mma.sync.sp", "sm_90", "16,8,32", "bf16,bf16,f32"}).isTaken);
  EXPECT_TRUE(rule({"mma.sync.block_scale.kind::mxf4", "sm_120a", "16,8,64", "e2m1"}).isTaken);
  EXPECT_FALSE(rule({"mma.sync.block_scale.kind::mxf4", "sm_100a", "16,8,64", "e2m1"}).isTaken);
}

TEST(Ruling, ModifiersThatDoNotGoTogether) {
  expectReason(rule({"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::4X", "sm_100a"}),
               "has no .scale_vec::4X with .cta_group::1 .kind::mxf4 .block_scale");
  expectReason(rule({"tma.6d"}), "cp.async.bulk.tensor has no .6d, but .1d, .2d, .3d, .4d, .5d");
  expectReason(rule({"tcgen05.ld.16x256b.x64", "sm_100a"}),
               "tcgen05.ld has no .x64 with .16x256b, but .x1, .x2, .x4, .x8, .x16, .x32");
}

TEST(Ruling, ShapesOfTcgen05AreDocumented) {
  const Asked asked{"tcgen05.mma", "sm_100a", "128,24,16", "f16,f16,f32"};
  EXPECT_TRUE(rule(asked).isTaken);
  EXPECT_EQ(rule(asked).source, FormSource::Documented);
  expectReason(rule({"tcgen05.mma.cta_group::2", "sm_100a", "256,24,16", "f16,f16,f32"}),
               "n = 24: multiples of 16 from 16 to 256");
  expectReason(rule({"tcgen05.mma", "sm_103a", nullptr, "s8,s8,s32"}),
               "sm_103a: it needs sm_100a and sm_110a");
}

TEST(Ruling, NumbersOfWhatHasNoShape) {
  expectReason(rule({"cp.async.cg 8", "sm_80"}), "bytes = 8: 16");
  expectReason(rule({"setmaxnreg 250", "sm_90a"}),
               "registers = 250: multiples of 8 from 24 to 256; nearest 248 and 256");
}

TEST(PtxInstruction, BadTextIsAnError) {
  for (const char *bad : {"", "mma.sync.aligned.m16n8k16.row.col.f32.bf16",
                          "setmaxnreg 99999999999999", "wgmma.f16.f16"}) {
    llvm::Expected<PtxInstruction> parsed = parseInstruction(bad);
    EXPECT_FALSE(bool(parsed)) << bad;
    llvm::consumeError(parsed.takeError());
  }
  for (const char *bad : {"", "0", "a", "1,2,3,4", "-5", "64,,x"}) {
    auto parsed = parseMatrixShape(bad);
    EXPECT_FALSE(bool(parsed)) << bad;
    llvm::consumeError(parsed.takeError());
  }
  PtxInstruction instruction = llvm::cantFail(parseInstruction("mma.sync.trans"));
  EXPECT_EQ(takeDiag(checkModifiers(instruction)).message.find("mma.sync has no modifier .trans"),
            0u);
  PtxInstruction good = llvm::cantFail(parseInstruction("mma.sync"));
  EXPECT_EQ(takeDiag(setTypes(good, "f16,q8")).message.find("'q8' is no type"), 0u);
}

} // namespace
} // namespace tilewright
