#include "analysis/import/hlo_text.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/inline.h"
#include "analysis/ir/verifier.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

Module read(std::string text) {
  llvm::Expected<Module> module =
      importBuffer(std::make_shared<const SourceBuffer>("test", std::move(text)));
  if (module)
    return std::move(*module);
  ADD_FAILURE() << takeDiag(module.takeError()).str();
  return {};
}

/// Inlines and prints, so that the expectation can be read.
std::string inlined(const Module &module, const InlineOptions &options = {}) {
  llvm::Expected<Module> flat = inlineCalls(module, options);
  if (!flat)
    return takeDiag(flat.takeError()).message;
  if (llvm::Error error = verify(*flat))
    return takeDiag(std::move(error)).str();
  return printHlo(*flat);
}

} // namespace

TEST(Inline, CallsOfCallsWithUniqueNames) {
  Module module = read(R"(
twice { v = f32[4] parameter(0) ROOT w = f32[4] add(v, v) }
four { v = f32[4] parameter(0) x = f32[4] call(v), to_apply=twice ROOT w = f32[4] call(x), to_apply=twice }
ENTRY main {
  v = f32[4] parameter(0)
  x = f32[4] negate(v)
  y = f32[4] call(x), to_apply=four
  ROOT z = f32[4] call(y), to_apply=four
}
)");
  EXPECT_EQ(inlined(module), R"(ENTRY %main {
  %v = f32[4] parameter(0)
  %x = f32[4] negate(%v)
  %x.1 = f32[4] add(%x, %x)
  %y = f32[4] add(%x.1, %x.1)
  %x.2 = f32[4] add(%y, %y)
  ROOT %z = f32[4] add(%x.2, %x.2)
}

)");
}

TEST(Inline, ParametersMayBeResults) {
  Module module = read(R"(
second { a = f32[4] parameter(0) b = f32[4] parameter(1) r = f32[4] negate(a) ROOT s = f32[4] copy(b) }
pass { a = f32[4] parameter(1) ROOT b = f32[4] parameter(0) }
ENTRY main {
  v = f32[4] parameter(0)
  w = f32[4] parameter(1)
  ROOT x = f32[4] call(w, v), to_apply=pass
}
)");
  llvm::Expected<Module> flat = inlineCalls(module);
  ASSERT_TRUE(static_cast<bool>(flat));
  const Graph &entry = flat->entry();
  EXPECT_EQ(entry.size(), 2u);
  EXPECT_EQ(entry.op(entry.root()).name, "w");
  EXPECT_EQ(flat->all().size(), 1u); // nothing calls %second or %pass any more
}

TEST(Inline, TuplesOfMultiOutputFusionsDisappear) {
  Module module = read(R"(
f {
  a = f32[4] parameter(0)
  n = f32[4] negate(a)
  e = f32[4] exponential(a)
  ROOT t = (f32[4], f32[4]) tuple(n, e)
}
ENTRY main {
  v = f32[4] parameter(0)
  both = (f32[4], f32[4]) fusion(v), kind=kLoop, calls=f
  n = f32[4] get-tuple-element(both), index=0
  e = f32[4] get-tuple-element(both), index=1
  ROOT r = f32[4] add(n, e)
}
)");
  EXPECT_EQ(inlined(module), printHlo(module)); // fusions only on request
  EXPECT_EQ(inlined(module, {.fusions = true}), R"(ENTRY %main {
  %v = f32[4] parameter(0)
  %n.1 = f32[4] negate(%v)
  %e.1 = f32[4] exponential(%v)
  ROOT %r = f32[4] add(%n.1, %e.1)
}

)");
}

TEST(Inline, ATupleThatIsUsedWholeStays) {
  Module module = read(R"(
f { a = f32[4] parameter(0) ROOT t = (f32[4], f32[4]) tuple(a, a) }
ENTRY main {
  v = f32[4] parameter(0)
  both = (f32[4], f32[4]) call(v), to_apply=f
  ROOT o = (f32[4], f32[4]) opt-barrier(both)
}
)");
  EXPECT_NE(inlined(module).find("%both = (f32[4], f32[4]) tuple(%v, %v)"), std::string::npos);
}

TEST(Inline, LoopsKeepTheirBodiesWithCallsInside) {
  Module module = read(R"(
step { v = s32[] parameter(0) one = s32[] constant(1) ROOT w = s32[] add(v, one) }
cond { v = s32[] parameter(0) n = s32[] constant(9) ROOT c = pred[] compare(v, n), direction=LT }
body { v = s32[] parameter(0) ROOT w = s32[] call(v), to_apply=step }
ENTRY main {
  v = s32[] parameter(0)
  ROOT l = s32[] while(v), condition=cond, body=body
}
)");
  llvm::Expected<Module> flat = inlineCalls(module);
  ASSERT_TRUE(static_cast<bool>(flat));
  ASSERT_EQ(flat->all().size(), 3u); // %step is gone
  const Op &loop = flat->entry().op(flat->entry().root());
  ASSERT_EQ(loop.called.size(), 2u);
  EXPECT_EQ(flat->graph(loop.called[0].graph).name(), "cond");
  const Graph &body = flat->graph(loop.called[1].graph);
  EXPECT_EQ(body.name(), "body");
  EXPECT_EQ(body.op(body.root()).opcode, Opcode::Add);
}

TEST(Inline, LocationsStay) {
  Module module = read("f { a = f32[4] parameter(0) ROOT t = f32[4] negate(a) }\n"
                       "ENTRY e { a = f32[4] parameter(0) ROOT c = f32[4] call(a), to_apply=f }");
  llvm::Expected<Module> flat = inlineCalls(module);
  ASSERT_TRUE(static_cast<bool>(flat));
  const Op &root = flat->entry().op(flat->entry().root());
  EXPECT_EQ(root.name, "c");
  EXPECT_EQ(flat->diagAt(root.loc, "").line, 1u); // where the negate stands
}

// Each level calls the one below twice: 2^60 ops if nothing stopped it.
TEST(Inline, DoublingIsStoppedByTheBudget) {
  std::string text = "f0 { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n";
  for (int i = 1; i <= 60; ++i)
    text += fmt::format("f{0} {{ p = f32[] parameter(0) q = f32[] call(p), to_apply=f{1} "
                        "ROOT r = f32[] call(q), to_apply=f{1} }}\n",
                        i, i - 1);
  llvm::Expected<Module> flat = inlineCalls(read(text), {.maxOps = 100000});
  ASSERT_FALSE(static_cast<bool>(flat));
  Diag diag = takeDiag(flat.takeError());
  EXPECT_EQ(diag.cls, DiagClass::BudgetSpent);
  EXPECT_EQ(diag.message, "inlining makes over 100000 ops");
}

TEST(Inline, ComputesTheSame) {
  Module module = read(R"(
scale { v = f32[2,3] parameter(0) k = f32[] parameter(1) b = f32[2,3] broadcast(k), dimensions={} ROOT w = f32[2,3] multiply(v, b) }
mix {
  v = f32[2,3] parameter(0)
  w = f32[2,3] parameter(1)
  two = f32[] constant(2)
  s = f32[2,3] call(v, two), to_apply=scale
  d = f32[2,3] subtract(s, w)
  ROOT t = (f32[2,3], f32[2,3]) tuple(d, v)
}
cond { s = (s32[], f32[2,3]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }
body {
  s = (s32[], f32[2,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  v = f32[2,3] get-tuple-element(s), index=1
  half = f32[] constant(0.5)
  w = f32[2,3] call(v, half), to_apply=scale
  ROOT o = (s32[], f32[2,3]) tuple(j, w)
}
ENTRY main {
  v = f32[2,3] parameter(0)
  w = f32[2,3] parameter(1)
  both = (f32[2,3], f32[2,3]) fusion(v, w), kind=kLoop, calls=mix
  a = f32[2,3] get-tuple-element(both), index=0
  b = f32[2,3] get-tuple-element(both), index=1
  zero = s32[] constant(0)
  init = (s32[], f32[2,3]) tuple(zero, a)
  loop = (s32[], f32[2,3]) while(init), condition=cond, body=body
  r = f32[2,3] get-tuple-element(loop), index=1
  ROOT out = f32[2,3] add(r, b)
}
)");
  llvm::Expected<Module> flat = inlineCalls(module, {.calls = true, .fusions = true});
  ASSERT_TRUE(static_cast<bool>(flat));
  std::vector<Tensor> arguments = fillArguments(module, module.entryId, 5);
  auto before = evaluate(module, module.entryId, arguments);
  auto after = evaluate(*flat, flat->entryId, arguments);
  ASSERT_TRUE(static_cast<bool>(before));
  ASSERT_TRUE(static_cast<bool>(after));
  ASSERT_EQ(before->size(), 1u);
  EXPECT_EQ(packTensor(before->front()), packTensor(after->front()));
}
