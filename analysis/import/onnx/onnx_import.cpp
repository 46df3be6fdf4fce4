#include "analysis/import/onnx/onnx_import.h"

#include "analysis/import/onnx/proto.h"
#include "analysis/import/onnx/reader.h"

#include <onnx/onnx_pb.h>
#include <set>

namespace tilewright {

using namespace onnx_format;

namespace {

llvm::Expected<Module> parsed(const SourceBuffer &source,
                              const std::map<std::string, Tensor> &given,
                              const std::map<std::string, int64_t> &sizes,
                              std::vector<Tensor> *weights) {
  llvm::Expected<std::shared_ptr<const ::onnx::ModelProto>> model = readModelProto(source);
  if (!model)
    return model.takeError();
  Reader reader(source, **model, given, sizes);
  llvm::Expected<Module> module = reader.run();
  if (!module || !weights)
    return module;
  for (const ::onnx::TensorProto *tensor : reader.weightsInOrder()) {
    llvm::Expected<Tensor> values = readTensor(*tensor, reader.folder);
    if (!values)
      return values.takeError();
    weights->push_back(std::move(*values));
  }
  return module;
}

} // namespace

llvm::Expected<Module> parseOnnx(std::shared_ptr<const SourceBuffer> source,
                                 const std::map<std::string, Tensor> &given,
                                 const std::map<std::string, int64_t> &sizes) {
  llvm::Expected<Module> module = parsed(*source, given, sizes, nullptr);
  if (module)
    module->source = std::move(source);
  return module;
}

llvm::Expected<std::vector<Tensor>> onnxWeights(std::shared_ptr<const SourceBuffer> source,
                                                const std::map<std::string, Tensor> &given,
                                                const std::map<std::string, int64_t> &sizes) {
  std::vector<Tensor> weights;
  llvm::Expected<Module> module = parsed(*source, given, sizes, &weights);
  if (!module)
    return module.takeError();
  return weights;
}

std::vector<std::string> onnxInputNames(const std::shared_ptr<const SourceBuffer> &source) {
  llvm::Expected<std::shared_ptr<const ::onnx::ModelProto>> model = readModelProto(*source);
  if (!model) {
    llvm::consumeError(model.takeError());
    return {};
  }
  std::set<std::string> weights;
  for (const ::onnx::TensorProto &tensor : (*model)->graph().initializer())
    weights.insert(tensor.name());
  std::vector<std::string> names;
  for (const ::onnx::ValueInfoProto &input : (*model)->graph().input())
    if (!weights.contains(input.name()))
      names.push_back(input.name());
  return names;
}

llvm::Expected<Tensor> readOnnxTensor(const std::string &path) {
  llvm::Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  ::onnx::TensorProto tensor;
  if (!tensor.ParseFromString(*bytes))
    return makeError(DiagClass::BadInput, "{}: this is not ONNX's form of a tensor", path);
  return readTensor(tensor, "");
}

} // namespace tilewright
