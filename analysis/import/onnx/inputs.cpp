// The model's inputs, and how large their open dims are.
#include "analysis/import/hlo_lexer.h"
#include "analysis/import/onnx/proto.h"
#include "analysis/import/onnx/reader.h"
#include "analysis/support/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

bool Reader::readInputs(Env &env) {
  for (const ::onnx::ValueInfoProto &input : model.graph().input())
    if (!env.values.contains(input.name()) && !bindInput(input, env))
      return false;
  return checkSizes();
}

/// A size for a dim that is not open is a name misspelt.
bool Reader::checkSizes() {
  for (const auto &[name, size] : sizes)
    if (!openDims.contains(name))
      return fail(openDims.empty()
                      ? fmt::format("there is no dim '{}': all dims of the inputs are numbers",
                                    excerpt(name))
                      : fmt::format("there is no dim '{}', open are {}", excerpt(name),
                                    excerpt(fmt::format("{}", fmt::join(openDims, ", ")))));
  return true;
}

bool Reader::addExtent(const ::onnx::TensorShapeProto_Dimension &dim, const std::string &input,
                       Shape &shape) {
  const size_t number = shape.rank();
  int64_t extent = dim.dim_value();
  if (!dim.has_dim_value()) {
    const bool isNamed = dim.has_dim_param() && !dim.dim_param().empty();
    const std::string name = isNamed ? dim.dim_param() : fmt::format("{}.{}", input, number);
    openDims.insert(name);
    auto size = sizes.find(name);
    if (size == sizes.end())
      return fail(fmt::format("dim {} of input '{}' is '{}', known at run time only; say its size "
                              "(--dim {}=NUMBER), or export the model with a number there",
                              number, excerpt(input), isNamed ? excerpt(name) : "?", excerpt(name)),
                  DiagClass::Unsupported);
    extent = size->second;
  }
  if (extent < 0 || extent > mostExtent)
    return fail(fmt::format("dim {} of input '{}' is {}", number, excerpt(input), extent));
  shape.dims.push_back(extent);
  return true;
}

bool Reader::bindInput(const ::onnx::ValueInfoProto &input, Env &env) {
  const std::string name = fmt::format("input '{}'", excerpt(input.name()));
  if (!input.type().has_tensor_type())
    return fail(name + " is no tensor", DiagClass::Unsupported);
  const auto &tensor = input.type().tensor_type();
  const std::optional<DType> type = elementType(tensor.elem_type());
  if (!type)
    return fail(fmt::format("{} is of {}, which has no values here", name,
                            elementTypeName(tensor.elem_type())),
                DiagClass::Unsupported);
  if (!tensor.has_shape())
    return fail(name + " has no shape", DiagClass::Unsupported);
  Value value;
  value.shape = Shape::tensor(*type, {});
  if (auto it = given.find(input.name()); it != given.end()) {
    value.known = std::make_shared<const Tensor>(it->second);
    value.shape = it->second.shape();
    value.isConstant = true;
    env.values.emplace(input.name(), std::move(value));
    return true;
  }
  for (const auto &dim : tensor.shape().dim())
    if (!addExtent(dim, input.name(), value.shape))
      return false;
  if (value.shape.rank() > hlo_limits::rank || !value.shape.elementCount())
    return fail(fmt::format("{} has too many elements or dims", name), DiagClass::Unsupported);
  Op op;
  op.opcode = Opcode::Parameter;
  op.shape = value.shape;
  op.attrs.parameterNumber = static_cast<int64_t>(inputCount++);
  value.op = env.scope->add(std::move(op), input.name());
  env.values.emplace(input.name(), std::move(value));
  return true;
}

} // namespace tilewright::onnx_format
