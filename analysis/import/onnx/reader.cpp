#include "analysis/import/onnx/reader.h"

#include "analysis/import/computations.h"
#include "analysis/import/hlo_lexer.h"
#include "analysis/import/onnx/proto.h"
#include "analysis/import/onnx/tidy.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/quotes.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

namespace {

/// Opsets whose ops are known here. A newer one may have changed what an op means.
constexpr int64_t newestOpset = 24;
constexpr int64_t mostKnown = 4096; ///< elements of a value that is computed on import
constexpr int64_t mostWorked = 1 << 16;
constexpr unsigned mostDepth = 64;
constexpr uint64_t mostNodes = 1u << 20;

std::string domainOf(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }

bool isFew(const Shape &shape) {
  const std::optional<int64_t> count = shape.elementCount();
  return count && *count <= mostKnown;
}

/// Weights of one element, and lists of integers as shapes are, are constants.
bool isConstantWeight(const Shape &shape) {
  constexpr int64_t mostIntegers = 1024;
  const int64_t count = shape.elementCount().value_or(mostExtent);
  const bool isList = (shape.dtype == DType::S64 || shape.dtype == DType::S32) && shape.rank() <= 1;
  return count <= 1 || (isList && count <= mostIntegers);
}

std::string described(const ::onnx::NodeProto &proto) {
  if (!proto.name().empty())
    return fmt::format("node '{}' ({})", excerpt(proto.name()), excerpt(proto.op_type()));
  for (const std::string &output : proto.output())
    if (!output.empty())
      return fmt::format("the node of '{}' ({})", excerpt(output), excerpt(proto.op_type()));
  return fmt::format("a node without a name ({})", excerpt(proto.op_type()));
}

} // namespace

Reader::Reader(const SourceBuffer &source, const ::onnx::ModelProto &model,
               const std::map<std::string, Tensor> &given,
               const std::map<std::string, int64_t> &sizes)
    : folder(std::filesystem::path(source.name()).parent_path().string()), source(source),
      model(model), given(given), sizes(sizes), computations(module) {}

bool Reader::fail(std::string message, DiagClass cls) {
  if (!error)
    error = diagAt(source, {}, nodeText.empty() ? message : nodeText + ": " + message, cls);
  return false;
}

bool Reader::fail(llvm::Error inner) {
  Diag diag = takeDiag(std::move(inner));
  return fail(diag.message, diag.cls);
}

llvm::Expected<Module> Reader::run() {
  for (const auto &import : model.opset_import())
    opsets[domainOf(import.domain())] = import.version();
  if (opsets.empty() && model.ir_version() >= 3)
    fail("the model does not say which opset it is of");
  for (const auto &function : model.functions()) // overloads are told apart by later versions only
    if (!functions.emplace(std::pair(domainOf(function.domain()), function.name()), &function)
             .second)
      fail(fmt::format("there are several functions '{}'", excerpt(function.name())),
           DiagClass::Unsupported);
  module.name = hloName(model.graph().name().empty() ? "model" : model.graph().name());
  Scope scope(computations.freshName("main"), nullptr, RegionKind::Function, nullptr, totals);
  entry = &scope;
  Env env;
  env.scope = &scope;
  env.opsets = &opsets;
  const int64_t version = opsets.count("") ? opsets[""] : 1;
  if (version < 1)
    fail(fmt::format("opset {} is none", version));
  else if (version > newestOpset)
    fail(fmt::format("opset {} is not known, the newest that is read is {}", version, newestOpset),
         DiagClass::Unsupported);
  if (hasFailed() || !bindInitializers(model.graph(), env) || !readInputs(env) ||
      !readNodes(model.graph(), env) || !makeResult(env))
    return makeError(std::move(*error));
  module.entryId = module.add(std::move(scope.graph));
  std::map<OpId, const ::onnx::TensorProto *> byParameter;
  for (const auto &[tensor, parameter] : parameters)
    byParameter[parameter] = tensor;
  weights = tidy(module, byParameter);
  setAttributeTexts(module);
  dropUnreached(module);
  return std::move(module);
}

bool Reader::bindInitializers(const ::onnx::GraphProto &graph, Env &env) {
  if (graph.sparse_initializer_size() > 0)
    return fail("sparse weights are not read", DiagClass::Unsupported);
  for (const ::onnx::TensorProto &tensor : graph.initializer()) {
    llvm::Expected<Shape> shape = shapeOfTensor(tensor);
    if (!shape)
      return fail(shape.takeError());
    if (llvm::Error missing = checkExternal(tensor, folder))
      return fail(std::move(missing));
    Value value;
    value.shape = *shape;
    value.weight = &tensor;
    value.isConstant = isConstantWeight(*shape);
    if (value.isConstant && !knownOf(value))
      return false;
    if (!env.values.emplace(tensor.name(), std::move(value)).second)
      return fail(fmt::format("there are two weights '{}'", excerpt(tensor.name())));
  }
  return true;
}

Value *Reader::find(Env &env, const std::string &name) {
  if (auto it = env.values.find(name); it != env.values.end())
    return &it->second;
  Value *outer = env.outer ? find(*env.outer, name) : nullptr;
  if (!outer || env.scope == env.outer->scope)
    return outer;
  Value copy = *outer;
  copy.op = {};
  if (outer->list || outer->isAbsent) {
    fail(fmt::format("sequence '{}' is used inside of a loop", excerpt(name)),
         DiagClass::Unsupported);
    return nullptr;
  }
  if (!outer->isConstant) {
    const OpId op = materialise(*env.outer, *outer, name);
    if (op.isValid())
      copy.op = env.scope->capture(op, {}).op;
    copy.weight = nullptr;
  }
  return &env.values.emplace(name, std::move(copy)).first->second;
}

const Tensor *Reader::knownOf(Value &value) {
  if (!value.known && value.weight && isFew(value.shape)) {
    llvm::Expected<Tensor> tensor = readTensor(*value.weight, folder);
    if (!tensor) {
      fail(tensor.takeError());
      return nullptr;
    }
    value.known = std::make_shared<const Tensor>(std::move(*tensor));
  }
  return value.known.get();
}

OpId Reader::constantOf(Env &env, const Tensor &tensor, const std::string &name) {
  OpBuilder builder(*env.scope, env.prefix + (name.empty() ? "constant" : name), {});
  const int64_t count = tensor.size();
  bool isUniform = count > 1;
  for (int64_t i = 1; isUniform && i < count; ++i)
    isUniform = elementText(tensor, i) == elementText(tensor, 0);
  if (isUniform)
    return builder.splat(tensor.shape(), elementText(tensor, 0));
  Op op;
  op.opcode = Opcode::Constant;
  op.shape = Shape::tensor(tensor.dtype(), tensor.shape().dims);
  op.literal = literalText(tensor);
  return env.scope->add(std::move(op), builder.base);
}

OpId Reader::materialise(Env &env, Value &value, const std::string &name) {
  if (value.op.isValid())
    return value.op;
  if (value.isConstant && value.known)
    return value.op = constantOf(env, *value.known, name);
  if (!value.weight) {
    fail(fmt::format("'{}' has no value", excerpt(name)));
    return value.op = constantOf(env, Tensor(value.shape), name);
  }
  auto [parameter, isNew] = parameters.emplace(value.weight, OpId{});
  if (isNew) {
    Op op;
    op.opcode = Opcode::Parameter;
    op.shape = value.shape;
    op.attrs.parameterNumber = static_cast<int64_t>(inputCount + parameters.size() - 1);
    parameter->second = entry->add(std::move(op), name);
  }
  // From the entry down to where it is used.
  std::vector<Scope *> path;
  for (Scope *scope = env.scope; scope && scope != entry; scope = scope->outer)
    path.push_back(scope);
  value.op = parameter->second;
  for (auto scope = path.rbegin(); scope != path.rend(); ++scope)
    value.op = (*scope)->capture(value.op, {}).op;
  return value.op;
}

bool Reader::readNodes(const ::onnx::GraphProto &graph, Env &env) {
  if (env.depth > mostDepth)
    return fail(fmt::format("graphs and functions are nested over {} deep", mostDepth));
  for (const ::onnx::NodeProto &proto : graph.node())
    if (!readNode(proto, env))
      return false;
  return true;
}

bool Reader::results(const ::onnx::GraphProto &graph, Env &env, std::vector<Value> &out) {
  for (const ::onnx::ValueInfoProto &output : graph.output()) {
    Value *value = find(env, output.name());
    if (!value)
      return fail(fmt::format("output '{}' is not computed by any node", excerpt(output.name())));
    out.push_back(*value);
  }
  return !hasFailed();
}

bool Reader::readNode(const ::onnx::NodeProto &proto, Env &env) {
  const std::string outer = std::exchange(nodeText, described(proto));
  if (++nodesRead > mostNodes || env.scope->isOverLimit())
    return fail(fmt::format("the model has over {} nodes, functions put in place", mostNodes));
  const std::string domain = domainOf(proto.domain());
  auto version = env.opsets->find(domain);
  const OpRow *row = domain.empty() ? findOnnxOp(proto.op_type()) : nullptr;
  std::string name;
  for (int i = 0; name.empty() && i < proto.output_size(); ++i)
    name = proto.output(i);
  Node node(*this, env, proto, row, version == env.opsets->end() ? 1 : version->second,
            computations, env.prefix + name);
  const std::string origin = env.origin + proto.name();
  if (!origin.empty())
    node.metadata = fmt::format("{{op_name={}}}", inQuotes(origin));
  for (const std::string &input : proto.input()) {
    Value *value = input.empty() ? nullptr : find(env, input);
    if (!value && !input.empty())
      return fail(fmt::format("'{}' is not computed by any node before it", excerpt(input)));
    node.inputs.push_back(value);
  }
  bool isDone = false;
  if (auto it = functions.find({domain, proto.op_type()}); it != functions.end())
    isDone = true, inlineFunction(node, *it->second);
  else if (!computeNow(proto, env, node, isDone))
    return false;
  if (!isDone && !lowerNode(node))
    return false;
  if (hasFailed() || !bindResults(node))
    return false;
  nodeText = outer;
  return true;
}

bool Reader::lowerNode(Node &node) {
  if (!node.row || !node.row->lower) {
    bool isDone = false;
    if (!inlineSchemaFunction(node, isDone) || isDone)
      return !hasFailed();
    const std::string domain = node.proto.domain();
    if (node.row)
      return node.refuse(std::string(node.row->refusal));
    return node.refuse(
        domainOf(domain).empty()
            ? fmt::format("there is no op '{}' in opset {}", excerpt(node.type()), node.opset)
            : fmt::format("ops of the domain '{}' are not lowered", excerpt(domain)));
  }
  const OpRow &row = *node.row;
  size_t given = 0;
  for (size_t i = 0; i < node.inputCount(); ++i)
    given = node.hasInput(i) ? i + 1 : given;
  if (given < row.least || given > row.most)
    return node.fail(row.least == row.most
                         ? fmt::format("{} inputs are needed, {} given", row.least, given)
                         : fmt::format("{} inputs are given, at least {} are needed and at most {}",
                                       given, row.least, row.most));
  for (size_t i = 0; i < row.least; ++i)
    if (!node.hasInput(i))
      return node.fail(fmt::format("input {} is missing", i));
  const size_t before = node.scope.graph.size();
  if (!row.lower(node) || hasFailed())
    return fail("it can't be lowered", DiagClass::Internal);
  for (size_t i = before; i < node.scope.graph.size(); ++i) {
    const Shape &shape = node.scope.graph.op(OpId{static_cast<uint32_t>(i)}).shape;
    const bool isSane =
        shape.isTuple || (shape.elementCount() && shape.rank() <= hlo_limits::rank &&
                          std::all_of(shape.dims.begin(), shape.dims.end(), [](int64_t extent) {
                            return extent >= 0 && extent <= mostExtent;
                          }));
    if (!isSane)
      return fail("it results in too many elements or dims", DiagClass::Unsupported);
  }
  return true;
}

bool Reader::computeNow(const ::onnx::NodeProto &proto, Env &env, Node &node, bool &isDone) {
  if (!node.row || !node.row->lower || proto.op_type() == "Constant")
    return true;
  for (const ::onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.has_g())
      return true;
  for (Value *value : node.inputs)
    if (value && (!value->isConstant || value->list || value->isAbsent || !isFew(value->shape) ||
                  !knownOf(*value)))
      return !hasFailed();
  Module alone;
  Computations called(alone);
  Scope scope("computed", nullptr, RegionKind::Function, nullptr, totals);
  Env inner;
  inner.scope = &scope;
  inner.opsets = env.opsets;
  Node copy(*this, inner, proto, node.row, node.opset, called, node.base);
  std::vector<Value> values;
  for (Value *value : node.inputs) {
    values.push_back(value ? *value : Value());
    values.back().op = {};
  }
  for (size_t i = 0; i < values.size(); ++i)
    copy.inputs.push_back(node.inputs[i] ? &values[i] : nullptr);
  if (!lowerNode(copy))
    return false;
  std::vector<OpId> ops;
  for (Value &value : copy.results) {
    if (value.list || value.isAbsent)
      return true;
    ops.push_back(materialise(inner, value, "value"));
  }
  for (const Op &op : scope.graph.all())
    if (op.shape.isTuple ? op.opcode == Opcode::While : op.shape.elementCount() > mostWorked)
      return true;
  scope.graph.setRoot(scope.tuple(ops, "values", {}));
  alone.entryId = alone.add(std::move(scope.graph));
  EvalOptions options;
  options.maxWork = uint64_t(mostWorked) << 4;
  llvm::Expected<std::vector<Tensor>> tensors = evaluate(alone, alone.entryId, {}, options);
  if (!tensors) {
    llvm::consumeError(tensors.takeError());
    return true;
  }
  for (Tensor &tensor : *tensors)
    if (!isFew(tensor.shape()))
      return true;
  for (Tensor &tensor : *tensors)
    node.finishKnown(std::move(tensor));
  isDone = true;
  return true;
}

bool Reader::bindResults(Node &node) {
  for (size_t i = 0; i < node.outputCount(); ++i) {
    if (!node.wants(i))
      continue;
    const std::string &name = node.proto.output(static_cast<int>(i));
    if (i >= node.results.size())
      return node.refuse(fmt::format("output {} ('{}') is not computed here", i, excerpt(name)));
    Value &value = node.results[i];
    // A result is called as the file does, whatever op it is that computes it.
    if (value.op.isValid()) {
      Op &op = node.scope.graph.op(value.op);
      if (op.opcode != Opcode::Parameter && op.name.starts_with(hloName(node.base)))
        op.rawAttrs.push_back({std::string(resultName), hloName(node.env.prefix + name), {}});
    }
    if (!node.env.values.emplace(name, std::move(value)).second)
      return fail(fmt::format("'{}' is computed twice", excerpt(name)));
  }
  return true;
}

bool Reader::makeResult(Env &env) {
  nodeText.clear();
  std::vector<Value> values;
  if (!results(model.graph(), env, values))
    return false;
  if (values.empty())
    return fail("the graph has no outputs");
  std::vector<OpId> ops;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string &name = model.graph().output(static_cast<int>(i)).name();
    if (values[i].list || values[i].isAbsent)
      return fail(fmt::format("output '{}' is a sequence, not a tensor", excerpt(name)),
                  DiagClass::Unsupported);
    ops.push_back(materialise(env, values[i], name));
  }
  env.scope->graph.setRoot(env.scope->rootOf(ops, {}));
  return !hasFailed();
}

} // namespace tilewright::onnx_format
