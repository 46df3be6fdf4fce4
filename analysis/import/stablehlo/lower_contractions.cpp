// Dots, convolutions, gather and scatter.
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/support/printable.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::stablehlo {

namespace {

/// `[0] x [1]`
bool readPair(MlirLexer in, std::vector<int64_t> &first, std::vector<int64_t> &second) {
  for (std::vector<int64_t> *list : {&first, &second}) {
    const uint32_t begin = in.place();
    if (in.peek() != '[' || !in.skipGroup())
      return in.failExpected("'['");
    Integers read;
    if (!readIntegers(in.part({begin, in.offset()}), read))
      return false;
    *list = std::move(read.values);
    if (list == &first && !in.consume('x'))
      return in.failExpected("'x'");
  }
  return in.atEnd() || in.failExpected("the end of the dims");
}

/// precision_config, as HLO's operand_precision; nothing where all are the default.
bool setPrecision(Lowering &l, Op &op) {
  std::vector<std::string_view> words;
  if (!l.words("precision_config", words))
    return false;
  std::vector<std::string> lower;
  bool isDefault = true;
  for (std::string_view word : words) {
    if (word != "DEFAULT" && word != "HIGH" && word != "HIGHEST")
      return l.fail(
          fmt::format("the precision '{}' is none of DEFAULT, HIGH and HIGHEST", excerpt(word)));
    isDefault &= word == "DEFAULT";
    lower.push_back(llvm::StringRef(word).lower());
  }
  if (!isDefault)
    addRaw(op, "operand_precision", fmt::format("{{{}}}", fmt::join(lower, ",")));
  return true;
}

/// `<lhs_precision_type = tf32, …>`, as the name that HLO gives to it.
bool setAlgorithm(Lowering &l, Op &op) {
  const Attribute *attribute = l.text.attributes.take("algorithm");
  if (!attribute)
    return true;
  MlirLexer in = l.at(*attribute);
  Attributes fields;
  if (in.peekIdentifier() == "none") // left to the compiler
    return true;
  if (!readStruct(in, l.reader.attributeAliases, fields))
    return false;
  auto type = [&](std::string_view name) {
    const Attribute *field = fields.take(name);
    return field ? llvm::StringRef(l.reader.lexer.slice(field->value)).lower() : std::string();
  };
  auto narrowed = [](std::string name) { return name.starts_with("f8") ? "any_f8" : name; };
  const std::string lhs = narrowed(type("lhs_precision_type")),
                    rhs = narrowed(type("rhs_precision_type")), sum = type("accumulation_type");
  int64_t products = 1;
  if (lhs.empty() || rhs.empty() || sum.empty())
    return l.failAt(attribute->offset, "the algorithm needs lhs_precision_type, "
                                       "rhs_precision_type and accumulation_type");
  if (!l.integerIn(fields, "num_primitive_operations", products))
    return false;
  std::string name = fmt::format("dot_{}_{}_{}", lhs, rhs, sum);
  if (products > 1)
    name += fmt::format("_x{}", products);
  const Attribute *imprecise = fields.take("allow_imprecise_accumulation");
  if (imprecise && l.reader.lexer.slice(imprecise->value) == "true")
    name += "_fast_accum";
  if (std::any_of(name.begin(), name.end(),
                  [](unsigned char c) { return !isalnum(c) && c != '_'; }))
    return l.failAt(attribute->offset, "the algorithm's types are not names of types");
  addRaw(op, "algorithm", std::move(name));
  return true;
}

bool dotDims(Lowering &l, DotDims &dims) {
  if (const Attribute *batch = l.text.attributes.take("batching_dims"))
    if (!readPair(l.at(*batch), dims.lhsBatch, dims.rhsBatch))
      return false;
  if (const Attribute *contracting = l.text.attributes.take("contracting_dims"))
    if (!readPair(l.at(*contracting), dims.lhsContracting, dims.rhsContracting))
      return false;
  Attributes fields;
  return l.structure("dot_dimension_numbers", fields) &&
         l.integersIn(fields, "lhs_batching_dimensions", dims.lhsBatch) &&
         l.integersIn(fields, "rhs_batching_dimensions", dims.rhsBatch) &&
         l.integersIn(fields, "lhs_contracting_dimensions", dims.lhsContracting) &&
         l.integersIn(fields, "rhs_contracting_dimensions", dims.rhsContracting);
}

} // namespace

bool lowerDotGeneral(Lowering &l) {
  Op op = l.make(Opcode::Dot);
  return dotDims(l, op.attrs.dot) && setPrecision(l, op) && setAlgorithm(l, op) &&
         l.finish(std::move(op));
}

/// The last dim of the left operand against the first of the right one.
bool lowerDot(Lowering &l) {
  Op op = l.make(Opcode::Dot);
  if (!l.hasOperands(2))
    return false;
  if (l.operand(0).rank() == 0 || l.operand(1).rank() == 0)
    return l.fail("a dot of scalars");
  op.attrs.dot.lhsContracting = {int64_t(l.operand(0).rank()) - 1};
  op.attrs.dot.rhsContracting = {0};
  return setPrecision(l, op) && l.finish(std::move(op));
}

bool lowerRaggedDot(Lowering &l) {
  Op op = l.make(Opcode::RaggedDot);
  Attributes fields;
  DotDims &dims = op.attrs.dot;
  std::vector<int64_t> ragged, groups;
  if (!l.need("ragged_dot_dimension_numbers") ||
      !l.structure("ragged_dot_dimension_numbers", fields))
    return false;
  if (const Attribute *nested = fields.take("dot_dimension_numbers")) {
    Attributes inner;
    if (!readStruct(l.at(*nested), l.reader.attributeAliases, inner) ||
        !l.integersIn(inner, "lhs_batching_dimensions", dims.lhsBatch) ||
        !l.integersIn(inner, "rhs_batching_dimensions", dims.rhsBatch) ||
        !l.integersIn(inner, "lhs_contracting_dimensions", dims.lhsContracting) ||
        !l.integersIn(inner, "rhs_contracting_dimensions", dims.rhsContracting))
      return false;
  } else if (!l.integersIn(fields, "lhs_batching_dimensions", dims.lhsBatch) ||
             !l.integersIn(fields, "rhs_batching_dimensions", dims.rhsBatch) ||
             !l.integersIn(fields, "lhs_contracting_dimensions", dims.lhsContracting) ||
             !l.integersIn(fields, "rhs_contracting_dimensions", dims.rhsContracting)) {
    return false;
  }
  if (!l.integersIn(fields, "lhs_ragged_dimensions", ragged) ||
      !l.integersIn(fields, "rhs_group_dimensions", groups))
    return false;
  addRaw(op, "lhs_ragged_dims", fmt::format("{{{}}}", fmt::join(ragged, ",")));
  addRaw(op, "rhs_group_dims", fmt::format("{{{}}}", fmt::join(groups, ",")));
  return setPrecision(l, op) && l.finish(std::move(op));
}

namespace {

/// `[b, f, 0, 1]`: where the two letters and the spatial dims' numbers stand.
bool readConvolutionDims(MlirLexer &in, std::string_view first, std::string_view second,
                         int64_t &firstDim, int64_t &secondDim, std::vector<int64_t> &spatial) {
  const uint32_t begin = in.place();
  if (!in.expect('['))
    return false;
  firstDim = secondDim = -1;
  std::vector<std::pair<int64_t, int64_t>> numbered;
  int64_t at = 0;
  for (; in.peek() != ']'; ++at) {
    if (at == int64_t(hlo_limits::rank))
      return in.fail(in.offset(), fmt::format("more than {} dims", hlo_limits::rank));
    if (at > 0 && !in.expect(','))
      return false;
    const std::string_view word = in.identifier();
    int64_t number;
    if (word == first)
      firstDim = at;
    else if (word == second)
      secondDim = at;
    else if (!word.empty() || !in.integer(number, "a letter or a dim's number"))
      return in.failExpected(fmt::format("{}, {} or a spatial dim", first, second));
    else
      numbered.emplace_back(number, at);
  }
  in.advance();
  std::sort(numbered.begin(), numbered.end());
  spatial.clear();
  for (size_t i = 0; i < numbered.size(); ++i)
    if (numbered[i].first == static_cast<int64_t>(i))
      spatial.push_back(numbered[i].second);
  return (firstDim >= 0 && secondDim >= 0 && static_cast<int64_t>(spatial.size()) == at - 2) ||
         in.fail(begin, fmt::format("{}, {} and the spatial dims from 0 on must stand once each",
                                    first, second));
}

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`, also as `#stablehlo.conv<…>`, or `<raw …>` with the
/// dims by name.
bool convolutionDims(Lowering &l, ConvDims &dims) {
  const Attribute *attribute = l.text.attributes.take("dimension_numbers");
  if (!attribute)
    return l.need("dimension_numbers");
  MlirLexer in = l.at(*attribute);
  const bool isAttribute = in.consume('#');
  if (isAttribute && (in.identifier().empty() || !in.expect('<')))
    return in.failExpected("the dims");
  if (in.consumeIdentifier("raw")) {
    Attributes fields;
    // `raw` stands where a dictionary has its first name.
    MlirLexer list = l.reader.lexer.part({in.offset(), attribute->value.end});
    while (list.peek() != '>') {
      Attribute field;
      if (!fields.all().empty())
        list.consume(',');
      field.offset = list.place();
      field.name = list.identifier();
      if (field.name.empty() || !list.expect('='))
        return list.failExpected("a field");
      field.value.begin = list.place();
      if (list.peek() == '[' ? !list.skipGroup() : !list.skipShortValue())
        return false;
      field.value.end = list.offset();
      if (!fields.add(list, field))
        return false;
    }
    return l.integerIn(fields, "input_batch_dimension", dims.inputBatch) &&
           l.integerIn(fields, "input_feature_dimension", dims.inputFeature) &&
           l.integersIn(fields, "input_spatial_dimensions", dims.inputSpatial) &&
           l.integerIn(fields, "kernel_input_feature_dimension", dims.kernelInput) &&
           l.integerIn(fields, "kernel_output_feature_dimension", dims.kernelOutput) &&
           l.integersIn(fields, "kernel_spatial_dimensions", dims.kernelSpatial) &&
           l.integerIn(fields, "output_batch_dimension", dims.outputBatch) &&
           l.integerIn(fields, "output_feature_dimension", dims.outputFeature) &&
           l.integersIn(fields, "output_spatial_dimensions", dims.outputSpatial);
  }
  if (!readConvolutionDims(in, "b", "f", dims.inputBatch, dims.inputFeature, dims.inputSpatial))
    return false;
  if (!in.consume('x'))
    return in.failExpected("'x'");
  if (!readConvolutionDims(in, "i", "o", dims.kernelInput, dims.kernelOutput, dims.kernelSpatial))
    return false;
  if (!in.consume("->"))
    return in.failExpected("'->'");
  return readConvolutionDims(in, "b", "f", dims.outputBatch, dims.outputFeature,
                             dims.outputSpatial) &&
         (!isAttribute || in.expect('>'));
}

/// The short form's `window = {stride = […], …}` as the attributes that it stands for.
bool spreadWindow(Lowering &l) {
  Attributes fields;
  if (!l.structure("window", fields))
    return false;
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"stride", "window_strides"},
      {"pad", "padding"},
      {"lhs_dilate", "lhs_dilation"},
      {"rhs_dilate", "rhs_dilation"},
      {"reverse", "window_reversal"}};
  for (const Attribute &field : fields.all()) {
    auto it = std::find_if(std::begin(names), std::end(names),
                           [&](auto &name) { return name.first == field.name; });
    if (it == std::end(names))
      return l.failAt(field.offset, fmt::format("a window has no '{}'", excerpt(field.name)));
    MlirLexer lexer = l.reader.lexer;
    if (!l.text.attributes.add(lexer, {it->second, field.offset, field.value, false}))
      return false;
  }
  return true;
}

bool listOf(Lowering &l, std::string_view name, size_t rank, std::vector<int64_t> &out,
            int64_t otherwise) {
  if (!l.integers(name, out))
    return false;
  if (out.empty())
    out.assign(rank, otherwise);
  return out.size() == rank ||
         l.fail(fmt::format("{} has {} entries, the window {} dims", name, out.size(), rank));
}

} // namespace

bool windowOf(Lowering &l, const std::vector<int64_t> &sizes, std::string_view baseDilation,
              std::string_view windowDilation, std::vector<WindowDim> &out) {
  const size_t rank = sizes.size();
  std::vector<int64_t> strides, base, dilation, reversal;
  Integers padding;
  if (!listOf(l, "window_strides", rank, strides, 1) || !listOf(l, baseDilation, rank, base, 1) ||
      !listOf(l, windowDilation, rank, dilation, 1) ||
      !listOf(l, "window_reversal", rank, reversal, 0) || !l.nested("padding", padding))
    return false;
  if (padding.values.empty())
    padding.values.assign(2 * rank, 0);
  if (padding.values.size() != 2 * rank)
    return l.fail(fmt::format("padding has {} entries, {} window dims need {}",
                              padding.values.size(), rank, 2 * rank));
  for (size_t i = 0; i < rank; ++i)
    out.push_back({sizes[i], strides[i], padding.values[2 * i], padding.values[2 * i + 1],
                   dilation[i], base[i], reversal[i] != 0});
  return true;
}

bool lowerConvolution(Lowering &l) {
  Op op = l.make(Opcode::Convolution);
  if (!l.hasOperands(2) || !convolutionDims(l, op.attrs.conv) || !spreadWindow(l))
    return false;
  std::vector<int64_t> sizes;
  for (int64_t dim : op.attrs.conv.kernelSpatial) {
    if (dim < 0 || dim >= l.operand(1).rank())
      return l.fail(fmt::format("spatial dim {} of the kernel {}", dim, briefText(l.operand(1))));
    sizes.push_back(l.operand(1).dims[static_cast<size_t>(dim)]);
  }
  return windowOf(l, sizes, "lhs_dilation", "rhs_dilation", op.attrs.window) &&
         l.integer("feature_group_count", op.attrs.featureGroupCount) &&
         l.integer("batch_group_count", op.attrs.batchGroupCount) && setPrecision(l, op) &&
         l.finish(std::move(op));
}

bool gatherWith(Lowering &l, std::vector<int64_t> sizes) {
  Op op = l.make(Opcode::Gather);
  GatherDims &dims = op.attrs.gather;
  Attributes fields;
  bool isSorted = false;
  if (!l.need("dimension_numbers") || !l.structure("dimension_numbers", fields) ||
      !l.integersIn(fields, "offset_dims", dims.offsetDims) ||
      !l.integersIn(fields, "collapsed_slice_dims", dims.collapsedSliceDims) ||
      !l.integersIn(fields, "operand_batching_dims", dims.operandBatchingDims) ||
      !l.integersIn(fields, "start_indices_batching_dims", dims.startIndicesBatchingDims) ||
      !l.integersIn(fields, "start_index_map", dims.startIndexMap) ||
      !l.integerIn(fields, "index_vector_dim", dims.indexVectorDim) ||
      !l.flag("indices_are_sorted", isSorted))
    return false;
  dims.sliceSizes = std::move(sizes);
  if (isSorted)
    addRaw(op, "indices_are_sorted", "true");
  return l.finish(std::move(op));
}

bool lowerGather(Lowering &l) {
  std::vector<int64_t> sizes;
  return l.need("slice_sizes") && l.integers("slice_sizes", sizes) &&
         gatherWith(l, std::move(sizes));
}

bool lowerScatter(Lowering &l) {
  Op op = l.make(Opcode::Scatter);
  ScatterDims &dims = op.attrs.scatter;
  Attributes fields;
  bool isSorted = false, isUnique = false;
  GraphId combiner;
  if (!l.hasRegions(1) || !l.need("scatter_dimension_numbers") ||
      !l.structure("scatter_dimension_numbers", fields) ||
      !l.integersIn(fields, "update_window_dims", dims.updateWindowDims) ||
      !l.integersIn(fields, "inserted_window_dims", dims.insertedWindowDims) ||
      !l.integersIn(fields, "input_batching_dims", dims.inputBatchingDims) ||
      !l.integersIn(fields, "scatter_indices_batching_dims", dims.scatterIndicesBatchingDims) ||
      !l.integersIn(fields, "scatter_dims_to_operand_dims", dims.scatterDimsToOperandDims) ||
      !l.integerIn(fields, "index_vector_dim", dims.indexVectorDim) ||
      !l.flag("indices_are_sorted", isSorted) || !l.flag("unique_indices", isUnique) ||
      !l.reducer(0, combiner))
    return false;
  if (isSorted)
    addRaw(op, "indices_are_sorted", "true");
  if (isUnique)
    addRaw(op, "unique_indices", "true");
  op.called.push_back({CallRole::ToApply, combiner});
  return l.finish(std::move(op));
}

} // namespace tilewright::stablehlo
