// Online softmax and its generalisations: reductions between two dots, computed step by step.
//
//     S = Q·Kᵀ,   P = f(S),   O = P·V          O is summed over the columns of P in steps
//
// Where f reduces rows of S, P is known only when the whole row of S is. A loop over the columns
// can still sum O on the way if provisional values can be corrected later. With a maximum m and
//
//     P = u · exp(x - h(m)) / l,   l = Σ w · exp(x - h(m)),   u, w, x free of reductions
//
// the loop carries m, h(m), every l and O. When m grows, l and O are multiplied by
// exp(h(old m) - h(new m)); O is divided by l at the end (M. Milakov, N. Gimelshein: "Online
// normalizer calculation for softmax", 2018). The values of an op between the dots are
//
//     Independent   of all reductions
//     Scaled        by exp(-h(m)): a product with an independent value, a sum of scaled values …
//     Other         not correctable: the row must be complete
//
// If one step covers the whole row, reductions are complete before P is made and any f will do.
#pragma once

#include "analysis/ir/graph.h"

#include <span>
#include <string>

namespace tilewright {

/// Why the reductions between `first` and `second` have no online form, so that one step must cover
/// the row; empty if they have one. Both are dots among `ops` (ascending), of which the second
/// depends on the first. Unsupported: a reduction that no loop over the columns of P can carry,
/// complete or not: over several dims, of something else than floats up to 32 bits, not a sum from
/// 0 or a maximum from a constant, of the second dot's result, a maximum after another reduction.
llvm::Expected<std::string> whyNotOnline(const Module &module, const Graph &graph,
                                         std::span<const OpId> ops, OpId first, OpId second);

} // namespace tilewright
