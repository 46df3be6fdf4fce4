// Folds: what a program uses and does, as expressions over its sizes.
//
// For a program whose sizes are numbers the same folds are numbers. The search's constraints, the
// cost's features and launch configurations are these and nothing else. Running example: the
// matrices a[M,K] and b[K,N] of a GEMM in tiles of BM x BN are copied
// cdiv(N,BN)·M·K·2 + cdiv(M,BM)·K·N·2 bytes, whatever is ragged.
#pragma once

#include "analysis/program/count.h"
#include "analysis/program/program.h"
#include "analysis/program/substitute.h"

#include <optional>

namespace tilewright::program {

/// A part of a count, with the line that it comes from.
struct FoldItem {
  SourceLoc where;
  Count count;
  Expr amount;
};

/// A part of a CTA's shared memory.
struct SharedItem {
  std::string name; ///< "ring A", "mbarriers of A", "mbarrier of Q", "exchange of m"
  SourceLoc where;
  Expr bytes;
};

struct RoleRegisters {
  std::string role; ///< "" for ops outside of roles
  Expr words;       ///< of 32 bits, a thread: the most that are live at one point
};

/// Σ of a summand over CTA and loop variables, where it has no closed form: trips that depend on
/// the CTA. `value` stands for it in the counts: a variable, or a number
/// where all sizes are numbers.
struct SumOverSteps {
  Expr value, summand;
  struct Range {
    VarId var;
    Expr count; ///< may depend on variables before it
  };
  std::vector<Range> over;
};

struct Folds {
  CountTable<Expr> counts;
  std::vector<Expr> tensorBytes; ///< by TensorId: loaded, copied, stored or added to, in all
  std::vector<FoldItem> items;
  std::vector<SharedItem> shared;
  std::vector<RoleRegisters> registers;
  std::vector<SumOverSteps> sums;
  /// 1 where rows and tiles of all accesses start at sectors, so that counts of sectors are exact;
  /// else they are upper bounds.
  Expr sectorsAreExact;
  /// Bytes are what threads ask for: no condition, and no index beyond its tensor, cuts any off,
  /// and no layout goes on beyond its tile.
  bool requestsAreExact = true;
  /// Counts of accesses whose axes no rule counts exactly: upper bounds, by place.
  std::vector<SourceLoc> inexact;

  /// A count at these sizes (by VarId). Nothing where it leaves 64 bits or a size is missing.
  std::optional<int64_t> at(Expr count, const Assignment &sizes) const;
};

Folds foldsOf(const Program &program);

/// Sizes by variable.
Assignment assignmentOf(const Program &program, const SizeValues &sizes);

} // namespace tilewright::program
