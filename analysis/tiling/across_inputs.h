// Transposed inputs: the output's fastest dim is strided in them; staged through shared memory.
//
// Tile programs stage them (analysis/program/pass/stage.h); the search counts their shared memory
// by this.
#pragma once

#include "analysis/ir/graph.h"

#include <span>
#include <vector>

namespace tilewright {

struct AcrossInput {
  /// The coordinate in one dim at which a root element reads the input: Σ coefficient · root
  /// coordinate + shift, with positive coefficients.
  struct Dim {
    struct Term {
      size_t rootDim;
      int64_t coefficient;
    };
    std::vector<Term> terms;
    int64_t shift = 0;

    bool follows(size_t rootDim) const;
  };

  OpId op;
  std::vector<Dim> dims;
  size_t row = 0;           ///< the dim that follows the root's fastest dim with stride 1
  size_t minor = 0;         ///< the fastest dim of more than one element, which does not
  int64_t elementBytes = 1; ///< in shared memory: elements of less than a byte take one
};

/// Those of `inputs` that are transposed relative to the first root. Every root reads them at the
/// same coordinates, and no root dim moves two of their dims.
std::vector<AcrossInput> acrossInputs(const Graph &graph, std::span<const OpId> roots,
                                      std::span<const OpId> inputs);

} // namespace tilewright
