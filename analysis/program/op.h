// Ops of a tile program: a kind with its attributes, and the values that it makes.
//
// Pads: what lanes that do not count hold is written at the op that reads memory (`else`), so that
// reductions and dots find their identity there (verifier, V7).
#pragma once

#include "analysis/program/layout.h"
#include "analysis/program/scalar.h"

#include <optional>
#include <variant>

namespace tilewright::program {

/// A position in a tensor: one integer expression a dim over axes, sizes, CTA and loop variables
/// and index tiles (values of an integer type, by their variable).
struct Access {
  TensorId tensor;
  std::vector<Expr> index;
  bool operator==(const Access &) const = default;
};

/// lo <= value < hi, where what a composed index map brings is no bound of an axis.
struct Condition {
  Expr value, low, high;
  bool operator==(const Condition &) const = default;
};

enum class Monoid : uint8_t { Add, Mul, Max, Min, And, Or, ArgMax, ArgMin };
std::string_view toString(Monoid monoid);
std::optional<Monoid> parseMonoid(std::string_view name);
/// Results of a reduction: 2 for argmax and argmin (value, index), else 1.
size_t resultCount(Monoid monoid);
/// The value that changes nothing; of argmax and argmin that of the value.
double identityOf(Monoid monoid);
/// The identity, or of integers the number of the type that does the same.
bool isIdentity(Monoid monoid, DType type, double number);
/// Identities of maximum and minimum among the numbers of a type.
double lowestOf(DType type);
double highestOf(DType type);

enum class CopyWay : uint8_t { CpAsync, Tma, Registers };
enum class DotWay : uint8_t { Fma, MmaSync, Wgmma };
std::string_view toString(CopyWay way); ///< "cp.async", "tma", "regs"
std::string_view toString(DotWay way);  ///< "fma", "mma.sync", "wgmma"

struct Op;
using Region = std::vector<Op>;

/// x = load t[e…] if c in [lo, hi) else v @ L
struct LoadOp {
  Access from;
  std::vector<Condition> conditions;
  double otherwise = 0;
  std::optional<LayoutSpec> layout; ///< none: flat(1)
};
/// store t[e…] = v @ L: lanes that count; each element once.
struct StoreOp {
  Access to;
  ScalarExpr value;
  std::optional<LayoutSpec> layout; ///< none: that of the value's first operand
};
/// atomic ⊕ t[e…] = v: lanes that count, in any order. The result starts as the identity.
struct AtomicOp {
  Monoid monoid = Monoid::Add;
  Access to;
  ScalarExpr value;
};
/// copy b <- t[e…] via how: the slot of this step, later; 0 where lanes do not count.
struct CopyOp {
  BufferId buffer;
  Access from;
  std::vector<Condition> conditions;
  CopyWay way = CopyWay::CpAsync;
};
/// x = read b @ L, or x = read b[e…] @ L
struct ReadOp {
  BufferId buffer;
  Expr step; ///< of the slot, `K@(t + 1)`; null: the step at hand
  /// In the buffer's order; none: its own. The first may be a part of the buffer's first one: its
  /// elements are those at its coordinates.
  std::vector<AxisId> axes = {};
  std::optional<LayoutSpec> layout; ///< none: flat(1)
};
/// write b <- v, then a barrier of the role's warps.
struct WriteOp {
  BufferId buffer;
  ScalarExpr value;
};
/// Pointwise on the union of its operands' axes.
struct MapOp {
  ScalarExpr value;
  std::optional<LayoutSpec> layout; ///< none: of the first operand that has all axes
};
struct ReduceOp {
  Monoid monoid = Monoid::Add;
  ScalarExpr value;
  AxisSet over;
};
/// x = scan ⊕ v over a: inclusive.
struct ScanOp {
  Monoid monoid = Monoid::Add;
  ScalarExpr value;
  AxisId over;
};
/// acc += dot(x, y) over k… how; without `+=` from zero. f32 sums (f64 of f64, s32 of integers).
struct DotOp {
  ScalarExpr left, right;
  AxisSet over;
  DotWay way = DotWay::Fma;
  bool isAdded = false;
  uint32_t wait = 0;                ///< wgmma groups that may stay in flight behind it
  uint32_t products = 1;            ///< 3: of the parts of f32 that TF32 takes and leaves out
  std::optional<LayoutSpec> layout; ///< none: the accumulator's, else all warps along the rows
};
struct FullOp {
  double number = 0;
  DType type = DType::F32;
  AxisSet axes;
  std::optional<LayoutSpec> layout;
};
struct RelayoutOp {
  ValueId value;
  LayoutSpec layout;
};
/// x = select.axis y, a = e: the slice of y at lane e.
struct SelectAxisOp {
  ValueId value;
  AxisId axis;
  Expr at;
};
/// x = join y, z over a: lane n of a is part n; the parts lack a.
struct JoinOp {
  std::vector<ValueId> parts;
  AxisId axis;
};
struct ForOp {
  std::string name; ///< of its variable
  Expr var, trips;
  Expr ahead;            ///< steps that `issue` runs ahead by; null: 0, or a producer's S - 1
  Expr splitVar, splits; ///< null: not split
  Expr unroll;           ///< null: 1
  Region body, issue;
  uint32_t issueAt = 0; ///< body ops that stand in front of `issue`
};
/// `condition` (an integer, 0: no) is the same for all threads of the role.
struct IfOp {
  Expr condition;
  Region then, otherwise;
};
/// x… = sum.splits y… over s, or of another monoid than add: sum.splits max y… over s
struct SumSplitsOp {
  std::vector<ValueId> values;
  Expr splitVar;
  Monoid monoid = Monoid::Add;
};
struct BarrierOp {
  bool isOfCluster = false;
};
struct RoleOp {
  RoleId role;
  Region body;
};

using OpAttributes = std::variant<LoadOp, StoreOp, AtomicOp, CopyOp, ReadOp, WriteOp, MapOp,
                                  ReduceOp, ScanOp, DotOp, FullOp, RelayoutOp, SelectAxisOp, JoinOp,
                                  ForOp, IfOp, SumSplitsOp, BarrierOp, RoleOp>;

struct Op {
  OpAttributes what;
  std::vector<ValueId> results;
  SourceLoc where; ///< in the text that it was read from

  template <typename T> const T *as() const { return std::get_if<T>(&what); }
  template <typename T> T *as() { return std::get_if<T>(&what); }
};

/// "load", "for": for messages.
std::string_view kindName(const Op &op);

/// The scalar expressions of an op: of stores, maps, reductions, both sides of a dot.
std::vector<const ScalarExpr *> scalarsOf(const Op &op);
/// A slot of a buffer that an op reads; `step` null: that of the step at hand.
struct SlotRead {
  BufferId buffer;
  Expr step;
};
/// The axes along which a read goes, in the order of its buffer.
const std::vector<AxisId> &axesReadBy(const ReadOp &read, const std::vector<AxisId> &ofBuffer);
/// What an op reads itself, by `read` or in its scalar expressions; not what its regions do.
std::vector<SlotRead> slotReadsOf(const Op &op);
/// The access of an op to a tensor; null if it has none.
const Access *accessOf(const Op &op);
/// The regions inside an op, in order of execution.
std::vector<const Region *> regionsOf(const Op &op);
std::vector<Region *> regionsOf(Op &op);

} // namespace tilewright::program
