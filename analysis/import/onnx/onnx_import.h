// ONNX models, binary or in ONNX's own text form.
//
// Ops are called by the results' names in the file, and carry the nodes' names as op_name in their
// metadata, as HLO's do. Weights become parameters behind the inputs, in the order of their first
// use; those of one element and short lists of integers are constants.
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/ir/tensor.h"

#include "llvm/Support/Error.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// The module of a file, not verified yet. Values that decide shapes must be known: constants, and
/// what follows from them. `given` are values of inputs that are no parameters then, `sizes` those
/// of the inputs' open dims: by the dim's name, or "x.0" where dim 0 of x has none.
llvm::Expected<Module> parseOnnx(std::shared_ptr<const SourceBuffer> source,
                                 const std::map<std::string, Tensor> &given = {},
                                 const std::map<std::string, int64_t> &sizes = {});

/// Values of the weights that are parameters of that module: its last ones, in their order.
llvm::Expected<std::vector<Tensor>> onnxWeights(std::shared_ptr<const SourceBuffer> source,
                                                const std::map<std::string, Tensor> &given = {},
                                                const std::map<std::string, int64_t> &sizes = {});

/// Names of the inputs that are no weights, in order; empty for a file that isn't read.
std::vector<std::string> onnxInputNames(const std::shared_ptr<const SourceBuffer> &source);

/// A tensor's file, as ONNX's tests have them: TensorProto.
llvm::Expected<Tensor> readOnnxTensor(const std::string &path);

} // namespace tilewright
