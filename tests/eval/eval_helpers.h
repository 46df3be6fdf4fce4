// Short ways to write evaluator tests: HLO text in, values out.
#pragma once

#include "analysis/import/hlo_text.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/literal.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace tilewright {

inline Module parseText(std::string text) {
  llvm::Expected<Module> module =
      parseHlo(std::make_shared<SourceBuffer>("test.hlo", std::move(text)));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  return std::move(*module);
}

/// A module of this entry body, with the reducers add, maximum and lessThan of that type at hand.
inline std::string withReducers(std::string_view type, std::string_view body) {
  std::string text = "HloModule test\n";
  for (std::string_view op : {"add", "maximum", "multiply"})
    text += fmt::format("{0}.{1} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n"
                        "  ROOT c = {1}[] {0}(a, b)\n}}\n",
                        op, type);
  text += fmt::format("ge.{0} {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n"
                      "  ROOT c = pred[] compare(a, b), direction=GE\n}}\n",
                      type);
  text += fmt::format("lt.{0} {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n"
                      "  ROOT c = pred[] compare(a, b), direction=LT\n}}\n",
                      type);
  return text + "ENTRY main {\n" + std::string(body) + "}\n";
}

inline std::string entry(std::string_view body) {
  return "HloModule test\nENTRY main {\n" + std::string(body) + "}\n";
}

inline Tensor tensorOf(DType type, std::vector<int64_t> dims, std::string_view text) {
  llvm::Expected<Tensor> tensor = parseLiteral(Shape::tensor(type, std::move(dims)), text);
  if (!tensor) {
    ADD_FAILURE() << takeDiag(tensor.takeError()).message;
    return {};
  }
  return std::move(*tensor);
}

/// first, first + 1, … of an integer or float type.
inline Tensor counting(DType type, std::vector<int64_t> dims, int64_t first = 0) {
  Tensor tensor(Shape::tensor(type, std::move(dims)));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (isFloat(type))
      tensor.setReal(i, static_cast<double>(first + i));
    else
      tensor.setInteger(i, first + i);
  }
  return tensor;
}

inline std::vector<Tensor> run(const Module &module, const std::vector<Tensor> &arguments,
                               const EvalOptions &options = {}) {
  llvm::Expected<std::vector<Tensor>> result = evaluate(module, module.entryId, arguments, options);
  if (!result) {
    ADD_FAILURE() << takeDiag(result.takeError()).str();
    return std::vector<Tensor>(8);
  }
  return std::move(*result);
}

inline Tensor runOne(std::string text, const std::vector<Tensor> &arguments = {},
                     const EvalOptions &options = {}) {
  return run(parseText(std::move(text)), arguments, options)[0];
}

inline Diag runError(std::string text, const std::vector<Tensor> &arguments = {},
                     const EvalOptions &options = {}) {
  Module module = parseText(std::move(text));
  llvm::Expected<std::vector<Tensor>> result = evaluate(module, module.entryId, arguments, options);
  if (result) {
    ADD_FAILURE() << "evaluated";
    return {};
  }
  return takeDiag(result.takeError());
}

/// All elements as doubles.
inline std::vector<double> valuesOf(const Tensor &tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.size(); ++i)
    result.push_back(tensor.asDouble(i));
  return result;
}

using Values = std::vector<double>;

/// Calls body(index) for each index of a box in row-major order.
inline void forEachIndex(const std::vector<int64_t> &dims,
                         const std::function<void(const std::vector<int64_t> &)> &body) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  std::vector<int64_t> index(dims.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t d = dims.size(); d-- > 0;) {
      index[d] = rest % dims[d];
      rest /= dims[d];
    }
    body(index);
  }
}

} // namespace tilewright
