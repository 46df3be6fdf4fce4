// Loops whose copies a producer runs, as its consumers see them: where rings are read, and which
// products stay in flight.
#pragma once

#include "analysis/program/program.h"

#include <algorithm>
#include <optional>

namespace tilewright::program {

/// Where a body reads a ring: the first and the last of its ops.
struct UseRange {
  size_t first = SIZE_MAX, last = 0;
  bool operator==(const UseRange &) const = default;
};
UseRange usesOf(const Region &body, BufferId ring);

/// The rings that a loop's copies fill, each once.
std::vector<BufferId> ringsOf(const ForOp &loop);

/// Does an op, or what stands in it, read or assign a value?
bool readsValue(const Op &op, ValueId value);
bool assignsValue(const Op &op, ValueId value);
/// The values that the scalar expressions of an op name.
std::vector<ValueId> valuesReadBy(const Op &op);

/// The one dot of a loop's body of whose products a group may stay in flight: its sums go into the
/// next step's products alone, and rings have a slot to spare. The place of its op; none otherwise.
std::optional<size_t> flyingDotOf(const Program &program, const ForOp &loop);

/// Two products of a step of which the second takes what is computed of the first.
struct Rotation {
  size_t scores = 0, outputs = 0; ///< in the body
  std::vector<size_t> late;       ///< what reads or assigns the outputs in front of their product
  bool isLate(size_t i) const { return std::find(late.begin(), late.end(), i) != late.end(); }
};
/// Nothing where a loop is no such one, or its order has to stay.
std::optional<Rotation> rotationOf(const Program &program, const ForOp &loop);

} // namespace tilewright::program
