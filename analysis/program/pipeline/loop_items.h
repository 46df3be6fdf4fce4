// The ops of a loop's body, as they are scheduled: what is computed between two products is one, or
// two. Internal.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::pipeline {

/// Ops of a body that are scheduled as one.
struct LoopItem {
  enum class Kind : uint8_t { Read, Dot, Rest } kind = Kind::Rest;
  std::string name;
  std::vector<size_t> places; ///< in the body
  bool isLate = false;        ///< computes what a later product of the step adds to
  const program::DotOp *dot = nullptr;
};

/// In the order of the body, but for what is not late, which stands in front of what is late
/// between the same products. Unsupported: products in inner loops or conditions.
llvm::Expected<std::vector<LoopItem>> itemsOf(const program::Program &program,
                                              const program::ForOp &loop);

/// Does an op, or what stands in it, read one of the values?
bool readsAnyOf(const program::Op &op, const std::vector<program::ValueId> &values);

} // namespace tilewright::pipeline
