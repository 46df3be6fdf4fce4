// The steps of a kernel, for people: what each thread loads, copies, multiplies and stores, in
// which loops, and where. Read back from the IR as it was lowered, so that it says what the kernel
// does and nothing else.
//
//   loop (128 carried)
//     wait for copies, 2 groups in flight
//     barrier
//     if
//       8 x copy 16 bytes from %a to shared memory: from (block/16*128 + tid/4)*8192 + tid%4*16
//     16 x ldmatrix.x4
//     64 x mma m16n8k16 bf16
//
// Neighbours of one kind are one line; what stands after the colon is the place of the first, as a
// function of the thread (tid), the block and the counters of the loops around (i0, i1, …).
#pragma once

#include "codegen/kernel_module.h"

namespace tilewright {

/// Of a kernel that was lowered for a device.
std::string printSteps(const KernelModule &kernel);

} // namespace tilewright
