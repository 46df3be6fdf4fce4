#include "analysis/ir/literal.h"
#include "analysis/ir/numeric.h"
#include "analysis/ir/tensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tilewright;

namespace {
Tensor literal(DType type, std::vector<int64_t> dims, std::string_view text) {
  llvm::Expected<Tensor> result = parseLiteral(Shape::tensor(type, std::move(dims)), text);
  EXPECT_TRUE(bool(result));
  if (!result) {
    ADD_FAILURE() << takeDiag(result.takeError()).message;
    return {};
  }
  return std::move(*result);
}

Diag literalError(DType type, std::vector<int64_t> dims, std::string_view text) {
  llvm::Expected<Tensor> result = parseLiteral(Shape::tensor(type, std::move(dims)), text);
  if (result) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  return takeDiag(result.takeError());
}

std::vector<unsigned> bytesOf(const Tensor &tensor) {
  std::vector<unsigned> result;
  for (std::byte byte : packTensor(tensor))
    result.push_back(std::to_integer<unsigned>(byte));
  return result;
}
} // namespace

TEST(Tensor, PacksNibblesLowFirstAndWordsLittleEndian) {
  std::vector<int64_t> values = {1, -2, 7};
  EXPECT_EQ(bytesOf(Tensor::ofIntegers(Shape::tensor(DType::S4, {3}), values)),
            (std::vector<unsigned>{0xe1, 0x07}));
  EXPECT_EQ(bytesOf(Tensor::ofIntegers(Shape::tensor(DType::S16, {3}), values)),
            (std::vector<unsigned>{1, 0, 0xfe, 0xff, 7, 0}));
  EXPECT_EQ(bytesOf(literal(DType::BF16, {2}, "{1, -2}")),
            (std::vector<unsigned>{0x80, 0x3f, 0x00, 0xc0}));
  EXPECT_EQ(bytesOf(literal(DType::C64, {}, "(1, 2)")),
            (std::vector<unsigned>{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}));
  EXPECT_EQ(bytesOf(literal(DType::F4E2M1FN, {3}, "{6, -0.5, 1}")),
            (std::vector<unsigned>{0x97, 0x02}));
}

TEST(Tensor, PacksInTheLayoutsOrder) {
  Shape shape = Shape::tensor(DType::U8, {2, 3});
  shape.layout = Layout{{0, 1}, ""}; // column-major
  std::vector<int64_t> values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(bytesOf(Tensor::ofIntegers(shape, values)), (std::vector<unsigned>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(physicalOrder(shape), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Tensor, UnpackInvertsPackForEveryTypeAndLayout) {
  for (int code = 0; code <= static_cast<int>(DType::C128); ++code) {
    Shape shape = Shape::tensor(static_cast<DType>(code), {3, 1, 5, 2});
    for (std::vector<int64_t> order :
         {std::vector<int64_t>{3, 2, 1, 0}, {0, 2, 3, 1}, {1, 3, 0, 2}}) {
      shape.layout = Layout{order, ""};
      Tensor tensor = fillTensor(shape, 17 + code);
      std::vector<std::byte> bytes = packTensor(tensor);
      EXPECT_EQ(static_cast<int64_t>(bytes.size()), *shape.byteSize());
      llvm::Expected<Tensor> back = unpackTensor(shape, bytes);
      ASSERT_TRUE(bool(back));
      for (size_t i = 0; i < tensor.words().size(); ++i)
        ASSERT_EQ(back->words()[i], tensor.words()[i]) << shape.str();
    }
  }
  std::vector<std::byte> three(3);
  llvm::Expected<Tensor> wrong = unpackTensor(Shape::tensor(DType::F32, {}), three);
  ASSERT_FALSE(bool(wrong));
  EXPECT_EQ(takeDiag(wrong.takeError()).message, "3 bytes given for f32[], which takes 4");
}

TEST(Tensor, FillIsDeterministicBoundedAndHeldByTheType) {
  for (int code = 0; code <= static_cast<int>(DType::C128); ++code) {
    DType type = static_cast<DType>(code);
    Tensor a = fillTensor(Shape::tensor(type, {500}), 1),
           b = fillTensor(Shape::tensor(type, {500}), 1);
    EXPECT_TRUE(std::equal(a.words().begin(), a.words().end(), b.words().begin()));
    EXPECT_FALSE(std::all_of(a.words().begin(), a.words().end(),
                             [&](uint64_t word) { return word == a.words()[0]; }));
    for (int64_t i = 0; i < a.size() && a.wordsPerElement() == 1; ++i) {
      EXPECT_LE(std::abs(a.asDouble(i)), 15);
      if (isFloat(type)) {
        EXPECT_EQ(roundFloat(type, a.real(i)), a.real(i));
      } else {
        EXPECT_EQ(wrapInteger(type, a.integer(i)), a.integer(i));
      }
    }
  }
  Tensor indices = fillTensor(Shape::tensor(DType::S32, {1000}), 2, {true, 3, 5});
  for (int64_t i = 0; i < indices.size(); ++i)
    EXPECT_TRUE(indices.integer(i) >= 3 && indices.integer(i) <= 5);
  EXPECT_EQ(splitmix64(0, 0), 0xe220a8397b1dcdafu); // published first output for seed 0
}

TEST(Literal, ScalarsAndNesting) {
  EXPECT_EQ(literal(DType::F32, {}, "1e-05").real(0), static_cast<double>(1e-05f));
  EXPECT_EQ(literal(DType::BF16, {}, "-inf").real(0), -INFINITY);
  Tensor nan = literal(DType::F32, {2}, "{nan, -nan}");
  EXPECT_TRUE(std::isnan(nan.real(0)) && !std::signbit(nan.real(0)));
  EXPECT_TRUE(std::isnan(nan.real(1)) && std::signbit(nan.real(1)));
  Tensor matrix = literal(DType::S32, {2, 3}, "{ { 1, 2, 3 }, /*i0=1*/ { 4, -5, 6 } }");
  EXPECT_EQ(matrix.integer(4), -5);
  Tensor flags = literal(DType::Pred, {4}, "{true, false, 1, 0}");
  EXPECT_EQ(flags.integer(0) + 2 * flags.integer(1) + 4 * flags.integer(2), 5);
  EXPECT_EQ(literal(DType::C64, {2}, "{(1, 2), (0, -inf)}").complex(0), std::complex<double>(1, 2));
  EXPECT_EQ(literal(DType::U64, {}, "18446744073709551615").integer(0), -1);
  EXPECT_EQ(literal(DType::S64, {}, "-9223372036854775808").integer(0), INT64_MIN);
  EXPECT_EQ(literal(DType::F32, {2, 0}, "{ {}, {} }").size(), 0);
  EXPECT_EQ(literal(DType::F32, {}, "0x1.8p1").real(0), 3);
  EXPECT_EQ(literal(DType::F64, {}, "1e-400").real(0), 0);
  EXPECT_EQ(encodeFloat(DType::F32, literal(DType::F32, {}, "nan(0x7fe00000)").real(0)),
            0x7fe00000u);
}

TEST(Literal, RefusesWhatDoesNotFitTheShape) {
  EXPECT_EQ(literalError(DType::F32, {8, 8}, "{...}").cls, DiagClass::Unsupported);
  EXPECT_NE(literalError(DType::F32, {8}, "{...}").message.find("the dump left the values out"),
            std::string::npos);
  EXPECT_EQ(literalError(DType::S32, {3}, "{1, 2}").message,
            "literal column 6: dim 0 has 2 entries, its shape 3");
  EXPECT_EQ(literalError(DType::S32, {2}, "{1, 2, 3}").message,
            "literal column 6: expected '}' after the 2 entries of dim 0");
  EXPECT_EQ(literalError(DType::S8, {}, "128").message,
            "literal column 1: '128' is not a value of s8");
  for (std::string_view text : {"", "abc", "1 2", "--1", "{1}", "1.5.2", "(1)", "/*", "-"}) {
    literalError(DType::F32, {}, text);
    literalError(DType::S32, {}, text);
    literalError(DType::C64, {}, text);
  }
  literalError(DType::F32, {int64_t(1) << 40}, "{1}");
  literalError(DType::S32, {2, 2}, "{{1,2},{3,4}");
}

TEST(Fill, TheFastCodeIsTheEncodedWord) {
  for (const char *name :
       {"f32", "bf16", "f16", "f64", "f8e4m3fn", "f8e8m0fnu", "s8", "u64", "s4", "pred", "c64"}) {
    DType type = *parseDType(name);
    for (FillRange range : {FillRange{}, FillRange{true, 0, 9}}) {
      WordFiller filler(type, 3, range);
      for (uint64_t i = 0; i < 200000; ++i)
        ASSERT_EQ(filler.code(i), encodeWord(partType(type), filler(i))) << name << " " << i;
    }
  }
}
