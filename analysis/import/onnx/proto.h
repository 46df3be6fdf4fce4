// ONNX's protocol buffers: reading a file, and the tensors in it.
#pragma once

#include "analysis/ir/tensor.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>

namespace onnx {
class ModelProto;
class TensorProto;
} // namespace onnx

namespace tilewright::onnx_format {

/// The message of a binary file, or of a text in ONNX's own form. Nesting is bounded.
llvm::Expected<std::shared_ptr<const ::onnx::ModelProto>>
readModelProto(const SourceBuffer &source);

/// The element type of a TensorProto.DataType; nothing for strings and for unknown ones.
std::optional<DType> elementType(int dataType);

/// Its name in ONNX: "STRING".
std::string elementTypeName(int dataType);

/// Shape of a tensor in the file; BadInput for extents below 0 and too many elements, Unsupported
/// for types without values here.
llvm::Expected<Shape> shapeOfTensor(const ::onnx::TensorProto &tensor);

/// Whether values stand in a file of their own; then that it is there and large enough. `folder`:
/// that of the model.
llvm::Error checkExternal(const ::onnx::TensorProto &tensor, const std::string &folder);

/// Its values, wherever they stand.
llvm::Expected<Tensor> readTensor(const ::onnx::TensorProto &tensor, const std::string &folder);

} // namespace tilewright::onnx_format
