// Sorts, selections, scans and transforms along lines of a tensor.
#include "analysis/indexing/op_cost.h"
#include "analysis/support/checked.h"
#include "tools/explore/assumed.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tilewright {

namespace {

/// Bits that a radix sort takes in one pass: onesweep's (Adinets & Merrill 2022, CUB).
constexpr int64_t radixBits = 8;
/// Elements that a block sorts before a merge sort merges (CUB: 256 threads of 16 keys).
constexpr int64_t mergeTile = 4096;
/// Bits that a radix selection takes in one pass (Zhang, Naruse, Li & Wang, SC 2023).
constexpr int64_t selectBits = 11;
/// The largest k for which one pass keeps its candidates in registers (XLA's TopK kernel).
constexpr int64_t mostInRegisters = 16;
/// Instructions of a compare and exchange: compare, two selects, two shuffles or moves, an address.
constexpr double exchangeOps = 6;
/// Integer instructions for one word of random bits: Threefry's 20 rounds of add, rotate, xor make
/// two words, Philox's 10 rounds of two wide products four.
constexpr double opsOfRandomWord = 35;
/// Share of the peak that FFTs of long lines reach with all their shuffles (cuFFT, 0.2 to 0.5).
constexpr double fftShare = 0.3;

/// Does one key decide? A comparator that looks at the first pair alone orders by it.
bool comparesOneKey(const Module &module, const Op &op) {
  for (const CalledGraph &called : op.called)
    if (called.role == CallRole::ToApply) {
      const Graph &graph = module.graph(called.graph);
      const std::vector<std::vector<OpId>> users = graph.users();
      for (OpId id : graph.parameters())
        if (graph.op(id).attrs.parameterNumber >= 2 && !users[id.index].empty())
          return false;
      return true;
    }
  return false;
}

/// Whether a line of all operands fits in half the shared memory of a CTA, sorted in place.
bool fitsInShared(double bytes, const Device &device) {
  return bytes <= static_cast<double>(device.limits.sharedBytesPerCta) / 2;
}

double log2Of(int64_t n) { return n > 1 ? std::ceil(std::log2(static_cast<double>(n))) : 1; }

/// All of the work again, `passes` times.
void repeat(AssumedWork &work, double passes) {
  work.readBytes *= passes;
  work.writtenBytes *= passes;
  work.kernels = passes;
}

} // namespace

std::optional<AssumedWork> sortWork(const Module &module, const Graph &graph, const Op &op,
                                    const Device &device) {
  std::optional<AssumedWork> work = onePass(graph, op);
  if (!work || op.operands.empty() || op.attrs.dimensions.size() != 1)
    return std::nullopt;
  const Shape &key = graph.op(op.operands[0]).shape;
  const std::optional<int64_t> count = key.elementCount();
  const int64_t length = key.dims[static_cast<size_t>(op.attrs.dimensions[0])];
  if (!count || *count == 0)
    return std::nullopt;
  const auto elements = static_cast<double>(*count);
  const double lineBytes = work->readBytes / elements * static_cast<double>(length);
  const double rounds = log2Of(length);
  if (fitsInShared(lineBytes, device)) {
    work->flops = elements / 2 * rounds * (rounds + 1) / 2;
    work->leastNs = work->flops * exchangeOps / laneRate(device);
    work->text =
        fmt::format("lines of {} are sorted in shared memory (Batcher 1968), in one pass", length);
  } else if (comparesOneKey(module, op)) {
    const auto passes = ceilDiv(bitWidth(key.dtype), radixBits);
    const double keyBytes = static_cast<double>(*key.byteSize());
    repeat(*work, static_cast<double>(passes));
    work->readBytes += keyBytes; // the histograms
    work->kernels += 1;
    work->text = fmt::format("sorted by radix (CUB): {} passes for keys of {} bits", passes,
                             bitWidth(key.dtype));
  } else {
    const double passes = 1 + log2Of(ceilDiv(length, mergeTile));
    repeat(*work, passes);
    work->flops = elements * rounds;
    work->text =
        fmt::format("sorted by merging (CUB): {:.0f} passes for lines of {}", passes, length);
  }
  work->sigmaLn = 0.7; // which of them a library takes, and its sizes, are its own
  return work;
}

std::optional<AssumedWork> topKWork(const Graph &graph, const Op &op, const Device &device) {
  std::optional<AssumedWork> work = onePass(graph, op);
  if (!work || op.operands.size() != 1 || graph.op(op.operands[0]).shape.rank() == 0 ||
      !op.shape.isTuple || op.shape.elements.empty() || op.shape.elements[0].rank() == 0)
    return std::nullopt;
  const Shape &in = graph.op(op.operands[0]).shape;
  const int64_t length = in.dims.back(), k = op.shape.elements[0].dims.back();
  const double lineBytes = static_cast<double>(length) * bitWidth(in.dtype) / 8;
  if (k <= mostInRegisters || fitsInShared(lineBytes, device)) {
    work->text = "taken as one pass over its operands and one over its results";
    return work;
  }
  const int64_t passes = ceilDiv(bitWidth(in.dtype), selectBits);
  work->readBytes *= static_cast<double>(passes);
  work->kernels = static_cast<double>(passes);
  work->sigmaLn = 0.7;
  work->text = fmt::format("selected by radix (Zhang et al. 2023): {} passes over lines of {}",
                           passes, length);
  return work;
}

std::optional<AssumedWork> scanWork(const Module &module, const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  std::optional<AssumedWork> work = onePass(graph, op);
  if (!work)
    return std::nullopt;
  const OpCost cost = opCost(module, graph, id);
  work->text = "taken as one pass with look-back (Merrill & Garland 2016)";
  if (op.opcode == Opcode::ReduceWindow)
    work->text = fmt::format("a scan, {}; as written they are {} operations", work->text,
                             cost.isCounted ? std::to_string(cost.flops) : "uncounted");
  else if (cost.isCounted)
    work->flops = static_cast<double>(cost.flops);
  return work;
}

std::optional<AssumedWork> fftWork(const Graph &graph, const Op &op, const Device &device) {
  std::optional<AssumedWork> work = onePass(graph, op);
  const size_t rank = op.shape.rank();
  if (!work || op.operands.size() != 1 || op.shape.isTuple)
    return std::nullopt;
  const Shape &in = graph.op(op.operands[0]).shape;
  const bool isReal = isFloat(in.dtype) || isFloat(op.shape.dtype);
  const Shape &whole = isFloat(in.dtype) ? in : op.shape; // of as many elements as are transformed
  const std::optional<int64_t> count = whole.elementCount();
  size_t dims = 0;
  for (const RawAttribute &attribute : op.rawAttrs)
    if (attribute.name == "fft_length")
      dims = 1 + static_cast<size_t>(std::count(attribute.text.begin(), attribute.text.end(), ','));
  if (!count || dims == 0 || dims > rank)
    return std::nullopt;
  double passes = 0, rounds = 0;
  for (size_t i = 0; i < dims; ++i) {
    const int64_t n = whole.dims[rank - 1 - i];
    const double lineBytes = static_cast<double>(n) * bitWidth(op.shape.dtype) / 8;
    passes += fitsInShared(lineBytes, device) ? 1 : 2; // the four-step algorithm (Bailey 1990)
    rounds += n > 1 ? std::log2(static_cast<double>(n)) : 0;
  }
  repeat(*work, passes);
  // The usual count of a radix-2 transform, half of it for real values (Frigo & Johnson 2005).
  work->flops = (isReal ? 2.5 : 5) * static_cast<double>(*count) * rounds;
  work->leastNs = work->flops / (fftShare * 2 * laneRate(device));
  work->sigmaLn = 0.7;
  work->text = fmt::format("{:.0f} passes over memory, {:.3g} FLOPs (5 n log2 n{})", passes,
                           work->flops, isReal ? ", half of it for real values" : "");
  return work;
}

std::optional<AssumedWork> randomBitsWork(const Op &op, const Device &device) {
  const std::optional<int64_t> bytes = op.shape.byteSize();
  if (!bytes)
    return std::nullopt;
  AssumedWork work;
  work.writtenBytes = static_cast<double>(*bytes);
  work.flops = opsOfRandomWord * std::ceil(work.writtenBytes / 4);
  work.leastNs = work.flops / laneRate(device);
  work.text =
      fmt::format("one pass over its results, {:.0f} integer operations a word", opsOfRandomWord);
  return work;
}

} // namespace tilewright
