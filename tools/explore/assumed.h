// Ops without a kernel of ours whose time is taken from what a library's kernels do for them.
//
// A sort, an FFT or an all-reduce has no plan here: nothing is known of the kernels that somebody
// else's library runs for it. It goes over its operands in memory a known number of times, though,
// does a known number of operations, or sends a known number of bytes over a link. That is priced,
// with a wide spread; where each number comes from stands beside it.
#pragma once

#include "analysis/ir/graph.h"
#include "costmodel/estimate.h"

#include <optional>
#include <string>

namespace tilewright {

/// What those kernels do in one run of the op.
struct AssumedWork {
  double readBytes = 0, writtenBytes = 0; ///< in memory, by all of them
  double kernels = 1;                     ///< that run one after the other
  /// What arithmetic or a link takes, whatever the bytes: their time is no shorter.
  double leastNs = 0;
  bool isProduct = false; ///< of a library: `leastNs` is all that its SMs take, launch included
  double flops = 0, linkBytes = 0;
  double sigmaLn = 0.5; ///< of the time, at least
  std::string text;     ///< "sorted by radix: 4 passes over 8 bits each"
};

/// The device, and how kernels on it are priced.
struct Pricing {
  const Device &device;
  const Calibration &calibration;
  CacheState cache;
};

/// The work of such an op, or of a fusion that has ops which go over memory beside others whose
/// arithmetic costs less than the memory's time. Nothing for all other ops, and for shapes whose
/// size is not known.
std::optional<AssumedWork> assumedWork(const Module &module, const Graph &graph, OpId op,
                                       const Pricing &pricing);

/// Of one kind of op each; nothing where a number is unknown.
std::optional<AssumedWork> sortWork(const Module &module, const Graph &graph, const Op &op,
                                    const Device &device);
std::optional<AssumedWork> topKWork(const Graph &graph, const Op &op, const Device &device);
std::optional<AssumedWork> scanWork(const Module &module, const Graph &graph, OpId op);
std::optional<AssumedWork> scatterWork(const Graph &graph, const Op &op, const Device &device);
std::optional<AssumedWork> fftWork(const Graph &graph, const Op &op, const Device &device);
std::optional<AssumedWork> randomBitsWork(const Op &op, const Device &device);
std::optional<AssumedWork> raggedDotWork(const Module &module, const Graph &graph, OpId op,
                                         const Pricing &pricing);
std::optional<AssumedWork> scaledDotWork(const Module &module, const Graph &graph, OpId op,
                                         const Device &device);
/// A product or convolution of cuBLAS or cuDNN.
std::optional<AssumedWork> libraryCallWork(const Graph &graph, OpId id, const Device &device);
/// A call of cuDNN's attention or norms, CUB's sorts, XLA's TopK.
std::optional<AssumedWork> namedCallWork(const Graph &graph, const Op &op, const Device &device);
/// A call of XLA's __op$block_scaled_dot: [b, m, k] by [b, n, k], the scales of both, of which 16
/// or 32 elements along k share one, and one of all where there is a fifth operand.
std::optional<AssumedWork> blockScaledCallWork(const Graph &graph, const Op &op,
                                               const Device &device);
/// What waits for a collective that has been started, and does nothing else.
bool isCollectiveDone(Opcode opcode);
/// Nothing, too, where the device's description has no link.
std::optional<AssumedWork> collectiveWork(const Module &module, const Graph &graph, OpId op,
                                          const Device &device);

/// Rows of a ragged dot's groups in tiles of so many, none of which holds rows of two groups.
struct GroupedRows {
  int64_t groups = 0;
  int64_t given = 0;
  int64_t expected = 0; ///< the last tile of a group is half full on average
  int64_t worst = 0;    ///< it holds a single row
};
/// Nothing where the ragged dim is no dim of the result.
std::optional<GroupedRows> groupedRows(const Graph &graph, const Op &op, int64_t tileRows);

/// All operands read once, all results written once; nothing where a size is not known.
std::optional<AssumedWork> onePass(const Graph &graph, const Op &op);

/// Instructions of one lane a ns that all SMs issue: f32 multiply-adds, integer operations.
double laneRate(const Device &device);

} // namespace tilewright
