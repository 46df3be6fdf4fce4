#include "analysis/import/onnx/node.h"

#include "analysis/import/hlo_lexer.h"
#include "analysis/import/onnx/reader.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

Node::Node(Reader &reader, Env &env, const ::onnx::NodeProto &proto, const OpRow *row,
           int64_t opset, Computations &computations, std::string base)
    : Builder(*env.scope, computations, std::move(base), SourceLoc{}), reader(reader), env(env),
      proto(proto), row(row), opset(opset) {}

bool Node::fail(std::string message) { return reader.fail(std::move(message)); }
bool Node::refuse(std::string reason) {
  return reader.fail(std::move(reason), DiagClass::Unsupported);
}
bool Node::hasFailed() const { return reader.hasFailed(); }

std::string_view Node::type() const { return proto.op_type(); }

bool Node::isTensor(size_t i) {
  if (!hasInput(i))
    return fail(fmt::format("input {} is missing", i));
  if (inputs[i]->list || inputs[i]->isAbsent)
    return fail(fmt::format("input {} is a sequence, not a tensor", i));
  return true;
}

OpId Node::input(size_t i) {
  return reader.materialise(env, *inputs[i], proto.input(static_cast<int>(i)));
}

const Shape &Node::shape(size_t i) const { return inputs[i]->shape; }

bool Node::isKnown(size_t i) { return hasInput(i) && reader.knownOf(*inputs[i]) != nullptr; }

const Tensor *Node::known(size_t i) {
  if (!isTensor(i))
    return nullptr;
  const Tensor *tensor = reader.knownOf(*inputs[i]);
  if (!tensor)
    refuse(fmt::format("input '{}' decides a shape, but its value is known at run time only; make "
                       "it a constant of the model",
                       excerpt(proto.input(static_cast<int>(i)))));
  return tensor;
}

bool Node::integersOf(size_t i, Dims &out) {
  const Tensor *tensor = known(i);
  if (!tensor)
    return false;
  if (!isInteger(tensor->dtype()))
    return fail(fmt::format("input {} is {}, integers are needed", i, tensor->shape().str(false)));
  for (int64_t k = 0; k < tensor->size(); ++k)
    out.push_back(tensor->integer(k));
  return true;
}

bool Node::integerOf(size_t i, int64_t &out) {
  Dims values;
  if (!integersOf(i, values))
    return false;
  if (values.size() != 1)
    return fail(fmt::format("input {} has {} elements, one is needed", i, values.size()));
  out = values[0];
  return true;
}

bool Node::realsOf(size_t i, std::vector<double> &out) {
  const Tensor *tensor = known(i);
  if (!tensor)
    return false;
  if (dtypeClass(tensor->dtype()) == DTypeClass::Complex)
    return fail(fmt::format("input {} is complex", i));
  for (int64_t k = 0; k < tensor->size(); ++k)
    out.push_back(tensor->asDouble(k));
  return true;
}

size_t Node::outputCount() const { return static_cast<size_t>(proto.output_size()); }

bool Node::wants(size_t output) const {
  return output < outputCount() && !proto.output(static_cast<int>(output)).empty();
}

const ::onnx::AttributeProto *Node::find(std::string_view name) const {
  for (const ::onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

const ::onnx::AttributeProto *Node::find(std::string_view name, int wanted) {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return nullptr;
  // Files of IR version 1 don't say the type.
  const bool isUntyped = attribute->type() == ::onnx::AttributeProto::UNDEFINED;
  if (attribute->type() == wanted || isUntyped)
    return attribute;
  fail(fmt::format("attribute '{}' has the wrong type", name));
  return nullptr;
}

int64_t Node::integer(std::string_view name, int64_t otherwise) {
  const auto *attribute = find(name, ::onnx::AttributeProto::INT);
  return attribute ? attribute->i() : otherwise;
}

double Node::real(std::string_view name, double otherwise) {
  const auto *attribute = find(name, ::onnx::AttributeProto::FLOAT);
  return attribute ? static_cast<double>(attribute->f()) : otherwise;
}

std::string Node::text(std::string_view name, std::string otherwise) {
  const auto *attribute = find(name, ::onnx::AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise;
}

Dims Node::integers(std::string_view name, Dims otherwise) {
  const auto *attribute = find(name, ::onnx::AttributeProto::INTS);
  return attribute ? Dims(attribute->ints().begin(), attribute->ints().end()) : otherwise;
}

std::vector<double> Node::reals(std::string_view name) {
  const auto *attribute = find(name, ::onnx::AttributeProto::FLOATS);
  return attribute ? std::vector<double>(attribute->floats().begin(), attribute->floats().end())
                   : std::vector<double>();
}

std::vector<std::string> Node::texts(std::string_view name) {
  const auto *attribute = find(name, ::onnx::AttributeProto::STRINGS);
  return attribute
             ? std::vector<std::string>(attribute->strings().begin(), attribute->strings().end())
             : std::vector<std::string>();
}

const ::onnx::GraphProto *Node::graph(std::string_view name) {
  const auto *attribute = find(name, ::onnx::AttributeProto::GRAPH);
  if (!attribute) {
    fail(fmt::format("attribute '{}', a graph, is missing", name));
    return nullptr;
  }
  return &attribute->g();
}

const ::onnx::TensorProto *Node::tensor(std::string_view name) {
  const auto *attribute = find(name, ::onnx::AttributeProto::TENSOR);
  return attribute ? &attribute->t() : nullptr;
}

bool Node::integersOfEither(std::string_view name, size_t i, bool &isGiven, Dims &out) {
  isGiven = has(name) || hasInput(i);
  if (has(name))
    out = integers(name);
  else if (hasInput(i))
    return integersOf(i, out);
  return !hasFailed();
}

bool Node::axisOf(int64_t value, size_t ofRank, size_t &out) {
  const auto extent = static_cast<int64_t>(ofRank);
  if (value < -extent || value >= extent)
    return fail(fmt::format("axis {} is not one of {} dims", value, ofRank));
  out = static_cast<size_t>(value < 0 ? value + extent : value);
  return true;
}

bool Node::axesOf(const Dims &values, size_t ofRank, Dims &out) {
  for (int64_t value : values) {
    size_t axis = 0;
    if (!axisOf(value, ofRank, axis))
      return false;
    if (std::find(out.begin(), out.end(), axis) != out.end())
      return fail(fmt::format("axis {} is given twice", value));
    out.push_back(static_cast<int64_t>(axis));
  }
  std::sort(out.begin(), out.end());
  return true;
}

bool Node::commonDims(const std::vector<Dims> &all, Dims &out) {
  for (const Dims &one : all)
    if (one.size() > out.size())
      out.insert(out.begin(), one.size() - out.size(), 1);
  for (const Dims &one : all)
    for (size_t d = 0; d < one.size(); ++d) {
      int64_t &common = out[out.size() - one.size() + d];
      if (one[d] != common && one[d] != 1 && common != 1)
        return fail(fmt::format("shapes [{}] and [{}] don't spread over each other",
                                fmt::join(all[0], ","), fmt::join(one, ",")));
      if (common == 1)
        common = one[d];
    }
  return true;
}

bool Node::spreads(const Dims &from, const Dims &to) {
  bool fits = from.size() <= to.size();
  for (size_t d = 0; fits && d < from.size(); ++d)
    fits = from[d] == 1 || from[d] == to[to.size() - from.size() + d];
  return fits || fail(fmt::format("shape [{}] does not spread over [{}]", fmt::join(from, ","),
                                  fmt::join(to, ",")));
}

Value Node::valueOf(OpId op) const {
  Value value;
  value.op = op;
  value.shape = shapeOf(op);
  return value;
}

bool Node::finish(std::vector<OpId> ops) {
  for (OpId op : ops)
    results.push_back(valueOf(op));
  return !hasFailed();
}

bool Node::finish(std::vector<Value> values) {
  results = std::move(values);
  return !hasFailed();
}

bool Node::finishKnown(Tensor tensor) {
  Value value;
  value.shape = tensor.shape();
  value.known = std::make_shared<const Tensor>(std::move(tensor));
  value.isConstant = true;
  results.push_back(std::move(value));
  return !hasFailed();
}

} // namespace tilewright::onnx_format
