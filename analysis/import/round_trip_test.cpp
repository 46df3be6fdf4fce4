// What is read prints as text that reads back to the same module.
#include "analysis/import/hlo_text.h"
#include "analysis/import/module_equal.h"
#include "analysis/import/summary.h"
#include "analysis/import/testing/models.h"
#include "analysis/ir/inline.h"
#include "analysis/ir/verifier.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

using namespace tilewright;

namespace {

std::shared_ptr<const SourceBuffer> buffer(std::string text) {
  return std::make_shared<const SourceBuffer>("test", std::move(text));
}

/// The module, or a failed test and nothing.
std::optional<Module> import(std::string text) {
  llvm::Expected<Module> module = importBuffer(buffer(std::move(text)));
  if (module)
    return std::move(*module);
  ADD_FAILURE() << takeDiag(module.takeError()).str();
  return std::nullopt;
}

void expectRoundTrip(const Module &module) {
  std::optional<Module> again = import(printHlo(module));
  ASSERT_TRUE(again);
  std::string why;
  EXPECT_TRUE(equal(module, *again, &why)) << why;
  EXPECT_EQ(printHlo(module), printHlo(*again));
}

class Models : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    llvm::Expected<Module> read = importFile(GetParam());
    if (!read)
      FAIL() << takeDiag(read.takeError()).str();
    module = std::move(*read);
  }
  Module module;
};

} // namespace

TEST_P(Models, ReadBackToAnEqualModule) { expectRoundTrip(module); }

// Ops made by other means have no verbatim attributes; the typed ones must say as much.
TEST_P(Models, ReadBackFromTypedAttributesAlone) {
  Module bare = module;
  for (uint32_t g = 0; g < bare.all().size(); ++g)
    for (uint32_t i = 0; i < bare.graph(GraphId{g}).size(); ++i)
      bare.graph(GraphId{g}).op(OpId{i}).rawAttrs.clear();
  std::optional<Module> again = import(printHlo(bare));
  ASSERT_TRUE(again);
  for (uint32_t g = 0; g < bare.all().size(); ++g)
    for (uint32_t i = 0; i < bare.graph(GraphId{g}).size(); ++i) {
      const Op &op = bare.graph(GraphId{g}).op(OpId{i});
      const Op &other = again->graph(GraphId{g}).op(OpId{i});
      EXPECT_EQ(op.called, other.called) << op.name;
      if (op.opcode != Opcode::CustomCall) { // its typed attributes are not known to be its own
        EXPECT_EQ(op.attrs, other.attrs) << op.name;
      }
    }
}

TEST_P(Models, InlineToValidModulesWithoutCalls) {
  llvm::Expected<Module> flat = inlineCalls(module, {.calls = true, .fusions = true});
  ASSERT_TRUE(static_cast<bool>(flat));
  for (const Graph &graph : flat->all())
    for (const Op &op : graph.all())
      EXPECT_TRUE(op.opcode != Opcode::Call && op.opcode != Opcode::Fusion) << op.name;
  if (llvm::Error error = verify(*flat))
    ADD_FAILURE() << takeDiag(std::move(error)).str();
  expectRoundTrip(*flat);
  const Graph &before = module.entry(), &after = flat->entry();
  EXPECT_EQ(before.op(before.root()).shape, after.op(after.root()).shape);
  EXPECT_EQ(before.parameters().size(), after.parameters().size());
}

TEST_P(Models, SummaryCountsEveryOp) {
  ModuleSummary summary = summarize(module);
  size_t ops = 0, counted = 0;
  for (const Graph &graph : module.all())
    ops += graph.size();
  for (const auto &[opcode, count] : summary.opCounts)
    counted += count;
  EXPECT_EQ(summary.ops, ops);
  EXPECT_EQ(counted, ops);
  EXPECT_EQ(summary.parameters.size(), module.entry().parameters().size());
}

INSTANTIATE_TEST_SUITE_P(Datasets, Models, testing::ValuesIn(bundledModels()),
                         [](const auto &info) {
                           std::string name = std::filesystem::path(info.param).filename().string();
                           for (char &c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c)))
                               c = '_';
                           return name;
                         });

TEST(Datasets, HoldModels) { EXPECT_GE(bundledModels().size(), 20u); }

// Every form that XLA's printer has, in one module each of long and of short text.
TEST(RoundTrip, AllFormsOfSyntax) {
  std::optional<Module> module = import(R"(// a comment first
HloModule jit_f.1, is_scheduled=true, entry_computation_layout={(f32[4,8]{1,0:T(8,128)}, (s32[], /*index=1*/pred[]))->f32[4,8]{1,0}}, input_output_alias={ {0}: (0, {}, may-alias) }, frontend_attributes={fingerprint="a,b=}{"}

FileNames
1 "a \"quoted\" name.py"
2 "b.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=5 end_line=5 column=4 end_column=10}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%cond (s: (s32[], f32[4,8])) -> pred[] {
  %s = (s32[], f32[4,8]{1,0}) parameter(0)
  %i = s32[] get-tuple-element((s32[], f32[4,8]{1,0}) %s), index=0
  %n = s32[] constant(3)
  ROOT %lt = pred[] compare(s32[] %i, s32[] %n), direction=LT
}

body {
  s = (s32[], f32[4,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one), control-predecessors={%i}
  v = f32[4,8] get-tuple-element(s), index=1
  doubled = f32[4,8] call(v), to_apply=defined_later
  ROOT t = (s32[], f32[4,8]) tuple(next, doubled)
}

ENTRY %main.1 (x.1: f32[4,8], p: (s32[], pred[])) -> f32[4,8] {
  %x.1 = f32[4,8]{1,0:T(8,128)(2,1)S(5)E(32)} parameter(0), sharding={devices=[2,1]<=[2]}
  %p = (s32[], /*index=1*/pred[]) parameter(1), parameter_replication={true,false}
  %i0 = s32[] get-tuple-element(%p), index=0, metadata={op_type="x" op_name="jit(f)/a, b={}" source_file="a.py" source_line=3 stack_frame_id=1}
  %init = (s32[], f32[4,8]) tuple(%i0, %x.1)
  %loop = (s32[], f32[4,8]) while((s32[], f32[4,8]) %init), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"3"},"s":"}{"}
  %y = f32[4,8] get-tuple-element(%loop), index=1
  %all = f32[4,8] all-reduce(%y), channel_id=1, replica_groups=[1,8]<=[8], use_global_device_ids=true, to_apply=%sum
  %all.2 = f32[4,8] all-reduce(%all), replica_groups={{0,1},{2,3}}, to_apply=%sum
  %all.3 = f32[4,8] all-reduce(%all.2), replica_groups=[2,4]<=[4,2]T(1,0), to_apply=%sum
  %cc = f32[4,8] custom-call(%all.3), custom_call_target="__cublas$gemm", custom_call_has_side_effect=true, operand_layout_constraints={f32[4,8]{1,0}}, api_version=API_VERSION_STATUS_RETURNING, backend_config="opaque \"text\" }{"
  %start = ((f32[4,8]), f32[4,8], u32[]) async-start(%cc), calls=%wrapped, async_execution_thread="side"
  %up = ((f32[4,8]), f32[4,8], u32[]) async-update(%start)
  %done = f32[4,8] async-done(%up)
  %rs = ((f32[4,8]), f32[2,8], u32[]) reduce-scatter-start(%done), replica_groups={{0,1}}, dimensions={0}, to_apply=%sum
  %rsd = f32[2,8] reduce-scatter-done(%rs)
  %zero = f32[] constant(0)
  %padded = f32[4,8] pad(%rsd, %zero), padding=1_1x0_0_0
  ROOT %out = f32[4,8] add(%done, %padded)
}, execution_thread="main"

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %r = f32[] add(f32[] %a, f32[] %b)
}

defined_later { v = f32[4,8] parameter(0) ROOT w = f32[4,8] add(v, v) }

wrapped {
  q = f32[4,8] parameter(0)
  e = f32[4,8] exponential(q) /* no ROOT: the last op is it */
}, execution_thread="side"
)");
  ASSERT_TRUE(module);
  expectRoundTrip(*module);

  EXPECT_EQ(module->name, "jit_f.1");
  ASSERT_EQ(module->attributes.size(), 4u);
  EXPECT_EQ(module->attributes[3].text, R"({fingerprint="a,b=}{"})");
  EXPECT_NE(module->preamble.find(R"(1 "a \"quoted\" name.py")"), std::string::npos);
  const Graph &main = module->entry();
  EXPECT_EQ(main.name(), "main.1");
  EXPECT_EQ(main.suffix, R"(, execution_thread="main")");
  auto op = [&](std::string_view name) -> const Op & { return main.op(main.find(name)); };
  EXPECT_EQ(op("x.1").shape.layout->annotations, "T(8,128)(2,1)S(5)E(32)");
  EXPECT_EQ(op("i0").rawAttrs[1].name, "metadata");
  EXPECT_EQ(op("all").attrs.replicaGroups, (ReplicaGroups{1, 8}));
  EXPECT_EQ(op("all.2").attrs.replicaGroups, (ReplicaGroups{2, 2}));
  EXPECT_EQ(op("all.3").attrs.replicaGroups, (ReplicaGroups{2, 4}));
  EXPECT_EQ(op("cc").attrs.customCallTarget, "__cublas$gemm");
  EXPECT_EQ(op("rs").opcode, Opcode::AsyncStart);
  EXPECT_EQ(op("rs").attrs.asyncOpcode, Opcode::ReduceScatter);
  EXPECT_EQ(op("padded").attrs.padding[0], (PadDim{1, 1, 0}));
  EXPECT_EQ(op("loop").called.size(), 2u);
  const Graph &wrapped = module->graph(module->find("wrapped"));
  EXPECT_EQ(wrapped.op(wrapped.root()).name, "e");
  EXPECT_EQ(wrapped.suffix, R"(, execution_thread="side")");
}

TEST(RoundTrip, ConstantsOfEveryKind) {
  std::optional<Module> module = import(R"(
ENTRY main {
  a = f32[] constant(-1.5e-08)
  b = f32[2,3] constant({ { 1, inf, -inf }, /*i0=1*/{ nan, -nan, 0x1.8p3 } })
  c = pred[4] constant({true, false, 1, 0})
  d = c64[2] constant({(1, -2), (0, inf)})
  e = s64[] constant(-9223372036854775808)
  f = u64[] constant(18446744073709551615)
  g = f32[1000,1000] constant({...})
  h = f32[2,2] constant({ {...}, {1, 2} })
  i = f32[0] constant({})
  j = f32[2,0] constant({ {  }, {  } })
  k = f32[0,2] constant({  })
  l = s4[2] constant({-8, 7})
  m = (f32[2], s32[]) constant(({1, 2}, 3))
  n = bf16[] constant(nan(0x7f))
  o = u1[2] constant({0, 1})
  p = f32[3] constant({ 1, ... })
  q = f8e4m3fn[2] constant({448, -0})
  ROOT t = () tuple()
}
)");
  ASSERT_TRUE(module);
  expectRoundTrip(*module);
  const Graph &graph = module->entry();
  EXPECT_TRUE(graph.op(graph.find("g")).isElidedConstant());
  EXPECT_EQ(graph.op(graph.find("c")).literal, "{true, false, 1, 0}");
}

TEST(RoundTrip, TypedAttributesAreRead) {
  std::optional<Module> module = import(R"(
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }
yes { x = f32[9,9] parameter(0) ROOT r = f32[9,9] copy(x) }
no { x = f32[9,9] parameter(0) ROOT r = f32[9,9] negate(x) }

ENTRY main {
  x = f32[2,16,16,8] parameter(0)
  k = f32[3,3,4,6] parameter(1)
  idx = s32[5,2] parameter(2)
  m = f32[9,9] parameter(3)
  zero = f32[] constant(0)
  conv = f32[2,9,8,6] convolution(x, k), window={size=3x3 stride=2x2 pad=2_2x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f, feature_group_count=2
  pool = f32[2,8,15,8] reduce-window(x, zero), window={size=1x2x2x1 stride=1x2x1x1}, to_apply=sum
  back = f32[2,16,16,8] select-and-scatter(x, pool, zero), window={size=1x2x2x1 stride=1x2x1x1}, select=ge, scatter=sum
  rows = f32[5,4] gather(m, idx), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,4}
  put = f32[9,9] scatter(m, idx, rows), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=sum
  part = f32[3,4] slice(m), slice={[0:9:3], [1:5]}
  p = pred[] constant(true)
  c = f32[9,9] conditional(p, put, m), true_computation=yes, false_computation=no
  half = f32[3,4] reduce-precision(f32[3,4] part), exponent_bits=5, mantissa_bits=10
  ROOT t = (f32[9,9], f32[3,4]) tuple(c, half)
}
)");
  ASSERT_TRUE(module);
  expectRoundTrip(*module);
  const Graph &main = module->entry();
  auto attrs = [&](std::string_view name) { return main.op(main.find(name)).attrs; };
  EXPECT_EQ(attrs("conv").window[0], (WindowDim{3, 2, 2, 2, 1, 1, true}));
  EXPECT_EQ(attrs("conv").conv.kernelSpatial, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(attrs("conv").conv.outputFeature, 3);
  EXPECT_EQ(attrs("conv").featureGroupCount, 2);
  EXPECT_EQ(attrs("rows").gather.startIndexMap, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(attrs("rows").gather.indexVectorDim, 1);
  EXPECT_EQ(attrs("put").scatter.indexVectorDim, 1);
  EXPECT_EQ(attrs("part").slice[0], (SliceDim{0, 9, 3}));
  EXPECT_EQ(attrs("half").mantissaBits, 10);
  const std::vector<CalledGraph> &branches = main.op(main.find("c")).called;
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(module->graph(branches[0].graph).name(), "yes");
  EXPECT_EQ(module->graph(branches[1].graph).name(), "no");
}

// Collectives and their pairs, infeed, random numbers, linear algebra, dynamic dims.
TEST(RoundTrip, OpsOfEveryFamily) {
  llvm::Expected<Module> module = importFile("tests/import/ops_of_every_family.hlo.txt");
  if (!module)
    FAIL() << takeDiag(module.takeError()).str();
  EXPECT_GT(module->entry().size(), 40u);
  expectRoundTrip(*module);
}
