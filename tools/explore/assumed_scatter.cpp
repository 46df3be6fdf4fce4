// Scatters that have no kernel of ours: the operand is copied, and the updates are combined with it
// in the L2, where those that meet in a sector wait for each other.
#include "tools/explore/assumed.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

namespace {

constexpr double sectorBytes = 32;
/// Bytes a clock that one slice of the L2 serves; one atomic on a sector takes it a clock (NVIDIA's
/// whitepapers: 64 B/clk/slice of the A100).
constexpr double sliceBytesPerClock = 64;

bool hasUniqueIndices(const Op &op) {
  return std::any_of(op.rawAttrs.begin(), op.rawAttrs.end(), [](const RawAttribute &attribute) {
    return attribute.name == "unique_indices" && attribute.text == "true";
  });
}

/// Bytes next to each other in memory of what one index writes.
double runBytes(const Op &op, const Shape &result, const Shape &update) {
  const std::vector<int64_t> &window = op.attrs.scatter.updateWindowDims;
  auto isWritten = [&](int64_t dim) {
    for (const std::vector<int64_t> *taken :
         {&op.attrs.scatter.insertedWindowDims, &op.attrs.scatter.inputBatchingDims})
      if (std::find(taken->begin(), taken->end(), dim) != taken->end())
        return false;
    return true;
  };
  const bool hasRun = !window.empty() && isWritten(static_cast<int64_t>(result.dims.size()) - 1);
  const double element = bitWidth(result.dtype) / 8.0;
  return hasRun ? element * static_cast<double>(update.dims[static_cast<size_t>(window.back())])
                : element;
}

} // namespace

std::optional<AssumedWork> scatterWork(const Graph &graph, const Op &op, const Device &device) {
  std::optional<AssumedWork> work = onePass(graph, op);
  const size_t results = (op.operands.size() - 1) / 2;
  const Shape &result = op.shape.isTuple ? op.shape.elements[0] : op.shape;
  const Shape &update = graph.op(op.operands[results + 1]).shape;
  const std::optional<int64_t> updates = update.elementCount(), bytes = result.byteSize();
  if (!work || !updates || !bytes || *bytes == 0 || *updates == 0)
    return std::nullopt;
  const double updated =
      static_cast<double>(*updates) * bitWidth(result.dtype) / 8 * static_cast<double>(results);
  work->kernels = 2;
  work->writtenBytes += updated;
  if (hasUniqueIndices(op)) {
    work->text = "the operand is copied, and each update written";
    return work;
  }
  work->readBytes += updated;
  // Sectors that atomics go to, and how many of them can be at work at once.
  const double inRun = runBytes(op, result, update);
  const double run = std::max(1.0, inRun / sectorBytes); // sectors of one index
  const double atomics = std::max(1.0, updated / inRun * run);
  const double slices = std::max(1.0, device.l2Bandwidth / (sliceBytesPerClock * device.smClock));
  const double sectors = std::max(1.0, static_cast<double>(*bytes) / sectorBytes);
  auto timeNs = [&](double places) { return atomics / std::min(slices, places) / device.smClock; };
  work->leastNs = timeNs(sectors);
  work->sigmaLn = 0.7; // which indices meet is known at run time only
  work->text =
      fmt::format("the operand is copied, then {:.4g} atomics on sectors of 32 bytes, over "
                  "{:.4g} of which they are taken to spread; if all indices are one, they "
                  "take {:.3g} us",
                  atomics, sectors, timeNs(run) / 1e3);
  return work;
}

} // namespace tilewright
