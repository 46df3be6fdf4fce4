// gather and scatter against their definitions, one element at a time.
#include "tests/eval/eval_helpers.h"

using namespace tilewright;

namespace {
using Index = std::vector<int64_t>;

int64_t at(const Tensor &tensor, const Index &index) {
  return tensor.integer(tensor.offset(index));
}
} // namespace

TEST(EvaluatorGather, RowsOfATableClampOutOfBounds) {
  Tensor y = runOne(entry("t = s32[3,2] parameter(0)\ni = s32[4] parameter(1)\n"
                          "ROOT y = s32[4,2] gather(t, i), offset_dims={1}, "
                          "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                          "slice_sizes={1,2}\n"),
                    {counting(DType::S32, {3, 2}), tensorOf(DType::S32, {4}, "{2, 0, -5, 99}")});
  EXPECT_EQ(valuesOf(y), (Values{4, 5, 0, 1, 0, 1, 4, 5}));
}

// operand [4,5,3,6]; dim 2 batched with dim 1 of the indices, dim 0 collapsed; starts in dims 3, 0.
TEST(EvaluatorGather, GeneralDimsAgreeWithTheDefinition) {
  Tensor operand = counting(DType::S32, {4, 5, 3, 6});
  Tensor indices = fillTensor(Shape::tensor(DType::S64, {2, 3, 2}), 4, {true, -2, 7});
  Tensor y = runOne(entry("t = s32[4,5,3,6] parameter(0)\ni = s64[2,3,2] parameter(1)\n"
                          "ROOT y = s32[4,2,2,3] gather(t, i), offset_dims={0,2}, "
                          "collapsed_slice_dims={0}, start_index_map={3,0}, "
                          "operand_batching_dims={2}, start_indices_batching_dims={1}, "
                          "index_vector_dim=2, slice_sizes={1,4,1,2}\n"),
                    {operand, indices});
  forEachIndex({4, 2, 2, 3}, [&](const Index &o) {
    int64_t p = o[1], q = o[3]; // batch positions: the result's dims 1 and 3
    int64_t lane = std::clamp<int64_t>(at(indices, {p, q, 0}), 0, 6 - 2) + o[2];
    int64_t plane = std::clamp<int64_t>(at(indices, {p, q, 1}), 0, 4 - 1);
    ASSERT_EQ(at(y, o), at(operand, {plane, o[0], q, lane}));
  });
}

TEST(EvaluatorGather, IndexVectorDimInTheMiddleAndMissing) {
  Tensor operand = counting(DType::S32, {5, 7});
  Tensor indices = fillTensor(Shape::tensor(DType::U8, {3, 2, 4}), 6, {true, 0, 4});
  Tensor y = runOne(entry("t = s32[5,7] parameter(0)\ni = u8[3,2,4] parameter(1)\n"
                          "ROOT y = s32[3,4] gather(t, i), offset_dims={}, "
                          "collapsed_slice_dims={0,1}, start_index_map={0,1}, "
                          "index_vector_dim=1, slice_sizes={1,1}\n"),
                    {operand, indices});
  forEachIndex({3, 4}, [&](const Index &o) {
    ASSERT_EQ(at(y, o), at(operand, {at(indices, {o[0], 0, o[1]}), at(indices, {o[0], 1, o[1]})}));
  });
}

// Random windows, some partly outside: each update element that falls inside is added.
TEST(EvaluatorScatter, GeneralDimsAgreeWithTheDefinition) {
  Tensor operand = counting(DType::S32, {4, 5, 3, 6});
  Tensor indices = fillTensor(Shape::tensor(DType::S32, {2, 3, 2}), 8, {true, -1, 5});
  Tensor updates = fillTensor(Shape::tensor(DType::S32, {3, 2, 2, 3}), 9, {true, 1, 1000});
  // Update window dims 0 and 2 are operand dims 1 and 3; positions are update dims 1 and 3.
  Tensor y = runOne(
      withReducers("s32", "t = s32[4,5,3,6] parameter(0)\ni = s32[2,3,2] parameter(1)\n"
                          "u = s32[3,2,2,3] parameter(2)\n"
                          "ROOT y = s32[4,5,3,6] scatter(t, i, u), update_window_dims={0,2}, "
                          "inserted_window_dims={0}, scatter_dims_to_operand_dims={3,0}, "
                          "input_batching_dims={2}, scatter_indices_batching_dims={1}, "
                          "index_vector_dim=2, to_apply=add.s32\n"),
      {operand, indices, updates});
  Tensor expected = operand;
  int inside = 0, outside = 0;
  forEachIndex({3, 2, 2, 3}, [&](const Index &u) {
    int64_t p = u[1], q = u[3];
    Index target = {at(indices, {p, q, 1}), u[0], q, at(indices, {p, q, 0}) + u[2]};
    bool isInside = target[0] >= 0 && target[0] < 4 && target[3] >= 0 && target[3] < 6;
    ++(isInside ? inside : outside);
    if (isInside)
      expected.setInteger(expected.offset(target), at(expected, target) + at(updates, u));
  });
  EXPECT_GT(inside, 5);
  EXPECT_GT(outside, 0);
  EXPECT_EQ(valuesOf(y), valuesOf(expected));
}

TEST(EvaluatorScatter, RepeatedIndicesAddUp) {
  Tensor y =
      runOne(withReducers("s32", "t = s32[4] parameter(0)\ni = s32[5,1] parameter(1)\n"
                                 "u = s32[5] parameter(2)\n"
                                 "ROOT y = s32[4] scatter(t, i, u), update_window_dims={}, "
                                 "inserted_window_dims={0}, "
                                 "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                                 "to_apply=add.s32\n"),
             {counting(DType::S32, {4}), tensorOf(DType::S32, {5, 1}, "{{3},{3},{0},{-1},{4}}"),
              tensorOf(DType::S32, {5}, "{10, 20, 30, 40, 50}")});
  EXPECT_EQ(valuesOf(y), (Values{30, 1, 2, 33}));
}
