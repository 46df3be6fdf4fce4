// Small helpers of the indexing tests: graphs from HLO text, and maps enumerated point by point.
#pragma once

#include "analysis/import/hlo_text.h"
#include "analysis/indexing/recorded_reads.h"
#include "analysis/ir/verifier.h"

#include <gtest/gtest.h>

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

/// Runs the entry computation on arguments made from the seed.
inline std::optional<Recording> record(const HloGraph &g, uint64_t seed) {
  llvm::Expected<Recording> recording = recordReads(g.module, seed);
  if (recording)
    return std::move(*recording);
  ADD_FAILURE() << takeDiag(recording.takeError()).str();
  return std::nullopt;
}

} // namespace tilewright
