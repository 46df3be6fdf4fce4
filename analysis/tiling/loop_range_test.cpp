// Loops that end early under a mask, against a count of the steps that have a true element.
#include "analysis/tiling/loop_range.h"
#include "analysis/tiling/masks.h"
#include "analysis/tiling/testing/tiles.h"

#include <algorithm>
#include <functional>
#include <map>

using namespace tilewright;

namespace {

/// Attention over `queries` x `keys` with the mask `direction` of query + shift against key, and a
/// window of the `window` latest keys where that is not 0.
std::string attention(int queries, int keys, const char *direction, int shift, int window = 0,
                      const char *low = "-inf", const char *total = "e") {
  auto n = [](int v) { return std::to_string(v); };
  const std::string s = "[2," + n(queries) + "," + n(keys) + "]", row = "[2," + n(queries) + "]";
  std::string mask = "seen";
  std::string text =
      "  q = f32[2," + n(queries) + ",16] parameter(0)\n  k = f32[2," + n(keys) +
      ",16] parameter(1)\n  v = f32[2," + n(keys) + ",16] parameter(2)\n  s = f32" + s +
      " dot(q, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
      "rhs_contracting_dims={2}\n  qi = s32[" +
      n(queries) + "] iota(), iota_dimension=0\n  off = s32[] constant(" + n(shift) +
      ")\n  offs = s32[" + n(queries) + "] broadcast(off), dimensions={}\n  qs = s32[" +
      n(queries) + "] add(qi, offs)\n  qb = s32" + s +
      " broadcast(qs), dimensions={1}\n  kb = s32" + s +
      " iota(), iota_dimension=2\n  seen = pred" + s + " compare(qb, kb), direction=" + direction +
      "\n";
  if (window > 0) {
    text += "  w = s32[] constant(" + n(window) + ")\n  ws = s32" + s +
            " broadcast(w), dimensions={}\n  away = s32" + s + " subtract(qb, kb)\n  near = pred" +
            s + " compare(away, ws), direction=LT\n  both = pred" + s + " and(seen, near)\n";
    mask = "both";
  }
  text += "  low = f32[] constant(" + std::string(low) + ")\n  lows = f32" + s +
          " broadcast(low), dimensions={}\n  m = f32" + s + " select(" + mask +
          ", s, lows)\n  ninf = f32[] constant(-inf)\n  top = f32" + row +
          " reduce(m, ninf), dimensions={2}, to_apply=add\n  tops = f32" + s +
          " broadcast(top), dimensions={0,1}\n  below = f32" + s + " subtract(m, tops)\n  e = f32" +
          s + " exponential(below)\n  zero = f32[] constant(0)\n  l = f32" + row + " reduce(" +
          total + ", zero), dimensions={2}, to_apply=add\n  o = f32[2," + n(queries) +
          ",16] dot(e, v), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
          "rhs_contracting_dims={1}\n  ls = f32[2," +
          n(queries) + ",16] broadcast(l), dimensions={0,1}\n  ROOT r = f32[2," + n(queries) +
          ",16] divide(o, ls)\n";
  return text;
}

unsigned keyLoop(const TiledText &t) {
  unsigned dot = t.group.instancesOf(t.graph().find("o")).front();
  return t.group.instances[dot].reduces.front();
}

/// The first and the last step with an element that the mask leaves.
void expectStepsByCounting(const std::string &body, int queries, int keys,
                           const std::function<bool(int, int)> &isSeen) {
  TiledText t = tileText(body);
  const unsigned loop = keyLoop(t);
  for (int64_t rows : {1, 3, 4, 8, queries})
    for (int64_t size : {1, 2, 5, 8, keys}) {
      if (rows > queries || size > keys)
        continue;
      std::vector<int64_t> values = t.filled({});
      for (size_t i = 0; i < values.size(); ++i)
        if (t.group.space.parameters[i].role != TileParameter::Role::Schedule)
          values[i] = t.group.space.parameters[i].largest();
      values[1] = rows;
      values[loop] = size;
      Assignment point = t.group.space.assign(values);
      double sum = 0;
      int64_t ctas = 0;
      for (int64_t pid = 0; pid * rows < queries; ++pid, ++ctas) {
        int64_t first = -1, end = 0;
        for (int64_t step = 0; step * size < keys; ++step)
          for (int64_t q = pid * rows; q < std::min<int64_t>(queries, (pid + 1) * rows); ++q)
            for (int64_t k = step * size; k < std::min<int64_t>(keys, (step + 1) * size); ++k)
              if (isSeen(int(q), int(k))) {
                first = first < 0 ? step : first;
                end = step + 1;
              }
        if (first < 0)
          first = 0;
        point.set(t.group.space.parameters[1].index, pid);
        point.set(t.group.space.parameters[0].index, 0);
        EXPECT_EQ(stepsAt(t.group, loop, point), end - first)
            << "pid " << pid << " rows " << rows << " size " << size;
        sum += double(end - first);
      }
      const LoopSteps steps = loopSteps(t.group, values)[loop];
      EXPECT_TRUE(steps.isExact);
      EXPECT_DOUBLE_EQ(steps.average, sum / double(ctas));
    }
}

} // namespace

TEST(LoopRanges, CausalAttentionStopsAtTheDiagonal) {
  TiledText t = tileText(attention(64, 64, "GE", 0));
  const unsigned loop = keyLoop(t);
  EXPECT_EQ(t.group.ranges[loop].first.str(), "0");
  EXPECT_EQ(t.group.ranges[loop].end.str(),
            "min(min(t1 + t1 * pid1 - 1, 63) floordiv k0 + 1, 64 ceildiv k0)");
  std::vector<int64_t> values = t.filled({1, 16, 16, 8, 16});
  const LoopSteps steps = loopSteps(t.group, values)[loop];
  EXPECT_EQ(steps.smallest, 2);
  EXPECT_EQ(steps.largest, 8);
  EXPECT_DOUBLE_EQ(steps.average, 5);
  EXPECT_TRUE(steps.isUneven());
}

TEST(LoopRanges, AgreeWithTheMaskElementByElement) {
  expectStepsByCounting(attention(24, 24, "GE", 0), 24, 24, [](int q, int k) { return q >= k; });
  expectStepsByCounting(attention(8, 40, "GT", 32), 8, 40, [](int q, int k) { return q + 32 > k; });
  expectStepsByCounting(attention(20, 24, "GE", -5), 20, 24,
                        [](int q, int k) { return q - 5 >= k; });
  expectStepsByCounting(attention(24, 24, "LE", 0), 24, 24, [](int q, int k) { return q <= k; });
  expectStepsByCounting(attention(32, 32, "GE", 0, 6), 32, 32,
                        [](int q, int k) { return q >= k && q - k < 6; });
  for (const char *low : {"-1e9", "-1e30", "-3.4028235e38"}) {
    expectStepsByCounting(attention(24, 24, "GE", 0, 0, low), 24, 24,
                          [](int q, int k) { return q >= k; });
    expectStepsByCounting(attention(32, 32, "GE", 0, 6, low), 32, 32,
                          [](int q, int k) { return q >= k && q - k < 6; });
  }
}

// A row of nothing but a finite mask value is the mean of all keys.
TEST(LoopRanges, RowsWithoutAScoreTakeAllStepsUnlessTheMaskIsInfinite) {
  for (const char *low : {"-1e9", "-1e30", "-3.4028235e38"})
    for (const std::string &body :
         {attention(24, 24, "GE", -5, 0, low), attention(24, 24, "LT", 0, 0, low),
          attention(32, 24, "LE", 0, 0, low), attention(24, 24, "GE", 4, 3, low)}) {
      TiledText t = tileText(body);
      const unsigned loop = keyLoop(t);
      std::vector<int64_t> values = t.filled({1, 4, 16, 4, 16});
      const LoopSteps steps = loopSteps(t.group, values)[loop];
      EXPECT_EQ(steps.smallest, 6) << low;
      EXPECT_EQ(steps.largest, 6) << low;
    }
}

TEST(LoopRanges, WholeLoopsWhereSomethingIsStillDone) {
  // No bound on the keys; a mask value that exp() does not turn into zero; a sum of what is not
  // masked beside the masked ones.
  for (const std::string &body : {attention(24, 24, "NE", 0), attention(24, 24, "GE", 0, 0, "-1"),
                                  attention(24, 24, "GE", 0, 0, "-inf", "s")}) {
    TiledText t = tileText(body);
    const unsigned loop = keyLoop(t);
    std::vector<int64_t> values = t.filled({1, 4, 16, 4, 16});
    const LoopSteps steps = loopSteps(t.group, values)[loop];
    EXPECT_EQ(steps.smallest, 6);
    EXPECT_EQ(steps.largest, 6);
    EXPECT_FALSE(steps.isUneven());
  }
}

TEST(LoopRanges, ParametersWithoutLoopHaveNone) {
  TiledText t = tileText("  x = f32[64,32] parameter(0)\n  ROOT y = f32[64,32] negate(x)\n");
  EXPECT_FALSE(t.group.ranges[0].end);
  EXPECT_EQ(stepsAt(t.group, 0, Assignment()), std::nullopt);
  EXPECT_EQ(loopSteps(t.group, t.filled({8, 8}))[0].average, 1);
}

TEST(LoopRanges, ManyCtasAreSampledEvenly) {
  TiledText t = tileText(attention(200000, 200000, "GE", 0));
  const unsigned loop = keyLoop(t);
  std::vector<int64_t> values = t.filled({1, 1, 16, 1, 16});
  values[loop] = 100;
  const LoopSteps steps = loopSteps(t.group, values)[loop];
  EXPECT_FALSE(steps.isExact);
  EXPECT_EQ(steps.smallest, 1);
  EXPECT_EQ(steps.largest, 2000);
  EXPECT_NEAR(steps.average, 1000.5, 0.1);
}

TEST(Masks, AlwaysHoldSomewhereIsWhatCountingSays) {
  uint64_t state = 1;
  auto draw = [&](int64_t low, int64_t high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + int64_t(state >> 33) % (high - low + 1);
  };
  size_t always = 0, known = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::vector<int64_t> dims{draw(1, 4), draw(1, 4), draw(1, 6)};
    const auto along = size_t(draw(0, 2));
    std::vector<AffineValue> conditions(size_t(draw(0, 3)));
    for (AffineValue &condition : conditions) {
      for (int d = 0; d < 3; ++d)
        condition.coefficients.push_back(draw(-1, 1));
      condition.constant = draw(-3, 6);
    }
    auto holds = [&](int64_t i, int64_t j, int64_t k) {
      for (const AffineValue &c : conditions)
        if (c.coefficients[0] * i + c.coefficients[1] * j + c.coefficients[2] * k + c.constant < 0)
          return false;
      return true;
    };
    // For all indices of the other two dims.
    std::map<std::pair<int64_t, int64_t>, bool> found;
    for (int64_t i = 0; i < dims[0]; ++i)
      for (int64_t j = 0; j < dims[1]; ++j)
        for (int64_t k = 0; k < dims[2]; ++k) {
          auto others = along == 0   ? std::pair(j, k)
                        : along == 1 ? std::pair(i, k)
                                     : std::pair(i, j);
          found[others] |= holds(i, j, k);
        }
    const bool expected =
        std::all_of(found.begin(), found.end(), [](const auto &each) { return each.second; });
    const bool said = alwaysHoldSomewhere(conditions, dims, along);
    EXPECT_EQ(said, expected) << "round " << round; // exact where coefficients are 1, 0 or -1
    always += expected;
    known += said;
  }
  EXPECT_GT(always, 500u);
  EXPECT_LT(always, 3500u);
  EXPECT_EQ(always, known);
}

TEST(Masks, AffineValuesStayWithinTheirType) {
  TiledText t = tileText("  i = u8[300] iota(), iota_dimension=0\n  j = s32[300] iota(), "
                         "iota_dimension=0\n  c = u8[300] convert(j)\n  ci = s32[300] convert(c)\n"
                         "  ii = s32[300] convert(i)\n  ROOT r = s32[300] add(ii, ci)\n");
  MaskReader masks(t.graph());
  EXPECT_FALSE(masks.valueOf(t.graph().find("i")));
  EXPECT_FALSE(masks.valueOf(t.graph().find("ci")));
  EXPECT_FALSE(masks.valueOf(t.graph().find("r")));
  std::optional<AffineValue> j = masks.valueOf(t.graph().find("j"));
  ASSERT_TRUE(j);
  EXPECT_EQ(j->coefficients, std::vector<int64_t>{1});
}
