// Calls of cuBLAS and cuDNN: products of a shape, whose kernels are somebody else's.
#include "analysis/indexing/library_call.h"
#include "costmodel/sequence/library_product.h"
#include "tools/explore/assumed.h"

#include <fmt/format.h>

namespace tilewright {

std::optional<AssumedWork> libraryCallWork(const Graph &graph, OpId id, const Device &device) {
  // As measured: products within 10 % (docs/accuracy.md), convolutions further off, and below what
  // they take where they have few channels or are depthwise.
  constexpr double productSigma = 0.1, convolutionSigma = 0.4, lowerBoundSigma = 1;
  const Op &op = graph.op(id);
  const std::optional<LibraryCall> call = libraryCall(graph, id);
  const std::optional<LibraryWork> work = libraryWork(graph, id);
  if (!call || !work)
    return std::nullopt;
  const LibraryTime time = libraryTime(*work, device);
  const Shape &result =
      op.shape.isTuple && !op.shape.elements.empty() ? op.shape.elements[0] : op.shape;
  AssumedWork assumed;
  assumed.writtenBytes = double(result.byteSize().value_or(0));
  assumed.readBytes = double(call->bytes) - assumed.writtenBytes;
  assumed.flops = double(call->flops);
  assumed.leastNs = time.smNs;
  assumed.isProduct = true;
  assumed.sigmaLn = work->isLowerBound                                            ? lowerBoundSigma
                    : op.attrs.customCallTarget.find("conv") != std::string::npos ? convolutionSigma
                                                                                  : productSigma;
  assumed.text = fmt::format("priced by its shape, {}{}", time.text,
                             work->isLowerBound ? ": a lower bound" : "");
  return assumed;
}

} // namespace tilewright
