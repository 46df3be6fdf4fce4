// The reference evaluator's reads, as an oracle for index maps.
#pragma once

#include "analysis/indexing/indexing.h"
#include "analysis/ir/evaluator.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// Value of element `element` of the tensor of op `tensor`.
using TensorValue = std::function<int64_t(uint32_t tensor, const std::vector<int64_t> &element)>;

/// Every operand element that a map reads for one output element.
std::set<std::vector<int64_t>> readsOf(const IndexMap &map, const std::vector<int64_t> &output,
                                       const TensorValue &value);

/// Calls visit with every index of a box, in row-major order.
void forEachIndex(const std::vector<int64_t> &extents,
                  const std::function<void(const std::vector<int64_t> &)> &visit);

/// Row-major position.
int64_t linearPosition(const std::vector<int64_t> &at, const std::vector<int64_t> &extents);

/// The reads of one run of the entry computation, and the values it computed.
struct Recording : ReadRecorder {
  void onRead(const OpInstance &instance, int64_t output, unsigned operand,
              int64_t element) override {
    if (instance.graph == entry)
      reads[{instance.op.index, operand, output}].insert(element);
  }
  /// Values of index tensors, for readsOf().
  TensorValue value() const;

  GraphId entry;
  /// By op, operand and element of the result.
  std::map<std::tuple<uint32_t, unsigned, int64_t>, std::set<int64_t>> reads;
  std::map<uint32_t, Tensor> values; ///< by op: its first result
};

/// Runs the entry computation on arguments made from the seed. Errors: the evaluator's.
llvm::Expected<Recording> recordReads(const Module &module, uint64_t seed);

/// Compares the maps of operand `operand` of op `id` of the entry computation, in both directions,
/// with the reads at every element; returns the first difference, or an empty text.
std::string differenceFromReads(const Graph &graph, Recording &recording, OpId id, unsigned operand,
                                const OperandMaps &forward, const OperandMaps &back);

} // namespace tilewright
