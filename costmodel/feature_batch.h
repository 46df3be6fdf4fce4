// FeatureBatch: many plans priced together, for a search over them.
//
//   FeatureBatch batch;
//   for (…) batch.add(*featuresOf(plan, device));
//   std::vector<double> times(batch.size());
//   batch.score(device, parameters, CacheState::Flushed, times);
//
// Plans of one kind (FeatureKind) are stored in blocks of eight, structure of arrays, so that the
// formula runs on whole vectors and allocates nothing.
#pragma once

#include "costmodel/estimate.h"
#include "costmodel/lanes.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tilewright {

/// Up to eight plans of one kind.
struct FeatureBlock {
  FeaturesOf<LaneArray> features;
  std::array<size_t, laneCount> plan{};
  int used = 0;
};

class FeatureBatch {
public:
  /// Plans are numbered in the order of add().
  void add(const Features &features);
  size_t size() const { return count; }
  /// Forgets the plans; memory is kept.
  void clear();

  /// Writes the time of each plan to `timeNs` (of size() numbers): bit for bit the `timeNs` of
  /// estimateTime(). 0 for a plan without elements, infinity for one that cannot be launched.
  void score(const Device &device, const Parameters &parameters, CacheState cache,
             std::span<double> timeNs) const;

private:
  /// For each kind, the block that still has room.
  struct Open {
    FeatureKind kind;
    size_t block;
  };

  std::vector<FeatureBlock> blocks;
  std::vector<Open> open;
  size_t count = 0;
};

} // namespace tilewright
