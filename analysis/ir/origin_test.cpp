#include "analysis/import/hlo_text.h"
#include "analysis/ir/inline.h"
#include "analysis/ir/origin.h"
#include "analysis/ir/quotes.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

Module moduleIn(std::string text) {
  llvm::Expected<Module> module =
      parseHlo(std::make_shared<const SourceBuffer>("test", std::move(text)));
  if (module)
    return std::move(*module);
  ADD_FAILURE() << takeDiag(module.takeError()).str();
  return {};
}

OpOrigin originOf(const Module &module, std::string_view name) {
  const Graph &entry = module.entry();
  return OpOrigins(module).of(entry.op(entry.find(name)));
}

const char *const frames = R"(HloModule m

FileNames
1 "a \"b\".py"
2 "layers.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=0 end_column=1}
2 {file_name_id=2 function_name_id=1 line=31 end_line=31 column=0 end_column=1}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}
3 {file_location_id=9 parent_frame_id=1}

ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] negate(x), metadata={op_type="neg" op_name="jit(f)/a \"q\", b={}/\303\251" source_file="m.py" source_line=12 stack_frame_id=2}
  b = f32[8] negate(a), metadata={op_name="jit(f)/b" stack_frame_id=2}
  c = f32[8] negate(b), metadata={stack_frame_id=1 scheduling_name="c"}
  d = f32[8] negate(c), metadata={op_name="d" stack_frame_id=3}
  ROOT r = f32[8] negate(d)
})";

} // namespace

TEST(OpOrigins, NameFileAndLine) {
  const Module module = moduleIn(frames);
  EXPECT_EQ(originOf(module, "a"), (OpOrigin{"jit(f)/a \"q\", b={}/é", "m.py", 12}));
  EXPECT_EQ(originOf(module, "b"), (OpOrigin{"jit(f)/b", "layers.py", 31}));
  EXPECT_EQ(originOf(module, "c"), (OpOrigin{"", "a \"b\".py", 7}));
  EXPECT_EQ(originOf(module, "d"), (OpOrigin{"d", "", 0}));
  EXPECT_EQ(originOf(module, "r"), OpOrigin());
}

TEST(OpOrigins, PartsOfNames) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(nameParts("jit(f)/a/b"), (Parts{"jit(f)", "a", "b"}));
  EXPECT_EQ(nameParts("transpose(jvp(a/b))/c"), (Parts{"transpose(jvp(a/b))", "c"}));
  EXPECT_EQ(nameParts("/layer/MatMul/"), (Parts{"layer", "MatMul"}));
  EXPECT_EQ(nameParts("a)/b(/c"), (Parts{"a)", "b(/c"}));
  EXPECT_EQ(nameParts(""), Parts());
}

TEST(OpOrigins, WhatACallRunsIsNamedBehindIt) {
  llvm::Expected<Module> module = inlineCalls(moduleIn(R"(HloModule m
layer { p = f32[8] parameter(0)
  whole = f32[8] negate(p), metadata={op_name="jit(f)/a/neg"}
  inner = f32[8] abs(whole), metadata={op_name="act/abs" source_line=3}
  bare = f32[8] negate(inner)
  ROOT last = f32[8] negate(bare), metadata={source_line=4} }
ENTRY e {
  x = f32[8] parameter(0)
  first = f32[8] call(x), to_apply=layer, metadata={op_name="jit(f)/layer_0"}
  ROOT second = f32[8] call(first), to_apply=layer
})"));
  ASSERT_TRUE(static_cast<bool>(module));
  EXPECT_EQ(originOf(*module, "whole").name, "jit(f)/a/neg");
  EXPECT_EQ(originOf(*module, "inner"), (OpOrigin{"jit(f)/layer_0/act/abs", "", 3}));
  EXPECT_EQ(originOf(*module, "bare").name, "jit(f)/layer_0");
  EXPECT_EQ(originOf(*module, "first"), (OpOrigin{"jit(f)/layer_0", "", 4}));
  EXPECT_EQ(originOf(*module, "inner.1"), (OpOrigin{"act/abs", "", 3}));
  EXPECT_EQ(originOf(*module, "second"), (OpOrigin{"", "", 4}));
}

TEST(Quoted, EscapesAndBack) {
  for (std::string text : {"plain", "q\"b\\n\n", "\x01\x7f\xff", "é", "'"})
    EXPECT_EQ(unescaped(inQuotes(text).substr(1, inQuotes(text).size() - 2)), text);
  EXPECT_EQ(inQuotes("a\"\n\x01\xff"), R"("a\"\n\001\377")");
  EXPECT_EQ(unescaped(R"(\'\x41\101\0018\t\q\)"), "'AA\0018\tq\\");
}
