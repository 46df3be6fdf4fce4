// The estimates of registers against what ptxas took, of every bundled row that says it.
#include "analysis/support/median.h"
#include "costmodel/estimate.h"
#include "costmodel/measured_plans.h"
#include "costmodel/testing/data.h"

#include <cmath>
#include <map>

namespace tilewright {
namespace {

struct Deviation {
  std::vector<double> relative; ///< |estimated / taken - 1|
  double absolute = 0;

  void add(double estimated, double taken) {
    relative.push_back(std::abs(estimated / taken - 1));
    absolute += std::abs(estimated - taken);
  }
  double median() const { return medianOf(relative); }
  double mean() const { return absolute / double(relative.size()); }
};

/// Constants of analysis/tiling/register_costs.def.
TEST(Registers, OfOurOwnKernelsAsTaken) {
  std::map<std::string, Deviation> kinds;
  for (const char *name : {"check", "models", "sweep"}) {
    Table table = llvm::cantFail(
        Table::read(fmt::format("datasets/measurements/h100-sxm/tilewright-1/{}.csv.gz", name)));
    MeasuredPlans plans;
    ASSERT_FALSE(plans.readProblems(table));
    for (size_t i : rowsThatCount(table)) {
      const TableRow row(table, i);
      const std::optional<double> taken = llvm::cantFail(row.number("regs"));
      if (!taken || row.text("regime") != "warm")
        continue;
      auto plan = plans.planOf(row);
      ASSERT_TRUE(static_cast<bool>(plan)) << takeDiag(plan.takeError()).str();
      kinds[std::string(row.text("kind"))].add(
          llvm::cantFail(estimateResources(*plan, testing::h100())).registers, *taken);
    }
  }
  ASSERT_GE(kinds.size(), 4u);
  for (auto &[kind, deviation] : kinds) {
    EXPECT_GE(deviation.relative.size(), 5u) << kind;
    // Elementwise kernels have few: ptxas takes two or three more or less.
    EXPECT_LT(deviation.median(), kind == "elementwise" ? 0.25 : 0.15)
        << kind << ": " << deviation.mean() << " registers";
  }
}

/// Constants of costmodel/resources.cpp.
TEST(Registers, OfTritonsKernelsAsTaken) {
  TemplateLibrary library = testing::bundledTemplates();
  for (const char *file : {"gemm.csv.gz", "memory.csv.gz", "attention.csv.gz"}) {
    int n = 0;
    Table table = testing::measured(file, [&](std::string_view) { return n++ % 41 == 0; });
    Deviation deviation;
    for (size_t i = 0; i < table.rowCount(); ++i) {
      const TableRow row(table, i);
      const std::optional<double> taken = llvm::cantFail(row.number("regs"));
      const std::optional<size_t> number = library.match(row);
      if (!taken || *taken == 0 || !number)
        continue;
      KernelPlan plan = llvm::cantFail(library.planOf(*number, row, testing::h100()));
      deviation.add(llvm::cantFail(estimateResources(plan, testing::h100())).registers, *taken);
    }
    EXPECT_GE(deviation.relative.size(), 5u) << file;
    EXPECT_LT(deviation.mean(), 9) << file;
  }
}

} // namespace
} // namespace tilewright
