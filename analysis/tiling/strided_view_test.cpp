#include "analysis/import/import_file.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/fill.h"
#include "analysis/tiling/resources.h"
#include "analysis/tiling/strided_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <numeric>

namespace tilewright {
namespace {

using Dims = std::vector<int64_t>;

Module parsed(const std::string &hlo) {
  auto module = importBuffer(std::make_shared<SourceBuffer>("test", hlo));
  EXPECT_TRUE(bool(module)) << (module ? "" : takeDiag(module.takeError()).str()) << hlo;
  return std::move(*module);
}

/// A chain of ops that move elements of %p, in random physical order, to %v.
std::string randomMovement(uint64_t seed) {
  uint64_t drawn = 0;
  auto draw = [&](int64_t n) {
    return static_cast<int64_t>(splitmix64(seed, drawn++) % uint64_t(n));
  };
  Dims dims{2 * (1 + draw(3)), 1 + draw(4), 4};
  Dims layout{0, 1, 2};
  std::swap(layout[static_cast<size_t>(draw(3))], layout[static_cast<size_t>(draw(3))]);
  std::string text = fmt::format("HloModule m\nENTRY main {{\n  p = s32[{}]{{{}}} parameter(0)\n",
                                 fmt::join(dims, ","), fmt::join(layout, ","));
  std::string last = "p";
  int64_t steps = 1 + draw(4);
  for (int64_t i = 0; i < steps; ++i) {
    std::string op, attributes;
    auto at = static_cast<size_t>(draw(static_cast<int64_t>(dims.size())));
    switch (draw(6)) {
    case 0: {
      Dims order(dims.size()), next;
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[at], order[0]);
      for (int64_t dim : order)
        next.push_back(dims[static_cast<size_t>(dim)]);
      dims = next;
      op = "transpose";
      attributes = fmt::format(", dimensions={{{}}}", fmt::join(order, ","));
      break;
    }
    case 1: {
      std::vector<std::string> parts;
      for (size_t d = 0; d < dims.size(); ++d) {
        int64_t low = d == at && dims[d] > 1 ? 1 : 0;
        parts.push_back(fmt::format("[{}:{}]", low, dims[d]));
        dims[d] -= low;
      }
      op = "slice";
      attributes = fmt::format(", slice={{{}}}", fmt::join(parts, ", "));
      break;
    }
    case 2:
      op = "reverse";
      attributes = fmt::format(", dimensions={{{}}}", at);
      break;
    case 3: { // joins two dims
      if (at + 1 < dims.size()) {
        dims[at] *= dims[at + 1];
        dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      }
      op = "reshape";
      break;
    }
    case 4: // takes one apart
      if (dims[at] % 2 == 0) {
        dims[at] /= 2;
        dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at) + 1, 2);
      }
      op = "reshape";
      break;
    default: {
      Dims kept;
      for (size_t d = 0; d < dims.size(); ++d)
        kept.push_back(static_cast<int64_t>(d < at ? d : d + 1));
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 3);
      op = "broadcast";
      attributes = fmt::format(", dimensions={{{}}}", fmt::join(kept, ","));
    }
    }
    std::string name = i + 1 == steps ? "ROOT v" : fmt::format("v{}", i);
    text +=
        fmt::format("  {} = s32[{}] {}({}){}\n", name, fmt::join(dims, ","), op, last, attributes);
    last = fmt::format("v{}", i);
  }
  return text + "}\n";
}

// The evaluator moves the positions of the elements in memory: they are offset + Σ stride · index,
// or they are no such sum and no view is found.
TEST(StridedView, AgainstTheEvaluator) {
  int found = 0, none = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    std::string hlo = randomMovement(seed);
    SCOPED_TRACE(hlo);
    Module module = parsed(hlo);
    const Graph &graph = module.entry();
    const Shape &source = graph[graph.find("p")].shape, &shape = graph[graph.root()].shape;
    std::vector<int64_t> order = physicalOrder(source), positions(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      positions[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    auto moved =
        evaluate(module, module.entryId, std::vector{Tensor::ofIntegers(source, positions)});
    ASSERT_TRUE(bool(moved)) << takeDiag(moved.takeError()).str();
    const Tensor &at = (*moved)[0];

    // By brute force: strides from the neighbours of the first element.
    Dims strides(shape.rank()), steps(shape.rank());
    for (size_t d = shape.rank(), step = 1; d-- > 0; step *= static_cast<size_t>(shape.dims[d])) {
      steps[d] = static_cast<int64_t>(step);
      strides[d] = shape.dims[d] > 1 ? at.integer(steps[d]) - at.integer(0) : 0;
    }
    bool isStrided = true;
    for (int64_t element = 0; element < at.size(); ++element) {
      int64_t expected = at.integer(0);
      for (size_t d = 0; d < shape.rank(); ++d)
        expected += element / steps[d] % shape.dims[d] * strides[d];
      isStrided = isStrided && at.integer(element) == expected;
    }

    auto view = stridedViewOf(graph, graph.root(),
                              [&](OpId id) { return graph[id].opcode == Opcode::Parameter; });
    EXPECT_EQ(bool(view), isStrided);
    if (!view) {
      EXPECT_NE(takeDiag(view.takeError()).message.find("at no fixed distance"), std::string::npos);
      ++none;
      continue;
    }
    ++found;
    EXPECT_EQ(view->source, graph.find("p"));
    EXPECT_EQ(view->offset, at.integer(0));
    EXPECT_EQ(view->strides, strides);
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(none, 50);
}

std::string reason(const std::string &operands, const std::string &dot) {
  Module module = parsed("HloModule m\nENTRY main {\n" + operands +
                         "  ROOT d = f32[64,64] dot(a, b), " + dot + "\n}\n");
  const Graph &graph = module.entry();
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph[OpId{i}].opcode != Opcode::Parameter)
      ops.push_back(OpId{i});
  auto group = makeGroup(graph, ops);
  EXPECT_TRUE(bool(group));
  return tmaRefusal(graph, *group, graph.root()).value_or("");
}

TEST(StridedView, OperandsOfWarpgroups) {
  const std::string rows = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  auto two = [](const char *a, const char *b) { return std::string(a) + b; };
  EXPECT_EQ(
      reason(two("  a = bf16[64,128] parameter(0)\n", "  b = bf16[128,64] parameter(1)\n"), rows),
      "");
  // The right operand's contracted dim is not contiguous.
  EXPECT_EQ(
      reason(two("  a = f8e4m3fn[64,128] parameter(0)\n", "  b = f8e4m3fn[128,64] parameter(1)\n"),
             rows),
      "operand %b of f8e4m3fn[128,64] can't be copied by TMA: its contracted dim is not the "
      "contiguous one, which wgmma takes for 16-bit types only; mma.sync takes it");
  EXPECT_EQ(reason(two("  a = f8e4m3fn[64,128] parameter(0)\n",
                       "  b = f8e4m3fn[128,64]{0,1} parameter(1)\n"),
                   rows),
            "");
  EXPECT_EQ(reason(two("  x = f32[64,128] parameter(0)\n  a = bf16[64,128] convert(x)\n",
                       "  b = bf16[128,64] parameter(1)\n"),
                   rows),
            "operand %a of bf16[64,128] can't be copied by TMA: %a is computed, not read "
            "from memory; mma.sync takes it");
  EXPECT_EQ(
      reason(two("  a = bf16[64,33] parameter(0)\n", "  b = bf16[33,64] parameter(1)\n"), rows),
      "operand %a of bf16[64,33] can't be copied by TMA: the stride of dim 0, 66 bytes, is not a "
      "positive multiple of 16; mma.sync takes it");
  EXPECT_EQ(
      reason(two("  x = bf16[64,129] parameter(0)\n  a = bf16[64,128] slice(x), slice={[0:64], "
                 "[1:129]}\n",
                 "  b = bf16[128,64] parameter(1)\n"),
             rows),
      "operand %a of bf16[64,128] can't be copied by TMA: its first element is 2 bytes "
      "past a multiple of 16; mma.sync takes it");
  EXPECT_EQ(
      reason(two("  x = bf16[128] parameter(0)\n  a = bf16[64,128] broadcast(x), dimensions={1}\n",
                 "  b = bf16[128,64] parameter(1)\n"),
             rows),
      "operand %a of bf16[64,128] can't be copied by TMA: the stride of dim 0, 0 bytes, is not a "
      "positive multiple of 16; mma.sync takes it");
}

// Words of four bytes along the contracted dim: put together, or there already.
TEST(StridedView, BytesAcrossTheContractedDim) {
  auto isTransposed = [](const std::string &left, const std::string &right) {
    Module module =
        parsed("HloModule m\nENTRY main {\n  a = " + left + " parameter(0)\n  b = " + right +
               " parameter(1)\n  ROOT d = f32[64,64] dot(a, b), "
               "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
    auto group = makeGroup(module.entry(), std::vector{module.entry().root()});
    EXPECT_TRUE(bool(group));
    return hasTransposedBytes(module.entry(), *group);
  };
  EXPECT_TRUE(isTransposed("f8e4m3fn[64,128]", "f8e4m3fn[128,64]"));
  EXPECT_TRUE(isTransposed("f8e4m3fn[64,128]{0,1}", "f8e4m3fn[128,64]{0,1}"));
  EXPECT_FALSE(isTransposed("f8e4m3fn[64,128]", "f8e4m3fn[128,64]{0,1}"));
  EXPECT_FALSE(isTransposed("bf16[64,128]", "bf16[128,64]"));
  EXPECT_GT(registersBesideAccumulators(Instruction::MmaSync, true),
            registersBesideAccumulators(Instruction::MmaSync));
}

} // namespace
} // namespace tilewright
