// What StableHLO's text may look like beyond the ops themselves.
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/ir/donation.h"
#include "analysis/ir/evaluator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace tilewright;

namespace {

std::vector<Module> modulesIn(const std::string &text) {
  llvm::Expected<std::vector<Module>> modules =
      importModules(std::make_shared<const SourceBuffer>("test.mlir", text));
  if (modules)
    return std::move(*modules);
  ADD_FAILURE() << takeDiag(modules.takeError()).str();
  return {};
}

Module moduleIn(const std::string &text) {
  std::vector<Module> modules = modulesIn(text);
  return modules.size() == 1 ? std::move(modules[0]) : Module();
}

std::vector<double> resultOf(const Module &module) {
  llvm::Expected<std::vector<Tensor>> values =
      evaluate(module, module.entryId, fillArguments(module, module.entryId, 1));
  std::vector<double> numbers;
  if (!values) {
    ADD_FAILURE() << takeDiag(values.takeError()).str();
    return numbers;
  }
  for (const Tensor &value : *values)
    for (int64_t i = 0; i < value.size(); ++i)
      numbers.push_back(value.asDouble(i));
  return numbers;
}

std::string attributeOf(const Module &module, std::string_view op, std::string_view name) {
  const OpId id = module.entry().find(op);
  if (!id.isValid()) {
    ADD_FAILURE() << "no op " << op << " in\n" << printHlo(module);
    return "";
  }
  for (const RawAttribute &attribute : module.entry().op(id).rawAttrs)
    if (attribute.name == name)
      return attribute.text;
  return "";
}

using Numbers = std::vector<double>;

} // namespace

TEST(StableHloSyntax, NamesAreThoseOfTheValues) {
  const Module module = moduleIn(R"(
module @my_model {
  func.func public @main(%arg0: tensor<4xf32>, %weights: tensor<4xf32>) -> tensor<4xf32> {
    %cst = stablehlo.constant dense<2.0> : tensor<4xf32>
    %0 = stablehlo.multiply %arg0, %cst : tensor<4xf32>
    %sum$1 = stablehlo.add %0, %weights : tensor<4xf32>
    return %sum$1 : tensor<4xf32>
  }
})");
  EXPECT_EQ(module.name, "my_model");
  EXPECT_EQ(module.entry().name(), "main");
  for (const char *name : {"arg0", "weights", "cst", "multiply.0", "sum_1"})
    EXPECT_TRUE(module.entry().find(name).isValid()) << name;
}

TEST(StableHloSyntax, LocationsBecomeMetadata) {
  const Module module = moduleIn(R"(
#loc2 = loc("w")
module {
  func.func @main(%x: tensor<4xf32> loc("x"), %w: tensor<4xf32> loc(#loc2)) -> tensor<4xf32> {
    %a = stablehlo.add %x, %w : tensor<4xf32> loc(#loc5)
    %b = stablehlo.negate %a : tensor<4xf32> loc("jit(f)/neg \22q\22"("model.py":3:7))
    %c = stablehlo.abs %b : tensor<4xf32> loc(unknown)
    return %c : tensor<4xf32> loc(#loc4)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc4 = loc("model.py":12:5)
#loc5 = loc("jit(f)/layer_3/add"(#loc4))
)");
  EXPECT_EQ(attributeOf(module, "x", "metadata"), "{op_name=\"x\"}");
  EXPECT_EQ(attributeOf(module, "w", "metadata"), "{op_name=\"w\"}");
  EXPECT_EQ(attributeOf(module, "a", "metadata"),
            "{op_name=\"jit(f)/layer_3/add\" source_file=\"model.py\" source_line=12}");
  EXPECT_EQ(attributeOf(module, "b", "metadata"),
            "{op_name=\"jit(f)/neg \\\"q\\\"\" source_file=\"model.py\" source_line=3}");
  EXPECT_EQ(attributeOf(module, "c", "metadata"), "");
}

TEST(StableHloSyntax, LocationsOfSeveralParts) {
  std::string text = R"(
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = stablehlo.negate %x : tensor<4xf32> loc(fused[unknown, "first"("m.py":1:2), "second"])
    %b = stablehlo.negate %a : tensor<4xf32> loc(fused<"pass">["l.py":8:1, #named])
    %c = stablehlo.negate %b : tensor<4xf32> loc(callsite("f"("inner.py":3:4) at "outer.py":5:6))
    %d = stablehlo.negate %c : tensor<4xf32> loc("jit(f)/neg"(callsite("f"("inner.py":3:4) at #named)))
    %e = stablehlo.negate %d : tensor<4xf32> loc(#many24)
    return %e : tensor<4xf32>
  }
}
#named = loc("name")
#many0 = loc(unknown)
)";
  for (int i = 0; i < 24; ++i) // 2^24 parts, all unknown
    text += fmt::format("#many{0} = loc(fused[#many{1}, #many{1}])\n", i + 1, i);
  const Module module = moduleIn(text);
  EXPECT_EQ(attributeOf(module, "a", "metadata"),
            "{op_name=\"first\" source_file=\"m.py\" source_line=1}");
  EXPECT_EQ(attributeOf(module, "b", "metadata"),
            "{op_name=\"name\" source_file=\"l.py\" source_line=8}");
  EXPECT_EQ(attributeOf(module, "c", "metadata"),
            "{op_name=\"f\" source_file=\"inner.py\" source_line=3}");
  EXPECT_EQ(attributeOf(module, "d", "metadata"),
            "{op_name=\"jit(f)/neg\" source_file=\"inner.py\" source_line=3}");
  EXPECT_EQ(attributeOf(module, "e", "metadata"), "");
}

TEST(StableHloSyntax, StringsAreWrittenAsHloReadsThem) {
  const Module module = moduleIn(R"(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.custom_call @"my \22call\22"(%x) {backend_config = "a\1E\FF\0A\5Cé"} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
})");
  EXPECT_EQ(attributeOf(module, "r", "backend_config"), "\"a\\036\\377\\n\\\\é\"");
  EXPECT_EQ(attributeOf(module, "r", "custom_call_target"), "\"my \\\"call\\\"\"");
  llvm::Expected<Module> again =
      importBuffer(std::make_shared<const SourceBuffer>("printed", printHlo(module)));
  EXPECT_TRUE(static_cast<bool>(again));
  llvm::consumeError(again.takeError());
}

TEST(StableHloSyntax, DonatedArguments) {
  const Module module = moduleIn(R"(
module @step attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<4xf32>,
                         %c: tensor<4xf32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"})
      -> (tensor<4xf32> {jax.result_info = ""}, tensor<4xf32>) {
    return %b, %a : tensor<4xf32>, tensor<4xf32>
  }
})");
  EXPECT_EQ(donatedArguments(module), (std::set<EntryArgument>{{0, -1}, {2, -1}}));
  ASSERT_EQ(module.attributes.size(), 3u);
  EXPECT_EQ(module.attributes[0].name, "num_partitions");
  EXPECT_EQ(module.attributes[0].text, "4");
}

TEST(StableHloSyntax, TheEntryIsMainOrTheOneThatIsPublicOrCalledByNone) {
  const std::string once = "(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }\n";
  const std::string twice = "(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                            "  %r = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
                            "  return %r : tensor<2xf32>\n}\n";
  EXPECT_EQ(moduleIn("func.func @f" + once + "func.func @main" + once).entry().name(), "main");
  EXPECT_EQ(moduleIn("func.func @g" + twice + "func.func private @f" + once).entry().name(), "g");
  EXPECT_EQ(moduleIn("func.func private @g" + twice + "func.func private @f" + once).entry().name(),
            "g");
  // What the entry doesn't reach is dropped.
  EXPECT_EQ(moduleIn("func.func @f" + once + "func.func @main" + once).all().size(), 1u);
}

TEST(StableHloSyntax, SeveralModulesOfOneFile) {
  const std::string body = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                           "  return %x : tensor<2xf32>\n}\n";
  const std::vector<Module> modules =
      modulesIn("module @a {\n" + body + "}\nmodule @b {\n" + body + "}\n" + body);
  ASSERT_EQ(modules.size(), 3u);
  EXPECT_EQ(moduleNames(modules), (std::vector<std::string>{"a", "b", "module"}));
}

TEST(StableHloSyntax, ALoopCarriesWhatItUsesFromOutside) {
  const Module module = moduleIn(R"(
func.func @main() -> (tensor<f32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<4> : tensor<i32>
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.add %x, %x : tensor<f32>
  %big = stablehlo.constant dense<true> : tensor<i1>
  %r:2 = stablehlo.while(%a = %x, %i = %zero) : tensor<f32>, tensor<i32>
   cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = "stablehlo.if"(%big) ({
      %m = stablehlo.multiply %a, %y : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }, {
      stablehlo.return %y : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %b, %j : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<i32>
})");
  EXPECT_EQ(resultOf(module), (Numbers{16, 4}));
  // Its bound is a constant of the condition, and %y an element of its state.
  const OpId loop = module.entry().find("r");
  ASSERT_TRUE(loop.isValid());
  EXPECT_EQ(module.entry().op(loop).shape.str(false), "(f32[], s32[], f32[])");
  // Branches of a truth value are written as XLA reads them.
  EXPECT_NE(printHlo(module).find(", true_computation=%b.0, false_computation=%b.1"),
            std::string::npos)
      << printHlo(module);
}

TEST(StableHloSyntax, ReducersMayUseConstantsOfOutside) {
  const Module module = moduleIn(R"(
func.func @main() -> tensor<f32> {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %m = stablehlo.multiply %b, %half : tensor<f32>
    %s = stablehlo.add %a, %m : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %r : tensor<f32>
})");
  EXPECT_EQ(resultOf(module), (Numbers{3}));
}

TEST(StableHloSyntax, AliasesOfTypesAndAttributes) {
  const Module module = moduleIn(R"(
!t = tensor<2x3xf32>
#dims = array<i64: 1, 0>
module {
  func.func @main() -> tensor<3x2xf32> {
    %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : !t
    %r = "stablehlo.transpose"(%x) {permutation = #dims} : (!t) -> tensor<3x2xf32>
    return %r : tensor<3x2xf32>
  }
})");
  EXPECT_EQ(resultOf(module), (Numbers{1, 4, 2, 5, 3, 6}));
}

TEST(StableHloSyntax, OlderFormsOfAttributes) {
  const Module module = moduleIn(R"(
func.func @main() -> (tensor<3x2xf32>, tensor<4x3xi32>) {
  %x = "stablehlo.constant"() {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
  %r = "stablehlo.transpose"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %i = mhlo.constant dense<1> : tensor<4x6xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %w = "mhlo.reduce_window"(%i, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = mhlo.add %a, %b : tensor<i32>
    "mhlo.return"(%s) : (tensor<i32>) -> ()
  }) {window_dimensions = dense<[1, 2]> : tensor<2xi64>, window_strides = dense<[1, 2]> : tensor<2xi64>, padding = dense<0> : tensor<2x2xi64>} : (tensor<4x6xi32>, tensor<i32>) -> tensor<4x3xi32>
  return %r, %w : tensor<3x2xf32>, tensor<4x3xi32>
})");
  EXPECT_EQ(resultOf(module), (Numbers{1, 4, 2, 5, 3, 6, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}));
}

// As torch_xla prints what it makes of a torch.export'ed module.
TEST(StableHloSyntax, WhatXlaLeavesAtOps) {
  const Module module = moduleIn(R"(
func.func @main() -> tensor<2x1xf32> {
  %x = stablehlo.constant dense<[[0.0, 1.0]]> : tensor<1x2xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[2,1]{0,1}"} : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %e = stablehlo.custom_call @mhlo.erf(%t) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  return %e : tensor<2x1xf32>
})");
  const std::vector<double> values = resultOf(module);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0], 0);
  EXPECT_NEAR(values[1], 0.8427008, 1e-6);
}

TEST(StableHloSyntax, ConvolutionDimsByName) {
  const Module module = moduleIn(R"(
func.func @main() -> tensor<1x3x1xf32> {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %w = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %r = "stablehlo.convolution"(%x, %w) {batch_group_count = 1 : i64, feature_group_count = 1 : i64, padding = dense<[[0, 1]]> : tensor<1x2xi64>, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 2, input_spatial_dimensions = [1], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 2, output_spatial_dimensions = [1]>} : (tensor<1x3x1xf32>, tensor<2x1x1xf32>) -> tensor<1x3x1xf32>
  return %r : tensor<1x3x1xf32>
})");
  EXPECT_EQ(resultOf(module), (Numbers{21, 32, 3}));
}

TEST(StableHloSyntax, ValuesThatAreNotThere) {
  const Module module = moduleIn(R"(
func.func @main() -> tensor<2xf32> {
  %r = stablehlo.constant dense_resource<weights> : tensor<2xf32>
  return %r : tensor<2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      weights: "0x04000000000000000000803F"
    }
  }
#-}
)");
  EXPECT_TRUE(module.entry().op(module.entry().root()).isElidedConstant());
}

TEST(StableHloSyntax, BoundedExtents) {
  const Module module = moduleIn(R"(
func.func @main(%x: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>> {
  %r = stablehlo.negate %x : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  return %r : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
})");
  EXPECT_EQ(module.entry().op(module.entry().root()).shape.str(false), "f32[<=8,4]");
}

// An optional attribute that is left out has its default.
TEST(StableHloSyntax, AWindowWithoutPadding) {
  llvm::Expected<Module> module = importFile("tests/cases/46-window-without-padding.mlir");
  ASSERT_TRUE(static_cast<bool>(module));
  std::vector<Tensor> arguments;
  std::vector<int64_t> count(24);
  for (size_t i = 0; i < count.size(); ++i)
    count[i] = static_cast<int64_t>(i);
  arguments.push_back(Tensor::ofIntegers(Shape::tensor(DType::S32, {4, 6}), count));
  llvm::Expected<std::vector<Tensor>> values = evaluate(*module, module->entryId, arguments);
  ASSERT_TRUE(static_cast<bool>(values));
  const std::vector<int64_t> expected = {1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45};
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ((*values)[0].integer(i), expected[static_cast<size_t>(i)]);
}
