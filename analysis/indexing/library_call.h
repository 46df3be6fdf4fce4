// Work of custom calls with a known meaning: matrix products and convolutions of cuBLAS and cuDNN.
#pragma once

#include "analysis/ir/graph.h"

#include <cstdint>
#include <optional>

namespace tilewright {

struct LibraryCall {
  int64_t flops = 0; ///< of the product alone, 2 each; epilogues are not counted
  int64_t bytes = 0; ///< operands read and results written once; a workspace is none
};

/// `__cublas$gemm`, `__cublas$lt$matmul…` (contracted dims from their backend_config) and
/// `__cudnn$conv…` (window and dim_labels of the forward convolution). Empty for other ops, and if
/// the attributes don't fit the shapes or a number leaves 64 bits.
std::optional<LibraryCall> libraryCall(const Graph &graph, OpId op);

/// Results of a call, which the workspace, a last s8[…] or u8[…] of a tuple, is none of.
size_t resultsOfCall(const Op &op);

/// Products (multiply-adds) of a convolution with these attributes, without kernel elements that
/// meet only padding. Empty if a number leaves 64 bits or the ranks don't fit.
std::optional<int64_t> convolutionProducts(const OpAttributes &attrs, const Shape &input,
                                           const Shape &kernel, const Shape &output);

} // namespace tilewright
