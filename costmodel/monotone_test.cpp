// One op more in a group never makes it cheaper, at any plan: of random groups of elementwise ops,
// reductions and dots. But for `rounding`: pieces of rows are priced by their mean over all that is
// read and written, which a few bytes that lie well can lower.
#include "analysis/import/import_file.h"
#include "analysis/tiling/plan_text.h"
#include "costmodel/estimate.h"
#include "costmodel/testing/data.h"

#include <random>

namespace tilewright {
namespace {

using testing::h100;
using Random = std::mt19937_64;

constexpr double rounding = 1e-3;

KernelPlan planOf(const std::string &text) {
  auto module = llvm::cantFail(importBuffer(std::make_shared<SourceBuffer>("(test)", text)));
  return llvm::cantFail(planOfEntry(std::make_shared<const Module>(std::move(module))));
}

/// A group as lines of HLO; values have the shape `shape`, the last one is `last`.
struct Lines {
  std::string text, shape, last;
  int parameters = 0, ops = 0;

  std::string parameter(const std::string &of) {
    const std::string name = fmt::format("p{}", parameters);
    text += fmt::format("  {} = {} parameter({})\n", name, of, parameters++);
    return name;
  }
  void op(const std::string &call) {
    last = fmt::format("v{}", ops++);
    text += fmt::format("  {} = {} {}\n", last, shape, call);
  }
  /// `kind` of 0 to 4: a cheap op, a special function, another tensor, a row, a division.
  void elementwise(int kind, const std::string &row) {
    switch (kind) {
    case 0:
      return op(fmt::format("negate({})", last));
    case 1:
      return op(fmt::format("exponential({})", last));
    case 2:
      return op(fmt::format("add({}, {})", last, parameter(shape)));
    case 3: {
      const std::string values = parameter(row), before = last;
      op(fmt::format("broadcast({}), dimensions={{1}}", values));
      return op(fmt::format("multiply({}, {})", before, last));
    }
    default:
      return op(fmt::format("divide({}, {})", last, parameter(shape)));
    }
  }
};

enum class Kind { Elementwise, Reduction, Dot };

/// A group of some ops, and with `extra` one more at that place.
std::string groupText(Kind kind, int64_t rows, int64_t columns, const std::vector<int> &ops,
                      std::optional<std::pair<size_t, int>> extra) {
  Lines lines;
  lines.shape = fmt::format("f32[{},{}]", rows, columns);
  const std::string row = fmt::format("f32[{}]", columns);
  if (kind == Kind::Dot) {
    const std::string a = lines.parameter(fmt::format("bf16[{},512]", rows));
    const std::string b = lines.parameter(fmt::format("bf16[512,{}]", columns));
    lines.op(
        fmt::format("dot({}, {}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}", a, b));
  } else {
    lines.last = lines.parameter(lines.shape);
  }
  for (size_t i = 0; i <= ops.size(); ++i) {
    if (extra && extra->first == i)
      lines.elementwise(extra->second, row);
    if (i < ops.size())
      lines.elementwise(ops[i], row);
  }
  std::string end = fmt::format("  ROOT r = {} copy({})\n", lines.shape, lines.last);
  if (kind == Kind::Reduction)
    end = fmt::format("  z = f32[] constant(0)\n"
                      "  ROOT r = f32[{}] reduce({}, z), dimensions={{1}}, to_apply=sum\n",
                      rows, lines.last);
  return "HloModule m\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n" +
         lines.text + end + "}\n";
}

TEST(Monotone, OneOpMoreIsNeverCheaper) {
  Random random(14);
  const Device device = h100();
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  int compared = 0, dearer = 0;
  for (int round = 0; round < 600; ++round) {
    const Kind kind = Kind(random() % 3);
    const int64_t rows = pick({96, 512, 1000, 4096}), columns = pick({64, 512, 3000, 4096});
    std::vector<int> ops(random() % 4);
    for (int &op : ops)
      op = int(random() % 5);
    const size_t place = random() % (ops.size() + 1);
    const auto extra = std::pair(place, int(random() % 5));
    std::string numbers =
        fmt::format("t0={} warps={}", std::min(rows, pick({1, 16, 64, 128})), pick({1, 4, 8}));
    if (kind != Kind::Reduction)
      numbers += fmt::format(" t1={}", std::min(columns, pick({16, 64, 256})));
    if (kind == Kind::Reduction)
      numbers += fmt::format(" r0={}", std::min(columns, pick({32, 512, columns})));
    if (kind == Kind::Dot)
      numbers += fmt::format(" k0=32 stages={}", pick({2, 4}));
    KernelPlan less = planOf(groupText(kind, rows, columns, ops, {}));
    KernelPlan more = planOf(groupText(kind, rows, columns, ops, extra));
    for (KernelPlan *plan : {&less, &more}) {
      llvm::cantFail(assignText(*plan, numbers));
      plan->instruction = kind == Kind::Dot ? Instruction::MmaSync : Instruction::Fma;
    }
    for (CacheState cache : {CacheState::Flushed, CacheState::Warm}) {
      const double a = llvm::cantFail(estimateTime(less, device, calibration, {cache})).timeNs;
      const double b = llvm::cantFail(estimateTime(more, device, calibration, {cache})).timeNs;
      if (!(b < INFINITY))
        continue;
      EXPECT_GE(b, a * (1 - rounding)) << numbers << "\n"
                                       << groupText(kind, rows, columns, ops, extra) << "extra at "
                                       << place << ", a kind " << extra.second;
      ++compared;
      dearer += b > a * (1 + rounding);
    }
  }
  EXPECT_GT(compared, 800);
  EXPECT_GT(dearer, 300);
}

} // namespace
} // namespace tilewright
