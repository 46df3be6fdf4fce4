// fft, cholesky and triangular-solve against their definitions, written here in another way; random
// bits against those that XLA's compiler for CPUs makes.
#include "tests/eval/eval_helpers.h"

#include <numbers>

using namespace tilewright;

namespace {

using Index = std::vector<int64_t>;
using Complex = std::complex<double>;

constexpr double tinyError = 1e-12;

/// Of doubles, without a rounding that would hide errors.
Tensor filled(DType type, std::vector<int64_t> dims, uint64_t seed) {
  return fillTensor(Shape::tensor(type, std::move(dims)), seed);
}

Complex elementAt(const Tensor &tensor, const Index &index) {
  const int64_t i = tensor.offset(index);
  return tensor.wordsPerElement() == 2 ? tensor.complex(i) : Complex(tensor.real(i));
}

} // namespace

// The sum over all dims at once.
TEST(EvaluatorFft, TwoDimsAreOneSum) {
  const Tensor x = filled(DType::C128, {2, 3, 4}, 1);
  for (const char *type : {"FFT", "IFFT"}) {
    const Tensor y =
        runOne(entry(fmt::format("x = c128[2,3,4] parameter(0)\n"
                                 "ROOT y = c128[2,3,4] fft(x), fft_type={}, fft_length={{3,4}}\n",
                                 type)),
               {x});
    const bool isInverse = std::string_view(type) == "IFFT";
    forEachIndex({2, 3, 4}, [&](const Index &k) {
      Complex sum = 0;
      forEachIndex({3, 4}, [&](const Index &j) {
        const double turns =
            static_cast<double>(j[0] * k[1]) / 3 + static_cast<double>(j[1] * k[2]) / 4;
        sum += elementAt(x, {k[0], j[0], j[1]}) *
               std::polar(1.0, (isInverse ? 2 : -2) * std::numbers::pi * turns);
      });
      ASSERT_LT(std::abs(elementAt(y, k) - (isInverse ? sum / 12.0 : sum)), tinyError) << type;
    });
  }
}

TEST(EvaluatorFft, RealSpectraAreHalvesOfWholeOnes) {
  for (int64_t n : {7, 8}) {
    const Tensor x = filled(DType::F64, {3, n}, 2);
    const int64_t half = n / 2 + 1;
    const Tensor y = runOne(
        entry(fmt::format("x = f64[3,{0}] parameter(0)\n"
                          "ROOT y = c128[3,{1}] fft(x), fft_type=RFFT, fft_length={{3,{0}}}\n",
                          n, half)),
        {x});
    const Tensor whole = runOne(
        entry(fmt::format("x = f64[3,{0}] parameter(0)\nc = c128[3,{0}] convert(x)\n"
                          "ROOT y = c128[3,{0}] fft(c), fft_type=FFT, fft_length={{3,{0}}}\n",
                          n)),
        {x});
    forEachIndex({3, half}, [&](const Index &k) {
      ASSERT_LT(std::abs(elementAt(y, k) - elementAt(whole, k)), tinyError);
    });
    const Tensor back = runOne(
        entry(fmt::format("y = c128[3,{1}] parameter(0)\n"
                          "ROOT x = f64[3,{0}] fft(y), fft_type=IRFFT, fft_length={{3,{0}}}\n",
                          n, half)),
        {y});
    forEachIndex({3, n}, [&](const Index &i) {
      ASSERT_LT(std::abs(elementAt(back, i) - elementAt(x, i)), tinyError);
    });
  }
}

TEST(EvaluatorFft, EmptyTensorsStayEmpty) {
  EXPECT_EQ(runOne(entry("x = c64[0,4] parameter(0)\n"
                         "ROOT y = c64[0,4] fft(x), fft_type=FFT, fft_length={4}\n"),
                   {Tensor(Shape::tensor(DType::C64, {0, 4}))})
                .size(),
            0);
}

// The factor times its adjoint is the matrix, whose other triangle is not read.
TEST(EvaluatorCholesky, FactorsGiveTheMatrixBack) {
  for (const char *lower : {"true", "false"}) {
    Tensor a = filled(DType::C128, {2, 4, 4}, 3);
    forEachIndex({2, 4, 4}, [&](const Index &i) {
      const bool isStored = *lower == 't' ? i[2] <= i[1] : i[1] <= i[2];
      if (i[1] == i[2])
        a.setComplex(a.offset(i), 8);
      else if (!isStored)
        a.setComplex(a.offset(i), NAN);
    });
    const Tensor f = runOne(entry(fmt::format("a = c128[2,4,4] parameter(0)\n"
                                              "ROOT f = c128[2,4,4] cholesky(a), lower={}\n",
                                              lower)),
                            {a});
    forEachIndex({2, 4, 4}, [&](const Index &i) {
      const bool isStored = *lower == 't' ? i[2] <= i[1] : i[1] <= i[2];
      if (!isStored) {
        ASSERT_EQ(elementAt(f, i), Complex(0));
        return;
      }
      Complex sum = 0;
      for (int64_t k = 0; k < 4; ++k)
        sum += *lower == 't'
                   ? elementAt(f, {i[0], i[1], k}) * std::conj(elementAt(f, {i[0], i[2], k}))
                   : std::conj(elementAt(f, {i[0], k, i[1]})) * elementAt(f, {i[0], k, i[2]});
      ASSERT_LT(std::abs(sum - elementAt(a, i)), tinyError);
    });
  }
}

TEST(EvaluatorCholesky, NotPositiveIsNaN) {
  EXPECT_TRUE(std::isnan(runOne(entry("a = f32[1,1] constant({{-1}})\n"
                                      "ROOT f = f32[1,1] cholesky(a), lower=true\n"))
                             .real(0)));
}

// A·x = b, or x·A = b, for every choice of the attributes; what lies beside the triangle is NaN.
TEST(EvaluatorTriangularSolve, SolutionsSolve) {
  for (int mask = 0; mask < 8; ++mask)
    for (const char *transpose : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
      const bool isLeft = mask & 1, isLower = mask & 2, isUnit = mask & 4;
      Tensor a = filled(DType::C128, {2, 3, 3}, 5);
      const Tensor b = filled(DType::C128, isLeft ? Index{2, 3, 2} : Index{2, 2, 3}, 6);
      forEachIndex({2, 3, 3}, [&](const Index &i) {
        const bool isStored = isLower ? i[2] <= i[1] : i[1] <= i[2];
        if (i[1] == i[2])
          a.setComplex(a.offset(i), isUnit ? Complex(NAN) : Complex(2, 1));
        else if (!isStored)
          a.setComplex(a.offset(i), NAN);
      });
      const Tensor x = runOne(
          entry(fmt::format("a = c128[2,3,3] parameter(0)\nb = {0} parameter(1)\n"
                            "ROOT x = {0} triangular-solve(a, b){1}{2}{3}, transpose_a={4}\n",
                            b.shape().str(false), isLeft ? ", left_side=true" : "",
                            isLower ? ", lower=true" : "", isUnit ? ", unit_diagonal=true" : "",
                            transpose)),
          {a, b});
      auto matrix = [&](int64_t batch, int64_t i, int64_t j) -> Complex {
        if (*transpose != 'N')
          std::swap(i, j);
        const bool isStored = isLower ? j <= i : i <= j;
        const Complex value = i == j && isUnit ? 1 : !isStored ? 0 : elementAt(a, {batch, i, j});
        return *transpose == 'A' ? std::conj(value) : value;
      };
      forEachIndex(b.shape().dims, [&](const Index &i) {
        Complex sum = 0;
        for (int64_t k = 0; k < 3; ++k)
          sum += isLeft ? matrix(i[0], i[1], k) * elementAt(x, {i[0], k, i[2]})
                        : elementAt(x, {i[0], i[1], k}) * matrix(i[0], k, i[2]);
        ASSERT_LT(std::abs(sum - elementAt(b, i)), tinyError) << mask << transpose;
      });
    }
}

namespace {

struct RandomBits {
  const char *algorithm, *shape;
  uint64_t counter; ///< afterwards
  std::vector<uint64_t> bits;
};

} // namespace

// Printed by XLA's CPU compiler (jaxlib 0.10.2) for the key and the counter below.
TEST(EvaluatorRandom, BitsAreThoseOfXla) {
  const RandomBits all[] = {
      {"rng_three_fry", "u32[5]", 1, {1010520186, 1888741164, 2754706343, 569486026, 1593802813}},
      {"rng_three_fry",
       "u32[3,5]",
       7,
       {1010520186, 1888741164, 2754706343, 569486026, 1593802813, 961273596, 1692389550,
        1379882886, 1076419981, 1430061416, 523829269, 4191198393, 2165775106, 1106935068,
        2207507590}},
      {"rng_three_fry",
       "u64[3]",
       1,
       {8112081530999492730u, 2445923859953712039u, 5540413775124856893u}},
      {"rng_three_fry", "u8[7]", 2, {122, 44, 167, 202, 61, 249, 252}},
      {"rng_three_fry", "u32[]", UINT64_MAX, {1010520186}},
      {"rng_philox", "u32[5]", 0, {3151517439, 3080049825, 2645875639, 2972309415, 1480449822}},
      {"rng_default",
       "u64[3]",
       0,
       {13228713271577040639u, 12765971733663767479u, 12951043062988922654u}},
      {"rng_philox", "u16[3]", UINT64_MAX, {22271, 54433, 56247}},
  };
  for (const RandomBits &one : all) {
    const std::vector<Tensor> results =
        run(parseText(entry(
                fmt::format("s = u64[2] constant({{1311768467463790320, 18446744073709551614}})\n"
                            "ROOT r = (u64[2], {}) rng-bit-generator(s), algorithm={}\n",
                            one.shape, one.algorithm))),
            {});
    EXPECT_EQ(results[0].words()[0], 1311768467463790320u);
    EXPECT_EQ(results[0].words()[1], one.counter) << one.algorithm << one.shape;
    EXPECT_EQ(std::vector<uint64_t>(results[1].words().begin(), results[1].words().end()), one.bits)
        << one.algorithm << one.shape;
  }
}

// A counter of 128 bits carries from one word into the next.
TEST(EvaluatorRandom, WideCountersCarry) {
  const std::vector<Tensor> results =
      run(parseText(entry("s = u64[3] constant({1311768467463790320, 18446744073709551614, 7})\n"
                          "ROOT r = (u64[3], u32[12]) rng-bit-generator(s), "
                          "algorithm=rng_philox\n")),
          {});
  EXPECT_EQ(results[0].words()[1], 1u);
  EXPECT_EQ(results[0].words()[2], 8u);
  EXPECT_EQ(valuesOf(results[1]),
            (Values{633975504, 212267098, 1682909136, 406308850, 87988195, 1883009519, 4068655794,
                    782684394, 931624823, 3518797315, 143297159, 1882727350}));
}

TEST(EvaluatorTopK, FloatsAreInTotalOrder) {
  const std::vector<Tensor> results =
      run(parseText(entry("x = f32[8] constant({0, -0, nan, -nan, 1, -inf, 0, -0})\n"
                          "ROOT r = (f32[8], s32[8]) topk(x), k=8, largest=true\n")),
          {});
  EXPECT_EQ(valuesOf(results[1]), (Values{2, 4, 0, 6, 1, 7, 5, 3}));
}

TEST(EvaluatorTopK, TruthValues) {
  const std::vector<Tensor> results =
      run(parseText(entry("x = pred[3] constant({true, false, true})\n"
                          "ROOT r = (pred[3], s32[3]) topk(x), k=3, largest=true\n")),
          {});
  EXPECT_EQ(valuesOf(results[0]), (Values{1, 1, 0}));
  EXPECT_EQ(valuesOf(results[1]), (Values{0, 2, 1}));
}
