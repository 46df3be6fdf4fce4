#include "analysis/ir/tensor_difference.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tilewright;

namespace {

Tensor realsOf(std::vector<double> values) {
  return Tensor::ofReals(Shape::tensor(DType::F64, {static_cast<int64_t>(values.size())}), values);
}

} // namespace

TEST(TensorDifference, IsRelativeAboveOne) {
  const TensorDifference difference =
      differenceOf(realsOf({0.5, 200, 1}), realsOf({0.25, 100, 1}), 0.3);
  EXPECT_DOUBLE_EQ(difference.worst, 1);
  EXPECT_EQ(difference.element, 1);
  EXPECT_EQ(difference.over, 1);
}

TEST(TensorDifference, SpecialValuesEqualThemselvesOnly) {
  EXPECT_EQ(
      differenceOf(realsOf({NAN, INFINITY, -INFINITY}), realsOf({NAN, INFINITY, -INFINITY}), 0)
          .element,
      -1);
  for (double other : {0.0, double(INFINITY), -double(INFINITY)})
    EXPECT_EQ(differenceOf(realsOf({NAN}), realsOf({other}), 1e9).over, 1);
  EXPECT_EQ(differenceOf(realsOf({INFINITY}), realsOf({-INFINITY}), 1e9).over, 1);
  EXPECT_EQ(differenceOf(realsOf({INFINITY}), realsOf({1e300}), 1e9).over, 1);
}

TEST(TensorDifference, IntegersAreEqualOrNot) {
  const Shape shape = Shape::tensor(DType::S32, {2});
  const std::vector<int64_t> a = {1000000, 5}, b = {1000001, 5};
  EXPECT_EQ(differenceOf(Tensor::ofIntegers(shape, a), Tensor::ofIntegers(shape, b), 1).over, 1);
  EXPECT_EQ(differenceOf(Tensor::ofIntegers(shape, a), Tensor::ofIntegers(shape, a), 0).over, 0);
}
