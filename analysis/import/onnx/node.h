// One node of an ONNX graph, on its way to become ops.
//
// A lowering reads inputs and attributes, adds ops by the functions of Builder and hands the
// results to finish(). What a file can get wrong is refused by name; after the first error nothing
// else counts, so that accessors need no checks of their own.
#pragma once

#include "analysis/import/onnx/builder.h"
#include "analysis/ir/tensor.h"

#include <memory>
#include <optional>

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace tilewright::onnx_format {

class Node;
class Reader;
struct Env;

/// One op of ONNX.
struct OpRow {
  std::string_view name;
  bool (*lower)(Node &);
  Opcode opcode = Opcode::Parameter; ///< what it becomes, as far as one op does
  size_t least = 0, most = 0;        ///< inputs
  std::string_view refusal = {};     ///< why it is not lowered; `lower` is null then
};

constexpr size_t anyNumber = 1u << 30;

/// The op of that name in ONNX's own domain; null if it is not known.
const OpRow *findOnnxOp(std::string_view name);
std::vector<const OpRow *> allOnnxOps();

/// What a name of the graph stands for.
struct Value {
  OpId op;     ///< in the scope of its Env; invalid until it is asked for
  Shape shape; ///< of tensors
  /// Its elements where they are known on import: constants, and what is computed from them.
  std::shared_ptr<const Tensor> known;
  const ::onnx::TensorProto *weight = nullptr; ///< a parameter, or a constant that is not read yet
  bool isConstant = false;                     ///< what is made of constants alone is computed
  std::shared_ptr<const std::vector<Value>> list; ///< of a sequence
  bool isAbsent = false;                          ///< of an optional one
};

class Node : public Builder {
public:
  Node(Reader &reader, Env &env, const ::onnx::NodeProto &proto, const OpRow *row, int64_t opset,
       Computations &computations, std::string base);

  // Errors; all return false.
  bool fail(std::string message);
  bool refuse(std::string reason); ///< as Unsupported
  bool hasFailed() const;

  std::string_view type() const;

  // Inputs. Optional ones that are left out have no value.
  size_t inputCount() const { return inputs.size(); }
  bool hasInput(size_t i) const { return i < inputs.size() && inputs[i]; }
  /// Fails where the input is missing, or is no tensor.
  bool isTensor(size_t i);
  OpId input(size_t i);
  const Shape &shape(size_t i) const;
  const Dims &dims(size_t i) const { return shape(i).dims; }
  size_t rank(size_t i) const { return shape(i).rank(); }
  DType dtype(size_t i) const { return shape(i).dtype; }
  /// Elements of an input that must be known on import; null after an error.
  const Tensor *known(size_t i);
  bool isKnown(size_t i);
  bool integersOf(size_t i, Dims &out);
  bool integerOf(size_t i, int64_t &out);
  bool realsOf(size_t i, std::vector<double> &out);

  size_t outputCount() const;
  bool wants(size_t output) const;

  // Attributes; those of another type than is asked for are errors.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise);
  double real(std::string_view name, double otherwise);
  std::string text(std::string_view name, std::string otherwise);
  Dims integers(std::string_view name, Dims otherwise = {});
  std::vector<double> reals(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  const ::onnx::GraphProto *graph(std::string_view name);
  const ::onnx::TensorProto *tensor(std::string_view name);
  /// An attribute that later versions made an input.
  bool integersOfEither(std::string_view name, size_t input, bool &isGiven, Dims &out);

  /// A dim that may count from the end; fails if there is none.
  bool axisOf(int64_t value, size_t rank, size_t &out);
  bool axesOf(const Dims &values, size_t rank, Dims &out); ///< in order, each once
  /// The shape to which NumPy spreads those inputs; fails if there is none.
  bool commonDims(const std::vector<Dims> &all, Dims &out);
  bool spreads(const Dims &from, const Dims &to);

  // Results.
  bool finish(std::vector<OpId> results);
  bool finish(OpId result) { return finish(std::vector<OpId>{result}); }
  bool finish(std::vector<Value> values);
  bool finishKnown(Tensor tensor); ///< one more result
  Value valueOf(OpId op) const;

  Reader &reader;
  Env &env;
  const ::onnx::NodeProto &proto;
  const OpRow *row;
  int64_t opset;
  std::vector<Value *> inputs; ///< null where left out
  std::vector<Value> results;

private:
  const ::onnx::AttributeProto *find(std::string_view name) const;
  const ::onnx::AttributeProto *find(std::string_view name, int type);
};

// Lowerings, by file.
// elementwise.cpp
bool lowerUnary(Node &);
bool lowerFloatUnary(Node &);
bool lowerBinary(Node &);
bool lowerVariadic(Node &);
bool lowerComparison(Node &);
bool lowerMod(Node &);
bool lowerPow(Node &);
bool lowerShift(Node &);
bool lowerWhere(Node &);
bool lowerClip(Node &);
bool lowerCast(Node &);
bool lowerCastLike(Node &);
bool lowerIsInf(Node &);
bool lowerIsNan(Node &);
bool lowerIdentity(Node &);
bool lowerDropout(Node &);
// activations.cpp
bool lowerActivation(Node &);
bool lowerPRelu(Node &);
bool lowerSoftmax(Node &);
bool lowerHardmax(Node &);
bool lowerGelu(Node &);
// movement.cpp
bool lowerReshape(Node &);
bool lowerFlatten(Node &);
bool lowerSqueeze(Node &);
bool lowerUnsqueeze(Node &);
bool lowerTranspose(Node &);
bool lowerConcat(Node &);
bool lowerTile(Node &);
bool lowerExpand(Node &);
bool lowerDepthToSpace(Node &);
bool lowerSpaceToDepth(Node &);
bool lowerReverseSequence(Node &);
bool lowerTrilu(Node &);
// slicing.cpp
bool lowerSplit(Node &);
bool lowerSlice(Node &);
bool lowerPad(Node &);
// constants.cpp
bool lowerShape(Node &);
bool lowerSize(Node &);
bool lowerConstant(Node &);
bool lowerConstantOfShape(Node &);
bool lowerEyeLike(Node &);
bool lowerRange(Node &);
// reductions.cpp
bool lowerReduction(Node &);
bool lowerArgExtreme(Node &);
bool lowerCumSum(Node &);
bool lowerTopK(Node &);
bool lowerLpNormalization(Node &);
// contractions.cpp
bool lowerMatMul(Node &);
bool lowerGemm(Node &);
bool lowerEinsum(Node &);
OpId matMul(Node &, OpId a, OpId b, DType type); ///< invalid after an error
// convolutions.cpp
bool lowerConv(Node &);
bool lowerConvTranspose(Node &);
OpId convolve(Node &, OpId x, OpId w, DType type);
// pooling.cpp
bool lowerPool(Node &);
bool lowerGlobalPool(Node &);
// normalisation.cpp
bool lowerBatchNormalization(Node &);
bool lowerInstanceNormalization(Node &);
bool lowerGroupNormalization(Node &);
bool lowerRmsNormalization(Node &);
bool lowerLrn(Node &);
// indexing.cpp
bool lowerGather(Node &);
bool lowerGatherElements(Node &);
bool lowerGatherNd(Node &);
bool lowerScatterElements(Node &);
bool lowerScatterNd(Node &);
bool lowerOneHot(Node &);
bool lowerCompress(Node &);
bool lowerMaxUnpool(Node &);
/// Indices counted from the end where they are negative, as what is never below 0.
OpId wrapped(Node &, OpId indices, int64_t extent);
// resize.cpp
bool lowerResize(Node &);
// quantised.cpp
bool lowerQuantize(Node &);
bool lowerDequantize(Node &);
bool lowerMatMulInteger(Node &);
bool lowerConvInteger(Node &);
bool lowerQLinearMatMul(Node &);
bool lowerQLinearConv(Node &);
// recurrent.cpp
bool lowerRnn(Node &);
bool lowerGru(Node &);
bool lowerLstm(Node &);
// control.cpp, loops.cpp, scan.cpp
bool lowerIf(Node &);
bool lowerLoop(Node &);
bool lowerScan(Node &);
// sequences.cpp
bool lowerSequenceConstruct(Node &);
bool lowerSequenceAt(Node &);
bool lowerSequenceInsert(Node &);
bool lowerSequenceErase(Node &);
bool lowerSequenceLength(Node &);
bool lowerSplitToSequence(Node &);
bool lowerConcatFromSequence(Node &);

} // namespace tilewright::onnx_format
