#include "analysis/tiling/strided_view.h"

#include "analysis/affine/linear_form.h"
#include "analysis/affine/simplify.h"
#include "analysis/indexing/indexing.h"

#include <fmt/format.h>
#include <set>

namespace tilewright {

bool movesElements(const Graph &graph, const Op &op) {
  switch (op.opcode) {
  case Opcode::Bitcast:
    return op.shape.dtype == graph[op.operands[0]].shape.dtype;
  case Opcode::Broadcast:
  case Opcode::Reshape:
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::Reverse:
  case Opcode::Copy:
    return true;
  default:
    return false;
  }
}

llvm::Expected<StridedView> stridedViewOf(const Graph &graph, OpId op,
                                          const std::function<bool(OpId)> &isSource) {
  const Op &viewed = graph[op];
  OpId source = op;
  while (!isSource(source)) {
    if (graph[source].shape.isTuple || !movesElements(graph, graph[source]))
      return makeError(DiagClass::Unsupported, "%{} is computed, not read from memory",
                       viewed.name);
    source = graph[source].operands[0];
  }
  StridedView view;
  view.source = source;
  view.strides.assign(viewed.shape.rank(), 0);
  ExprContext context;
  llvm::Expected<OperandMaps> maps = mapsToOp(graph, op, source, context);
  if (!maps)
    return maps.takeError();
  auto irregular = [&] {
    return makeError(DiagClass::Unsupported,
                     "the elements of %{} lie in %{} at no fixed distance from each other",
                     viewed.name, graph[source].name);
  };
  if (maps->maps.size() != 1 || !maps->maps[0].constraints().empty())
    return irregular();
  const IndexMap &map = maps->maps[0];
  if (map.results().empty())
    return view;
  Bounds bounds;
  for (size_t d = 0; d < viewed.shape.rank(); ++d)
    bounds.set(context.dim(static_cast<unsigned>(d)), Interval::ofExtent(viewed.shape.dims[d]));
  Expr offset = context.constant(0);
  int64_t stride = 1;
  for (int64_t dim : graph[source].shape.minorToMajorOrDefault()) {
    offset = offset + map.results()[static_cast<size_t>(dim)] * stride;
    stride *= graph[source].shape.dims[static_cast<size_t>(dim)];
  }
  LinearForm form = LinearForm::of(Simplifier(context, bounds).simplify(offset));
  view.offset = form.constant;
  for (const LinearForm::Term &term : form.terms) {
    bool isDim = false;
    for (size_t d = 0; d < view.strides.size() && !isDim; ++d)
      if (term.expr == context.dim(static_cast<unsigned>(d))) {
        view.strides[d] = term.coefficient;
        isDim = true;
      }
    if (!isDim)
      return irregular();
  }
  return view;
}

llvm::Expected<int64_t> strideOfAll(const StridedView &view, const Shape &shape,
                                    const std::vector<int64_t> &dims) {
  int64_t stride = 0, inner = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    auto dim = static_cast<size_t>(dims[i]);
    if (shape.dims[dim] == 1)
      continue;
    if (stride == 0)
      stride = view.strides[dim];
    else if (view.strides[dim] != stride * inner)
      return makeError(DiagClass::Unsupported, "its contracted dims do not lie in memory as one");
    inner *= shape.dims[dim];
  }
  return stride == 0 ? 1 : stride;
}

namespace {

bool dependsOnDot(const Graph &graph, const Group &group, OpId from) {
  std::vector<OpId> work{from};
  std::set<OpId> seen;
  while (!work.empty()) {
    OpId id = work.back();
    work.pop_back();
    if (!group.contains(id) || !seen.insert(id).second)
      continue;
    if (graph[id].opcode == Opcode::Dot)
      return true;
    work.insert(work.end(), graph[id].operands.begin(), graph[id].operands.end());
  }
  return false;
}

} // namespace

TmaOperand tmaOperand(const Graph &graph, const Group &group, OpId dot, size_t number) {
  const DotDims &dims = graph[dot].attrs.dot;
  const OpId operand = graph[dot].operands[number];
  TmaOperand result;
  if (dependsOnDot(graph, group, operand))
    return result;
  const Shape &shape = graph[operand].shape;
  auto refused = [&](const std::string &why) {
    result.whyNot = fmt::format("operand %{} of {} can't be copied by TMA: {}; mma.sync takes it",
                                graph[operand].name, shape.str(false), why);
    return result;
  };
  const auto bytes = static_cast<int64_t>(bitWidth(shape.dtype) / 8);
  auto view = stridedViewOf(graph, operand, [&](OpId id) { return !group.contains(id); });
  if (!view)
    return refused(takeDiag(view.takeError()).message);
  auto contracted =
      strideOfAll(*view, shape, number == 0 ? dims.lhsContracting : dims.rhsContracting);
  if (!contracted)
    return refused(takeDiag(contracted.takeError()).message);
  result.copiesLines = *contracted != 1;
  for (size_t d = 0; d < shape.rank(); ++d)
    if (shape.dims[d] > 1 && view->strides[d] == 1)
      result.contiguousDim = d;
  if (result.copiesLines && bytes != 2)
    return refused("its contracted dim is not the contiguous one, which wgmma takes for 16-bit "
                   "types only");
  if (view->offset * bytes % 16 != 0)
    return refused(fmt::format("its first element is {} bytes past a multiple of 16",
                               view->offset * bytes % 16));
  for (size_t d = 0; d < shape.rank(); ++d)
    if (int64_t stride = view->strides[d];
        shape.dims[d] > 1 && stride != 1 && (stride <= 0 || stride * bytes % 16 != 0))
      return refused(fmt::format("the stride of dim {}, {} bytes, is not a positive multiple of 16",
                                 d, stride * bytes));
  return result;
}

std::optional<std::string> tmaRefusal(const Graph &graph, const Group &group, OpId dot) {
  for (size_t number : {0, 1})
    if (TmaOperand operand = tmaOperand(graph, group, dot, number); !operand.whyNot.empty())
      return operand.whyNot;
  return std::nullopt;
}

} // namespace tilewright
