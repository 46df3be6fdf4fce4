// Loops, branches, library calls and collectives: how often, how much.
#include "analysis/indexing/collective_traffic.h"
#include "analysis/indexing/library_call.h"
#include "analysis/indexing/op_cost.h"
#include "analysis/indexing/testing/indexing.h"
#include "analysis/indexing/trip_count.h"
#include "analysis/ir/evaluator.h"

using namespace tilewright;

namespace {

std::string loop(const std::string &type, const std::string &init, const std::string &condition,
                 const std::string &step, const std::string &config = "") {
  return "HloModule m\n"
         "cond { s = (" +
         type + "[], f32[4]) parameter(0)\n i = " + type + "[] get-tuple-element(s), index=0\n" +
         condition +
         "}\n"
         "body { s = (" +
         type + "[], f32[4]) parameter(0)\n i = " + type +
         "[] get-tuple-element(s), index=0\n v = f32[4] get-tuple-element(s), index=1\n" + step +
         " w = f32[4] add(v, v)\n ROOT o = (" + type +
         "[], f32[4]) tuple(j, w) }\n"
         "ENTRY e { x = f32[4] parameter(0)\n z = " +
         type + "[] constant(" + init + ")\n c = " + type + "[] copy(z)\n init = (" + type +
         "[], f32[4]) tuple(c, x)\n"
         " ROOT loop = (" +
         type + "[], f32[4]) while(init), condition=cond, body=body" + config + " }\n";
}

std::string compare(const std::string &type, const std::string &bound, const char *direction,
                    bool isSwapped = false) {
  return " n = " + type + "[] constant(" + bound + ")\n ROOT c = pred[] compare(" +
         (isSwapped ? "n, i" : "i, n") + "), direction=" + direction + " ";
}

std::string step(const std::string &type, const std::string &by, const char *op = "add(i, k)") {
  return " k = " + type + "[] constant(" + by + ")\n j = " + type + "[] " + op + "\n";
}

Module parse(const std::string &text) {
  llvm::Expected<Module> module = parseHlo(std::make_shared<SourceBuffer>("test", text));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  if (llvm::Error error = verify(*module))
    ADD_FAILURE() << takeDiag(std::move(error)).str();
  return std::move(*module);
}

TripCount countOf(const Module &module) {
  return tripCount(module, module.entry(), module.entry().root());
}

/// Runs of the body in the evaluator.
int64_t realCount(const Module &module) {
  int64_t runs = 0;
  GraphId body = module.find("body");
  EvalOptions options;
  options.maxWork = 1 << 16;
  options.onResult = [&](const OpInstance &instance, std::span<const Tensor *const>) {
    runs += instance.graph == body && instance.op == module.graph(body).root();
  };
  std::vector<Tensor> arguments = fillArguments(module, module.entryId, 1);
  llvm::Expected<std::vector<Tensor>> result = evaluate(module, module.entryId, arguments, options);
  if (!result) {
    llvm::consumeError(result.takeError());
    return -1; // it goes on and on
  }
  return runs;
}

} // namespace

TEST(TripCount, AgreesWithTheEvaluator) {
  size_t known = 0;
  for (const char *direction : {"LT", "LE", "GT", "GE", "NE"})
    for (const char *first : {"0", "-3", "5", "100"})
      for (const char *bound : {"0", "3", "7", "-8", "127", "-128"})
        for (const char *by : {"1", "2", "-1", "-5", "0"})
          for (bool isSwapped : {false, true}) {
            Module module = parse(
                loop("s8", first, compare("s8", bound, direction, isSwapped), step("s8", by)));
            TripCount trips = countOf(module);
            EXPECT_EQ(trips.count.has_value(), trips.reason.empty());
            if (!trips.count)
              continue;
            ++known;
            EXPECT_EQ(*trips.count, realCount(module))
                << first << " " << direction << " " << bound << " by " << by << isSwapped;
          }
  EXPECT_GT(known, 300u);
}

TEST(TripCount, OtherForms) {
  auto of = [](const std::string &text) { return countOf(parse(text)); };
  std::string three = compare("s32", "3", "LT");
  EXPECT_EQ(of(loop("s32", "0", three, step("s32", "1"))).count, 3);
  EXPECT_EQ(of(loop("s32", "0", three, step("s32", "1", "add(k, i)"))).count, 3);
  EXPECT_EQ(
      of(loop("s32", "9", compare("s32", "3", "GT"), step("s32", "2", "subtract(i, k)"))).count, 3);
  EXPECT_EQ(of(loop("u32", "0", compare("u32", "4294967295", "LT"), step("u32", "1"))).count,
            4294967295);
  // As stated, whatever the counter looks like.
  EXPECT_EQ(of(loop("s32", "0", three, step("s32", "1", "multiply(i, k)"),
                    ", backend_config={\"known_trip_count\":{\"n\":\"17\"}}"))
                .count,
            17);
  TripCount unknown = of(loop("s32", "0", three, step("s32", "1", "multiply(i, k)")));
  EXPECT_FALSE(unknown.count);
  EXPECT_NE(unknown.reason.find("add a constant"), std::string::npos);
  EXPECT_FALSE(of(loop("f32", "0", compare("f32", "3", "LT"), step("f32", "1"))).count);
  EXPECT_FALSE(of(loop("s32", "0", three, step("s32", "1", "subtract(k, i)"))).count);
}

TEST(OpCost, LoopsAndBranches) {
  Module module = parse(loop("s32", "0", compare("s32", "3", "LT"), step("s32", "1")));
  OpCost cost = opCost(module, module.entry(), module.entry().root());
  EXPECT_TRUE(cost.isCounted);
  EXPECT_EQ(cost.flops, 3 * (4 + 1 + 1) + 1); // the sum, the counter, the condition once more
  Module endless = parse(loop("s32", "0", compare("s32", "3", "LT"), step("s32", "0")));
  EXPECT_FALSE(opCost(endless, endless.entry(), endless.entry().root()).isCounted);
  HloGraph g("p = pred[] parameter(0)\n x = f32[8] parameter(1)\n"
             "ROOT c = f32[8] conditional(p, x, x), true_computation=one, false_computation=two",
             "one { a = f32[8] parameter(0)\n ROOT r = f32[8] add(a, a) }\n"
             "two { a = f32[8] parameter(0)\n b = f32[8] add(a, a)\n ROOT r = f32[8] add(b, a) }");
  EXPECT_EQ(opCost(g.module, g.graph(), g.find("c")).flops, 16);
}

TEST(OpCost, RaggedDotsCountAllRows) {
  HloGraph g("a = f32[4,3] parameter(0)\n b = f32[3,3,2] parameter(1)\n n = s32[3] parameter(2)\n"
             "c = f32[3,6] parameter(3)\n"
             "x = f32[4,2] ragged-dot(a, b, n), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}\n"
             "ROOT y = f32[3,3,6] ragged-dot(a, a, n), lhs_contracting_dims={0}, "
             "rhs_contracting_dims={0}, lhs_ragged_dims={0}, rhs_group_dims={}");
  EXPECT_EQ(opCost(g.module, g.graph(), g.find("x")).flops, 2 * 4 * 2 * 3);
}

// A product that became a call of a library still costs what it costs.
TEST(LibraryCalls, GemmAndConvolution) {
  HloGraph g("x = f32[2,73] parameter(0)\n w = f32[73,256] parameter(1)\n"
             "i = f32[1,2,5,5] parameter(2)\n k = f32[4,2,3,3] parameter(3)\n"
             "gemm = (f32[2,256], s8[4194304]) custom-call(x, w), "
             "custom_call_target=\"__cublas$gemm\", backend_config={\"gemm_backend_config\":{"
             "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"1\"],"
             "\"rhs_contracting_dimensions\":[\"0\"]}}}\n"
             "conv = (f32[1,4,5,5], u8[0]) custom-call(i, k), window={size=3x3 pad=1_1x1_1}, "
             "dim_labels=bf01_oi01->bf01, custom_call_target=\"__cudnn$convForward\"\n"
             "bare = (f32[2,256], s8[4194304]) custom-call(x, w), "
             "custom_call_target=\"__cublas$gemm\"\n"
             "far = (f32[2,256], s8[4]) custom-call(x, w), custom_call_target=\"__cublas$gemm\", "
             "backend_config={\"lhs_contracting_dimensions\":[\"7\"]}\n"
             "other = f32[2,73] custom-call(x), custom_call_target=\"vendor_op\"\n"
             "ROOT t = () tuple()");
  std::optional<LibraryCall> gemm = libraryCall(g.graph(), g.find("gemm"));
  ASSERT_TRUE(gemm);
  EXPECT_EQ(gemm->flops, 74752);
  EXPECT_EQ(gemm->bytes, 77384);
  std::optional<LibraryCall> conv = libraryCall(g.graph(), g.find("conv"));
  ASSERT_TRUE(conv);
  EXPECT_EQ(conv->flops, 2 * 2 * 4 * 13 * 13);
  EXPECT_EQ(opCost(g.module, g.graph(), g.find("gemm")).flops, 74752);
  for (const char *name : {"bare", "far", "other", "t"})
    EXPECT_FALSE(libraryCall(g.graph(), g.find(name))) << name;
  EXPECT_FALSE(opCost(g.module, g.graph(), g.find("bare")).isCounted);
}

TEST(CollectiveTraffic, BytesOfARing) {
  HloGraph g("x = bf16[128,256] parameter(0)\n"
             "ag = bf16[1024,256] all-gather(x), replica_groups={{0,1,2,3,4,5,6,7}}, "
             "dimensions={0}\n"
             "rs = bf16[16,256] reduce-scatter(x), replica_groups={{0,1,2,3,4,5,6,7}}, "
             "dimensions={0}, to_apply=add\n"
             "ar = bf16[128,256] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add\n"
             "unknown = bf16[128,256] all-reduce(x), replica_groups={}, to_apply=add\n"
             "start = (bf16[128,256], bf16[1024,256]) all-gather-start(x), "
             "replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}\n"
             "done = bf16[1024,256] all-gather-done(start)\n"
             "cp = bf16[128,256] collective-permute(x), source_target_pairs={{0,1}}\n"
             "ROOT t = () tuple()");
  auto traffic = [&](const char *name) {
    return collectiveTraffic(g.module, g.graph(), g.find(name)).value_or(CollectiveTraffic{});
  };
  EXPECT_EQ(traffic("ag").bytesRead, 65536);
  EXPECT_EQ(traffic("ag").bytesWritten, 524288);
  EXPECT_EQ(traffic("ag").linkBytes, 458752);
  EXPECT_EQ(traffic("start").linkBytes, 458752);
  EXPECT_EQ(traffic("done").linkBytes, 0);
  EXPECT_EQ(traffic("rs").linkBytes, 65536 / 8 * 7);
  EXPECT_EQ(traffic("ar").linkBytes, 65536);
  EXPECT_EQ(traffic("cp").linkBytes, 65536);
  EXPECT_EQ(traffic("unknown").bytesRead, 0);
  EXPECT_EQ(traffic("x").replicas, 0);
}

TEST(IndexingFacts, CollectivesThatMoveShares) {
  HloGraph g("x = f32[6,4] parameter(0)\n"
             "a = f32[6,4] all-to-all(x), replica_groups={{0,1,2}}, dimensions={0}\n"
             "p = f32[6,4] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,0}}\n"
             "b = (f32[6,4], f32[6,4], u32[], u32[]) collective-permute-start(x), "
             "source_target_pairs={{0,1}}\n"
             "d = f32[6,4] collective-permute-done(b)\n"
             "ROOT t = (f32[6,4], f32[6,4], f32[6,4]) tuple(a, p, d)");
  // Share d0 // 2 is from that replica, which cut its operand at this one's position.
  OpIndexing exchanged = g.maps("a");
  EXPECT_EQ(exchanged.operands[0].maps[0].str(),
            "(d0, d1){rt0 = %a} -> (d0 mod 2 + rt0 * 2, d1), domain: d0 in [0, 5], d1 in [0, 3], "
            "rt0 in [0, 2]");
  EXPECT_EQ(exchanged.replica->str(), "d0 floordiv 2");
  EXPECT_EQ(exchanged.operands[0].coverage, Coverage::Exact);
  OpIndexing moved = g.maps("p");
  EXPECT_EQ(moved.operands[0].maps[0].str(),
            "(d0, d1) -> (d0, d1), domain: d0 in [0, 5], d1 in [0, 3]");
  EXPECT_EQ(moved.operands[0].coverage, Coverage::OverApproximate); // zeros without a source
  EXPECT_EQ(g.maps("d").operands[0].operandPath, ResultPath{1});
}

TEST(IndexingFacts, Collectives) {
  HloGraph g("x = bf16[128,256] parameter(0)\n"
             "start = (bf16[128,256], bf16[1024,256]) all-gather-start(x), "
             "replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}\n"
             "done = bf16[1024,256] all-gather-done(start)\n"
             "rs = bf16[16,256] reduce-scatter(x), replica_groups={{0,1,2,3,4,5,6,7}}, "
             "dimensions={0}, to_apply=add\n"
             "ROOT t = (bf16[1024,256], bf16[16,256]) tuple(done, rs)");
  OpIndexing gathered = g.maps("start", {1});
  EXPECT_EQ(gathered.operands[0].maps[0].str(),
            "(d0, d1) -> (d0 mod 128, d1), domain: d0 in [0, 1023], d1 in [0, 255]");
  EXPECT_EQ(gathered.replica->str(), "d0 floordiv 128");
  EXPECT_EQ(g.maps("done").operands[0].operandPath, ResultPath{1});
  OpIndexing scattered = g.maps("rs");
  EXPECT_EQ(scattered.operands[0].coverage, Coverage::Exact);
  EXPECT_EQ(scattered.operands[0].maps[0].str(),
            "(d0, d1){rt0 = %rs} -> (d0 + rt0 * 16, d1), domain: d0 in [0, 15], d1 in [0, 255], "
            "rt0 in [0, 7]");
  // One element of the gathered result for each replica.
  llvm::Expected<OperandMaps> back =
      operandToOutput(g.graph(), g.find("start"), 0, g.context, ResultPath{1});
  ASSERT_TRUE(static_cast<bool>(back));
  std::set<std::vector<int64_t>> readers = readsOf(back->maps[0], {5, 7}, {});
  EXPECT_EQ(readers.size(), 8u);
  EXPECT_TRUE(readers.count({5 + 3 * 128, 7}));
}

// What only moves elements costs no arithmetic.
TEST(OpCost, MovementIsFree) {
  HloGraph g("left = f32[256,8] parameter(0)\n middle = f32[256,1512] parameter(1)\n"
             "z = f32[] parameter(2)\n"
             "grid = f32[256,1528] concatenate(left, middle, left), dimensions={1}\n"
             "p = f32[258,1528] pad(grid, z), padding=1_1x0_0\n"
             "s = f32[4,1528] slice(p), slice={[0:4], [0:1528]}\n"
             "v = f32[4,1528] reverse(s), dimensions={0}\n"
             "t = f32[1528,4] transpose(v), dimensions={1,0}\n"
             "ROOT r = f32[6112] reshape(t)");
  for (const char *op : {"grid", "p", "s", "v", "t", "r"}) {
    OpCost cost = opCost(g.module, g.graph(), g.find(op));
    EXPECT_TRUE(cost.isCounted) << op;
    EXPECT_EQ(cost.flops + cost.transcendentals, 0) << op;
  }
}
