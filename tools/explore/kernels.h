// From a grouping to tileable kernels: graph, ops and roots.
#pragma once

#include "analysis/tiling/tiled_group.h"
#include "tools/explore/grouping.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// One kernel's worth of ops, ready for tileGroup(). A fusion's ops live in the computation that
/// it calls, so `graph` may differ from the graph that was grouped.
struct KernelSource {
  std::string name; ///< of the root op, or of the fusion
  KernelKind kind = KernelKind::Elementwise;
  GraphId graph;
  Group group;
  std::vector<std::string> notes = {}; ///< what a reader of its price should know
};

/// The ops of one kernel of `graph`'s grouping. Unsupported: a fusion whose body has ops other than
/// plain ones.
llvm::Expected<KernelSource> kernelSource(const Module &module, GraphId graph,
                                          const KernelGroup &kernel);

/// The kernel whose result is op `name`; with an empty name the last kernel of the entry. Names
/// are looked for in the entry first, then in the other computations. An op in the middle of a
/// kernel becomes the root of the part of the kernel that it needs. Views that a window, gather or
/// update reads through are included, though they may be kernels of their own. BadInput if there is
/// no such op (the nearest name is suggested) or if the op needs no kernel; Unsupported if it is
/// not modelled.
llvm::Expected<KernelSource> findKernel(const Module &module, std::string_view name);

/// A kernel taken apart around its dots or sums: each part writes its root to memory, where the
/// later ones read it.
using KernelCut = std::vector<KernelGroup>;

/// As findKernel(), but an op without a kernel that has tiles (a ragged dot, a sort, a scatter) is
/// one alone, with a note that says so.
llvm::Expected<KernelSource> findTiles(const Module &module, std::string_view name);

/// The ways to take a dot's kernel apart: after the views of one or more operands, and after the
/// last dot where what follows rearranges its result. A kernel of reductions whose results are
/// rearranged: after all of them. None for other kernels. Following a transpose
/// or the halves of a rotation costs a dot nothing where they leave it large tiles and contiguous
/// loads, and most of its speed where they don't, so these have to be priced beside the kernel as a
/// whole.
std::vector<KernelCut> kernelCuts(const Graph &graph, const KernelGroup &kernel);

/// A tiled kernel that owns its expressions.
struct TiledKernel {
  std::shared_ptr<ExprContext> context;
  std::shared_ptr<const TiledGroup> tiled;
};

llvm::Expected<TiledKernel> tileKernel(const Module &module, const KernelSource &source);

/// The kind of a group, from its ops.
KernelKind kindOf(const Graph &graph, const Group &group);

} // namespace tilewright
