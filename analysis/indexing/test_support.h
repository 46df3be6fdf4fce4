// Small helpers of the indexing tests: graphs from HLO text, and maps enumerated point by point.
#pragma once

#include "analysis/import/hlo_text.h"
#include "analysis/indexing/indexing.h"
#include "analysis/ir/verifier.h"

#include <functional>
#include <gtest/gtest.h>
#include <set>

namespace tilewright {

/// The entry computation of HLO text given without its frame: "x = f32[4] parameter(0) …".
struct HloGraph {
  explicit HloGraph(const std::string &body, const std::string &computations = "") {
    std::string text = "HloModule test\n" + computations +
                       "\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                       " ROOT r = f32[] add(a, b) }\n"
                       "ENTRY main {\n" +
                       body + "\n}\n";
    load(std::make_shared<SourceBuffer>("test", text));
  }

  void load(std::shared_ptr<const SourceBuffer> source) {
    llvm::Expected<Module> parsed = parseHlo(std::move(source));
    if (!parsed) {
      ADD_FAILURE() << takeDiag(parsed.takeError()).str();
      return;
    }
    module = std::move(*parsed);
    if (llvm::Error error = verify(module))
      ADD_FAILURE() << takeDiag(std::move(error)).str();
  }

  const Graph &graph() const { return module.entry(); }
  OpId find(std::string_view name) const { return graph().find(name); }

  OpIndexing maps(std::string_view name, const ResultPath &path = {}) {
    llvm::Expected<OpIndexing> result = outputToOperands(graph(), find(name), context, path);
    if (!result) {
      ADD_FAILURE() << takeDiag(result.takeError()).str();
      return {};
    }
    return std::move(*result);
  }
  /// Text of the only map of an operand of the root.
  std::string map(unsigned operand) {
    OpIndexing indexing = maps(graph().op(graph().root()).name);
    if (indexing.isOpaque)
      return "opaque: " + indexing.reason;
    if (operand >= indexing.operands.size() || indexing.operands[operand].maps.size() != 1)
      return "not one map";
    return indexing.operands[operand].maps[0].str();
  }
  /// The way back, for an operand of the root.
  std::string back(unsigned operand) {
    llvm::Expected<OperandMaps> result = operandToOutput(graph(), graph().root(), operand, context);
    return result ? result->maps[0].str() : takeDiag(result.takeError()).message;
  }
  std::vector<std::string> paths(std::string_view from, std::string_view to) {
    llvm::Expected<OperandMaps> result = mapsToOp(graph(), find(from), find(to), context);
    if (!result)
      return {takeDiag(result.takeError()).message};
    std::vector<std::string> texts;
    for (const IndexMap &map : result->maps)
      texts.push_back(map.str());
    return texts;
  }

  Module module;
  ExprContext context;
};

/// Value of element `element` of the tensor of op `tensor`.
using TensorValue = std::function<int64_t(uint32_t tensor, const std::vector<int64_t> &element)>;

/// Every operand element that a map reads for one output element.
inline std::set<std::vector<int64_t>>
readsOf(const IndexMap &map, const std::vector<int64_t> &output, const TensorValue &value) {
  std::set<std::vector<int64_t>> reads;
  Assignment at;
  std::vector<MapVariable> ranges = map.variables(VarKind::Range);
  std::vector<MapVariable> runtimes = map.variables(VarKind::Runtime);
  std::vector<MapVariable> dims = map.variables(VarKind::Dim);
  for (size_t i = 0; i < dims.size(); ++i)
    at.set(dims[i].var, output[i]);
  std::function<void(size_t)> visit = [&](size_t i) {
    if (i < ranges.size()) {
      for (int64_t s = ranges[i].domain.lo; s <= ranges[i].domain.hi; ++s) {
        at.set(ranges[i].var, s);
        visit(i + 1);
      }
      return;
    }
    // Sources may use other runtime variables: go on until all have a value.
    Assignment point = at;
    for (size_t round = 0; round < runtimes.size(); ++round)
      for (const MapVariable &rt : runtimes) {
        std::vector<int64_t> element;
        for (Expr e : rt.source->element)
          if (std::optional<int64_t> coordinate = evaluate(e, point))
            element.push_back(*coordinate);
        if (element.size() == rt.source->element.size())
          point.set(rt.var,
                    std::clamp(value(rt.source->tensor, element), rt.domain.lo, rt.domain.hi));
      }
    if (std::optional<std::vector<int64_t>> read = map.evaluate(point))
      reads.insert(*read);
  };
  visit(0);
  return reads;
}

/// Calls visit with every index of a box, in row-major order.
inline void forEachIndex(const std::vector<int64_t> &extents,
                         const std::function<void(const std::vector<int64_t> &)> &visit) {
  for (int64_t extent : extents)
    if (extent <= 0)
      return;
  std::vector<int64_t> at(extents.size());
  while (true) {
    visit(at);
    size_t d = extents.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1])
      at[--d] = 0;
    if (d == 0)
      return;
  }
}

} // namespace tilewright
