// Every op of the dialects, once in the short form and once in the generic form: both give the same
// graph, which computes what the same program in HLO does.
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/import/module_equal.h"
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/ir/evaluator.h"
#include "analysis/support/testing/document.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace tilewright;

namespace {

using Modules = std::map<std::string, Module>;

Modules modulesOf(const std::string &name) {
  const std::string path = "tests/import/stablehlo/" + name;
  llvm::Expected<std::string> text = readFile(path);
  Modules modules;
  if (!text) {
    ADD_FAILURE() << takeDiag(text.takeError()).str();
    return modules;
  }
  llvm::Expected<std::vector<Module>> read =
      importModules(std::make_shared<const SourceBuffer>(path, std::move(*text)));
  if (!read) {
    ADD_FAILURE() << takeDiag(read.takeError()).str();
    return modules;
  }
  for (Module &module : *read)
    modules.emplace(module.name, std::move(module));
  return modules;
}

/// Ops and what they work on, without names.
std::string nameless(const Module &module) {
  std::string out;
  for (const Graph &graph : module.all()) {
    out += fmt::format("graph, root {}\n", graph.root().index);
    for (const Op &op : graph.all()) {
      out += fmt::format("{} {} {}", toString(op.opcode), op.shape.str(), op.literal);
      for (OpId operand : op.operands)
        out += fmt::format(" {}", operand.index);
      for (const CalledGraph &called : op.called)
        out += fmt::format(" calls {} {}", static_cast<int>(called.role), called.graph.index);
      for (const RawAttribute &raw : op.rawAttrs)
        if (raw.text.find('%') == std::string::npos) // no computation
          out += fmt::format(" {}={}", raw.name, raw.text);
      out += "\n";
    }
  }
  return out;
}

llvm::Expected<std::vector<Tensor>> run(const Module &module,
                                        const std::vector<Tensor> &arguments) {
  return evaluate(module, module.entryId, arguments);
}

std::vector<Tensor> argumentsOf(const Module &module) {
  return fillArguments(module, module.entryId, 7);
}

bool takesTokens(const Module &module) {
  const std::vector<ArgumentFill> fills = argumentFills(module, module.entryId);
  return std::any_of(fills.begin(), fills.end(), [](const ArgumentFill &fill) {
    return dtypeClass(fill.shape.dtype) == DTypeClass::NonNumeric;
  });
}

/// Ops that the evaluator refuses, with their typed attributes and shapes.
std::vector<std::string> opaqueOps(const Module &module) {
  std::vector<std::string> all;
  for (const Graph &graph : module.all())
    for (const Op &op : graph.all())
      if (opClass(op.opcode) == OpClass::Opaque || opClass(op.opcode) == OpClass::Collective) {
        std::string text = fmt::format("{} {}", toString(op.opcode), op.shape.str(false));
        for (int64_t dim : op.attrs.dimensions)
          text += fmt::format(" {}", dim);
        text += fmt::format(" groups {} of {}", op.attrs.replicaGroups.count,
                            op.attrs.replicaGroups.size);
        all.push_back(std::move(text));
      }
  std::sort(all.begin(), all.end());
  return all;
}

void expectSameValues(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i].shape().sameDimsAndType(b[i].shape()))
        << a[i].shape().str() << " " << b[i].shape().str();
    // Words, not memory: layouts differ.
    EXPECT_TRUE(std::equal(a[i].words().begin(), a[i].words().end(), b[i].words().begin()));
  }
}

} // namespace

TEST(StableHloOps, BothFormsGiveOneGraph) {
  const Modules pretty = modulesOf("ops.mlir"), generic = modulesOf("ops_generic.mlir");
  EXPECT_GT(pretty.size(), 140u);
  EXPECT_EQ(pretty.size(), generic.size());
  for (const auto &[name, module] : pretty) {
    SCOPED_TRACE(name);
    auto it = generic.find(name);
    ASSERT_NE(it, generic.end());
    EXPECT_EQ(nameless(module), nameless(it->second));
  }
}

TEST(StableHloOps, EachIsThere) {
  llvm::Expected<std::string> generic = readFile("tests/import/stablehlo/ops_generic.mlir");
  ASSERT_TRUE(static_cast<bool>(generic));
  size_t read = 0, refused = 0;
  for (const stablehlo::OpRow *row : stablehlo::allOps()) {
    (row->refusal.empty() ? read : refused) += 1;
    EXPECT_EQ(generic->find(fmt::format("\"{}\"", row->name)) != std::string::npos,
              row->refusal.empty())
        << row->name;
    EXPECT_EQ(row->lower == nullptr, !row->refusal.empty()) << row->name;
  }
  EXPECT_GT(read, 140u);
  EXPECT_GT(refused, 15u);
}

namespace {

std::string documentText() {
  std::string text = R"(# StableHLO

Written by `scripts/update_docs.sh`; a test fails when it is out of date.

StableHLO text is read in MLIR's short form and in its generic form, mixed as they come, from a file or from
standard input (`-`), plain or gzip. What a file holds is told by its content, not by its name. A value's name
is its op's: `%cst` is `cst`, `%3 = stablehlo.add` is `add.3`; names and source lines of `loc(…)` are kept as
`metadata`. The entry is `@main`, else the only public function, else the only one that no other calls.

- **Regions** become computations. What a region uses of its surroundings is copied in where it is a constant;
  otherwise a loop carries it behind its own values, and a branch takes it as an operand. A reducer can use
  constants only.
- **Splats** become a scalar and a broadcast. `dense_resource` is a constant whose values are not there.
- **Extents** with a bound are read as HLO's `<=8`, those without as `?`; an op that makes a shape at run time
  is read where its result's type is static, and refused where it isn't.
- **Quantised types** are read as the real numbers that they stand for: what an op results in is divided by
  the scale, rounded, clamped, converted to the integer that is stored, and back. By tensor and by axis, not in
  blocks. A kernel of them is priced as the arithmetic that this is.
- **Attributes** that an op doesn't have are refused, those of other dialects (`mhlo.sharding`) passed over.
  `tf.aliasing_output` and `jax.buffer_donor` are the arguments that may be overwritten.
- **Other dialects**: `func`, `mhlo` (ops of StableHLO's names), `sdy` meshes and sharding constraints. MLIR bytecode
  and VHLO are converted by `scripts/stablehlo_text.py` (jaxlib from PyPI).

| op | becomes |
|---|---|
)";
  for (const stablehlo::OpRow *row : stablehlo::allOps()) {
    std::string becomes = fmt::format("`{}`", toString(row->opcode));
    if (!row->refusal.empty())
      becomes = fmt::format("refused: {}", row->refusal);
    else if (row->lower == stablehlo::lowerQuantize)
      becomes = "the rounding";
    else if (row->lower == stablehlo::lowerDequantize || row->lower == stablehlo::lowerSharding)
      becomes = "its operand";
    else if (row->opcode == Opcode::Parameter || row->name == "chlo.square")
      becomes = "a formula of elementwise ops";
    else if (row->lower == stablehlo::lowerChloUnary)
      becomes += ", of complex numbers a formula";
    else if (row->lower == stablehlo::lowerChloBroadcast)
      becomes += " of spread operands";
    text += fmt::format("| {} | {} |\n", row->name, becomes);
  }
  return text;
}

} // namespace

TEST(StableHloOps, AreDocumented) { expectDocument("docs/stablehlo.md", documentText()); }

TEST(StableHloOps, WhatIsReadPrintsAndReadsBack) {
  for (const auto &[name, module] : modulesOf("ops.mlir")) {
    SCOPED_TRACE(name);
    const std::string text = printHlo(module);
    llvm::Expected<Module> again = importBuffer(std::make_shared<const SourceBuffer>(name, text));
    if (!again) {
      ADD_FAILURE() << takeDiag(again.takeError()).str() << text;
      continue;
    }
    std::string why;
    EXPECT_TRUE(equal(module, *again, &why)) << why;
  }
}

TEST(StableHloOps, ComputeWhatHloComputes) {
  const Modules pretty = modulesOf("ops.mlir"), hlo = modulesOf("ops.hlo.txt");
  size_t evaluated = 0, opaque = 0;
  for (const auto &[name, expected] : hlo) {
    SCOPED_TRACE(name);
    auto it = pretty.find(name);
    ASSERT_NE(it, pretty.end());
    if (takesTokens(it->second)) {
      EXPECT_EQ(opaqueOps(it->second), opaqueOps(expected));
      ++opaque;
      continue;
    }
    const std::vector<Tensor> arguments = argumentsOf(it->second);
    llvm::Expected<std::vector<Tensor>> ours = run(it->second, arguments),
                                        theirs = run(expected, arguments);
    EXPECT_EQ(static_cast<bool>(ours), static_cast<bool>(theirs));
    if (ours && theirs) {
      expectSameValues(*ours, *theirs);
      ++evaluated;
      continue;
    }
    for (llvm::Expected<std::vector<Tensor>> *refused : {&ours, &theirs})
      if (!*refused) {
        EXPECT_EQ(takeDiag(refused->takeError()).cls, DiagClass::Unsupported);
      }
    EXPECT_EQ(opaqueOps(it->second), opaqueOps(expected));
    ++opaque;
  }
  EXPECT_GT(evaluated, 100u);
  EXPECT_LT(opaque, 30u);
}

namespace {

/// The results of a module of one float result on its filled arguments, and those arguments.
struct Values {
  std::vector<Tensor> arguments;
  Tensor result;
};

Values valuesOf(const Modules &modules, const std::string &name, std::vector<double> given = {}) {
  Values values;
  auto it = modules.find(name);
  if (it == modules.end()) {
    ADD_FAILURE() << name;
    return values;
  }
  values.arguments = argumentsOf(it->second);
  for (size_t i = 0; i < given.size(); ++i)
    values.arguments[0].setReal(static_cast<int64_t>(i), given[i]);
  llvm::Expected<std::vector<Tensor>> result = run(it->second, values.arguments);
  if (!result)
    ADD_FAILURE() << takeDiag(result.takeError()).str();
  else
    values.result = std::move(result->front());
  return values;
}

void expectNear(const Modules &modules, const std::string &name, double (*function)(double),
                double tolerance, const std::vector<double> &given = {}) {
  SCOPED_TRACE(name);
  const Values values = valuesOf(modules, name, given);
  for (int64_t i = 0; i < values.result.size(); ++i) {
    const double x = values.arguments[0].real(i), expected = function(x);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(values.result.real(i))) << x;
    else if (std::isinf(expected))
      EXPECT_EQ(values.result.real(i), expected) << x;
    else
      EXPECT_NEAR(values.result.real(i), expected, tolerance * std::max(1.0, std::abs(expected)))
          << x;
  }
}

/// By ψ(x) = ψ(x + 1) - 1/x up to where the asymptotic series holds.
double digammaOf(double x) {
  if (x <= 0 && x == std::floor(x))
    return std::nan("");
  double sum = 0;
  for (; x < 12; ++x)
    sum -= 1 / x;
  const double y = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y / 252));
}

/// exp(-|x|) I₁(x) by its power series.
double besselI1eOf(double x) {
  double term = x / 2, sum = term;
  for (int k = 1; k < 200; ++k) {
    term *= x * x / 4 / (k * (k + 1.0));
    sum += term;
  }
  return sum * std::exp(-std::abs(x));
}

} // namespace

TEST(StableHloOps, FormulasOfChloAreAccurate) {
  const Modules modules = modulesOf("ops.mlir");
  const double infinity = HUGE_VAL;
  const std::vector<double> wide = {0.0,  1e-6, 0.3,  -0.7,  1.0,  -1.0, 2.5, -2.5,
                                    5.75, -6.5, 9.25, -11.5, 30.0, 0.5,  1.5, -0.25};
  expectNear(modules, "chlo_erfc", std::erfc, 1e-6, wide);
  expectNear(modules, "chlo_lgamma", std::lgamma, 3e-5,
             {0.25, 3, 10, -0.5, -1.5, -3.25, 0, -2, infinity, 100, 1, 2});
  expectNear(modules, "chlo_lgamma_of_f64", std::lgamma, 1e-12, {0.25, 3, 10, -0.5, 7.75});
  expectNear(modules, "chlo_digamma", digammaOf, 3e-5, {0.25, 3, 10, -0.5, -1.5, -3.25, 0, -2, 50});
  expectNear(modules, "chlo_bessel_i1e", besselI1eOf, 1e-6, wide);
  expectNear(
      modules, "chlo_square", [](double x) { return x * x; }, 1e-6, wide);
  expectNear(modules, "chlo_atan", std::atan, 1e-6, wide);
  expectNear(modules, "chlo_acosh", std::acosh, 1e-6, {1, 2, 30, 0.5});
  // The inverse is checked by what it inverts.
  for (const char *name : {"chlo_erf_inv", "chlo_erf_inv_of_f64"}) {
    SCOPED_TRACE(name);
    const Values values = valuesOf(modules, name, {0, 0.5, -0.9, 0.9995, 1, -1, 1.5});
    const double tolerance = std::string_view(name).ends_with("64") ? 1e-14 : 1e-6;
    for (int64_t i = 0; i < values.result.size(); ++i)
      if (double x = values.arguments[0].real(i); std::abs(x) < 1) {
        EXPECT_NEAR(std::erf(values.result.real(i)), x, tolerance);
      }
    EXPECT_EQ(values.result.real(4), infinity);
    EXPECT_EQ(values.result.real(5), -infinity);
    EXPECT_TRUE(std::isnan(values.result.real(6)));
  }
}

TEST(StableHloOps, NextAfterIsTheNeighbour) {
  const Values values =
      valuesOf(modulesOf("ops.mlir"), "chlo_next_after", {0, -0.0, 1, -1, 0.5, NAN});
  for (int64_t i = 0; i < values.result.size(); ++i) {
    const auto from = static_cast<float>(values.arguments[0].real(i)),
               to = static_cast<float>(values.arguments[1].real(i));
    if (std::isnan(from))
      EXPECT_TRUE(std::isnan(values.result.real(i)));
    else
      EXPECT_EQ(values.result.real(i), std::nextafter(from, to)) << from << " to " << to;
  }
}

TEST(StableHloOps, FormulasOfComplexNumbersAreAccurate) {
  using Complex = std::complex<double>;
  const Modules modules = modulesOf("ops.mlir");
  const std::pair<const char *, Complex (*)(const Complex &)> functions[] = {
      {"acos", std::acos<double>},   {"acosh", std::acosh<double>}, {"asin", std::asin<double>},
      {"asinh", std::asinh<double>}, {"atan", std::atan<double>},   {"atanh", std::atanh<double>},
      {"cosh", std::cosh<double>},   {"sinh", std::sinh<double>}};
  for (auto [name, function] : functions) {
    SCOPED_TRACE(name);
    const Values values = valuesOf(modules, fmt::format("chlo_{}_of_complex", name));
    ASSERT_GT(values.result.size(), 0);
    for (int64_t i = 0; i < values.result.size(); ++i) {
      const Complex x = values.arguments[0].complex(i);
      EXPECT_NEAR(std::abs(values.result.complex(i) - function(x)), 0, 1e-5) << x;
    }
  }
}

TEST(StableHloOps, QuantizedValuesAreThoseThatTheTypeHolds) {
  const Modules modules = modulesOf("ops.mlir");
  const Values sum = valuesOf(modules, "uniform_quantize", {0, 10, -10, NAN});
  auto quantized = [](double x, double scale, double zero) {
    const double stored =
        std::isnan(x) ? 0.0 : std::clamp(std::nearbyint(x / scale) + zero, -128.0, 127.0);
    return (stored - zero) * scale;
  };
  for (int64_t i = 0; i < sum.result.size(); ++i) {
    const double a = quantized(sum.arguments[0].real(i), 0.025, -3),
                 b = quantized(sum.arguments[1].real(i), 0.025, -3);
    EXPECT_NEAR(sum.result.real(i), quantized(a + b, 0.025, -3), 1e-5);
  }
  const Values byAxis = valuesOf(modules, "quantize_by_axis");
  const double scales[] = {0.01, 0.02, 0.03, 0.04}, zeros[] = {0, 1, -2, 5};
  for (int64_t i = 0; i < byAxis.result.size(); ++i)
    EXPECT_NEAR(byAxis.result.real(i),
                quantized(byAxis.arguments[0].real(i), scales[i / 6], zeros[i / 6]), 1e-5);
}
