// What the files of emission share. Not for other folders.
//
//   emit.cpp           the kernel: grid, turns, roles
//   emit_region.cpp    ops in order, loops, conditions
//   emit_tile.cpp      full, relayout, select.axis, join; registers in another layout
//   emit_scalar.cpp    maps
//   tensor_access.cpp  load, store, atomic
//   slot_access.cpp    read, write; matrix_reader.cpp: fragments
//   emit_reduce.cpp    reduce, scan
//   emit_copy.cpp      copies by the warps that read them
//   emit_tensor_copy.cpp  copies by TMA, and a producer's
//   emit_produced_loop.cpp  what consumers run of a producer's loops; emit_rotated_loop.cpp: of two
//                      products, of which the second one overlaps with the next step
//   emit_dot.cpp       dots by fma and mma.sync; emit_wgmma.cpp: by wgmma
//   emit_splits.cpp    sum.splits
#pragma once

#include "analysis/program/box.h"
#include "codegen/emit/shared_plan.h"
#include "codegen/index_emitter.h"
#include "codegen/scalar_ops.h"

#include <set>

namespace tilewright::emit {

using program::Access;
using program::Axis;
using program::Condition;
using program::Monoid;
using program::Region;
using program::ScalarExpr;
using program::ScalarNode;
using program::TensorId;
using program::Tile;
using program::ValueId;

using program::AtomicOp;
using program::BarrierOp;
using program::CopyOp;
using program::CopyWay;
using program::DotOp;
using program::DotWay;
using program::ForOp;
using program::FullOp;
using program::IfOp;
using program::JoinOp;
using program::LoadOp;
using program::MapOp;
using program::ReadOp;
using program::ReduceOp;
using program::RelayoutOp;
using program::RoleOp;
using program::ScanOp;
using program::SelectAxisOp;
using program::StoreOp;
using program::SumSplitsOp;
using program::WriteOp;

/// Where the steps of a ring stand: the stage at hand, and the parity of its phase where mbarriers
/// guard it.
struct RingStep {
  llvm::Value *stage = nullptr, *parity = nullptr;
  Expr step; ///< the loop's variable
};

/// A copy that has been started outside of loops and not been waited for.
struct OpenCopy {
  const Op *op;
  BufferId buffer;
};

/// A view of a tensor for TMA, and which copy it is for.
struct PlannedMap {
  unsigned number = 0;
  int64_t pieces = 1, pieceRows = 0; ///< of a slot's rows, a box each
  size_t cutDim = 0;                 ///< of the box, that pieces lie along
  int64_t panels = 1, panelBytes = 0, panelElements = 0;
  std::vector<program::BoxDim> box = {};
};

/// One kernel in the making: what ops read and change.
struct Emission {
  Emission(const Program &p, IndexEmitter &index, ScalarOps &ops, const SharedPlan &shared,
           const std::map<const Op *, PlannedMap> &maps)
      : p(p), k(index.builder()), b(k.b), index(index), ops(ops), shared(shared),
        pending(p, shared.regions), maps(maps), values(p.values.size()), loads(p.values.size()),
        rings(p.buffers.size()) {}

  const Program &p;
  KernelBuilder &k;
  llvm::IRBuilder<> &b;
  IndexEmitter &index;
  ScalarOps &ops;
  const SharedPlan &shared;
  PendingReads pending;
  const std::map<const Op *, PlannedMap> &maps;

  const Graph *graph = nullptr; ///< of sources; null: they are not traced
  int64_t warps = 1;            ///< of the consumers
  Expr lane, warp;              ///< of the thread, as expressions of its number
  std::vector<Expr> current;    ///< by VarId: what stands for a loop's variable in the step at hand
  std::vector<bool> isKnown;    ///< by VarId: variables that have a value here
  std::vector<Values> values;   ///< by ValueId, a value a register; empty: none yet
  std::vector<const Op *> loads; ///< by ValueId: the load that made it, where it may be repeated
  std::vector<RingStep> rings;   ///< by BufferId; of a producer's rings from the start on
  std::vector<OpenCopy> open;
  std::optional<unsigned> partials, counters;                ///< workspaces of sum.splits
  llvm::Value *tileNumber = nullptr, *splitNumber = nullptr; ///< where there are splits
  llvm::Value *warpgroup = nullptr;             ///< uniform; where a producer stands beside
  unsigned accumulators = 0;                    ///< of wgmma, numbered as they are made
  std::map<ValueId, unsigned> firstAccumulator; ///< of values that wgmma sums up
  std::set<ValueId> flying; ///< sums of which a group may stay in flight behind a step's products
  bool isInTurns = false;   ///< the CTA makes more than one item

  int64_t threads() const { return warps * 32; }
  /// A barrier of the consumers.
  void barrier();
  /// A barrier, if reads of that memory are pending.
  void beforeWrite(SharedRegion region);

  bool knows(Expr expr) const;
  /// A program's expression in the step at hand.
  Expr now(Expr expr) const { return substitute(expr, std::span<const Expr>(current)); }
  /// Coordinate of an axis at a lane; outside of the loop that moves it, the lane.
  Expr coordinate(AxisId axis, Expr laneAlong) const;
  /// Does an axis cut off lanes here?
  bool isCut(AxisId axis) const;
  int64_t extent(AxisId axis) const { return p[axis].extent.constant(); }
  Expr number(int64_t value) const { return p.number(value); }

  llvm::Error unsupported(const Op &op, std::string message) const {
    return p.errorAt(op.where, std::move(message), DiagClass::Unsupported);
  }
  /// Errors: Unsupported for a layout that is not held by exactly the consumers.
  llvm::Expected<HeldLayout> held(const Op &op, const Layout &layout) const;
  /// The lane along an axis of register r's element.
  Expr laneOf(const HeldLayout &held, AxisId axis, int64_t r) const {
    return held.threadPart(axis, lane, warp) + held.registerPart(axis, r);
  }
  void define(ValueId value, Values registers) {
    values[value.index] = std::move(registers);
    loads[value.index] = nullptr;
  }
};

// Regions.
llvm::Error emitRegion(Emission &e, const Region &region);
llvm::Error emitOps(Emission &e, const Region &region, size_t begin, size_t end);
llvm::Error emitOp(Emission &e, const Op &op, const ForOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const IfOp &o);
/// Values that ops assign; those of them that have a value already; and an end to the others behind
/// a loop.
std::set<ValueId> assignedIn(const Region &region);
std::vector<ValueId> definedBefore(const Emission &e, const Region &region);
void forgetInner(Emission &e, const Region &region, const std::vector<ValueId> &carried);
/// Rings of a producer that loops in a region fill.
std::vector<BufferId> producedIn(const Program &p, const Region &region);
/// What a loop or a condition hands on: registers of values, and where the rings of a producer
/// stand.
class Carried {
public:
  Carried(Emission &e, std::vector<ValueId> values, const std::vector<BufferId> &rings);
  Values get() const;
  std::vector<size_t> counts() const; ///< of each value's registers
  void set(std::span<llvm::Value *const> from, std::span<const size_t> counts);

private:
  Emission &e;
  std::vector<ValueId> values;
  std::vector<std::vector<BufferId>> rings; ///< those that always stand alike are one
};
/// The consumers' part of a loop whose copies a producer runs.
llvm::Error emitProducedLoop(Emission &e, const Op &op, const ForOp &loop);
/// What a producer does: the loops whose copies it runs, and what stands around them.
llvm::Error emitProducerRegion(Emission &e, const Region &region);
struct LoopRange {
  llvm::Value *low, *high; ///< i32
  Interval domain;         ///< of its variable
};
LoopRange rangeOf(Emission &e, const ForOp &loop);
/// RAII: the loop's variable has this value until the end of the scope.
class LoopStep {
public:
  LoopStep(Emission &e, const ForOp &loop, const LoopRange &range, llvm::Value *step);
  ~LoopStep();

private:
  Emission &e;
  IndexEmitter::Scope scope;
  VarId var;
  Expr outer;
  bool wasKnown;
};
/// Runs `step` for each trip of a loop, several at a time where it is unrolled.
Values emitTrips(Emission &e, const ForOp &loop, const LoopRange &range, const Values &initial,
                 const std::function<Values(llvm::Value *, const Values &)> &step);
/// The stage so many steps later: less than twice as many as there are.
llvm::Value *laterStage(Emission &e, llvm::Value *stage, int64_t steps, int64_t stages);

// Tiles.
/// The registers of a value as a thread needs them that holds `wanted`, one for each of its
/// registers: those that it has, or a load repeated. Errors: Unsupported where others hold them.
llvm::Expected<Values> registersIn(Emission &e, const Op &op, ValueId value,
                                   const HeldLayout &wanted);
/// One for each register of `wanted` from those of a layout with the same threads.
std::optional<Values> pickRegisters(const Values &from, const HeldLayout &held, const AxisSet &axes,
                                    const HeldLayout &wanted);
llvm::Error emitOp(Emission &e, const Op &op, const FullOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const RelayoutOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const SelectAxisOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const JoinOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const BarrierOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const RoleOp &o);

// Scalars.
/// A scalar expression at each register of a layout, in its own type.
llvm::Expected<Values> evaluate(Emission &e, const Op &op, const ScalarExpr &scalar,
                                const HeldLayout &held);
llvm::Error emitOp(Emission &e, const Op &op, const MapOp &o);
/// Reports the value that register r has of a node, which moves along these axes, for each op of
/// the graph whose element it is (traced kernels alone).
void trace(Emission &e, const program::ScalarNode &node, const AxisSet &axes,
           const HeldLayout &held, int64_t r, llvm::Value *value);

// Memory.
/// `count` neighbours in memory as one value, and back: integers of their bits, words of 32 bits or
/// elements of at least as many.
llvm::Type *vectorType(Emission &e, DType type, unsigned count);
llvm::Value *packed(Emission &e, DType type, const Values &elements);
Values unpacked(Emission &e, DType type, llvm::Value *vector, unsigned count);
/// The elements of a box at each register of a layout.
llvm::Expected<Values> loadTile(Emission &e, const Op &op, const LoadOp &o, const AxisSet &axes,
                                const HeldLayout &held);
llvm::Error emitOp(Emission &e, const Op &op, const LoadOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const StoreOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const AtomicOp &o);

/// Lanes along axes, for accesses: by AxisId, null where an access does not move along it.
using LaneTable = std::vector<Expr>;
/// Where an element of a tensor lies, and what has to hold for it to count.
struct PlacedElement {
  Expr offset; ///< elements
  std::vector<MapConstraint> conditions;
};
/// These lanes are elements of the tile, and they count.
void requireCounting(Emission &e, std::vector<MapConstraint> &conditions, const LaneTable &lanes);
/// `indices`: expressions for values that stand in the access, by ValueId.
PlacedElement placeElement(Emission &e, const Access &access,
                           const std::vector<Condition> &conditions, const LaneTable &lanes,
                           const std::map<ValueId, Expr> &indices = {});
/// Whether `others`, the next elements in order, follow `first` in memory, are counted as it is,
/// and it is aligned for all of them.
bool areOneAccess(Emission &e, const PlacedElement &first, std::span<const PlacedElement> others);
/// Each axis' lane of register r is one of the tile: holders may reach further.
void requireInside(Emission &e, std::vector<MapConstraint> &conditions, const HeldLayout &held,
                   const AxisSet &axes, int64_t r);
/// The first holder of copies.
void requireFirstCopy(Emission &e, std::vector<MapConstraint> &conditions, const HeldLayout &held);
/// All conditions, null where they are certain to hold.
llvm::Value *holdAll(Emission &e, const std::vector<MapConstraint> &conditions);
/// A byte offset as one that is computed and one that an instruction adds.
struct ByteOffset {
  llvm::Value *computed; ///< i64
  int64_t constant;
};
ByteOffset byteOffset(Emission &e, Expr elements, unsigned elementBits);

// Shared memory.
/// The byte offset of a buffer's slot: of the step at hand, or of a later one.
llvm::Value *slotOffset(Emission &e, BufferId buffer, Expr step);
/// Offsets of elements of a slot, of which a thread's part is computed once.
class SlotAddress {
public:
  /// Row and byte in a row, of a thread; bits that they may set (all ones: unknown).
  struct Part {
    llvm::Value *row, *byte;
    uint64_t rowBits, byteBits;
    llvm::Value *permuting; ///< row along the axis before the last
    uint64_t permutingBits;
  };
  SlotAddress(Emission &e, const BufferPlace &place, llvm::Value *slot, Part part);
  /// The offset (i32) of what lies further by constants; `permuting`: along the axis before the
  /// last.
  llvm::Value *at(int64_t row, int64_t byte, int64_t permuting = 0);

private:
  llvm::Value *from(llvm::Value *row, llvm::Value *byte);
  llvm::Value *permuted(int64_t row, int64_t byte, int64_t permuting);
  Emission &e;
  BufferPlace place;
  llvm::Value *slot;
  Part part;
  llvm::Value *base;
  llvm::Value *linear = nullptr, *pattern = nullptr; ///< of permuted slots
};
/// A buffer's elements as a layout over its axes holds them.
llvm::Expected<Values> readSlot(Emission &e, const Op &op, BufferId buffer, Expr step,
                                const HeldLayout &held);
/// The same along a part of its axes.
llvm::Expected<Values> readPartOfSlot(Emission &e, const Op &op, const ReadOp &read,
                                      const HeldLayout &held);
/// Registers to a buffer's slot, each element once. Errors: Unsupported where elements share a
/// byte.
llvm::Error writeSlot(Emission &e, const Op &op, BufferId buffer, const Values &registers,
                      const HeldLayout &held);
AxisSet axesOfBuffer(const Buffer &buffer);
llvm::Error emitOp(Emission &e, const Op &op, const ReadOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const WriteOp &o);
/// The thread's row and byte of a buffer whose axes a layout holds; a row is of all axes but the
/// last. `first`: where the first axis starts; null: at 0.
SlotAddress slotAddressOf(Emission &e, const Buffer &buffer, const BufferPlace &place,
                          llvm::Value *slot, const HeldLayout &held, Expr first = Expr());
/// What a register adds: to the row, to the byte in it, and to the row along the axis before the
/// last.
struct RegisterOffset {
  int64_t row, byte, permuting;
};
RegisterOffset registerOffset(Emission &e, const Buffer &buffer, const HeldLayout &held, int64_t r);

/// The blocks that a warp has of an operand of mma.sync: 16 rows of a left one, 8 columns of a
/// right one, in r x c warps.
struct FragmentBlocks {
  AxisId free, k;
  int64_t count, r, c;
  bool isLeft;
};
/// Reads fragments of a slot by ldmatrix.
class MatrixReader {
public:
  static bool canRead(const Emission &e, BufferId buffer, const FragmentBlocks &blocks);
  /// Precondition: canRead().
  MatrixReader(Emission &e, BufferId buffer, Expr step, const FragmentBlocks &blocks);
  /// Words of all blocks of a step of 32 bytes: four of a left one, two of a right one.
  std::vector<Values> words(int64_t step);

private:
  Emission &e;
  FragmentBlocks blocks;
  bool isKMinor;
  std::optional<SlotAddress> address;
};
/// The registers of a read that asks for a fragment; nothing where ldmatrix can't.
std::optional<Values> readFragment(Emission &e, const ReadOp &o, const HeldLayout &held);

// Reductions.
llvm::Error emitOp(Emission &e, const Op &op, const ReduceOp &o);
llvm::Error emitOp(Emission &e, const Op &op, const ScanOp &o);
llvm::Value *combine(Emission &e, Monoid monoid, DType type, llvm::Value *x, llvm::Value *y);
/// A value of an argmax or argmin and where it stands, an i32.
struct Placed {
  llvm::Value *value, *place;
};
Placed betterOf(Emission &e, Monoid monoid, DType type, const Placed &x, const Placed &y);
llvm::Value *identityValue(Emission &e, Monoid monoid, DType type);

// Copies.
llvm::Error emitOp(Emission &e, const Op &op, const CopyOp &o);
/// The copies of one step into a stage of their rings, by all consumers.
llvm::Error emitIssue(Emission &e, const ForOp &loop);
/// The views that TMA copies take, in order of the text. Errors: Unsupported where one can't.
llvm::Expected<std::vector<TensorMap>> planMaps(const Program &p, const SharedPlan &shared,
                                                std::map<const Op *, PlannedMap> &maps);
/// Starts a TMA copy into a slot, of whose bytes the barrier was told; called by one thread.
void emitTensorCopy(Emission &e, const Op &op, const CopyOp &o, llvm::Value *slot,
                    llvm::Value *barrier);
int64_t tensorCopyBytes(const Emission &e, const Op &op);
/// Rings that are filled, read and given back together wait at the mbarriers of one of them.
BufferId leaderOf(const Program &p, BufferId ring);
/// Waits for copies outside of loops that an op, or what stands in it, reads.
void waitForCopies(Emission &e, const Op &op);

// Dots.
llvm::Error emitOp(Emission &e, const Op &op, const DotOp &o);
/// The shape of an accumulator: r x c warps, or warpgroups, each with blocks of 16, or 64, rows and
/// 8 columns.
struct MatrixShape {
  AxisId i, j, k;
  bool isGroup = false; ///< warpgroups
  int64_t r = 1, c = 1, blocksI = 1, blocksJ = 1;
  int64_t steps = 1; ///< of 32 bytes along k
};
/// Errors: Unsupported for several contracted axes, or a batch in a tile.
llvm::Expected<MatrixShape> matrixShapeOf(Emission &e, const Op &op, const DotOp &o);
/// An operand in the registers of its fragment.
llvm::Expected<Values> fragmentOf(Emission &e, const Op &op, const ScalarExpr &scalar,
                                  const MatrixShape &shape, bool isLeft);
llvm::Error emitWarpgroupDot(Emission &e, const Op &op);
/// The packed fragments of a left operand that registers hold; none of one in shared memory.
llvm::Expected<Values> leftWordsOf(Emission &e, const Op &op);
/// Starts the products; their sums are valid behind finishProducts().
llvm::Error startWarpgroupDot(Emission &e, const Op &op, const Values &leftWords);
/// Waits until so many groups of products at most are pending; the registers of sums that were in
/// flight are valid behind it.
void finishProducts(Emission &e, ValueId sums, unsigned pending);
/// A fragment's words: a step of 32 bytes along the contracted axis, and a block of rows (16 of a
/// left operand) or columns (8 of a right one).
Values fragmentWords(Emission &e, DType type, const Values &registers, int64_t steps, int64_t step,
                     int64_t block, bool isLeft);

// Splits.
/// Leaves the partial sums; the last CTA of a tile goes on with `rest`.
llvm::Error emitSplits(Emission &e, const Op &op, const SumSplitsOp &o,
                       const std::function<llvm::Error()> &rest);

} // namespace tilewright::emit
