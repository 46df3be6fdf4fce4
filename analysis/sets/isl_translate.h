// Index maps as isl sets and maps. Only for the files that include isl anyway.
#pragma once

#include "analysis/sets/isl_objects.h"
#include "analysis/sets/sets.h"

#include <string>
#include <vector>

namespace tilewright::sets {

/// The domain of a read (its variables in the order of the map) as an isl set, and its results as
/// isl expressions over it.
struct IslReads {
  IslSet domain;
  std::vector<IslPwAff> results;
};

/// False with a reason: symbolic divisors, products of variables, unknown variables, or a spent
/// allowance of isl.
bool translate(isl_ctx *ctx, const Reads &reads, IslReads &out, std::string &reason);

/// The set of points that a read reaches.
IslSet islImage(isl_ctx *ctx, const Reads &reads, std::string &reason);

} // namespace tilewright::sets
