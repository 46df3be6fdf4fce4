#include "analysis/ir/tensor.h"
#include "profiler/inputs.h"
#include "profiler/testing/test_pack.h"
#include "profiler/verify.h"

#include <cstring>
#include <gtest/gtest.h>

namespace tilewright::profile {

namespace {

PackKernel oneOutput(DType type, int64_t elements, double tolerance) {
  PackKernel kernel;
  PackParameter output;
  output.name = "o";
  output.isOutput = true;
  output.dtype = type;
  output.dims = {elements};
  output.minorToMajor = {0};
  output.elements = elements;
  output.bytes = static_cast<uint64_t>(*packedBytes(type, elements));
  kernel.parameters.push_back(output);
  kernel.tolerance = tolerance;
  return kernel;
}

Verification check(const PackKernel &kernel, const std::vector<std::byte> &memory) {
  Result<Verification> result =
      verify(kernel, [&](size_t, uint64_t offset, std::span<std::byte> to) -> Status {
        EXPECT_LE(offset + to.size(), memory.size());
        std::memcpy(to.data(), memory.data() + offset, to.size());
        return fine();
      });
  EXPECT_TRUE(result);
  return *result;
}

std::vector<std::byte> bytesOf(const std::vector<float> &values) {
  std::vector<std::byte> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

} // namespace

TEST(Verify, ErrorsAreRelativeAboveTheScaleAndAbsoluteBelow) {
  PackKernel kernel = oneOutput(DType::F32, 4, 0.01);
  kernel.expectations.push_back({0, {0, 1, 3}, {100, 0.001, -4}, 2});
  EXPECT_TRUE(check(kernel, bytesOf({100.9f, 0.02f, 7, -4})).isRight);
  Verification wrong = check(kernel, bytesOf({102, 0.001f, 7, -4}));
  EXPECT_FALSE(wrong.isRight);
  EXPECT_EQ(wrong.reason, "%o element 0 is 102, expected 100: relative error 0.02, allowed 0.01");
  EXPECT_FALSE(check(kernel, bytesOf({100, 0.03f, 7, -4})).isRight);
  EXPECT_FALSE(check(kernel, bytesOf({100, 0, 7, NAN})).isRight);
  EXPECT_FALSE(check(kernel, bytesOf({100, 0, 7, INFINITY})).isRight);
}

TEST(Verify, WhatIsNotWrittenIsFoundWhereNothingIsExpected) {
  PackKernel kernel = oneOutput(DType::F32, 1000, 0.01);
  kernel.expectations.push_back({0, {0}, {1}, 1});
  std::vector<std::byte> memory = bytesOf(std::vector<float>(1000, 1.0f));
  EXPECT_TRUE(check(kernel, memory).isRight);
  std::memset(memory.data() + 4 * 777, 0xff, 4);
  Verification hole = check(kernel, memory);
  EXPECT_FALSE(hole.isRight);
  EXPECT_EQ(hole.reason, "%o element 777 was never written");
  // -1 is a value of an integer.
  PackKernel integers = oneOutput(DType::S32, 1000, 0);
  EXPECT_TRUE(check(integers, memory).isRight);
}

TEST(Verify, LargeOutputsAreReadInPart) {
  constexpr int64_t elements = (20 << 20) / 2 + 3;
  PackKernel kernel = oneOutput(DType::BF16, elements, 0.01);
  std::vector<std::byte> memory(kernel.parameters[0].bytes);
  kernel.expectations.push_back({0, {0, elements - 1}, {0, 0}, 1});
  EXPECT_TRUE(check(kernel, memory).isRight);
  memory[memory.size() - 1] = std::byte(0x3f); // 0.5 as the last element
  EXPECT_FALSE(check(kernel, memory).isRight);
  memory[memory.size() - 1] = std::byte(0);
  std::memset(memory.data() + memory.size() / 2, 0xff, memory.size() / 2 - 2);
  EXPECT_NE(check(kernel, memory).reason.find("was never written"), std::string::npos);
}

TEST(Verify, SmallTypesAreUnpacked) {
  PackKernel kernel = oneOutput(DType::S4, 4, 0);
  kernel.expectations.push_back({0, {0, 1, 2, 3}, {1, -1, -8, 7}, 1});
  EXPECT_TRUE(check(kernel, {std::byte(0xf1), std::byte(0x78)}).isRight);
  EXPECT_FALSE(check(kernel, {std::byte(0xf1), std::byte(0x79)}).isRight);
}

TEST(Inputs, AreTheBytesOfTheReferenceEvaluator) {
  for (const char *name : {"f32", "bf16", "f16", "f64", "f8e4m3fn", "f8e5m2", "f4e2m1fn", "s8",
                           "u4", "s64", "pred", "c64"})
    for (std::vector<int64_t> order : {std::vector<int64_t>{2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
      PackParameter parameter;
      parameter.dtype = *parseDType(name);
      parameter.dims = {7, 5, 11};
      parameter.minorToMajor = order;
      parameter.elements = 385;
      parameter.bytes = static_cast<uint64_t>(*packedBytes(parameter.dtype, 385));
      Shape shape;
      shape.dtype = parameter.dtype;
      shape.dims = parameter.dims;
      shape.layout = Layout{order, {}};
      EXPECT_EQ(filledBytes(parameter, 9), packTensor(fillTensor(shape, 9))) << name;
      if (isInteger(parameter.dtype)) {
        parameter.range = {true, 0, 6};
        EXPECT_EQ(filledBytes(parameter, 9), packTensor(fillTensor(shape, 9, parameter.range)));
      }
    }
  // Large enough for several threads.
  PackParameter large;
  large.dims = {1 << 20};
  large.minorToMajor = {0};
  large.elements = 1 << 20;
  large.bytes = 4 << 20;
  Shape shape;
  shape.dtype = DType::F32;
  shape.dims = large.dims;
  EXPECT_EQ(filledBytes(large, 1), packTensor(fillTensor(shape, 1)));
}

} // namespace tilewright::profile
