// TileProgram: what one kernel does, CTA by CTA, as ops on tiles (see docs/program.md for the
// text).
//
// A program is a value: passes copy it. Structure never depends on a number: sizes are `Expr`s over
// size variables and `let`s, and the program for given numbers is the same program with numbers put
// in (substitute.h). Running example:
//
//   kernel scale(x: f32[M]) -> y: f32[M]
//   warps W
//   grid p < cdiv(M, B)
//   axis i < B at p * B of M
//   a = load x[i] @ flat(4)
//   store y[i] = 2 * a
#pragma once

#include "analysis/affine/index_map.h"
#include "analysis/affine/simplify.h"
#include "analysis/program/op.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace tilewright::program {

/// A value of registers: a function on a box of axes.
struct Tile {
  DType type = DType::F32;
  AxisSet axes;
  Layout layout;
};

/// A named place in registers. Inside a loop a name that was defined before it is carried.
struct Value {
  std::string name;
  Expr var;  ///< stands for its elements in index expressions: gather, scatter
  Tile tile; ///< set by inferTypes()
};

struct TensorInfo {
  std::string name;
  DType type = DType::F32;
  std::vector<Expr> dims;
  bool isResult = false;
};

struct Let {
  std::string name;
  Expr var, value;
};

/// Shared memory: `stages` slots of a tile, one for each step on its way.
struct Buffer {
  std::string name;
  DType type = DType::F32;
  std::vector<AxisId> order; ///< slowest first
  Expr stages;
  bool isRing = false;
  int64_t padElements = 0; ///< behind each row of the last axis
  int64_t swizzle = 0;     ///< bytes: 0, 32, 64, 128
  /// Chunks of up to 16 bytes are permuted so that neither accesses along the last axis nor those
  /// along the one before it meet in banks, where a thread has so many rows (a power of two) at
  /// once; null: they lie in order. BufferPlace (codegen/emit) has the formula.
  Expr permute;
  BufferId alias;     ///< lies in the memory of that one
  uint32_t hosts = 1; ///< … and of those behind it: so many buffers in all
};

/// Warps that run regions of their own.
struct Role {
  std::string name;
  Expr warps, registers; ///< registers of a thread: null: an even share
};

struct GridVariable {
  std::string name;
  Expr var, count;
};

/// CTA variables and how CTAs are numbered; null expressions: not said.
struct Grid {
  std::vector<GridVariable> variables; ///< slowest first
  Expr group;                          ///< rows walked together
  Expr persistent;                     ///< at most so many CTAs, each of which makes items in turn
  Expr clusterX, clusterY;
};

/// Elements of an op of the graph: where they lie, as coordinates over axes and loop variables, and
/// when they are asked for. Traces compare them with the evaluator's.
struct Source {
  OpId op;
  std::vector<Expr> at;
  std::vector<MapConstraint> conditions;
};

struct Program {
  std::shared_ptr<ExprContext> context = std::make_shared<ExprContext>();
  std::string name;
  std::vector<TensorInfo> tensors; ///< parameters, then results
  std::vector<Expr> sizes;         ///< free size variables, in order of appearance
  std::vector<Let> lets;
  Expr warps, producerWarps; ///< of the consumers; null: no producer role
  std::vector<Role> roles;
  Grid grid;
  std::vector<Axis> axes;
  std::vector<Buffer> buffers;
  std::vector<Value> values;
  std::vector<Source> sources;
  Region body;
  std::shared_ptr<const SourceBuffer> text; ///< that it was read from; null: built

  const Axis &operator[](AxisId id) const { return axes[id.index]; }
  const Value &operator[](ValueId id) const { return values[id.index]; }
  Value &operator[](ValueId id) { return values[id.index]; }
  const Buffer &operator[](BufferId id) const { return buffers[id.index]; }
  const TensorInfo &operator[](TensorId id) const { return tensors[id.index]; }
  const Role &operator[](RoleId id) const { return roles[id.index]; }

  Expr number(int64_t value) const { return context->constant(value); }
  /// An expression over size variables alone: `let` names replaced by what they stand for.
  Expr resolved(Expr expr) const;
  /// The axis, value, grid variable of a variable; invalid or null for others.
  AxisId axisOf(VarId var) const;
  ValueId valueOf(VarId var) const;
  const GridVariable *gridVariableOf(VarId var) const;
  /// Axes that an index expression moves along: by name, and those of its index tiles.
  AxisSet axesOf(Expr index) const;
  AxisSet axesOf(const ScalarExpr &scalar) const;
  AxisSet axesOf(const Access &access) const;
  /// The variable that names the split of a loop or of sum.splits; null: no split.
  Expr splitVariable() const;
  /// A layout of a family for these axes, with `let`s resolved; `role`: whose warps hold it,
  /// invalid outside of roles.
  Layout layoutFor(const LayoutSpec &spec, const AxisSet &axes, DType type, RoleId role = {}) const;

  /// An error at an op, or without a place where the program was built.
  llvm::Error errorAt(SourceLoc where, std::string message,
                      DiagClass cls = DiagClass::BadInput) const;
};

/// How an access runs along memory: its last index is an axis plus a number, so that neighbours
/// along the axis are neighbours in memory. No axis: it does not.
struct MemoryRun {
  AxisId axis;
  int64_t start = 0; ///< the element of its row at coordinate 0 of the axis
};
MemoryRun memoryRunOf(const Program &program, const Access &access);

/// A CTA or loop variable with its count: a digit of the number of an axis' tile.
struct TileDigit {
  VarId var;
  Expr count; ///< over size variables
};
/// The digits that count an axis' tiles, outermost first: its origin is
/// ((v0·n1 + v1)·n2 + …)·extent, or of one digit (n0 - 1 - v0)·extent. Empty where it is anything
/// else, or no variable moves it.
std::vector<TileDigit> tileDigitsOf(const Program &program, AxisId axis, Simplifier &simplifier);

/// Does a buffer lie in the memory of another one?
bool liesIn(const Buffer &buffer, BufferId other);
/// Do two buffers share memory?
bool shareMemory(const Program &program, BufferId a, BufferId b);
/// Bytes of a buffer's slots together (units of `alignment` each: 1024 of a swizzled one beside a
/// producer, else 128), over size variables.
Expr bufferBytes(const Program &program, const Buffer &buffer);

/// Calls visit(op, loops) for every op in order of the text, loops outermost first; `issue` regions
/// come behind the body ops that stand in front of them.
using LoopNest = std::vector<const Op *>;
void forEachOp(const Region &region,
               const std::function<void(const Op &, const LoopNest &)> &visit);

/// The op, then those of its regions as forEachOp() visits them.
void forEachOpOf(const Op &op, const std::function<void(const Op &)> &visit);
/// Does the op, or one inside of it, read this buffer?
bool readsBuffer(const Op &op, BufferId buffer);

/// Types, axes and layouts of all values, and types of scalar expressions. Run after each change;
/// the parser does. BadInput: a value that is not defined, types that don't fit.
llvm::Error inferTypes(Program &program);

} // namespace tilewright::program
