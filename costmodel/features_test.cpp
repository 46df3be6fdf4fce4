#include "analysis/import/import_file.h"
#include "analysis/tiling/plan_text.h"
#include "costmodel/features.h"
#include "costmodel/testing/data.h"

namespace tilewright {
namespace {

using testing::datasetOf;
using testing::h100;
using testing::measured;
using testing::planFrom;

Features featuresFrom(const std::string &csv) {
  auto plan = planFrom(csv);
  if (!plan) {
    ADD_FAILURE() << takeDiag(plan.takeError()).str();
    return {};
  }
  auto features = featuresOf(*plan, h100());
  if (!features) {
    ADD_FAILURE() << takeDiag(features.takeError()).str();
    return {};
  }
  return *features;
}

const std::string gemmHeader =
    "kernel,dtype,batch,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,split_k,group_m\n";
const std::string memoryHeader = "kernel,dtype,d0,d1,tile_m,tile_n,block,warps\n";

TEST(Features, Gemm) {
  Features f = featuresFrom(gemmHeader + "gemm,bf16,,2048,2048,2048,128,128,64,4,3,1,8\n");
  EXPECT_EQ(f.ctas, 256);
  EXPECT_EQ(f.iterations, 32);
  EXPECT_TRUE(f.matrix && f.pipelined && f.tensorFlops);
  EXPECT_EQ(f.wgmmaClocks, 2 * 128 * 128 * 64 / 4096.0);
  EXPECT_EQ(f.sharedPerCta, 3 * (128 + 128) * 64 * 2);
  EXPECT_EQ(f.loadBytes, (128 + 128) * 64 * 2);
  EXPECT_EQ(f.tags, (128 + 128) * 64 * 2 / 128);
  EXPECT_EQ(f.neighbourShare, 0.5);
  EXPECT_EQ(f.readBytes, 2 * 2048.0 * 2048 * 2);
  EXPECT_EQ(f.writeBytes, 2048.0 * 2048 * 2);
  EXPECT_EQ(f.flops, 2.0 * 2048 * 2048 * 2048);
  EXPECT_EQ(f.tileRows, 16);
  EXPECT_EQ(f.rowSlabBytes, 128 * 2048 * 2);
  EXPECT_EQ(f.occupancy, 2);
}

TEST(Features, SmallTilesUseMmaSyncWithOneStageLess) {
  Features f = featuresFrom(gemmHeader + "gemm,f16,,16,4096,4096,16,128,64,4,3,1,1\n");
  EXPECT_EQ(f.wgmmaClocks, 0);
  EXPECT_GT(f.mmaSyncClocks, 0);
  EXPECT_EQ(f.sharedPerCta, 2 * (16 + 128) * 64 * 2);
}

TEST(Features, SplitK) {
  Features f = featuresFrom(gemmHeader + "gemm,bf16,,512,512,4096,64,64,64,4,3,4,8\n");
  EXPECT_EQ(f.ctas, 64 * 4);
  EXPECT_EQ(f.iterations, 16);
  EXPECT_EQ(f.atomicsPerThread, 64 * 64 / 128.0);
  EXPECT_EQ(f.storeBytes, 0);
  EXPECT_EQ(f.writeBytes, 512 * 512 * 4); // f32 sums, whatever the result type
}

TEST(Features, OperandsThatWgmmaCanNotRead) {
  std::string sizes = ",,1024,1024,1024,128,128,64,4,3,1,8\n";
  Features bytes = featuresFrom(gemmHeader + "gemm,e4m3" + sizes);
  // 64 x 128 elements, 32 at a time; 8 lanes along a row of 128 conflict; 2 clocks of their own.
  EXPECT_EQ(bytes.relayoutClocks, 64 * 128 / 32 * (8 + 2));
  EXPECT_EQ(bytes.scatterClocks, 0);
  // TF32 is copied element by element: 16 sectors a warp, and half of 16 conflicts.
  Features words = featuresFrom(gemmHeader + "gemm,f32" + sizes);
  EXPECT_EQ(words.relayoutClocks, 0);
  EXPECT_EQ(words.scatterClocks, 64 * 128 / 32 * (16 + 16 / 2));
  EXPECT_EQ(words.loadsPerThread, 128 * 64 / 4 / 128 + 128 * 64 / 128);
  for (const char *kernel : {"gemm,bf16", "gemm_nt,bf16"}) {
    Features f = featuresFrom(gemmHeader + kernel + sizes);
    EXPECT_EQ(f.relayoutClocks + f.scatterClocks, 0) << kernel;
  }
}

/// Features of a GEMM of f32 with what is said of its arithmetic.
Features withAlgorithm(const std::string &algorithm, std::optional<Instruction> instruction = {},
                       const ProgramStyle &style = tritonStyle) {
  auto module = importBuffer(std::make_shared<SourceBuffer>(
      "(test)", "HloModule m\nENTRY e {\n a = f32[1024,512] parameter(0)\n"
                " b = f32[512,1024] parameter(1)\n ROOT c = f32[1024,1024] dot(a, b), "
                "lhs_contracting_dims={1}, rhs_contracting_dims={0}" +
                    algorithm + "\n}\n"));
  KernelPlan plan = llvm::cantFail(
      planOfEntry(std::make_shared<const Module>(llvm::cantFail(std::move(module)))));
  llvm::cantFail(assignText(plan, "t0=128 t1=128 k0=32 warps=4 stages=3"));
  plan.style = style;
  plan.instruction =
      instruction ? *instruction : llvm::cantFail(preferredInstruction(plan, h100()));
  return llvm::cantFail(featuresOf(plan, h100()));
}

TEST(Features, DotsOfSeveralProducts) {
  for (Instruction instruction : {Instruction::Wgmma, Instruction::MmaSync}) {
    auto clocks = [&](const char *algorithm) {
      Features f = withAlgorithm(algorithm, instruction);
      return f.wgmmaClocks + f.mmaSyncClocks;
    };
    const double tf32 = clocks("");
    EXPECT_GT(tf32, 0);
    EXPECT_EQ(clocks(", algorithm=dot_tf32_tf32_f32"), tf32);
    EXPECT_EQ(clocks(", algorithm=dot_tf32_tf32_f32_x3"), 3 * tf32);
    const double bf16 = clocks(", algorithm=dot_bf16_bf16_f32");
    EXPECT_NEAR(bf16 / tf32, h100().tensorTf32 / h100().tensorBf16, 1e-12);
    EXPECT_EQ(clocks(", algorithm=dot_bf16_bf16_f32_x3"), 3 * bf16);
    EXPECT_EQ(clocks(", algorithm=dot_bf16_bf16_f32_x6"), 6 * bf16);
    EXPECT_EQ(clocks(", algorithm=dot_bf16_bf16_f32_x9"), 9 * bf16);
    // What is read is the same.
    EXPECT_EQ(withAlgorithm(", algorithm=dot_bf16_bf16_f32_x9", instruction).loadBytes,
              withAlgorithm("", instruction).loadBytes);
  }
  // Products of whole f32 are not for tensor cores.
  Features whole = withAlgorithm(", algorithm=dot_f32_f32_f32");
  EXPECT_GT(whole.fmaClocks, 0);
  EXPECT_EQ(whole.wgmmaClocks + whole.mmaSyncClocks, 0);
  EXPECT_FALSE(whole.tensorFlops);
  const Features parts = withAlgorithm("");
  EXPECT_GT(parts.wgmmaClocks + parts.mmaSyncClocks, 0);
}

/// Our own code is priced as it is made: one product of TF32 or three of them, else whole f32.
TEST(Features, OwnDotsAreMadeOfTf32) {
  for (Instruction instruction : {Instruction::Wgmma, Instruction::MmaSync}) {
    auto own = [&](const char *asked) {
      return withAlgorithm(asked, instruction, tilewrightStyle);
    };
    auto clocks = [&](const char *asked) {
      Features f = own(asked);
      return f.wgmmaClocks + f.mmaSyncClocks;
    };
    const double one = clocks("");
    EXPECT_GT(one, 0);
    EXPECT_EQ(clocks(", algorithm=dot_bf16_bf16_f32"), one);
    EXPECT_EQ(clocks(", operand_precision={default,default}"), one);
    for (const char *asked :
         {", algorithm=dot_tf32_tf32_f32_x3", ", algorithm=dot_bf16_bf16_f32_x3",
          ", operand_precision={high,high}"}) {
      EXPECT_EQ(own(asked).mmaSyncClocks, 3 * one) << asked;
      EXPECT_EQ(own(asked).wgmmaClocks, 0) << asked;
    }
    for (const char *asked : {", algorithm=dot_bf16_bf16_f32_x6", ", algorithm=dot_f32_f32_f32",
                              ", operand_precision={highest,highest}"}) {
      EXPECT_EQ(clocks(asked), 0) << asked;
      EXPECT_EQ(own(asked).fmaClocks, own(", algorithm=dot_f32_f32_f32").fmaClocks) << asked;
    }
  }
}

TEST(Features, WgmmaThatTheCompilerSerialises) {
  auto serial = [](const char *kernel, const char *tile) {
    return featuresFrom(gemmHeader + kernel + ",,1024,1024,1024," + tile + ",1,8\n").serialGroups;
  };
  EXPECT_EQ(serial("gemm_nt,bf16", "128,256,64,8,3"), 1);
  EXPECT_EQ(serial("gemm_nt,bf16", "64,256,32,8,3"), 1);
  EXPECT_EQ(serial("gemm_nt,bf16", "64,256,64,4,3"), 0); // one warp group
  EXPECT_EQ(serial("gemm_nt,bf16", "256,128,64,8,3"), 0);
  EXPECT_EQ(serial("gemm,bf16", "128,256,64,8,3"), 0);
}

/// All CTAs of a split-K together read the operands once, also where each has one step.
TEST(Features, SplitKReadsWholeOperands) {
  for (const char *split : {"1", "2", "8", "16"}) {
    Features f =
        featuresFrom(gemmHeader + "gemm,bf16,,512,512,1024,128,128,64,4,2," + split + ",1\n");
    EXPECT_EQ(f.readBytes, 2 * 512.0 * 1024 * 2) << split;
  }
}

TEST(Features, Batched) {
  Features f = featuresFrom(gemmHeader + "bgemm_nt,bf16,96,1024,1024,64,128,128,64,4,2,1,8\n");
  EXPECT_EQ(f.ctas, 96 * 64);
  EXPECT_EQ(f.batches, 96);
  EXPECT_EQ(f.rowOperandBytes, 1024 * 64 * 2);
  EXPECT_EQ(f.readBytes, 96 * 2.0 * 1024 * 64 * 2);
}

TEST(Features, CopyAndElementwise) {
  Features copy = featuresFrom(memoryHeader + "copy1d,bf16,65536,,,,1024,4\n");
  EXPECT_EQ(copy.ctas, 64);
  EXPECT_EQ(copy.loadBytes, 2048);
  EXPECT_EQ(copy.storeBytes, 2048);
  EXPECT_EQ(copy.loadsPerThread, 1);
  EXPECT_EQ(copy.sharedPerCta, 0);
  EXPECT_FALSE(copy.matrix || copy.looped);
  Features ew = featuresFrom(memoryHeader + "ew1d,f32,65536,,,,1024,4\n");
  EXPECT_EQ(ew.readBytes, 2 * 65536 * 4);
  EXPECT_EQ(ew.sfuOps, 2 * 1024); // an exponential and a division
}

TEST(Features, BroadcastInputsAreReadOnce) {
  Features f = featuresFrom(memoryHeader + "bcast2d,bf16,1024,4096,4,256,,4\n");
  EXPECT_EQ(f.ctas, 256 * 16);
  EXPECT_EQ(f.readBytes, (1024.0 * 4096 + 2 * 4096) * 2);
}

TEST(Features, TransposeGoesThroughSharedMemory) {
  Features f = featuresFrom(memoryHeader + "transpose2d,bf16,1024,2048,64,32,,4\n");
  EXPECT_EQ(f.ctas, 16 * 64);
  EXPECT_EQ(f.exchanges, 1);
  EXPECT_EQ(f.sharedPerCta, 64 * 32 * 2);
  EXPECT_EQ(f.partialSectors, 0);
  // Rows of 8 elements are half a sector.
  EXPECT_EQ(featuresFrom(memoryHeader + "transpose2d,bf16,1024,2048,8,64,,4\n").partialSectors, 64);
}

TEST(Features, Reductions) {
  Features row = featuresFrom(memoryHeader + "rowreduce,f32,512,4096,2,1024,,4\n");
  EXPECT_EQ(row.ctas, 256);
  EXPECT_EQ(row.iterations, 4);
  EXPECT_TRUE(row.looped);
  EXPECT_EQ(row.writeBytes, 512 * 4);
  EXPECT_EQ(row.readBytes, 512.0 * 4096 * 4);
  Features column = featuresFrom(memoryHeader + "colreduce,f32,512,4096,8,128,,4\n");
  EXPECT_EQ(column.ctas, 32);
  EXPECT_EQ(column.iterations, 64);
}

TEST(Features, LoadsBeyondTheTensorWaitForNothing) {
  // A thread makes four loads along the 2048 columns of the tile.
  auto roundTrips = [](int64_t columns) {
    return featuresFrom(memoryHeader + fmt::format("colreduce,f32,4096,{},1,2048,,4\n", columns))
        .roundTrips;
  };
  EXPECT_EQ(roundTrips(320), 1);
  EXPECT_LE(roundTrips(1024), 2);
  EXPECT_GT(roundTrips(8192), roundTrips(1024));
}

TEST(Features, RowsThatAreKeptTakeRegisters) {
  // As ptxas reports them: 154 registers for 128 elements of a row a thread, 85 for 64.
  EXPECT_EQ(featuresFrom(memoryHeader + "softmax2d,bf16,16384,4096,1,4096,,1\n").occupancy, 12);
  EXPECT_EQ(featuresFrom(memoryHeader + "softmax2d,bf16,16384,4096,1,4096,,2\n").occupancy, 10);
}

TEST(Features, SoftmaxReadsItsRowOnce) {
  Features f = featuresFrom(memoryHeader + "softmax2d,bf16,128,8192,1,8192,,8\n");
  EXPECT_EQ(f.ctas, 128);
  EXPECT_EQ(f.iterations, 1);
  EXPECT_EQ(f.loadBytes, 8192 * 2);
  EXPECT_EQ(f.exchanges, 2);
  EXPECT_FALSE(f.looped);
}

/// A tile that is not a multiple of an instruction costs as much as the next one that is.
TEST(Features, OddTilesPayForWholeInstructions) {
  std::string rest = ",128,64,4,3,1,1\n";
  Features odd = featuresFrom(gemmHeader + "gemm,bf16,,1000,2048,2048,100" + rest);
  Features even = featuresFrom(gemmHeader + "gemm,bf16,,1000,2048,2048,128" + rest);
  EXPECT_EQ(odd.wgmmaClocks, even.wgmmaClocks);
  EXPECT_LT(odd.sharedPerCta, even.sharedPerCta);
}

TEST(Features, SharedDivisorsTakeOneReciprocal) {
  Features softmax = featuresFrom(memoryHeader + "softmax2d,bf16,128,4096,1,4096,,8\n");
  EXPECT_EQ(softmax.sfuOps, 4096); // the exponentials
}

TEST(Features, AttentionKeepsQueriesAndWalksOverKeys) {
  Features f = featuresFrom("kernel,dtype,d0,d1,d2,tile_m,tile_n,head_dim,causal,warps,stages\n"
                            "attn,bf16,12,8192,64,128,64,64,0,8,3\n");
  EXPECT_EQ(f.ctas, 12 * 64);
  EXPECT_EQ(f.iterations, 128);
  EXPECT_TRUE(f.serial);
  EXPECT_EQ(f.loadBytes, 2 * 64 * 64 * 2);
  EXPECT_EQ(f.neighbourShare, 1);
  EXPECT_EQ(f.flops, 4.0 * 12 * 8192 * 8192 * 64);
  EXPECT_EQ(f.sharedPerCta, 128 * 64 * 2 + 3 * 2 * 64 * 64 * 2);
}

/// Rows of [a, b, c] that are divided by their sums along b; the result flattened or as it is.
Features normalised(int64_t a, int64_t b, int64_t c, bool isFlat, const std::string &numbers) {
  const std::string whole = fmt::format("f32[{},{},{}]", a, b, c);
  std::string text =
      "HloModule m\nsum { p = f32[] parameter(0)\n q = f32[] parameter(1)\n"
      " ROOT r = f32[] add(p, q) }\nENTRY e {\n x = " +
      whole + " parameter(0)\n z = f32[] constant(0)\n s = " + fmt::format("f32[{},{}]", a, c) +
      " reduce(x, z), dimensions={1}, to_apply=sum\n b = " + whole +
      " broadcast(s), dimensions={0,2}\n" + (isFlat ? " d = " : " ROOT d = ") + whole +
      " divide(x, b)\n" +
      (isFlat ? fmt::format(" ROOT y = f32[{},{}] reshape(d)\n", a, b * c) : "") + "}\n";
  auto module = llvm::cantFail(importBuffer(std::make_shared<SourceBuffer>("(test)", text)));
  KernelPlan plan = llvm::cantFail(planOfEntry(std::make_shared<const Module>(std::move(module))));
  llvm::cantFail(assignText(plan, numbers));
  return llvm::cantFail(featuresOf(plan, h100()));
}

/// A CTA reads what its tile needs, under whatever shape the result has: tiles of the sums come
/// again in every tile of a row.
TEST(Features, AReshapedResultReadsWhatThePlainOneReads) {
  for (auto [a, b, c] : {std::tuple(64, 256, 4), {16, 1024, 8}, {8, 96, 2}})
    for (int64_t rows : {1, 4})
      for (int64_t part : {8, 32})
        for (int64_t step : {32, b}) {
          Features plain = normalised(
              a, b, c, false, fmt::format("t0={} t1={} t2={} r0={} warps=4", rows, part, c, step));
          Features flat = normalised(
              a, b, c, true, fmt::format("t0={} t1={} r0={} warps=4", rows, part * c, step));
          auto read = [](const Features &f) {
            return f.ctas * (f.iterations * f.loadBytes + f.outsideLoadBytes);
          };
          EXPECT_EQ(flat.ctas, plain.ctas);
          EXPECT_EQ(read(flat), read(plain))
              << a << " " << b << " " << c << ": " << rows << " " << part << " " << step;
          EXPECT_EQ(flat.readBytes, plain.readBytes);
          // For the sums alone, a CTA reads all of its rows.
          EXPECT_GE(read(flat), flat.ctas * double(rows * b * c) * 4);
        }
}

TEST(Features, EmptyResultLaunchesNothing) {
  EXPECT_TRUE(featuresFrom(memoryHeader + "bcast2d,bf16,0,4096,4,256,,4\n").empty);
}

/// The shared memory that the compiler reported, for every measured matrix kernel.
TEST(Features, SharedBytesAreExactForEveryMeasuredMatrixKernel) {
  TemplateLibrary templates = testing::bundledTemplates();
  Device device = h100();
  int64_t checked = 0;
  for (const char *file : {"gemm.csv.gz", "gemm_variants.csv.gz", "attention.csv.gz"}) {
    auto table = Table::read(std::string("datasets/measurements/h100-sxm/") + file);
    ASSERT_TRUE(static_cast<bool>(table));
    for (size_t i = 0; i < table->rowCount(); i += 3) {
      TableRow row(*table, i);
      auto number = templates.match(row);
      ASSERT_TRUE(number.has_value());
      auto bytes = llvm::cantFail(row.integer("smem_bytes"));
      auto plan = templates.planOf(*number, row, device);
      if (!plan) {
        EXPECT_EQ(takeDiag(plan.takeError()).cls, DiagClass::Unsupported);
        continue;
      }
      if (!bytes)
        continue;
      auto features = featuresOf(*plan, device);
      ASSERT_TRUE(static_cast<bool>(features));
      ASSERT_EQ(features->sharedPerCta, double(*bytes)) << file << " line " << row.line();
      ++checked;
    }
  }
  EXPECT_GT(checked, 7000);
}

} // namespace
} // namespace tilewright
