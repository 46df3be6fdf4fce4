// Arithmetic of elementwise ops on the three kinds of element. Inside of the evaluator.
#pragma once

#include "analysis/ir/evaluator_scalar.h"

namespace tilewright::eval {

/// The kinds of element that the op is defined on by these functions, as a sum of the constants.
constexpr unsigned onIntegers = 1, onReals = 2, onComplex = 4;
unsigned arithmeticKinds(Opcode opcode);

/// Results wrap to op.type. Precondition of all three: arithmeticKinds() has the kind.
Scalar integerOp(const ScalarOp &op, const Scalar *in);
Scalar realOp(const ScalarOp &op, const Scalar *in);
Scalar complexOp(const ScalarOp &op, const Scalar *in);

} // namespace tilewright::eval
