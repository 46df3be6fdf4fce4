// ONNX files that nobody means: cut, random, nested, cyclic. Each is read or refused, at once.
#include "analysis/import/onnx/node.h"
#include "analysis/import/onnx/testing/onnx_models.h"

#include <onnx/onnx_pb.h>
#include <random>

using namespace tilewright;
using namespace tilewright::test;

namespace {

/// The message of the refusal, empty for what is read.
std::string refusalOf(std::string bytes) {
  const Diag diag = onnxDiag(std::move(bytes));
  EXPECT_TRUE(diag.cls == DiagClass::BadInput || diag.cls == DiagClass::Unsupported) << diag.str();
  return diag.message;
}

::onnx::ModelProto model(int64_t opset = 17) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

::onnx::ValueInfoProto &declare(::onnx::ValueInfoProto &info, const std::string &name, int type,
                                std::vector<int64_t> dims) {
  info.set_name(name);
  auto &tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (int64_t extent : dims)
    tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  return info;
}

::onnx::NodeProto &add(::onnx::GraphProto &graph, const std::string &type,
                       std::vector<std::string> inputs, std::vector<std::string> outputs) {
  ::onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(type);
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs)
    node.add_output(output);
  return node;
}

::onnx::ModelProto twoNodes() {
  ::onnx::ModelProto m = model();
  declare(*m.mutable_graph()->add_input(), "x", 1, {2, 2});
  add(*m.mutable_graph(), "MatMul", {"x", "x"}, {"z"});
  add(*m.mutable_graph(), "Softmax", {"z"}, {"y"});
  declare(*m.mutable_graph()->add_output(), "y", 1, {2, 2});
  return m;
}

} // namespace

TEST(HostileOnnx, CutFiles) {
  const std::string whole = twoNodes().SerializeAsString();
  EXPECT_EQ(refusalOf(whole), "");
  for (size_t length = 3; length < whole.size(); ++length)
    EXPECT_NE(refusalOf(whole.substr(0, length)), "") << length;
}

TEST(HostileOnnx, RandomBytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = "\x08\x08";
    for (size_t length = random() % 64; length-- > 0;)
      bytes += static_cast<char>(random());
    refusalOf(bytes);
  }
}

TEST(HostileOnnx, NestedThings) {
  constexpr size_t depth = 200000;
  // GraphProto in AttributeProto in NodeProto, written from the inside out.
  std::string bytes;
  auto wrap = [&](char tag) {
    std::string size;
    for (size_t n = bytes.size();; n >>= 7) {
      size += static_cast<char>((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
      if (n <= 0x7f)
        break;
    }
    bytes = tag + size + bytes;
  };
  for (size_t i = 0; i < 400; ++i) {
    wrap('\x32'); // AttributeProto.g
    wrap('\x2a'); // NodeProto.attribute
    wrap('\x0a'); // GraphProto.node
  }
  wrap('\x3a'); // ModelProto.graph
  EXPECT_NE(refusalOf("\x08\x08" + bytes).find("nested over 100 deep"), std::string::npos);
  for (const char *bracket : {"(", "[", "{", "<", "seq(", "y = If <then_branch = g () => () {"}) {
    std::string nested;
    for (size_t i = 0; i < depth; ++i)
      nested += bracket;
    EXPECT_NE(refusalOf("<ir_version: 8>\ng (" + nested), "") << bracket;
    EXPECT_NE(refusalOf("<ir_version: 8>\ng () => () {" + nested), "") << bracket;
  }
}

TEST(HostileOnnx, LongChainsOfNodes) {
  ::onnx::ModelProto m = model();
  declare(*m.mutable_graph()->add_input(), "v0", 1, {2});
  for (int i = 0; i < 200000; ++i)
    add(*m.mutable_graph(), "Neg", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  declare(*m.mutable_graph()->add_output(), "v200000", 1, {2});
  EXPECT_EQ(refusalOf(m.SerializeAsString()), "");
}

TEST(HostileOnnx, GraphsThatAreNone) {
  ::onnx::ModelProto m = twoNodes();
  m.mutable_graph()->mutable_node(0)->set_input(1, "y"); // a cycle
  EXPECT_EQ(refusalOf(m.SerializeAsString()),
            "the node of 'z' (MatMul): 'y' is not computed by any node before it");
  m = twoNodes();
  m.mutable_graph()->mutable_node(1)->set_output(0, "z");
  EXPECT_EQ(refusalOf(m.SerializeAsString()), "the node of 'z' (Softmax): 'z' is computed twice");
  m = twoNodes();
  m.mutable_graph()->mutable_output(0)->set_name("w");
  EXPECT_EQ(refusalOf(m.SerializeAsString()), "output 'w' is not computed by any node");
  m = twoNodes();
  m.clear_graph();
  EXPECT_EQ(refusalOf(m.SerializeAsString()), "the ONNX model has no graph");
}

TEST(HostileOnnx, VersionsAndOpsThatAreNotKnown) {
  ::onnx::ModelProto m = twoNodes();
  m.mutable_opset_import(0)->set_version(1000);
  EXPECT_EQ(refusalOf(m.SerializeAsString()),
            "opset 1000 is not known, the newest that is read is 24");
  m.mutable_opset_import(0)->set_version(-1);
  EXPECT_EQ(refusalOf(m.SerializeAsString()), "opset -1 is none");
  m = twoNodes();
  m.mutable_graph()->mutable_node(0)->set_op_type("Frobnicate");
  EXPECT_EQ(refusalOf(m.SerializeAsString()),
            "the node of 'z' (Frobnicate): there is no op 'Frobnicate' in opset 17");
  m.mutable_graph()->mutable_node(0)->set_domain("com.example");
  EXPECT_EQ(refusalOf(m.SerializeAsString()),
            "the node of 'z' (Frobnicate): ops of the domain 'com.example' are not lowered");
}

TEST(HostileOnnx, WrongTypesAndShapes) {
  for (const char *nodes : {"y = MatMul(x, s)",
                            "y = Add(x, i)",
                            "y = Concat <axis = 7> (x, x)",
                            "y = Concat(x, x)",
                            "y = Transpose <perm = [0, 0]> (x)",
                            "y = Softmax <axis = 9> (x)",
                            "y = Conv(x, x)",
                            "y = Gather(x, x)",
                            "y = Reshape(x, x)",
                            "y = Reshape(x, i)",
                            "y = Relu(i, i)",
                            "y = Where(x, x, x)",
                            "y = Softmax <axis = \"a\"> (x)",
                            "y = If(x)",
                            "y = Loop(i, x)",
                            "y = Scan(x)",
                            "y = LSTM(x, x, x)",
                            "y = Einsum <equation = \"ij,jk->iz\"> (x, x)",
                            "y = TopK <k = 99> (x)",
                            "y = Split <split = [1, -1, 2]> (x)",
                            "y = SequenceAt(x, i)",
                            "y = MaxPool <kernel_shape = [9223372036854775807]> (x)",
                            "y = Pad <pads = [9223372036854775807, 0, 0, 0]> (x)",
                            "y = Cast <to = 99> (x)",
                            "y = DepthToSpace <blocksize = 0> (x)",
                            "y = Resize(x, , s)",
                            "y = Trilu(s)",
                            "y = Dropout(x, s, i)",
                            "y = OneHot(i, s, x)",
                            "y = QuantizeLinear(x, x)",
                            "y = BatchNormalization(x, x, x, x, x)",
                            "y = Clip(x, i)",
                            "y = Tile(x, i)"})
    EXPECT_NE(
        refusalOf(onnxText("(float[2,3] x, int64[2] i, float s) => (float[2,3] y)", nodes, 10)), "")
        << nodes;
}

// Every op with inputs of no kind that it expects: an error, whatever it is.
TEST(HostileOnnx, EveryOpWithUnfitInputs) {
  const char *declarations[] = {"float",      "float[0]",       "float[2]",
                                "float[2,3]", "float[1,4,4,4]", "int64[3]",
                                "bool[2]",    "float[0,3]",     "complex64[2]"};
  for (const onnx_format::OpRow *row : onnx_format::allOnnxOps())
    for (const char *declared : declarations)
      for (int count : {0, 1, 2, 3, 4, 8, 9}) {
        std::string inputs;
        for (int i = 0; i < count; ++i)
          inputs += i ? ", x" : "x";
        for (int opset : {1, 12, 24})
          refusalOf(onnxText(fmt::format("({} x) => (float[2] y)", declared),
                             fmt::format("y = {} ({})", row->name, inputs), opset));
      }
}

TEST(HostileOnnx, FunctionsThatCallThemselves) {
  const std::string text = "<ir_version: 8, opset_import: [\"\" : 17, \"local\" : 1]>\n"
                           "g (float[2] x) => (float[2] y) { y = local.f(x) }\n"
                           "<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]>\n"
                           "f (a) => (b) { c = local.f(a)\n b = local.f(c) }\n";
  EXPECT_NE(refusalOf(text).find("nested over 64 deep"), std::string::npos) << refusalOf(text);
}

// An overload is named in a field that the library doesn't know: none of them is taken for another.
TEST(HostileOnnx, FunctionsOfOneName) {
  ::onnx::ModelProto m = twoNodes();
  for (int i = 0; i < 2; ++i) {
    m.add_functions()->set_domain("local");
    m.mutable_functions(i)->set_name("f");
  }
  EXPECT_EQ(refusalOf(m.SerializeAsString()), "there are several functions 'f'");
}

TEST(HostileOnnx, TextThatIsWrongIsLocated) {
  const Diag diag = onnxDiag("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                             "g (float[2] x) => (float[2] y) {\n  y = Relu(x\n}\n");
  EXPECT_EQ(diag.cls, DiagClass::BadInput);
  EXPECT_GT(diag.line, 2u) << diag.str();
}

TEST(HostileOnnx, TooLargeShapes) {
  for (int64_t extent : {int64_t(-1), int64_t(1) << 62}) {
    ::onnx::ModelProto m = twoNodes();
    m.mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_value(extent);
    EXPECT_NE(refusalOf(m.SerializeAsString()), "");
  }
  EXPECT_NE(refusalOf(onnxText("(float[2] x) => (float y)",
                               "s = Constant <value_ints = [1099511627776, 1099511627776]> ()\n"
                               "y = ConstantOfShape(s)")),
            "");
}
