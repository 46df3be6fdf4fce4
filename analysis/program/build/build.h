// From a tiled group to a plain tile program: loads, maps, reductions and stores, without staging,
// vectors and pipelines, which passes add (analysis/program/pass).
//
// A program is symbolic in tile sizes and warps. Its sizes are the group's parameters by name
// ("t0", "r0"; "W" for warps); extents of tensors are numbers. What sizes can't express decides the
// structure and is the variant. Running example, a softmax of f32[64,100] whose rows are whole:
//
//   grid p < cdiv(64, t0)
//   axis i < t0 at p * t0 of 64, j < 100
//   a = load x[i, j] @ rows(V, G)
//   b = reduce max a over j
//   …
//
// and with t1 = r0 < 100 each reduction and the result go over the row in steps of r0.
//
// Tensors have their dims in the order of memory, slowest first. Parameters are the group's inputs
// in order, then its constants whose values the file left out; results are its roots in order.
#pragma once

#include "analysis/program/substitute.h"
#include "analysis/tiling/plan.h"

namespace tilewright::program {

/// By parameter of the group's space: whether its tile covers the dim, so that neither CTAs nor a
/// loop go over it. Only where that changes the structure: reduced dims, and those of the result
/// that lie along reduced rows.
struct Variant {
  std::vector<bool> isWhole;
  Instruction instruction = Instruction::Fma; ///< of dots of tiles
  /// Reductions and dots are loops of the thread that makes an element, and no tiles of their own.
  bool isByLoops = false;
  /// By parameter: whether its tile is one element, which has no axis. Only where that changes the
  /// structure: batches and further rows of dots by matrix instructions. Empty: none.
  std::vector<bool> isOne = {};
  /// By parameter: whether its tile covers a dim that is no multiple of what matrix instructions
  /// take, and is padded to it. Of one dot alone. Empty: none.
  std::vector<bool> isPadded = {};
  /// All warps lie along the rows of several dots, so that the result of one is held as the left
  /// operand of the next.
  bool isByRows = false;
  bool operator==(const Variant &) const = default;
};

/// A variant and which tile sizes take it: not 0 there, over the group's parameters.
struct VariantCase {
  Variant variant;
  Expr when;
};
struct Frame;
/// All variants of a group whose dots, by this instruction or a simpler one if their types need it,
/// are none or beside others or reductions. The frame is the group's (frame.h).
std::vector<VariantCase> variantsOf(const Graph &graph, const TiledGroup &group, const Frame &frame,
                                    Instruction instruction = Instruction::Fma);

/// The variant that these parameter values take, and with dots this instruction, or a simpler one
/// if their types need it. Unsupported as buildProgram().
llvm::Expected<Variant> variantOf(const Graph &graph, const TiledGroup &group,
                                  std::span<const int64_t> values,
                                  Instruction instruction = Instruction::Fma,
                                  bool isByLoops = false);

/// Unsupported, naming the op, for what has no program: of dots by wgmma, computed operands.
llvm::Expected<Program> buildProgram(const Module &module, const Graph &graph,
                                     const TiledGroup &group, const Variant &variant);
/// The same of a group whose frame is known, for many variants.
llvm::Expected<Program> buildProgram(const Module &module, const Graph &graph,
                                     const TiledGroup &group, const Variant &variant, Frame frame);

/// The sizes of a built program at these parameter values.
SizeValues sizesOf(const Program &program, const TiledGroup &group,
                   std::span<const int64_t> values);

} // namespace tilewright::program
