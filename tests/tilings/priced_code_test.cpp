// The code that is priced is the code that is made: of every kernel of the bundled models, and of
// random programs as one fusion each, some tilings that the search accepts are lowered, and the
// lowering and the instruction are those that prices, registers and shared memory are taken for.
#include "analysis/import/testing/reducers.h"
#include "analysis/program/pass/resources.h"
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/resources.h"
#include "codegen/lower.h"
#include "tests/fuzz/random_program.h"
#include "tests/tilings/bundled_kernels.h"
#include "tests/tilings/drawn_points.h"
#include "tools/explore/plan_search.h"
#include "tools/explore/testing/explore.h"

#include <iostream>
#include <map>
#include <random>
#include <set>

using namespace tilewright;

namespace {

constexpr DeviceLimits limits;
constexpr size_t draws = 6;

struct Outcome {
  size_t made = 0, refused = 0;
  std::map<std::string, size_t> refusals; ///< by their texts without names and numbers
};

std::string withoutDetails(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      while (i + 1 < text.size() && text[i + 1] != ' ' && text[i + 1] != ':')
        ++i;
      result += '%';
    } else if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
      result += text[i];
    }
  }
  return result;
}

void expectAsPriced(const BundledKernel &kernel, Outcome &outcome) {
  auto made = tileKernel(*kernel.module, kernel.source);
  if (!made) {
    llvm::consumeError(made.takeError());
    return;
  }
  const Graph &graph = kernel.module->graph(kernel.source.graph);
  std::mt19937_64 random(7);
  for (Instruction instruction : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma}) {
    const CodeChoice code = codeOf(graph, *made->tiled, instruction);
    if (code.instruction != instruction)
      continue; // priced as another
    auto tiled = std::make_shared<TiledGroup>(*made->tiled);
    addKernelConstraints(*kernel.module, graph, *tiled, limits, instruction);
    addInstructionConstraints(graph, *tiled, instruction);
    addSearchConstraints(graph, *tiled);
    addChainSearchConstraints(*kernel.module, graph, *tiled);
    KernelPlan plan;
    plan.name = kernel.source.name;
    plan.module = kernel.module;
    plan.graph = kernel.source.graph;
    plan.context = made->context;
    plan.tiled = tiled;
    plan.instruction = instruction;
    for (const std::vector<int64_t> &values : pointsOf(*tiled, random, draws)) {
      plan.values = values;
      std::string where = kernel.name + " " + std::string(toString(instruction));
      for (size_t i = 0; i < plan.values.size(); ++i)
        where += fmt::format(" {}={}", tiled->space.parameters[i].name, plan.values[i]);
      auto code = lowerPlan(plan, CodeMode::Emulation);
      if (!code) {
        Diag diag = takeDiag(code.takeError());
        EXPECT_EQ(diag.cls, DiagClass::Unsupported) << where << ": " << diag.message;
        ++outcome.refused;
        if (outcome.refusals[withoutDetails(diag.message)]++ == 0)
          std::cout << where << ": " << diag.message << "\n";
        continue;
      }
      ++outcome.made;
      const CodeChoice priced = codeOf(graph, *tiled, instruction);
      EXPECT_EQ(toString(code->code.kind), toString(priced.kind))
          << where << (code->notes.empty() ? "" : ": " + code->notes[0]);
      EXPECT_EQ(toString(code->code.instruction), toString(priced.instruction))
          << where << (code->notes.empty() ? "" : ": " + code->notes[0]);
    }
  }
}

/// All ops of a program in one kernel.
BundledKernel asOneFusion(const std::string &name, Module module) {
  auto shared = std::make_shared<const Module>(std::move(module));
  const Graph &graph = shared->entry();
  std::vector<OpId> ops, roots{graph.root()};
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph[OpId{i}].opcode != Opcode::Parameter)
      ops.push_back(OpId{i});
  KernelSource source;
  source.name = name;
  source.graph = shared->entryId;
  auto group = makeGroup(graph, ops, roots);
  if (group) {
    source.group = std::move(*group);
    source.kind = kindOf(graph, source.group);
  } else {
    llvm::consumeError(group.takeError());
  }
  return {name, shared, std::move(source)};
}

} // namespace

TEST(PricedCode, OfBundledModels) {
  auto kernels = bundledKernels();
  ASSERT_TRUE(bool(kernels)) << takeDiag(kernels.takeError()).message;
  Outcome outcome;
  for (const BundledKernel &kernel : *kernels)
    expectAsPriced(kernel, outcome);
  std::cout << outcome.made << " made, " << outcome.refused << " refused\n";
  EXPECT_GT(outcome.made, 100u);
  EXPECT_EQ(outcome.refused, 0u);
}

TEST(PricedCode, OfRandomFusions) {
  Outcome outcome;
  for (ProgramKind kind :
       {ProgramKind::Elementwise, ProgramKind::Reduction, ProgramKind::Softmax, ProgramKind::Dot,
        ProgramKind::Window, ProgramKind::Indexed, ProgramKind::Attention})
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      BundledKernel kernel = asOneFusion(fmt::format("kind {} seed {}", int(kind), seed),
                                         parseVerified(randomProgram(kind, seed)));
      if (!kernel.source.group.ops.empty())
        expectAsPriced(kernel, outcome);
    }
  std::cout << outcome.made << " made, " << outcome.refused << " refused\n";
  EXPECT_GT(outcome.made, 100u);
  EXPECT_EQ(outcome.refused, 0u);
}

// An op with several results is a result of its kernel as it is, or all that is taken of it is: of
// both the search has the same programs, and what they share out among CTAs.
TEST(PricedCode, OfSeveralResultsOfOneOp) {
  const std::string head = std::string("HloModule m\n") + largerWithPlace + R"(both {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  e = f32[] add(a, c)
  f = f32[] maximum(b, d)
  ROOT t = (f32[], f32[]) tuple(e, f)
}
ENTRY e {
  x = f32[24,4096] parameter(0)
  at = s32[24,4096] iota(), iota_dimension=1
  y = f32[24,4096] parameter(1)
  low = f32[] constant(-inf)
  zero = s32[] constant(0)
  none = f32[] constant(0)
)";
  for (const auto &[body, splits] :
       {std::pair("  ROOT r = (f32[24], s32[24]) reduce(x, at, low, zero), dimensions={1}, "
                  "to_apply=best\n}\n",
                  true),
        std::pair("  r = (f32[24], s32[24]) reduce(x, at, low, zero), dimensions={1}, "
                  "to_apply=best\n  ROOT p = s32[24] get-tuple-element(r), index=1\n}\n",
                  true),
        std::pair("  ROOT r = (f32[24], f32[24]) reduce(x, y, none, low), dimensions={1}, "
                  "to_apply=both\n}\n",
                  false)}) {
    const BundledKernel kernel = asOneFusion(body, parseVerified(head + body));
    Outcome outcome;
    expectAsPriced(kernel, outcome);
    EXPECT_GT(outcome.made, 0u) << body;
    EXPECT_EQ(outcome.refused, 0u) << body;
    auto made = tileKernel(*kernel.module, kernel.source);
    ASSERT_TRUE(bool(made));
    const Graph &graph = kernel.module->entry();
    TiledGroup tiled = *made->tiled;
    addKernelConstraints(*kernel.module, graph, tiled, limits, Instruction::Fma);
    std::vector<int64_t> values;
    for (const TileParameter &parameter : tiled.space.parameters)
      values.push_back(parameter.name == "t0"        ? 1
                       : parameter.name == "r0"      ? 256
                       : parameter.name == "warps"   ? 4
                       : parameter.name == "split_k" ? 8
                                                     : 1);
    EXPECT_EQ(isFeasible(tiled, values), splits) << body;
  }
}

/// Two elements or four share a byte: what is accepted of their tiles is made, and there is
/// something unless rows end within a byte.
TEST(PricedCode, OfResultsThatShareBytes) {
  struct Case {
    const char *body;
    bool hasTiles;
  };
  for (const Case &c : {
           Case{"x = s32[16,64] parameter(0)\n ROOT r = s4[16,64] convert(x)", true},
           Case{"x = s4[16,64] parameter(0)\n ROOT r = s4[64,16] transpose(x), dimensions={1,0}",
                true},
           Case{"x = u2[16,64] parameter(0)\n ROOT r = u2[64,16] transpose(x), dimensions={1,0}",
                true},
           Case{"x = s32[16,64]{0,1} parameter(0)\n ROOT r = s4[16,64]{0,1} convert(x)", true},
           Case{"x = s4[16,63] parameter(0)\n ROOT r = s4[16,63] negate(x)", false},
           Case{"x = s4[63] parameter(0)\n y = s4[65] parameter(1)\n"
                " ROOT r = s4[128] concatenate(x, y), dimensions={0}",
                true},
           Case{"x = s32[16,64] parameter(0)\n z = s32[] constant(0)\n"
                " s = s32[16] reduce(x, z), dimensions={1}, to_apply=add\n"
                " ROOT r = s4[16] convert(s)",
                true},
           Case{"x = s32[64,16] parameter(0)\n z = s32[] constant(0)\n"
                " s = s32[16] reduce(x, z), dimensions={0}, to_apply=add\n"
                " ROOT r = u4[16] convert(s)",
                true},
           Case{"x = s8[32,64] parameter(0)\n y = s8[64,32] parameter(1)\n"
                " d = s32[32,32] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                " ROOT r = s4[32,32] convert(d)",
                true},
       }) {
    Outcome outcome;
    expectAsPriced(asOneFusion(c.body, parseVerified(std::string("HloModule m\nadd { a = s32[] "
                                                                 "parameter(0)\n b = s32[] "
                                                                 "parameter(1)\n ROOT s = s32[] "
                                                                 "add(a, b) }\nENTRY e {\n ") +
                                                     c.body + "\n}\n")),
                   outcome);
    EXPECT_EQ(outcome.made > 0, c.hasTiles) << c.body;
    EXPECT_EQ(outcome.refused, 0u) << c.body;
  }
}
