// Reference values of single elements of a big graph.
//
// The evaluator computes whole tensors, which is out of reach for a kernel over 4096 x 4096 x 4096.
// Here one element is computed from the elements that the ops' index maps name, with the
// evaluator's scalar semantics, in doubles and rounded at each op.
#pragma once

#include "analysis/indexing/indexing.h"
#include "analysis/ir/tensor.h"

#include <map>
#include <memory>

namespace tilewright {

class PointReference {
public:
  /// `graph` is the entry of `module`; arguments as for evaluate(). All must outlive this.
  PointReference(const Module &module, std::span<const Tensor> arguments, uint64_t maxWork);
  /// The same with the arguments of fillArguments(), generated element by element, so that no
  /// tensor is held in memory.
  PointReference(const Module &module, uint64_t seed, uint64_t maxWork);
  ~PointReference();

  /// The element's value, as Tensor::asDouble() would give it. Errors: Unsupported for an op that
  /// has no point semantics here, BudgetSpent when all calls together took more than `maxWork`
  /// scalar operations.
  llvm::Expected<double> at(OpId op, std::span<const int64_t> coordinates);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Scalar operations that evaluating the whole entry takes; saturates.
uint64_t evaluationWork(const Graph &graph);

} // namespace tilewright
