// What follows once a model's ops are all there.
#pragma once

#include "analysis/ir/graph.h"

#include <map>
#include <string_view>
#include <vector>

namespace onnx {
class TensorProto;
}

namespace tilewright::onnx_format {

/// The raw attribute with which an op waits for its name: that of the result in the file.
constexpr std::string_view resultName = "onnx_result";

/// Removes ops that no result needs, of weights those, too; gives ops their results' names and
/// parameters their numbers. Returns the tensors of the weights by parameter, behind the inputs.
std::vector<const ::onnx::TensorProto *>
tidy(Module &module, const std::map<OpId, const ::onnx::TensorProto *> &weights);

} // namespace tilewright::onnx_format
