#include "analysis/compiled/testing/compiled.h"

namespace tilewright {
namespace {

TEST(Places, ModulesThatAreNotScheduledAreRefused) {
  const Module module = compiledModule("HloModule m\nENTRY e { ROOT p = f32[4] parameter(0)\n}\n");
  auto schedule = compiledSchedule(module);
  ASSERT_FALSE(bool(schedule));
  const Diag diag = takeDiag(schedule.takeError());
  EXPECT_EQ(diag.cls, DiagClass::BadInput);
  EXPECT_NE(diag.message.find("not scheduled"), std::string::npos);
}

TEST(Places, CallsThatMultiplyOpsAreRefused) {
  std::string text = "HloModule m, is_scheduled=true\nc0 { p = f32[4] parameter(0)\n"
                     "  ROOT n = f32[4] negate(p)\n}\n";
  for (int i = 1; i < 31; ++i)
    text += fmt::format("c{} {{ p = f32[4] parameter(0)\n  a = f32[4] call(p), to_apply=c{}\n"
                        "  ROOT b = f32[4] call(a), to_apply=c{}\n}}\n",
                        i, i - 1, i - 1);
  const Module module =
      compiledModule(text + "ENTRY e { p = f32[4] parameter(0)\n  ROOT r = f32[4] call(p), "
                            "to_apply=c30\n}\n");
  auto schedule = compiledSchedule(module);
  ASSERT_FALSE(bool(schedule));
  EXPECT_EQ(takeDiag(schedule.takeError()).cls, DiagClass::BudgetSpent);
}

const char *const threeSteps = R"(HloModule m, is_scheduled=true
neg { p = f32[4096] parameter(0)
  ROOT n = f32[4096] negate(p)
}
ENTRY e {
  x = f32[4096] parameter(0)
  a = f32[4096] fusion(x), kind=kLoop, calls=neg
  b = f32[4096] fusion(a), kind=kLoop, calls=neg
  v = f32[64,64] bitcast(b)
  w = f32[4096] bitcast(v)
  ROOT c = f32[4096] fusion(w), kind=kLoop, calls=neg
})";

// A result takes the place of an operand that dies; arguments and results have their own.
TEST(Places, TemporariesShareMemory) {
  const CompiledSchedule schedule = scheduleOf(compiledModule(threeSteps));
  ASSERT_EQ(schedule.launches.size(), 3u);
  auto access = [&](size_t launch, bool isWrite) {
    for (const MemoryAccess &each : schedule.launches[launch].accesses)
      if (each.isWrite == isWrite)
        return each;
    ADD_FAILURE();
    return MemoryAccess{};
  };
  const MemoryAccess x = access(0, false), a = access(0, true), b = access(1, true),
                     c = access(2, true);
  EXPECT_EQ(a.space, b.space);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_NE(x.space, a.space);
  EXPECT_NE(c.space, a.space);
  EXPECT_NE(c.space, x.space);
  EXPECT_EQ(access(2, false).space, b.space) << "views are the same memory";
}

TEST(Places, UpdatesLieInTheirBuffer) {
  const CompiledSchedule schedule = scheduleOf(
      compiledModule(fusionText("  ROOT u = f32[1000,64] dynamic-update-slice(p0, p1, p2, p3)\n",
                                {"f32[1000,64]", "f32[1,64]", "s32[]", "s32[]"}, "f32[1000,64]",
                                "kLoop", ", input_output_alias={ {}: (0, {}, may-alias) }")));
  ASSERT_EQ(schedule.launches.size(), 1u);
  double written = 0, read = 0;
  for (const MemoryAccess &access : schedule.launches[0].accesses)
    (access.isWrite ? written : read) += access.bytes;
  EXPECT_EQ(written, 64 * 4);
  EXPECT_EQ(read, 64 * 4 + 8);
}

TEST(Places, LoopsRunAsOftenAsTheirCounterSays) {
  const CompiledSchedule schedule = scheduleOf(compiledModule(R"(HloModule m, is_scheduled=true
neg { p = f32[64] parameter(0)
  ROOT n = f32[64] negate(p)
}
body { s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[64] fusion(x), kind=kLoop, calls=neg
  ROOT t = (s32[], f32[64]) tuple(next, y)
}
condition { s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(10)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[64] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[64]) tuple(zero, x)
  w = (s32[], f32[64]) while(s), condition=condition, body=body
  ROOT r = f32[64] get-tuple-element(w), index=1
})"));
  ASSERT_EQ(schedule.items.size(), 1u);
  EXPECT_EQ(schedule.items[0].trips, 10);
  bool isFound = false;
  for (const Launch &launch : schedule.launches)
    if (launch.kind == LaunchKind::Loop) {
      isFound = true;
      ASSERT_EQ(launch.accesses.size(), 2u);
      EXPECT_EQ(launch.accesses[0].space, launch.accesses[1].space)
          << "the state stays where it is";
    }
  EXPECT_TRUE(isFound);
}

} // namespace
} // namespace tilewright
