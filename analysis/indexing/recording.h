// What the reference evaluator reads, as an oracle for index maps.
#pragma once

#include "analysis/indexing/test_support.h"
#include "analysis/ir/evaluator.h"

#include <map>

namespace tilewright {

/// What one run of the entry computation read, and the values it made.
struct Recording : ReadRecorder {
  void onRead(const OpInstance &instance, int64_t output, unsigned operand,
              int64_t element) override {
    if (instance.graph == entry)
      reads[{instance.op.index, operand, output}].insert(element);
  }
  /// Values of index tensors, for readsOf().
  TensorValue value() const {
    return [this](uint32_t tensor, const std::vector<int64_t> &element) {
      const Tensor &t = values.at(tensor);
      return t.integer(t.offset(element));
    };
  }

  GraphId entry;
  std::map<std::tuple<uint32_t, unsigned, int64_t>, std::set<int64_t>> reads;
  std::map<uint32_t, Tensor> values;
};

inline int64_t linear(const std::vector<int64_t> &at, const std::vector<int64_t> &extents) {
  int64_t result = 0;
  for (size_t i = 0; i < at.size(); ++i)
    result = result * extents[i] + at[i];
  return result;
}

/// Runs the entry computation on arguments made from the seed.
inline std::optional<Recording> record(HloGraph &g, uint64_t seed) {
  Recording recording;
  recording.entry = g.module.entryId;
  EvalOptions options;
  options.recorder = &recording;
  options.onResult = [&](const OpInstance &instance, std::span<const Tensor *const> leaves) {
    if (instance.graph == recording.entry && !leaves.empty())
      recording.values[instance.op.index] = *leaves[0];
  };
  std::vector<Tensor> arguments = fillArguments(g.module, g.module.entryId, seed);
  std::vector<OpId> parameters = g.graph().parameters();
  for (size_t i = 0; i < arguments.size(); ++i)
    recording.values[parameters[i].index] = arguments[i];
  llvm::Expected<std::vector<Tensor>> results =
      evaluate(g.module, g.module.entryId, arguments, options);
  if (!results) {
    ADD_FAILURE() << takeDiag(results.takeError()).str();
    return std::nullopt;
  }
  return recording;
}

} // namespace tilewright
