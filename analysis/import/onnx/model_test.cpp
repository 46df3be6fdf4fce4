// Whole models: names, weights, shapes that nodes compute, branches, loops, functions.
#include "analysis/import/hlo_text.h"
#include "analysis/import/module_equal.h"
#include "analysis/import/onnx/node.h"
#include "analysis/import/onnx/testing/onnx_models.h"
#include "analysis/ir/origin.h"

#include <filesystem>
#include <fstream>
#include <onnx/onnx_pb.h>

using namespace tilewright;
using namespace tilewright::test;

namespace {

Module moduleOf(const std::string &text) {
  llvm::Expected<Module> module = importBuffer(onnxSource(text));
  if (module)
    return std::move(*module);
  ADD_FAILURE() << takeDiag(module.takeError()).str();
  return {};
}

size_t countOf(const Module &module, Opcode opcode) {
  size_t count = 0;
  for (const Graph &graph : module.all())
    for (const Op &op : graph.all())
      count += op.opcode == opcode;
  return count;
}

/// A model as its bytes, with nodes, weights and inputs to be added.
struct ModelBytes {
  ModelBytes() {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    model.mutable_graph()->set_name("g");
  }
  ::onnx::NodeProto &node(const std::string &type, std::vector<std::string> inputs,
                          const std::string &output, const std::string &name = "") {
    ::onnx::NodeProto &node = *model.mutable_graph()->add_node();
    node.set_op_type(type);
    node.set_name(name);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return node;
  }
  void value(bool isInput, const std::string &name, std::vector<int64_t> dims) {
    auto &info =
        isInput ? *model.mutable_graph()->add_input() : *model.mutable_graph()->add_output();
    info.set_name(name);
    auto &tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(::onnx::TensorProto::FLOAT);
    for (int64_t extent : dims)
      tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  ::onnx::TensorProto &weight(const std::string &name, std::vector<int64_t> dims) {
    ::onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    for (int64_t extent : dims)
      tensor.add_dims(extent);
    return tensor;
  }
  std::string bytes() const { return model.SerializeAsString(); }

  ::onnx::ModelProto model;
};

} // namespace

TEST(OnnxModel, OpsAreCalledAsTheirResultsAndCarryTheirNodesNames) {
  ModelBytes m;
  m.value(true, "x", {2, 2});
  m.weight("layer.weight", {2, 2}).mutable_float_data()->Resize(4, 1);
  m.node("MatMul", {"x", "layer.weight"}, "/layer/MatMul_output_0", "/layer/MatMul");
  m.node("Softmax", {"/layer/MatMul_output_0"}, "y", "/layer/Softmax");
  m.value(false, "y", {2, 2});
  const Module module = moduleOf(m.bytes());
  EXPECT_EQ(module.name, "g");
  const Graph &graph = module.entry();
  const OpId product = graph.find("_layer_MatMul_output_0"), last = graph.find("y");
  ASSERT_TRUE(product.isValid() && last.isValid());
  EXPECT_EQ(graph.op(product).opcode, Opcode::Dot);
  EXPECT_EQ(graph.root(), last);
  EXPECT_EQ(OpOrigins(module).of(graph.op(product)).name, "/layer/MatMul");
  EXPECT_EQ(OpOrigins(module).of(graph.op(last)).name, "/layer/Softmax");
  const OpId exponential = graph.find("y.exponential");
  ASSERT_TRUE(exponential.isValid());
  EXPECT_EQ(OpOrigins(module).of(graph.op(exponential)).name, "/layer/Softmax");
  // Weights are parameters behind the inputs.
  const std::vector<OpId> parameters = graph.parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(graph.op(parameters[1]).name, "layer.weight");
}

TEST(OnnxModel, ReadsBackAsHlo) {
  const Module module = moduleOf(onnxText(
      "(float[2,3,4,4] x, float[3,3,1,1] w) => (float[2,3,2,2] y, int64[2,1,4,4] i)",
      "a = Conv(x, w)\nb = Relu(a)\ny = MaxPool <kernel_shape = [2,2], strides = [2,2]> (b)\n"
      "i = ArgMax <axis = 1> (a)"));
  llvm::Expected<Module> again =
      importBuffer(std::make_shared<const SourceBuffer>("printed", printHlo(module)));
  ASSERT_TRUE(static_cast<bool>(again)) << takeDiag(again.takeError()).str();
  std::string why;
  EXPECT_TRUE(equal(module, *again, &why)) << why;
}

// Shape → Gather → Concat → Reshape, as exporters write it: nothing of it is left.
TEST(OnnxModel, ShapesThatNodesComputeAreComputedOnImport) {
  const Module module = moduleOf(onnxText("(float[2,3,4] x) => (float[2,12] y)",
                                          "s = Shape(x)\n"
                                          "zero = Constant <value_int = 0> ()\n"
                                          "b = Gather(s, zero)\n"
                                          "axes = Constant <value_ints = [0]> ()\n"
                                          "b1 = Unsqueeze(b, axes)\n"
                                          "rest = Constant <value_ints = [-1]> ()\n"
                                          "to = Concat <axis = 0> (b1, rest)\n"
                                          "y = Reshape(x, to)"));
  EXPECT_EQ(module.entry().size(), 2u);
  EXPECT_EQ(module.entry().op(module.entry().root()).opcode, Opcode::Reshape);
}

// A float scale times an extent, as Resize has it.
TEST(OnnxModel, SizesThatFloatsComputeAreKnown) {
  EXPECT_EQ(onnxResult("(float[4] x) => (float[2] y)",
                       "s = Shape(x)\nf = Cast <to = 1> (s)\n"
                       "h = Constant <value = float[1] {0.5}> ()\n"
                       "half = Mul(f, h)\nfl = Floor(half)\nn = Cast <to = 7> (fl)\n"
                       "z = Constant <value_ints = [0]> ()\ny = Slice(x, z, n)",
                       {{1, 2, 3, 4}}),
            (Numbers{1, 2}));
}

TEST(OnnxModel, SmallWeightsAreConstants) {
  ModelBytes m;
  m.value(true, "x", {4});
  m.weight("half", {}).add_float_data(0.5);
  auto &shape = m.weight("shape", {2});
  shape.set_data_type(::onnx::TensorProto::INT64);
  shape.add_int64_data(2);
  shape.add_int64_data(-1);
  m.node("Mul", {"x", "half"}, "z");
  m.node("Reshape", {"z", "shape"}, "y");
  m.value(false, "y", {2, 2});
  const Module module = moduleOf(m.bytes());
  EXPECT_EQ(module.entry().parameters().size(), 1u);
  EXPECT_EQ(onnxResults(m.bytes(), {{2, 4, 6, 8}}), (std::vector<Numbers>{{1, 2, 3, 4}}));
}

TEST(OnnxModel, ValuesOfWeightsAreReadFromTheirFile) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "onnx_external";
  std::filesystem::create_directories(folder);
  ModelBytes m;
  m.value(true, "x", {2});
  auto &weight = m.weight("w", {2});
  weight.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto set = [&](const char *key, const char *value) {
    auto &entry = *weight.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  set("location", "w.bin");
  set("offset", "4");
  m.node("Add", {"x", "w"}, "y");
  m.value(false, "y", {2});
  const std::string path = (folder / "m.onnx").string();
  auto source = std::make_shared<const SourceBuffer>(path, m.bytes());
  auto refusal = [&] {
    llvm::Expected<Module> module = importBuffer(source);
    return module ? std::string() : takeDiag(module.takeError()).str();
  };
  std::filesystem::remove(folder / "w.bin");
  EXPECT_NE(refusal().find("weight 'w': the file '"), std::string::npos) << refusal();
  const float values[] = {9, 1, 2};
  std::ofstream(folder / "w.bin", std::ios::binary)
      .write(reinterpret_cast<const char *>(values), sizeof values);
  EXPECT_EQ(refusal(), "");
  llvm::Expected<std::vector<Tensor>> weights = onnxWeights(source);
  ASSERT_TRUE(static_cast<bool>(weights)) << takeDiag(weights.takeError()).str();
  EXPECT_EQ((*weights)[0].real(0), 1);
  EXPECT_EQ((*weights)[0].real(1), 2);
  std::ofstream(folder / "w.bin", std::ios::binary).write("abc", 3);
  EXPECT_NE(refusal().find("its values end at byte 12"), std::string::npos) << refusal();
  weight.mutable_external_data(0)->set_value("../w.bin");
  source = std::make_shared<const SourceBuffer>(path, m.bytes());
  EXPECT_NE(refusal().find("must be in the model's folder"), std::string::npos) << refusal();
}

// Case 48: the index counts in the axis that is gathered, and is known.
TEST(OnnxModel, LastAlongTheMiddle) {
  const std::string signature = "(float[2,3,4] x) => (float[2,4] y)";
  auto nodes = [](int64_t index) {
    return fmt::format("i = Constant <value_int = {}> ()\ny = Gather <axis = 1> (x, i)", index);
  };
  Numbers x;
  for (int i = 0; i < 24; ++i)
    x.push_back(i);
  EXPECT_EQ(onnxResult(signature, nodes(-1), {x}, 18), (Numbers{8, 9, 10, 11, 20, 21, 22, 23}));
  const Module module = moduleOf(onnxText(signature, nodes(-1), 18));
  const Graph &graph = module.entry();
  ASSERT_EQ(graph.op(graph.root()).opcode, Opcode::Gather);
  EXPECT_EQ(graph.op(graph.op(graph.root()).operands[1]).literal, "2");
  for (int64_t index : {3, -4}) {
    const Diag diag = onnxDiag(onnxText(signature, nodes(index), 18));
    EXPECT_EQ(diag.cls, DiagClass::BadInput);
    EXPECT_EQ(diag.message,
              fmt::format("the node of 'y' (Gather): index {} is not one of 3 elements", index));
  }
}

TEST(OnnxModel, BranchesStandInPlaceWhereTheConditionIsKnown) {
  const std::string branches = "y = If <then_branch = t () => (float[2] a) { a = Add(x, x) }, "
                               "else_branch = e () => (float[2] b) { b = Mul(x, x) }> (c)";
  const std::string known =
      onnxText("(float[2] x) => (float[2] y)", "c = Constant <value = bool {0}> ()\n" + branches);
  EXPECT_EQ(onnxResults(known, {{3, 4}}), (std::vector<Numbers>{{9, 16}}));
  EXPECT_EQ(countOf(moduleOf(known), Opcode::Conditional), 0u);
  const std::string unknown = onnxText("(float[2] x, bool c) => (float[2] y)", branches);
  EXPECT_EQ(countOf(moduleOf(unknown), Opcode::Conditional), 1u);
  EXPECT_EQ(onnxResults(unknown, {{3, 4}, {1}}), (std::vector<Numbers>{{6, 8}}));
  EXPECT_EQ(onnxResults(unknown, {{3, 4}, {0}}), (std::vector<Numbers>{{9, 16}}));
}

TEST(OnnxModel, LoopsAreWhiles) {
  // v becomes v + x each time; what was is kept.
  const std::string body = "v, all = Loop <body = b (int64 i, bool go, float[1] a) => "
                           "(bool more, float[1] next, float[1] was) "
                           "{ more = Identity(go)\n next = Add(a, x)\n was = Identity(a) }> ";
  const std::string known =
      onnxText("(float[1] x) => (float[1] v, float[3,1] all)",
               "m = Constant <value_int = 3> ()\ns = Constant <value = float[1] {0.0}> ()\n" +
                   body + "(m, , s)");
  EXPECT_EQ(countOf(moduleOf(known), Opcode::While), 1u);
  EXPECT_EQ(onnxResults(known, {{5}}), (std::vector<Numbers>{{15}, {0, 5, 10}}));
  // Until v is over 10, however many steps that takes.
  const std::string until =
      onnxText("(float[1] x, int64 m) => (float[1] v)",
               "s = Constant <value = float[1] {0.0}> ()\nt = Constant <value = bool {1}> ()\n"
               "v = Loop <body = b (int64 i, bool go, float[1] a) => (bool more, float[1] next) "
               "{ ten = Constant <value = float[1] {10.0}> ()\n next = Add(a, x)\n"
               "l = Less(next, ten)\n r = Constant <value = int64[1] {0}> ()\n"
               "more = Squeeze(l, r) }> (m, t, s)");
  EXPECT_EQ(onnxResults(until, {{4}, {100}}), (std::vector<Numbers>{{12}}));
  EXPECT_EQ(onnxResults(until, {{4}, {2}}), (std::vector<Numbers>{{8}}));
}

// A value that grows from step to step has no while; a few steps stand one behind the other.
TEST(OnnxModel, LoopsWhoseValuesGrowAreUnrolled) {
  const std::string text =
      onnxText("(float[1] x) => (float[3] v)",
               "m = Constant <value_int = 2> ()\n"
               "v = Loop <body = b (int64 i, bool go, float[n] a) => (bool more, float[k] next) "
               "{ more = Identity(go)\n next = Concat <axis = 0> (a, x) }> (m, , x)");
  EXPECT_EQ(countOf(moduleOf(text), Opcode::While), 0u);
  EXPECT_EQ(onnxResults(text, {{5}}), (std::vector<Numbers>{{5, 5, 5}}));
}

TEST(OnnxModel, ScansAreWhiles) {
  const std::string text =
      onnxText("(float[2] s, float[3,2] x) => (float[2] last, float[3,2] sums)",
               "last, sums = Scan <num_scan_inputs = 1, scan_output_directions = [1], body = b "
               "(float[2] a, float[2] e) => (float[2] n, float[2] o) "
               "{ n = Add(a, e)\n o = Identity(n) }> (s, x)");
  EXPECT_EQ(onnxResults(text, {{0, 10}, {1, 1, 2, 2, 3, 3}}),
            (std::vector<Numbers>{{6, 16}, {6, 16, 3, 13, 1, 11}}));
}

TEST(OnnxModel, SequencesOfKnownLengthAreGone) {
  EXPECT_EQ(onnxResult("(float[4] x) => (float[4] y)",
                       "two = Constant <value_int = 2> ()\ns = SplitToSequence(x, two)\n"
                       "z = Constant <value_int = 0> ()\na = SequenceAt(s, z)\n"
                       "t = SequenceErase(s, z)\nu = SequenceInsert(t, a)\n"
                       "y = ConcatFromSequence <axis = 0> (u)",
                       {{1, 2, 3, 4}}),
            (Numbers{3, 4, 1, 2}));
}

TEST(OnnxModel, FunctionsOfTheModelStandInPlace) {
  const std::string text = "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]>\n"
                           "g (float[2] x) => (float[2] y) { y = local.twice <by = 3.0> (x) }\n"
                           "<domain: \"local\", opset_import: [\"\" : 17]>\n"
                           "twice <by> (a) => (b) {\n"
                           " c = Constant <value_float: float = @by> ()\n b = Mul(a, c) }\n";
  EXPECT_EQ(onnxResults(text, {{1, 2}}), (std::vector<Numbers>{{3, 6}}));
}

TEST(OnnxModel, SymbolicDimsAreRefusedByName) {
  const Diag diag = onnxDiag(onnxText("(float[batch,4] x) => (float[batch,4] y)", "y = Relu(x)"));
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_EQ(diag.message, "dim 0 of input 'x' is 'batch', known at run time only; say its size "
                          "(--dim batch=NUMBER), or export the model with a number there");
}

TEST(OnnxModel, SymbolicDimsHaveTheSizesThatAreGiven) {
  const std::string text = onnxText(
      "(float[batch,4] x, float[batch,seq] w, float[?,4] u) => (float[batch,4] y, int64[2] s)",
      "y = Relu(x)\n s = Shape(w)\n z = Relu(u)");
  auto shapesFor = [&](const DimSizes &sizes) {
    llvm::Expected<Module> module = importBuffer(onnxSource(text), {}, sizes);
    if (!module)
      return takeDiag(module.takeError()).message;
    std::string shapes;
    for (OpId id : module->entry().parameters())
      shapes += module->entry().op(id).shape.str(false) + " ";
    return shapes + module->entry().op(module->entry().root()).shape.str(false);
  };
  EXPECT_EQ(shapesFor({{"batch", 3}, {"seq", 0}, {"u.0", 5}}),
            "f32[3,4] f32[3,0] f32[5,4] (f32[3,4], s64[2])");
  // Names that are there, and numbers that no dim can have.
  EXPECT_NE(shapesFor({{"batch", 3}, {"seq", 2}}).find("--dim u.0=NUMBER"), std::string::npos);
  EXPECT_EQ(shapesFor({{"batch", 3}, {"seq", 2}, {"u.0", 5}, {"bath", 1}}),
            "there is no dim 'bath', open are batch, seq, u.0");
  EXPECT_EQ(shapesFor({{"batch", -3}}), "dim 0 of input 'x' is -3");
  EXPECT_EQ(shapesFor({{"batch", INT64_MAX}}), "dim 0 of input 'x' is 9223372036854775807");
  // Files without open dims have no names.
  for (const std::string &fixed :
       {onnxText("(float[2] x) => (float[2] y)", "y = Relu(x)"),
        std::string("HloModule m\nENTRY e { ROOT x = f32[2] parameter(0) }\n"),
        std::string(
            "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")}) {
    llvm::Expected<Module> module = importBuffer(onnxSource(fixed), {}, {{"batch", 3}});
    ASSERT_FALSE(bool(module));
    EXPECT_NE(takeDiag(module.takeError()).message.find("there is no dim 'batch'"),
              std::string::npos);
  }
}

TEST(OnnxModel, EveryOpIsLoweredOrRefusedForAReason) {
  const std::vector<const onnx_format::OpRow *> rows = onnx_format::allOnnxOps();
  EXPECT_GT(rows.size(), 150u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NE(rows[i]->lower == nullptr, rows[i]->refusal.empty()) << rows[i]->name;
    EXPECT_LE(rows[i]->least, rows[i]->most) << rows[i]->name;
    if (i > 0) {
      EXPECT_LT(rows[i - 1]->name, rows[i]->name);
    }
    EXPECT_EQ(onnx_format::findOnnxOp(rows[i]->name), rows[i]);
  }
}
