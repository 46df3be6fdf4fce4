// Ops with windows: convolution, reduce-window, select-and-scatter.
#include "analysis/ir/infer_shape.h"
#include "analysis/ir/verifier_internal.h"

namespace tilewright {

bool OpCheck::windows(bool &handled) {
  switch (op.opcode) {
  case Opcode::Convolution:
    return convolution();
  case Opcode::ReduceWindow:
    return reduceWindow();
  case Opcode::SelectAndScatter:
    return selectAndScatter();
  default:
    handled = false;
    return true;
  }
}

bool OpCheck::windowMakesSense() {
  for (size_t i = 0; i < op.attrs.window.size(); ++i) {
    const WindowDim &dim = op.attrs.window[i];
    for (auto [what, value] : {std::pair("size", dim.size),
                               {"stride", dim.stride},
                               {"lhs_dilate", dim.baseDilation},
                               {"rhs_dilate", dim.windowDilation}})
      if (value < 1)
        return failIn("window", "the window's {} {} in dim {} must be at least 1", what, value, i);
  }
  return true;
}

bool OpCheck::convolution() {
  if (!operandCount(2) || !areTensors(0, 2) || !windowMakesSense())
    return false;
  const Shape &input = operand(0), &kernel = operand(1);
  const ConvDims &dims = op.attrs.conv;
  size_t spatial = dims.inputSpatial.size();
  if (input.rank() != spatial + 2 || kernel.rank() != spatial + 2)
    return failIn("dim_labels", "dim_labels name {} dims, {} and {} have {} and {}", spatial + 2,
                  name(0), name(1), input.rank(), kernel.rank());
  if (dims.kernelSpatial.size() != spatial || dims.outputSpatial.size() != spatial)
    return failIn("dim_labels", "the three dim labels differ in length");
  if (!dimsInRange("dim_labels", dimsOf(dims.inputBatch, dims.inputFeature, dims.inputSpatial),
                   spatial + 2) ||
      !dimsInRange("dim_labels", dimsOf(dims.kernelInput, dims.kernelOutput, dims.kernelSpatial),
                   spatial + 2) ||
      !dimsInRange("dim_labels", dimsOf(dims.outputBatch, dims.outputFeature, dims.outputSpatial),
                   spatial + 2))
    return false;
  if (op.attrs.window.size() != spatial)
    return failIn("window", "needs a window of {} dims, {} given", spatial, op.attrs.window.size());

  auto extent = [](const Shape &shape, int64_t dim) {
    return shape.dims[static_cast<size_t>(dim)];
  };
  int64_t groups = op.attrs.featureGroupCount, batchGroups = op.attrs.batchGroupCount;
  int64_t inFeatures = extent(input, dims.inputFeature), batch = extent(input, dims.inputBatch);
  int64_t outFeatures = extent(kernel, dims.kernelOutput);
  if (groups < 1 || inFeatures % groups != 0 || outFeatures % groups != 0)
    return failIn("feature_group_count",
                  "{} feature groups do not divide {} input and {} output "
                  "features",
                  groups, inFeatures, outFeatures);
  if (batchGroups < 1 || batch % batchGroups != 0 || outFeatures % batchGroups != 0)
    return failIn("batch_group_count",
                  "{} batch groups do not divide the batch of {} and {} output "
                  "features",
                  batchGroups, batch, outFeatures);
  if (extent(kernel, dims.kernelInput) != inFeatures / groups)
    return fail("{} has {} input features, {} features in {} groups need {}", name(1),
                extent(kernel, dims.kernelInput), inFeatures, groups, inFeatures / groups);
  std::vector<int64_t> expected(spatial + 2);
  expected[static_cast<size_t>(dims.outputBatch)] = batch / batchGroups;
  expected[static_cast<size_t>(dims.outputFeature)] = outFeatures;
  for (size_t i = 0; i < spatial; ++i) {
    if (int64_t size = extent(kernel, dims.kernelSpatial[i]); size != op.attrs.window[i].size)
      return failIn("window", "the window's size {} in dim {} is not {}'s, which is {}",
                    op.attrs.window[i].size, i, name(1), size);
    std::optional<int64_t> out =
        windowPositions(op.attrs.window[i], extent(input, dims.inputSpatial[i]));
    if (!out)
      return failIn("window", "the window's dim {} does not fit in 64 bits", i);
    expected[static_cast<size_t>(dims.outputSpatial[i])] = *out;
  }
  return resultDims(expected);
}

std::vector<int64_t> OpCheck::dimsOf(int64_t a, int64_t b, const std::vector<int64_t> &spatial) {
  std::vector<int64_t> all = spatial;
  all.push_back(a);
  all.push_back(b);
  return all;
}

bool OpCheck::positionsOfWindow(std::vector<int64_t> &out) {
  const Shape &input = operand(0);
  if (op.attrs.window.size() != input.rank())
    return failIn("window", "needs a window of {} dims as {} has, {} given", input.rank(), name(0),
                  op.attrs.window.size());
  if (!windowMakesSense())
    return false;
  for (size_t i = 0; i < input.rank(); ++i) {
    std::optional<int64_t> positions = windowPositions(op.attrs.window[i], input.dims[i]);
    if (!positions)
      return failIn("window", "the window's dim {} does not fit in 64 bits", i);
    out.push_back(*positions);
  }
  return true;
}

bool OpCheck::reduceWindow() {
  if (!inputsWithInitialValues())
    return false;
  size_t count = operands() / 2;
  std::vector<int64_t> expected;
  if (!positionsOfWindow(expected))
    return false;
  GraphId body = callee(CallRole::ToApply, "to_apply");
  return body.isValid() && combines(body, "to_apply", operandTypes(count)) &&
         resultsLikeInputs(count, expected);
}

bool OpCheck::selectAndScatter() {
  // operand, source, initial value
  if (!operandCount(3) || !areTensors(0, 3) || !isScalar(2))
    return false;
  std::vector<int64_t> positions;
  if (!positionsOfWindow(positions))
    return false;
  if (operand(1).dims != positions)
    return fail("{} must have the window's positions, {}", name(1),
                briefText(Shape::tensor(operand(1).dtype, positions)));
  GraphId select = callee(CallRole::Select, "select");
  if (!select.isValid())
    return false;
  GraphId scatter = callee(CallRole::Scatter, "scatter");
  const DType type = operand(0).dtype;
  for (size_t i = 1; i < 3; ++i)
    if (!typesAgree(operand(i).dtype, type))
      return fail("{} and {} differ in element type", name(0), name(i));
  return scatter.isValid() && takesScalars(select, "select", {type, type}) &&
         resultsIn(select, "select", Shape::tensor(DType::Pred, {})) &&
         combines(scatter, "scatter", {type}) && resultDims(operand(0).dims) && resultTypeLike(0);
}

} // namespace tilewright
