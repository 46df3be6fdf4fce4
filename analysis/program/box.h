// Boxes of a tensor: what TMA copies.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// The dims of the tensor that the buffer's axes go along, in the order of the buffer. Unsupported,
/// with the reason: the tile is no box in that order, it is cut off elsewhere than where the tensor
/// ends (TMA fills with zeros there), or elements are no whole bytes.
llvm::Expected<std::vector<size_t>> boxDims(const Program &program, const CopyOp &copy);

} // namespace tilewright::program
