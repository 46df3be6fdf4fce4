#include "analysis/indexing/library_call.h"

#include "analysis/indexing/indexing_internal.h"
#include "analysis/indexing/window_hits.h"
#include "analysis/support/checked.h"

#include "llvm/ADT/StringRef.h"

namespace tilewright {

using namespace indexing;

namespace {

/// The numbers of `"key":["1","2"]`, quoted or not.
std::optional<std::vector<int64_t>> numberList(llvm::StringRef text, llvm::StringRef key) {
  size_t at = text.find(key);
  if (at == llvm::StringRef::npos)
    return std::nullopt;
  text = text.substr(at + key.size());
  size_t open = text.find('['), close = text.find(']');
  if (open == llvm::StringRef::npos || close == llvm::StringRef::npos || close < open)
    return std::nullopt;
  std::vector<int64_t> numbers;
  text = text.slice(open + 1, close).trim();
  while (!text.empty()) {
    auto [first, rest] = text.split(',');
    int64_t number = 0;
    if (first.trim("\"\\ ").getAsInteger(10, number) || number < 0)
      return std::nullopt;
    numbers.push_back(number);
    text = rest;
  }
  return numbers;
}

std::optional<int64_t> productsOfGemm(const Graph &graph, const Op &op, const Shape &out) {
  std::string_view config = rawAttribute(op, "backend_config");
  std::optional<std::vector<int64_t>> contracted =
      numberList(llvm::StringRef(config.data(), config.size()), "lhs_contracting_dimensions");
  if (!contracted || op.operands.empty())
    return std::nullopt;
  const Shape &lhs = graph.op(op.operands[0]).shape;
  std::optional<int64_t> n = out.elementCount();
  for (int64_t d : *contracted) {
    if (lhs.isTuple || d >= static_cast<int64_t>(lhs.rank()))
      return std::nullopt;
    n = checkedMul(n, lhs.dims[static_cast<size_t>(d)]);
  }
  return n;
}

/// The three tensors of the forward convolution, of which the call makes one.
std::optional<int64_t> productsOfConvolution(const Graph &graph, const Op &op, const Shape &out) {
  if (op.operands.size() < 2)
    return std::nullopt;
  const Shape &a = graph.op(op.operands[0]).shape, &b = graph.op(op.operands[1]).shape;
  llvm::StringRef target(op.attrs.customCallTarget);
  if (target.starts_with("__cudnn$convForward") || target.starts_with("__cudnn$convBiasActivation"))
    return convolutionProducts(op.attrs, a, b, out);
  if (target == "__cudnn$convBackwardInput")
    return convolutionProducts(op.attrs, out, b, a);
  if (target == "__cudnn$convBackwardFilter")
    return convolutionProducts(op.attrs, a, out, b);
  return std::nullopt;
}

} // namespace

std::optional<int64_t> convolutionProducts(const OpAttributes &attrs, const Shape &input,
                                           const Shape &kernel, const Shape &output) {
  const ConvDims &dims = attrs.conv;
  size_t spatial = attrs.window.size(), rank = spatial + 2;
  auto fits = [&](const Shape &shape, std::vector<int64_t> list, int64_t a, int64_t b) {
    list.insert(list.end(), {a, b});
    bool inRange = !shape.isTuple && shape.rank() == rank && list.size() == rank;
    for (int64_t d : list)
      inRange = inRange && d >= 0 && static_cast<size_t>(d) < rank;
    return inRange;
  };
  if (!fits(input, dims.inputSpatial, dims.inputBatch, dims.inputFeature) ||
      !fits(kernel, dims.kernelSpatial, dims.kernelInput, dims.kernelOutput) ||
      !fits(output, dims.outputSpatial, dims.outputBatch, dims.outputFeature))
    return std::nullopt;
  std::optional<int64_t> n = output.dims[static_cast<size_t>(dims.outputBatch)];
  n = checkedMul(n, output.dims[static_cast<size_t>(dims.outputFeature)]);
  n = checkedMul(n, kernel.dims[static_cast<size_t>(dims.kernelInput)]);
  for (size_t i = 0; i < spatial; ++i) {
    std::optional<WindowHits> met =
        windowHits(attrs.window[i], output.dims[static_cast<size_t>(dims.outputSpatial[i])],
                   input.dims[static_cast<size_t>(dims.inputSpatial[i])]);
    n = met ? checkedMul(n, met->hits) : std::nullopt;
  }
  return n;
}

size_t resultsOfCall(const Op &op) {
  if (!op.shape.isTuple)
    return 1;
  const size_t n = op.shape.elements.size();
  const Shape *last = n > 1 ? &op.shape.elements.back() : nullptr;
  const bool hasWorkspace = last && !last->isTuple && last->rank() == 1 &&
                            (last->dtype == DType::S8 || last->dtype == DType::U8);
  return n - hasWorkspace;
}

std::optional<LibraryCall> libraryCall(const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  const Shape *out = resultShape(op, {});
  if (op.opcode != Opcode::CustomCall || !out)
    return std::nullopt;
  llvm::StringRef target(op.attrs.customCallTarget);
  std::optional<int64_t> products;
  if (target == "__cublas$gemm" || target.starts_with("__cublas$lt$matmul"))
    products = productsOfGemm(graph, op, *out);
  else if (target.starts_with("__cudnn$conv"))
    products = productsOfConvolution(graph, op, *out);
  std::optional<int64_t> flops = checkedMul(products, 2), bytes = 0;
  auto add = [&](const Shape &shape) {
    std::optional<int64_t> size = shape.byteSize();
    bytes = bytes && size ? checkedAdd(*bytes, *size) : std::nullopt;
  };
  for (OpId operand : op.operands)
    add(graph.op(operand).shape);
  if (op.shape.isTuple) {
    for (size_t i = 0; i < resultsOfCall(op); ++i)
      add(op.shape.elements[i]);
  } else {
    add(op.shape);
  }
  return flops && bytes ? std::optional(LibraryCall{*flops, *bytes}) : std::nullopt;
}

} // namespace tilewright
