// Built programs against the graph's evaluator, for tests.
#pragma once

#include "analysis/affine/linear_form.h"
#include "analysis/import/hlo_text.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/numeric.h"
#include "analysis/program/build/build.h"
#include "analysis/program/fold.h"
#include "analysis/program/infer.h"
#include "analysis/program/interpret.h"
#include "analysis/program/pass/clip.h"
#include "analysis/program/pass/exponents.h"
#include "analysis/program/pass/online.h"
#include "analysis/program/pass/pipeline.h"
#include "analysis/program/pass/roles.h"
#include "analysis/program/pass/stage.h"
#include "analysis/program/pass/unmask.h"
#include "analysis/program/pass/vectorise.h"
#include "analysis/program/text.h"
#include "analysis/program/verify.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/plan_text.h"
#include "codegen/extract.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace tilewright::program::testing {

/// Elements in the order of memory, as programs see tensors.
inline Tensor inMemoryOrder(const Tensor &logical, const Shape &shape) {
  std::vector<int64_t> dims, order = shape.minorToMajorOrDefault();
  for (size_t i = order.size(); i-- > 0;)
    dims.push_back(shape.dims[static_cast<size_t>(order[i])]);
  Tensor result(Shape::tensor(shape.dtype, dims));
  std::vector<int64_t> from = physicalOrder(shape);
  for (size_t i = 0; i < from.size(); ++i)
    result.words()[i] = logical.words()[static_cast<size_t>(from[i])];
  return result;
}

/// Relative error of a value that is rounded once more or less than the reference's.
inline double toleranceOf(DType type) {
  if (!isFloat(type))
    return 0;
  FloatFormat format = floatFormat(type);
  return type == DType::F64 ? 1e-9 : std::ldexp(4.0, -int(std::min(format.mantissaBits, 17u)));
}

inline bool isClose(double have, double want, double tolerance) {
  if (std::isnan(want) || std::isnan(have))
    return std::isnan(want) && std::isnan(have);
  if (std::isinf(want) || std::isinf(have))
    return want == have;
  return std::abs(have - want) <= tolerance * (1 + std::abs(want));
}

/// Every vector of a concrete program's loads and stores lies in one piece in memory, aligned, and
/// counts as a whole, at all CTAs, steps and lanes. Values in indices are any numbers.
class VectorChecker {
public:
  explicit VectorChecker(const Program &program) : p(program) {}
  size_t vectors = 0;

  void run() {
    forEachOp(p.body, [&](const program::Op &op, const LoopNest &) {
      const Access *access = accessOf(op);
      const Tile *tile = op.as<LoadOp>() ? &p[op.results[0]].tile : nullptr;
      std::optional<Layout> layout;
      AxisSet axes = access ? p.axesOf(*access) : AxisSet{};
      if (tile) {
        layout = tile->layout;
        axes = tile->axes;
      } else if (const auto *store = op.as<StoreOp>()) {
        layout = program::layoutOf(p, store->value, axes);
        if (store->layout)
          layout = p.layoutFor(*store->layout, axes, store->value.type());
      }
      if (!layout || layout->registers.empty() || layout->registers[0].extent.isConstant(1))
        return;
      const Digit &digit = layout->registers[0];
      if (!digit.stride.isConstant(1) || !digit.axis.isValid())
        return;
      forEachPlace(op, *access, axes, digit.axis, digit.extent.constant());
    });
  }

private:
  /// Calls visit for all values of the variables in turn.
  static void forAll(std::vector<std::pair<VarId, int64_t>> variables, Assignment &at,
                     const std::function<void()> &visit) {
    if (variables.empty())
      return visit();
    auto [var, count] = variables.back();
    variables.pop_back();
    for (int64_t i = 0; i < count; ++i) {
      at.set(var, i);
      forAll(variables, at, visit);
    }
  }

  void forEachPlace(const program::Op &op, const Access &access, const AxisSet &axes, AxisId along,
                    int64_t lanes) {
    std::vector<std::pair<VarId, int64_t>> variables;
    for (const GridVariable &variable : p.grid.variables)
      variables.push_back({variable.var.variable(), variable.count.constant()});
    std::set<VarId> steps;
    forEachOp(p.body, [&](const program::Op &loop, const LoopNest &) {
      if (const auto *o = loop.as<ForOp>(); o && steps.insert(o->var.variable()).second)
        variables.push_back({o->var.variable(), o->trips.constant()});
    });
    std::map<AxisId, VarId> laneOf;
    for (AxisId axis : axes) {
      VarId lane = p.context->freshVariable(VarKind::Range, "lane").variable();
      laneOf[axis] = lane;
      int64_t count = p[axis].extent.constant();
      variables.push_back({lane, axis == along ? (count + lanes - 1) / lanes : count});
    }
    constexpr int64_t mostPlaces = 5000;
    int64_t places = lanes;
    for (const auto &[var, count] : variables)
      places *= count;
    if (places > mostPlaces)
      return;
    Assignment at;
    uint64_t state = 1;
    for (const Value &value : p.values)
      at.set(value.var.variable(), static_cast<int64_t>((state = state * 25214903917 + 11) >> 40));
    forAll(variables, at, [&] {
      std::optional<int64_t> first;
      bool isAlong = true, isFirstCounting = false;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        bool counts = true;
        for (AxisId axis : axes) {
          int64_t offset = *at.get(laneOf[axis]);
          offset = axis == along ? offset * lanes + lane : offset;
          counts = counts && offset < p[axis].extent.constant();
          int64_t place = *evaluate(p[axis].origin, at) + offset;
          counts = counts && (!p[axis].bound || place < p[axis].bound.constant());
          at.set(p[axis].var.variable(), place);
        }
        if (const auto *load = op.as<LoadOp>())
          for (const Condition &c : load->conditions)
            counts = counts && *evaluate(c.value, at) >= *evaluate(c.low, at) &&
                     *evaluate(c.value, at) < *evaluate(c.high, at);
        int64_t position = 0;
        for (size_t d = 0; d < access.index.size(); ++d) {
          int64_t index = *evaluate(access.index[d], at), dim = p[access.tensor].dims[d].constant();
          counts = counts && index >= 0 && index < dim;
          position = position * dim + index;
        }
        if (lane == 0) {
          first = position;
          isFirstCounting = counts;
        }
        isAlong = isAlong && (!counts || position == *first + lane) && counts == isFirstCounting;
      }
      if (isFirstCounting) {
        ++vectors;
        notAlong += !isAlong || *first % lanes != 0;
      }
    });
    // Either the access is along memory everywhere, or it is loaded element by element.
    EXPECT_TRUE(notAlong == 0 || !isVectorised(access, along)) << printOp(p, op);
    notAlong = 0;
  }

  /// Whether an access looks as if it runs along memory.
  bool isVectorised(const Access &access, AxisId along) const {
    Expr last;
    for (size_t d = 0; d < access.index.size(); ++d)
      if (!p[access.tensor].dims[d].isConstant(1))
        last = access.index[d];
    return last && LinearForm::of(last).coefficientOf(p[along].var) == 1;
  }

  const Program &p;
  size_t notAlong = 0;
};

struct BuiltCounts {
  size_t built = 0, runs = 0;
  std::map<std::string, size_t> reasons; ///< why there was no program, by message
};

/// The entry of a module, extracted, as a kernel.
class BuiltKernel {
public:
  BuiltKernel(std::string name, std::shared_ptr<const Module> module, KernelPlan plan)
      : name(std::move(name)), module(std::move(module)), plan(std::move(plan)) {}

  const Graph &graph() const { return module->entry(); }
  const TiledGroup &group() const { return *plan.tiled; }

  /// Builds for the values' variant, verifies with and without numbers, runs. A reason where there
  /// is no program.
  std::string check(const std::vector<int64_t> &values, uint64_t seed,
                    Instruction instruction = Instruction::Fma) {
    auto variant = variantOf(graph(), group(), values, instruction);
    if (!variant)
      return reasonOf(variant.takeError());
    Program *symbolic = programFor(*variant);
    if (!symbolic)
      return reason;
    SizeValues sizes = sizesOf(*symbolic, group(), values);
    std::string where = name;
    for (const auto &[size, value] : sizes)
      where += fmt::format(" {}={}", size, value);
    SCOPED_TRACE(where + "\n" + printProgram(*symbolic) + printHlo(*module));
    Verification open = verify(*symbolic);
    for (const Requirement &requirement : open.requirements)
      EXPECT_EQ(requirement.formula.evaluate(assignmentOf(*symbolic, sizes)), true)
          << "V" << requirement.rule << ": " << requirement.message;
    auto concrete = substituteSizes(*symbolic, sizes);
    EXPECT_TRUE(bool(concrete));
    if (!concrete)
      return takeDiag(concrete.takeError()).message;
    Verification closed = verify(*concrete);
    for (const Violation &violation : closed.violations)
      ADD_FAILURE() << "V" << violation.rule << ": " << violation.message;
    EXPECT_TRUE(closed.requirements.empty());
    run(*concrete, seed);
    checkPasses(*symbolic, values, sizes, seed, variant->instruction);
    return "";
  }

  /// The same after passes: loops fused and clipped, staged where something is transposed, with
  /// vectors.
  void checkPasses(const Program &plain, const std::vector<int64_t> &values,
                   const SizeValues &sizes, uint64_t seed, Instruction instruction) {
    Program program = plain;
    auto fused = online(program);
    if (fused) {
      program = std::move(fused->program);
      ++fusions;
    } else {
      llvm::consumeError(fused.takeError());
    }
    auto clipped = clip(program, group(), values);
    if (clipped) {
      program = std::move(clipped->program);
      ++clips;
    } else {
      llvm::consumeError(clipped.takeError());
    }
    auto exponents = quickExponents(program);
    if (exponents) {
      program = std::move(*exponents);
      ++quick;
    } else {
      llvm::consumeError(exponents.takeError());
    }
    auto whole = unmask(program);
    if (whole) {
      program = std::move(*whole);
      ++unmasked;
    } else {
      llvm::consumeError(whole.takeError());
    }
    auto staged = stage(program);
    if (staged) {
      program = std::move(staged->program);
      ++stagings;
    } else {
      llvm::consumeError(staged.takeError());
    }
    auto vectorised = vectorise(program);
    if (vectorised)
      program = std::move(vectorised->program);
    else
      llvm::consumeError(vectorised.takeError());
    SizeValues all = sizes;
    // Of warpgroups a producer runs the copies.
    auto ahead = instruction == Instruction::Wgmma ? produce(program) : pipeline(program);
    if (ahead) {
      program = std::move(*ahead);
      const std::vector<std::string> free = freeSizes(program);
      if (std::find(free.begin(), free.end(), "stages") != free.end()) // a loop copies
        all["stages"] = 1 + static_cast<int64_t>(seed % 3);
      ++pipelines;
    } else {
      llvm::consumeError(ahead.takeError());
    }
    SCOPED_TRACE(printProgram(program));
    expectText(program);
    auto concrete = substituteSizes(program, all);
    ASSERT_TRUE(bool(concrete)) << takeDiag(concrete.takeError()).str();
    for (const Violation &violation : verify(*concrete).violations)
      ADD_FAILURE() << "V" << violation.rule << ": " << violation.message;
    VectorChecker checker(*concrete);
    checker.run();
    vectors += checker.vectors;
    run(*concrete, seed);
  }
  double leastTolerance = 0; ///< where operands of sums are rounded otherwise
  size_t fusions = 0, clips = 0, quick = 0, unmasked = 0, stagings = 0, vectors = 0, pipelines = 0;

  /// Null where there is none, with `reason`.
  Program *programFor(const Variant &variant) {
    for (auto &[known, program] : programs)
      if (known == variant)
        return program ? &*program : nullptr;
    auto built = buildProgram(*module, graph(), group(), variant);
    programs.push_back({variant, std::nullopt});
    if (!built) {
      reason = reasonOf(built.takeError());
      return nullptr;
    }
    programs.back().second = std::move(*built);
    Program &program = *programs.back().second;
    SCOPED_TRACE(name + "\n" + printProgram(program) + printHlo(*module));
    for (const Violation &violation : verify(program).violations)
      ADD_FAILURE() << "V" << violation.rule << ": " << violation.message;
    expectText(program);
    return &program;
  }

  std::string reason;
  std::vector<std::pair<Variant, std::optional<Program>>> programs;

private:
  static std::string reasonOf(llvm::Error error) {
    Diag diag = takeDiag(std::move(error));
    EXPECT_EQ(diag.cls, DiagClass::Unsupported) << diag.message;
    return diag.message;
  }

  static void expectText(const Program &program) {
    std::string text = printProgram(program);
    auto parsed = parseProgram(text);
    ASSERT_TRUE(bool(parsed)) << takeDiag(parsed.takeError()).str() << text;
    EXPECT_EQ(printProgram(*parsed), text);
    for (const Violation &violation : verify(*parsed).violations)
      ADD_FAILURE() << "read again, V" << violation.rule << ": " << violation.message;
  }

  void run(const Program &program, uint64_t seed) {
    std::vector<Tensor> arguments = fillArguments(*module, module->entryId, seed), inputs;
    auto wanted = tilewright::evaluate(*module, module->entryId, arguments);
    ASSERT_TRUE(bool(wanted)) << takeDiag(wanted.takeError()).str();
    for (OpId id : group().group.inputs)
      inputs.push_back(inMemoryOrder(
          arguments[static_cast<size_t>(graph()[id].attrs.parameterNumber)], graph()[id].shape));
    RunOptions options;
    options.seed = seed;
    auto got = interpret(program, inputs, options);
    ASSERT_TRUE(bool(got)) << takeDiag(got.takeError()).str();
    std::vector<OpId> results = resultsOf(graph());
    for (size_t r = 0; r < group().group.roots.size(); ++r) {
      OpId root = group().group.roots[r];
      auto at = std::find(results.begin(), results.end(), root);
      Tensor want =
          inMemoryOrder((*wanted)[static_cast<size_t>(at - results.begin())], graph()[root].shape);
      double tolerance = std::max(toleranceOf(want.dtype()), leastTolerance);
      for (int64_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(isClose(got->results[r].asDouble(i), want.asDouble(i), tolerance))
            << "%" << graph()[root].name << " element " << i << ": " << got->results[r].asDouble(i)
            << ", not " << want.asDouble(i);
    }
  }

  std::string name;
  std::shared_ptr<const Module> module;
  KernelPlan plan;
};

/// Values that the group accepts, by a seed; nothing where none is found.
inline std::optional<std::vector<int64_t>> drawValues(const TiledGroup &group,
                                                      std::mt19937_64 &random) {
  constexpr int tries = 40;
  for (int i = 0; i < tries; ++i) {
    std::vector<int64_t> values;
    for (const TileParameter &parameter : group.space.parameters) {
      int64_t value = 1;
      if (parameter.name == "warps")
        value = int64_t{1} << (random() % 4);
      else if (parameter.role != TileParameter::Role::Schedule)
        value =
            random() % 3 == 0 || i % 4 == 3
                ? parameter.largest()
                : 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(parameter.largest()));
      values.push_back(value);
    }
    if (isFeasible(group, values).value_or(false))
      return values;
  }
  return std::nullopt;
}

} // namespace tilewright::program::testing
