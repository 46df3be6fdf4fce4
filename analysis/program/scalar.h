// Scalar expressions: what a map computes at every point of a box of axes.
//
// Nodes stand in a list, operands before what uses them, the root last. Leaves are values (tiles of
// registers), buffers (their current slot), integer expressions over axes, sizes, CTA and loop
// variables, and numbers. Inner nodes are elementwise ops of the graph (analysis/ir) with the types
// that its evaluator needs.
//
// Types: an op on floats computes in the widest type of its operands, at least f32; integers in the
// widest, at least s32; a number takes the type of what it meets. A conversion is written with the
// type's name, `bf16(x)`. Storing converts.
#pragma once

#include "analysis/ir/dtype.h"
#include "analysis/ir/op.h"
#include "analysis/program/axis.h"

#include <string_view>

namespace tilewright::program {

struct ScalarNode {
  enum class Kind : uint8_t { Value, Slot, Index, Number, Operation };
  Kind kind = Kind::Number;
  ValueId value;     ///< Value
  BufferId buffer;   ///< Slot
  Expr index;        ///< Index; of a Slot the step, `K@(t + 1)`, null: the step at hand
  double number = 0; ///< Number: any float or an integer below 2^53
  Opcode opcode = Opcode::Add;
  Comparison comparison = Comparison::Eq;
  std::vector<uint32_t> operands; ///< Operation
  /// A power of 2 as the special function unit has it: exp2 of the text.
  bool isApproximate = false;
  DType type = DType::F32;       ///< of the result; set by inferTypes() but for conversions
  std::vector<SourceId> sources; ///< whose elements these are, of the graph; none for texts
  bool operator==(const ScalarNode &) const = default;
};

struct ScalarExpr {
  std::vector<ScalarNode> nodes;
  const ScalarNode &root() const { return nodes.back(); }
  DType type() const { return nodes.back().type; }
  uint32_t add(ScalarNode node) {
    nodes.push_back(std::move(node));
    return static_cast<uint32_t>(nodes.size() - 1);
  }
  bool operator==(const ScalarExpr &) const = default;
};

/// A function of the text, "exp", "max", and its op; infix ones are listed by their sign.
struct ScalarFunction {
  std::string_view name;
  Opcode opcode;
  size_t operands;
};
const ScalarFunction *findFunction(std::string_view name);
const ScalarFunction *findFunction(Opcode opcode); ///< null for ops that are written infix

} // namespace tilewright::program
