// Packs in memory for tests of the runner.
#pragma once

#include "profiler/pack_reader.h"

namespace tilewright::profile {

/// A kernel of two inputs and one output, with every field that a manifest can have.
inline std::string smallManifest() {
  return R"({"schema": "tilewright.pack", "schema_version": 1, "target": "sm_90",
  "architecture_specific": false, "ptx_version": "8.0", "llvm": "19.1.7", "ptxas": null,
  "problems": [{"hash": "00000000000000aa", "expected": [{"output": 0, "positions": [0, 5, 23],
      "values": [1.5, -2, 0.25], "scale": 1.5}], "hlo": "HloModule m"}],
  "kernels": [{"name": "k", "kind": "dot", "entry": "k", "grid": [3, 1, 1], "block": [128, 1, 1],
    "dynamic_shared_bytes": 1024, "files": {"ll": "k.ll", "ptx": "k.ptx"},
    "parameters": [
      {"name": "a", "role": "input", "dtype": "bf16", "dims": [4, 6], "minor_to_major": [1, 0],
       "bytes": 48},
      {"name": "i", "role": "input", "dtype": "s32", "dims": [6], "minor_to_major": [0],
       "bytes": 24, "range": [0, 3]},
      {"name": "o", "role": "output", "dtype": "f32", "dims": [4, 6], "minor_to_major": [0, 1],
       "bytes": 96}],
    "workspaces": [{"name": "w", "bytes": 64, "zeroed": true}],
    "tensor_maps": [{"parameter": 0, "offset_bytes": 16, "dtype": "bf16", "dims": [6, 4],
      "strides_bytes": [16], "box": [6, 2], "swizzle_bytes": 0}],
    "fill": {"recipe": "splitmix64", "seed": 7}, "tolerance": 0.01,
    "work": {"flops": 1000, "tensor_cores": true, "dtype": "bf16", "read_bytes": 72,
             "write_bytes": 96},
    "problem": "00000000000000aa", "plan_hash": "00000000000000bb", "plan_text": "t0=4 warps=4",
    "plan": {}, "hlo": "HloModule m"}]})";
}

} // namespace tilewright::profile
