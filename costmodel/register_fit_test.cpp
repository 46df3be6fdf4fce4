// Fits the constants of the register estimates to what ptxas took of measured kernels, and compares
// with those that are committed. With TILEWRIGHT_UPDATE_REGISTERS set it writes them anew
// (scripts/fit_registers.sh).
//
// The fit minimises a loss that grows with the square of small deviations and with the amount of
// large ones. It walks over whole multiples of a unit, from a neutral start and from what is
// committed, and takes the better end: what is committed is what no walk improves on.
#include "analysis/tiling/register_costs.h"
#include "analysis/tiling/resources.h"
#include "costmodel/measured_plans.h"
#include "costmodel/resources.h"
#include "costmodel/testing/data.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <regex>

namespace tilewright {
namespace {

/// One deviation, of a kernel for which `estimated` registers are expected and `taken` were.
double registerLoss(double estimated, double taken) {
  constexpr double unit = 8; // in which registers are allocated
  const double d = (estimated - taken) / unit;
  return std::sqrt(1 + d * d) - 1;
}

struct Descent {
  std::vector<int64_t> values;
  double loss = 0;
  bool converged = false;
};

/// Lowers `lossOf(values)` by steps of one value, and of two in opposite directions, one of them as
/// wide or less, from wide steps to single units, until none helps. Values stay above -1.
template <class Loss>
Descent descend(std::vector<int64_t> start, int64_t widest, const Loss &lossOf, int maxRounds) {
  Descent d{std::move(start), 0, false};
  d.loss = lossOf(d.values);
  auto moves = [&](std::initializer_list<std::pair<size_t, int64_t>> steps) {
    bool helped = false;
    while (true) {
      for (auto [i, step] : steps)
        d.values[i] += step;
      bool isWithin = true;
      for (auto [i, step] : steps)
        isWithin = isWithin && d.values[i] >= 0;
      const double loss = isWithin ? lossOf(d.values) : d.loss;
      if (loss < d.loss * (1 - 1e-12)) {
        d.loss = loss;
        helped = true;
        continue;
      }
      for (auto [i, step] : steps)
        d.values[i] -= step;
      return helped;
    }
  };
  for (int round = 0; round < maxRounds && !d.converged; ++round) {
    bool helped = false;
    for (int64_t step = widest; step > 0; step /= 2) {
      const size_t n = d.values.size();
      for (size_t i = 0; i < n; ++i)
        helped = helped | moves({{i, step}}) | moves({{i, -step}});
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
          for (int64_t other = i == j ? 0 : step; other > 0; other /= 4)
            helped = helped | moves({{i, step}, {j, -other}}) | moves({{i, -step}, {j, other}});
    }
    d.converged = !helped;
  }
  return d;
}

/// The one of less loss, from a neutral start or from what is committed: neither may lead lower.
Descent best(Descent neutral, Descent committed) {
  return neutral.loss < committed.loss * (1 - 1e-9) ? neutral : committed;
}

constexpr int maxRounds = 200;

// Kernels of our own ---------------------------------------------------------------------------

struct OwnKernel {
  KernelPlan plan;   ///< owns the expressions' context
  Expr registers;    ///< in the costs alone
  double most = 255; ///< that a thread of such a CTA can have
  double taken = 0;
};

/// A variable of the context for each cost.
RegisterCosts costVariables(ExprContext &ctx) {
  RegisterCosts costs;
  for (size_t i = 0; i < costs.size(); ++i)
    costs[i] = ctx.variable(VarKind::TileParam,
                            fmt::format("cost_{}", registerCostFacts(RegisterCost(i)).constant));
  return costs;
}

OwnKernel ownKernel(const KernelPlan &plan, const DeviceLimits &limits, double taken) {
  ExprContext &ctx = plan.tiled->space.parameters.front().size.context();
  const CodeChoice code = codeOf(plan.ops(), *plan.tiled, plan.instruction);
  const Resources r = resourcesByKind(plan.ops(), *plan.tiled, code, limits, costVariables(ctx));
  const Assignment point = plan.assignment();
  auto known = [&](VarId id) {
    auto value = point.get(id);
    return value ? ctx.constant(*value) : Expr();
  };
  OwnKernel kernel{plan, substitute(r.registersPerThread, known), 0, taken};
  Assignment costs = point; // the number of threads may hang on the registers
  for (size_t i = 0; i < size_t(RegisterCost::Count); ++i)
    costs.set(costVariables(ctx)[i], registerCostFacts(RegisterCost(i)).sixteenths);
  const int64_t threads = evaluate(r.threads, costs).value_or(32);
  kernel.most =
      double(std::min(limits.registersPerThread, limits.registersPerSm / threads / 8 * 8));
  return kernel;
}

/// Each kernel of the runner's files once, by kind of code and instruction; a later file replaces
/// what an earlier one says of a plan. Kernels that spill say nothing.
std::map<std::string, std::vector<OwnKernel>> ownKernels() {
  std::map<std::pair<std::string, std::string>, std::pair<std::string, OwnKernel>> byPlan;
  const DeviceLimits limits = testing::h100().limits;
  for (const char *name :
       {"kernels", "tilewright-1/check", "tilewright-1/models", "tilewright-1/sweep",
        "tilewright-2/attention", "tilewright-2/models", "tilewright-2/sweep"}) {
    Table table =
        llvm::cantFail(Table::read(fmt::format("datasets/measurements/h100-sxm/{}.csv.gz", name)));
    MeasuredPlans plans;
    llvm::cantFail(plans.readProblems(table));
    for (size_t i : rowsThatCount(table)) {
      const TableRow row(table, i);
      const double taken = llvm::cantFail(row.number("regs")).value_or(0);
      if (taken == 0 || row.text("regime") != "warm" || row.text("local_bytes") != "0")
        continue;
      auto plan = plans.planOf(row);
      if (!plan) { // what was measured then may have no code now
        llvm::consumeError(plan.takeError());
        continue;
      }
      const CodeChoice code = codeOf(plan->ops(), *plan->tiled, plan->instruction);
      byPlan[{std::string(row.text("problem")), std::string(row.text("plan"))}] = {
          fmt::format("{} {}", toString(code.kind), toString(code.instruction)),
          ownKernel(*plan, limits, taken)};
    }
  }
  std::map<std::string, std::vector<OwnKernel>> result;
  for (auto &[key, kernel] : byPlan)
    result[kernel.first].push_back(std::move(kernel.second));
  return result;
}

/// The fitted costs that the kernels' registers depend on, all others as they are committed.
std::vector<RegisterCost> fittedCosts(const std::vector<OwnKernel> &kernels) {
  std::vector<RegisterCost> result;
  for (size_t i = 0; i < size_t(RegisterCost::Count); ++i) {
    bool isRead = false;
    for (const OwnKernel &kernel : kernels) {
      const Expr cost = costVariables(kernel.registers.context())[i];
      for (VarId id : variablesOf(kernel.registers))
        isRead = isRead || id == cost.variable();
    }
    if (isRead && registerCostFacts(RegisterCost(i)).origin == RegisterCostFacts::Origin::Fitted)
      result.push_back(RegisterCost(i));
  }
  return result;
}

struct ConstantsFit {
  std::map<std::string, double> values; ///< by the name of the constant
  std::string summary;
  bool converged = true;
};

void addDeviation(ConstantsFit &fit, const std::string &kind, size_t kernels, double before,
                  double after) {
  fit.summary += fmt::format("{:<22} {:5} kernels, mean deviation {:5.2f} registers as committed, "
                             "{:5.2f} as fitted\n",
                             kind, kernels, before, after);
}

ConstantsFit fitOwnCosts() {
  ConstantsFit fit;
  for (auto &[kind, kernels] : ownKernels()) {
    const std::vector<RegisterCost> costs = fittedCosts(kernels);
    if (costs.empty())
      continue;
    std::vector<Assignment> points(kernels.size());
    auto estimated = [&](size_t k) {
      const double raw = double(evaluate(kernels[k].registers, points[k]).value_or(0));
      return std::min(raw, kernels[k].most);
    };
    auto deviation = [&] {
      double sum = 0;
      for (size_t k = 0; k < kernels.size(); ++k)
        sum += std::abs(estimated(k) - kernels[k].taken);
      return sum / double(kernels.size());
    };
    std::vector<std::vector<VarId>> ids; // of the costs, a kernel
    for (size_t k = 0; k < kernels.size(); ++k) {
      const RegisterCosts variables = costVariables(kernels[k].registers.context());
      for (size_t i = 0; i < variables.size(); ++i)
        points[k].set(variables[i], registerCostFacts(RegisterCost(i)).sixteenths);
      ids.emplace_back();
      for (RegisterCost cost : costs)
        ids.back().push_back(variables[size_t(cost)].variable());
    }
    const double before = deviation();
    auto lossOf = [&](const std::vector<int64_t> &values) {
      double loss = 0;
      for (size_t k = 0; k < kernels.size(); ++k) {
        for (size_t i = 0; i < costs.size(); ++i)
          points[k].set(ids[k][i], values[i]);
        loss += registerLoss(estimated(k), kernels[k].taken);
      }
      return loss;
    };
    constexpr int64_t start = 16, widest = 64;
    std::vector<int64_t> committed;
    for (RegisterCost cost : costs)
      committed.push_back(registerCostFacts(cost).sixteenths);
    const Descent d =
        best(descend(std::vector<int64_t>(costs.size(), start), widest, lossOf, maxRounds),
             descend(committed, widest, lossOf, maxRounds));
    fit.converged = fit.converged && d.converged;
    for (size_t i = 0; i < costs.size(); ++i)
      fit.values[std::string(registerCostFacts(costs[i]).constant)] = double(d.values[i]);
    lossOf(d.values); // sets the points
    addDeviation(fit, kind, kernels.size(), before, deviation());
  }
  return fit;
}

// Kernels of Triton's ----------------------------------------------------------------------------

struct TritonConstant {
  std::string_view name;
  double TritonRegisters::*member;
  double value;
  bool isFitted;
};
std::vector<TritonConstant> tritonConstants() {
  constexpr bool Fitted = true, Timed = false, Assumed = false;
  return {
#define TILEWRIGHT_TRITON_REGISTERS(constant, value, origin, of)                                   \
  {#constant, &TritonRegisters::constant, value, origin},
#include "costmodel/triton_registers.def"
  };
}

struct TritonKernel {
  RegisterFacts<double> facts;
  double warps = 0, taken = 0;
};

std::string tritonKind(const RegisterFacts<double> &f) {
  if (f.dots > 1)
    return "Chain";
  if (f.dots == 1)
    return f.instruction == Instruction::Wgmma     ? "Wgmma"
           : f.instruction == Instruction::MmaSync ? "Mma"
                                                   : "Fma";
  return f.loop ? "Loop" : f.keptElements > 0 ? "Kept" : "Direct";
}

/// Kernels that differ in what the estimate reads or in what was taken, once each.
std::map<std::string, std::vector<TritonKernel>> tritonKernels() {
  std::map<std::string, std::map<std::vector<double>, TritonKernel>> byFacts;
  const Device device = testing::h100();
  for (const char *file :
       {"gemm.csv.gz", "gemm_variants.csv.gz", "memory.csv.gz", "attention.csv.gz"}) {
    TemplateLibrary library = testing::bundledTemplates();
    Table table = testing::measured(file, [](std::string_view) { return true; });
    for (size_t i = 0; i < table.rowCount(); ++i) {
      const TableRow row(table, i);
      const double taken = llvm::cantFail(row.number("regs")).value_or(0);
      const std::optional<size_t> number = library.match(row);
      constexpr double most = 255; // as many, or more that were spilled
      if (taken == 0 || taken >= most || !number)
        continue;
      KernelPlan plan = llvm::cantFail(library.planOf(*number, row, device));
      TritonKernel kernel{llvm::cantFail(registerFactsOf(plan, device)),
                          llvm::cantFail(row.number("warps")).value_or(4), taken};
      const RegisterFacts<double> &f = kernel.facts;
      byFacts[tritonKind(f)].try_emplace({f.accumulators, f.innerAccumulators, f.copies,
                                          f.relayoutWords, f.loadedWords, f.loopAccumulators,
                                          f.keptElements, f.broadcastElements, f.unroll, f.rows,
                                          double(f.masked), double(f.packed), double(f.walksRows),
                                          double(f.tables), kernel.warps, taken},
                                         kernel);
    }
  }
  std::map<std::string, std::vector<TritonKernel>> result;
  for (auto &[kind, kernels] : byFacts)
    for (auto &[key, kernel] : kernels)
      result[kind].push_back(kernel);
  return result;
}

ConstantsFit fitTritonConstants() {
  ConstantsFit fit;
  const DeviceLimits limits = testing::h100().limits;
  for (auto &[kind, kernels] : tritonKernels()) {
    constexpr double units = 1000; // of a constant
    std::vector<TritonConstant> constants;
    for (const TritonConstant &constant : tritonConstants())
      if (constant.isFitted && constant.name.starts_with(kind))
        constants.push_back(constant);
    if (constants.empty())
      continue;
    auto with = [&](const std::vector<int64_t> &values) {
      TritonRegisters of;
      for (size_t i = 0; i < constants.size(); ++i)
        of.*constants[i].member = double(values[i]) / units;
      return of;
    };
    auto estimated = [&](const TritonKernel &kernel, const TritonRegisters &of) {
      const double most = std::min<double>(double(limits.registersPerThread),
                                           double(limits.registersPerSm) / (32 * kernel.warps));
      return std::min(estimateRegisters(kernel.facts, kernel.warps, limits, of), most);
    };
    auto deviation = [&](const TritonRegisters &of) {
      double sum = 0;
      for (const TritonKernel &kernel : kernels)
        sum += std::abs(estimated(kernel, of) - kernel.taken);
      return sum / double(kernels.size());
    };
    auto lossOf = [&](const std::vector<int64_t> &values) {
      const TritonRegisters of = with(values);
      double loss = 0;
      for (const TritonKernel &kernel : kernels)
        loss += registerLoss(estimated(kernel, of), kernel.taken);
      return loss;
    };
    std::vector<int64_t> committed;
    for (const TritonConstant &constant : constants)
      committed.push_back(std::llround(constant.value * units));
    const Descent d = best(
        descend(std::vector<int64_t>(constants.size(), int64_t(units)), 8192, lossOf, maxRounds),
        descend(committed, 8192, lossOf, maxRounds));
    fit.converged = fit.converged && d.converged;
    for (size_t i = 0; i < constants.size(); ++i)
      fit.values[std::string(constants[i].name)] = double(d.values[i]) / units;
    addDeviation(fit, kind, kernels.size(), deviation(TritonRegisters()),
                 deviation(with(d.values)));
  }
  return fit;
}

// What is committed ------------------------------------------------------------------------------

constexpr const char *ownFile = "analysis/tiling/register_costs.def",
                     *tritonFile = "costmodel/triton_registers.def";

/// The text of a file of constants with other values of those that are named.
std::string withValues(std::string text, const std::map<std::string, double> &values) {
  for (const auto &[name, value] : values)
    text = std::regex_replace(text, std::regex("\\(" + name + ", [0-9.]+,"),
                              fmt::format("({}, {:.6g},", name, value));
  return text;
}

/// The text of a file with the constants of a fit; of one that did not converge there is none.
std::optional<std::string> fittedText(const ConstantsFit &fit, const std::string &committed) {
  if (!fit.converged || fit.values.empty())
    return std::nullopt;
  return withValues(committed, fit.values);
}

/// Writes the constants of a fit, or compares the file with them.
void writeOrCompare(const ConstantsFit &fit, const std::string &file) {
  const std::string committed = llvm::cantFail(readFile(file));
  const std::optional<std::string> fitted = fittedText(fit, committed);
  ASSERT_TRUE(fitted) << "the fit did not converge\n" << fit.summary;
  if (std::getenv("TILEWRIGHT_UPDATE_REGISTERS")) {
    llvm::cantFail(writeFileAtomically(file, *fitted));
    fmt::print("{}:\n{}", file, fit.summary);
    return;
  }
  EXPECT_EQ(committed, *fitted) << "scripts/fit_registers.sh writes what the data give\n"
                                << fit.summary;
}

TEST(RegisterFit, OfOurOwnKernels) {
  const ConstantsFit fit = fitOwnCosts();
  for (size_t i = 0; i < size_t(RegisterCost::Count); ++i) {
    const RegisterCostFacts &facts = registerCostFacts(RegisterCost(i));
    EXPECT_EQ(fit.values.count(std::string(facts.constant)),
              facts.origin == RegisterCostFacts::Origin::Fitted)
        << facts.constant;
  }
  writeOrCompare(fit, ownFile);
}

TEST(RegisterFit, OfTritonsKernels) {
  const ConstantsFit fit = fitTritonConstants();
  for (const TritonConstant &constant : tritonConstants())
    EXPECT_EQ(fit.values.count(std::string(constant.name)), constant.isFitted) << constant.name;
  writeOrCompare(fit, tritonFile);
}

/// Nothing is written of a fit that did not converge.
TEST(RegisterFit, WhatDidNotConvergeIsNotWritten) {
  ConstantsFit fit{{{"MmaBase", 1.5}}, "", false};
  EXPECT_FALSE(fittedText(fit, "COST(MmaBase, 2, x)"));
  fit.converged = true;
  EXPECT_EQ(fittedText(fit, "COST(MmaBase, 2, x)"), "COST(MmaBase, 1.5, x)");
  EXPECT_FALSE(fittedText(ConstantsFit(), "COST(MmaBase, 2, x)"));
}

/// Known constants are found again, also where they pull against each other.
TEST(RegisterFit, DescentFindsWhatMadeTheNumbers) {
  const std::vector<int64_t> made = {241, 16, 37};
  auto lossOf = [&](const std::vector<int64_t> &v) {
    double loss = 0;
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b)
        loss += registerLoss(double(v[0] + v[1] * a + v[2] * b * b),
                             double(made[0] + made[1] * a + made[2] * b * b));
    return loss;
  };
  const Descent d = descend({16, 16, 16}, 64, lossOf, maxRounds);
  EXPECT_TRUE(d.converged);
  EXPECT_EQ(d.values, made);
  EXPECT_FALSE(descend({16, 16, 16}, 64, lossOf, 1).converged);
}

} // namespace
} // namespace tilewright
