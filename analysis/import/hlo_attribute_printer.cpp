#include "analysis/import/hlo_attribute_printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {

namespace {

std::string_view attributeOf(CallRole role) {
  switch (role) {
  case CallRole::Calls:
    return "calls";
  case CallRole::ToApply:
    return "to_apply";
  case CallRole::Body:
    return "body";
  case CallRole::Condition:
    return "condition";
  case CallRole::Branch:
    return "branch_computations";
  case CallRole::Select:
    return "select";
  case CallRole::Scatter:
    return "scatter";
  case CallRole::Other:
    return "called_computations";
  }
  return "";
}

std::string_view textOf(Comparison comparison) {
  switch (comparison) {
  case Comparison::Eq:
    return "EQ";
  case Comparison::Ne:
    return "NE";
  case Comparison::Lt:
    return "LT";
  case Comparison::Le:
    return "LE";
  case Comparison::Gt:
    return "GT";
  case Comparison::Ge:
    return "GE";
  }
  return "";
}

std::string list(const std::vector<int64_t> &values) {
  return fmt::format("{{{}}}", fmt::join(values, ","));
}

std::string windowText(const std::vector<WindowDim> &window) {
  std::string sizes, strides, pads, base, dilations, reversals;
  bool hasStride = false, hasPad = false, hasBase = false, hasDilation = false, hasReversal = false;
  for (const WindowDim &dim : window) {
    const char *x = sizes.empty() ? "" : "x";
    sizes += fmt::format("{}{}", x, dim.size);
    strides += fmt::format("{}{}", x, dim.stride);
    pads += fmt::format("{}{}_{}", x, dim.padLow, dim.padHigh);
    base += fmt::format("{}{}", x, dim.baseDilation);
    dilations += fmt::format("{}{}", x, dim.windowDilation);
    reversals += fmt::format("{}{}", x, dim.reversed ? 1 : 0);
    hasStride |= dim.stride != 1;
    hasPad |= dim.padLow != 0 || dim.padHigh != 0;
    hasBase |= dim.baseDilation != 1;
    hasDilation |= dim.windowDilation != 1;
    hasReversal |= dim.reversed;
  }
  std::string out = window.empty() ? "{" : "{size=" + sizes;
  if (hasStride)
    out += " stride=" + strides;
  if (hasPad)
    out += " pad=" + pads;
  if (hasBase)
    out += " lhs_dilate=" + base;
  if (hasDilation)
    out += " rhs_dilate=" + dilations;
  if (hasReversal)
    out += " rhs_reversal=" + reversals;
  return out + "}";
}

std::string labels(int64_t first, int64_t second, const std::vector<int64_t> &spatial,
                   char firstLabel, char secondLabel) {
  std::string out(spatial.size() + 2, '?');
  out[static_cast<size_t>(first)] = firstLabel;
  out[static_cast<size_t>(second)] = secondLabel;
  for (size_t i = 0; i < spatial.size(); ++i)
    out[static_cast<size_t>(spatial[i])] = static_cast<char>('0' + i);
  return out;
}

std::string dimLabels(const ConvDims &dims) {
  return labels(dims.inputBatch, dims.inputFeature, dims.inputSpatial, 'b', 'f') + "_" +
         labels(dims.kernelInput, dims.kernelOutput, dims.kernelSpatial, 'i', 'o') + "->" +
         labels(dims.outputBatch, dims.outputFeature, dims.outputSpatial, 'b', 'f');
}

std::string sliceText(const std::vector<SliceDim> &dims) {
  std::vector<std::string> parts;
  for (const SliceDim &dim : dims)
    parts.push_back(dim.step == 1 ? fmt::format("[{}:{}]", dim.start, dim.limit)
                                  : fmt::format("[{}:{}:{}]", dim.start, dim.limit, dim.step));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string padText(const std::vector<PadDim> &dims) {
  std::vector<std::string> parts;
  for (const PadDim &dim : dims)
    parts.push_back(dim.interior == 0 ? fmt::format("{}_{}", dim.low, dim.high)
                                      : fmt::format("{}_{}_{}", dim.low, dim.high, dim.interior));
  return fmt::format("{}", fmt::join(parts, "x"));
}

/// What an op without an attribute's text is read as is left out: text that is read back then
/// prints as it was.
class AttributeList {
public:
  void add(std::string_view name, std::string text) {
    all.emplace_back(std::string(name), std::move(text));
  }
  void addList(std::string_view name, const std::vector<int64_t> &values) {
    add(name, list(values));
  }
  void addIfAny(std::string_view name, const std::vector<int64_t> &values) {
    if (!values.empty())
      addList(name, values);
  }
  void addUnless(std::string_view name, int64_t value, int64_t usual) {
    if (value != usual)
      add(name, std::to_string(value));
  }
  std::vector<std::pair<std::string, std::string>> all;
};

void addByOpcode(const Op &op, AttributeList &out) {
  const OpAttributes &attrs = op.attrs;
  switch (op.opcode) {
  case Opcode::Broadcast:
  case Opcode::Transpose:
    return out.addIfAny("dimensions", attrs.dimensions);
  case Opcode::Reduce:
  case Opcode::Concatenate:
  case Opcode::Sort:
  case Opcode::AllGather:
  case Opcode::AllGatherStart:
  case Opcode::ReduceScatter:
  case Opcode::Reverse:
  case Opcode::GetDimensionSize:
  case Opcode::SetDimensionSize:
  case Opcode::Scan:
    return out.addList("dimensions", attrs.dimensions);
  case Opcode::AllToAll:
  case Opcode::Map:
    return out.addIfAny("dimensions", attrs.dimensions);
  case Opcode::Iota:
    if (attrs.dimensions.size() == 1)
      out.add("iota_dimension", std::to_string(attrs.dimensions[0]));
    return;
  case Opcode::Dot:
  case Opcode::ScaledDot:
  case Opcode::RaggedDot:
    out.addIfAny("lhs_batch_dims", attrs.dot.lhsBatch);
    out.addIfAny("lhs_contracting_dims", attrs.dot.lhsContracting);
    out.addIfAny("rhs_batch_dims", attrs.dot.rhsBatch);
    return out.addIfAny("rhs_contracting_dims", attrs.dot.rhsContracting);
  case Opcode::Convolution:
    if (!attrs.window.empty())
      out.add("window", windowText(attrs.window));
    out.add("dim_labels", dimLabels(attrs.conv));
    out.addUnless("feature_group_count", attrs.featureGroupCount, 1);
    return out.addUnless("batch_group_count", attrs.batchGroupCount, 1);
  case Opcode::ReduceWindow:
  case Opcode::SelectAndScatter:
    if (!attrs.window.empty())
      out.add("window", windowText(attrs.window));
    return;
  case Opcode::Gather:
    out.addList("offset_dims", attrs.gather.offsetDims);
    out.addList("collapsed_slice_dims", attrs.gather.collapsedSliceDims);
    out.addList("start_index_map", attrs.gather.startIndexMap);
    out.addIfAny("operand_batching_dims", attrs.gather.operandBatchingDims);
    out.addIfAny("start_indices_batching_dims", attrs.gather.startIndicesBatchingDims);
    out.add("index_vector_dim", std::to_string(attrs.gather.indexVectorDim));
    return out.addList("slice_sizes", attrs.gather.sliceSizes);
  case Opcode::Scatter:
    out.addList("update_window_dims", attrs.scatter.updateWindowDims);
    out.addList("inserted_window_dims", attrs.scatter.insertedWindowDims);
    out.addList("scatter_dims_to_operand_dims", attrs.scatter.scatterDimsToOperandDims);
    out.addIfAny("input_batching_dims", attrs.scatter.inputBatchingDims);
    out.addIfAny("scatter_indices_batching_dims", attrs.scatter.scatterIndicesBatchingDims);
    return out.add("index_vector_dim", std::to_string(attrs.scatter.indexVectorDim));
  case Opcode::Pad:
    if (!attrs.padding.empty())
      out.add("padding", padText(attrs.padding));
    return;
  case Opcode::Slice:
    if (!attrs.slice.empty())
      out.add("slice", sliceText(attrs.slice));
    return;
  case Opcode::DynamicSlice:
    return out.addIfAny("dynamic_slice_sizes", attrs.dynamicSliceSizes);
  case Opcode::GetTupleElement:
    return out.add("index", std::to_string(attrs.tupleIndex));
  case Opcode::ReducePrecision:
    out.add("exponent_bits", std::to_string(attrs.exponentBits));
    return out.add("mantissa_bits", std::to_string(attrs.mantissaBits));
  case Opcode::Compare:
    return out.add("direction", std::string(textOf(attrs.comparison)));
  case Opcode::CustomCall:
    return out.add("custom_call_target", fmt::format("\"{}\"", attrs.customCallTarget));
  case Opcode::Fusion:
    if (!attrs.fusionKind.empty())
      out.add("kind", attrs.fusionKind);
    return;
  default:
    return;
  }
}

/// Called computations, neighbours of one role in one list.
void addCalls(const Module &module, const Op &op, AttributeList &out) {
  for (size_t i = 0; i < op.called.size();) {
    CallRole role = op.called[i].role;
    std::vector<std::string> names;
    for (; i < op.called.size() && op.called[i].role == role; ++i)
      names.push_back("%" + module.graph(op.called[i].graph).name());
    bool isList = role == CallRole::Branch || role == CallRole::Other || names.size() > 1;
    out.add(attributeOf(role),
            isList ? fmt::format("{{{}}}", fmt::join(names, ", ")) : names.front());
  }
}

} // namespace

std::vector<std::pair<std::string, std::string>> typedAttributes(const Module &module,
                                                                 const Op &op) {
  AttributeList out;
  addByOpcode(op, out);
  const ReplicaGroups &groups = op.attrs.replicaGroups;
  if (groups.count > 0 && groups.size > 0)
    out.add("replica_groups",
            fmt::format("[{},{}]<=[{}]", groups.count, groups.size, groups.count * groups.size));
  addCalls(module, op, out);
  return std::move(out.all);
}

} // namespace tilewright
