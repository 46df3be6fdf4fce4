// Bytes as a program that builds an expression, and what must hold for it.
#pragma once

#include "analysis/affine/rules.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace tilewright::fuzz {

/// How often rules were applied, by Rule.
using RuleTotals = std::array<uint64_t, rules().size()>;

/// Runs a program over a context of its own: builds an expression over bounded, half-bounded and
/// unbounded variables, simplifies it, substitutes into it, maps it and composes such maps, and
/// compares values, ranges, divisors and normal forms at points. Any bytes are a program. Returns
/// what is wrong; empty if nothing is.
std::string checkExprProgram(std::span<const uint8_t> bytes, RuleTotals *applied = nullptr);

} // namespace tilewright::fuzz
