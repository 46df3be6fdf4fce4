// Loops whose copies a producer runs, as its consumers see them. Not for other folders.
#pragma once

#include "analysis/program/produced_loop.h"
#include "codegen/emit/emission.h"

namespace tilewright::emit {

using program::assignsValue;
using program::readsValue;
using program::ringsOf;
using program::Rotation;
using program::UseRange;
using program::usesOf;
using program::valuesReadBy;

/// The rings of a loop and of loops within.
std::vector<BufferId> ringsWithin(const Program &p, const ForOp &loop);

/// The next stage and parity of rings; those of one number of stages that stand alike go on alike.
void advance(Emission &e, const std::vector<BufferId> &rings);

/// As program::rotationOf(), where rings stand so that there is code for it.
std::optional<Rotation> rotationOf(const Emission &e, const ForOp &loop);
/// The consumers' part of such a loop.
llvm::Error emitRotatedLoop(Emission &e, const ForOp &loop, const Rotation &rotation);

} // namespace tilewright::emit
