// The lowering of reduction groups: rows, columns and the threads that share them.
//
// A *row* is the set of elements that one reduced value is made from; a *column* is a position in
// it. A CTA owns the rows of its root tile. G of its T threads share a row, so that T/G rows are
// processed at a time:
//
//   along rows   (the minor dim is reduced): thread = row·G + g; neighbours hold neighbouring
//                columns in vectors of `lanes`, partial results are combined by shuffles, and
//                through shared memory when G exceeds a warp
//   across rows  (it is not): thread = g·(T/G) + row; neighbours hold neighbouring rows, partial
//                results are combined through shared memory
//
// Reductions are computed in order; the result of each is then a value of the row. If one tile
// holds the whole row, everything read stays in registers (ValueEmitter's memo), so that a softmax
// reads its input once. With a smaller tile, each reduction makes a pass over the row.
#pragma once

#include "codegen/lowering.h"

namespace tilewright {

class ReductionLowering {
public:
  ReductionLowering(const KernelSpec &spec, CodeMode mode) : spec(spec), mode(mode) {}
  llvm::Expected<KernelModule> run() &&;

private:
  struct Reduction {
    OpId op, input, init;
    Combiner combiner;
    std::vector<int64_t> extents; ///< of the reduced dims, in operand order
    std::vector<int64_t> dims;    ///< which those are
    std::vector<int64_t> order;   ///< positions in `extents`, fastest-varying first
    int64_t length = 1;           ///< columns
    int64_t chunk = 1;            ///< columns processed at a time
    Coordinates rowAt;            ///< where the results read it, over the root's placeholders
    Coordinates at;               ///< the same for the current row
    llvm::Value *value = nullptr; ///< of the current row
  };
  /// Columns in the order in which threads take them.
  struct Columns {
    std::vector<int64_t> extents, order;
    int64_t count = 1, chunk = 1;
  };

  llvm::Error collect();
  llvm::Error findRows();
  llvm::Error chooseThreads();
  llvm::Error emitRows(Expr firstRow);
  llvm::Error emitReduction(size_t index);
  llvm::Error emitResults();
  llvm::Value *combineThreads(size_t index, llvm::Value *partial);
  /// Calls `body` with the coordinates (in `columns`) of each of this thread's vectors of columns,
  /// within a run-time loop if a chunk is smaller than the row. `carried` values pass through the
  /// loop.
  using ColumnBody =
      std::function<llvm::Error(const Coordinates &, const Guard &, Values &carried)>;
  llvm::Error forColumns(const Columns &columns, Values &carried, const ColumnBody &body);
  Coordinates rootCoordinates(const Coordinates &columns) const;
  /// Where a reduction reads its input at a column of the current row.
  Coordinates inputCoordinates(const Reduction &reduction, const Coordinates &column) const;
  /// The condition that the row exists: a pad or a concatenation makes root elements without one.
  void addRowDomain(const Reduction &reduction, Guard &guard);
  // Results, reduction_results.cpp.
  /// Results with the shape of the first reduction's input, or that correspond to it one to one:
  /// one element a row and column, stored during the pass over its columns, or afterwards if they
  /// need the reduced value.
  bool isOfInput(OpId id) const;
  bool needsReductions(OpId id) const;
  llvm::Error storeOfInput(size_t result, const Coordinates &at, const Guard &guard);
  llvm::Expected<std::optional<Values>> supply(OpId op, const Coordinates &at, unsigned count);
  Expr substituteRow(Expr expr) const;

  const KernelSpec &spec;
  CodeMode mode;
  std::unique_ptr<Lowering> lowering;
  std::vector<Reduction> reductions;
  unsigned lanes = 1;
  bool alongRows = true;
  int64_t threadsPerRow = 1, rowsAtOnce = 1, rowsPerCta = 1;
  int64_t maxHeldValues = 1; ///< columns of a row that a thread may have at once
  int64_t sharedBytes = 0;
  std::vector<bool> isRowDim;              ///< of the root
  std::vector<size_t> rowDims, columnDims; ///< of the root
  Coordinates placeholders;                ///< the root's coordinates before they are known
  Coordinates pids;                        ///< tile of each root dim
  Coordinates rowCoordinates;              ///< of the current row, for each of rowDims
  Guard rowGuard;
  Expr member;  ///< this thread's number among those that share a row
  Expr rowSlot; ///< this thread's row among those processed at once
};

} // namespace tilewright
