// Inputs that lie across the root: neighbours of the root are far apart in them.
//
// Code generation reads them through shared memory (codegen/staged_inputs.h), and the analysis
// counts that memory; both ask here.
#pragma once

#include "analysis/ir/graph.h"

#include <span>
#include <vector>

namespace tilewright {

struct AcrossInput {
  /// Where a root element reads it, in one dim: Σ coefficient · root coordinate + shift, with
  /// positive coefficients.
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
  size_t row = 0;           ///< the dim that follows the root's fastest, element by element
  size_t minor = 0;         ///< the fastest dim of more than one element; it does not
  int64_t elementBytes = 1; ///< in shared memory: elements of less than a byte take one
};

/// Of `inputs`, those that lie across the first root. Every root reads them at the same
/// coordinates, and no root dim leads in two of their dims.
std::vector<AcrossInput> acrossInputs(const Graph &graph, std::span<const OpId> roots,
                                      std::span<const OpId> inputs);

} // namespace tilewright
