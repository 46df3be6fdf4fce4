// What an op of StableHLO becomes in the op table.
#pragma once

#include "analysis/import/op_builder.h"
#include "analysis/import/stablehlo/dense.h"
#include "analysis/import/stablehlo/reader.h"
#include "analysis/ir/opcode.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::stablehlo {

class Lowering;

/// One op of the dialects.
struct OpRow {
  std::string_view name;
  Opcode opcode; ///< what it becomes, as far as one op does
  bool (*lower)(Lowering &);
  /// The short form's keys and the attributes that they stand for: "dims:broadcast_dimensions";
  /// "0:" is the first word without a key.
  std::string_view keys = {};
  RegionKind regions = RegionKind::Function;            ///< Function: it has none
  bool (*parse)(Reader &, Scope &, OpText &) = nullptr; ///< of a short form of its own
  std::string_view refusal = {};                        ///< why it is not read; lower is null then
};

/// The op of that name; null if it is not known.
const OpRow *findOp(std::string_view name);

/// All ops, by name.
std::vector<const OpRow *> allOps();

/// An op whose text has been read, on its way to become ops of `scope`.
class Lowering : public OpBuilder {
public:
  Lowering(Reader &reader, Scope &scope, OpText &text, const OpRow &row)
      : OpBuilder(scope, text.base, SourceLoc{text.offset}), reader(reader), text(text), row(row) {}

  // Errors; all return false.
  bool fail(std::string message) { return failAt(text.offset, std::move(message)); }
  bool failAt(uint32_t offset, std::string message);
  /// "stablehlo.einsum: …", as Unsupported.
  bool refuse(std::string reason);

  bool hasOperands(size_t count);
  bool hasResults(size_t count);
  bool hasRegions(size_t count);

  // Attributes: absent ones leave `out` as it is.
  bool has(std::string_view name) const { return text.attributes.find(name) != nullptr; }
  void ignore(std::string_view name) { text.attributes.take(name); }
  bool need(std::string_view name);
  bool integers(std::string_view name, std::vector<int64_t> &out);
  bool nested(std::string_view name, Integers &out);
  bool integer(std::string_view name, int64_t &out);
  bool flag(std::string_view name, bool &out);
  bool word(std::string_view name, std::string_view &out);
  bool words(std::string_view name, std::vector<std::string_view> &out);
  bool string(std::string_view name, std::string &out);
  bool symbol(std::string_view name, std::string &out);
  bool structure(std::string_view name, Attributes &out);
  /// Integers of a field of a structure.
  bool integersIn(Attributes &structure, std::string_view name, std::vector<int64_t> &out);
  bool integerIn(Attributes &structure, std::string_view name, int64_t &out);
  MlirLexer at(const Attribute &attribute) const { return reader.lexer.part(attribute.value); }

  const Shape &operand(size_t i) const { return scope.graph.op(text.operands[i]).shape; }
  const Shape &result(size_t i = 0) const { return text.types[i].shape; }
  /// The shape of all results: a tuple unless there is exactly one.
  Shape resultShape() const;
  SourceLoc loc() const { return SourceLoc{text.offset}; }

  /// An op with the operands and the result shape of the text.
  Op make(Opcode opcode) const;
  /// The op that computes the results; false after an error.
  bool finish(Op op);
  /// The results are these values.
  bool finish(std::vector<OpId> values);

  /// Makes the computation of a region that takes scalars.
  bool reducer(size_t region, GraphId &out);

  Reader &reader;
  OpText &text;
  const OpRow &row;
  std::vector<OpId> values; ///< of the results; empty: the elements of `packed`
  OpId packed;
};

void addRaw(Op &op, std::string_view name, std::string text);

// Lowerings, by file.
// lower_elementwise.cpp
bool lowerDirect(Lowering &);
bool lowerBitcast(Lowering &);
bool lowerConstant(Lowering &);
/// The attribute `dense<…> : type`; an error where it isn't there.
bool denseValue(Lowering &, std::string_view attribute, Type &type, Dense &dense);
OpId constantOf(Lowering &, const Shape &shape, Dense dense);
bool lowerIota(Lowering &);
bool lowerCompare(Lowering &);
bool lowerReducePrecision(Lowering &);
bool lowerTuple(Lowering &);
bool lowerTupleElement(Lowering &);
bool lowerBarrier(Lowering &);
bool lowerSharding(Lowering &);
// lower_movement.cpp
bool lowerBroadcastInDim(Lowering &);
bool lowerBroadcast(Lowering &);
bool lowerTranspose(Lowering &);
bool lowerReverse(Lowering &);
bool lowerConcatenate(Lowering &);
bool lowerSlice(Lowering &);
bool lowerPad(Lowering &);
bool lowerDynamicSlice(Lowering &);
bool lowerDimensionSize(Lowering &);
bool lowerDynamicShape(Lowering &);
bool lowerDynamicPad(Lowering &);
bool lowerRealDynamicSlice(Lowering &);
bool lowerDynamicGather(Lowering &);
// lower_contractions.cpp
bool lowerDotGeneral(Lowering &);
bool lowerDot(Lowering &);
bool lowerConvolution(Lowering &);
bool lowerRaggedDot(Lowering &);
bool lowerGather(Lowering &);
bool gatherWith(Lowering &, std::vector<int64_t> sizes);
bool lowerScatter(Lowering &);
/// The window of an op whose attributes have these names; "" for those that it doesn't have.
bool windowOf(Lowering &, const std::vector<int64_t> &sizes, std::string_view baseDilation,
              std::string_view windowDilation, std::vector<WindowDim> &out);
// lower_regions.cpp
bool lowerReduce(Lowering &);
bool lowerReduceWindow(Lowering &);
bool lowerSelectAndScatter(Lowering &);
bool lowerSort(Lowering &);
bool lowerMap(Lowering &);
bool lowerWhile(Lowering &);
bool lowerConditional(Lowering &);
bool lowerCall(Lowering &);
bool lowerComposite(Lowering &);
bool lowerCustomCall(Lowering &);
// lower_checks.cpp
bool lowerCheck(Lowering &);
bool lowerCheckConstant(Lowering &);
// lower_collectives.cpp
bool lowerReplicaId(Lowering &);
bool lowerAllReduce(Lowering &);
bool lowerAllGather(Lowering &);
bool lowerAllToAll(Lowering &);
bool lowerReduceScatter(Lowering &);
bool lowerPermute(Lowering &);
bool lowerCollectiveBroadcast(Lowering &);
bool lowerInfeed(Lowering &);
bool lowerOutfeed(Lowering &);
bool lowerSend(Lowering &);
bool lowerRecv(Lowering &);
// lower_opaque.cpp
bool lowerFft(Lowering &);
bool lowerCholesky(Lowering &);
bool lowerTriangularSolve(Lowering &);
bool lowerBatchNorm(Lowering &);
bool lowerRng(Lowering &);
bool lowerRngBitGenerator(Lowering &);
bool lowerTopK(Lowering &);
// lower_quantized.cpp
bool lowerQuantize(Lowering &);
bool lowerDequantize(Lowering &);
/// Rounds a value to what the quantised type can hold, expressed in its real type.
OpId requantized(Lowering &, OpId value, const Quantization &quantization);
// lower_chlo.cpp
bool lowerChloUnary(Lowering &);
bool lowerChloBroadcast(Lowering &);

// Short forms of their own, in short_forms.cpp.
bool parseConstant(Reader &, Scope &, OpText &);
bool parseSlice(Reader &, Scope &, OpText &);
bool parseTupleElement(Reader &, Scope &, OpText &);
bool parseReduce(Reader &, Scope &, OpText &);
bool parseWhile(Reader &, Scope &, OpText &);
bool parseSharding(Reader &, Scope &, OpText &);
bool parseCheckConstant(Reader &, Scope &, OpText &);

} // namespace tilewright::stablehlo
