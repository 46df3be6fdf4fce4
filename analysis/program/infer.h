// Types of scalar expressions, for whoever computes with them.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// Conversions, and bits taken as another type of the same width.
bool isTypeChange(Opcode opcode);
/// The elementwise op of the graph that a node is; its operands are the node's first ones.
tilewright::Op graphOpOf(const ScalarExpr &scalar, const ScalarNode &node);
/// How many operands it has: numbers behind them are attributes.
size_t appliedOperands(const ScalarNode &node);

/// The type in which an op takes its operands: the widest of theirs, at least f32 or s32; pred for
/// logic. Numbers and integer expressions take the type of what they meet.
DType operandType(const ScalarExpr &scalar, const ScalarNode &node);

/// An integer expression, or a number that is one; null for others.
Expr integerOf(const Program &program, const ScalarNode &node);

/// The layout in which a scalar expression of these axes is held: of the first value in it that has
/// all of them; nothing if there is none.
std::optional<Layout> layoutOf(const Program &program, const ScalarExpr &scalar,
                               const AxisSet &axes);

/// The element type in which a dot of these operands sums.
DType accumulationType(DType left, DType right);

/// A result that is assigned again with another type, axes or layout.
struct TypeConflict {
  SourceLoc where;
  ValueId value;
  Tile before, now;
};
std::vector<TypeConflict> typeConflicts(const Program &program);

} // namespace tilewright::program
