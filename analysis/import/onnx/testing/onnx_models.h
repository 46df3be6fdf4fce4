// Small ONNX models for tests, in ONNX's text form.
#pragma once

#include "analysis/import/import_file.h"
#include "analysis/import/onnx/onnx_import.h"
#include "analysis/ir/evaluator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tilewright::test {

using Numbers = std::vector<double>;

/// The text of a model with one graph.
inline std::string onnxText(const std::string &signature, const std::string &nodes,
                            int opset = 17) {
  return fmt::format("<ir_version: 8, opset_import: [\"\" : {}]>\ng {}\n{{\n{}\n}}\n", opset,
                     signature, nodes);
}

inline std::shared_ptr<const SourceBuffer> onnxSource(std::string text) {
  return std::make_shared<const SourceBuffer>("model.onnx", std::move(text));
}

/// What a model of that text says that is wrong with it; empty for one that is read.
inline Diag onnxDiag(std::string text) {
  llvm::Expected<Module> module = importBuffer(onnxSource(std::move(text)));
  return module ? Diag() : takeDiag(module.takeError());
}

/// Results for inputs that are given as numbers in row-major order.
inline std::vector<Numbers> onnxResults(const std::string &text,
                                        const std::vector<Numbers> &inputs) {
  const auto source = onnxSource(text);
  llvm::Expected<Module> module = importBuffer(source);
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str() << text;
    return {};
  }
  std::vector<Tensor> arguments;
  const Graph &graph = module->entry();
  for (OpId id : graph.parameters()) {
    const Shape &shape = graph.op(id).shape;
    if (arguments.size() >= inputs.size())
      break;
    const Numbers &numbers = inputs[arguments.size()];
    arguments.push_back(
        isFloat(shape.dtype)
            ? Tensor::ofReals(shape, numbers)
            : Tensor::ofIntegers(shape, std::vector<int64_t>(numbers.begin(), numbers.end())));
  }
  llvm::Expected<std::vector<Tensor>> weights = onnxWeights(source);
  if (weights)
    arguments.insert(arguments.end(), weights->begin(), weights->end());
  else
    ADD_FAILURE() << takeDiag(weights.takeError()).str();
  llvm::Expected<std::vector<Tensor>> results = evaluate(*module, module->entryId, arguments);
  if (!results) {
    ADD_FAILURE() << takeDiag(results.takeError()).str() << text;
    return {};
  }
  std::vector<Numbers> numbers;
  for (const Tensor &tensor : *results) {
    numbers.emplace_back();
    for (int64_t i = 0; i < tensor.size(); ++i)
      numbers.back().push_back(tensor.asDouble(i));
  }
  return numbers;
}

/// The first result of one node or a few.
inline Numbers onnxResult(const std::string &signature, const std::string &nodes,
                          const std::vector<Numbers> &inputs, int opset = 17) {
  std::vector<Numbers> results = onnxResults(onnxText(signature, nodes, opset), inputs);
  return results.empty() ? Numbers() : results[0];
}

} // namespace tilewright::test
