#include "analysis/import/hlo_attributes.h"

#include "analysis/import/hlo_attribute_checks.h"
#include "analysis/support/checked.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>

namespace tilewright {

namespace {

using Ints = std::vector<int64_t>;

/// Integers with commas between them, in brackets of any kind.
bool readList(HloLexer &in, char open, char close, Ints &out) {
  if (!in.expect(open))
    return false;
  out.clear();
  while (in.peek() != close) {
    int64_t value;
    if ((!out.empty() && !in.expect(',')) || !in.integer(value, "an integer"))
      return false;
    out.push_back(value);
  }
  return in.expect(close);
}

/// `{0,1}`
bool readInts(HloLexer &in, Ints &out) { return readList(in, '{', '}', out); }

/// Integers with one character between them, as in `3x3` or `1_1`, at least one.
bool readSeparated(HloLexer &in, char separator, Ints &out) {
  out.clear();
  do {
    int64_t value;
    if (out.size() == hlo_limits::rank)
      return in.fail(in.offset(), fmt::format("more than {} dims", hlo_limits::rank));
    if (!in.integer(value, "an integer"))
      return false;
    out.push_back(value);
  } while (in.consume(separator));
  return true;
}

/// Dims of low_high[_interior], as in `1_1x0_0_1`.
bool readPadding(HloLexer &in, std::vector<PadDim> &out, size_t maxParts) {
  out.clear();
  do {
    Ints parts;
    uint32_t begin = in.place();
    if (out.size() == hlo_limits::rank)
      return in.fail(begin, fmt::format("more than {} dims", hlo_limits::rank));
    if (!readSeparated(in, '_', parts))
      return false;
    if (parts.size() < 2 || parts.size() > maxParts)
      return in.fail(begin, fmt::format("a dim's padding is low_high{}, {} numbers are given",
                                        maxParts == 3 ? "[_interior]" : "", parts.size()));
    out.push_back({parts[0], parts[1], parts.size() == 3 ? parts[2] : 0});
  } while (in.consume('x'));
  return true;
}

/// `{size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=2x2 rhs_reversal=0x0}`
bool readWindow(HloLexer &in, std::vector<WindowDim> &out) {
  enum Field { Size, Stride, Pad, LhsDilate, RhsDilate, RhsReversal, fieldCount };
  constexpr std::array<std::string_view, fieldCount> names = {
      "size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  uint32_t begin = in.place();
  if (!in.expect('{'))
    return false;
  std::array<Ints, fieldCount> values;
  std::vector<PadDim> pads;
  std::array<size_t, fieldCount> given{};
  while (in.peek() != '}') {
    uint32_t place = in.offset();
    std::string_view name = in.word();
    size_t field = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (field == fieldCount)
      return in.fail(place, fmt::format("a window has no field '{}'", excerpt(name)));
    if (given[field] > 0)
      return in.fail(place, fmt::format("the window's {} is given twice", name));
    if (!in.expect('=') ||
        !(field == Pad ? readPadding(in, pads, 2) : readSeparated(in, 'x', values[field])))
      return false;
    given[field] = field == Pad ? pads.size() : values[field].size();
  }
  size_t rank = given[Size];
  for (size_t field = 0; field < fieldCount; ++field)
    if (given[field] != 0 && given[field] != rank)
      return in.fail(begin, fmt::format("the window has {} dims by its size, {} by its {}", rank,
                                        given[field], names[field]));
  out.assign(rank, {});
  for (size_t i = 0; i < rank; ++i) {
    auto value = [&](Field field, int64_t otherwise) {
      return given[field] > 0 ? values[field][i] : otherwise;
    };
    WindowDim &dim = out[i];
    dim.size = value(Size, 1);
    dim.stride = value(Stride, 1);
    dim.baseDilation = value(LhsDilate, 1);
    dim.windowDilation = value(RhsDilate, 1);
    dim.reversed = value(RhsReversal, 0) != 0;
    if (given[Pad] > 0) {
      dim.padLow = pads[i].low;
      dim.padHigh = pads[i].high;
    }
  }
  return in.expect('}');
}

/// One part of dim_labels: two letters and the spatial dims' digits, each once.
bool readLabels(HloLexer &in, uint32_t begin, std::string_view labels, char first, char second,
                int64_t &firstDim, int64_t &secondDim, Ints &spatial) {
  spatial.assign(labels.size() < 2 ? 0 : labels.size() - 2, -1);
  firstDim = secondDim = -1;
  for (size_t i = 0; i < labels.size(); ++i) {
    size_t digit = static_cast<size_t>(labels[i] - '0');
    int64_t *slot = labels[i] == first       ? &firstDim
                    : labels[i] == second    ? &secondDim
                    : digit < spatial.size() ? &spatial[digit]
                                             : nullptr;
    if (!slot || *slot >= 0)
      return in.fail(begin, fmt::format("dim labels '{}' must name {}, {} and the {} spatial dims "
                                        "once each",
                                        excerpt(labels), first, second, spatial.size()));
    *slot = static_cast<int64_t>(i);
  }
  return labels.size() >= 2 ||
         in.fail(begin, fmt::format("dim labels '{}' must name {} and {}", labels, first, second));
}

/// `b01f_01io->b01f`
bool readDimLabels(HloLexer &in, ConvDims &out) {
  uint32_t begin = in.place();
  std::string_view operands = in.word();
  size_t split = operands.find('_');
  if (split == std::string_view::npos || !in.consume("->"))
    return in.fail(begin, "dim labels have the form b01f_01io->b01f");
  std::string_view lhs = operands.substr(0, split), rhs = operands.substr(split + 1);
  std::string_view result = in.word();
  if (lhs.size() != rhs.size() || lhs.size() != result.size())
    return in.fail(begin, "the three dim labels differ in length");
  return readLabels(in, begin, lhs, 'b', 'f', out.inputBatch, out.inputFeature, out.inputSpatial) &&
         readLabels(in, begin, rhs, 'i', 'o', out.kernelInput, out.kernelOutput,
                    out.kernelSpatial) &&
         readLabels(in, begin, result, 'b', 'f', out.outputBatch, out.outputFeature,
                    out.outputSpatial);
}

/// `{[0:8], [1:25:2]}`
bool readSlice(HloLexer &in, std::vector<SliceDim> &out) {
  if (!in.expect('{'))
    return false;
  out.clear();
  while (in.peek() != '}') {
    SliceDim dim;
    if ((!out.empty() && !in.expect(',')) || !in.expect('[') ||
        !in.integer(dim.start, "a slice's start") || !in.expect(':') ||
        !in.integer(dim.limit, "a slice's limit"))
      return false;
    if (in.consume(':') && !in.integer(dim.step, "a slice's step"))
      return false;
    if (!in.expect(']'))
      return false;
    out.push_back(dim);
  }
  return in.expect('}');
}

/// What follows `[2,4]`: `<=[8]` or `<=[4,2]T(1,0)`, replicas counted along reordered axes. The
/// replicas themselves are not kept, but the numbers must agree.
bool readReplicaOrder(HloLexer &in, int64_t replicas) {
  uint32_t begin = in.place();
  Ints axes, order;
  if (!in.consume("<="))
    return in.failExpected("'<='");
  if (!readList(in, '[', ']', axes))
    return false;
  std::optional<int64_t> product = 1;
  for (int64_t axis : axes)
    product = product && axis >= 1 ? checkedMul(*product, axis) : std::nullopt;
  if (product != replicas)
    return in.fail(begin,
                   fmt::format("the axes must count {} replicas, as the groups do", replicas));
  begin = in.place();
  if (!in.consume('T'))
    return true;
  if (!readList(in, '(', ')', order))
    return false;
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size() || i < axes.size(); ++i)
    if (order.size() != axes.size() || order[i] != static_cast<int64_t>(i))
      return in.fail(begin,
                     fmt::format("the order must list each of the {} axes once", axes.size()));
  return true;
}

/// Replicas have numbers from 0, and each is in one group at most.
bool expectDistinctReplicas(HloLexer &in, uint32_t begin, Ints all) {
  std::sort(all.begin(), all.end());
  if (!all.empty() && all.front() < 0)
    return in.fail(begin, fmt::format("replica {} is negative", all.front()));
  if (auto twice = std::adjacent_find(all.begin(), all.end()); twice != all.end())
    return in.fail(begin, fmt::format("replica {} is listed twice", *twice));
  return true;
}

/// `'x'`, the name of a mesh's axis.
bool readAxisName(HloLexer &in, std::string_view &out) {
  if (!in.expect('\''))
    return false;
  out = in.word();
  return (!out.empty() || in.failExpected("an axis's name")) && in.expect('\'');
}

/// `{'x','y'}` behind a mesh, also a part of an axis: `'x':(2)4` has 4 replicas that lie 2 apart.
bool readGroupAxes(HloLexer &in, const std::vector<std::pair<std::string_view, int64_t>> &mesh,
                   int64_t &size) {
  size = 1;
  std::vector<std::string_view> whole; // axes that are taken as a whole
  if (!in.expect('{'))
    return false;
  for (bool isFirst = true; in.peek() != '}'; isFirst = false) {
    std::string_view name;
    if (!isFirst && !in.expect(','))
      return false;
    const uint32_t begin = in.place();
    if (!readAxisName(in, name))
      return false;
    auto axis = std::find_if(mesh.begin(), mesh.end(), [&](auto &a) { return a.first == name; });
    if (axis == mesh.end())
      return in.fail(begin, fmt::format("the mesh has no axis '{}'", excerpt(name)));
    if (std::find(whole.begin(), whole.end(), name) != whole.end())
      return in.fail(begin, fmt::format("axis '{}' is listed twice", name));
    int64_t part = axis->second, apart = 1;
    if (in.peek() != ':')
      whole.push_back(name);
    if (in.consume(':') && (!in.expect('(') || !in.integer(apart, "a size") || !in.expect(')') ||
                            !in.integer(part, "a size")))
      return false;
    std::optional<int64_t> stepped = checkedMul(part, apart);
    if (part < 1 || apart < 1 || !stepped || axis->second % *stepped != 0)
      return in.fail(begin, fmt::format("axis '{}' of {} replicas has no part of {} that lie {} "
                                        "apart",
                                        name, axis->second, part, apart));
    std::optional<int64_t> product = checkedMul(size, part);
    if (!product)
      return in.fail(begin, "the group's replicas do not fit in 64 bits");
    size = *product;
  }
  return in.expect('}');
}

/// `mesh['x'=2,'y'=4] {'x'}`: replicas along some axes of a mesh form a group. Which they are is
/// not kept.
bool readMeshGroups(HloLexer &in, ReplicaGroups &out) {
  const uint32_t begin = in.offset();
  std::vector<std::pair<std::string_view, int64_t>> mesh;
  int64_t all = 1;
  in.word(); // mesh
  if (!in.expect('['))
    return false;
  while (in.peek() != ']') {
    auto &[name, size] = mesh.emplace_back();
    if ((mesh.size() > 1 && !in.expect(',')) || !readAxisName(in, name) || !in.expect('=') ||
        !in.integer(size, "an axis's size"))
      return false;
    std::optional<int64_t> product = size < 1 ? std::nullopt : checkedMul(all, size);
    if (!product)
      return in.fail(begin, fmt::format("axis '{}' of {} replicas is out of range", name, size));
    all = *product;
  }
  in.advance(); // ']'
  if (in.consume(',')) {
    in.word(); // device_ids
    if (!in.expect('=') || (in.peek() != '(' && in.peek() != '[') || !in.skipBalanced())
      return in.failExpected("the devices of the mesh");
  }
  int64_t size;
  if (!readGroupAxes(in, mesh, size))
    return false;
  if (all % size != 0)
    return in.fail(begin,
                   fmt::format("groups of {} do not divide the mesh's {} replicas", size, all));
  out = {all / size, size};
  return true;
}

/// `{{0,1},{2,3}}`, `{}`, `[2,4]<=[8]`, `[2,4]<=[4,2]T(1,0)` or `mesh['x'=2,'y'=4] {'x'}`.
bool readReplicaGroups(HloLexer &in, Opcode opcode, ReplicaGroups &out) {
  out = {};
  uint32_t begin = in.place();
  if (in.peekWord() == "mesh")
    return readMeshGroups(in, out);
  if (in.consume('[')) {
    int64_t count, size;
    if (!in.integer(count, "the number of groups") || !in.expect(',') ||
        !in.integer(size, "the groups' size") || !in.expect(']'))
      return false;
    if (count < 1 || size < 1 || !checkedMul(count, size))
      return in.fail(begin, fmt::format("{} groups of {} replicas are out of range", count, size));
    out = {count, size};
    return readReplicaOrder(in, count * size);
  }
  if (!in.expect('{'))
    return false;
  Ints all;
  while (in.peek() != '}') {
    Ints group;
    if (out.count > 0 && !in.expect(','))
      return false;
    if (in.peek() != '{') { // replica_groups={0,1} of old dumps: one group
      in.rewind(begin);
      if (!readInts(in, all))
        return false;
      out = {1, static_cast<int64_t>(all.size())};
      return expectDistinctReplicas(in, begin, all);
    }
    uint32_t place = in.place();
    if (!readInts(in, group))
      return false;
    if (group.empty())
      return in.fail(place, "a group without replicas");
    if (out.count > 0 && needsEqualGroups(opcode) && static_cast<int64_t>(group.size()) != out.size)
      return in.fail(place, unequalGroups(group.size(), static_cast<size_t>(out.size)));
    ++out.count;
    out.size = std::max(out.size, static_cast<int64_t>(group.size()));
    all.insert(all.end(), group.begin(), group.end());
  }
  return in.expect('}') && expectDistinctReplicas(in, begin, all);
}

bool readComparison(HloLexer &in, Comparison &out) {
  static const std::unordered_map<std::string_view, Comparison> table = {
      {"EQ", Comparison::Eq}, {"NE", Comparison::Ne}, {"LT", Comparison::Lt},
      {"LE", Comparison::Le}, {"GT", Comparison::Gt}, {"GE", Comparison::Ge}};
  uint32_t begin = in.place();
  auto it = table.find(in.word());
  if (it == table.end()) {
    in.rewind(begin);
    return in.failExpected("EQ, NE, LT, LE, GT or GE");
  }
  out = it->second;
  return true;
}

bool readFusionKind(HloLexer &in, std::string &out) {
  constexpr std::array<std::string_view, 4> kinds = {"kLoop", "kInput", "kOutput", "kCustom"};
  uint32_t begin = in.place();
  out = in.word();
  if (std::find(kinds.begin(), kinds.end(), out) != kinds.end())
    return true;
  in.rewind(begin);
  return in.failExpected("kLoop, kInput, kOutput or kCustom");
}

/// The text between the quotes, with escapes unchanged.
bool readQuoted(HloLexer &in, std::string &out) {
  if (in.peek() != '"')
    return in.failExpected("a string");
  uint32_t begin = in.offset();
  if (!in.skipString())
    return false;
  out = in.slice(begin + 1, in.offset() - 1);
  return true;
}

/// `%f` or `{%f, %g}`
bool readCalls(HloLexer &in, CallRole role, std::vector<HloCallReference> &calls) {
  bool isList = in.consume('{');
  bool isFirst = true;
  while (!isList || in.peek() != '}') {
    if (!isFirst && !in.expect(','))
      return false;
    isFirst = false;
    in.skipTrivia();
    HloCallReference call{role, {}, in.offset()};
    if (!in.name(call.name, "a computation's name"))
      return false;
    calls.push_back(call);
    if (!isList)
      return true;
  }
  return in.expect('}');
}

struct Target {
  HloLexer &in;
  Op &op;
  std::vector<HloCallReference> &calls;
};

using Reader = bool (*)(Target);

template <auto Member> bool readIntsInto(Target t) { return readInts(t.in, t.op.attrs.*Member); }
template <auto Group, auto Member> bool readIntsInto(Target t) {
  return readInts(t.in, t.op.attrs.*Group.*Member);
}
template <auto Member> bool readIntInto(Target t) {
  return t.in.integer(t.op.attrs.*Member, "an integer");
}
template <CallRole Role> bool readCallsInto(Target t) { return readCalls(t.in, Role, t.calls); }

/// gather and scatter share the name.
bool readIndexVectorDim(Target t) {
  int64_t dim;
  if (!t.in.integer(dim, "an integer"))
    return false;
  (t.op.opcode == Opcode::Scatter ? t.op.attrs.scatter.indexVectorDim
                                  : t.op.attrs.gather.indexVectorDim) = dim;
  return true;
}

bool readOneDimension(Target t) {
  t.op.attrs.dimensions.assign(1, 0);
  return t.in.integer(t.op.attrs.dimensions[0], "a dim");
}

const std::unordered_map<std::string_view, Reader> &readers() {
  using A = OpAttributes;
  static const std::unordered_map<std::string_view, Reader> table = {
      {"dimensions", readIntsInto<&A::dimensions>},
      {"iota_dimension", readOneDimension},
      {"lhs_batch_dims", readIntsInto<&A::dot, &DotDims::lhsBatch>},
      {"rhs_batch_dims", readIntsInto<&A::dot, &DotDims::rhsBatch>},
      {"lhs_contracting_dims", readIntsInto<&A::dot, &DotDims::lhsContracting>},
      {"rhs_contracting_dims", readIntsInto<&A::dot, &DotDims::rhsContracting>},
      {"window", [](Target t) { return readWindow(t.in, t.op.attrs.window); }},
      {"dim_labels", [](Target t) { return readDimLabels(t.in, t.op.attrs.conv); }},
      {"feature_group_count", readIntInto<&A::featureGroupCount>},
      {"batch_group_count", readIntInto<&A::batchGroupCount>},
      {"offset_dims", readIntsInto<&A::gather, &GatherDims::offsetDims>},
      {"collapsed_slice_dims", readIntsInto<&A::gather, &GatherDims::collapsedSliceDims>},
      {"start_index_map", readIntsInto<&A::gather, &GatherDims::startIndexMap>},
      {"operand_batching_dims", readIntsInto<&A::gather, &GatherDims::operandBatchingDims>},
      {"start_indices_batching_dims",
       readIntsInto<&A::gather, &GatherDims::startIndicesBatchingDims>},
      {"slice_sizes", readIntsInto<&A::gather, &GatherDims::sliceSizes>},
      {"index_vector_dim", readIndexVectorDim},
      {"update_window_dims", readIntsInto<&A::scatter, &ScatterDims::updateWindowDims>},
      {"inserted_window_dims", readIntsInto<&A::scatter, &ScatterDims::insertedWindowDims>},
      {"scatter_dims_to_operand_dims",
       readIntsInto<&A::scatter, &ScatterDims::scatterDimsToOperandDims>},
      {"input_batching_dims", readIntsInto<&A::scatter, &ScatterDims::inputBatchingDims>},
      {"scatter_indices_batching_dims",
       readIntsInto<&A::scatter, &ScatterDims::scatterIndicesBatchingDims>},
      {"padding", [](Target t) { return readPadding(t.in, t.op.attrs.padding, 3); }},
      {"slice", [](Target t) { return readSlice(t.in, t.op.attrs.slice); }},
      {"dynamic_slice_sizes", readIntsInto<&A::dynamicSliceSizes>},
      {"index", readIntInto<&A::tupleIndex>},
      {"exponent_bits", readIntInto<&A::exponentBits>},
      {"mantissa_bits", readIntInto<&A::mantissaBits>},
      {"direction", [](Target t) { return readComparison(t.in, t.op.attrs.comparison); }},
      {"custom_call_target",
       [](Target t) {
         uint32_t begin = t.in.place();
         return readQuoted(t.in, t.op.attrs.customCallTarget) &&
                (!t.op.attrs.customCallTarget.empty() ||
                 t.in.fail(begin, "the custom call's target is empty"));
       }},
      {"replica_groups",
       [](Target t) {
         return readReplicaGroups(t.in, t.op.attrs.asyncOpcode.value_or(t.op.opcode),
                                  t.op.attrs.replicaGroups);
       }},
      {"kind", [](Target t) { return readFusionKind(t.in, t.op.attrs.fusionKind); }},
      {"calls", readCallsInto<CallRole::Calls>},
      {"to_apply", readCallsInto<CallRole::ToApply>},
      {"body", readCallsInto<CallRole::Body>},
      {"condition", readCallsInto<CallRole::Condition>},
      {"branch_computations", readCallsInto<CallRole::Branch>},
      {"true_computation", readCallsInto<CallRole::Branch>},
      {"false_computation", readCallsInto<CallRole::Branch>},
      {"select", readCallsInto<CallRole::Select>},
      {"scatter", readCallsInto<CallRole::Scatter>},
      {"called_computations", readCallsInto<CallRole::Other>},
  };
  return table;
}

} // namespace

std::vector<std::string_view> typedAttributeNames() {
  std::vector<std::string_view> names;
  for (const auto &[name, reader] : readers())
    names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool readTypedAttribute(std::string_view name, HloLexer value, Op &op,
                        std::vector<HloCallReference> &calls) {
  auto it = readers().find(name);
  if (it == readers().end())
    return checkAttributeValue(name, value, op);
  if (!it->second({value, op, calls}))
    return false;
  return value.atEnd() || value.failExpected("the attribute's end");
}

} // namespace tilewright
