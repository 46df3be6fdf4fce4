// Single elements against whole tensors: the point reference must say what the evaluator says, for
// every element of every op.
#include "analysis/import/hlo_text.h"
#include "analysis/ir/evaluator.h"
#include "codegen/point_reference.h"

#include <gtest/gtest.h>

namespace tilewright {

namespace {

struct Case {
  const char *name, *body;
};

class PointReferenceTest : public testing::TestWithParam<Case> {};

Module parsed(const std::string &body) {
  auto module = parseHlo(std::make_shared<SourceBuffer>("test", "HloModule m\n" + body));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  return std::move(*module);
}

/// Every coordinate of a shape in row-major order.
bool next(std::vector<int64_t> &at, const Shape &shape) {
  for (size_t d = shape.rank(); d-- > 0;) {
    if (++at[d] < shape.dims[d])
      return true;
    at[d] = 0;
  }
  return false;
}

} // namespace

TEST_P(PointReferenceTest, AgreesWithTheEvaluatorEverywhere) {
  Module module = parsed(GetParam().body);
  const Graph &graph = module.entry();
  const Shape &shape = graph[graph.root()].shape;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<Tensor> arguments = fillArguments(module, module.entryId, seed);
    auto whole = evaluate(module, module.entryId, arguments);
    ASSERT_TRUE(static_cast<bool>(whole)) << takeDiag(whole.takeError()).str();
    PointReference given(module, arguments, 1 << 20), filled(module, seed, 1 << 20);
    std::vector<int64_t> at(shape.rank(), 0);
    int64_t element = 0;
    do {
      for (PointReference *reference : {&given, &filled}) {
        auto value = reference->at(graph.root(), at);
        ASSERT_TRUE(static_cast<bool>(value)) << takeDiag(value.takeError()).str();
        EXPECT_EQ(*value, (*whole)[0].asDouble(element)) << "element " << element;
      }
      ++element;
    } while (next(at, shape));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, PointReferenceTest,
    testing::Values(Case{"slice_at_scalars", R"(ENTRY e { x = f32[6,9] parameter(0)
  i = s32[] parameter(1)
  j = s64[] parameter(2)
  ROOT r = f32[3,4] dynamic-slice(x, i, j), dynamic_slice_sizes={3,4} })"},
                    Case{"slice_at_a_vector", R"(ENTRY e { x = f32[6,9] parameter(0)
  i = s32[2] parameter(1)
  ROOT r = f32[3,4] dynamic-slice(x, i), dynamic_slice_sizes={3,4} })"},
                    Case{"starts_beyond_the_end_are_clamped", R"(ENTRY e { x = f32[6,9] parameter(0)
  i = s32[] parameter(1)
  far = s32[] constant(1000)
  i1 = s32[] add(i, far)
  i2 = s32[] negate(i1)
  ROOT r = f32[2,2] dynamic-slice(x, i1, i2), dynamic_slice_sizes={2,2} })"},
                    Case{"unsigned_starts_over_the_signed_range",
                         R"(ENTRY e { x = f32[40] parameter(0)
  i = u64[] constant(18446744073709551615)
  ROOT r = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} })"},
                    Case{"chase", R"(ENTRY e { t = s32[64] parameter(0)
  i0 = s32[] parameter(1)
  s0 = s32[1] dynamic-slice(t, i0), dynamic_slice_sizes={1}
  i1 = s32[] reshape(s0)
  s1 = s32[1] dynamic-slice(t, i1), dynamic_slice_sizes={1}
  i2 = s32[] reshape(s1)
  ROOT s2 = s32[1] dynamic-slice(t, i2), dynamic_slice_sizes={1} })"},
                    Case{"update", R"(ENTRY e { x = f32[6,9] parameter(0)
  u = f32[2,3] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = f32[6,9] dynamic-update-slice(x, u, i, j) })"},
                    Case{"gather", R"(ENTRY e { x = f32[7,5] parameter(0)
  i = s32[4,2] parameter(1)
  ROOT r = f32[4,2,3] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={2,3} })"},
                    Case{"gather_of_rows_then_a_sum", R"(add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e { x = f32[7,5] parameter(0)
  i = s32[4] parameter(1)
  g = f32[4,5] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}
  z = f32[] constant(0)
  ROOT r = f32[4] reduce(g, z), dimensions={1}, to_apply=add })"},
                    Case{"pad_and_concatenate", R"(ENTRY e { x = f32[4,5] parameter(0)
  z = f32[] constant(0.5)
  p = f32[7,6] pad(x, z), padding=1_2x0_1
  q = f32[4,6] parameter(1)
  c = f32[11,6] concatenate(p, q), dimensions={0}
  ROOT r = f32[6,11] transpose(c), dimensions={1,0} })"}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

TEST(PointReference, ABudgetThatIsSpentIsAnError) {
  Module module = parsed(R"(ENTRY e { x = f32[64] parameter(0)
  y = f32[64] negate(x)
  ROOT r = f32[64] negate(y) })");
  PointReference reference(module, 1, 4);
  OpId root = module.entry().root();
  ASSERT_TRUE(static_cast<bool>(reference.at(root, std::vector<int64_t>{0})));
  auto second = reference.at(root, std::vector<int64_t>{1});
  ASSERT_FALSE(static_cast<bool>(second));
  EXPECT_EQ(takeDiag(second.takeError()).cls, DiagClass::BudgetSpent);
}

} // namespace tilewright
