// Reasons in words: what a constraint says about a choice, in numbers wherever there are some.
#pragma once

#include "analysis/solve/constraint_system.h"

#include <span>
#include <string>

namespace tilewright {

/// "device: 294912 B of shared memory a CTA, of at most 232448 B". Candidate lists of one are what
/// is chosen. An amount that is computed from free parameters is the one that comes nearest to the
/// limit ("at best 294912 B") while the constraints `together` hold, too: those of a core, where
/// the text is of one of them.
std::string reasonText(const ConstraintSystem &system, std::span<const size_t> together,
                       size_t constraint);

} // namespace tilewright
