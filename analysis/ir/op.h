// One operation of a graph: its code, result shape, operands and attributes.
#pragma once

#include "analysis/ir/opcode.h"
#include "analysis/ir/shape.h"
#include "analysis/support/diag.h"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Identifies an op within its Graph. Ids are dense and follow file order; operands always have
/// smaller ids than their users.
struct OpId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const OpId &) const = default;
  bool isValid() const { return index != UINT32_MAX; }
};

/// Identifies a computation (a Graph) within its Module.
struct GraphId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const GraphId &) const = default;
  bool isValid() const { return index != UINT32_MAX; }
};

/// An attribute as written in the file: `name=text`. All are kept, including those that no analysis
/// reads, so that printing loses nothing.
struct RawAttribute {
  std::string name, text;
  SourceLoc loc;
};

enum class CallRole : uint8_t { Calls, ToApply, Body, Condition, Branch, Select, Scatter, Other };

struct CalledGraph {
  CallRole role;
  GraphId graph;
  bool operator==(const CalledGraph &) const = default;
};

/// Dims of a dot. Output dims are [batch, lhs free, rhs free], each in operand order.
struct DotDims {
  std::vector<int64_t> lhsBatch, rhsBatch, lhsContracting, rhsContracting;
  bool operator==(const DotDims &) const = default;
};

/// One dim of a convolution's or reduce-window's window.
struct WindowDim {
  int64_t size = 1, stride = 1, padLow = 0, padHigh = 0, windowDilation = 1, baseDilation = 1;
  bool reversed = false;
  bool operator==(const WindowDim &) const = default;
};

/// dim_labels of a convolution, as positions: inputSpatial[i] is the lhs dim of spatial dim i.
struct ConvDims {
  int64_t inputBatch = 0, inputFeature = 0, kernelInput = 0, kernelOutput = 0, outputBatch = 0,
          outputFeature = 0;
  std::vector<int64_t> inputSpatial, kernelSpatial, outputSpatial;
  bool operator==(const ConvDims &) const = default;
};

struct GatherDims {
  std::vector<int64_t> offsetDims, collapsedSliceDims, startIndexMap, operandBatchingDims,
      startIndicesBatchingDims, sliceSizes;
  int64_t indexVectorDim = 0;
  bool operator==(const GatherDims &) const = default;
};

struct ScatterDims {
  std::vector<int64_t> updateWindowDims, insertedWindowDims, scatterDimsToOperandDims,
      inputBatchingDims, scatterIndicesBatchingDims;
  int64_t indexVectorDim = 0;
  bool operator==(const ScatterDims &) const = default;
};

struct PadDim {
  int64_t low = 0, high = 0, interior = 0;
  bool operator==(const PadDim &) const = default;
};

struct SliceDim {
  int64_t start = 0, limit = 0, step = 1;
  bool operator==(const SliceDim &) const = default;
};

/// replica_groups of a collective, both of its forms, as far as costs need them.
struct ReplicaGroups {
  int64_t count = 0; ///< groups; 0: not given, all replicas form one group
  int64_t size = 0;  ///< replicas in the largest group
  bool operator==(const ReplicaGroups &) const = default;
};

enum class Comparison : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

/// Typed attributes. The meaningful fields depend on the opcode; the verifier checks them.
struct OpAttributes {
  /// broadcast: operand dim i is output dim dimensions[i]. transpose: output dim i is operand dim
  /// dimensions[i]. reduce: the reduced dims. concatenate, sort, scan, all-gather: the one dim.
  /// reverse: the reversed dims. iota: the counting dim.
  std::vector<int64_t> dimensions;
  DotDims dot;
  std::vector<WindowDim> window;
  ConvDims conv;
  int64_t featureGroupCount = 1, batchGroupCount = 1;
  GatherDims gather;
  ScatterDims scatter;
  std::vector<PadDim> padding;
  std::vector<SliceDim> slice;
  std::vector<int64_t> dynamicSliceSizes;
  int64_t parameterNumber = 0;
  int64_t tupleIndex = 0;
  int64_t exponentBits = 0, mantissaBits = 0; ///< reduce-precision
  Comparison comparison = Comparison::Eq;
  std::string customCallTarget;
  std::string fusionKind;
  ReplicaGroups replicaGroups;
  /// async-start, -update, -done in short form (`reduce-scatter-start`): the op that runs.
  std::optional<Opcode> asyncOpcode;
  bool operator==(const OpAttributes &) const = default;
};

struct Op {
  std::string name; ///< without the leading '%'
  Opcode opcode = Opcode::Parameter;
  Shape shape;
  std::vector<OpId> operands;
  std::vector<CalledGraph> called;
  OpAttributes attrs;
  std::vector<RawAttribute> rawAttrs; ///< in file order, called graphs and typed ones included
  /// constant: the text between the parentheses, "{...}" when the dump left the values out.
  std::string literal;
  SourceLoc loc;

  bool isElidedConstant() const {
    return opcode == Opcode::Constant && literal.find("...") != std::string::npos;
  }
};

} // namespace tilewright
