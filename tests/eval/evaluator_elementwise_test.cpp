// Elementwise ops: integer edge cases, NaN rules, converts, and the maths functions.
#include "analysis/ir/numeric.h"
#include "tests/eval/eval_helpers.h"

using namespace tilewright;

namespace {
/// One op on vectors of one type.
Values apply(std::string_view op, DType type, std::vector<std::string> operands,
             std::string_view extra = "", std::string_view resultType = "") {
  std::string body, names;
  int64_t count = 0;
  std::vector<Tensor> arguments;
  for (size_t k = 0; k < operands.size(); ++k) {
    count = 1 + std::count(operands[k].begin(), operands[k].end(), ',');
    body += fmt::format("p{0} = {1}[{2}] parameter({0})\n", k, toString(type), count);
    names += fmt::format("{}p{}", k ? ", " : "", k);
    arguments.push_back(tensorOf(type, {count}, "{" + operands[k] + "}"));
  }
  body += fmt::format("ROOT r = {}[{}] {}({}){}\n",
                      resultType.empty() ? toString(type) : resultType, count, op, names, extra);
  return valuesOf(runOne(entry(body), arguments));
}

bool isNan(double value) { return value != value; }
} // namespace

TEST(EvaluatorElementwise, IntegersWrap) {
  EXPECT_EQ(apply("add", DType::S8, {"127, -128", "1, -1"}), (Values{-128, 127}));
  EXPECT_EQ(apply("subtract", DType::U8, {"0", "1"}), (Values{255}));
  EXPECT_EQ(apply("multiply", DType::S32, {"65536, 46341", "65536, 46341"}),
            (Values{0, -2147479015}));
  EXPECT_EQ(apply("negate", DType::S8, {"-128"}), (Values{-128}));
  EXPECT_EQ(apply("abs", DType::S8, {"-128, -5"}), (Values{-128, 5}));
  EXPECT_EQ(apply("add", DType::S4, {"7", "1"}), (Values{-8}));
  EXPECT_EQ(apply("power", DType::S32, {"3, 2, -1, 2, 1", "4, 33, -3, -1, -9"}),
            (Values{81, 0, -1, 0, 1}));
}

TEST(EvaluatorElementwise, IntegerDivisionByZeroAndOverflow) {
  EXPECT_EQ(apply("divide", DType::S32, {"7, -7, 7, -2147483648", "2, 2, 0, -1"}),
            (Values{3, -3, -1, -2147483648.0}));
  EXPECT_EQ(apply("remainder", DType::S32, {"7, -7, 7, -2147483648", "2, 2, 0, -1"}),
            (Values{1, -1, 7, 0}));
  EXPECT_EQ(apply("divide", DType::U8, {"200, 7", "3, 0"}), (Values{66, 255}));
  EXPECT_EQ(apply("divide", DType::U64, {"18446744073709551615", "2"}), (Values{0x1p63}));
  EXPECT_EQ(apply("maximum", DType::U64, {"18446744073709551615", "2"}), (Values{0x1p64}));
  EXPECT_EQ(apply("divide", DType::S64, {"-9223372036854775808", "-1"}), (Values{-0x1p63}));
}

TEST(EvaluatorElementwise, Shifts) {
  EXPECT_EQ(apply("shift-left", DType::S8, {"1, 1, 1, 64", "7, 8, -1, 1"}),
            (Values{-128, 0, 0, -128}));
  EXPECT_EQ(apply("shift-right-arithmetic", DType::S8, {"-128, -128, 64, 64", "1, 100, 6, -1"}),
            (Values{-64, -1, 1, 0}));
  EXPECT_EQ(apply("shift-right-logical", DType::S8, {"-128, -128, -1", "1, 8, 7"}),
            (Values{64, 0, 1}));
  EXPECT_EQ(apply("shift-right-arithmetic", DType::U8, {"128", "1"}), (Values{192}));
  EXPECT_EQ(apply("shift-right-logical", DType::U64, {"18446744073709551615", "63"}), (Values{1}));
}

TEST(EvaluatorElementwise, BitsAndLogic) {
  EXPECT_EQ(apply("popcnt", DType::S8, {"-1, 5"}), (Values{8, 2}));
  EXPECT_EQ(apply("count-leading-zeros", DType::S16, {"1, 0, -1"}), (Values{15, 16, 0}));
  EXPECT_EQ(apply("not", DType::Pred, {"true, false"}), (Values{0, 1}));
  EXPECT_EQ(apply("not", DType::U8, {"1"}), (Values{254}));
  EXPECT_EQ(apply("xor", DType::S8, {"-1", "1"}), (Values{-2}));
  EXPECT_EQ(apply("and", DType::Pred, {"true, true", "true, false"}), (Values{1, 0}));
}

TEST(EvaluatorElementwise, NanPropagatesThroughMinMaxClamp) {
  for (std::string_view op : {"maximum", "minimum"}) {
    Values result = apply(op, DType::F32, {"nan, 1", "1, nan"});
    EXPECT_TRUE(isNan(result[0]) && isNan(result[1])) << op;
  }
  Values clamped = apply("clamp", DType::F32, {"0, 0, 0", "nan, 7, -1", "2, 2, 2"});
  EXPECT_TRUE(isNan(clamped[0]));
  EXPECT_EQ(clamped[1], 2);
  EXPECT_EQ(clamped[2], 0);
  EXPECT_EQ(apply("sign", DType::F32, {"-3, 0, 2"}), (Values{-1, 0, 1}));
  EXPECT_EQ(apply("is-finite", DType::F32, {"1, inf, nan"}, "", "pred"), (Values{1, 0, 0}));
}

TEST(EvaluatorElementwise, CompareNanTotalOrderAndUnsigned) {
  EXPECT_EQ(apply("compare", DType::F32, {"nan, 1", "nan, 2"}, ", direction=EQ", "pred"),
            (Values{0, 0}));
  EXPECT_EQ(apply("compare", DType::F32, {"nan, 1", "1, 2"}, ", direction=NE", "pred"),
            (Values{1, 1}));
  EXPECT_EQ(apply("compare", DType::F32, {"-0, 0, nan, -nan, inf", "0, -0, inf, -inf, nan"},
                  ", direction=LT, type=TOTALORDER", "pred"),
            (Values{1, 0, 0, 1, 1}));
  EXPECT_EQ(apply("compare", DType::F32, {"nan", "nan"}, ", direction=EQ, type=TOTALORDER", "pred"),
            (Values{1}));
  EXPECT_EQ(apply("compare", DType::U64, {"18446744073709551615", "1"}, ", direction=GT", "pred"),
            (Values{1}));
  EXPECT_EQ(apply("compare", DType::S64, {"-1", "1"}, ", direction=GT", "pred"), (Values{0}));
}

TEST(EvaluatorElementwise, Converts) {
  EXPECT_EQ(apply("convert", DType::F32, {"2.9, -2.9, 300, -300, nan"}, "", "s8"),
            (Values{2, -2, 127, -128, 0}));
  EXPECT_EQ(apply("convert", DType::F32, {"-1, 3e9, 5e9"}, "", "u32"),
            (Values{0, 3e9, 4294967295.0}));
  EXPECT_EQ(apply("convert", DType::S32, {"257, -1"}, "", "u8"), (Values{1, 255}));
  EXPECT_EQ(apply("convert", DType::S32, {"257, 259"}, "", "bf16"), (Values{256, 260}));
  EXPECT_EQ(apply("convert", DType::F32, {"0.5, 0, nan"}, "", "pred"), (Values{1, 0, 1}));
  EXPECT_EQ(apply("convert", DType::Pred, {"true, false"}, "", "f32"), (Values{1, 0}));
  EXPECT_EQ(apply("convert", DType::F32, {"448, 464, 0.1"}, "", "f8e4m3fn"),
            (Values{448, 448, 0.1015625}));
  EXPECT_EQ(apply("reduce-precision", DType::F32, {"1.00390625, 1e-40"},
                  ", exponent_bits=8, mantissa_bits=7"),
            (Values{1, 0}));
  // Every byte converts to bf16 without loss.
  Tensor bytes = counting(DType::S8, {256}, -128);
  EXPECT_EQ(
      valuesOf(runOne(entry("q = s8[256] parameter(0)\nROOT v = bf16[256] convert(q)\n"), {bytes})),
      valuesOf(bytes));
}

TEST(EvaluatorElementwise, MathsFunctionsRoundedToTheType) {
  struct Function {
    std::string_view name;
    double (*function)(double);
  };
  auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  auto rsqrt = [](double x) { return 1 / std::sqrt(x); };
  const std::vector<Function> functions = {{"exponential", std::exp},
                                           {"exponential-minus-one", std::expm1},
                                           {"log", std::log},
                                           {"log-plus-one", std::log1p},
                                           {"sine", std::sin},
                                           {"cosine", std::cos},
                                           {"tan", std::tan},
                                           {"tanh", std::tanh},
                                           {"sqrt", std::sqrt},
                                           {"cbrt", std::cbrt},
                                           {"erf", std::erf},
                                           {"floor", std::floor},
                                           {"ceil", std::ceil},
                                           {"round-nearest-afz", std::round},
                                           {"round-nearest-even", std::nearbyint},
                                           {"logistic", logistic},
                                           {"rsqrt", rsqrt}};
  Tensor x = tensorOf(DType::BF16, {5}, "{0.5, 1.5, 2.5, 0.0078125, 8}");
  for (const Function &function : functions) {
    Tensor y = runOne(
        entry(fmt::format("x = bf16[5] parameter(0)\nROOT y = bf16[5] {}(x)\n", function.name)),
        {x});
    for (int64_t i = 0; i < 5; ++i)
      EXPECT_EQ(y.real(i), roundFloat(DType::BF16, function.function(x.real(i)))) << function.name;
  }
  EXPECT_EQ(apply("power", DType::F64, {"2, -8", "10, 2"}), (Values{1024, 64}));
  EXPECT_EQ(apply("atan2", DType::F64, {"1", "-1"}), (Values{std::atan2(1, -1)}));
  EXPECT_EQ(apply("remainder", DType::F64, {"5.5, -5.5", "2, 2"}), (Values{1.5, -1.5}));
}

TEST(EvaluatorElementwise, ComplexSelectClampAndMap) {
  Tensor z = runOne(entry("a = f32[1] parameter(0)\nb = f32[1] parameter(1)\n"
                          "c = c64[1] complex(a, b)\nROOT d = c64[1] multiply(c, c)\n"),
                    {tensorOf(DType::F32, {1}, "{1}"), tensorOf(DType::F32, {1}, "{2}")});
  EXPECT_EQ(z.complex(0), std::complex<double>(-3, 4));
  EXPECT_EQ(runOne(entry("c = c64[] constant((3, 4))\nROOT d = f32[] abs(c)\n")).real(0), 5);
  EXPECT_EQ(runOne(entry("c = c64[] constant((3, 4))\nROOT d = f32[] imag(c)\n")).real(0), 4);
  EXPECT_EQ(valuesOf(runOne(entry("p = pred[] constant(false)\nx = s32[2] constant({1, 2})\n"
                                  "y = s32[2] constant({3, 4})\n"
                                  "ROOT s = s32[2] select(p, x, y)\n"))),
            (Values{3, 4}));
  EXPECT_EQ(valuesOf(runOne(withReducers("s32", "x = s32[2] constant({1, 9})\n"
                                                "y = s32[2] constant({3, 4})\n"
                                                "ROOT s = s32[2] map(x, y), dimensions={0}, "
                                                "to_apply=maximum.s32\n"))),
            (Values{3, 9}));
}
