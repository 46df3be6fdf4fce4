// Selection tables: ranges, proofs by every value, losses, and the code that is made of them.
#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "costmodel/templates.h"
#include "tools/explore/prepared_model.h"
#include "tools/select/selection_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace tilewright;

namespace {

struct OpenKernel {
  const char *family, *arguments, *size;
  int64_t to = 8192;
};

const OpenKernel groups[] = {
    {"gemm", "n=4096 k=4096 dtype=bf16", "m"},
    {"gemm", "n=1024 k=1024 dtype=f16", "m"},
    {"gemm", "m=4096 k=1024 dtype=bf16", "n"},
    {"gemm_nt", "n=4096 k=1024 dtype=bf16", "m"},
    {"bgemm_nn", "batch=8 n=512 k=64 dtype=bf16", "m"},
    {"bgemm_nt", "m=256 n=256 k=128 dtype=bf16", "batch", 512},
    {"attn", "heads=8 dim=64 dtype=bf16", "seq"},
    {"softmax2d", "n=1024 dtype=bf16", "m"},
    {"rowreduce", "n=4096 dtype=f32", "m"},
    {"colreduce", "n=1024 dtype=bf16", "m"},
    {"bcast2d", "n=2048 dtype=bf16", "m"},
    {"transpose2d", "n=1024 dtype=f32", "m"},
};

class GroupPlans {
public:
  explicit GroupPlans(const OpenKernel &group)
      : group(group), device(llvm::cantFail(loadDevice("h100-sxm"))),
        calibration(llvm::cantFail(defaultCalibration(device))),
        library(llvm::cantFail(TemplateLibrary::load())) {}

  llvm::Expected<KernelPlans> at(int64_t size) const {
    FamilyArguments arguments = llvm::cantFail(parseFamilyArguments(group.arguments));
    arguments.emplace_back(group.size, std::to_string(size));
    PreparedModel model =
        llvm::cantFail(prepareModel(llvm::cantFail(library.moduleOf(group.family, arguments))));
    return kernelPlans(model.module, llvm::cantFail(findKernel(model, "")), device, calibration);
  }

  SelectionTable table(SelectionOptions options) const {
    auto made = makeSelection([&](int64_t size) { return at(size); }, options);
    if (!made) {
      ADD_FAILURE() << takeDiag(made.takeError()).str();
      return {};
    }
    return std::move(*made);
  }

  /// What the table's plan at `size` loses on the best plan that a search finds; the plan is looked
  /// up and priced afresh. Nothing where there is no plan at all.
  std::optional<double> lossAt(const SelectionTable &table, int64_t size, size_t budget) const {
    KernelPlans plans = llvm::cantFail(at(size));
    const PlanRanking best = llvm::cantFail(plans.search({.top = 1, .maxPriced = budget}));
    const SelectionRange *range = table.at(size);
    EXPECT_EQ(range != nullptr, !best.best.empty()) << size;
    if (!range || best.best.empty())
      return std::nullopt;
    for (KernelPlan plan : plans.spaces()) {
      if (plan.instruction != range->plan.instruction)
        continue;
      const auto values = valuesIn(plan.tiled->space, range->plan);
      EXPECT_TRUE(values.has_value());
      plan.values = *values;
      EXPECT_EQ(isFeasible(*plan.tiled, plan.values), true) << size;
      const double time = llvm::cantFail(plans.price(plan)).timeNs;
      EXPECT_NEAR(time, table.timeNs(size), 1e-6 * time);
      return time / best.best.front().estimate.timeNs - 1;
    }
    ADD_FAILURE() << "no space with the instruction at " << size;
    return std::nullopt;
  }

private:
  const OpenKernel &group;
  Device device;
  Calibration calibration;
  TemplateLibrary library;
};

/// Checks a table at every `stride`-th size against searches.
void checkLosses(const OpenKernel &group, SelectionOptions options, int64_t stride) {
  SCOPED_TRACE(fmt::format("{} {} over {}", group.family, group.arguments, group.size));
  const GroupPlans plans(group);
  const SelectionTable table = plans.table(options);
  double sum = 0, worst = 0;
  size_t checked = 0;
  for (int64_t size = table.from; size <= table.to; size += stride) {
    std::optional<double> loss = plans.lossAt(table, size, options.maxPriced);
    if (!loss)
      continue;
    EXPECT_LE(*loss, table.at(size)->worstBound + 1e-9) << size;
    loss = std::max(*loss, 0.0); // a search of few plans may find less than the table has
    sum += *loss;
    worst = std::max(worst, *loss);
    ++checked;
  }
  ASSERT_GT(checked, 0u);
  const double mean = sum / static_cast<double>(checked);
  fmt::print("{:<11} {:<32} {:>4} ranges, {:>4} searches, {} sizes checked: loss {:.2f} % mean, "
             "{:.2f} % worst; stated bound {:.2f} % mean, {:.2f} % worst\n",
             group.family, group.arguments, table.ranges.size(), table.searches, checked,
             100 * mean, 100 * worst, 100 * table.meanBound, 100 * table.worstBound);
  std::fflush(stdout);
  EXPECT_LE(mean, 0.02);
  EXPECT_LE(worst, 0.10);
}

} // namespace

TEST(Selection, RangesCoverAndSayWhatTheyLose) {
  const GroupPlans plans(groups[1]);
  SelectionOptions options;
  options.to = 70;
  options.maxPriced = 60;
  options.jobs = 2;
  const SelectionTable table = plans.table(options);
  ASSERT_FALSE(table.ranges.empty());
  EXPECT_EQ(table.ranges.front().from, 1);
  EXPECT_EQ(table.ranges.back().to, 70);
  EXPECT_LT(table.ranges.size(), 20u);
  for (size_t r = 1; r < table.ranges.size(); ++r)
    EXPECT_EQ(table.ranges[r].from, table.ranges[r - 1].to + 1);
  for (const SelectionRange &range : table.ranges) {
    EXPECT_LE(range.meanLoss, range.worstLoss + 1e-12);
    EXPECT_LE(range.worstLoss, table.worstLoss + 1e-12);
    EXPECT_LE(range.worstBound, table.worstBound + 1e-12);
    EXPECT_LE(range.worstLoss, range.worstBound + 1e-12);
    EXPECT_EQ(table.at(range.from), &range);
    EXPECT_EQ(table.at(range.to), &range);
  }
  EXPECT_EQ(table.at(0), nullptr);
  EXPECT_EQ(table.at(71), nullptr);

  // The same with one thread.
  options.jobs = 1;
  const SelectionTable again = plans.table(options);
  EXPECT_EQ(again.timesNs, table.timesNs);
  ASSERT_EQ(again.ranges.size(), table.ranges.size());
  for (size_t r = 0; r < again.ranges.size(); ++r)
    EXPECT_EQ(again.ranges[r].plan, table.ranges[r].plan);
}

// Where each size is searched, the bound is the loss, and no more is lost than without.
TEST(Selection, SearchesAtEverySizeLeaveNothingToGuess) {
  const GroupPlans plans(groups[2]);
  SelectionOptions options;
  options.from = 120;
  options.to = 170;
  options.maxPriced = 60;
  options.jobs = 2;
  const SelectionTable some = plans.table(options);
  options.everySize = true;
  const SelectionTable all = plans.table(options);
  EXPECT_EQ(all.searches, 51u);
  EXPECT_GT(some.candidates, 0u);
  EXPECT_DOUBLE_EQ(all.meanBound, all.meanLoss);
  EXPECT_DOUBLE_EQ(all.worstBound, all.worstLoss);
  EXPECT_LE(all.worstLoss, options.tolerance);
}

// A few groups and sizes; with TILEWRIGHT_SELECT_STRIDE all groups over their whole range, tested
// at every size but for the stride (every one takes hours).
TEST(Selection, LossesAreThoseOfASearch) {
  if (const char *stride = std::getenv("TILEWRIGHT_SELECT_STRIDE")) {
    for (const OpenKernel &group : groups) {
      SelectionOptions options;
      options.to = group.to;
      options.jobs = 2;
      checkLosses(group, options, std::max(1, std::atoi(stride)));
    }
    return;
  }
  for (size_t g : {1u, 7u, 8u}) {
    SelectionOptions options;
    options.from = 33;
    options.to = 96;
    options.maxPriced = 60;
    options.maxSearches = 20;
    checkLosses(groups[g], options, 13);
  }
}

// Rows of 16 bytes take other instructions than others do: of their multiples alone a table is
// short.
TEST(Selection, StepsLeaveSizesOut) {
  const OpenKernel columns{"gemm", "m=512 k=64 dtype=bf16", "n"};
  SelectionOptions options;
  options.from = 8;
  options.to = 100;
  options.step = 8;
  options.maxPriced = 60;
  const SelectionTable table = GroupPlans(columns).table(options);
  ASSERT_FALSE(table.ranges.empty());
  EXPECT_EQ(table.ranges.front().from, 8);
  EXPECT_EQ(table.to, 96);
  EXPECT_EQ(table.ranges.back().to, 96);
  EXPECT_EQ(table.timesNs.size(), 12u);
  EXPECT_LT(table.ranges.size(), 8u);
  for (int64_t size = 1; size <= 104; ++size)
    EXPECT_EQ(table.at(size) != nullptr, size % 8 == 0 && size <= 96) << size;
  for (size_t r = 1; r < table.ranges.size(); ++r)
    EXPECT_EQ(table.ranges[r].from, table.ranges[r - 1].to + 8);
}

TEST(Selection, BadRangesAreRefused) {
  const GroupPlans plans(groups[0]);
  for (const auto &[from, to] : {std::pair<int64_t, int64_t>{0, 5}, {7, 6}, {1, 1 << 21}}) {
    SelectionOptions options;
    options.from = from;
    options.to = to;
    auto made = makeSelection([&](int64_t size) { return plans.at(size); }, options);
    ASSERT_FALSE(bool(made));
    EXPECT_EQ(takeDiag(made.takeError()).cls, DiagClass::BadInput);
  }
  // What can't be made at one size ends it.
  SelectionOptions options;
  options.to = 4;
  auto made = makeSelection(
      [&](int64_t size) -> llvm::Expected<KernelPlans> {
        if (size == 3)
          return makeError(DiagClass::BadInput, "three");
        return plans.at(size);
      },
      options);
  ASSERT_FALSE(bool(made));
  EXPECT_EQ(takeDiag(made.takeError()).message, "three");
}

TEST(Selection, CodeHasTheTable) {
  SelectionTable table;
  table.from = 1;
  table.to = 100;
  table.ranges = {{1, 10, {Instruction::Fma, {{"t0", 8}, {"warps", 4}}}, 0, 0, 0, 1},
                  {20, 100, {Instruction::Wgmma, {{"t0", 64}, {"k0", 32}}}, 0, 0, 0, 20}};
  const SelectionTitle title{"2d family", "m", "about\\\nint x;"};
  const std::string header = selectionHeader(table, title);
  for (const char *part : {"namespace tiles::_2d_family {", "{1, 10, 1, 8, 4, \"fma\"},",
                           "{20, 100, 32, 64, 1, \"wgmma\"},", "// about  int x;\n", "plans + 2;"})
    EXPECT_NE(header.find(part), std::string::npos) << part << "\n" << header;
  const std::string python = selectionPython(table, title);
  EXPECT_NE(python.find("(20, 100, {\"k0\": 32, \"t0\": 64, \"instruction\": \"wgmma\"}),"),
            std::string::npos)
      << python;
}
