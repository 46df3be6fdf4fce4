// The steps of a kernel, for people: what each thread loads, copies, multiplies and stores, in
// which loops, and where. Read back from the IR as it was lowered, so that it says what the kernel
// does and nothing else.
//
//         loop i0, 128 carried
//     19    wait for copies, 2 groups may be in flight
//     20    barrier
//           if (i0 + 3) < 128
//     21      8 x copy 16 bytes from %a to shared memory: (block/16*128 + tid/4)*8192 + tid%4*16
//     30    16 x ldmatrix x4
//     46    64 x mma.m16n8k16.row.col.bf16
//
// The number is that of the (first) step, by which a failed check says where it went wrong.
// Neighbours of one kind are one line; what stands after the colon is the place of the first, as a
// function of the thread (tid), the block and the counters of the loops around (i0, i1, …).
#pragma once

#include "codegen/kernel_module.h"

namespace tilewright {

/// Of a kernel that was lowered for a device.
std::string printSteps(const KernelModule &kernel);

} // namespace tilewright
