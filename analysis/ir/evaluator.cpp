#include "analysis/ir/evaluator.h"

#include "analysis/ir/annotation.h"
#include "analysis/ir/evaluator_impl.h"
#include "analysis/ir/run_time_extents.h"
#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright {

namespace eval {

namespace {
constexpr unsigned maxCallDepth = 100;

bool isGenericElementwise(Opcode opcode) {
  return opClass(opcode) == OpClass::Elementwise && opcode != Opcode::Map &&
         opcode != Opcode::BitcastConvert && opcode != Opcode::CopyDone;
}

llvm::Expected<Value> dispatch(OpRun &run) {
  switch (run.op.opcode) {
  case Opcode::Map:
    return evaluateMap(run);
  case Opcode::Broadcast:
  case Opcode::Transpose:
  case Opcode::Reshape:
  case Opcode::Bitcast:
  case Opcode::BitcastConvert:
  case Opcode::Slice:
  case Opcode::Reverse:
  case Opcode::Concatenate:
  case Opcode::Pad:
    return evaluateMovement(run);
  case Opcode::DynamicSlice:
    return evaluateDynamicSlice(run);
  case Opcode::DynamicUpdateSlice:
    return evaluateDynamicUpdateSlice(run);
  case Opcode::Gather:
    return evaluateGather(run);
  case Opcode::Scatter:
    return evaluateScatter(run);
  case Opcode::Reduce:
    return evaluateReduce(run);
  case Opcode::ReduceWindow:
    return evaluateReduceWindow(run);
  case Opcode::SelectAndScatter:
    return evaluateSelectAndScatter(run);
  case Opcode::Scan:
    return evaluateScan(run);
  case Opcode::Sort:
    return evaluateSort(run);
  case Opcode::TopK:
    return evaluateTopK(run);
  case Opcode::Dot:
  case Opcode::ScaledDot:
    return evaluateDot(run);
  case Opcode::RaggedDot:
    return evaluateRaggedDot(run);
  case Opcode::Convolution:
    return evaluateConvolution(run);
  case Opcode::Fft:
    return evaluateFft(run);
  case Opcode::Cholesky:
    return evaluateCholesky(run);
  case Opcode::TriangularSolve:
    return evaluateTriangularSolve(run);
  case Opcode::RngBitGenerator:
    return evaluateRngBitGenerator(run);
  case Opcode::Constant:
  case Opcode::Iota:
  case Opcode::GetDimensionSize:
    return evaluateLeaf(run);
  case Opcode::CustomCall:
    if (isAnnotation(run.graph, run.op))
      return Value{std::make_shared<Tensor>(run.operand(0).withShape(run.op.shape))};
    return run.error(DiagClass::Unsupported, "custom call to \"{}\" is not evaluated",
                     run.op.attrs.customCallTarget);
  case Opcode::Call:
  case Opcode::Fusion:
  case Opcode::While:
  case Opcode::Conditional:
  case Opcode::AsyncStart:
  case Opcode::AsyncUpdate:
  case Opcode::AsyncDone:
  case Opcode::CopyStart:
  case Opcode::CopyDone:
  case Opcode::Tuple:
  case Opcode::GetTupleElement:
  case Opcode::AddDependency:
  case Opcode::AfterAll:
  case Opcode::OptimizationBarrier:
    return evaluateControl(run);
  default:
    if (isGenericElementwise(run.op.opcode))
      return evaluateElementwise(run);
    return run.error(DiagClass::Unsupported, "ops of this kind are not evaluated");
  }
}
} // namespace

void collectLeaves(const Shape &shape, std::vector<const Shape *> &leaves) {
  if (!shape.isTuple)
    leaves.push_back(&shape);
  for (const Shape &element : shape.elements)
    collectLeaves(element, leaves);
}

std::vector<const Shape *> leavesOf(const Shape &shape) {
  std::vector<const Shape *> leaves;
  collectLeaves(shape, leaves);
  return leaves;
}

void finish(const Context &context, Tensor &tensor) {
  DTypeClass cls = dtypeClass(tensor.dtype());
  bool isFloating = cls == DTypeClass::Float || cls == DTypeClass::Complex;
  if (isFloating && context.rounding() == Rounding::None)
    return;
  for (int64_t i = 0; i < tensor.size(); ++i)
    store(tensor, i, roundScalar(tensor.dtype(), load(tensor, i)));
}

bool areDistinctDims(const std::vector<int64_t> &list, size_t rank) {
  std::vector<bool> seen(rank);
  for (int64_t dim : list) {
    if (dim < 0 || dim >= static_cast<int64_t>(rank) || seen[dim])
      return false;
    seen[dim] = true;
  }
  return true;
}

bool advance(std::vector<int64_t> &index, const std::vector<int64_t> &dims) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d])
      return true;
    index[d] = 0;
  }
  return false;
}

llvm::Error Context::charge(uint64_t work) {
  if (work > workLeft)
    return makeError(DiagClass::BudgetSpent,
                     "evaluation takes over {} element operations; allow more or use a smaller "
                     "shape",
                     options.maxWork);
  workLeft -= work;
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<Tensor>> Context::allocate(const Shape &shape) {
  std::optional<int64_t> count = shape.isTuple ? std::optional<int64_t>() : shape.elementCount();
  if (!count || !rowMajorStrides(shape.dims))
    return makeError(DiagClass::BadInput, "no tensor can have the shape {}", shape.str(false));
  uint64_t elements = static_cast<uint64_t>(*count) + 1; // empty tensors take memory too
  if (elements > options.maxLiveElements || *liveElements > options.maxLiveElements - elements)
    return makeError(DiagClass::BudgetSpent,
                     "evaluation holds {} elements and needs {} more for {}, over the {} allowed",
                     *liveElements, *count, shape.str(false), options.maxLiveElements);
  *liveElements += elements;
  auto release = [live = liveElements, elements](Tensor *tensor) {
    *live -= elements;
    delete tensor;
  };
  return std::shared_ptr<Tensor>(new Tensor(shape), release);
}

Context::GraphInfo &Context::info(GraphId id) {
  auto [it, isNew] = infos.try_emplace(id.index);
  GraphInfo &result = it->second;
  if (!isNew)
    return result;
  const Graph &graph = module.graph(id);
  result.uses.assign(graph.size(), 0);
  result.uses[graph.root().index] = 1;
  for (size_t i = graph.size(); i-- > 0;)
    if (result.uses[i] > 0)
      for (OpId operand : graph.all()[i].operands)
        ++result.uses[operand.index];
  for (uint32_t i = 0; i < graph.size() && result.refusal.empty(); ++i)
    if (result.uses[i] > 0)
      if (std::optional<std::string> refusal = runTimeExtentRefusal(graph, graph.all()[i])) {
        result.refusal = std::move(*refusal);
        result.refused = OpId{i};
      }
  return result;
}

llvm::Expected<ScalarProgram *> Context::scalarProgram(GraphId graph, Rounding rounding) {
  std::unique_ptr<ScalarProgram> &program = programs[{graph.index, rounding}];
  if (!program) {
    llvm::Expected<ScalarProgram> compiled = ScalarProgram::compile(module, graph, rounding);
    if (!compiled)
      return compiled.takeError();
    program = std::make_unique<ScalarProgram>(std::move(*compiled));
  }
  return program.get();
}

llvm::Expected<Value> Context::runGraph(GraphId id, std::span<const Value> arguments) {
  if (!id.isValid() || id.index >= module.all().size() || module.graph(id).size() == 0 ||
      !module.graph(id).root().isValid())
    return makeError(DiagClass::BadInput, "the called computation isn't there or has no root");
  if (depth >= maxCallDepth)
    return makeError(DiagClass::Unsupported, "computations call each other over {} deep",
                     maxCallDepth);
  ++depth;
  const Graph &graph = module.graph(id);
  GraphInfo &graphInfo = info(id);
  if (!graphInfo.refusal.empty()) {
    const Op &op = graph.op(graphInfo.refused);
    return makeError(module.diagAt(
        op.loc, fmt::format("{} %{}: {}", toString(op.opcode), op.name, graphInfo.refusal),
        DiagClass::Unsupported));
  }
  uint64_t runNumber = graphInfo.runs++;
  std::vector<uint32_t> uses = graphInfo.uses;
  std::vector<Value> values(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (uses[i] == 0)
      continue;
    const Op &op = graph.all()[i];
    OpRun run{*this, graph, op, {id, OpId{i}, runNumber}, {}};
    if (llvm::Error error = charge(1))
      return error;
    if (op.opcode == Opcode::Parameter) {
      size_t number = static_cast<size_t>(op.attrs.parameterNumber);
      if (number >= arguments.size())
        return run.error(DiagClass::BadInput, "only {} arguments are given", arguments.size());
      values[i] = arguments[number];
    } else {
      for (OpId operand : op.operands) {
        run.operands.push_back(values[operand.index]);
        if (--uses[operand.index] == 0)
          values[operand.index] = {};
      }
      llvm::Expected<Value> value = dispatch(run);
      if (!value)
        return value.takeError();
      values[i] = std::move(*value);
    }
    std::vector<const Shape *> leaves = leavesOf(op.shape);
    bool fits = leaves.size() == values[i].size();
    for (size_t k = 0; fits && k < leaves.size(); ++k)
      fits = values[i][k]->shape().sameDimsAndType(*leaves[k]);
    if (!fits)
      return run.error(DiagClass::BadInput, "its value doesn't have the shape {}",
                       op.shape.str(false));
    if (options.onResult) {
      std::vector<const Tensor *> tensors;
      for (const Leaf &leaf : values[i])
        tensors.push_back(leaf.get());
      options.onResult(run.instance, tensors);
    }
  }
  --depth;
  return std::move(values[graph.root().index]);
}

llvm::Error OpRun::charge(int64_t count, int64_t each) const {
  std::optional<int64_t> work = checkedMul(count, each);
  if (work && isRecording())
    work = checkedMul(*work, 4); // a call for each read costs more than the arithmetic
  return context.charge(work ? static_cast<uint64_t>(*work) : UINT64_MAX);
}

llvm::Expected<GraphId> OpRun::called(CallRole role, size_t number) const {
  for (const CalledGraph &callee : op.called)
    if (callee.role == role && number-- == 0)
      return callee.graph;
  return error(DiagClass::BadInput, "the computation it needs isn't given");
}

std::string_view OpRun::rawAttribute(std::string_view name) const {
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == name)
      return attribute.text;
  return {};
}

} // namespace eval

llvm::Expected<std::vector<Tensor>> evaluate(const Module &module, GraphId id,
                                             std::span<const Tensor> arguments,
                                             const EvalOptions &options) {
  eval::Context context(module, options);
  const Graph &graph = module.graph(id);
  std::vector<eval::Value> values;
  size_t next = 0;
  for (OpId parameter : graph.parameters()) {
    eval::Value &value = values.emplace_back();
    for (const Shape *leaf : eval::leavesOf(graph.op(parameter).shape)) {
      if (next >= arguments.size())
        return makeError(DiagClass::BadInput, "{} arguments given, {} needs more", arguments.size(),
                         graph.name());
      const Tensor &argument = arguments[next++];
      if (!argument.shape().sameDimsAndType(*leaf))
        return makeError(DiagClass::BadInput, "argument {} is {}, %{} takes {}", next - 1,
                         argument.shape().str(false), graph.op(parameter).name, leaf->str(false));
      if (!rowMajorStrides(leaf->dims))
        return makeError(DiagClass::BadInput, "argument {}: no tensor can have the shape {}",
                         next - 1, leaf->str(false));
      // The caller keeps it alive, and bitcasts see the parameter's layout.
      if (argument.shape().layout == leaf->layout)
        value.emplace_back(std::shared_ptr<const Tensor>(), &argument);
      else
        value.push_back(std::make_shared<Tensor>(argument.withShape(*leaf)));
    }
  }
  if (next != arguments.size())
    return makeError(DiagClass::BadInput, "{} arguments given, {} takes {}", arguments.size(),
                     graph.name(), next);
  llvm::Expected<eval::Value> root = context.runGraph(id, values);
  if (!root)
    return root.takeError();
  std::vector<Tensor> results;
  for (const eval::Leaf &leaf : *root)
    results.push_back(*leaf);
  return results;
}

} // namespace tilewright
