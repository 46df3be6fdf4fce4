// The facts about a group that the rules for registers and shared memory read, computed once.
// Internal to the tiling analysis.
#pragma once

#include "analysis/tiling/plan.h"
#include "analysis/tiling/register_costs.h"
#include "analysis/tiling/resources.h"

#include <array>
#include <vector>

namespace tilewright {

struct ResourceView {
  const Graph &graph;
  const TiledGroup &group;
  ExprContext &ctx;

  ResourceView(const Graph &graph, const TiledGroup &group);

  Expr constant(int64_t value) const { return ctx.constant(value); }
  Expr parameter(std::string_view name) const { return group.space.find(name)->size; }
  const Op &op(unsigned instance) const { return graph[group.instances[instance].op]; }
  /// Of the first result.
  const Shape &shapeOf(OpId id) const;
  DType dtype(unsigned instance) const { return shapeOf(group.instances[instance].op).dtype; }
  Expr elements(unsigned instance) const {
    return group.instances[instance].tile.elementCount(ctx);
  }
  bool isDot(unsigned instance) const;

  /// The op whose dims are tiled.
  OpId root = OpId{};
  const Shape &rootShape() const { return shapeOf(root); }
  /// Sizes of its tile, one a dim.
  std::vector<Expr> rootTile;

  /// The root's dims that decide the tile of this instance.
  std::vector<bool> rootDimsOf(unsigned instance) const;
};

/// 1 where a >= b, else 0.
Expr isAtLeast(Expr a, Expr b);
/// 1 where the divisor divides the value, else 0.
Expr isMultiple(Expr value, Expr divisor);
Expr isMultiple(Expr value, int64_t divisor);
Expr roundUp(Expr value, int64_t unit);
Expr roundUp(Expr value, Expr unit);

/// Which side of a dot, or of a convolution as one, each root dim belongs to; those that no dim of
/// the dot follows have one element, and count as batch dims.
std::vector<DotSide> dotSides(const ResourceView &view, unsigned dot);
/// Products for one element of a convolution, without window elements that meet only padding or the
/// gaps of a dilated image.
std::optional<int64_t> productsOf(const Graph &graph, OpId convolution);

/// The tiles of a dot, or of a convolution as one: products of the root's tile sizes by the side of
/// the dot that each dim belongs to, and elements of K in a step.
struct DotTiles {
  Expr batch, rows, columns, step;
};
DotTiles dotTiles(const ResourceView &view, unsigned dot);

/// Vector width of a thread: as many elements as fit in 16 bytes of the widest input or result and
/// divide the extent and the tile.
Expr lanesFor(const ResourceView &view, int64_t extent, Expr tile);
int64_t widestLanes(const ResourceView &view);

/// How a reduction distributes its columns over threads, see analysis/program/build/rows.cpp.
struct ReductionTiles {
  std::vector<unsigned> reductions; ///< instances, one an op
  bool alongRows = true;
  Expr rows;    ///< of a CTA
  Expr columns; ///< of the results, per row
  int64_t longest = 1;
  Expr lanes;
  Expr threadsPerRow; ///< threads that share a row
  Expr held;          ///< values of a row that a thread processes at a time
  Expr isWhole;       ///< 1 if those are all of the row's
};
ReductionTiles reductionTiles(const ResourceView &view);

/// Transposed inputs that are staged through shared memory, see across_inputs.h; bytes are
/// 0 for tiles that are not staged.
struct StagedInputTile {
  OpId op;
  Expr bytes;
};
std::vector<StagedInputTile> stagedInputTiles(const ResourceView &view);

/// wgmma: warpgroups along the rows, and rows and columns in shared memory.
struct WarpgroupTiles {
  Expr groupRows, rows, columns;
};
WarpgroupTiles warpgroupTiles(const ResourceView &view, unsigned dot, const DotTiles &tiles);

/// Registers that a thread of the consumer warps has for results of wgmma: its accumulators, and
/// in a chain the scores and their exponentials.
Expr warpgroupSums(const ResourceView &view, const CodeChoice &code);

/// Appends the shared-memory items of the code.
void addSharedItems(const ResourceView &view, const CodeChoice &code, Resources &out);
/// Appends the register estimate, and sets the threads.
void addRegisterItems(const ResourceView &view, const CodeChoice &code, const DeviceLimits &limits,
                      const RegisterCosts &costs, Resources &out);

} // namespace tilewright
