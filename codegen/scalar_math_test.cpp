// Elementary functions over the whole float range, against double precision. The emulator makes
// the special function unit err as much as it may, so that what holds here holds on a GPU.
#include "analysis/ir/tensor.h"
#include "codegen/lower.h"
#include "codegen/testing/lowering.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tilewright {
namespace {

constexpr int64_t count = 1 << 15;

/// Both signs, all exponents, 64 mantissas each: spread, and those next to a power of two.
std::vector<float> allKinds() {
  std::vector<float> values;
  for (uint32_t top = 0; top < 512; ++top)
    for (uint32_t i = 0; i < 64; ++i) {
      uint32_t mantissa = i < 4   ? i
                          : i < 8 ? 0x7fffff - (i - 4)
                                  : static_cast<uint32_t>(splitmix64(top, i) & 0x7fffff);
      values.push_back(std::bit_cast<float>(top << 23 | mantissa));
    }
  return values;
}

/// What a kernel that applies `op` makes of these operands.
std::vector<float> apply(const std::string &op, const std::vector<std::vector<float>> &operands) {
  std::string parameters, names;
  for (size_t i = 0; i < operands.size(); ++i) {
    parameters += fmt::format("  p{0} = f32[{1}] parameter({0})\n", i, count);
    names += fmt::format("{}p{}", i ? ", " : "", i);
  }
  std::string hlo = fmt::format("HloModule m\nENTRY main {{\n{}  ROOT r = f32[{}] {}({})\n}}\n",
                                parameters, count, op, names);
  KernelSpec spec = specFromHlo(hlo, {4096}, 8);
  auto kernel = lowerKernel(spec, CodeMode::Emulation);
  EXPECT_TRUE(bool(kernel)) << (kernel ? "" : takeDiag(kernel.takeError()).message);
  auto compiled = EmulatedKernel::compile(std::move(*kernel));
  EXPECT_TRUE(bool(compiled)) << (compiled ? "" : takeDiag(compiled.takeError()).message);
  struct alignas(256) Memory {
    float values[count];
  };
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<EmulatorBuffer> buffers;
  for (size_t i = 0; i <= operands.size(); ++i) {
    memory.push_back(std::make_unique<Memory>());
    bool isOutput = i == operands.size();
    if (!isOutput)
      std::memcpy(memory[i]->values, operands[i].data(), sizeof(Memory));
    buffers.push_back({reinterpret_cast<std::byte *>(memory[i]->values), sizeof(Memory), isOutput});
  }
  auto run = compiled->run(buffers);
  EXPECT_TRUE(bool(run)) << (run ? "" : takeDiag(run.takeError()).message);
  return {std::begin(memory.back()->values), std::end(memory.back()->values)};
}

/// The difference in units of the last place of the float next to `exact`; subnormals count as the
/// smallest normal does.
double ulps(float value, double exact) {
  float rounded = static_cast<float>(exact);
  if (std::isnan(exact))
    return std::isnan(value) ? 0 : INFINITY;
  if (std::isinf(rounded)) // the last float before infinity is as good
    return value == rounded || std::abs(value) > 3.40e38f ? 0 : INFINITY;
  if (!std::isfinite(value))
    return std::abs(exact) > 3.40e38 && std::signbit(value) == std::signbit(exact) ? 0 : INFINITY;
  int exponent = 0;
  std::frexp(std::max(std::abs(exact), 0x1p-126), &exponent);
  return std::abs(value - exact) / std::ldexp(1.0, exponent - 24);
}

struct Function {
  const char *op;
  double (*exact)(double);
  double maxUlps;
};

TEST(ScalarMath, UnaryFunctionsOverAllFloats) {
  const Function functions[] = {
      {"exponential", [](double x) { return std::exp(x); }, 5},
      {"exponential-minus-one", [](double x) { return std::expm1(x); }, 8},
      {"log", [](double x) { return std::log(x); }, 4},
      {"log-plus-one", [](double x) { return std::log1p(x); }, 6},
      {"tanh", [](double x) { return std::tanh(x); }, 8},
      {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }, 8},
      {"erf", [](double x) { return std::erf(x); }, 8},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 3},
      {"sqrt", [](double x) { return std::sqrt(x); }, 4},
      {"cbrt", [](double x) { return std::cbrt(x); }, 5},
  };
  std::vector<float> x = allKinds();
  for (const Function &function : functions) {
    std::vector<float> got = apply(function.op, {x});
    double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (double error = ulps(got[i], function.exact(x[i])); error > worst) {
        worst = error;
        where = i;
      }
    EXPECT_LE(worst, function.maxUlps) << function.op << " of " << x[where] << " is " << got[where]
                                       << ", exact " << function.exact(x[where]);
    RecordProperty(function.op, fmt::format("{:.3g}", worst));
  }
}

TEST(ScalarMath, SineAndCosineToTenThousand) {
  std::vector<float> x;
  for (float value : allKinds())
    x.push_back(std::abs(value) <= 1e4f ? value : std::fmod(1e-33f * value, 1e4f));
  for (float &value : x)
    if (!(std::abs(value) <= 1e4f))
      value = 3;
  for (bool isSine : {true, false}) {
    std::vector<float> got = apply(isSine ? "sine" : "cosine", {x});
    for (size_t i = 0; i < x.size(); ++i) {
      double exact =
          isSine ? std::sin(static_cast<double>(x[i])) : std::cos(static_cast<double>(x[i]));
      ASSERT_LE(std::abs(got[i] - exact), 1.2e-7) << x[i];
      if (isSine && std::abs(x[i]) < 0.7f) {
        ASSERT_LE(ulps(got[i], exact), 2) << x[i];
      }
    }
  }
}

TEST(ScalarMath, QuotientsAreExactWhereTheyAreFloats) {
  std::vector<float> x, y, product = allKinds();
  for (int64_t i = 0; i < count; ++i) {
    x.push_back(static_cast<float>(static_cast<int64_t>(splitmix64(1, i) % 2001) - 1000));
    y.push_back(static_cast<float>(1 + splitmix64(2, i) % 4000));
    product[i] = x[i] * y[i];
  }
  EXPECT_EQ(apply("divide", {product, y}), x);
  std::vector<float> squares, roots;
  for (int64_t i = 0; i < count; ++i) {
    roots.push_back(static_cast<float>(i % 4096));
    squares.push_back(roots.back() * roots.back());
  }
  EXPECT_EQ(apply("sqrt", {squares}), roots);
}

TEST(ScalarMath, QuotientsAndPowersOverAllFloats) {
  std::vector<float> x = allKinds(), y = x;
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = x[splitmix64(3, i) % x.size()];
  std::vector<float> got = apply("divide", {x, y});
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(ulps(got[i], static_cast<double>(x[i]) / static_cast<double>(y[i])), 4.5)
        << x[i] << " / " << y[i];
  for (size_t i = 0; i < y.size(); ++i) // exponents that leave something
    y[i] = i % 3 == 0 ? static_cast<float>(static_cast<int>(i % 23) - 11)
                      : static_cast<float>(splitmix64(4, i) % 20000) * 1e-3f - 10;
  got = apply("power", {x, y});
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    if (std::isnan(exact) || std::abs(exact) > 3e38 || std::abs(exact) < 0x1p-126) {
      ASSERT_LE(ulps(got[i], exact), 1 << 10) << x[i] << " ^ " << y[i];
      continue;
    }
    ASSERT_LE(std::abs(got[i] - exact), 0x1p-16 * std::abs(exact)) << x[i] << " ^ " << y[i];
  }
}

} // namespace
} // namespace tilewright
