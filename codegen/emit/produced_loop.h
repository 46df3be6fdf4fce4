// Loops whose copies a producer runs, as its consumers see them. Not for other folders.
#pragma once

#include "codegen/emit/emission.h"

namespace tilewright::emit {

/// Where a body reads a ring: the first and the last of its ops.
struct UseRange {
  size_t first = SIZE_MAX, last = 0;
  bool operator==(const UseRange &) const = default;
};
UseRange usesOf(const Region &body, BufferId ring);

/// The rings of a loop, each once; with those of loops within.
std::vector<BufferId> ringsOf(const ForOp &loop);
std::vector<BufferId> ringsWithin(const Program &p, const ForOp &loop);

/// The next stage and parity of rings; those of one number of stages that stand alike go on alike.
void advance(Emission &e, const std::vector<BufferId> &rings);

/// Does an op, or what stands in it, read or assign a value?
bool readsValue(const Op &op, ValueId value);
bool assignsValue(const Op &op, ValueId value);

/// Two products of a step of which the second takes what is computed of the first.
struct Rotation {
  size_t scores = 0, outputs = 0; ///< in the body
  std::vector<size_t> late;       ///< what reads or assigns the outputs in front of their product
};
/// Nothing where a loop is no such one, or its order has to stay.
std::optional<Rotation> rotationOf(const Emission &e, const ForOp &loop);
/// The consumers' part of such a loop.
llvm::Error emitRotatedLoop(Emission &e, const ForOp &loop, const Rotation &rotation);

} // namespace tilewright::emit
