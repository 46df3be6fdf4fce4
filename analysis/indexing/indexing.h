// Index maps of ops: which operand elements an output element reads, and the way back.
//
//   dot(f32[4,8] a, f32[8,6] b):  output (d0, d1) reads a at (d0, s0) and b at (s0, d1), s0 in
//   [0,7]
//
// Output dims are d0, d1, …; range variables s0, s1, … are the op's own iteration (contracted,
// reduced and window dims) and mean the same in the maps of all its operands; runtime variables
// rt0, … stand for values of index operands and record which. Window and contraction variables of
// an op are numbered in dim order, leaving out window dims of size 1.
//
// All functions take graphs of a module that verify() accepted. One that doesn't make sense gives
// an error where it is noticed, never a crash.
#pragma once

#include "analysis/affine/index_map.h"
#include "analysis/ir/graph.h"
#include "analysis/support/diag.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// Which result of an op with a tuple shape: {1} is the second, {} the whole of a tensor.
using ResultPath = std::vector<int64_t>;

/// Do maps say exactly what is read, or a superset of it?
enum class Coverage : uint8_t { Exact, OverApproximate };

/// How an op reads one operand. A union: each map adds reads. No maps: the operand is not read by
/// this result (another tuple element's operand, a token).
struct OperandMaps {
  std::vector<IndexMap> maps;
  Coverage coverage = Coverage::Exact;
  std::string note; ///< why over-approximate, or what else to know
  /// The result of the operand that is read, where the operand is a tuple.
  ResultPath operandPath;
  /// operandToOutput: the result of the op that reads it, where that is a tuple.
  ResultPath resultPath;
  /// scan: what an output element reads in its own step. `maps` has all that it depends on,
  /// through the carry, which is every position up to its own.
  std::optional<IndexMap> perStep;
};

/// The maps of one result of an op.
struct OpIndexing {
  /// One for each operand. Opaque ops have none, except for those that are known to stay within a
  /// box (sort, top-k: their own line), whose maps then are over-approximate.
  std::vector<OperandMaps> operands;
  bool isOpaque = false; ///< the op has no exact maps; `reason` says why
  std::string reason;
  /// all-gather: which replica of the group the element comes from, over the output dims.
  std::optional<Expr> replica;
};

/// From the coordinates of a result of `op` to the coordinates of its operands. `path` picks the
/// result of a tuple-shaped op; the results of a variadic reduce and the like have the same dims,
/// so that an empty path stands for the first. Maps are simplified.
llvm::Expected<OpIndexing> outputToOperands(const Graph &graph, OpId op, ExprContext &context,
                                            const ResultPath &path = {});

/// What has to hold where an element of an op's result is taken through one of the op's maps: its
/// coordinates lie in the map's domains, where these are tighter than `shape`, the result's, and
/// the map's constraints hold. `at`: the coordinates; `table`: what stands for the map's variables.
std::vector<MapConstraint> conditionsAt(const IndexMap &map, const Shape &shape,
                                        std::span<const Expr> at, std::span<const Expr> table);

/// From the coordinates of operand number `operand` to the coordinates of the result elements that
/// read it: the relation of outputToOperands read the other way, exact where that is. Runtime
/// variables stay, their sources over the new map's variables. No maps: the result does not read
/// the operand. `path` picks the result; without it the first one that reads the operand is taken
/// and named in `resultPath`. Unsupported for opaque ops.
llvm::Expected<OperandMaps> operandToOutput(const Graph &graph, OpId op, unsigned operand,
                                            ExprContext &context,
                                            std::optional<ResultPath> path = std::nullopt);
/// The same from what outputToOperands() gave for the op, which has one result: asking for each of
/// many operands then takes no longer than asking for all at once.
llvm::Expected<OperandMaps> operandToOutput(const Graph &graph, OpId op, unsigned operand,
                                            ExprContext &context, const OpIndexing &forward);

/// From the coordinates of a result of `from` to those of `to`, which it depends on: the maps of
/// all paths, each once, known-empty ones left out when others are there. No maps if `from` does
/// not depend on `to`. Unsupported when an op on a path is opaque, BudgetSpent when more than
/// `maxMaps` different maps meet at one op.
///
/// Linear in the ops between the two and the maps that meet at each: paths are not enumerated.
llvm::Expected<OperandMaps> mapsToOp(const Graph &graph, OpId from, OpId to, ExprContext &context,
                                     const ResultPath &path = {}, size_t maxMaps = 64);
/// The maps to one of several targets, or why there are none (Unsupported or BudgetSpent).
struct MapsOrRefusal {
  OperandMaps maps;
  std::optional<Diag> refusal;
};
/// The same to many ops at once, in their order: each op on the way is looked at once for all of
/// them, so that the parameters of an op of 10,000 operands take no longer than its own maps.
llvm::Expected<std::vector<MapsOrRefusal>>
mapsToOps(const Graph &graph, OpId from, std::span<const OpId> targets, ExprContext &context,
          const ResultPath &path = {}, size_t maxMaps = 64);

/// The loops that an op is: a parallel dim for each output dim and its own reductions.
struct IterationDomain {
  struct Reduction {
    Expr var; ///< range variable of the op's maps
    int64_t extent = 0;
    enum class Kind : uint8_t { Contraction, Reduced, Window, Scanned } kind;
    int64_t operandDim = -1; ///< the dim of operand 0 that it runs over
  };
  std::vector<int64_t> parallel; ///< extents
  std::vector<Reduction> reductions;
};

/// Unsupported for opaque ops.
llvm::Expected<IterationDomain> iterationDomain(const Graph &graph, OpId op, ExprContext &context,
                                                const ResultPath &path = {});

/// The shape at `path` of an op's result; for an empty path of a tuple its first tensor. Null if
/// there is none.
const Shape *resultShape(const Op &op, const ResultPath &path);

} // namespace tilewright
