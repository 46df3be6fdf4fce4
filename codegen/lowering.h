// What the lowerings of all kinds share.
#pragma once

#include "codegen/extract.h"
#include "codegen/lower.h"
#include "codegen/value_emitter.h"

namespace tilewright {

/// One kernel in the making.
class Lowering {
public:
  /// What a kernel has beside the parameters of its group.
  struct Extras {
    std::vector<KernelWorkspace> workspaces;
    unsigned tensorMaps = 0;
    int64_t extraThreads = 0; ///< beside those that the schedule's warps are
    /// Warps move registers between each other (setMaxRegisters): ptxas must then know how many
    /// registers a thread starts with.
    bool movesRegisters = false;
  };
  Lowering(const KernelSpec &spec, CodeMode mode, unsigned lanes, Extras extras);
  Lowering(const KernelSpec &spec, CodeMode mode, unsigned lanes)
      : Lowering(spec, mode, lanes, Extras()) {}

  const KernelSpec &spec;
  const Graph &graph;
  std::vector<OpId> results;
  int64_t threads; ///< that the schedule's warps are

private:
  Extras extras;
  unsigned inputCount;

public:
  KernelBuilder k;
  ValueEmitter emitter;
  Expr tid; ///< thread id as a variable

  unsigned outputBuffer(size_t result) const { return inputCount + static_cast<unsigned>(result); }
  unsigned workspaceBuffer(size_t i) const { return outputBuffer(results.size() + i); }

  /// Tiles of a tile grid over `extents`, as variables in [0, count) a dim, decoded from `linear`
  /// with the last dim fastest.
  Coordinates decodeTiles(Expr linear, const std::vector<int64_t> &extents,
                          const std::vector<int64_t> &tile);
  /// The block id as a variable; grid blocks.
  Expr blockVariable(int64_t grid);

  KernelModule finish(CodeChoice code, int64_t grid, int64_t sharedBytes) &&;
};

/// ⌈extent / tile⌉ over all dims; Unsupported over the 2^31 - 1 blocks that a grid may have.
llvm::Expected<int64_t> tileCount(const std::vector<int64_t> &extents,
                                  const std::vector<int64_t> &tile);

/// Elements of `shape`'s type and the types of the inputs that fit in 16 bytes: how many
/// neighbours one thread should make at once. A power of two that divides `extent` and `tile`.
unsigned lanesFor(const Graph &graph, int64_t extent, int64_t tile);

llvm::Expected<KernelModule> lowerElementwise(const KernelSpec &spec, CodeMode mode);
llvm::Expected<KernelModule> lowerReduction(const KernelSpec &spec, CodeMode mode);
/// `isOtherGroup`, after an error: is it the group that has no such code, whatever the tile?
llvm::Expected<KernelModule> lowerDot(const KernelSpec &spec, CodeMode mode, bool &isOtherGroup);

} // namespace tilewright
