// HLO's shapes and literals.
#pragma once

#include "analysis/import/hlo_lexer.h"
#include "analysis/ir/shape.h"

namespace tilewright {

/// True at a shape: a tuple's '(' or a word directly followed by '['.
bool looksLikeShape(HloLexer &lexer);

/// A shape: `bf16[1,<=2048]{1,0:T(8,128)S(5)}`, `(f32[], s32[4])`. `nodes` counts tensors and
/// tuples against hlo_limits::shapeNodes. If `layoutAfterSpace` is false, a brace after a space is
/// not the shape's (it opens a computation's body).
bool parseShape(HloLexer &lexer, Shape &out, size_t &nodes, bool layoutAfterSpace = true);

/// Checks a constant's text against its shape: nesting and counts of the braces, and each value
/// against the dtype. `{...}` stands for values that the dump left out, wherever it occurs.
/// The lexer must end with the literal.
bool checkLiteral(HloLexer &lexer, const Shape &shape);

} // namespace tilewright
