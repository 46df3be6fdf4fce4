// Live registers of tiles. Internal.
#pragma once

#include "analysis/program/fold.h"

namespace tilewright::program {

/// Words of 32 bits that a thread holds of a value; packed types share them.
Expr registerWords(const Program &program, ValueId value);

/// The most words that are live behind an op, its results included: outside of roles first, then by
/// role. What a loop carries is live around it; copies of `issue` hold nothing.
std::vector<RoleRegisters> liveRegisters(const Program &program);

} // namespace tilewright::program
