// Valid HLO text in all its forms: what may be left out, what was added to the language, several
// modules in a file. Each is read, prints as text that reads back to an equal module, and an op
// without its shape is the op with it.
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/import/module_equal.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

std::shared_ptr<const SourceBuffer> buffer(std::string text) {
  return std::make_shared<const SourceBuffer>("test", std::move(text));
}

constexpr const char *computations = R"(HloModule m, num_partitions=4
plus {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
plus_in_tuple {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  s = f32[] add(a, b)
  ROOT t = (f32[]) tuple(s)
}
most {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE
}
)";

/// A module of an entry computation's lines, read and verified.
std::optional<Module> entryOf(const std::string &body) {
  llvm::Expected<Module> module =
      importBuffer(buffer(std::string(computations) + "ENTRY main {\n" + body + "\n}\n"));
  if (module)
    return std::move(*module);
  ADD_FAILURE() << takeDiag(module.takeError()).str();
  return std::nullopt;
}

void expectRoundTrip(const Module &module) {
  llvm::Expected<Module> again = importBuffer(buffer(printHlo(module)));
  ASSERT_TRUE(bool(again)) << takeDiag(again.takeError()).str() << printHlo(module);
  std::string why;
  EXPECT_TRUE(equal(module, *again, &why)) << why << "\n" << printHlo(module);
}

} // namespace

TEST(Syntax, FormsThatDumpsHave) {
  for (const char *body :
       {// replica groups by the axes of a mesh
        "a = f32[8] parameter(0)\nROOT g = f32[16] all-gather(a), replica_groups=mesh['x'=2,'y'=2] "
        "{'x'}, dimensions={0}",
        "a = f32[8] parameter(0)\nROOT g = f32[32] all-gather(a), channel_id=1, "
        "replica_groups=mesh['axis_0'=2,'axis_1'=2] {'axis_0','axis_1'}, dimensions={0}, "
        "use_global_device_ids=true",
        "a = f32[8] parameter(0)\nROOT g = f32[16] all-gather(a), replica_groups=mesh['x'=4], "
        "device_ids=([2,2]T(1,0)) {'x':(2)2}, dimensions={0}",
        // dims without a bound, and with one
        "a = f32[?,784] parameter(0)\nROOT g = f32[?,784] abs(a)",
        "a = f32[?,4]{1,0} parameter(0)\nb = f32[4] parameter(1)\nROOT g = f32[?,4] broadcast(b), "
        "dimensions={1}",
        "a = (f32[<=8], f32[?]) parameter(0)\nb = f32[<=8] get-tuple-element(a), index=0\n"
        "z = f32[] constant(0)\nROOT r = f32[] reduce(b, z), dimensions={0}, to_apply=plus",
        "a = f32[8] parameter(0)\nn = s32[] parameter(1)\nROOT c = f32[<=8] set-dimension-size(a, "
        "n), dimensions={0}",
        // a tensor that stays in one place
        "a = f32[4] parameter(0)\nb = b(f32[4]{0}) custom-call(a), custom_call_target=\"Pin\", "
        "output_to_operand_aliasing={{}: (0, {})}\nt = (b(f32[4]{0}), f32[4]) tuple(b, a)\n"
        "p = b(f32[4]{0}) get-tuple-element(t), index=0\n"
        "ROOT c = f32[4] custom-call(b(f32[4]{0}) p), custom_call_target=\"Unpin\"",
        // a reducer that gives a tuple of one
        "a = f32[4,8] parameter(0)\nz = f32[] constant(0)\nROOT r = f32[4] reduce(a, z), "
        "dimensions={1}, to_apply=plus_in_tuple",
        // an all-gather's start that names its result alone
        "a = f32[128,32] parameter(0)\ns = f32[128,128] all-gather-start(a), "
        "replica_groups={{0,1,2,3}}, dimensions={1}\nROOT d = f32[128,128] all-gather-done(s)",
        // what is false is left out
        "a = f32[4,4] parameter(0)\nb = f32[2,4] parameter(1)\nROOT c = f32[2,4] "
        "triangular-solve(a, b), transpose_a=NO_TRANSPOSE",
        "a = f32[4,4] parameter(0)\nb = f32[4,2] parameter(1)\nROOT c = f32[4,2] "
        "triangular-solve(a, b), left_side=true, lower=true"}) {
    SCOPED_TRACE(body);
    if (std::optional<Module> module = entryOf(body))
      expectRoundTrip(*module);
  }
}

TEST(Syntax, MeshesCountTheReplicasOfAGroup) {
  auto groups = [](const std::string &text) {
    std::optional<Module> module = entryOf(
        "a = f32[8] parameter(0)\nROOT r = f32[8] all-reduce(a), to_apply=plus, replica_groups=" +
        text);
    return module ? module->entry().op(module->entry().root()).attrs.replicaGroups
                  : ReplicaGroups{};
  };
  EXPECT_EQ(groups("mesh['x'=2,'y'=4] {'x'}"), (ReplicaGroups{4, 2}));
  EXPECT_EQ(groups("mesh['x'=2,'y'=4] {'y'}"), (ReplicaGroups{2, 4}));
  EXPECT_EQ(groups("mesh['x'=2,'y'=4] {'x','y'}"), (ReplicaGroups{1, 8}));
  EXPECT_EQ(groups("mesh['x'=8] {'x':(2)4}"), (ReplicaGroups{2, 4}));
  EXPECT_EQ(groups("mesh['x'=8] {}"), (ReplicaGroups{8, 1}));
}

/// The reader takes for granted what is not written; the printer must not add it.
TEST(Syntax, AttributesThatAreLeftOutStayOut) {
  for (const char *body :
       {"a = f32[] parameter(0)\nROOT b = f32[4] broadcast(a)",
        "a = f32[] parameter(0)\nROOT b = f32[] transpose(a)",
        "a = f32[3] parameter(0)\nb = f32[4] parameter(1)\nROOT d = f32[3,4] dot(a, b)",
        "a = f32[3,4] parameter(0)\nb = f32[3,5] parameter(1)\nROOT d = f32[4,5] dot(a, b), "
        "lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "a = f32[] parameter(0)\nROOT s = f32[] slice(a)",
        "a = f32[] parameter(0)\nROOT s = f32[] dynamic-slice(a)",
        "a = f32[] parameter(0)\nz = f32[] constant(0)\nROOT p = f32[] pad(a, z)",
        "a = f32[] parameter(0)\nz = f32[] constant(0)\nROOT w = f32[] reduce-window(a, z), "
        "to_apply=plus",
        "a = f32[4] parameter(0)\nROOT w = f32[4] sort(a), dimensions={0}, to_apply=most",
        "a = f32[1,4] parameter(0)\nk = f32[4,2] parameter(1)\nROOT c = f32[1,2] convolution(a, "
        "k), dim_labels=bf_io->bf",
        "ROOT i = u32[] replica-id()"}) {
    SCOPED_TRACE(body);
    std::optional<Module> module = entryOf(body);
    if (!module)
      continue;
    expectRoundTrip(*module);
    // Nothing but what stood in the text, and the types of operands.
    EXPECT_EQ(printHlo(*module).find("={}"), std::string::npos) << printHlo(*module);
  }
}

/// `y = abs(x)` is what it is with its shape in front.
TEST(Syntax, ShapesThatFollowMayBeLeftOut) {
  const std::string parameters = "x = f32[4,6] parameter(0)\ny = f32[4,6] parameter(1)\n"
                                 "c = c64[4,6] parameter(2)\ni = s32[] parameter(3)\n"
                                 "p = pred[4,6] parameter(4)\nz = f32[] constant(0)\n"
                                 "k = f32[3,3,2,5] parameter(5)\nim = f32[1,8,8,2] parameter(6)\n"
                                 "dy = f32[<=4,6] parameter(7)\n";
  struct Case {
    const char *shape, *rest;
  };
  for (const Case &c : {
           Case{"f32[4,6]", "abs(x)"},
           {"f32[4,6]", "abs(c)"},
           {"f32[4,6]", "real(c)"},
           {"c64[4,6]", "negate(c)"},
           {"c64[4,6]", "complex(x, y)"},
           {"pred[4,6]", "compare(x, y), direction=LT"},
           {"pred[4,6]", "is-finite(x)"},
           {"f32[4,6]", "select(p, x, y)"},
           {"f32[4,6]", "clamp(z, x, z)"},
           {"f32[<=4,6]", "exponential(dy)"},
           {"f32[6,4]", "transpose(x), dimensions={1,0}"},
           {"f32[2,3]", "slice(x), slice={[1:4:2], [0:3]}"},
           {"f32[2,3]", "dynamic-slice(x, i, i), dynamic_slice_sizes={2,3}"},
           {"f32[4,6]", "dynamic-update-slice(x, x, i, i)"},
           {"f32[11,5]", "pad(x, z), padding=1_0_2x0_-1"},
           {"f32[4,12]", "concatenate(x, y), dimensions={1}"},
           {"f32[4,6]", "reverse(x), dimensions={0}"},
           {"f32[4,4]", "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
           {"f32[6]", "reduce(x, z), dimensions={0}, to_apply=plus"},
           {"f32[4,3]", "reduce-window(x, z), window={size=1x2 stride=1x2}, to_apply=plus"},
           {"f32[1,3,3,5]", "convolution(im, k), window={size=3x3 stride=2x2}, "
                            "dim_labels=b01f_01io->b01f"},
           {"(f32[4,6], c64[4,6])", "tuple(x, c)"},
           {"f32[4,6]", "copy(x)"},
           {"s32[]", "get-dimension-size(x), dimensions={1}"},
       }) {
    SCOPED_TRACE(c.rest);
    std::optional<Module> with = entryOf(parameters + "ROOT r = " + c.shape + " " + c.rest);
    std::optional<Module> without = entryOf(parameters + "ROOT r = " + c.rest);
    if (!with || !without)
      continue;
    std::string why;
    EXPECT_TRUE(equal(*with, *without, &why)) << why << "\n" << printHlo(*without);
    expectRoundTrip(*without);
  }
}

TEST(Syntax, AByteOrderMarkIsNoText) {
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string &text :
       {mark + "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }\n",
        mark + "\r\n// first\nENTRY e { ROOT p = f32[] parameter(0) }\n",
        "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }\n" + mark}) {
    EXPECT_EQ(detectFormat(text), ModelFormat::HloText);
    llvm::Expected<Module> module = importBuffer(buffer(text));
    EXPECT_TRUE(bool(module)) << takeDiag(module.takeError()).str();
  }
}

TEST(Syntax, AFileMayHoldSeveralModules) {
  auto module = [](const std::string &name, int extent) {
    return fmt::format("HloModule {}\nENTRY e {{ ROOT p = f32[{}] parameter(0) }}\n", name, extent);
  };
  const std::string text = "ENTRY e { ROOT p = f32[] parameter(0) }\n// -----\n" +
                           module("main", 1) + module("main", 2) + "// other\n" +
                           module("other", 3) + "\n";
  llvm::Expected<std::vector<Module>> all = importModules(buffer(text));
  ASSERT_TRUE(bool(all)) << takeDiag(all.takeError()).str();
  EXPECT_EQ(moduleNames(*all), (std::vector<std::string>{"module", "main", "main.2", "other"}));
  for (const Module &each : *all)
    expectRoundTrip(each);
  llvm::Expected<Module> second = importBuffer(buffer(text), "main.2");
  ASSERT_TRUE(bool(second)) << takeDiag(second.takeError()).str();
  EXPECT_EQ(second->entry().op(second->entry().root()).shape.dims, (std::vector<int64_t>{2}));

  Diag open = takeDiag(importBuffer(buffer(text)).takeError());
  EXPECT_EQ(open.line, 3u);
  EXPECT_NE(open.message.find("--module: module, main, main.2, other"), std::string::npos)
      << open.message;
  Diag unknown = takeDiag(importBuffer(buffer(text), "mian").takeError());
  EXPECT_NE(unknown.message.find("there is module, main"), std::string::npos) << unknown.message;
  // What is wrong in a later one is said where it stands.
  Diag wrong = takeDiag(
      importBuffer(buffer(module("a", 1) + "HloModule b\nENTRY e { }\n"), "a").takeError());
  EXPECT_EQ(wrong.line, 4u);
}

TEST(Syntax, OtherFormatsAreCalledByTheirNames) {
  for (const char *text : {"hlo_module {\n  name: \"m\"\n}\n", "name: \"m\"\nid: 1\n",
                           "# proto-file: hlo.proto\nhlo_module { computations { name: \"e\" } }"})
    EXPECT_EQ(detectFormat(text), ModelFormat::HloProtoText) << text;
  for (const char *text : {"#loc = loc(\"x\")\nmodule {}\n", "module @m {\n}\n", "func.func @f()"})
    EXPECT_EQ(detectFormat(text), ModelFormat::Mlir) << text;
  for (const char *text : {"computations { x = f32[] parameter(0) }", "ENTRY e {\n}",
                           "hlo (p: f32[]) -> f32[] { ROOT p = f32[] parameter(0) }", "%e {"})
    EXPECT_EQ(detectFormat(text), ModelFormat::HloText) << text;
  Diag diag = takeDiag(importBuffer(buffer("name: \"m\"\n")).takeError());
  EXPECT_NE(diag.message.find("print the module as HLO text"), std::string::npos) << diag.message;
}
