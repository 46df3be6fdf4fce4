// Least intervals: those of products and attentions as the literature has them, and those of small
// random loops against all slots.
#include "analysis/program/pipeline/modulo_schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace tilewright::pipeline {
namespace {

// An SM of an H100, as assumed for these tables: FLOP and bytes from the L2 a clock, clocks until
// a copy arrives, special functions and multiply-adds a clock.
constexpr int64_t tensor = 4096, fromL2 = 64, arrival = 700, special = 16, fma = 128;

PipelineLoop gemm(int64_t rows, int64_t columns, int64_t k, int64_t slots) {
  PipelineLoop loop;
  const int64_t load = (rows + columns) * k * 2 / fromL2, dot = 2 * rows * columns * k / tensor;
  const size_t copy = loop.add({"load", {{"copies", load}}, "producer", 20, load + arrival});
  const size_t mma = loop.add({"mma", {{"tensor", dot}}, "consumer", 40, dot + 30});
  loop.needs(copy, mma);
  loop.ring("A and B", copy, {mma}, slots);
  return loop;
}

struct AttentionCase {
  int64_t groups, slots, scoreSlots;
  bool isAsynchronous;
  int64_t interval;
};

PipelineLoop attention(const AttentionCase &how) {
  constexpr int64_t queries = 64, keys = 128, head = 128;
  PipelineLoop loop;
  const int64_t load = keys * head * 2 / fromL2, dot = 2 * queries * keys * head / tensor;
  const size_t k = loop.add({"K", {{"copies", load}}, "producer", 20, load + arrival});
  const size_t v = loop.add({"V", {{"copies", load}}, "producer", 20, load + arrival});
  std::vector<size_t> scores, outputs;
  for (int64_t g = 0; g < how.groups; ++g) {
    const std::string role = fmt::format("group {}", g);
    const int64_t issue = how.isAsynchronous ? 40 : dot + 30;
    const int64_t exp = queries * keys / special, scaling = queries * head / fma;
    const int64_t softmax = std::max(exp, queries * keys * 6 / fma);
    auto name = [&](const char *op) { return fmt::format("{}{}", op, g); };
    const size_t s = loop.add({name("S"), {{"tensor", dot}}, role, issue, dot + 30});
    const size_t e = loop.add({name("exp"), {{"sfu", exp}}, role, softmax, softmax});
    const size_t c = loop.add({name("scale"), {}, role, scaling, scaling});
    const size_t o = loop.add({name("PV"), {{"tensor", dot}}, role, issue, dot + 30});
    loop.needs(k, s);
    loop.needs(s, e);
    loop.needs(e, c);
    loop.needs(o, c, 1);
    loop.needs(c, o);
    loop.needs(v, o);
    loop.ring(name("scores "), s, {e}, how.scoreSlots);
    loop.ring(name("P "), e, {o}, 1);
    scores.push_back(s);
    outputs.push_back(o);
  }
  loop.ring("K", k, scores, how.slots);
  loop.ring("V", v, outputs, how.slots);
  return loop;
}

TEST(ModuloSchedule, ProductsByStages) {
  struct Case {
    int64_t rows, columns, slots, interval;
    const char *by;
  };
  for (const Case &one :
       {Case{128, 128, 1, 1724, "slot of A and B"}, Case{128, 128, 2, 862, "slot of A and B"},
        Case{128, 128, 3, 575, "slot of A and B"}, Case{128, 128, 4, 512, "unit tensor"},
        Case{128, 128, 5, 512, "unit tensor"}, Case{128, 256, 1, 2492, "slot of A and B"},
        Case{128, 256, 2, 1246, "slot of A and B"}, Case{128, 256, 3, 1024, "unit tensor"},
        Case{256, 128, 4, 1024, "unit tensor"}}) {
    PipelineLoop loop = gemm(one.rows, one.columns, 64, one.slots);
    ModuloSchedule schedule = leastInterval(loop);
    ASSERT_EQ(schedule.outcome, ModuloSchedule::Outcome::Found);
    EXPECT_EQ(schedule.interval, one.interval) << one.rows << " " << one.slots;
    EXPECT_TRUE(schedule.isLeast());
    EXPECT_EQ(schedule.bound.interval, one.interval);
    EXPECT_NE(schedule.bound.by.back().find(one.by), std::string::npos) << schedule.bound.by.back();
    EXPECT_EQ(faultOf(loop, schedule.interval, schedule.places), "");
  }
}

TEST(ModuloSchedule, AttentionByGroupsAndStages) {
  for (const AttentionCase &one :
       {AttentionCase{1, 1, 1, false, 1724}, AttentionCase{1, 2, 1, false, 1660},
        AttentionCase{1, 2, 1, true, 1536}, AttentionCase{1, 2, 2, true, 1128},
        AttentionCase{2, 1, 1, true, 2236}, AttentionCase{2, 2, 1, false, 2078},
        AttentionCase{2, 2, 1, true, 2048}, AttentionCase{3, 2, 1, true, 3072}}) {
    PipelineLoop loop = attention(one);
    ModuloSchedule schedule = leastInterval(loop);
    ASSERT_EQ(schedule.outcome, ModuloSchedule::Outcome::Found);
    EXPECT_EQ(schedule.interval, one.interval) << one.groups << " groups, " << one.slots;
    certify(loop, schedule);
    EXPECT_EQ(schedule.proof, one.interval == schedule.bound.interval ? ModuloSchedule::Proof::Bound
                                                                      : ModuloSchedule::Proof::Z3);
    EXPECT_EQ(faultOf(loop, schedule.interval, schedule.places), "");
  }
}

/// Two groups take turns: one's exponentials lie beside both products of the other.
TEST(ModuloSchedule, TwoGroupsOfAnAttentionTakeTurns) {
  PipelineLoop loop = attention({2, 2, 1, true, 2048});
  ModuloSchedule schedule = leastInterval(loop);
  ASSERT_EQ(schedule.interval, 2048);
  int64_t busy = 0;
  for (const LoopOp &op : loop.ops)
    busy += op.busyOf("tensor");
  EXPECT_EQ(busy, schedule.interval);
}

TEST(ModuloSchedule, WaitsThatGoRoundAreADeadlock) {
  PipelineLoop loop = gemm(128, 128, 64, 2);
  loop.wait({1, 0, 10, 0, "slot of A and B"}); // for the slot that it fills itself
  ModuloSchedule schedule = leastInterval(loop);
  EXPECT_EQ(schedule.outcome, ModuloSchedule::Outcome::Deadlock);
  EXPECT_EQ(schedule.deadlock.find("load → mma → load (slot of A and B)") == std::string::npos,
            schedule.deadlock.find("mma → load (slot of A and B) → mma") != std::string::npos)
      << schedule.deadlock;
}

TEST(ModuloSchedule, TimeOfALoop) {
  PipelineLoop loop = gemm(128, 128, 64, 4);
  ModuloSchedule schedule = leastInterval(loop);
  // A copy takes 1,212 clocks: three intervals, the product begins in the third.
  ASSERT_EQ(schedule.depth(), 3);
  LoopTime time = timeOf(loop, schedule, 64);
  EXPECT_EQ(time.fill, 2 * 512);
  EXPECT_EQ(time.steady, 62 * 512);
  EXPECT_EQ(time.all(), 63 * 512 + 1212 + 542); // the last step, from its copy to its product
  EXPECT_EQ(timeOf(loop, schedule, 1).all(), 1212 + 542);
  EXPECT_EQ(timeOf(loop, schedule, 0).all(), 0);
}

/// The least interval over all slots: the oracle of what follows.
int64_t leastByAllSlots(const PipelineLoop &loop, int64_t most) {
  for (int64_t interval = 1; interval <= most; ++interval) {
    std::vector<int64_t> slots(loop.ops.size(), 0);
    while (true) {
      std::optional<std::vector<Place>> places = earliestStages(loop, interval, slots);
      if (places && faultOf(loop, interval, *places).empty())
        return interval;
      size_t i = 0;
      while (i < slots.size() && ++slots[i] == interval)
        slots[i++] = 0;
      if (i == slots.size())
        break;
    }
  }
  return most + 1;
}

TEST(ModuloSchedule, SmallLoopsAreAsAllSlotsSay) {
  std::mt19937 dice(11);
  auto up = [&](unsigned most) { return static_cast<int64_t>(dice() % (most + 1)); };
  int proved = 0, deadlocks = 0;
  for (int round = 0; round < 150; ++round) {
    PipelineLoop loop;
    const size_t count = 2 + dice() % 3;
    for (size_t i = 0; i < count; ++i) {
      const int64_t busy = up(3);
      loop.add({fmt::format("op{}", i),
                {{"unit" + std::to_string(dice() % 2), busy}},
                "role" + std::to_string(dice() % 2),
                up(2),
                busy + up(3)});
    }
    for (size_t i = 0; i + 1 < count; ++i)
      loop.needs(i, i + 1, up(1));
    if (dice() % 2)
      loop.needs(count - 1, 0, 1 + up(1));
    loop.ring("R", 0, {count - 1}, up(3));
    if (dice() % 4 == 0)
      loop.needs(dice() % count, dice() % count, up(1));
    ModuloSchedule schedule = leastInterval(loop);
    constexpr int64_t most = 8;
    if (schedule.outcome == ModuloSchedule::Outcome::Deadlock) {
      ++deadlocks;
      EXPECT_EQ(leastByAllSlots(loop, 3), 4) << round; // as far as one looks
      continue;
    }
    ASSERT_EQ(schedule.outcome, ModuloSchedule::Outcome::Found) << round;
    EXPECT_TRUE(schedule.isLeast()) << round;
    EXPECT_EQ(faultOf(loop, schedule.interval, schedule.places), "") << round;
    if (std::vector<Place> places; schedule.interval > 1) { // Z3 says the same
      EXPECT_EQ(scheduleByZ3(loop, schedule.interval, places), ScheduleAnswer::Yes) << round;
      EXPECT_EQ(scheduleByZ3(loop, schedule.interval - 1, places), ScheduleAnswer::No) << round;
    }
    if (schedule.interval <= most)
      EXPECT_EQ(leastByAllSlots(loop, most), schedule.interval) << round;
    else
      EXPECT_EQ(leastByAllSlots(loop, 5), 6) << round;
    proved += schedule.interval > schedule.bound.interval;
  }
  EXPECT_GT(proved, 3); // some lie above what units and waits say by themselves
  EXPECT_GT(deadlocks, 3);
}

/// An interval that has a schedule serves longer ones, and what bisection left out has none.
TEST(ModuloSchedule, LongerIntervalsHaveSchedules) {
  PipelineLoop loop = attention({1, 2, 1, true, 1536});
  std::vector<Place> places;
  for (int64_t interval : {1100, 1400, 1535})
    EXPECT_EQ(scheduleByZ3(loop, interval, places), ScheduleAnswer::No) << interval;
  for (int64_t interval : {1536, 1537, 1900, 5000})
    EXPECT_EQ(scheduleByZ3(loop, interval, places), ScheduleAnswer::Yes) << interval;
}

} // namespace
} // namespace tilewright::pipeline
