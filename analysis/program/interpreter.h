// What the files of the interpreter share. Not for other folders.
//
//   interpret.cpp         grid, results, splits
//   interpret_loop.cpp    loops, rings, roles
//   interpret_op.cpp      ops
//   interpret_scalar.cpp  boxes of axes, scalar expressions
//   interpret_count.cpp   counters
#pragma once

#include "analysis/ir/evaluator_scalar.h"
#include "analysis/program/grid.h"
#include "analysis/program/interpret.h"
#include "analysis/program/point.h"
#include "analysis/program/threads_at_work.h"

#include <map>
#include <random>
#include <set>
#include <unordered_map>

namespace tilewright::program {

/// A box of lanes, in order of axes, the last one fastest.
struct Box {
  AxisSet axes;
  std::vector<int64_t> extents;
  int64_t size = 1;
};

/// Elements of a tile; integers and floats alike are doubles.
struct Elements {
  Box box;
  std::vector<double> data;
};

double combine(Monoid monoid, double a, double b);
/// Counters stop growing far beyond what can be run.
int64_t saturatingProduct(int64_t a, int64_t b);

class Interpreter {
public:
  Interpreter(const Program &program, std::span<const Tensor> inputs, const RunOptions &options);
  llvm::Expected<RunResult> run();

private:
  /// Whether the CTA goes on; it ends where others of its tile are still to arrive.
  enum class Flow : uint8_t { Next, CtaEnds, Failed };

  // Grid.
  llvm::Error prepare();
  llvm::Error runItem(const std::vector<int64_t> &tile, int64_t split);
  llvm::Error finish();
  llvm::Error fail(const Op &op, std::string message, DiagClass cls = DiagClass::BadInput);
  Flow failed(const Op &op, std::string message);
  bool spend(const Op &op, int64_t elements);

  // Boxes and scalars.
  Box boxOf(const AxisSet &axes) const;
  int64_t number(Expr expr) const;
  std::vector<int64_t> coordinates(AxisId axis) const;
  std::vector<bool> countingLanes(AxisId axis) const;
  /// Whether each point of a box counts, by the axes in `by`.
  std::vector<bool> counting(const Box &box, const AxisSet &by) const;
  std::vector<double> expanded(const Elements &from, const Box &box) const;
  /// Positions in `from` of each point of `box`, whose axes are a superset.
  std::vector<uint32_t> positions(const Box &from, const Box &box) const;
  bool indexValues(const Op &op, Expr index, const Box &box, std::vector<int64_t> &out);
  bool scalarValues(const Op &op, const ScalarExpr &scalar, const Box &box,
                    std::vector<double> &out);
  bool applyNode(const Op &op, const ScalarExpr &scalar, const ScalarNode &node,
                 std::vector<std::vector<double>> &values, std::vector<double> &out);
  const eval::ScalarOp *scalarOp(const ScalarExpr &scalar, const ScalarNode &node);
  static void convertTo(DType type, std::vector<double> &data);

  // Ops.
  Flow region(const Region &ops);
  Flow step(const Op &op);
  Flow kind(const Op &op, const LoadOp &o);
  Flow kind(const Op &op, const StoreOp &o);
  Flow kind(const Op &op, const AtomicOp &o);
  Flow kind(const Op &op, const CopyOp &o);
  Flow kind(const Op &op, const ReadOp &o);
  Flow kind(const Op &op, const WriteOp &o);
  Flow kind(const Op &op, const MapOp &o);
  Flow kind(const Op &op, const ReduceOp &o);
  Flow kind(const Op &op, const ScanOp &o);
  Flow kind(const Op &op, const DotOp &o);
  Flow kind(const Op &op, const FullOp &o);
  Flow kind(const Op &op, const RelayoutOp &o);
  Flow kind(const Op &op, const SelectAxisOp &o);
  Flow kind(const Op &op, const JoinOp &o);
  Flow kind(const Op &op, const ForOp &o);
  Flow kind(const Op &op, const IfOp &o);
  Flow kind(const Op &op, const SumSplitsOp &o);
  Flow kind(const Op &op, const BarrierOp &o);
  Flow kind(const Op &op, const RoleOp &o);

  /// Where the points of a box lie in a tensor: row-major positions, -1 for what is masked.
  bool access(const Op &op, const Access &access, const std::vector<Condition> &conditions,
              const Box &box, const std::vector<int64_t> &dims, std::vector<int64_t> &out);
  bool checkPadding(const Op &op, const Box &box, const std::vector<double> &data,
                    const AxisSet &over, Monoid monoid, DType type);
  void define(ValueId value, Elements elements);
  Elements scatterTarget(const AxisSet &axes) const;

  // Loops and rings.
  struct Ring {
    BufferId buffer;
    int64_t stages;
  };
  struct LoopRun {
    const Op *op;
    const ForOp *loop;
    int64_t low, high;
    int64_t lookAhead = 0; ///< steps that its body reads beyond the one at hand
    std::vector<Ring> rings;
    std::map<int64_t, std::vector<std::pair<BufferId, Elements>>> flying; ///< by step
  };
  int64_t lookAheadOf(const ForOp &loop) const;
  Flow issue(LoopRun &run, int64_t t);
  void land(LoopRun &run, int64_t t);
  void giveBack(LoopRun &run, int64_t t);
  Flow body(LoopRun &run, int64_t t, size_t begin, size_t end);
  Flow sameWarps(LoopRun &run);
  Flow producer(LoopRun &run);
  const Elements &slotOf(BufferId buffer, Expr step);
  Elements partOf(const Elements &slot, AxisId whole, AxisId part) const;

  // Counters: by what is executed, from the digits of layouts.
  void add(Count count, int64_t value) { result.counts[count] += value; }
  int64_t extentProduct(const std::vector<Digit> &digits) const;
  /// Warp instructions that move a tile held like this, vectors along `contiguous`.
  int64_t copiesIn(const Layout &layout) const; ///< threads that hold an element
  int64_t moves(const Layout &layout, AxisId contiguous) const;
  void countReduction(const Op &op, const ReduceOp &o, const Layout &held);
  void countDot(const Op &op, const DotOp &o);
  void countSectors(const Op &op, const Access &access, const std::vector<int64_t> &positions);
  int64_t registerWords(ValueId value) const;
  void traceOp(const Op &op);
  void finishTrace();
  void countShared();
  int64_t warpCount() const { return number(program.warps); }

  const Program &program;
  const ThreadsAtWork atWork{program};
  std::span<const Tensor> inputs;
  RunOptions options;
  std::mt19937_64 random;
  Environment environment;
  ExprContext gridContext;
  std::optional<GridMap> grid;
  RunResult result;
  uint64_t workLeft;
  int64_t slotElements = 0; ///< of all stages of all buffers
  std::optional<llvm::Error> error;

  // Of one CTA.
  std::vector<std::optional<Elements>> values;
  std::vector<std::vector<Elements>> slots; ///< by buffer and stage
  std::vector<int64_t> reading;             ///< stage at hand, by buffer
  std::vector<LoopRun *> loops;
  std::vector<std::pair<BufferId, Elements>> *copiesTo = nullptr; ///< copies on their way
  struct TraceEntry {
    std::vector<uint32_t> defined, used;
  };
  std::vector<TraceEntry> trace;
  bool isProducing = false;
  RoleId role; ///< of the region at hand

  // Of the whole kernel.
  struct Partial {
    std::vector<std::vector<Elements>> bySplit;
    int64_t arrived = 0;
  };
  std::map<std::vector<int64_t>, Partial> partials;
  std::vector<int64_t> tileAt;
  int64_t splitAt = 0;
  std::vector<std::vector<uint32_t>> stored; ///< by tensor: how often each element was
  std::set<const Op *> exchanges;            ///< reductions that go through shared memory
  std::map<const ScalarNode *, eval::ScalarOp> scalarOps;
  std::unordered_map<uint32_t, PointExpr> points;
};

} // namespace tilewright::program
