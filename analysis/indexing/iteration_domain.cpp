#include "analysis/indexing/indexing_internal.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

namespace tilewright {

using namespace indexing;

llvm::Expected<IterationDomain> iterationDomain(const Graph &graph, OpId id, ExprContext &context,
                                                const ResultPath &path) {
  const Op &op = graph.op(id);
  // Computes the maps only to check that the op is sound and not opaque.
  llvm::Expected<OpIndexing> maps = outputToOperands(graph, id, context, path);
  if (!maps)
    return maps.takeError();
  const Shape *out = resultShape(op, path);
  if (maps->isOpaque || !out)
    return makeError(DiagClass::Unsupported, "%{}: {}", op.name,
                     out ? maps->reason : "it has no result");
  using Kind = IterationDomain::Reduction::Kind;
  IterationDomain domain;
  domain.parallel = out->dims;
  auto add = [&](int64_t extent, Kind kind, int64_t operandDim) {
    Expr var = context.range(static_cast<unsigned>(domain.reductions.size()));
    domain.reductions.push_back({var, extent, kind, operandDim});
  };
  const OpAttributes &attrs = op.attrs;
  auto operandExtent = [&](size_t operand, int64_t d) {
    return graph.op(op.operands[operand]).shape.dims[static_cast<size_t>(d)];
  };
  switch (op.opcode) {
  case Opcode::Dot:
  case Opcode::ScaledDot:
  case Opcode::RaggedDot:
    for (int64_t d : attrs.dot.lhsContracting)
      add(operandExtent(0, d), Kind::Contraction, d);
    break;
  case Opcode::Reduce: {
    std::vector<int64_t> dims = attrs.dimensions;
    std::sort(dims.begin(), dims.end());
    for (int64_t d : dims)
      add(operandExtent(0, d), Kind::Reduced, d);
    break;
  }
  case Opcode::Scan:
    add(operandExtent(0, attrs.dimensions[0]), Kind::Scanned, attrs.dimensions[0]);
    break;
  case Opcode::Convolution:
    for (size_t i = 0; i < attrs.window.size(); ++i)
      if (attrs.window[i].size != 1)
        add(attrs.window[i].size, Kind::Window, attrs.conv.inputSpatial[i]);
    add(operandExtent(1, attrs.conv.kernelInput), Kind::Contraction, attrs.conv.inputFeature);
    break;
  case Opcode::ReduceWindow:
    for (size_t i = 0; i < attrs.window.size(); ++i)
      if (attrs.window[i].size != 1)
        add(attrs.window[i].size, Kind::Window, static_cast<int64_t>(i));
    break;
  default:
    break;
  }
  return domain;
}

} // namespace tilewright
