#include "analysis/import/hlo_text.h"
#include "analysis/program/pass/resources.h"
#include "analysis/tiling/numeric_tile.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

struct Kernel {
  Module module;
  ExprContext context;
  std::optional<TiledGroup> group;

  explicit Kernel(const std::string &body) {
    auto parsed = parseHlo(std::make_shared<SourceBuffer>(
        "test", "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                "  ROOT s = f32[] add(a, b)\n}\n\nENTRY main {\n" +
                    body + "}\n"));
    if (!parsed) {
      ADD_FAILURE() << takeDiag(parsed.takeError()).str();
      return;
    }
    module = std::move(*parsed);
    std::vector<OpId> ops;
    for (uint32_t i = 0; i < graph().size(); ++i)
      if (graph()[OpId{i}].opcode != Opcode::Parameter)
        ops.push_back(OpId{i});
    auto made = makeGroup(graph(), ops);
    auto tiled = made ? tileGroup(graph(), *made, context) : made.takeError();
    if (!tiled)
      ADD_FAILURE() << takeDiag(tiled.takeError()).str();
    else
      group = std::move(*tiled);
  }
  const Graph &graph() const { return module.entry(); }
  Assignment at(const std::vector<std::pair<std::string, int64_t>> &values) const {
    Assignment point;
    for (const TileParameter &p : group->space.parameters)
      point.set(p.size, 1);
    for (const auto &[name, value] : values)
      point.set(group->space.find(name)->size, value);
    return point;
  }
  std::vector<std::string> violated(const Assignment &point) const {
    std::vector<std::string> out;
    for (const Constraint &c : group->constraints)
      if (c.formula.evaluate(point) != true)
        out.push_back(c.describe(point));
    return out;
  }
};

const char *bigGemm = "  a = bf16[8192,4096] parameter(0)\n  b = bf16[4096,8192] parameter(1)\n"
                      "  ROOT c = bf16[8192,8192] dot(a, b), lhs_contracting_dims={1}, "
                      "rhs_contracting_dims={0}\n";

} // namespace

TEST(Resources, StagesOfABigGemm) {
  Kernel k(bigGemm);
  Resources r =
      kernelResources(k.module, k.graph(), *k.group, Instruction::MmaSync, DeviceLimits());
  struct Row {
    int64_t m, n, k, bytes, most[3];
  };
  const int64_t limits[] = {232448, 166912, 101376};
  const Row rows[] = {{128, 256, 64, 49152, {4, 3, 2}},
                      {128, 128, 128, 65536, {3, 2, 1}},
                      {256, 128, 64, 49152, {4, 3, 2}},
                      {128, 128, 64, 32768, {7, 5, 3}},
                      {64, 256, 64, 40960, {5, 4, 2}}};
  for (const Row &row : rows)
    for (int64_t stages = 1; stages <= 8; ++stages) {
      Assignment point =
          k.at({{"t0", row.m}, {"t1", row.n}, {"k0", row.k}, {"stages", stages}, {"warps", 8}});
      EXPECT_EQ(evaluate(r.sharedBytes, point), row.bytes * stages);
      for (int device = 0; device < 3; ++device) {
        Kernel limited(bigGemm);
        DeviceLimits device_limits;
        device_limits.sharedBytesPerCta = limits[device];
        addKernelConstraints(limited.module, limited.graph(), *limited.group, device_limits,
                             Instruction::MmaSync);
        EXPECT_EQ(limited.violated(point).empty(), stages <= row.most[device])
            << row.m << " " << row.n << " " << row.k << " " << stages;
      }
    }
  EXPECT_EQ(evaluate(r.grid, k.at({{"t0", 128}, {"t1", 256}, {"split_k", 2}})), 64 * 32 * 2);
}

TEST(Resources, WarpgroupInstructionsAddBarriersAndWholeUnits) {
  Kernel k(bigGemm);
  Resources r = kernelResources(k.module, k.graph(), *k.group, Instruction::Wgmma, DeviceLimits());
  for (int64_t stages = 1; stages <= 4; ++stages) {
    EXPECT_EQ(
        evaluate(r.sharedBytes,
                 k.at({{"t0", 128}, {"t1", 64}, {"k0", 64}, {"warps", 4}, {"stages", stages}})),
        (16384 + 8192 + 32) * stages);
    EXPECT_EQ(
        evaluate(r.sharedBytes,
                 k.at({{"t0", 64}, {"t1", 32}, {"k0", 16}, {"warps", 4}, {"stages", stages}})),
        (2048 + 1024 + 32) * stages);
  }
}

TEST(Resources, AChainStagesItsRowsOnceAndItsScoresNowhere) {
  const char *chain =
      "  a = bf16[256,64] parameter(0)\n  b = bf16[64,200] parameter(1)\n"
      "  v = bf16[200,64] parameter(2)\n"
      "  s = f32[256,200] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  p = bf16[256,200] convert(s)\n"
      "  ROOT o = f32[256,64] dot(p, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  struct Row {
    int64_t rows, columns, step, warps, stages, mma, wgmma;
  };
  const Row rows[] = {
      {64, 64, 32, 4, 2, 8192 + 2 * (4096 + 4096), 8192 + 2 * (4096 + 4096) + 72},
      {128, 64, 64, 8, 3, 16384 + 3 * (8192 + 8192), 16384 + 3 * (8192 + 8192) + 104},
      // 48 rows are 64, 24 keys 32; of wgmma V has 1024 bytes
      {48, 8, 24, 4, 1, 8192 + 4096 + 512, 8192 + 4096 + 1024 + 40},
      // 80 keys: nothing to pad
      {16, 24, 80, 1, 2, 2048 + 2 * (10240 + 3840), 2048 + 2 * (10240 + 4096) + 72},
      // all keys in one step: they are copied once
      {64, 64, 200, 4, 2, 8192 + 26624 + 26624, 8192 + 26624 + 26624 + 24}};
  for (const Row &row : rows)
    for (Instruction instruction : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma}) {
      const int64_t bytes = instruction == Instruction::Wgmma ? row.wgmma : row.mma;
      for (int64_t limit : {bytes, bytes - 1}) {
        Kernel k(chain);
        DeviceLimits limits;
        limits.sharedBytesPerCta = limit;
        Assignment point = k.at({{"t0", row.rows},
                                 {"t1", row.columns},
                                 {"k0", row.step},
                                 {"k1", 64},
                                 {"warps", row.warps},
                                 {"stages", row.stages}});
        EXPECT_EQ(
            evaluate(
                kernelResources(k.module, k.graph(), *k.group, instruction, limits).sharedBytes,
                point),
            bytes);
        addKernelConstraints(k.module, k.graph(), *k.group, limits, instruction);
        bool isRefused = false;
        for (const std::string &text : k.violated(point))
          isRefused = isRefused || text.find("B of shared memory a CTA") != std::string::npos;
        EXPECT_EQ(isRefused, limit < bytes) << row.rows << " " << toString(instruction);
      }
    }
}

TEST(Resources, NoMoreCtasShareASumThanItHasTiles) {
  Kernel k(bigGemm);
  EXPECT_TRUE(k.violated(k.at({{"k0", 128}, {"split_k", 32}})).empty());
  EXPECT_EQ(k.violated(k.at({{"k0", 128}, {"split_k", 33}})),
            (std::vector<std::string>{
                "%c: 33 CTAs share one result tile, of at most 32 tiles of the sum"}));
}

TEST(Resources, SayWhatIsWantedAndWhatIsAllowed) {
  Kernel k(bigGemm);
  addKernelConstraints(k.module, k.graph(), *k.group, {}, Instruction::MmaSync);
  EXPECT_EQ(k.violated(k.at({{"t0", 128}, {"t1", 256}, {"k0", 64}, {"stages", 6}, {"warps", 8}})),
            (std::vector<std::string>{
                "device: 294912 B of shared memory a CTA, of at most 232448 B: 98304 B for "
                "operand 0 of %c (%a), staged, 196608 B for operand 1 of %c (%b), staged"}));
  EXPECT_EQ(k.violated(k.at({{"t0", 256}, {"t1", 256}, {"k0", 16}, {"warps", 4}})),
            (std::vector<std::string>{"device: 512 registers a thread, of at most 160 beside the "
                                      "operands of mma.sync: 512 for accumulators of %c"}));
}

TEST(Resources, SlicedHeadTransposeStagesItsWholeOperandTile) {
  Kernel k("  p = bf16[2080,1024] parameter(0)\n"
           "  body = bf16[2048,1024] slice(p), slice={[32:2080], [0:1024]}\n"
           "  turned = bf16[1024,2048] transpose(body), dimensions={1,0}\n"
           "  ROOT split = bf16[1024,16,128] bitcast(turned)\n");
  Resources r = kernelResources(k.module, k.graph(), *k.group, Instruction::Fma, DeviceLimits());
  ASSERT_EQ(r.sharedItems.size(), 1u);
  EXPECT_EQ(r.sharedItems[0].name, "operand tile of %turned");
  for (int64_t a : {16, 32, 64})
    EXPECT_EQ(evaluate(r.sharedBytes, k.at({{"t0", a}, {"t1", 16}, {"t2", 128}})), 4096 * a);
  DeviceLimits small;
  small.sharedBytesPerCta = 101376;
  addKernelConstraints(k.module, k.graph(), *k.group, small);
  EXPECT_TRUE(k.violated(k.at({{"t0", 16}, {"t1", 16}, {"t2", 128}})).empty());
  EXPECT_EQ(k.violated(k.at({{"t0", 32}, {"t1", 16}, {"t2", 128}})).size(), 1u);
}

TEST(Resources, RowsSharedByWarpsExchangeThroughSharedMemory) {
  Kernel k("  x = f32[64,1000] parameter(0)\n  zero = f32[] constant(0)\n"
           "  ROOT m = f32[64] reduce(x, zero), dimensions={1}, to_apply=add\n");
  Resources r = kernelResources(k.module, k.graph(), *k.group, Instruction::Fma, DeviceLimits());
  auto bytes = [&](int64_t rows, int64_t warps) {
    return evaluate(r.sharedBytes, k.at({{"t0", rows}, {"warps", warps}}));
  };
  // 4 B a warp, once two warps share a row; threads that share one are a power of two.
  EXPECT_EQ(bytes(1, 4), 16);
  EXPECT_EQ(bytes(2, 4), 16);
  EXPECT_EQ(bytes(4, 4), 0);
  EXPECT_EQ(bytes(1, 3), 0);
  EXPECT_EQ(bytes(1, 6), 24);
  EXPECT_EQ(evaluate(r.threads, k.at({{"warps", 4}})), 128);

  Kernel columns("  x = f32[1000,64] parameter(0)\n  zero = f32[] constant(0)\n"
                 "  ROOT m = f32[64] reduce(x, zero), dimensions={0}, to_apply=add\n");
  Resources across = kernelResources(columns.module, columns.graph(), *columns.group,
                                     Instruction::Fma, DeviceLimits());
  // Lanes of a warp shuffle; warps that have the same rows exchange 4 B for each.
  for (auto [rows, warps, wanted] :
       {std::tuple(1, 1, 0), {1, 2, 8}, {17, 1, 0}, {32, 2, 256}, {33, 2, 0}, {64, 3, 384}})
    EXPECT_EQ(evaluate(across.sharedBytes, columns.at({{"t0", rows}, {"warps", warps}})), wanted)
        << rows << " " << warps;
}

TEST(Resources, RegistersAreTheSumOfTheirItems) {
  struct Row {
    const char *body;
    Instruction instruction;
    std::vector<std::pair<std::string, int64_t>> point;
    int64_t accumulators, least, most; // registers that ptxas gave such kernels, and around them
  };
  const Row rows[] = {{bigGemm,
                       Instruction::Wgmma,
                       {{"t0", 128}, {"t1", 128}, {"k0", 64}, {"warps", 4}},
                       128,
                       140,
                       170},
                      // More than an even share: all threads start with that of 8 and 4 warps.
                      {bigGemm,
                       Instruction::Wgmma,
                       {{"t0", 128}, {"t1", 256}, {"k0", 64}, {"warps", 8}},
                       128,
                       168,
                       168},
                      {bigGemm,
                       Instruction::MmaSync,
                       {{"t0", 128}, {"t1", 128}, {"k0", 64}, {"warps", 8}},
                       64,
                       100,
                       140},
                      {"  a = f32[4096,4096] parameter(0)\n  ROOT n = f32[4096,4096] negate(a)\n",
                       Instruction::Fma,
                       {{"t0", 1}, {"t1", 512}, {"warps", 4}},
                       0,
                       10,
                       18},
                      // Eight vectors in flight would take more than there is for a full SM.
                      {"  a = f32[4096,4096] parameter(0)\n  ROOT n = f32[4096,4096] negate(a)\n",
                       Instruction::Fma,
                       {{"t0", 8}, {"t1", 4096}, {"warps", 8}},
                       0,
                       30,
                       40}};
  for (const Row &row : rows) {
    Kernel k(row.body);
    Resources r = kernelResources(k.module, k.graph(), *k.group, row.instruction, DeviceLimits());
    const Assignment point = k.at(row.point);
    int64_t sum = 0, accumulators = 0;
    for (const ResourceItem &item : r.registerItems) {
      const int64_t amount = evaluate(item.amount, point).value_or(INT64_MIN);
      sum += amount;
      if (item.name == "accumulators")
        accumulators += amount;
    }
    EXPECT_EQ(evaluate(r.registersPerThread, point), sum);
    EXPECT_EQ(accumulators, row.accumulators);
    EXPECT_GE(sum, row.least);
    EXPECT_LE(sum, row.most);
  }
  Kernel k(bigGemm);
  Resources r = kernelResources(k.module, k.graph(), *k.group, Instruction::Wgmma, DeviceLimits());
  EXPECT_EQ(evaluate(r.threads, k.at({{"t0", 128}, {"t1", 128}, {"warps", 4}})), 5 * 32);
  EXPECT_EQ(evaluate(r.threads, k.at({{"t0", 128}, {"t1", 256}, {"warps", 8}})), 12 * 32);
}

/// What ptxas gives up depends on how many warps and CTAs an SM holds: with fewer, a full SM leaves
/// each thread more.
TEST(Resources, RegistersGivenUpFollowTheDevice) {
  Kernel k("  a = f32[4096,4096] parameter(0)\n  ROOT n = f32[4096,4096] negate(a)\n");
  const Assignment point = k.at({{"t0", 8}, {"t1", 4096}, {"warps", 8}});
  auto registersOf = [&](int64_t warps, int64_t blocks, int64_t registers) {
    DeviceLimits limits;
    limits.warpsPerSm = warps;
    limits.ctasPerSm = blocks;
    limits.registersPerSm = registers;
    Resources r = kernelResources(k.module, k.graph(), *k.group, Instruction::Fma, limits);
    return *evaluate(r.registersPerThread, point);
  };
  const int64_t full = registersOf(64, 32, 65536), few = registersOf(48, 24, 65536);
  EXPECT_GT(few, full);
  EXPECT_GT(registersOf(32, 16, 65536), few);
  EXPECT_EQ(registersOf(64, 6, 65536), few); // six CTAs of eight warps are 48
  EXPECT_LT(registersOf(64, 32, 32768), full);
  // Accumulators take what they take wherever nothing is given up.
  Kernel gemm(bigGemm);
  const Assignment tile = gemm.at({{"t0", 128}, {"t1", 128}, {"warps", 4}});
  for (int64_t warps : {64, 48}) {
    DeviceLimits limits;
    limits.warpsPerSm = warps;
    Resources r =
        kernelResources(gemm.module, gemm.graph(), *gemm.group, Instruction::Wgmma, limits);
    EXPECT_EQ(evaluate(r.registerItems.front().amount, tile), 128);
  }
}

TEST(Resources, MatrixInstructionsConstrainTheirTiles) {
  auto fits = [](Instruction instruction, int64_t m, int64_t n, int64_t kk, int64_t warps) {
    Kernel k(bigGemm);
    size_t before = k.group->constraints.size();
    addInstructionConstraints(k.graph(), *k.group, instruction);
    EXPECT_EQ(k.group->constraints.size() > before, instruction != Instruction::Fma);
    return k.violated(k.at({{"t0", m}, {"t1", n}, {"k0", kk}, {"warps", warps}})).empty();
  };
  EXPECT_TRUE(fits(Instruction::Fma, 3, 5, 7, 3));
  EXPECT_TRUE(fits(Instruction::MmaSync, 128, 128, 32, 4));
  EXPECT_TRUE(fits(Instruction::MmaSync, 16, 8, 16, 1));
  EXPECT_FALSE(fits(Instruction::MmaSync, 24, 128, 32, 4));
  EXPECT_FALSE(fits(Instruction::MmaSync, 128, 4, 32, 4));
  EXPECT_FALSE(fits(Instruction::MmaSync, 128, 128, 8, 4));
  EXPECT_FALSE(fits(Instruction::MmaSync, 16, 8, 16, 4));
  EXPECT_TRUE(fits(Instruction::Wgmma, 128, 256, 64, 8));
  EXPECT_TRUE(fits(Instruction::Wgmma, 64, 256, 64, 8)); // warpgroups side by side
  EXPECT_FALSE(fits(Instruction::Wgmma, 64, 8, 64, 8));
  EXPECT_FALSE(fits(Instruction::Wgmma, 32, 256, 64, 4));
  EXPECT_FALSE(fits(Instruction::Wgmma, 128, 256, 64, 2));
}

/// Dims that are no multiples are padded where the tile has all of them, and only there.
TEST(Resources, MatrixInstructionsPadWhatIsWhole) {
  const char *odd = "  a = bf16[24,100] parameter(0)\n  b = bf16[100,3] parameter(1)\n"
                    "  ROOT c = bf16[24,3] dot(a, b), lhs_contracting_dims={1}, "
                    "rhs_contracting_dims={0}\n";
  auto fits = [&](int64_t m, int64_t n, int64_t kk, int64_t warps) {
    Kernel k(odd);
    addInstructionConstraints(k.graph(), *k.group, Instruction::MmaSync);
    return k.violated(k.at({{"t0", m}, {"t1", n}, {"k0", kk}, {"warps", warps}})).empty();
  };
  EXPECT_TRUE(fits(24, 3, 100, 1));
  EXPECT_TRUE(fits(24, 3, 16, 2)); // 32 x 8, of which two warps have 16 rows each
  EXPECT_FALSE(fits(24, 3, 16, 4));
  EXPECT_TRUE(fits(16, 3, 100, 1));
  EXPECT_FALSE(fits(8, 3, 100, 1));
  EXPECT_FALSE(fits(24, 2, 100, 1));
  EXPECT_FALSE(fits(24, 3, 50, 1));
}

/// What warps that multiply can have is what the code shares out between them and those that copy:
/// 240 registers at most, and 232 for each thread of two warpgroups beside a third.
TEST(Resources, WarpgroupsHaveWhatTheCopyingWarpsLeave) {
  auto most = [](int64_t warps) {
    Kernel k(bigGemm);
    return evaluate(mostWarpgroupRegisters(k.group->space.find("warps")->size, {}),
                    k.at({{"warps", warps}}));
  };
  EXPECT_EQ(most(4), 255); // one warp more leaves a thread all that it can have
  EXPECT_EQ(most(8), 232);
  EXPECT_EQ(most(16), 104);
  auto refused = [](int64_t n, int64_t warps, int64_t stages) {
    Kernel k(bigGemm);
    addKernelConstraints(k.module, k.graph(), *k.group, {}, Instruction::Wgmma);
    return k.violated(
        k.at({{"t0", 256}, {"t1", n}, {"k0", 64}, {"warps", warps}, {"stages", stages}}));
  };
  EXPECT_TRUE(refused(176, 8, 3).empty());
  ASSERT_EQ(refused(208, 8, 3).size(), 1u);
  EXPECT_EQ(refused(208, 8, 3)[0],
            "device: 208 registers a thread for sums, of at most 184 with wgmma: 8 warps beside "
            "those that copy can have 232 each, and 48 are for other values");
  ASSERT_EQ(refused(208, 8, 4).size(), 2u);
  EXPECT_NE(refused(208, 8, 4)[0].find("237696 B of shared memory a CTA, of at most 232448 B"),
            std::string::npos)
      << refused(208, 8, 4)[0];
}
