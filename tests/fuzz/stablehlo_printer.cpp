#include "tests/fuzz/stablehlo_printer.h"

#include "analysis/import/stablehlo/lowering.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/numeric.h"
#include "analysis/ir/reducer.h"

#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>

namespace tilewright::test {

namespace {

using Ints = std::vector<int64_t>;

std::string elementType(DType type) {
  std::string name(toString(type));
  switch (dtypeClass(type)) {
  case DTypeClass::Pred:
    return "i1";
  case DTypeClass::Signed:
    return "i" + name.substr(1);
  case DTypeClass::Unsigned:
    return "ui" + name.substr(1);
  case DTypeClass::Complex:
    return type == DType::C64 ? "complex<f32>" : "complex<f64>";
  default:
    if (bitWidth(type) <= 8)
      for (size_t i = 1; i < name.size(); ++i)
        name[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
    return name;
  }
}

std::string typeOf(const Shape &shape) {
  std::string out = "tensor<";
  for (int64_t dim : shape.dims)
    out += fmt::format("{}x", dim);
  return out + elementType(shape.dtype) + ">";
}

std::string list(const Ints &values) { return fmt::format("[{}]", fmt::join(values, ", ")); }
std::string array(const Ints &values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

class Printer {
public:
  Printer(const Module &module, uint64_t seed) : module(module), random(seed) {}

  std::optional<std::string> run() {
    std::string out = "module @printed {\n";
    for (const Graph &graph : module.all()) {
      if (&graph != &module.entry() && !isCalled(graph))
        continue;
      function(graph);
      out += body;
    }
    if (!isPrinted)
      return std::nullopt;
    return out + "}\n";
  }

private:
  bool coin() { return random() % 2 == 0; }

  bool isCalled(const Graph &graph) const {
    for (const Graph &caller : module.all())
      for (const Op &op : caller.all())
        for (const CalledGraph &called : op.called)
          if (op.opcode == Opcode::Call && &module.graph(called.graph) == &graph)
            return true;
    return false;
  }

  std::string value(const Graph &graph, OpId id) const {
    const Op &op = graph.op(id);
    if (op.opcode == Opcode::Copy)
      return value(graph, op.operands[0]);
    return fmt::format("%{}.{}", graph.name(), op.name);
  }

  std::string operands(const Graph &graph, const Op &op) const {
    std::vector<std::string> names;
    for (OpId id : op.operands)
      names.push_back(value(graph, id));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  static std::string types(const Graph &graph, const Op &op) {
    std::vector<std::string> all;
    for (OpId id : op.operands)
      all.push_back(typeOf(graph.op(id).shape));
    return fmt::format("({}) -> {}", fmt::join(all, ", "), typeOf(op.shape));
  }

  void function(const Graph &graph) {
    std::vector<std::string> arguments;
    for (OpId id : graph.parameters())
      arguments.push_back(value(graph, id) + ": " + typeOf(graph.op(id).shape));
    const Op &root = graph.op(graph.root());
    const bool isTuple = root.opcode == Opcode::Tuple;
    std::vector<std::string> results, resultTypes;
    for (OpId id : isTuple ? root.operands : std::vector<OpId>{graph.root()}) {
      results.push_back(value(graph, id));
      resultTypes.push_back(typeOf(graph.op(id).shape));
    }
    body = fmt::format("func.func {} @{}({}) -> ({}) {{\n",
                       &graph == &module.entry() ? "public" : "private",
                       &graph == &module.entry() ? "main" : graph.name(),
                       fmt::join(arguments, ", "), fmt::join(resultTypes, ", "));
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (!(isTuple && OpId{i} == graph.root()))
        op(graph, graph.op(OpId{i}), OpId{i});
    body +=
        fmt::format("return {} : {}\n}}\n", fmt::join(results, ", "), fmt::join(resultTypes, ", "));
  }

  void region(const Graph &graph, std::string_view label = "bb0") {
    std::vector<std::string> arguments;
    for (OpId id : graph.parameters())
      arguments.push_back(value(graph, id) + ": " + typeOf(graph.op(id).shape));
    body += fmt::format("({{\n^{}({}):\n", label, fmt::join(arguments, ", "));
    for (uint32_t i = 0; i < graph.size(); ++i)
      op(graph, graph.op(OpId{i}), OpId{i});
    body += fmt::format("stablehlo.return {} : {}\n}})", value(graph, graph.root()),
                        typeOf(graph.op(graph.root()).shape));
  }

  const Graph &reducer(const Op &op) const { return module.graph(op.called[0].graph); }

  void generic(const Graph &graph, const Op &op, std::string_view name,
               const std::string &properties = "", bool hasRegion = false) {
    body += fmt::format("\"stablehlo.{}\"({})", name, operands(graph, op));
    const bool isNew = coin();
    if (isNew && !properties.empty())
      body += fmt::format(" <{{{}}}>", properties);
    if (hasRegion) {
      body += ' ';
      region(reducer(op));
    }
    if (!isNew && !properties.empty())
      body += fmt::format(" {{{}}}", properties);
    body += " : " + types(graph, op);
  }

  void shortForm(const Graph &graph, const Op &op, std::string_view name,
                 const std::string &keys = "") {
    body +=
        fmt::format("stablehlo.{} {}{} : {}", name, operands(graph, op), keys, types(graph, op));
  }

  void either(const Graph &graph, const Op &op, std::string_view name, const std::string &keys,
              const std::string &properties) {
    if (coin())
      shortForm(graph, op, name, keys);
    else
      generic(graph, op, name, properties);
  }

  std::string element(const Tensor &tensor, int64_t i) const {
    const DType type = tensor.dtype();
    if (type == DType::Pred)
      return tensor.integer(i) ? "true" : "false";
    if (isFloat(type))
      return fmt::format("{:#x}", encodeFloat(type, tensor.real(i)));
    return type == DType::U64 ? fmt::format("{}", static_cast<uint64_t>(tensor.integer(i)))
                              : fmt::format("{}", tensor.integer(i));
  }

  void nested(const Tensor &tensor, size_t dim, int64_t &next, std::string &out) const {
    if (dim == tensor.shape().rank()) {
      out += element(tensor, next++);
      return;
    }
    out += '[';
    for (int64_t i = 0; i < tensor.shape().dims[dim]; ++i) {
      out += i ? ", " : "";
      nested(tensor, dim + 1, next, out);
    }
    out += ']';
  }

  void constant(const Op &op) {
    Shape shape = op.shape;
    shape.layout.reset();
    llvm::Expected<Tensor> tensor = parseLiteral(shape, op.literal);
    if (!tensor || dtypeClass(shape.dtype) == DTypeClass::Complex) {
      llvm::consumeError(tensor.takeError());
      isPrinted = false;
      return;
    }
    std::string text;
    if (bitWidth(shape.dtype) >= 8 && shape.rank() > 0 && tensor->size() > 1 && coin()) {
      text = "\"0x";
      for (std::byte byte : packTensor(*tensor))
        text += fmt::format("{:02X}", static_cast<unsigned>(byte));
      text += '"';
    } else if (tensor->size() > 0) {
      int64_t next = 0;
      nested(*tensor, 0, next, text);
    }
    const std::string value = fmt::format("dense<{}> : {}", text, typeOf(shape));
    body += coin() ? "stablehlo.constant " + value
                   : fmt::format("\"stablehlo.constant\"() <{{value = {}}}> : () -> {}", value,
                                 typeOf(shape));
  }

  static std::string_view word(Comparison comparison) {
    constexpr std::string_view words[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    return words[static_cast<size_t>(comparison)];
  }

  std::string windowProperties(const Op &op) {
    Ints sizes, strides, base, dilations;
    std::vector<std::string> pads;
    for (const WindowDim &dim : op.attrs.window) {
      sizes.push_back(dim.size);
      strides.push_back(dim.stride);
      base.push_back(dim.baseDilation);
      dilations.push_back(dim.windowDilation);
      pads.push_back(fmt::format("[{}, {}]", dim.padLow, dim.padHigh));
    }
    return fmt::format("window_dimensions = {}, window_strides = {}, base_dilations = {}, "
                       "window_dilations = {}, padding = dense<[{}]> : tensor<{}x2xi64>",
                       array(sizes), array(strides), array(base), array(dilations),
                       fmt::join(pads, ", "), pads.size());
  }

  static std::string dims(char first, int64_t firstDim, char second, int64_t secondDim,
                          const Ints &spatial) {
    std::vector<std::string> all(spatial.size() + 2);
    all[static_cast<size_t>(firstDim)] = first;
    all[static_cast<size_t>(secondDim)] = second;
    for (size_t i = 0; i < spatial.size(); ++i)
      all[static_cast<size_t>(spatial[i])] = std::to_string(i);
    return fmt::format("[{}]", fmt::join(all, ", "));
  }

  void convolution(const Graph &graph, const Op &op) {
    const ConvDims &c = op.attrs.conv;
    Ints strides, base, dilations, reversal;
    std::vector<std::string> pads;
    for (const WindowDim &dim : op.attrs.window) {
      strides.push_back(dim.stride);
      base.push_back(dim.baseDilation);
      dilations.push_back(dim.windowDilation);
      reversal.push_back(dim.reversed);
      pads.push_back(fmt::format("[{}, {}]", dim.padLow, dim.padHigh));
    }
    body += fmt::format(
        "stablehlo.convolution({}) dim_numbers = {}x{}->{}, window = {{stride = {}, pad = [{}], "
        "lhs_dilate = {}, rhs_dilate = {}, reverse = {}}} {{batch_group_count = {} : i64, "
        "feature_group_count = {} : i64}} : {}",
        operands(graph, op), dims('b', c.inputBatch, 'f', c.inputFeature, c.inputSpatial),
        dims('i', c.kernelInput, 'o', c.kernelOutput, c.kernelSpatial),
        dims('b', c.outputBatch, 'f', c.outputFeature, c.outputSpatial), list(strides),
        fmt::join(pads, ", "), list(base), list(dilations), list(reversal),
        op.attrs.batchGroupCount, op.attrs.featureGroupCount, types(graph, op));
  }

  void dot(const Graph &graph, const Op &op) {
    const DotDims &d = op.attrs.dot;
    std::string keys;
    if (!d.lhsBatch.empty())
      keys = fmt::format(", batching_dims = {} x {}", list(d.lhsBatch), list(d.rhsBatch));
    keys +=
        fmt::format(", contracting_dims = {} x {}", list(d.lhsContracting), list(d.rhsContracting));
    either(graph, op, "dot_general", keys,
           fmt::format("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, "
                       "rhs_batching_dimensions = {}, lhs_contracting_dimensions = {}, "
                       "rhs_contracting_dimensions = {}>",
                       list(d.lhsBatch), list(d.rhsBatch), list(d.lhsContracting),
                       list(d.rhsContracting)));
  }

  void reduce(const Graph &graph, const Op &op) {
    const std::optional<Opcode> opcode = reducerOpcode(reducer(op));
    const bool isPlain = opcode && reducer(op).size() == 3;
    if (op.operands.size() == 2 && isPlain && coin())
      body += fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = "
                          "{} : {}",
                          value(graph, op.operands[0]), value(graph, op.operands[1]),
                          toString(*opcode), list(op.attrs.dimensions), types(graph, op));
    else
      generic(graph, op, "reduce", "dimensions = " + array(op.attrs.dimensions), true);
  }

  void gather(const Graph &graph, const Op &op) {
    const GatherDims &g = op.attrs.gather;
    generic(graph, op, "gather",
            fmt::format("dimension_numbers = #stablehlo.gather<offset_dims = {}, "
                        "collapsed_slice_dims = {}, operand_batching_dims = {}, "
                        "start_indices_batching_dims = {}, start_index_map = {}, "
                        "index_vector_dim = {}>, slice_sizes = {}",
                        list(g.offsetDims), list(g.collapsedSliceDims), list(g.operandBatchingDims),
                        list(g.startIndicesBatchingDims), list(g.startIndexMap), g.indexVectorDim,
                        array(g.sliceSizes)));
  }

  void slice(const Graph &graph, const Op &op) {
    std::vector<std::string> ranges;
    Ints starts, limits, steps;
    for (const SliceDim &dim : op.attrs.slice) {
      ranges.push_back(fmt::format("{}:{}:{}", dim.start, dim.limit, dim.step));
      starts.push_back(dim.start);
      limits.push_back(dim.limit);
      steps.push_back(dim.step);
    }
    either(graph, op, "slice", fmt::format(" [{}]", fmt::join(ranges, ", ")),
           fmt::format("start_indices = {}, limit_indices = {}, strides = {}", array(starts),
                       array(limits), array(steps)));
  }

  void pad(const Graph &graph, const Op &op) {
    Ints low, high, interior;
    for (const PadDim &dim : op.attrs.padding) {
      low.push_back(dim.low);
      high.push_back(dim.high);
      interior.push_back(dim.interior);
    }
    either(
        graph, op, "pad",
        fmt::format(", low = {}, high = {}, interior = {}", list(low), list(high), list(interior)),
        fmt::format("edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
                    array(low), array(high), array(interior)));
  }

  void iota(const Op &op) {
    const int64_t dim = op.attrs.dimensions.empty() ? 0 : op.attrs.dimensions[0];
    body += fmt::format("stablehlo.iota dim = {} : {}", dim, typeOf(op.shape));
  }

  void elementwise(const Graph &graph, const Op &op) {
    for (const stablehlo::OpRow *row : stablehlo::allOps())
      if (row->opcode == op.opcode &&
          (row->lower == stablehlo::lowerDirect || row->lower == stablehlo::lowerBitcast) &&
          row->name.starts_with("stablehlo."))
        return either(graph, op, row->name.substr(10), "", "");
    for (const stablehlo::OpRow *row : stablehlo::allOps())
      if (row->opcode == op.opcode && op.operands.size() == 1 && row->name.starts_with("chlo.")) {
        const std::string type = typeOf(op.shape), from = value(graph, op.operands[0]);
        body += coin() ? fmt::format("{} {} : {} -> {}", row->name, from, type, type)
                       : fmt::format("\"{}\"({}) : ({}) -> {}", row->name, from, type, type);
        return;
      }
    isPrinted = false;
  }

  void op(const Graph &graph, const Op &op, OpId id) {
    if (op.opcode == Opcode::Parameter || op.opcode == Opcode::Copy)
      return;
    if (op.shape.isTuple) {
      isPrinted = false;
      return;
    }
    body += value(graph, id) + " = ";
    const OpAttributes &a = op.attrs;
    switch (op.opcode) {
    case Opcode::Constant:
      constant(op);
      break;
    case Opcode::Iota:
      iota(op);
      break;
    case Opcode::Broadcast:
      either(graph, op, "broadcast_in_dim", ", dims = " + list(a.dimensions),
             "broadcast_dimensions = " + array(a.dimensions));
      break;
    case Opcode::Transpose:
      either(graph, op, "transpose", ", dims = " + list(a.dimensions),
             "permutation = " + array(a.dimensions));
      break;
    case Opcode::Reverse:
      either(graph, op, "reverse", ", dims = " + list(a.dimensions),
             "dimensions = " + array(a.dimensions));
      break;
    case Opcode::Concatenate:
      either(graph, op, "concatenate", fmt::format(", dim = {}", a.dimensions[0]),
             fmt::format("dimension = {} : i64", a.dimensions[0]));
      break;
    case Opcode::Compare:
      if (coin())
        body += fmt::format("stablehlo.compare {}, {} : {}", word(a.comparison),
                            operands(graph, op), types(graph, op));
      else
        generic(graph, op, "compare",
                fmt::format("comparison_direction = #stablehlo<comparison_direction {}>",
                            word(a.comparison)));
      break;
    case Opcode::ReducePrecision:
      either(graph, op, "reduce_precision",
             fmt::format(", format = e{}m{}", a.exponentBits, a.mantissaBits),
             fmt::format("exponent_bits = {} : i32, mantissa_bits = {} : i32", a.exponentBits,
                         a.mantissaBits));
      break;
    case Opcode::DynamicSlice:
      either(graph, op, "dynamic_slice", ", sizes = " + list(a.dynamicSliceSizes),
             "slice_sizes = " + array(a.dynamicSliceSizes));
      break;
    case Opcode::Slice:
      slice(graph, op);
      break;
    case Opcode::Pad:
      pad(graph, op);
      break;
    case Opcode::Gather:
      gather(graph, op);
      break;
    case Opcode::Dot:
      dot(graph, op);
      break;
    case Opcode::Convolution:
      convolution(graph, op);
      break;
    case Opcode::Reduce:
      reduce(graph, op);
      break;
    case Opcode::ReduceWindow:
      generic(graph, op, "reduce_window", windowProperties(op), true);
      break;
    case Opcode::Call:
      body += fmt::format("{} @{}({}) : {}", coin() ? "call" : "func.call", reducer(op).name(),
                          operands(graph, op), types(graph, op));
      break;
    default:
      elementwise(graph, op);
    }
    body += coin() ? " loc(#loc)\n" : "\n";
  }

  const Module &module;
  std::mt19937_64 random;
  std::string body;
  bool isPrinted = true;
};

} // namespace

std::optional<std::string> printStableHlo(const Module &module, uint64_t seed) {
  return Printer(module, seed).run();
}

} // namespace tilewright::test
