// Walking an ONNX graph.
//
// Nodes are read in order. What follows from constants alone and is small (shapes, mostly) is
// computed on the way, by the evaluator, from the very ops that the node becomes; a lowering then
// finds the values known. Weights become parameters when they are first used. Functions are put in
// place of the nodes that call them, each with names of its own.
#pragma once

#include "analysis/import/onnx/node.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace onnx {
class FunctionProto;
class ModelProto;
class TensorShapeProto_Dimension;
class ValueInfoProto;
} // namespace onnx

namespace tilewright::onnx_format {

constexpr int64_t mostExtent = int64_t(1) << 40; ///< of a dim

/// The names that can be seen from one place.
struct Env {
  Env *outer = nullptr; ///< of a branch or a loop's body
  Scope *scope = nullptr;
  const std::map<std::string, int64_t> *opsets = nullptr; ///< versions by domain
  std::string prefix;                                     ///< for ops of a function: "y."
  std::string origin; ///< names of the calls around, each with a '/' behind it
  unsigned depth = 0; ///< of graphs and functions around
  std::unordered_map<std::string, Value> values = {};
};

class Reader {
public:
  Reader(const SourceBuffer &source, const ::onnx::ModelProto &model,
         const std::map<std::string, Tensor> &given, const std::map<std::string, int64_t> &sizes);

  /// The module, not verified yet.
  llvm::Expected<Module> run();
  /// After it: the tensors of the parameters behind the inputs, in their order.
  const std::vector<const ::onnx::TensorProto *> &weightsInOrder() const { return weights; }

  // For lowerings.
  bool fail(std::string message, DiagClass cls = DiagClass::BadInput);
  bool fail(llvm::Error error);
  bool hasFailed() const { return error.has_value(); }
  /// Takes back an error in what was tried when place() was asked for, so that another way can be
  /// gone.
  const std::string &place() const { return nodeText; }
  void forgive(std::string at) {
    error.reset();
    nodeText = std::move(at);
  }

  Value *find(Env &env, const std::string &name);
  /// The op of a value in its Env; invalid after an error.
  OpId materialise(Env &env, Value &value, const std::string &name);
  /// The elements, if they are known and few; null otherwise.
  const Tensor *knownOf(Value &value);
  bool readNodes(const ::onnx::GraphProto &graph, Env &env);
  bool bindInitializers(const ::onnx::GraphProto &graph, Env &env);
  bool results(const ::onnx::GraphProto &graph, Env &env, std::vector<Value> &out);

  const std::string folder; ///< of the model, for files beside it

private:
  bool readInputs(Env &env);
  bool bindInput(const ::onnx::ValueInfoProto &input, Env &env);
  bool addExtent(const ::onnx::TensorShapeProto_Dimension &dim, const std::string &input,
                 Shape &shape);
  bool checkSizes();
  bool readNode(const ::onnx::NodeProto &proto, Env &env);
  bool lowerNode(Node &node);
  bool computeNow(const ::onnx::NodeProto &proto, Env &env, Node &node, bool &isDone);
  bool inlineSchemaFunction(Node &node, bool &isDone);
  bool inlineFunction(Node &node, const ::onnx::FunctionProto &function);
  bool bindResults(Node &node);
  bool makeResult(Env &env);
  OpId constantOf(Env &env, const Tensor &tensor, const std::string &name);

  const SourceBuffer &source;
  const ::onnx::ModelProto &model;
  const std::map<std::string, Tensor> &given;
  const std::map<std::string, int64_t> &sizes;
  std::set<std::string> openDims; ///< of the inputs
  std::optional<Diag> error;
  Totals totals;
  uint64_t nodesRead = 0;
  Module module;
  Computations computations;
  Scope *entry = nullptr;
  std::string nodeText; ///< names the node that is being read
  std::map<std::string, int64_t> opsets;
  std::map<std::pair<std::string, std::string>, const ::onnx::FunctionProto *> functions;
  std::unordered_map<const ::onnx::TensorProto *, OpId> parameters; ///< of weights
  std::vector<const ::onnx::TensorProto *> weights;
  std::vector<std::shared_ptr<const void>> kept; ///< functions that were made on the way
  size_t inputCount = 0;
};

} // namespace tilewright::onnx_format
