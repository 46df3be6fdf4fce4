// What the reference evaluator reads, as an oracle for index maps.
#pragma once

#include "analysis/indexing/test_support.h"
#include "analysis/ir/evaluator.h"

#include <algorithm>
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

/// The sets agree as the coverage says.
inline bool agrees(Coverage coverage, const std::set<int64_t> &claimed,
                   const std::set<int64_t> &real) {
  return coverage == Coverage::Exact
             ? claimed == real
             : std::includes(claimed.begin(), claimed.end(), real.begin(), real.end());
}

/// All that maps say about one element, as positions in a tensor of these extents; nothing where
/// one lies outside.
inline std::optional<std::set<int64_t>> positionsOf(const std::vector<IndexMap> &maps,
                                                    const std::vector<int64_t> &at,
                                                    const TensorValue &value,
                                                    const std::vector<int64_t> &extents) {
  std::set<int64_t> positions;
  for (const IndexMap &map : maps)
    for (const std::vector<int64_t> &read : readsOf(map, at, value)) {
      for (size_t d = 0; d < read.size(); ++d)
        if (!Interval::ofExtent(extents[d]).contains(read[d]))
          return std::nullopt;
      positions.insert(linear(read, extents));
    }
  return positions;
}

/// Where the maps of operand `k` of op `i`, in both directions, differ from what was read, at every
/// element; empty if they don't.
inline std::string differenceFromReads(HloGraph &g, Recording &recording, uint32_t i, unsigned k,
                                       const OperandMaps &forward, const OperandMaps &back) {
  const Op &op = g.graph().op(OpId{i});
  const Shape &in = g.graph().op(op.operands[k]).shape, &out = *resultShape(op, {});
  std::string difference;
  auto check = [&](const OperandMaps &maps, const std::vector<int64_t> &at, const Shape &to,
                   const std::set<int64_t> &real, const char *direction) {
    std::optional<std::set<int64_t>> claimed =
        positionsOf(maps.maps, at, recording.value(), to.dims);
    if ((claimed && agrees(maps.coverage, *claimed, real)) || !difference.empty())
      return;
    difference = op.name + " operand " + std::to_string(k) + ", " + direction + " from element";
    for (int64_t coordinate : at)
      difference += " " + std::to_string(coordinate);
    for (const IndexMap &map : maps.maps)
      difference += ": " + map.str();
  };
  std::map<int64_t, std::set<int64_t>> readers;
  forEachIndex(out.dims, [&](const std::vector<int64_t> &at) {
    const std::set<int64_t> &real = recording.reads[{i, k, linear(at, out.dims)}];
    for (int64_t element : real)
      readers[element].insert(linear(at, out.dims));
    check(forward, at, in, real, "forward");
  });
  forEachIndex(in.dims, [&](const std::vector<int64_t> &at) {
    check(back, at, out, readers[linear(at, in.dims)], "back");
  });
  return difference;
}

} // namespace tilewright
