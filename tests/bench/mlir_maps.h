// The same composition with MLIR's AffineMap. MLIR's headers stay behind this one.
#pragma once

#include "tests/bench/model_paths.h"

#include <memory>

namespace tilewright::bench {

/// Maps as AffineMaps in a context of their own: dims are dims, range and runtime variables are
/// symbols. Domains and constraints are lost: AffineMap has none. Nor has it min and max: such maps
/// are left out, and a path with one can't be composed.
class MlirMaps {
public:
  explicit MlirMaps(const std::vector<IndexMap> &maps);
  ~MlirMaps();
  MlirMaps(MlirMaps &&) noexcept;

  /// Composes and simplifies step by step; the number of results.
  size_t compose(const std::vector<uint32_t> &path) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright::bench
