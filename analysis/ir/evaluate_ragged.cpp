// ragged-dot: a dot by groups whose sizes are an operand.
#include "analysis/ir/contraction_dims.h"
#include "analysis/ir/evaluator_impl.h"
#include "analysis/ir/numeric.h"
#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright::eval {

namespace {

using Mode = RaggedDims::Mode;

/// Where the result's dims and the contracted ones lie in the operands.
struct Layout {
  RaggedDims ragged;
  std::vector<int64_t> resultDims, contracted; ///< extents
  /// Strides of an operand by result dim and by contracted dim; 0 where it has no such dim.
  std::vector<int64_t> lhsOfResult, rhsOfResult, lhsOfContracted, rhsOfContracted;
  /// Strides of the group sizes by result dim: of the batch dims, where each has its own.
  std::vector<int64_t> sizesOfResult;
  size_t raggedResult = 0; ///< Free: the result dim; Contracting: the contracted dim
  int64_t groups = 1, rows = 0, groupStride = 0;
};

llvm::Expected<Layout> layoutOf(const OpRun &run) {
  std::optional<RaggedDims> ragged = raggedDims(run.op);
  if (!ragged || run.operands.size() != 3 || run.op.shape.isTuple)
    return run.error(DiagClass::BadInput, "its ragged and group dims don't fit");
  for (const Value &operand : run.operands)
    if (operand.size() != 1)
      return run.error(DiagClass::BadInput, "an operand is a tuple");
  const Shape &lhs = run.operandShape(0), &rhs = run.operandShape(1), &sizes = run.operandShape(2);
  const DotDims &dims = run.op.attrs.dot;
  auto joined = [](std::vector<int64_t> a, const std::vector<int64_t> &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  std::vector<int64_t> rhsNamed = joined(dims.rhsBatch, dims.rhsContracting);
  if (ragged->mode == Mode::Free)
    rhsNamed.push_back(ragged->group);
  if (!areDistinctDims(joined(dims.lhsBatch, dims.lhsContracting), lhs.rank()) ||
      !areDistinctDims(rhsNamed, rhs.rank()) || dims.lhsBatch.size() != dims.rhsBatch.size() ||
      dims.lhsContracting.size() != dims.rhsContracting.size() ||
      ragged->ragged >= static_cast<int64_t>(lhs.rank()) || sizes.rank() == 0 ||
      !isInteger(sizes.dtype))
    return run.error(DiagClass::BadInput, "{}, {} and {} don't fit its dims", lhs.str(false),
                     rhs.str(false), sizes.str(false));
  Layout layout;
  layout.ragged = *ragged;
  layout.groups = sizes.dims.back();
  layout.rows = lhs.dims[ragged->ragged];
  std::vector<int64_t> lhsStrides = stridesOf(lhs), rhsStrides = stridesOf(rhs);
  std::vector<int64_t> sizeStrides = stridesOf(sizes);
  bool isShared = sizes.rank() == 1; // else of each batch
  auto addResult = [&](int64_t extent, int64_t left, int64_t right, int64_t size) {
    layout.resultDims.push_back(extent);
    layout.lhsOfResult.push_back(left);
    layout.rhsOfResult.push_back(right);
    layout.sizesOfResult.push_back(size);
  };
  if (ragged->mode == Mode::Contracting)
    addResult(layout.groups, 0, 0, 0);
  bool fits = isShared || ragged->mode == Mode::Batch || sizes.rank() == dims.lhsBatch.size() + 1;
  for (size_t i = 0; i < dims.lhsBatch.size(); ++i) {
    int64_t extent = lhs.dims[dims.lhsBatch[i]];
    fits = fits && extent == rhs.dims[dims.rhsBatch[i]];
    bool ownSizes = !isShared && ragged->mode != Mode::Batch;
    fits = fits && (!ownSizes || sizes.dims[i] == extent);
    addResult(extent, lhsStrides[dims.lhsBatch[i]], rhsStrides[dims.rhsBatch[i]],
              ownSizes && fits ? sizeStrides[i] : 0);
  }
  for (int64_t d = 0; d < static_cast<int64_t>(lhs.rank()); ++d)
    if (!contains(dims.lhsBatch, d) && !contains(dims.lhsContracting, d)) {
      if (d == ragged->ragged)
        layout.raggedResult = layout.resultDims.size();
      // Groups of several ragged prefixes would each have sizes of their own.
      fits = fits && (isShared || ragged->mode != Mode::Free || d >= ragged->ragged);
      addResult(lhs.dims[d], lhsStrides[d], 0, 0);
    }
  for (int64_t d = 0; d < static_cast<int64_t>(rhs.rank()); ++d)
    if (!contains(rhsNamed, d))
      addResult(rhs.dims[d], 0, rhsStrides[d], 0);
  for (size_t i = 0; i < dims.lhsContracting.size(); ++i) {
    int64_t d = dims.lhsContracting[i], extent = lhs.dims[d];
    fits = fits && extent == rhs.dims[dims.rhsContracting[i]];
    if (d == ragged->ragged)
      layout.raggedResult = i;
    layout.contracted.push_back(extent);
    layout.lhsOfContracted.push_back(lhsStrides[d]);
    layout.rhsOfContracted.push_back(rhsStrides[dims.rhsContracting[i]]);
  }
  if (ragged->mode == Mode::Free) {
    fits = fits && rhs.dims[ragged->group] == layout.groups;
    layout.groupStride = rhsStrides[ragged->group];
  }
  if (!fits || layout.resultDims != run.op.shape.dims)
    return run.error(DiagClass::BadInput, "{}, {} and group sizes {} don't give {}", lhs.str(false),
                     rhs.str(false), sizes.str(false), run.op.shape.str(false));
  return layout;
}

/// Makes the result's elements one by one.
class RaggedDot {
public:
  RaggedDot(const OpRun &run, const Layout &layout) : run(run), layout(layout) {}

  void element(int64_t out, const std::vector<int64_t> &at, Tensor &result) {
    int64_t lhs = dot(at, layout.lhsOfResult), rhs = dot(at, layout.rhsOfResult);
    int64_t sizes = dot(at, layout.sizesOfResult);
    std::vector<int64_t> extents = layout.contracted;
    bool isEmpty = false;
    if (layout.ragged.mode == Mode::Free) {
      std::optional<int64_t> group = groupOf(out, sizes, at[layout.raggedResult]);
      isEmpty = !group;
      rhs += group.value_or(0) * layout.groupStride;
    } else if (layout.ragged.mode == Mode::Contracting) {
      auto [first, last] = rangeOf(out, sizes, at[0]);
      extents[layout.raggedResult] = last - first;
      lhs += first * layout.lhsOfContracted[layout.raggedResult];
      rhs += first * layout.rhsOfContracted[layout.raggedResult];
    }
    bool isFloating = isFloat(result.dtype());
    double sum = 0;
    uint64_t wrapped = 0;
    if (!isEmpty)
      walkBox<2>(extents, {lhs, rhs}, {layout.lhsOfContracted, layout.rhsOfContracted},
                 [&](const std::array<int64_t, 2> &k) {
                   if (isFloating)
                     sum += run.operand(0).asDouble(k[0]) * run.operand(1).asDouble(k[1]);
                   else
                     wrapped += static_cast<uint64_t>(run.operand(0).integer(k[0])) *
                                static_cast<uint64_t>(run.operand(1).integer(k[1]));
                   if (run.isRecording()) {
                     run.read(out, 0, k[0]);
                     run.read(out, 1, k[1]);
                   }
                 });
    store(result, out, isFloating ? Scalar::of(sum) : Scalar::of(static_cast<int64_t>(wrapped)));
  }

private:
  static int64_t dot(const std::vector<int64_t> &at, const std::vector<int64_t> &strides) {
    int64_t sum = 0;
    for (size_t i = 0; i < at.size(); ++i)
      sum += at[i] * strides[i];
    return sum;
  }
  /// Rows left over take no group; sizes below 0 count as 0.
  int64_t size(int64_t out, int64_t base, int64_t group, int64_t before) const {
    if (run.isRecording())
      run.read(out, 2, base + group);
    return std::clamp<int64_t>(run.operand(2).integer(base + group), 0, layout.rows - before);
  }
  std::optional<int64_t> groupOf(int64_t out, int64_t base, int64_t row) const {
    std::optional<int64_t> found;
    for (int64_t g = 0, before = 0; g < layout.groups; ++g) {
      before += size(out, base, g, before);
      if (!found && row < before)
        found = g;
    }
    return found;
  }
  std::pair<int64_t, int64_t> rangeOf(int64_t out, int64_t base, int64_t group) const {
    int64_t first = 0;
    for (int64_t g = 0; g < group; ++g)
      first += size(out, base, g, first);
    return {first, first + size(out, base, group, first)};
  }

  const OpRun &run;
  const Layout &layout;
};

} // namespace

llvm::Expected<Value> evaluateRaggedDot(OpRun &run) {
  llvm::Expected<Layout> layout = layoutOf(run);
  if (!layout)
    return layout.takeError();
  for (size_t k = 0; k < 2; ++k) {
    DType type = run.operandShape(k).dtype;
    if (isFloat(run.op.shape.dtype) ? !isFloat(type) && !isInteger(type) : !isInteger(type))
      return run.error(DiagClass::Unsupported, "{} to {} is not evaluated", toString(type),
                       toString(run.op.shape.dtype));
  }
  if (!isFloat(run.op.shape.dtype) && !isInteger(run.op.shape.dtype))
    return run.error(DiagClass::Unsupported, "to {} is not evaluated",
                     toString(run.op.shape.dtype));
  llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(run.op.shape);
  if (!result)
    return result.takeError();
  Tensor &out = **result;
  std::optional<int64_t> each = layout->groups;
  int64_t products = 1;
  for (int64_t extent : layout->contracted)
    products = checkedMul(products, extent).value_or(INT64_MAX);
  each = checkedAdd(*each, std::max<int64_t>(products, 1));
  if (llvm::Error error = run.charge(out.size(), each.value_or(INT64_MAX)))
    return error;
  RaggedDot dot(run, *layout);
  std::vector<int64_t> at(layout->resultDims.size());
  for (int64_t i = 0; i < out.size(); ++i, advance(at, layout->resultDims))
    dot.element(i, at, out);
  finish(run.context, out);
  return Value{*result};
}

} // namespace tilewright::eval
