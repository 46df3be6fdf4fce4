// StableHLO text that nobody means: cut, nested, huge. Each is read or refused, at once.
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/import/module_equal.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

/// The message of the refusal, empty for what is read.
std::string refusalOf(std::string text) {
  auto source = std::make_shared<const SourceBuffer>("test", std::move(text));
  llvm::Expected<std::vector<Module>> modules = importModules(source);
  if (!modules) {
    const Diag diag = takeDiag(modules.takeError());
    EXPECT_TRUE(diag.cls == DiagClass::BadInput || diag.cls == DiagClass::Unsupported)
        << diag.str();
    EXPECT_FALSE(diag.message.empty());
    return diag.message;
  }
  for (const Module &module : *modules) {
    const std::string printed = printHlo(module);
    llvm::Expected<Module> again =
        importBuffer(std::make_shared<const SourceBuffer>("printed", printed));
    if (!again) {
      ADD_FAILURE() << takeDiag(again.takeError()).str() << printed;
      continue;
    }
    std::string why;
    EXPECT_TRUE(equal(module, *again, &why)) << why;
  }
  return "";
}

std::string repeat(std::string_view piece, size_t count) {
  std::string out;
  out.reserve(piece.size() * count);
  for (size_t i = 0; i < count; ++i)
    out += piece;
  return out;
}

std::string function(const std::string &body, const std::string &arguments = "%x: tensor<4xf32>",
                     const std::string &result = "tensor<4xf32>") {
  return "func.func @main(" + arguments + ") -> " + result + " {\n" + body + "\n}\n";
}

} // namespace

TEST(HostileStableHlo, TruncatedModules) {
  for (const char *name : {"ops.mlir", "ops_generic.mlir"}) {
    llvm::Expected<std::string> text = readFile(std::string("tests/import/stablehlo/") + name);
    ASSERT_TRUE(static_cast<bool>(text));
    size_t read = 0;
    for (size_t length = 0; length < text->size(); length += length < 2500 ? 7 : 997)
      read += refusalOf(text->substr(0, length)).empty();
    EXPECT_LT(read, 60u); // only cuts between modules can be whole
  }
}

TEST(HostileStableHlo, DeepNesting) {
  constexpr size_t depth = 200000;
  for (std::string_view bracket : {"(", "[", "{", "<", "({", "<{", "tuple<", "[["}) {
    const std::string nested = repeat(bracket, depth);
    for (const std::string &text : {
             "module attributes {a = " + nested,
             "#a = " + nested,
             "#loc = loc(" + nested,
             "func.func @main(%x: tensor<4xf32> {a = " + nested,
             "func.func @main(%x: " + nested,
             "func.func @main() -> " + nested,
             function("  %r = stablehlo.abs %x " + nested),
             function("  %r = stablehlo.constant dense<" + nested),
             function("  %r = \"stablehlo.abs\"(%x) <{a = " + nested),
             function("  %r = stablehlo.slice %x " + nested),
             function("  %r = stablehlo.transpose %x, dims = " + nested),
             function("  %r = stablehlo.abs %x : " + nested),
             function("  %r = stablehlo.abs %x : tensor<4xf32> loc(" + nested),
         })
      EXPECT_NE(refusalOf(text), "") << text.substr(0, 100);
  }
  EXPECT_EQ(refusalOf("func.func @main(%x: " + repeat("tuple<", depth)),
            "tuples nest deeper than 256");
  const std::string region = "\"stablehlo.if\"(%p) ({\n";
  EXPECT_EQ(refusalOf(function(repeat(region, depth), "%p: tensor<i1>", "tensor<i1>")),
            "regions nest deeper than 128");
  EXPECT_EQ(refusalOf(function(repeat("%a = stablehlo.while(%b = %p) : tensor<i1> cond {\n", depth),
                               "%p: tensor<i1>", "tensor<i1>")),
            "regions nest deeper than 128");
  EXPECT_NE(refusalOf("\"builtin.module\"() " + repeat("({", depth)), "");
}

TEST(HostileStableHlo, NestingUpToTheLimitIsRead) {
  constexpr int depth = 100;
  std::string body;
  for (int i = 0; i < depth; ++i)
    body += fmt::format("%r{} = \"stablehlo.if\"(%p) ({{\n", i);
  body += "stablehlo.return %x : tensor<4xf32>\n";
  for (int i = depth - 1; i >= 0; --i) {
    body += "}, { stablehlo.return %x : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>\n";
    body += fmt::format("{} %r{} : tensor<4xf32>\n", i == 0 ? "return" : "stablehlo.return", i);
  }
  EXPECT_EQ(refusalOf(function(body, "%p: tensor<i1>, %x: tensor<4xf32>")), "");
}

TEST(HostileStableHlo, HugeCounts) {
  EXPECT_EQ(refusalOf(function("  %r:4000000000 = stablehlo.abs %x : tensor<4xf32>")),
            "4000000000 results, 1 to 1048576 are possible");
  EXPECT_EQ(refusalOf(function("  %r:1000000 = stablehlo.abs %x : tensor<4xf32>")),
            "1000000 results are named, 1 have types");
  // A splat takes no memory, however many its elements are.
  EXPECT_EQ(refusalOf(function("  %r = stablehlo.constant dense<0.0> : tensor<1000000000000xf32>\n"
                               "  return %r : tensor<1000000000000xf32>",
                               "", "tensor<1000000000000xf32>")),
            "");
  EXPECT_EQ(refusalOf(function("  %r = stablehlo.constant dense<> : tensor<0x1000000000000xf32>\n"
                               "  return %r : tensor<0x1000000000000xf32>",
                               "", "tensor<0x1000000000000xf32>")),
            "");
  EXPECT_NE(refusalOf(function("  %r = \"stablehlo.transpose\"(%x) {permutation = dense<0> : "
                               "tensor<1000000000000xi64>} : (tensor<4xf32>) -> tensor<4xf32>")),
            "");
  EXPECT_EQ(refusalOf("func.func @main(%x: tensor<" + repeat("1x", 40) + "f32>)"),
            "more than 32 dims");
  std::string attributes;
  for (int i = 0; i < 10000; ++i)
    attributes += fmt::format("{}a{} = 1", i ? ", " : "", i);
  EXPECT_EQ(refusalOf(function("  %r = stablehlo.abs %x {" + attributes + "} : tensor<4xf32>")),
            "over 256 attributes");
}

// Sizes at which anything quadratic would be felt: the whole test takes well under a second.
TEST(HostileStableHlo, LongInputsAreLinear) {
  std::string chain;
  for (int i = 0; i < 30000; ++i)
    chain += fmt::format("  %{} = stablehlo.negate {} : tensor<4xf32>\n", i,
                         i ? fmt::format("%{}", i - 1) : "%x");
  EXPECT_EQ(refusalOf(function(chain + "  return %29999 : tensor<4xf32>")), "");

  // Names that become one in HLO.
  std::string names;
  for (int i = 0; i < 5000; ++i)
    names += fmt::format("  %a{} = stablehlo.negate %x : tensor<4xf32>\n"
                         "  %{} = stablehlo.abs %x : tensor<4xf32>\n",
                         std::string(1 + i % 3, '$') + std::to_string(i), i);
  EXPECT_EQ(refusalOf(function(names + "  return %x : tensor<4xf32>")), "");

  std::string functions;
  for (int i = 0; i < 10000; ++i)
    functions += fmt::format("func.func private @f{}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n"
                             "  {}return {} : tensor<4xf32>\n}}\n",
                             i,
                             i ? fmt::format("%0 = call @f{}(%x) : (tensor<4xf32>) -> "
                                             "tensor<4xf32>\n  ",
                                             i - 1)
                               : "",
                             i ? "%0" : "%x");
  EXPECT_EQ(refusalOf(functions), "");

  const std::string values = "  %r = stablehlo.constant dense<[0" + repeat(", 7", 99999) +
                             "]> : tensor<100000xi32>\n  return %r : tensor<100000xi32>";
  EXPECT_EQ(refusalOf(function(values, "", "tensor<100000xi32>")), "");
}

// A long tuple that many loops use from outside would be copied into each.
TEST(HostileStableHlo, CapturedTuplesCount) {
  const std::string tuple = "tuple<tensor<f32>" + repeat(", tensor<f32>", 20000) + ">";
  std::string body;
  for (int i = 0; i < 2000; ++i)
    body += fmt::format("  %{} = \"stablehlo.if\"(%p) ({{\n"
                        "    %a = stablehlo.get_tuple_element %t[0] : (!t) -> tensor<f32>\n"
                        "    stablehlo.return %a : tensor<f32>\n  }}, {{\n"
                        "    %a = stablehlo.get_tuple_element %t[1] : (!t) -> tensor<f32>\n"
                        "    stablehlo.return %a : tensor<f32>\n  }}) : (tensor<i1>) -> "
                        "tensor<f32>\n",
                        i);
  EXPECT_EQ(refusalOf("!t = " + tuple + "\n" +
                      function(body + "  return %0 : tensor<f32>", "%p: tensor<i1>, %t: !t",
                               "tensor<f32>")),
            "the file has over 1048576 ops, or over 4194304 tensors in their types");
}
