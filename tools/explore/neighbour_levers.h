// What a kernel would gain with one of its plan's numbers twice or half as large, and what stands
// in the way: the constraint that refuses that plan, or that a CTA would need more than an SM has.
//
//   t1 256 in place of 128: 3.1 us, were it not for 512 registers a thread, of at most 255
//
// A neighbour that nothing refuses is faster only behind the kernels before it: plans are chosen by
// their time alone.
#pragma once

#include "analysis/tiling/plan.h"
#include "costmodel/sequence/levers.h"

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace tilewright {

/// Features of plans, each worked out once: kernels of one structure share their plans' tiles.
class KnownFeatures {
public:
  /// The device must live as long.
  explicit KnownFeatures(const Device &device) : device(device) {}
  /// Null for a plan that has none: its tiles can't be followed.
  const Features *of(const KernelPlan &plan);

  const Device &device;

private:
  using Key = std::tuple<const TiledGroup *, Instruction, std::vector<int64_t>>;
  struct Known {
    std::shared_ptr<ExprContext> context;    ///< of `tiled`, …
    std::shared_ptr<const TiledGroup> tiled; ///< … lest another one gets its address
    std::optional<Features> features;
  };
  std::map<Key, Known> known; ///< never walked
};

/// Those that gain at least a hundredth of the time, the largest first, one a parameter.
std::vector<Lever> neighbourLevers(const KernelPlan &plan, const CacheTraffic &traffic,
                                   KnownFeatures &known, const Parameters &parameters,
                                   const SequenceParameters &sequence = {});

/// Levers of a kernel and those of its plan, the largest first.
std::vector<Lever> allLevers(std::vector<Lever> levers, std::vector<Lever> neighbours);

} // namespace tilewright
