// Adding the ops that an op of another dialect becomes.
#pragma once

#include "analysis/import/scope.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Adds ops to a computation on behalf of one op of a file: their names begin with that one's, and
/// they stand at its place.
class OpBuilder {
public:
  OpBuilder(Scope &scope, std::string base, SourceLoc loc)
      : scope(scope), base(std::move(base)), where(loc) {}

  const Shape &shapeOf(OpId id) const { return scope.graph.op(id).shape; }

  /// An op on the way: its name is that of the whole with `suffix` behind it, or the opcode.
  OpId add(Opcode opcode, Shape shape, std::vector<OpId> operands, OpAttributes attrs = {},
           std::string_view suffix = {});
  OpId constant(DType type, std::string literal);
  /// A constant of that shape, all elements equal.
  OpId splat(Shape shape, std::string literal);
  OpId broadcast(OpId of, const Shape &shape, std::vector<int64_t> dims = {});
  OpId convert(OpId of, DType type);
  OpId tuple(std::vector<OpId> elements, std::string_view suffix);

  Scope &scope;
  std::string base;     ///< name of the whole
  std::string metadata; ///< of the ops, as HLO has it; none if empty

private:
  OpId append(Op op, std::string_view suffix);
  SourceLoc where;
};

/// A computation of one op on two scalars of a type.
Graph makeReducer(std::string name, Opcode opcode, DType type);

} // namespace tilewright
