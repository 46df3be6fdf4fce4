// Ops that are functions of other ops: those of the model, and those that ONNX itself defines so.
#include "analysis/import/onnx/proto.h"
#include "analysis/import/onnx/reader.h"
#include "analysis/support/printable.h"

#include <exception>
#include <fmt/format.h>
#include <onnx/defs/function.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

namespace {

using Attributes = std::map<std::string, const ::onnx::AttributeProto *>;

/// Attributes that stand for those of the call, as they are there.
void resolve(::onnx::NodeProto &node, const Attributes &of);

void resolve(::onnx::GraphProto &graph, const Attributes &of) {
  for (::onnx::NodeProto &node : *graph.mutable_node())
    resolve(node, of);
}

void resolve(::onnx::NodeProto &node, const Attributes &of) {
  auto &attributes = *node.mutable_attribute();
  for (int i = attributes.size(); i-- > 0;) {
    ::onnx::AttributeProto &attribute = attributes[i];
    if (attribute.has_g())
      resolve(*attribute.mutable_g(), of);
    if (attribute.ref_attr_name().empty())
      continue;
    auto it = of.find(attribute.ref_attr_name());
    if (it == of.end()) {
      attributes.DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = attribute.name();
    attribute = *it->second;
    attribute.set_name(name);
  }
}

int dataTypeOf(DType type) {
  for (int i = 1; i < 32; ++i)
    if (elementType(i) == type)
      return i;
  return 0;
}

::onnx::TypeProto typeOf(const Value *value) {
  ::onnx::TypeProto type;
  if (!value || value->list || value->isAbsent)
    return type;
  auto *tensor = type.mutable_tensor_type();
  tensor->set_elem_type(dataTypeOf(value->shape.dtype));
  for (int64_t extent : value->shape.dims)
    tensor->mutable_shape()->add_dim()->set_dim_value(extent);
  return type;
}

/// The body of a function that ONNX defines, for these inputs; null where the op is none.
std::shared_ptr<::onnx::FunctionProto> bodyOf(const ::onnx::OpSchema &schema, const Node &node) {
  auto body = std::make_shared<::onnx::FunctionProto>();
  if (schema.HasFunction()) {
    *body = *schema.GetFunction();
  } else if (schema.HasContextDependentFunction()) {
    std::vector<::onnx::TypeProto> types;
    for (const Value *value : node.inputs)
      types.push_back(typeOf(value));
    const ::onnx::FunctionBodyBuildContextImpl context(node.proto, types);
    if (!schema.BuildContextDependentFunction(context, *body))
      return nullptr;
  } else {
    return nullptr;
  }
  return body;
}

} // namespace

bool Reader::inlineSchemaFunction(Node &node, bool &isDone) {
  std::shared_ptr<::onnx::FunctionProto> body;
  try {
    const ::onnx::OpSchema *schema = ::onnx::OpSchemaRegistry::Schema(
        node.proto.op_type(), static_cast<int>(node.opset), node.proto.domain());
    if (!schema)
      return true;
    // What the call leaves out has the value that the op's definition says.
    body = bodyOf(*schema, node);
    if (!body)
      return true;
    schema->Verify(node.proto);
    auto call = std::make_shared<::onnx::NodeProto>(node.proto);
    for (const auto &[name, attribute] : schema->attributes())
      if (!node.has(name) && attribute.default_value.has_name())
        *call->add_attribute() = attribute.default_value;
    Attributes given;
    for (const ::onnx::AttributeProto &attribute : call->attribute())
      given[attribute.name()] = &attribute;
    for (::onnx::NodeProto &inner : *body->mutable_node())
      resolve(inner, given);
    if (body->opset_import_size() == 0) {
      auto *import = body->add_opset_import();
      import->set_domain(node.proto.domain());
      import->set_version(node.opset);
    }
  } catch (const std::exception &problem) {
    return fail(problem.what());
  }
  isDone = true;
  kept.push_back(body);
  return inlineFunction(node, *body);
}

bool Reader::inlineFunction(Node &node, const ::onnx::FunctionProto &function) {
  auto versions = std::make_shared<std::map<std::string, int64_t>>();
  for (const auto &import : function.opset_import())
    (*versions)[import.domain() == "ai.onnx" ? "" : import.domain()] = import.version();
  if (versions->empty())
    *versions = *node.env.opsets;
  auto body = std::make_shared<::onnx::GraphProto>();
  body->mutable_node()->CopyFrom(function.node());
  Attributes given;
  for (const ::onnx::AttributeProto &attribute : node.proto.attribute())
    given[attribute.name()] = &attribute;
  resolve(*body, given);
  kept.push_back(versions);
  kept.push_back(body);

  Env inner;
  inner.scope = node.env.scope;
  inner.opsets = versions.get();
  inner.prefix = node.base + ".";
  inner.depth = node.env.depth + 1;
  const std::string &name = node.proto.name();
  inner.origin = node.env.origin + (name.empty() ? "" : name + "/");
  if (node.inputCount() > static_cast<size_t>(function.input_size()))
    return node.fail(fmt::format("function '{}' has {} inputs, {} are given",
                                 excerpt(function.name()), function.input_size(),
                                 node.inputCount()));
  for (size_t i = 0; i < node.inputCount(); ++i)
    if (node.inputs[i])
      inner.values.emplace(function.input(static_cast<int>(i)), *node.inputs[i]);
  if (!readNodes(*body, inner))
    return false;
  for (int i = 0; i < function.output_size(); ++i) {
    const std::string &output = function.output(i);
    Value *value = find(inner, output);
    if (!value && !node.wants(static_cast<size_t>(i))) {
      node.results.push_back({});
      continue;
    }
    if (!value)
      return node.fail(fmt::format("function '{}' does not compute its output '{}'",
                                   excerpt(function.name()), excerpt(output)));
    node.results.push_back(*value);
  }
  return !hasFailed();
}

} // namespace tilewright::onnx_format
