// ValueEmitter: code for "the value of this op at these coordinates".
//
// Coordinates are expressions over the kernel's own variables (CTA id, thread id, loop counters).
// An op is emitted by emitting its operands at the coordinates that its index maps give, down to
// parameters, which are loaded. Values are memoized by op and coordinates: one that is needed twice
// is computed once and stays in registers.
//
// Lanes: a thread often makes `lanes` neighbouring elements at once. Their coordinates differ only
// in the value of the lane variable, 0 … lanes - 1. Where the elements of a tensor lie one after
// the other and are aligned, they are loaded and stored as vectors of up to 16 bytes.
//
// Guards: conditions under which a value counts. Where one doesn't hold, the value is undefined,
// but no memory outside the tensor is touched.
#pragma once

#include "analysis/indexing/indexing.h"
#include "codegen/index_emitter.h"
#include "codegen/scalar_ops.h"

#include <map>
#include <span>

namespace tilewright {

using Coordinates = std::vector<Expr>;
using Guard = std::vector<MapConstraint>;

class ValueEmitter {
public:
  /// Of the entry of an extracted module; parameter i is buffer i of the kernel. `lanes` is the
  /// most lanes that will be asked for.
  ValueEmitter(KernelBuilder &builder, const Module &module, unsigned lanes);
  ~ValueEmitter();

  KernelBuilder &builder() { return k; }
  ScalarOps &scalars() { return ops; }
  ExprContext &context() { return exprs; }
  const Graph &graph() const { return ir; }

  // --- variables ----------------------------------------------------------------------------
  /// A new variable with the values that it can have and its value as an i32.
  Expr variable(VarKind kind, const std::string &name, Interval domain, llvm::Value *value);
  Expr lane() const { return laneVariable; }
  /// Sets how many lanes are requested from here on.
  void setLanes(unsigned lanes);
  Expr constant(int64_t value) { return exprs.constant(value); }
  Expr simplify(Expr expr) { return numbers.simplify(expr); }
  Interval range(Expr expr) { return numbers.range(expr); }
  /// Row-major coordinates of position `linear` in a box of these extents; order[0] is the dim
  /// that varies fastest.
  Coordinates delinearize(Expr linear, const std::vector<int64_t> &extents,
                          const std::vector<int64_t> &minorToMajor);

  /// The number, as i32 or i64 (see indexType()).
  llvm::Value *index(Expr expr) { return numbers.index(expr); }
  llvm::Type *indexType() const { return numbers.type(); }
  /// An i1, or null if the guard always holds. The guard must not depend on the lane.
  llvm::Value *holds(const Guard &guard);
  llvm::Value *holdsAtLane(const Guard &guard, unsigned lane) { return holds(atLane(guard, lane)); }
  llvm::Value *indexAtLane(Expr expr, unsigned lane) { return index(atLane(expr, lane)); }
  /// Adds coordinate_i ∈ [0, extent_i) for every dim where that is not certain.
  void addDomain(Guard &guard, const Coordinates &coordinates, const std::vector<int64_t> &extents);
  bool dependsOnLane(Expr expr) const;

  // --- values -------------------------------------------------------------------------------
  /// Values that the lowering supplies itself: called for every requested op; returns nothing for
  /// ops that are emitted in the usual way.
  using Supplier = std::function<llvm::Expected<std::optional<Values>>(OpId, const Coordinates &,
                                                                       unsigned lanes)>;
  void setSupplier(Supplier newSupplier) { supplier = std::move(newSupplier); }

  /// One value a lane; for an op with several results all lanes of the first, then of the second,
  /// and so on. Errors: Unsupported, naming the op and why it has no code.
  llvm::Expected<Values> values(OpId op, const Coordinates &coordinates, const Guard &guard,
                                unsigned lanes);

  /// Ops whose values are provisional from here on: of a row that is not complete yet, or without a
  /// factor that is applied later. They are not traced.
  void setUntraced(std::vector<bool> byOp) { untraced = std::move(byOp); }

  /// Stores one value a lane to an output buffer. Errors: Unsupported where the lanes are not whole
  /// bytes.
  llvm::Error store(unsigned buffer, const Shape &shape, const Coordinates &coordinates,
                    const Guard &guard, const Values &lanes);

  /// Offset of an element, in elements, in the physical order of the shape.
  static Expr offsetOf(const Shape &shape, const Coordinates &coordinates);

  /// RAII for code inside a loop or a branch: values memoized in it are forgotten at its end.
  class Scope {
  public:
    explicit Scope(ValueEmitter &emitter);
    ~Scope();

  private:
    ValueEmitter &emitter;
    IndexEmitter::Scope inner;
  };

  /// If the op is a parameter seen through data movement alone: that parameter and the coordinates
  /// in it. Otherwise empty.
  std::optional<std::pair<OpId, Coordinates>> seenThroughMovement(OpId op, Coordinates coordinates);

  /// An op whose lanes are contiguous in a buffer and aligned as one vector.
  struct DirectAccess {
    unsigned buffer;
    Expr offset; ///< of lane 0, in elements
    Guard guard; ///< the same for all lanes
  };
  /// Empty if the op is computed, or its lanes are not contiguous.
  std::optional<DirectAccess> directAccess(OpId op, const Coordinates &coordinates,
                                           const Guard &guard, unsigned lanes);

  /// The coordinates at which every path from `from` reads `to`, if there is one and they all
  /// agree; paths through ops in `closed` don't count. Unsupported otherwise.
  llvm::Expected<std::optional<Coordinates>> readAt(OpId from, const Coordinates &coordinates,
                                                    OpId to, std::span<const OpId> closed = {});

private:
  struct AccessPattern;
  /// A range variable of a map and the kernel's expression that stands for it.
  struct Binding {
    Expr var, at;
  };
  llvm::Expected<Values> emit(OpId op, const Coordinates &coordinates, const Guard &guard,
                              unsigned lanes);
  llvm::Expected<Values> emitElementwise(OpId id, const OpIndexing &maps,
                                         const Coordinates &coordinates, const Guard &guard,
                                         unsigned lanes);
  llvm::Expected<Values> emitConcatenation(OpId id, const OpIndexing &maps,
                                           const Coordinates &coordinates, const Guard &guard,
                                           unsigned lanes);
  llvm::Expected<Values> emitPad(OpId id, const OpIndexing &maps, const Coordinates &coordinates,
                                 const Guard &guard, unsigned lanes);
  llvm::Expected<Values> emitConstant(OpId id, const Coordinates &coordinates, const Guard &guard,
                                      unsigned lanes);
  Values emitIota(const Op &op, const Coordinates &coordinates, unsigned lanes);
  Values load(OpId parameter, const Coordinates &coordinates, const Guard &guard, unsigned lanes);
  /// Operand values through one map of the op; reads its runtime variables first.
  llvm::Expected<Values> throughMap(OpId id, unsigned operand, const IndexMap &map,
                                    const Coordinates &coordinates, const Guard &guard,
                                    unsigned lanes, Guard *conditions,
                                    const std::vector<Binding> &ranges = {});
  /// True if the lanes read different elements of an index operand.
  bool readsIndicesByLane(const OpIndexing &maps, const Coordinates &coordinates);

  // Direct loops, emit_loops.cpp.
  using RangeBody = std::function<llvm::Error(const std::vector<Binding> &bound, Values &carried)>;
  /// `body` for every point of the box of these variables, the last varying fastest.
  llvm::Error forRanges(const std::vector<MapVariable> &ranges, Values &carried,
                        const RangeBody &body);
  /// A computation that folds values; a combiner if it is one of those.
  struct Folding {
    const Graph *reducer;
    std::optional<Combiner> combiner;
  };
  llvm::Expected<Folding> foldingOf(const Op &op, CallRole role, size_t results);
  llvm::Expected<Values> fold(const Folding &folding, DType type, const Values &before,
                              const Values &next);
  llvm::Expected<Values> emitIteration(OpId id, const OpIndexing &maps,
                                       const Coordinates &coordinates, const Guard &guard,
                                       unsigned lanes);
  llvm::Expected<Values> emitContraction(OpId id, const OpIndexing &maps,
                                         const Coordinates &coordinates, const Guard &guard,
                                         unsigned lanes);
  llvm::Expected<Values> emitFold(OpId id, const OpIndexing &maps, const Coordinates &coordinates,
                                  const Guard &guard, unsigned lanes);
  llvm::Expected<Values> emitScatter(OpId id, const OpIndexing &maps,
                                     const Coordinates &coordinates, const Guard &guard,
                                     unsigned lanes);
  llvm::Expected<Values> emitSelectAndScatter(OpId id, const OpIndexing &maps,
                                              const Coordinates &coordinates, const Guard &guard,
                                              unsigned lanes);
  llvm::Expected<Values> emitUpdate(OpId id, const OpIndexing &maps, const Coordinates &coordinates,
                                    const Guard &guard, unsigned lanes);

  /// The condition at lane 0, if it is the same for all lanes.
  std::optional<MapConstraint> forAllLanes(const MapConstraint &condition);
  llvm::Expected<const OpIndexing *> indexing(OpId op);
  AccessPattern accessPattern(const Shape &shape, const Coordinates &coordinates,
                              const Guard &guard, unsigned lanes);
  Expr atLane(Expr expr, unsigned lane);
  Guard atLane(const Guard &guard, unsigned lane);
  Guard simplified(const Guard &guard);
  llvm::Value *bytes(llvm::Value *elements, DType type);
  llvm::Value *fromByte(llvm::Value *byte, llvm::Value *element, DType type);
  llvm::Error spend(const Op &op, unsigned amount);
  void trace(OpId op, const Coordinates &coordinates, const Guard &guard, unsigned lanes,
             const Values &values);

  KernelBuilder &k;
  llvm::IRBuilder<> &b;
  const Module &module;
  const Graph &ir;
  ScalarOps ops;
  ExprContext exprs;
  IndexEmitter numbers;
  Expr laneVariable;
  unsigned laneCount;
  Supplier supplier;
  std::vector<bool> untraced; ///< by op; ops beyond its end are traced
  std::map<OpId, OpIndexing> indexings;
  std::vector<std::map<std::vector<uint32_t>, Values>> memos; ///< innermost scope last
  unsigned depth = 0;
  int64_t budget;
  unsigned runtimeVariables = 0;
};

} // namespace tilewright
