// Time of a library's matrix product from its shape alone: persistent, warp-specialised kernels
// with TMA, the best of a few tile shapes, of whose code nothing is known here.
#pragma once

#include "analysis/compiled/launches.h"
#include "costmodel/device.h"

#include <optional>
#include <string>

namespace tilewright {

struct ProductShape {
  double batch = 1, rows = 1, columns = 1, depth = 1;
  DType type = DType::BF16; ///< of the operands
  double rowTraffic = 1;    ///< bytes that leave L2 for each byte of the rows that is used
  bool isByVectors = false; ///< operands come as vectors of a thread (cp.async), not by TMA
};

/// What a call computes, as one product.
struct LibraryWork {
  ProductShape product;
  DotDims dims;             ///< of a product of cuBLAS, as those of a dot
  bool isDepthwise = false; ///< a convolution without a product: an FMA for each tap
  double taps = 0;          ///< of a depthwise one, for each result element
  double resultElements = 0;
  double paddedBytes = 0;    ///< that a kernel moves beforehand, to fill up channels
  bool isLowerBound = false; ///< of a convolution whose kernel is known to be far off
  std::string text;          ///< "1 x 8192 x 2304 x 768"
};

/// Of a call of cuBLAS or cuDNN; nothing where its attributes don't fit.
std::optional<LibraryWork> libraryWork(const Graph &graph, OpId call);

struct LibraryTime {
  double smNs = 0; ///< of the SM side, launch included
  std::string text;
};

/// Four constants, fitted to 37 stand-alone products of cuBLAS on an H100 (bf16, flushed; mean
/// error 9.7 %, median 5.5 %), scaled by the device's clock, SMs, tensor rate and L2.
LibraryTime libraryTime(const LibraryWork &work, const Device &device);

} // namespace tilewright
