// Products whose groups or scales no plan has: priced as dense ones.
#include "analysis/indexing/op_cost.h"
#include "analysis/ir/contraction_dims.h"
#include "analysis/support/checked.h"
#include "tools/explore/assumed.h"
#include "tools/explore/explore.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace tilewright {

namespace {

/// Rows of a tile that grouped products are made in (CUTLASS and Triton: 128 for large ones).
constexpr int64_t tileRows = 128;
/// Share of the tensor peak that large dense products reach (the bundled measurements: 0.6 to 0.8).
constexpr double productShare = 0.7;

/// A dense product, [batch, m, k] by [batch, k, n].
struct DenseProduct {
  DType lhs, rhs, result;
  int64_t batch, m, n, k;
};

Module moduleOf(const DenseProduct &product) {
  Graph graph("dense");
  auto parameter = [&](const char *name, DType type, std::vector<int64_t> dims, int64_t number) {
    Op op;
    op.name = name;
    op.opcode = Opcode::Parameter;
    op.shape = Shape::tensor(type, std::move(dims));
    op.attrs.parameterNumber = number;
    return graph.add(std::move(op));
  };
  Op dot;
  dot.name = "product";
  dot.opcode = Opcode::Dot;
  dot.operands = {parameter("lhs", product.lhs, {product.batch, product.m, product.k}, 0),
                  parameter("rhs", product.rhs, {product.batch, product.k, product.n}, 1)};
  dot.shape = Shape::tensor(product.result, {product.batch, product.m, product.n});
  dot.attrs.dot = {{0}, {0}, {2}, {1}};
  graph.setRoot(graph.add(std::move(dot)));
  Module module;
  module.name = "dense";
  module.entryId = module.add(std::move(graph));
  return module;
}

/// The time of its best plan; nothing where there is none.
std::optional<double> timeOf(const DenseProduct &product, const Pricing &pricing) {
  ExploreOptions options;
  options.search.top = 1;
  options.plans.cache = pricing.cache;
  options.isGreedy = true; // there is nothing to choose
  llvm::Expected<ExploredModel> model =
      exploreModel(moduleOf(product), pricing.device, pricing.calibration, options);
  if (!model) {
    llvm::consumeError(model.takeError());
    return std::nullopt;
  }
  return model->isComplete() && model->totalTimeNs > 0 ? std::optional(model->totalTimeNs)
                                                       : std::nullopt;
}

int64_t productOf(const Shape &shape, const std::vector<int64_t> &dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1), [&](int64_t all, int64_t d) {
    return all * shape.dims[static_cast<size_t>(d)];
  });
}

/// Precondition: the result's elements fit in 64 bits, as those of verified ops do.
DenseProduct denseProduct(const Graph &graph, const Op &op) {
  const Shape &lhs = graph.op(op.operands[0]).shape, &rhs = graph.op(op.operands[1]).shape;
  const DotDims &dims = op.attrs.dot;
  DenseProduct product{lhs.dtype,
                       rhs.dtype,
                       op.shape.dtype,
                       productOf(lhs, dims.lhsBatch),
                       1,
                       1,
                       productOf(lhs, dims.lhsContracting)};
  const auto elements = [](const Shape &shape) {
    return std::max<int64_t>(1, shape.elementCount().value_or(1));
  };
  product.m = elements(lhs) / std::max<int64_t>(1, product.batch * product.k);
  product.n = elements(rhs) / std::max<int64_t>(1, product.batch * product.k);
  return product;
}

} // namespace

std::optional<GroupedRows> groupedRows(const Graph &graph, const Op &op, int64_t tile) {
  const std::optional<RaggedDims> ragged = raggedDims(op);
  const std::vector<int64_t> &sizes = graph.op(op.operands[2]).shape.dims;
  if (!ragged || ragged->mode != RaggedDims::Mode::Free || sizes.empty() || sizes.back() < 1)
    return std::nullopt;
  GroupedRows rows;
  rows.groups = sizes.back();
  rows.given = denseProduct(graph, op).m;
  const int64_t busy = std::min(rows.groups, rows.given);
  rows.expected = rows.given + busy * (tile / 2);
  rows.worst = rows.given + busy * (tile - 1);
  return rows;
}

std::optional<AssumedWork> raggedDotWork(const Module &module, const Graph &graph, OpId id,
                                         const Pricing &pricing) {
  const Op &op = graph.op(id);
  std::optional<AssumedWork> work = onePass(graph, op);
  const std::optional<RaggedDims> ragged = raggedDims(op);
  const OpCost cost = opCost(module, graph, id);
  if (!work || !ragged || !cost.isCounted || cost.flops == 0 ||
      graph.op(op.operands[2]).shape.elementCount().value_or(0) < 1)
    return std::nullopt;
  DenseProduct product = denseProduct(graph, op);
  work->flops = static_cast<double>(cost.flops);
  const std::optional<GroupedRows> rows = groupedRows(graph, op, tileRows);
  if (rows) { // each group's matrix is one of the dense product's
    product.n /= rows->groups;
    product.m = rows->expected;
  }
  const std::optional<double> dense = timeOf(product, pricing);
  if (!dense)
    return std::nullopt;
  work->leastNs = *dense;
  work->text = fmt::format("{} FLOPs, priced as a dense product", cost.flops);
  if (rows)
    work->text += fmt::format(" of {} rows: tiles of {} over {} groups of unknown sizes, {} rows "
                              "given and {} at worst; all groups' matrices are read",
                              rows->expected, tileRows, rows->groups, rows->given, rows->worst);
  return work;
}

namespace {

/// What so many FLOPs of operands of these types take, their scales being read once.
void addScaledProduct(AssumedWork &work, int64_t flops, DType lhs, DType rhs,
                      const Device &device) {
  // The narrowest type that the tensor cores take and that holds both operands.
  const unsigned bits = std::max(bitWidth(lhs), bitWidth(rhs));
  DType type = DType::F4E2M1FN;
  if (bits > 4 || device.tensorFlopsPerClock(type) == 0)
    type = DType::F8E4M3FN;
  if (bits > 8 || device.tensorFlopsPerClock(type) == 0)
    type = DType::BF16;
  work.flops = static_cast<double>(flops);
  work.leastNs = work.flops / (productShare * device.peakFlops(type, true));
  work.sigmaLn = bitWidth(type) == bits ? 0.5 : 0.7; // widened operands are converted, too
  work.text = fmt::format("{} FLOPs at {:.0f} % of the peak of {}{}; its scales are read once",
                          flops, 100 * productShare, toString(type),
                          bitWidth(type) == bits ? "" : ", as its tensor cores take none narrower");
}

} // namespace

std::optional<AssumedWork> scaledDotWork(const Module &module, const Graph &graph, OpId id,
                                         const Device &device) {
  const Op &op = graph.op(id);
  std::optional<AssumedWork> work = onePass(graph, op);
  const OpCost cost = opCost(module, graph, id);
  if (!work || !cost.isCounted || op.operands.size() < 2)
    return std::nullopt;
  addScaledProduct(*work, cost.flops, graph.op(op.operands[0]).shape.dtype,
                   graph.op(op.operands[1]).shape.dtype, device);
  return work;
}

std::optional<AssumedWork> blockScaledCallWork(const Graph &graph, const Op &op,
                                               const Device &device) {
  if (op.attrs.customCallTarget != "__op$block_scaled_dot" || op.operands.size() < 4 ||
      op.shape.isTuple)
    return std::nullopt;
  auto shapeOf = [&](size_t i) -> const Shape & { return graph.op(op.operands[i]).shape; };
  const std::vector<int64_t> &lhs = shapeOf(0).dims, &scales = shapeOf(2).dims;
  const std::optional<int64_t> elements = op.shape.elementCount();
  std::optional<AssumedWork> work = onePass(graph, op);
  if (!work || !elements || lhs.empty() || scales.size() != lhs.size() || scales.back() < 1 ||
      lhs.back() < 1)
    return std::nullopt;
  const std::optional<int64_t> flops = checkedMul(checkedMul(elements, lhs.back()), int64_t(2));
  if (!flops)
    return std::nullopt;
  addScaledProduct(*work, *flops, shapeOf(0).dtype, shapeOf(1).dtype, device);
  // Scales may be padded to whole tiles of their own: 16 or 32 elements share one, whatever the
  // quotient is.
  const int64_t block = lhs.back() / scales.back() >= 24 ? 32 : 16;
  const bool isPadded = scales.back() * block > lhs.back() ||
                        (scales.size() > 1 && scales[scales.size() - 2] > lhs[lhs.size() - 2]);
  work->text += fmt::format("; blocks of {}{}{}", block, isPadded ? ", scales with padding" : "",
                            op.operands.size() > 4 ? ", and a scale of all" : "");
  return work;
}

} // namespace tilewright
