// One op more in a group never makes it cheaper, at any plan: of random groups of elementwise ops,
// reductions and dots, also where the op changes the kind of code: a dot that is read at two places
// or stands beside another one is made by loops. But for `roundingOfTimes`: pieces of rows are
// priced by their mean over all that is read and written, which a few bytes that lie well can
// lower.
#include "analysis/import/import_file.h"
#include "analysis/tiling/plan_text.h"
#include "costmodel/estimate.h"
#include "costmodel/testing/data.h"

#include <map>
#include <random>

namespace tilewright {
namespace {

using testing::h100;
using Random = std::mt19937_64;

constexpr double roundingOfTimes = 1e-3;

KernelPlan planOf(const std::string &text) {
  auto module = llvm::cantFail(importBuffer(std::make_shared<SourceBuffer>("(test)", text)));
  return llvm::cantFail(planOfEntry(std::make_shared<const Module>(std::move(module))));
}

/// A group as lines of HLO; values have the shape f32[rows,columns], the last one is `last`.
struct Lines {
  int64_t rows, columns;
  std::string shape = fmt::format("f32[{},{}]", rows, columns), text = {}, last = {};
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
  void dot(const std::string &a) {
    op(fmt::format("dot({}, {}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}", a,
                   parameter(fmt::format("bf16[512,{}]", columns))));
  }
  /// The halves of each row change places: `last` is read at two places.
  void rotated() {
    const std::string half = fmt::format("f32[{},{}]", rows, columns / 2), before = last;
    const std::string left = fmt::format("l{}", ops), right = fmt::format("r{}", ops);
    text += fmt::format("  {} = {} slice({}), slice={{[0:{}], [0:{}]}}\n", left, half, before, rows,
                        columns / 2);
    text += fmt::format("  {} = {} slice({}), slice={{[0:{}], [{}:{}]}}\n", right, half, before,
                        rows, columns / 2, columns);
    op(fmt::format("concatenate({}, {}), dimensions={{1}}", right, left));
    op(fmt::format("add({}, {})", before, last));
  }
  /// `kind` of 0 to 4: a cheap op, a special function, another tensor, a row, a division. Of dots
  /// 5, too: its value at two places; and 6: another dot of the left operand.
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
    case 5:
      return rotated();
    case 6: {
      const std::string before = last;
      dot("p0");
      return op(fmt::format("multiply({}, {})", before, last));
    }
    default:
      return op(fmt::format("divide({}, {})", last, parameter(shape)));
    }
  }
};

enum class Kind { Elementwise, Reduction, Dot, PackedRows };

/// A group of some ops, and with `extra` one more at that place.
std::string groupText(Kind kind, int64_t rows, int64_t columns, const std::vector<int> &ops,
                      std::optional<std::pair<size_t, int>> extra) {
  Lines lines{rows, columns};
  const std::string row = fmt::format("f32[{}]", columns);
  if (kind == Kind::Dot) {
    lines.dot(lines.parameter(fmt::format("bf16[{},512]", rows)));
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
  if (kind == Kind::Reduction || kind == Kind::PackedRows)
    end = fmt::format("  z = f32[] constant(0)\n"
                      "  {} = f32[{}] reduce({}, z), dimensions={{1}}, to_apply=sum\n",
                      kind == Kind::Reduction ? "ROOT r" : "sums", rows, lines.last);
  if (kind == Kind::PackedRows)
    end += fmt::format("  ROOT r = s4[{}] convert(sums)\n", rows);
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
  std::map<int, int> byExtra; ///< of dots
  for (int round = 0; round < 600; ++round) {
    const Kind kind = Kind(random() % 4);
    const bool isRows = kind == Kind::Reduction || kind == Kind::PackedRows;
    const int64_t rows = pick({96, 512, 1000, 4096}), columns = pick({64, 512, 3000, 4096});
    std::vector<int> ops(random() % 4);
    for (int &op : ops)
      op = int(random() % 5);
    const size_t place = random() % (ops.size() + 1);
    const auto extra = std::pair(place, int(random() % (kind == Kind::Dot ? 7 : 5)));
    // Loops may be better than products of mostly padding, which no plan has.
    const int64_t leastRows = extra.second > 4 ? 16 : 1;
    std::string numbers =
        fmt::format("t0={} warps={}", std::min(rows, std::max(leastRows, pick({1, 16, 64, 128}))),
                    pick({1, 4, 8}));
    if (!isRows)
      numbers += fmt::format(" t1={}", std::min(columns, pick({16, 64, 256})));
    if (isRows)
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
      EXPECT_GE(b, a * (1 - roundingOfTimes))
          << numbers << "\n"
          << groupText(kind, rows, columns, ops, extra) << "extra at " << place << ", a kind "
          << extra.second;
      ++compared;
      byExtra[extra.second] += kind == Kind::Dot;
      dearer += b > a * (1 + roundingOfTimes);
    }
  }
  EXPECT_GT(compared, 800);
  EXPECT_GT(dearer, 300);
  EXPECT_EQ(byExtra.size(), 7u);
}

} // namespace
} // namespace tilewright
