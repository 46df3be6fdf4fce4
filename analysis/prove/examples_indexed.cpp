// Ops with data-dependent read or write positions, and ops on whole lines.
#include "analysis/prove/examples_internal.h"

namespace tilewright::prove {

namespace {

std::vector<Example> gathers() {
  return {{"rows of [3,4]", "x = f32[3,4] parameter(0)\n i = s32[5] parameter(1)\n ROOT r = "
                            "f32[5,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
                            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}"},
          {"boxes of [9,6]", "x = f32[9,6] parameter(0)\n i = s32[4,2] parameter(1)\n ROOT r = "
                             "f32[4,2,3] gather(x, i), offset_dims={1,2}, "
                             "collapsed_slice_dims={}, start_index_map={0,1}, "
                             "index_vector_dim=1, slice_sizes={2,3}"},
          {"slices of a swapped index", "x = f32[5,6,4] parameter(0)\n i = s32[3,2] parameter(1)\n "
                                        "ROOT r = f32[2,3,4] gather(x, i), offset_dims={0,2}, "
                                        "collapsed_slice_dims={0}, start_index_map={1,0}, "
                                        "index_vector_dim=1, slice_sizes={1,2,4}"},
          {"batching dims", "x = f32[2,5,4] parameter(0)\n i = s32[2,3,1] parameter(1)\n ROOT r = "
                            "f32[2,3,4] gather(x, i), offset_dims={2}, collapsed_slice_dims={1}, "
                            "operand_batching_dims={0}, start_indices_batching_dims={0}, "
                            "start_index_map={1}, index_vector_dim=2, slice_sizes={1,1,4}"}};
}

std::vector<Example> scatters() {
  return {{"rows of [3,4]", "x = f32[3,4] parameter(0)\n i = s32[2,1] parameter(1)\n u = f32[2,4] "
                            "parameter(2)\n ROOT r = f32[3,4] scatter(x, i, u), "
                            "update_window_dims={1}, inserted_window_dims={0}, "
                            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"},
          {"boxes of [6,5]", "x = f32[6,5] parameter(0)\n i = s32[3,2] parameter(1)\n u = "
                             "f32[3,2,2] parameter(2)\n ROOT r = f32[6,5] scatter(x, i, u), "
                             "update_window_dims={1,2}, inserted_window_dims={}, "
                             "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, "
                             "to_apply=add"}};
}

} // namespace

std::vector<Example> indexedExamples(Opcode opcode, Grid) {
  switch (opcode) {
  case Opcode::DynamicSlice:
    return {{"[2,4] of [3,4]",
             "x = f32[3,4] parameter(0)\n i = s32[] parameter(1)\n ROOT r = f32[2,4] "
             "dynamic-slice(x, i, i), dynamic_slice_sizes={2,4}"},
            {"[1,2,32] of [20,2,258]",
             "x = f32[20,2,258] parameter(0)\n i = s32[] constant(4)\n j = s32[] parameter(1)\n "
             "k = s32[] parameter(2)\n ROOT r = f32[1,2,32] dynamic-slice(x, i, j, k), "
             "dynamic_slice_sizes={1,2,32}"}};
  case Opcode::DynamicUpdateSlice:
    return {{"[2,2] in [3,4]", "x = f32[3,4] parameter(0)\n u = f32[2,2] parameter(1)\n i = s32[] "
                               "parameter(2)\n ROOT r = f32[3,4] dynamic-update-slice(x, u, i, i)"},
            {"known start", "x = f32[9] parameter(0)\n u = f32[4] parameter(1)\n i = s32[] "
                            "constant(3)\n ROOT r = f32[9] dynamic-update-slice(x, u, i)"},
            {"whole dim", "x = f32[5,6] parameter(0)\n u = f32[2,6] parameter(1)\n i = s32[] "
                          "parameter(2)\n z = s32[] constant(0)\n ROOT r = f32[5,6] "
                          "dynamic-update-slice(x, u, i, z)"}};
  case Opcode::Gather:
    return gathers();
  case Opcode::Scatter:
    return scatters();
  case Opcode::Sort:
    return {{"[3,4] along 1",
             "x = f32[3,4] parameter(0)\n ROOT r = f32[3,4] sort(x), dimensions={1}, to_apply=lt"},
            {"[5,3] along 0",
             "x = f32[5,3] parameter(0)\n ROOT r = f32[5,3] sort(x), dimensions={0}, to_apply=lt"}};
  case Opcode::TopK:
    return {{"2 of [3,4]", "x = f32[3,4] parameter(0)\n r = (f32[3,2], s32[3,2]) topk(x), k=2, "
                           "largest=true\nROOT g = f32[3,2] get-tuple-element(r), index=0"}};
  default:
    return {};
  }
}

std::vector<Example> collectiveExamples(Opcode opcode, Grid) {
  const std::string x = "x = f32[3,4] parameter(0)\n ", groups = ", replica_groups={{0,1}}";
  const std::string pairs = ", source_target_pairs={{0,1},{1,0}}";
  const std::string along = groups + ", dimensions={0}";
  switch (opcode) {
  case Opcode::AllReduce:
    return {{"[3,4]", x + "ROOT r = f32[3,4] all-reduce(x)" + groups + ", to_apply=add"}};
  case Opcode::AllReduceStart:
    return {{"[3,4]", x + "ROOT r = f32[3,4] all-reduce-start(x)" + groups + ", to_apply=add"}};
  case Opcode::AllReduceDone:
    return {{"[3,4]", x + "s = f32[3,4] all-reduce-start(x)" + groups +
                          ", to_apply=add\nROOT r = f32[3,4] all-reduce-done(s)"}};
  case Opcode::AllGather:
    return {{"2 x [3,4]", x + "ROOT r = f32[6,4] all-gather(x)" + along},
            {"2 x [6]", "x = f32[6] parameter(0)\n ROOT r = f32[12] all-gather(x)" + along}};
  case Opcode::AllGatherStart:
    return {{"2 x [3,4]", x + "ROOT r = (f32[3,4], f32[6,4]) all-gather-start(x)" + along}};
  case Opcode::AllGatherDone:
    return {{"2 x [3,4]", x + "s = (f32[3,4], f32[6,4]) all-gather-start(x)" + along +
                              "\n ROOT r = f32[6,4] all-gather-done(s)"}};
  case Opcode::ReduceScatter:
    return {{"[4,4] by 2", "x = f32[4,4] parameter(0)\n ROOT r = f32[2,4] reduce-scatter(x)" +
                               along + ", to_apply=add"}};
  case Opcode::AllToAll:
    return {{"[6,4] by 2", "x = f32[6,4] parameter(0)\n ROOT r = f32[6,4] all-to-all(x)" + along},
            {"[3,8] by 2 along 1", "x = f32[3,8] parameter(0)\n ROOT r = f32[3,8] all-to-all(x)" +
                                       groups + ", dimensions={1}"}};
  case Opcode::CollectivePermute:
    return {{"[3,4]", x + "ROOT r = f32[3,4] collective-permute(x)" + pairs}};
  case Opcode::CollectivePermuteStart:
    return {{"[3,4]", x +
                          "ROOT r = (f32[3,4], f32[3,4], u32[], u32[]) "
                          "collective-permute-start(x)" +
                          pairs}};
  case Opcode::CollectivePermuteDone:
    return {{"[3,4]", x + "s = (f32[3,4], f32[3,4], u32[], u32[]) collective-permute-start(x)" +
                          pairs + "\nROOT r = f32[3,4] collective-permute-done(s)"}};
  case Opcode::CollectiveBroadcast:
    return {{"[3,4]", x + "ROOT r = f32[3,4] collective-broadcast(x)" + groups}};
  default:
    return {};
  }
}

} // namespace tilewright::prove
