#include "analysis/instructions/operand_limits.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using Reasons = std::vector<std::string>;

TEST(TmaBox, LinesFitTheirSwizzle) {
  EXPECT_EQ(tmaBoxRefusals({128, 64}, 16, 128), Reasons());
  EXPECT_EQ(tmaBoxRefusals({128, 128}, 16, 0), Reasons());
  EXPECT_EQ(
      tmaBoxRefusals({128, 128}, 16, 128),
      (Reasons{"lines of 256 bytes, of at most 128 with a swizzle of 128 bytes; split the box "
               "into ones of 64 elements"}));
}

TEST(TmaBox, LinesAreMultiplesOf16Bytes) {
  EXPECT_EQ(
      tmaBoxRefusals({8, 12}, 16, 0),
      (Reasons{"lines of 12 elements are 192 bits, of which TMA copies multiples of 16 bytes; "
               "nearest 8 and 16"}));
  EXPECT_EQ(tmaBoxRefusals({2}, 32, 0),
            (Reasons{"lines of 2 elements are 64 bits, of which TMA copies multiples of 16 bytes; "
                     "nearest 4"}));
  EXPECT_EQ(tmaBoxRefusals({8, 32}, 4, 0), Reasons());
}

TEST(TmaBox, AtMostFiveDimsOf256) {
  EXPECT_EQ(tmaBoxRefusals({1, 1, 1, 1, 256}, 8, 0), Reasons());
  EXPECT_EQ(tmaBoxRefusals({1, 1, 1, 1, 1, 256}, 8, 0), (Reasons{"6 dims, of at most 5 of a box"}));
  EXPECT_EQ(tmaBoxRefusals({257, 64}, 16, 0),
            (Reasons{"257 elements along a dim, of 1 to 256 of a box"}));
  EXPECT_EQ(tmaBoxRefusals({0, 64}, 16, 0).size(), 1u);
  EXPECT_EQ(tmaBoxRefusals({}, 16, 0).size(), 1u);
}

TEST(MatrixDescriptor, FieldsAre14BitsOf16Bytes) {
  EXPECT_EQ(descriptorRefusals({1024, 16, 1024, 128}), Reasons());
  EXPECT_EQ(descriptorRefusals({262128, 262128, 262128, 0}), Reasons());
  EXPECT_EQ(descriptorRefusals({262144, 16, 1024, 0}),
            (Reasons{"address 262144, of at most 262128 in 14 bits of 16 bytes"}));
  EXPECT_EQ(descriptorRefusals({0, 24, 1024, 0}),
            (Reasons{"leading offset 24 is no multiple of 16 bytes; nearest 16 and 32"}));
  EXPECT_EQ(descriptorRefusals({512, 16, 1024, 128}),
            (Reasons{"address 512 is no multiple of 1024, the 8 lines of a swizzle of 128 bytes"}));
  EXPECT_EQ(descriptorRefusals({512, 16, 1024, 64}), Reasons());
  EXPECT_EQ(descriptorRefusals({512, 16, 1024, 48}).size(), 1u);
}

} // namespace
} // namespace tilewright
