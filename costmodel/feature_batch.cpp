#include "costmodel/feature_batch.h"

#include "costmodel/vector_kernels.h"

#include <algorithm>
#include <bit>

namespace tilewright {

namespace {

constexpr size_t numberCount = sizeof(FeatureNumbers<double>) / sizeof(double);
static_assert(sizeof(FeatureNumbers<LaneArray>) == numberCount * sizeof(LaneArray));

using ScalarArray = std::array<double, numberCount>;

/// Features of eight plans as rows of eight numbers.
void setLane(FeatureNumbers<LaneArray> &block, int lane, const FeatureNumbers<double> &features) {
  auto values = std::bit_cast<ScalarArray>(features);
  auto *rows = reinterpret_cast<char *>(&block) + size_t(lane) * sizeof(double);
  for (size_t i = 0; i < numberCount; ++i)
    std::copy_n(reinterpret_cast<const char *>(&values[i]), sizeof(double),
                rows + i * sizeof(LaneArray));
}

} // namespace

void FeatureBatch::add(const Features &features) {
  const FeatureKind &kind = features;
  auto found =
      std::find_if(open.begin(), open.end(), [&](const Open &o) { return o.kind == kind; });
  if (found == open.end()) {
    open.push_back({kind, blocks.size()});
    found = open.end() - 1;
  } else if (blocks[found->block].used == laneCount) {
    found->block = blocks.size();
  }
  if (found->block == blocks.size()) {
    blocks.emplace_back();
    static_cast<FeatureKind &>(blocks.back().features) = kind;
  }
  FeatureBlock &block = blocks[found->block];
  setLane(block.features, block.used, features);
  block.plan[size_t(block.used++)] = count++;
}

void FeatureBatch::clear() {
  blocks.clear();
  open.clear();
  count = 0;
}

void FeatureBatch::score(const Device &device, const Parameters &parameters, CacheState cache,
                         std::span<double> timeNs) const {
  vectorKernels().priceBlocks(blocks, device, parameters, cache, timeNs);
}

} // namespace tilewright
