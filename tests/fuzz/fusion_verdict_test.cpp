// Ops of every kind in a fusion and outside of one: explore says the same of both, and fusions of
// several ops at random, with one result or more, never stop it.
#include "analysis/import/hlo_text.h"
#include "analysis/ir/fill.h"
#include "analysis/prove/examples.h"
#include "tools/explore/explore.h"
#include "tools/explore/testing/explore.h"

#include <array>

namespace tilewright {
namespace {

/// Ops that prove's examples don't have: several results, extents of run time, no index map.
const std::vector<prove::Example> &moreExamples() {
  static const std::vector<prove::Example> examples = {
      {"reduce of two",
       "x = f32[64,8] parameter(0)\n n = s32[64,8] iota(), iota_dimension=1\n"
       "v = f32[] constant(-inf)\n z = s32[] constant(0)\n"
       "ROOT r = (f32[64], s32[64]) reduce(x, n, v, z), dimensions={1}, to_apply=best"},
      {"reduce of two, over nothing",
       "x = f32[4] parameter(0)\n y = s32[4] parameter(1)\n v = f32[] constant(0)\n"
       "z = s32[] constant(0)\n"
       "ROOT r = (f32[4], s32[4]) reduce(x, y, v, z), dimensions={}, to_apply=best"},
      {"reduce-window of two",
       "x = f32[64,8] parameter(0)\n n = s32[64,8] parameter(1)\n v = f32[] constant(-inf)\n"
       "z = s32[] constant(0)\n ROOT r = (f32[64,4], s32[64,4]) reduce-window(x, n, v, z), "
       "window={size=1x2 stride=1x2}, to_apply=best"},
      {"scatter of two",
       "x = f32[16,4] parameter(0)\n y = s32[16,4] parameter(1)\n i = s32[3,1] parameter(2)\n"
       "u = f32[3,4] parameter(3)\n w = s32[3,4] parameter(4)\n"
       "ROOT r = (f32[16,4], s32[16,4]) scatter(x, y, i, u, w), update_window_dims={1}, "
       "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
       "to_apply=best"},
      {"scan", "x = s32[351] parameter(0)\n z = s32[] parameter(1)\n"
               "ROOT r = (s32[351], s32[]) scan(x, z), dimensions={0}, num_carries=1, "
               "is_associative=true, to_apply=plus"},
      {"sort of two", "x = f32[64,8] parameter(0)\n y = f32[64,8] parameter(1)\n"
                      "ROOT r = (f32[64,8], f32[64,8]) sort(x, y), dimensions={1}, to_apply=lt2"},
      {"batch-norm-training",
       "x = f32[8,16,4] parameter(0)\n s = f32[16] parameter(1)\n o = f32[16] parameter(2)\n"
       "ROOT r = (f32[8,16,4], f32[16], f32[16]) batch-norm-training(x, s, o), epsilon=0.01, "
       "feature_index=1"},
      {"batch-norm-inference",
       "x = f32[8,16,4] parameter(0)\n s = f32[16] parameter(1)\n"
       "ROOT r = f32[8,16,4] batch-norm-inference(x, s, s, s, s), epsilon=0.01, feature_index=1"},
      {"batch-norm-grad",
       "x = f32[8,16,4] parameter(0)\n s = f32[16] parameter(1)\n g = f32[8,16,4] parameter(2)\n"
       "ROOT r = (f32[8,16,4], f32[16], f32[16]) batch-norm-grad(x, s, s, s, g), epsilon=0.01, "
       "feature_index=1"},
      {"fft", "x = c64[8] parameter(0)\n ROOT r = c64[8] fft(x), fft_type=FFT, fft_length={8}"},
      {"cholesky", "x = f32[8,8] parameter(0)\n ROOT r = f32[8,8] cholesky(x), lower=true"},
      {"custom call",
       "x = f32[8,8] parameter(0)\n ROOT r = f32[8,8] custom-call(x), custom_call_target=\"v\""},
      {"rng-bit-generator", "x = u64[2] parameter(0)\n ROOT r = (u64[2], u32[64]) "
                            "rng-bit-generator(x), algorithm=rng_default"},
      {"get-dimension-size",
       "x = f32[8] parameter(0)\n ROOT r = s32[] get-dimension-size(x), dimensions={0}"},
      {"set-dimension-size", "x = f32[8] parameter(0)\n n = s32[] parameter(1)\n"
                             "ROOT r = f32[<=8] set-dimension-size(x, n), dimensions={0}"},
      {"a bounded sum", "x = f32[<=8] parameter(0)\n z = f32[] constant(0)\n"
                        "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add"},
      {"a bounded negate", "x = f32[<=8,4] parameter(0)\n ROOT r = f32[<=8,4] negate(x)"},
      {"an unbounded negate", "x = f32[?,4] parameter(0)\n ROOT r = f32[?,4] negate(x)"},
      {"two shapes",
       "x = f32[8,4] parameter(0)\n y = f32[6] parameter(1)\n a = f32[8,4] negate(x)\n"
       "b = f32[6] negate(y)\n ROOT r = (f32[8,4], f32[6]) tuple(a, b)"},
      {"a tuple of copies", "x = f32[4] parameter(0)\n t = (f32[4], f32[4]) tuple(x, x)\n"
                            "ROOT r = (f32[4], f32[4]) copy(t)"},
  };
  return examples;
}

const char *const moreComputations = R"(
best {
  av = f32[] parameter(0)
  ai = s32[] parameter(1)
  bv = f32[] parameter(2)
  bi = s32[] parameter(3)
  g = pred[] compare(av, bv), direction=GE
  v = f32[] select(g, av, bv)
  i = s32[] select(g, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i)
}
plus {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] add(a, b)
  ROOT t = (s32[], s32[]) tuple(c, c)
}
lt2 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT
}
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
)";

std::vector<Module> allExamples() {
  std::vector<Module> modules;
  std::vector<Opcode> opcodes;
#define TILEWRIGHT_OPCODE(name, text, cls) opcodes.push_back(Opcode::name);
#include "analysis/ir/opcodes.def"
  for (Opcode opcode : opcodes)
    for (const prove::Example &example : prove::examplesOf(opcode, prove::Grid::Small)) {
      llvm::Expected<Module> module = prove::moduleOf(example);
      if (!module) {
        ADD_FAILURE() << takeDiag(module.takeError()).str();
        continue;
      }
      module->name = fmt::format("{} {}", toString(opcode), example.title);
      modules.push_back(std::move(*module));
    }
  for (const prove::Example &example : moreExamples()) {
    modules.push_back(parseVerified(
        fmt::format("HloModule m\n{}ENTRY main {{\n{}\n}}\n", moreComputations, example.body)));
    modules.back().name = example.title;
  }
  return modules;
}

/// The same with all of the entry in one fusion.
Module fused(Module module) {
  const GraphId body = module.entryId;
  Graph entry("fused_entry");
  Op fusion;
  fusion.name = "fusion";
  fusion.opcode = Opcode::Fusion;
  fusion.attrs.fusionKind = "kLoop";
  fusion.called = {{CallRole::Calls, body}};
  fusion.shape = module.entry().op(module.entry().root()).shape;
  for (OpId id : module.entry().parameters()) {
    Op parameter = module.entry().op(id);
    parameter.name = "p" + std::to_string(fusion.operands.size());
    parameter.attrs.parameterNumber = static_cast<int64_t>(fusion.operands.size());
    fusion.operands.push_back(entry.add(std::move(parameter)));
  }
  entry.setRoot(entry.add(std::move(fusion)));
  module.entryId = module.add(std::move(entry));
  return module;
}

enum class Said : uint8_t { NoKernel, Priced, Assumed, Unsupported };

class FusionVerdict : public testing::Test {
protected:
  void SetUp() override {
    llvm::Expected<Device> loaded = loadDevice("h100-sxm");
    ASSERT_TRUE(bool(loaded));
    device = std::move(*loaded);
    calibration = priorCalibration(device);
  }

  ExploredModel explore(const Module &module) {
    ExploreOptions options;
    options.search.maxPriced = 8;
    options.search.top = 1;
    llvm::Expected<ExploredModel> explored = exploreModel(module, device, calibration, options);
    if (explored)
      return std::move(*explored);
    ADD_FAILURE() << module.name << ": " << takeDiag(explored.takeError()).str()
                  << printHlo(module);
    return {};
  }

  /// The worst that is said of an op.
  Said verdictOf(const Module &module, std::string *reasons = nullptr) {
    ExploredModel model = explore(module);
    if (reasons)
      for (const UnsupportedOp &op : model.unsupported)
        *reasons += op.op + ": " + op.reason + "\n";
    return !model.unsupported.empty() ? Said::Unsupported
           : !model.assumed.empty()   ? Said::Assumed
           : !model.kernels.empty()   ? Said::Priced
                                      : Said::NoKernel;
  }

  Device device;
  Calibration calibration;
};

TEST_F(FusionVerdict, IsThatOfTheOpAlone) {
  std::array<size_t, 4> seen{};
  for (const Module &module : allExamples()) {
    SCOPED_TRACE(module.name);
    std::string reasons;
    const Said alone = verdictOf(module), inside = verdictOf(fused(module), &reasons);
    ++seen[static_cast<size_t>(alone)];
    if (alone == Said::NoKernel) // a fusion has to be a kernel, or can't be one
      continue;
    EXPECT_EQ(static_cast<int>(inside), static_cast<int>(alone)) << reasons << printHlo(module);
  }
  EXPECT_GT(seen[static_cast<size_t>(Said::Priced)], 50u);
  EXPECT_GT(seen[static_cast<size_t>(Said::Assumed)], 4u);
  EXPECT_GT(seen[static_cast<size_t>(Said::Unsupported)], 5u);
}

/// Puts the entries of several examples side by side, with elementwise ops on what is a tensor, and
/// some of the values as results.
Module mixed(const std::vector<Module> &examples, uint64_t seed) {
  uint64_t draws = 0;
  auto below = [&](uint64_t n) { return splitmix64(seed, draws++) % n; };
  Module module;
  module.name = fmt::format("mixed_{}", seed);
  Graph entry("main");
  std::vector<OpId> values;
  const size_t parts = 1 + below(3);
  int64_t parameters = 0;
  for (size_t part = 0; part < parts; ++part) {
    const Module &from = examples[below(examples.size())];
    std::vector<GraphId> copies;
    for (const Graph &graph : from.all()) {
      Graph copy(fmt::format("{}_{}", graph.name(), part));
      for (Op op : graph.all()) {
        for (CalledGraph &called : op.called) { // examples define what they call first
          for (RawAttribute &attribute : op.rawAttrs)
            if (attribute.text == from.graph(called.graph).name())
              attribute.text = fmt::format("{}_{}", attribute.text, part);
          called.graph = copies.at(called.graph.index);
        }
        copy.add(std::move(op));
      }
      copy.setRoot(graph.root());
      if (&graph != &from.entry()) {
        copies.push_back(module.add(std::move(copy)));
        continue;
      }
      copies.push_back({});
      std::vector<OpId> place;
      for (Op op : copy.all()) {
        op.name = fmt::format("{}_{}", op.name, part);
        for (OpId &operand : op.operands)
          operand = place[operand.index];
        if (op.opcode == Opcode::Parameter)
          op.attrs.parameterNumber = parameters++;
        place.push_back(entry.add(std::move(op)));
      }
      values.push_back(place[copy.root().index]);
    }
  }
  for (uint64_t extra = below(4); extra > 0; --extra) {
    const OpId from = values[below(values.size())];
    if (entry.op(from).shape.isTuple || entry.op(from).shape.dtype != DType::F32)
      continue;
    Op op;
    op.name = fmt::format("extra{}", extra);
    op.opcode = std::array{Opcode::Negate, Opcode::Exp, Opcode::Copy, Opcode::Abs}[below(4)];
    op.shape = entry.op(from).shape;
    op.operands = {from};
    values.push_back(entry.add(std::move(op)));
  }
  OpId root = values.back();
  if (values.size() > 1) {
    Op tuple;
    tuple.name = "results";
    tuple.opcode = Opcode::Tuple;
    tuple.shape = Shape::tuple({});
    for (OpId id : values)
      if (id == values.back() || below(3) > 0) {
        tuple.operands.push_back(id);
        tuple.shape.elements.push_back(entry.op(id).shape);
      }
    root = entry.add(std::move(tuple));
  }
  entry.setRoot(root);
  module.entryId = module.add(std::move(entry));
  return module;
}

TEST_F(FusionVerdict, RandomFusionsAreExploredToTheEnd) {
  const char *count = std::getenv("TILEWRIGHT_FUZZ_PROGRAMS");
  const char *first = std::getenv("TILEWRIGHT_FUZZ_SEED");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t programs = count ? std::strtoull(count, nullptr, 10) : 150;
  const std::vector<Module> examples = allExamples();
  size_t priced = 0;
  for (uint64_t seed = begin; seed < begin + programs; ++seed) {
    SCOPED_TRACE(seed);
    const Module module = fused(mixed(examples, seed));
    llvm::Expected<Module> read = parseHlo(std::make_shared<SourceBuffer>("m", printHlo(module)));
    ASSERT_TRUE(bool(read)) << takeDiag(read.takeError()).str() << printHlo(module);
    ExploredModel model = explore(module);
    priced += !model.kernels.empty();
    EXPECT_FALSE(model.kernels.empty() && model.assumed.empty() && model.unsupported.empty() &&
                 model.noKernel.size() < module.entry().size())
        << printHlo(module);
  }
  EXPECT_GT(priced, programs / 5);
}

} // namespace
} // namespace tilewright
