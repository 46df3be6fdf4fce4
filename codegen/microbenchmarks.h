// Micro-benchmarks: kernels that each show one property of a device, made by the same lowering as
// everything else.
//
//   launch_G            one warp a CTA, G CTAs: launch and CTA start
//   copy_B, write_B     B bytes moved by CTAs of 1, 4 or 8 warps: DRAM against bytes, latency and
//                       bytes in flight
//   read_B              row sums over B bytes; measured warm it shows L2's bandwidth up to its size
//   chase_B_N           N loads, each at the address that the one before it read, in a table of B
//                       bytes: latency of L1, L2 and DRAM from the difference of two N
//   fma_W, exp_W, …     chains of one operation on W warps a CTA with 1 to 8 elements a thread:
//                       rate and latency of a pipe
//   select_W, convert_W of a product that a compare selects, and that goes to bf16 and back
//   shuffle_N           N sums of rows of a warp, each of what the last one left: shuffles
//   exchange_N          the same of rows of four warps: barriers and trips through shared memory
//   loop_K, grid_G      a dot of one tile over K, and of G tiles over one K: time of an iteration,
//                       prologue, waves and tail
//   bank_T              f32 dots without tensor cores, of tiles of T rows whose elements are stored
//                       to shared memory 4·T words apart: each bank is hit by 4, 8, 16 or 32 lanes
//                       for T = 33, 34, 36 and 40, with the rest of the work in step with T
//   stride_S            loads S elements apart: cost of sectors
#pragma once

#include "codegen/kernel_spec.h"

namespace tilewright {

/// All of them, in a fixed order. About 10 s of an H100 with the runner's defaults.
/// Errors: Internal, for a kernel that its plan does not fit.
llvm::Expected<std::vector<KernelSpec>> microbenchmarks();

} // namespace tilewright
