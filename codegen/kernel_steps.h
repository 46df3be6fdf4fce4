// The steps of a kernel, for people: what each thread loads, copies, multiplies and stores, in
// which loops, and where. Derived from the lowered IR, so that it describes exactly what the kernel
// does.
//
//         loop i0, 128 carried
//     19    wait for copies, 2 groups may be in flight
//     20    barrier
//           if (i0 + 3) < 128
//     21      8 x copy 16 bytes from %a to shared memory: (cta/16*128 + tid/4)*8192 + tid%4*16
//     30    16 x ldmatrix x4
//     46    64 x mma.m16n8k16.row.col.bf16
//
// The number is that of the (first) step; failed checks refer to it. Neighbouring steps of one kind
// share a line; the address after the colon is that of the first, as a function of the thread
// (tid), the CTA and the counters of the enclosing loops (i0, i1, …).
#pragma once

#include "codegen/kernel_module.h"

namespace tilewright {

/// Of a kernel that was lowered for a device.
std::string printSteps(const KernelModule &kernel);

} // namespace tilewright
