// A small exploration for the report's tests, as `explore` writes it.
#pragma once

#include <fmt/format.h>
#include <string>

namespace tilewright::report {

inline std::string sampleKernel(const std::string &name, double timeNs, double flops,
                                double dramBytes, const std::string &limiter = "DRAM") {
  return fmt::format(R"({{"name":"{}","ops":["dot.1","add.2","max.3"],"root_shape":"bf16[8,64]",
"kind":"dot","trip_count":1,"plan":{{"tile":{{"k0":64,"t0":1,"t1":128}},"schedule":{{"warps":4,
"instruction":"wgmma","split_k":1}},"grid":256}},"time_ns":{},"sigma_ln":0.08,"limiter":"{}",
"terms":{{"tensor":100.0,"shared memory":200.0,"DRAM":300.0,"launch":50}},"flops":{},
"transcendentals":0,"dram_bytes":{},"l2_bytes":4096,"resources":{{"registers":174,
"shared_bytes":98304,"threads":128,"blocks_per_sm":2}},"candidates":{{"raw":2535,"feasible":132,
"priced":132}},"alternatives":[{{"plan":{{"tile":{{"t0":1}}}},"time_ns":{},"limiter":"DRAM"}},
{{"plan":{{"tile":{{"t0":2}}}},"time_ns":900000,"limiter":"L2"}}]}})",
                     name, timeNs, limiter, flops, dramBytes, timeNs);
}

/// `kernels`: comma-separated objects; `members`: more members of the model, each after a comma.
inline std::string sampleExploration(const std::string &kernels, const std::string &members = "",
                                     const std::string &model = "models/block.hlo.txt") {
  return R"({"schema":"tilewright.explore","schema_version":1,"tool_version":"0.1.0",
"device":{"name":"h100-sxm","display_name":"NVIDIA H100 SXM","sm_count":132,"clock_ghz":1.98,
"dram_bytes_per_s":3.35e12,"l2_bytes":52428800,"peak_flops_per_s":{"bf16":9.9e14,"f16":9.9e14,
"f32":6.7e13}},"calibration":"h100-sxm","models":[{"model":")" +
         model + R"(","ops":310,"computations":9,"kernels":[)" + kernels + "]" + members + "}]}";
}

/// Three kernels on the roofline's plane, one without FLOPs, one without DRAM traffic.
inline std::string sampleFiveKernels() {
  return sampleKernel("k0_big", 50000, 1.7e10, 2.5e7, "tensor") + "," +
         sampleKernel("k1_mid", 20000, 1e9, 3e7) + "," + sampleKernel("k2_small", 3000, 1e6, 1e6) +
         "," + sampleKernel("k3_copy", 10000, 0, 2e7) + "," +
         sampleKernel("k4_cached", 4000, 1e8, 0, "L2");
}

inline std::string sampleEvaluation() {
  return R"({"schema":"tilewright.evaluate","schema_version":1,"device":"h100-sxm",
"families":[{"family":"gemm/bf16","groups":12,"rows":1400,"mape":0.0834,"median_ape":0.061,
"p90_ape":0.17,"bias":-0.0123,"oracle_at_1":0.956,"worst_at_1":0.71,"oracle_at_5":0.99,
"oracle_at_10":1,"random_at_5":0.7,"unpriced_rows":3},{"family":"reduce/f32"}],
"overall":{"groups":20,"rows":2000,"mape":0.1},
"rows":[{"family":"gemm/bf16","predicted_ns":1000,"measured_ns":1100},
{"family":"gemm/bf16","predicted_ns":5000,"measured_ns":9000},
{"family":"gemm/bf16","predicted_ns":null,"measured_ns":9000},
{"family":"reduce/f32","predicted_ns":700,"measured_ns":0},
{"family":"reduce/f32","predicted_ns":700,"measured_ns":650}]})";
}

/// A kernel that reads `reads` (comma-separated, quoted) and has a map of two by three plans, one
/// of them refused.
inline std::string sampleMappedKernel(const std::string &name, const std::string &reads) {
  return fmt::format(R"({{"name":"{}","ops":["a"],"time_ns":2000,"reads":[{}],
"plan":{{"tile":{{"t0":64,"t1":32}}}},"tile_map":{{"rows":{{"parameter":"t0","sizes":[32,64]}},
"columns":{{"parameter":"t1","sizes":[16,32,64]}},"times_ns":[9000,4000,3000,2500,2000,null],
"refusals":[{{"cell":5,"rule":"shared-memory","reason":"270000 bytes over the 232448 allowed"}}]}}}})",
                     name, reads);
}

/// Two problems: in the first the choice is the best plan, in the second it is the second fastest.
inline std::string samplePlannedEvaluation() {
  return R"({"schema":"tilewright.evaluate","schema_version":1,"device":"h100-sxm","families":[],
"rows":[{"family":"f","group":"good","plan":{"t0":16,"warps":4},"predicted_ns":100,"measured_ns":100},
{"family":"f","group":"good","plan":{"t0":32,"warps":4},"predicted_ns":240,"measured_ns":200},
{"family":"f","group":"poor","plan":{"t0":16,"warps":4},"predicted_ns":100,"measured_ns":400},
{"family":"f","group":"poor","plan":{"t0":32,"warps":4},"predicted_ns":120,"measured_ns":100}]})";
}

inline std::string sampleCalibration() {
  return R"({"schema":"tilewright.calibration","schema_version":1,"device":"h100-sxm",
"data":{"files":["a.csv"],"rows":400,"groups":12},"fit":{"mape":0.07,"sigma_ln":0.08},
"parameters":{"launch":{"value":800,"unit":"ns","status":"fitted","sigma_ln":0.05,"prior":1000,
"meaning":"launch to the first instruction"},"rate":{"value":0.9,"unit":"1","status":"fixed",
"sigma_ln":0.6,"prior":0.9,"meaning":"share of the peak"}}})";
}

} // namespace tilewright::report
