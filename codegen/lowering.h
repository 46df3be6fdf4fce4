// Shared by the lowerings of all kinds.
#pragma once

#include "codegen/extract.h"
#include "codegen/lower.h"
#include "codegen/value_emitter.h"

namespace tilewright {

/// One kernel in the making.
class Lowering {
public:
  /// Resources of a kernel beyond the parameters of its group.
  struct Extras {
    std::vector<KernelWorkspace> workspaces;
    unsigned tensorMaps = 0;
    int64_t extraThreads = 0; ///< beside the threads of the schedule's warps
    /// Warps move registers between each other (setMaxRegisters): ptxas must know how many
    /// registers a thread starts with.
    bool movesRegisters = false;
  };
  Lowering(const KernelSpec &spec, CodeMode mode, unsigned lanes, Extras extras);
  Lowering(const KernelSpec &spec, CodeMode mode, unsigned lanes)
      : Lowering(spec, mode, lanes, Extras()) {}

  const KernelSpec &spec;
  const Graph &graph;
  std::vector<OpId> results;
  int64_t threads; ///< threads of the schedule's warps

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
  /// The CTA id as a variable; grid CTAs.
  Expr ctaVariable(int64_t grid);

  KernelModule finish(CodeChoice code, int64_t grid, int64_t sharedBytes) &&;
};

/// ⌈extent / tile⌉ over all dims; Unsupported over the 2^31 - 1 CTAs that a grid may have.
llvm::Expected<int64_t> tileCount(const std::vector<int64_t> &extents,
                                  const std::vector<int64_t> &tile);

/// The number of neighbours that one thread should make at once: how many elements of `shape`'s
/// type and the inputs' types fit in 16 bytes. A power of two that divides `extent` and `tile`.
unsigned lanesFor(const Graph &graph, int64_t extent, int64_t tile);

/// A kernel's symbol: a name valid in both PTX and C.
std::string symbolOf(const std::string &name);

/// The kernel of the group's tile program. `isByLoops`: reductions and dots are loops of the thread
/// that makes an element. Unsupported where it has none yet.
llvm::Expected<KernelModule> lowerProgram(const KernelSpec &spec, CodeKind kind, CodeMode mode,
                                          bool isByLoops = false);
llvm::Expected<KernelModule> lowerProducts(const KernelSpec &spec, CodeKind kind, CodeMode mode);

} // namespace tilewright
