// ProgramStyle: what a code generator does alike in all of its kernels, and another one otherwise.
//
// A plan says which tiles a kernel has and how they are scheduled; its style says how such a kernel
// is written down. Prices ask for these facts, never for whose kernel it is.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright {

/// How the parts of a sum that several CTAs share (split-K) become one.
enum class SplitSums : uint8_t {
  Workspace, ///< left in memory; the CTA that comes last adds them up and writes the result
  Atomics,   ///< each element is added to the result, in the type of the sums
};

/// What threads do that a tile has no element for.
enum class IdleThreads : uint8_t {
  Wait,
  LoadAgain, ///< an element that another thread has, too
};

/// Exponentials and quotients of f32.
enum class ScalarForms : uint8_t {
  Refined,     ///< to the last place or two
  Approximate, ///< what ex2.approx and div.full give
};

/// What tensor cores multiply for a product of f32.
enum class F32Products : uint8_t {
  Tf32,        ///< one product or three; what has to be more exact takes multiply-adds
  OfAlgorithm, ///< the type and the number of products that the dot's algorithm names
};

/// How operands of products by warpgroups come to shared memory.
enum class WarpgroupCopies : uint8_t {
  Producer, ///< by TMA, which warps of their own issue; it has to take them as they lie
  AllWarps, ///< those that multiply copy what they will read, through registers if need be
};

/// Which dots and convolutions are made of products of tiles.
enum class TileProducts : uint8_t {
  WhereTaken, ///< those whose operands an instruction takes; others are loops for each element
  All,
};

/// What is known of a kernel's registers, shared memory and warps before it is compiled.
enum class KnownResources : uint8_t {
  Program, ///< its program is at hand: tiles that are live, buffers, roles
  Counts,  ///< no more than how many accumulators, copies and elements it has
};

struct ProgramStyle {
  std::string_view name; ///< as outputs call it
  SplitSums splitSums;
  IdleThreads idleThreads;
  ScalarForms scalarForms;
  F32Products f32Products;
  WarpgroupCopies warpgroupCopies;
  TileProducts tileProducts;
  KnownResources knownResources;
};

/// Kernels of this project's code generation.
inline constexpr ProgramStyle tilewrightStyle{"tilewright",
                                              SplitSums::Workspace,
                                              IdleThreads::Wait,
                                              ScalarForms::Refined,
                                              F32Products::Tf32,
                                              WarpgroupCopies::Producer,
                                              TileProducts::WhereTaken,
                                              KnownResources::Program};

/// Kernels as Triton compiles them: those of most of the bundled measurements.
inline constexpr ProgramStyle tritonStyle{"Triton",
                                          SplitSums::Atomics,
                                          IdleThreads::LoadAgain,
                                          ScalarForms::Approximate,
                                          F32Products::OfAlgorithm,
                                          WarpgroupCopies::AllWarps,
                                          TileProducts::All,
                                          KnownResources::Counts};

} // namespace tilewright
