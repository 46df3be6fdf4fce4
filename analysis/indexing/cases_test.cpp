// Programs on which other compilers went wrong, and everything in the bundled models.
#include "analysis/import/testing/models.h"
#include "analysis/indexing/op_cost.h"
#include "analysis/indexing/testing/indexing.h"
#include "analysis/ir/inline.h"

using namespace tilewright;

namespace {

const char *updateUnderARoll =
    "base = s32[29,10,11] parameter(0)\n upd = s32[14,4,7] parameter(1)\n"
    "row = s32[] parameter(2)\n col = s32[] parameter(3)\n lane = s32[] parameter(4)\n"
    "turn = s32[] parameter(5)\n zero = s32[] constant(0)\n"
    "patched = s32[29,10,11] dynamic-update-slice(base, upd, row, col, lane)\n"
    "twice = s32[29,20,11] concatenate(patched, patched), dimensions={1}\n"
    "ROOT rolled = s32[29,10,11] dynamic-slice(twice, zero, turn, zero), "
    "dynamic_slice_sizes={29,10,11}";

} // namespace

// Runtime variables must keep the tensor that they come from when two kinds of starts meet.
TEST(IndexingCases, UpdateUnderARoll) {
  HloGraph g(updateUnderARoll);
  llvm::Expected<OperandMaps> update =
      mapsToOp(g.graph(), g.find("rolled"), g.find("upd"), g.context);
  ASSERT_TRUE(static_cast<bool>(update));
  ASSERT_EQ(update->maps.size(), 2u);
  std::map<std::string, int64_t> starts{{"%row", 15}, {"%col", 5}, {"%lane", 1}, {"%turn", 3}};
  std::map<std::string, Interval> domains{
      {"%row", {0, 15}}, {"%col", {0, 6}}, {"%lane", {0, 4}}, {"%turn", {0, 10}}};
  auto read = [&](const OperandMaps &maps, std::vector<int64_t> at) {
    std::set<std::vector<int64_t>> reads;
    for (const IndexMap &map : maps.maps) {
      EXPECT_EQ(map.variables(VarKind::Runtime).size(), &maps == &*update ? 4u : 1u) << map.str();
      for (const MapVariable &v : map.variables(VarKind::Runtime))
        EXPECT_EQ(v.domain, domains[v.source->tensorName]);
      reads.merge(readsOf(map, at, [&](uint32_t tensor, const std::vector<int64_t> &) {
        return starts["%" + g.graph().op(OpId{tensor}).name];
      }));
    }
    return reads;
  };
  using Reads = std::set<std::vector<int64_t>>;
  EXPECT_EQ(read(*update, {16, 5, 3}), (Reads{{1, 3, 2}}));
  EXPECT_EQ(read(*update, {16, 9, 3}), Reads{});
  EXPECT_EQ(read(*update, {15, 2, 1}), (Reads{{0, 0, 0}}));
  llvm::Expected<OperandMaps> base =
      mapsToOp(g.graph(), g.find("rolled"), g.find("base"), g.context);
  ASSERT_TRUE(static_cast<bool>(base));
  EXPECT_EQ(base->coverage, Coverage::OverApproximate);
  EXPECT_EQ(read(*base, {16, 9, 3}), (Reads{{16, 2, 3}}));
}

// A crop before a padded window must not be netted against the window's padding.
TEST(IndexingCases, CropThenPaddedWindow) {
  HloGraph g("x = f32[6,5] parameter(0)\n zero = f32[] constant(0)\n"
             "cropped = f32[6,3] pad(x, zero), padding=0_0x-2_0\n"
             "ROOT summed = f32[6,3] reduce-window(cropped, zero), "
             "window={size=1x2 pad=0_0x1_0}, to_apply=add");
  EXPECT_EQ(g.map(0), "(d0, d1)[s0] -> (d0, d1 + s0 - 1), domain: d0 in [0, 5], d1 in [0, 2], "
                      "s0 in [0, 1], d1 + s0 in [1, 3]");
  EXPECT_EQ(g.paths("summed", "x"),
            std::vector<std::string>{"(d0, d1)[s0] -> (d0, d1 + s0 + 1), domain: d0 in [0, 5], "
                                     "d1 in [0, 2], s0 in [0, 1], d1 + s0 in [1, 3]"});
}

// A window of ones with negative padding is a slice.
TEST(IndexingCases, WindowOfOneThatCrops) {
  HloGraph g("x = f32[8,4] parameter(0)\n zero = f32[] constant(0)\n"
             "ROOT kept = f32[7,4] reduce-window(x, zero), window={size=1x1 pad=-1_0x0_0}, "
             "to_apply=add");
  EXPECT_EQ(g.map(0), "(d0, d1) -> (d0 + 1, d1), domain: d0 in [0, 6], d1 in [0, 3]");
}

// High rank stays linear: no case distinction over the axes.
TEST(IndexingCases, ManyAxesOfTwo) {
  for (int rank : {16, 24}) {
    std::string dims, perm;
    for (int i = 0; i < rank; ++i) {
      dims += i ? ",2" : "2";
      int from = i < rank / 2 ? 2 * i : 2 * (i - rank / 2) + 1;
      perm += (i ? "," : "") + std::to_string(from);
    }
    std::string side = std::to_string(1 << (rank / 2)), square = side + "," + side;
    HloGraph g("t = f32[" + dims + "] parameter(0)\n sorted = f32[" + dims +
               "] transpose(t), dimensions={" + perm + "}\n ROOT flat = f32[" + square +
               "] reshape(sorted)");
    llvm::Expected<OperandMaps> maps = mapsToOp(g.graph(), g.find("flat"), g.find("t"), g.context);
    ASSERT_TRUE(static_cast<bool>(maps));
    ASSERT_EQ(maps->maps.size(), 1u);
    Assignment at;
    int64_t d0 = (1 << (rank / 2)) - 3, d1 = 5;
    at.set(g.context.dim(0), d0);
    at.set(g.context.dim(1), d1);
    std::vector<int64_t> index = *maps->maps[0].evaluate(at);
    for (int k = 0; k < rank / 2; ++k) {
      EXPECT_EQ(index[2 * k], d0 >> (rank / 2 - 1 - k) & 1);
      EXPECT_EQ(index[2 * k + 1], d1 >> (rank / 2 - 1 - k) & 1);
    }
  }
}

TEST(IndexingCases, NothingToDo) {
  HloGraph g("x = f32[4,0] parameter(0)\n y = f32[0,16] parameter(1)\n z = f32[16] parameter(2)\n"
             "neg = f32[4,0] negate(x)\n"
             "d = f32[4,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
             "zb = f32[4,16] broadcast(z), dimensions={1}\n dz = f32[4,16] add(d, zb)\n"
             "seven = f32[] constant(7)\n"
             "r = f32[4] reduce(x, seven), dimensions={1}, to_apply=add\n"
             "ROOT t = (f32[4,0], f32[4,16], f32[4]) tuple(neg, dz, r)");
  for (const char *op : {"neg", "d", "r"})
    EXPECT_TRUE(g.maps(op).operands[0].maps[0].isKnownEmpty()) << op;
  EXPECT_TRUE(g.maps("d").operands[1].maps[0].isKnownEmpty());
  EXPECT_EQ(g.maps("d").operands[1].maps[0].results().size(), 2u);
  EXPECT_EQ(g.maps("r").operands[1].maps[0].str(), "(d0) -> (), domain: d0 in [0, 3]");
  auto flops = [&](const char *op) { return opCost(g.module, g.graph(), g.find(op)).flops; };
  EXPECT_EQ(flops("neg"), 0);
  EXPECT_EQ(flops("d"), 0);
  EXPECT_EQ(flops("dz"), 64);
  EXPECT_EQ(flops("r"), 0);
}

TEST(IndexingCases, IterationDomains) {
  HloGraph g("a = f32[4,8] parameter(0)\n b = f32[8,6] parameter(1)\n"
             "ROOT r = f32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  llvm::Expected<IterationDomain> domain = iterationDomain(g.graph(), g.find("r"), g.context);
  ASSERT_TRUE(static_cast<bool>(domain));
  EXPECT_EQ(domain->parallel, (std::vector<int64_t>{4, 6}));
  ASSERT_EQ(domain->reductions.size(), 1u);
  EXPECT_EQ(domain->reductions[0].extent, 8);
  EXPECT_EQ(domain->reductions[0].var, g.context.range(0));
}

TEST(OpCost, CountsByHand) {
  HloGraph g("x = f32[1,5,5,2] parameter(0)\n k = f32[2,3,3,4] parameter(1)\n"
             "c = f32[1,5,5,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, "
             "dim_labels=b01f_i01o->b01f\n"
             "e = f32[1,5,5,4] exponential(c)\n z = f32[] constant(0)\n"
             "w = f32[1,5,5,4] reduce-window(e, z), window={size=1x3x1x1 pad=0_0x1_1x0_0x0_0}, "
             "to_apply=add\n"
             "s = f32[1,4] reduce(w, z), dimensions={1,2}, to_apply=add\n"
             "m = f32[1,4] clamp(z, s, z)\n ROOT r = f32[4,1] transpose(m), dimensions={1,0}");
  auto cost = [&](const char *op) { return opCost(g.module, g.graph(), g.find(op)); };
  // Along each dim a window of 3 over 5 meets 3·5 - 2 elements.
  EXPECT_EQ(cost("c").flops, 2 * 2 * 4 * 13 * 13);
  EXPECT_EQ(cost("e").transcendentals, 100);
  EXPECT_EQ(cost("e").flops, 0);
  EXPECT_EQ(cost("w").flops, (13 - 5) * 5 * 4);
  EXPECT_EQ(cost("s").flops, 100 - 4);
  EXPECT_EQ(cost("m").flops, 8);
  EXPECT_EQ(cost("r").flops, 0);
}

TEST(OpCost, WindowHitsMatchEnumeration) {
  for (int stride : {1, 2, 3})
    for (int base : {1, 2, 3})
      for (int dilation : {1, 2})
        for (int low : {-1, 0, 2}) {
          int extent = 7, size = 3, high = 1;
          int padded = (extent - 1) * base + 1 + low + high;
          int positions = (padded - ((size - 1) * dilation + 1)) / stride + 1;
          int hits = 0;
          for (int o = 0; o < positions; ++o)
            for (int k = 0; k < size; ++k) {
              int p = o * stride + k * dilation - low;
              hits += p >= 0 && p % base == 0 && p / base < extent;
            }
          std::string n = std::to_string(positions);
          HloGraph g("x = f32[1,7,1] parameter(0)\n k = f32[1,3,1] parameter(1)\n"
                     "ROOT c = f32[1," +
                     n + ",1] convolution(x, k), window={size=3 stride=" + std::to_string(stride) +
                     " pad=" + std::to_string(low) + "_1 lhs_dilate=" + std::to_string(base) +
                     " rhs_dilate=" + std::to_string(dilation) + "}, dim_labels=b0f_i0o->b0f");
          EXPECT_EQ(opCost(g.module, g.graph(), g.find("c")).flops, 2 * hits);
        }
}

// A window that meets holes or padding only does nothing, one that meets n elements combines n - 1
// times: against an enumeration of every position, over strides, dilations and paddings.
TEST(OpCost, WindowsCombineWhatTheyMeet) {
  int withEmpty = 0;
  for (int size : {1, 2, 3})
    for (int stride : {1, 2, 3})
      for (int base : {1, 2, 5})
        for (int dilation : {1, 2})
          for (int low : {-2, 0, 3}) {
            const int extent = 6, high = 4;
            const int padded = (extent - 1) * base + 1 + low + high;
            const int positions = (padded - ((size - 1) * dilation + 1)) / stride + 1;
            // Beside it a dim of 4 in windows of 2 without holes, 2 of them.
            int expected = 0, empty = 0;
            for (int o = 0; o < positions; ++o) {
              int hits = 0;
              for (int k = 0; k < size; ++k) {
                int p = o * stride + k * dilation - low;
                hits += p >= 0 && p % base == 0 && p / base < extent;
              }
              expected += 2 * std::max(0, 2 * hits - 1);
              empty += hits == 0;
            }
            withEmpty += empty > 0;
            auto twice = [](int a, int b) { return fmt::format("{}x{}", a, b); };
            HloGraph g(fmt::format(
                "x = f32[4,6] parameter(0)\n z = f32[] constant(0)\n"
                "ROOT w = f32[2,{}] reduce-window(x, z), window={{size={} stride={} pad=0_0x{}_{} "
                "lhs_dilate={} rhs_dilate={}}}, to_apply=add",
                positions, twice(2, size), twice(2, stride), low, high, twice(1, base),
                twice(1, dilation)));
            EXPECT_EQ(opCost(g.module, g.graph(), g.find("w")).flops, expected)
                << size << " " << stride << " " << base << " " << dilation << " " << low;
          }
  EXPECT_GT(withEmpty, 50);
}

TEST(OpCost, WorkOfOpsIsTheirSum) {
  HloGraph g("x = f32[8,4] parameter(0)\n e = f32[8,4] exponential(x)\n"
             "a = f32[8,4] add(e, x)\n ROOT s = f32[8,4] custom-call(a), custom_call_target=\"c\"");
  const OpId ops[] = {g.find("e"), g.find("a"), g.find("s")};
  WorkOfOps work = workOf(g.module, g.graph(), ops);
  EXPECT_EQ(work.flops, 32);
  EXPECT_EQ(work.transcendentals, 32);
  ASSERT_EQ(work.uncounted.size(), 1u);
  EXPECT_TRUE(work.uncounted[0].starts_with("s: ")) << work.uncounted[0];
}

namespace {

void forEachBundledModel(const std::function<void(const Module &)> &visit) {
  const std::vector<std::string> files = bundledModels();
  ASSERT_GE(files.size(), 10u);
  for (const std::string &file : files) {
    SCOPED_TRACE(file);
    llvm::Expected<std::string> text = readFile(file);
    ASSERT_TRUE(static_cast<bool>(text));
    llvm::Expected<Module> module =
        parseHlo(std::make_shared<SourceBuffer>(file, std::move(*text)));
    ASSERT_TRUE(static_cast<bool>(module)) << takeDiag(module.takeError()).str();
    visit(*module);
  }
}

} // namespace

// Every op of every bundled model has maps, or says why not.
TEST(IndexingModels, EveryOpHasMapsOrAReason) {
  size_t ops = 0, opaque = 0;
  forEachBundledModel([&](const Module &module) {
    for (const Graph &graph : module.all()) {
      ExprContext context;
      for (uint32_t i = 0; i < graph.size(); ++i) {
        const Op &op = graph.op(OpId{i});
        llvm::Expected<OpIndexing> maps = outputToOperands(graph, OpId{i}, context);
        ASSERT_TRUE(static_cast<bool>(maps)) << takeDiag(maps.takeError()).str();
        ++ops;
        OpCost cost = opCost(module, graph, OpId{i});
        EXPECT_EQ(cost.isCounted, cost.reason.empty()) << op.name;
        if (maps->isOpaque) {
          ++opaque;
          EXPECT_FALSE(maps->reason.empty());
          EXPECT_TRUE(opClass(op.opcode) == OpClass::Call || op.opcode == Opcode::CustomCall ||
                      op.opcode == Opcode::Tuple)
              << op.name << ": " << maps->reason;
          continue;
        }
        ASSERT_EQ(maps->operands.size(), op.operands.size());
        for (size_t k = 0; k < op.operands.size(); ++k)
          for (const IndexMap &map : maps->operands[k].maps)
            for (Expr result : map.results())
              EXPECT_FALSE(result.isPoison()) << op.name;
      }
    }
  });
  EXPECT_GT(ops, 2000u);
  EXPECT_LT(opaque, ops / 10);
}

// From the root of every computation to each of its parameters, through everything between.
TEST(IndexingModels, RootsReachTheirParameters) {
  size_t found = 0, refused = 0;
  auto visit = [&](const Module &module) {
    for (const Graph &graph : module.all()) {
      ExprContext context;
      const Op &root = graph.op(graph.root());
      ResultPath path;
      if (root.shape.isTuple)
        path.push_back(0);
      for (OpId parameter : graph.parameters()) {
        if (graph.op(parameter).shape.isTuple)
          continue;
        llvm::Expected<OperandMaps> maps = mapsToOp(graph, graph.root(), parameter, context, path);
        if (!maps) {
          Diag diag = takeDiag(maps.takeError());
          EXPECT_TRUE(diag.cls == DiagClass::Unsupported || diag.cls == DiagClass::BudgetSpent)
              << diag.message;
          ++refused;
          continue;
        }
        found += !maps->maps.empty();
        for (const IndexMap &map : maps->maps)
          EXPECT_EQ(map.results().size(), graph.op(parameter).shape.rank());
      }
    }
  };
  forEachBundledModel([&](const Module &module) {
    visit(module);
    llvm::Expected<Module> flat = inlineCalls(module, {.calls = true, .fusions = true});
    ASSERT_TRUE(static_cast<bool>(flat));
    visit(*flat);
  });
  EXPECT_GT(found, 200u);
  EXPECT_LT(refused, found);
}
