// The expressions below some roots, operands first. Not for other folders.
#pragma once

#include "analysis/affine/expr.h"

#include <span>
#include <unordered_map>
#include <vector>

namespace tilewright::sets {

/// Larger numbers are refused by the engines that add and subtract them, so that sums of two are
/// safe.
constexpr int64_t maxMagnitude = int64_t(1) << 61;

/// Why an engine refuses a comparison, a select or a power of two.
constexpr const char *notAffine = "a comparison, a select or a power of two";

/// Every node once; operands come before what they are used in. Each node names its operands by
/// position, so that an engine's values are one array.
class NodeList {
public:
  struct Node {
    Expr expr;
    uint32_t lhs = 0, rhs = 0; ///< positions of the operands, but for a select's condition
  };

  explicit NodeList(std::span<const Expr> roots);
  const std::vector<Node> &nodes() const { return list; }
  uint32_t positionOf(Expr expr) const { return position.at(expr.id()); }

private:
  std::vector<Node> list;
  std::unordered_map<uint32_t, uint32_t> position; ///< by Expr::id()
};

} // namespace tilewright::sets
