// What the files of the builder share. Not for other folders.
//
//   builder.cpp       axes, layouts, results
//   rows.cpp          threads and steps of rows that are reduced
//   levels.cpp        regions of loops, values in them
//   value.cpp         a value at coordinates: movement of data
//   access.cpp        loads, conditions, index tiles
//   pointwise.cpp     elementwise ops as scalar expressions
//   reduce.cpp        reductions
//   reduce_index.cpp  argmax and argmin
//   matrix_axes.cpp   axes of a dot of tiles
//   dot.cpp           a dot of tiles
//   chain.cpp         dots beside dots and reductions
//   windowed.cpp      loops over windows and contracted dims
//   iterate.cpp       other loops with carried values: scatters, reducers of their own
//   complex.cpp       complex numbers as two real ones
//
// A value is asked for by op and coordinates, which are expressions over axes and loop variables;
// an op asks its operands at the coordinates that its index maps give, down to loads. Equal
// questions are one value. Where its coordinates move with a loop, a value lies in that loop's
// region, else outside.
#pragma once

#include "analysis/affine/simplify.h"
#include "analysis/indexing/indexing.h"
#include "analysis/ir/fill.h"
#include "analysis/ir/numeric.h"
#include "analysis/program/build/build.h"
#include "analysis/program/build/frame.h"
#include "analysis/program/build/tidy.h"
#include "analysis/program/pad_state.h"

#include <map>
#include <set>

namespace tilewright::program {

using Coordinates = std::vector<Expr>;
/// Where it does not hold a value is not looked at.
using Guard = std::vector<MapConstraint>;

class Builder {
public:
  Builder(const Module &module, const Graph &graph, const TiledGroup &group, const Variant &variant,
          Frame frame);
  llvm::Expected<Program> run();

private:
  /// A leaf of scalar expressions: a value, an integer expression or a number.
  using Leaf = ScalarNode;
  using Made = llvm::Expected<Leaf>;

  /// A range variable of a map and what stands for it.
  struct Binding {
    Expr var, at;
  };

  /// The body of the program, or of a loop that is being built.
  struct Level {
    Region ops;
    Expr step;        ///< the loop's variable; null: the program
    std::string name; ///< of it
    Expr trips;
    Region issue;                                ///< copies of a dot's operands
    std::map<std::vector<uint32_t>, Leaf> known; ///< by question
  };

  // builder.cpp
  llvm::Error makeTensors();
  llvm::Error makeTensor(OpId op, const Shape &shape, const std::string &name, bool isResult);
  void makeSizes();
  llvm::Error makeAxes();
  void makeTileAxes();
  AxisId makeAxis(unsigned parameter);
  std::vector<unsigned> axisOrder() const;
  void makeLayoutSizes();
  Expr rowsOfWarps();
  std::optional<LayoutSpec> layoutOf(const AxisSet &axes) const;
  std::optional<Coordinates> coordinatesOf(OpId root);
  std::optional<Coordinates> readAt(OpId from, const Coordinates &at, OpId op);
  std::optional<Coordinates> whereReduced(OpId root);
  llvm::Error storeResults();
  llvm::Error store(OpId root, const Coordinates &at);
  llvm::Error store(OpId root, unsigned result, const Shape &shape, const Coordinates &at);
  void tidy();
  bool isWhole(unsigned parameter) const { return variant.isWhole[parameter]; }
  bool isOne(unsigned parameter) const {
    return parameter < variant.isOne.size() && variant.isOne[parameter];
  }
  bool isPadded(unsigned parameter) const {
    return parameter < variant.isPadded.size() && variant.isPadded[parameter];
  }
  /// While it lives, what an op goes over has axes and loops of its own where it is asked for along
  /// those that its parameters have: the scores of a row for each of their own columns.
  class Renewed {
  public:
    Renewed(Builder &builder, OpId id, const Coordinates &at);
    ~Renewed();
    Renewed(const Renewed &) = delete;
    Renewed &operator=(const Renewed &) = delete;

  private:
    struct Known {
      unsigned parameter;
      AxisId axis;
      Expr step;
      std::string name;
    };
    Builder &b;
    std::vector<Known> known;
  };
  AxisId rowAxis() const;
  bool isStepped(unsigned parameter) const { return bool(steps[parameter]); }

  // rows.cpp
  Expr rowStep(unsigned parameter, const Axis &axis);
  void makeRowSizes();
  Expr threadsAlongRow(Expr rows) const;
  Expr threadsAcrossRows(Expr rows) const;
  void makeRowSteps(Expr sharing);

  // levels.cpp
  unsigned levelOf(Expr e) const;
  unsigned levelOf(const Coordinates &at, const Guard &guard) const;
  unsigned levelOf(const Leaf &leaf) const;
  ValueId newValue(DType type, AxisSet axes, unsigned level);
  void append(unsigned level, OpAttributes what, std::vector<ValueId> results);
  Leaf leafOf(ValueId value) const;
  Leaf leafOf(Expr e) const;
  static Leaf numberOf(double value);
  /// A map, unless the expression is one leaf.
  Leaf mapOf(ScalarExpr scalar);
  /// The same as a value, whatever it is; with these axes at least.
  ValueId materialised(const Leaf &leaf, const AxisSet &axes = {});
  AxisSet axesOf(const Leaf &leaf) const;
  /// Opens a loop at a level; deeper ones are put aside until it is closed.
  void openLoop(unsigned level, Expr step, std::string name, Expr trips);
  void closeLoop();
  struct Aside {
    std::vector<Level> levels;
  };
  Aside putAside(unsigned level);
  void putBack(Aside aside);
  Expr simplify(Expr e) { return simplifier->simplify(e); }
  void setBounds(Expr var, Interval range);

  // value.cpp
  Made value(OpId op, Coordinates at, const Guard &guard, unsigned result = 0);
  static std::vector<uint32_t> keyOf(OpId op, const Coordinates &at, const Guard &conditions,
                                     unsigned result);
  Made make(OpId op, const Coordinates &at, const Guard &guard, unsigned result);
  Made throughMap(OpId op, unsigned operand, const IndexMap &map, const Coordinates &at,
                  const Guard &guard, Guard *conditions, const std::vector<Binding> &ranges = {});
  Made concatenation(OpId op, const OpIndexing &maps, const Coordinates &at, const Guard &guard);
  Made padded(OpId op, const OpIndexing &maps, const Coordinates &at, const Guard &guard);
  Made updated(OpId op, const OpIndexing &maps, const Coordinates &at, const Guard &guard);
  Made constant(OpId op, const Coordinates &at);
  Made iota(OpId op, const Coordinates &at);
  llvm::Expected<const OpIndexing *> indexing(OpId op);
  llvm::Error unsupported(OpId op, std::string why) const;
  Guard simplified(const Guard &guard);

  // access.cpp
  Made load(TensorId tensor, const Shape &shape, const Coordinates &at, const Guard &guard);
  /// What a load holds where its lanes do not count, or its conditions do not hold. False where it
  /// can't be chosen: not a load, or chosen before.
  bool setElse(const Leaf &leaf, double number);
  LoadOp *openLoad(ValueId value);
  bool mayChoose(ValueId load, double number);
  void choose(ValueId load, double number);
  Pad padOf(const Leaf &leaf, const AxisSet &axes, double number, std::set<ValueId> &loads);
  /// Lets loads hold numbers of which the value is the identity beyond the end of any of the axes.
  /// False where none does.
  bool padWith(const Leaf &leaf, const AxisSet &axes, double identity);
  /// A predicate; nothing where it always holds.
  llvm::Expected<std::optional<Leaf>> predicate(OpId op, const Guard &conditions);
  llvm::Expected<uint32_t> nodesOf(ScalarExpr &into, OpId op, Expr e);
  Made select(const std::optional<Leaf> &condition, const Leaf &yes, const Leaf &no, DType type);

  // pointwise.cpp
  Made pointwise(const tilewright::Op &op, std::vector<Leaf> operands, std::vector<DType> types,
                 bool rounds = true);
  Made folded(const tilewright::Op &op, const std::vector<Leaf> &operands,
              const std::vector<DType> &types);
  std::optional<Leaf> foldedIndex(const tilewright::Op &op, const std::vector<Leaf> &operands);
  /// A computation on scalars: the leaves of its root.
  llvm::Expected<std::vector<Leaf>> computation(const Graph &called, std::vector<Leaf> arguments,
                                                bool rounds);
  Made converted(const Leaf &leaf, DType from, DType to);
  Made binary(Opcode opcode, const Leaf &a, const Leaf &b, DType type, bool rounds = true);

  // reduce.cpp
  Made reduction(OpId op, const Coordinates &at, const Guard &guard, unsigned result);
  /// What a reduction has open while its input is asked for.
  struct Pass {
    std::vector<unsigned> parameters;
    AxisSet over, moving; ///< reduced axes; those of which lanes may not count
    unsigned outer = 0, opened = 0;
    Aside aside;
  };
  llvm::Expected<Pass> openPass(OpId op, const Coordinates &at, const Guard &guard);
  void closeLoops(const Pass &pass);
  Leaf reduced(const Pass &pass, Monoid monoid, const Leaf &of);
  // matrix_axes.cpp
  int64_t wholeInstructions(std::optional<DotSide> side) const;
  llvm::Error makeContractedAxis();
  void makeGridVariable(unsigned dim);
  llvm::Error makeMatrixAxes();
  AxisId makeSide(DotSide side, const std::vector<unsigned> &dims);
  Expr warpgroupRows(Expr rows) const;
  // dot.cpp
  /// The contracted dims of a dot: their parameters, what stands for them, and their axes.
  struct Contracted {
    std::vector<unsigned> parameters;
    std::vector<Binding> bound;
    AxisSet over;
  };
  llvm::Expected<Contracted> contracted(OpId dot);
  std::optional<DotSide> sideOf(AxisId axis) const;
  Guard guardOf(DotSide side, const Guard &guard) const;
  static bool isPlain(const ScalarExpr &scalar);
  llvm::Expected<ScalarExpr> operandAt(OpId dot, unsigned number, const Coordinates &at,
                                       const Guard &guard);
  Made product(OpId op, const Coordinates &at, const Guard &guard);
  llvm::Expected<ScalarExpr> operandOf(OpId dot, const Leaf &leaf);
  llvm::Expected<BufferId> ringOf(OpId dot, ValueId load);
  llvm::Expected<Buffer> bufferFor(OpId dot, ValueId load);
  Pad padOfSlots(const ScalarExpr &scalar) const;
  // chain.cpp
  Made productBeside(OpId op, const Coordinates &at, const Guard &guard);
  const MapOp *openMap(ValueId value) const;
  bool isOfLoads(const Leaf &leaf, const AxisSet &over, bool isLeft);
  llvm::Expected<uint32_t> addSlots(ScalarExpr &into, OpId dot, const Leaf &leaf);
  llvm::Expected<BufferId> slotOf(OpId dot, ValueId load);
  llvm::Expected<ScalarExpr> readOperand(OpId dot, const Leaf &leaf, const AxisSet &over);
  llvm::Expected<ScalarExpr> heldOperand(const Leaf &leaf, const AxisSet &over, bool isLeft);
  AxisSet cut(const AxisSet &axes) const;
  void clearBeyond(ScalarExpr &scalar, const AxisSet &axes) const;
  bool isOfWarpgroups(const ScalarExpr &operand, bool isLeft) const;
  llvm::Error expectMatrices(OpId dot, const DotOp &made) const;
  // reduce_index.cpp
  struct IndexReducer {
    Monoid monoid;
    bool takesNaN; ///< before all numbers
  };
  /// argmax or argmin of a value and its coordinate, if a reduction is one.
  std::optional<IndexReducer> indexReducer(OpId op) const;
  Made turned(const Leaf &bits);
  Made orderOf(const Leaf &x, DType type, bool isMax);
  Made fromOrder(const Leaf &order, DType type);
  Made indexReduction(OpId op, const IndexReducer &with, const Coordinates &at, const Guard &guard,
                      unsigned result);
  // iterate.cpp
  /// What a step makes of the carried values.
  using Step = std::function<llvm::Expected<std::vector<Leaf>>(const std::vector<Binding> &,
                                                               const std::vector<Leaf> &)>;
  AxisSet axesAt(const Coordinates &at, const Guard &guard) const;
  void assign(unsigned level, ValueId value, const Leaf &leaf);
  /// The carried values, of these axes, behind loops over all ranges, which stand at `outer`.
  llvm::Expected<std::vector<Leaf>> iterate(std::span<const MapVariable> ranges, unsigned outer,
                                            const AxisSet &axes, const std::vector<Leaf> &start,
                                            const std::vector<DType> &types, const Step &step);
  llvm::Expected<std::vector<Leaf>> chosen(const std::optional<Leaf> &condition,
                                           const std::vector<Leaf> &yes,
                                           const std::vector<Leaf> &no,
                                           const std::vector<DType> &types);
  Made foldedTogether(OpId op, const OpIndexing &maps, const Coordinates &at, const Guard &guard,
                      unsigned result);
  Made scattered(OpId op, const OpIndexing &maps, const Coordinates &at, const Guard &guard);
  Made selectedAndScattered(OpId op, const OpIndexing &maps, const Coordinates &at,
                            const Guard &guard);
  // complex.cpp
  Made partOf(unsigned of, OpId op, unsigned operand, const IndexMap &map, const Coordinates &at,
              const Guard &guard, Guard *conditions, const std::vector<Binding> &ranges = {});
  Made complexPointwise(OpId op, const OpIndexing &maps, const Coordinates &at, const Guard &guard);
  Made complexProduct(OpId op, const OpIndexing &maps, const Coordinates &at, const Guard &guard,
                      Guard *conditions, const std::vector<Binding> &bound);
  // windowed.cpp
  Made windowed(OpId op, const OpIndexing &maps, const Coordinates &at, const Guard &guard,
                unsigned result);
  struct Combination {
    Opcode opcode;
    Monoid monoid;
    DType type;      ///< that sums are kept in
    double identity; ///< of that type
  };
  /// Of one result of a reduction; each has to be combined by itself.
  llvm::Expected<Combination> combinationOf(OpId op, DType type, unsigned result = 0) const;
  Made initialised(OpId op, const Combination &with, unsigned result, const Leaf &sum);
  Leaf inside(const AxisSet &axes);
  Coordinates reducedAt(OpId reduce, const Coordinates &at) const;
  /// Opens the loops over steps; returns how many.
  unsigned openSteps(unsigned level, const std::vector<unsigned> &parameters);
  /// acc = acc ⊕ x in the loop at hand, where the condition holds.
  llvm::Expected<ValueId> accumulate(unsigned outer, const Combination &with, const Leaf &x,
                                     const std::optional<Leaf> &condition, const AxisSet &axes);

  const Module &module;
  const Graph &graph;
  const TiledGroup &group;
  const Variant &variant;
  Frame frame;
  Program p;
  ExprContext &context;
  Names names;
  Bounds bounds;
  std::optional<Simplifier> simplifier;
  std::vector<std::optional<AxisId>> axisOf; ///< by parameter
  std::vector<Expr> programIds;              ///< by parameter: the CTA's variable; null: none
  std::vector<Expr> steps;                   ///< by parameter: the loop's variable; null: no loop
  std::vector<std::string> stepNames;
  std::map<unsigned, Let> rowSteps; ///< by parameter: columns of a row that are taken at a time
  AxisSet rowAxes, columnAxes;
  bool takesAllAxes = false;  ///< layouts are of all axes: a reduction goes over several
  Expr vector, threads;       ///< V and G of layouts
  Expr warpRows, warpColumns; ///< WR and WC of results of matrix instructions; null: no such
  Coordinates rootAt;
  Guard rootGuard; ///< where these are coordinates of the root
  /// What the dot of a frame with one sums over, as one axis.
  struct Summed {
    std::optional<AxisId> axis; ///< none: one product
    std::vector<MapVariable> ranges;
    std::vector<Binding> bound;
    std::string name; ///< of the loop
    Expr step, trips;
    std::optional<MapConstraint> within; ///< lanes that are elements of the step
  } summed;
  /// Sides of the dot without dims, which have one lane of an instruction's.
  struct SingleSide {
    DotSide side;
    AxisId axis;
  };
  std::vector<SingleSide> singleSides;
  std::map<OpId, TensorId> tensorOf;
  std::map<OpId, std::vector<TensorId>> resultsOf; ///< one for each element of a tuple
  std::vector<Level> levels;
  std::vector<unsigned> valueLevels; ///< by value
  struct Place {
    unsigned level;
    size_t at;
  };
  std::map<ValueId, Place> made;     ///< the first op that makes it, while its level is open
  std::set<ValueId> elseChosen;      ///< loads of which something needs what their padding holds
  std::map<ValueId, BufferId> rings; ///< of the loads of the loop at hand
  std::map<OpId, OpIndexing> indexings;
  unsigned depth = 0;
  unsigned part = 0; ///< of complex numbers that is asked for: 0 real, 1 imaginary
};

bool isComplex(DType type);
/// Elementwise ops without attributes, and comparisons.
tilewright::Op scalarOp(Opcode opcode, DType type);
tilewright::Op compareOp(Comparison comparison);

/// The type in which values of a type are summed.
DType sumType(DType type);

} // namespace tilewright::program
