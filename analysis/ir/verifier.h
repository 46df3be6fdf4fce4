// Checks that a module is valid: operand counts, shapes, attributes and calls.
#pragma once

#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

namespace tilewright {

/// Success, or the first error in file order, located at the op or at its attribute.
///
/// Each op's result shape is derived from its operands and attributes and compared with the one
/// that it has. As in XLA, layouts don't take part, the float operands of one op may differ in
/// precision, and a bitcast may turn any shape into any other of the same bits. Opaque ops
/// (custom-call) are trusted. Calls must fit their computations, and no computation may call
/// itself.
llvm::Error verify(const Module &module);

} // namespace tilewright
