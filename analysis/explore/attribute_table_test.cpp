// analysis/ir/attributes.def against what the implementation does: for each row two programs that
// differ in that attribute alone, and everything that is said of both. And docs/attributes.md,
// which is the table; TILEWRIGHT_UPDATE_DOCS=1 writes it (scripts/update_docs.sh).
#include "analysis/explore/explore.h"
#include "analysis/import/hlo_attribute_checks.h"
#include "analysis/import/hlo_attributes.h"
#include "analysis/import/import_file.h"
#include "analysis/indexing/op_cost.h"
#include "analysis/ir/attributes.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/verifier.h"
#include "analysis/support/diag.h"
#include "analysis/support/testing/document.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace tilewright;

namespace {

/// Lines of an entry, `$` where the attribute stands, and two of its values (with the attributes
/// that go with it).
struct Example {
  const char *name, *body, *one, *other;
};

constexpr const char *dot = "x = f32[3,3,3] parameter(0)\n y = f32[3,3,3] parameter(1)\n"
                            " ROOT r = f32[3,3,3] dot(x, y), $";
constexpr const char *bigDot = "x = f32[512,512] parameter(0)\n y = f32[512,512] parameter(1)\n"
                               " ROOT r = f32[512,512] dot(x, y), lhs_contracting_dims={1}, "
                               "rhs_contracting_dims={0}, $";
constexpr const char *convolution = "x = f32[4,4,4] parameter(0)\n y = f32[3,4,4] parameter(1)\n"
                                    " ROOT r = f32[4,4,4] convolution(x, y), $";
constexpr const char *gather = "x = f32[3,3] parameter(0)\n i = s32[3,1] parameter(1)\n"
                               " ROOT r = f32[3,3] gather(x, i), $";
constexpr const char *batchedGather = "x = f32[3,3] parameter(0)\n i = s32[3,1] parameter(1)\n"
                                      " ROOT r = f32[3] gather(x, i), $";
constexpr const char *scatter = "x = f32[3,3] parameter(0)\n i = s32[3,1] parameter(1)\n"
                                " u = f32[3,3] parameter(2)\n"
                                " ROOT r = f32[3,3] scatter(x, i, u), to_apply=add, $";
constexpr const char *batchedScatter = "x = f32[3,3] parameter(0)\n i = s32[3,1] parameter(1)\n"
                                       " u = f32[3] parameter(2)\n"
                                       " ROOT r = f32[3,3] scatter(x, i, u), to_apply=add, $";
constexpr const char *largeScatter = // of more updates than threads hold
    "x = f32[8] parameter(0)\n i = s32[262144,1] parameter(1)\n u = f32[262144] parameter(2)\n"
    " ROOT r = f32[8] scatter(x, i, u), to_apply=add, $";
constexpr const char *raggedDot =
    "x = f32[4,3] parameter(0)\n y = f32[4,3,4] parameter(1)\n g = s32[4] constant({1,1,1,1})\n"
    " ROOT r = f32[4,4] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, $";
constexpr const char *scan = "x = f32[4] parameter(0)\n z = f32[] parameter(1)\n"
                             " ROOT r = (f32[4], f32[]) scan(x, z), dimensions={0}, "
                             "to_apply=step, $";
constexpr const char *compare = "x = f32[4] constant({0, -0, nan, 1})\n"
                                " y = f32[4] constant({-0, 0, nan, 2})\n"
                                " ROOT r = pred[4] compare(x, y), $";
constexpr const char *precision =
    "x = f32[64] parameter(0)\n ROOT r = f32[64] reduce-precision(x), $";
constexpr const char *topK = "x = f32[8] parameter(0)\n ROOT r = (f32[2], s32[2]) topk(x), $";
constexpr const char *loop = "z = s32[] constant(0)\n y = f32[4] parameter(0)\n"
                             " x = (s32[], f32[4]) tuple(z, y)\n"
                             " ROOT r = (s32[], f32[4]) while(x), $";
constexpr const char *branch = "p = s32[] constant(0)\n x = f32[4] parameter(0)\n"
                               " ROOT r = f32[4] conditional(p, x, x), $";
constexpr const char *selectAndScatter =
    "x = f32[6] parameter(0)\n s = f32[3] parameter(1)\n z = f32[] constant(0)\n"
    " ROOT r = f32[6] select-and-scatter(x, s, z), window={size=2 stride=2}, $";
constexpr const char *custom =
    "x = f32[64,64] parameter(0)\n ROOT r = f32[64,64] custom-call(x, x), $";
constexpr const char *allReduce = "x = f32[1024] parameter(0)\n"
                                  " ROOT r = f32[1024] all-reduce(x), to_apply=add, $";
constexpr const char *permute =
    "x = f32[1024] parameter(0)\n ROOT r = f32[1024] collective-permute(x), $";
constexpr const char *fusion = "x = f32[64] parameter(0)\n ROOT r = f32[64] fusion(x), $";
constexpr const char *negate = "x = f32[64] parameter(0)\n ROOT r = f32[64] negate(x), $";
constexpr const char *exponential = "x = f32[64] parameter(0)\n ROOT r = f32[64] exponential(x), $";
constexpr const char *sort = "x = f32[8] parameter(0)\n"
                             " ROOT r = f32[8] sort(x), dimensions={0}, to_apply=less, $";
constexpr const char *solve = "a = f32[4,4] parameter(0)\n b = f32[4,4] parameter(1)\n"
                              " ROOT r = f32[4,4] triangular-solve(a, b), $";
constexpr const char *fft = "x = c64[8] parameter(0)\n ROOT r = c64[8] fft(x), $";
constexpr const char *norm =
    "x = f32[4,8] parameter(0)\n s = f32[8] parameter(1)\n o = f32[8] parameter(2)\n"
    " ROOT r = (f32[4,8], f32[8], f32[8]) batch-norm-training(x, s, o), $";
constexpr const char *send = "x = f32[4] parameter(0)\n t = token[] after-all()\n"
                             " ROOT r = (f32[4], u32[], token[]) send(x, t), $";

constexpr Example examples[] = {
    {"dimensions", "x = f32[4,4] parameter(0)\n ROOT r = f32[4,4] transpose(x), $",
     "dimensions={0,1}", "dimensions={1,0}"},
    {"iota_dimension", "ROOT r = s32[3,3] iota(), $", "iota_dimension=0", "iota_dimension=1"},
    {"lhs_batch_dims", dot,
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"},
    {"rhs_batch_dims", dot,
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "lhs_batch_dims={0}, rhs_batch_dims={2}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"},
    {"lhs_contracting_dims", dot,
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
    {"rhs_contracting_dims", dot,
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}"},
    {"lhs_ragged_dims", raggedDot, "rhs_group_dims={0}, lhs_ragged_dims={0}",
     "rhs_group_dims={0}, lhs_ragged_dims={1}"},
    {"rhs_group_dims", raggedDot, "lhs_ragged_dims={0}, rhs_group_dims={0}",
     "lhs_ragged_dims={0}, rhs_group_dims={2}"},
    {"window", convolution, "dim_labels=b0f_0io->b0f, window={size=3 pad=1_1}",
     "dim_labels=b0f_0io->b0f, window={size=3 pad=2_0}"},
    {"dim_labels", convolution, "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
     "window={size=3 pad=1_1}, dim_labels=b0f_0oi->b0f"},
    {"feature_group_count", convolution,
     "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=1",
     "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=2"},
    {"batch_group_count", convolution,
     "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, batch_group_count=1",
     "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, batch_group_count=2"},
    {"offset_dims", gather,
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, "
     "offset_dims={1}",
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, "
     "offset_dims={0}"},
    {"collapsed_slice_dims", gather,
     "offset_dims={1}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, "
     "collapsed_slice_dims={0}",
     "offset_dims={1}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, "
     "collapsed_slice_dims={1}"},
    {"start_index_map", gather,
     "offset_dims={1}, collapsed_slice_dims={0}, index_vector_dim=1, slice_sizes={1,3}, "
     "start_index_map={0}",
     "offset_dims={1}, collapsed_slice_dims={0}, index_vector_dim=1, slice_sizes={1,3}, "
     "start_index_map={1}"},
    {"slice_sizes", gather,
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,3}",
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,2}"},
    {"index_vector_dim", gather,
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, slice_sizes={1,3}, "
     "index_vector_dim=1",
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, slice_sizes={1,3}, "
     "index_vector_dim=0"},
    {"operand_batching_dims", batchedGather,
     "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, "
     "slice_sizes={1,1}, start_indices_batching_dims={0}, operand_batching_dims={0}",
     "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, "
     "slice_sizes={1,1}, start_indices_batching_dims={0}, operand_batching_dims={1}"},
    {"start_indices_batching_dims", batchedGather,
     "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, "
     "slice_sizes={1,1}, operand_batching_dims={0}, start_indices_batching_dims={0}",
     "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, "
     "slice_sizes={1,1}, operand_batching_dims={0}, start_indices_batching_dims={1}"},
    {"update_window_dims", scatter,
     "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
     "update_window_dims={1}",
     "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
     "update_window_dims={0}"},
    {"inserted_window_dims", scatter,
     "update_window_dims={1}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
     "inserted_window_dims={0}",
     "update_window_dims={1}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
     "inserted_window_dims={1}"},
    {"scatter_dims_to_operand_dims", scatter,
     "update_window_dims={1}, inserted_window_dims={0}, index_vector_dim=1, "
     "scatter_dims_to_operand_dims={0}",
     "update_window_dims={1}, inserted_window_dims={0}, index_vector_dim=1, "
     "scatter_dims_to_operand_dims={1}"},
    {"input_batching_dims", batchedScatter,
     "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
     "index_vector_dim=1, scatter_indices_batching_dims={0}, input_batching_dims={0}",
     "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
     "index_vector_dim=1, scatter_indices_batching_dims={0}, input_batching_dims={1}"},
    {"scatter_indices_batching_dims", batchedScatter,
     "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
     "index_vector_dim=1, input_batching_dims={0}, scatter_indices_batching_dims={0}",
     "update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
     "index_vector_dim=1, input_batching_dims={0}, scatter_indices_batching_dims={1}"},
    {"padding", "x = f32[4] parameter(0)\n z = f32[] constant(7)\n ROOT r = f32[6] pad(x, z), $",
     "padding=1_1", "padding=2_0"},
    {"slice", "x = f32[4] parameter(0)\n ROOT r = f32[2] slice(x), $", "slice={[0:2]}",
     "slice={[0:4:2]}"},
    {"dynamic_slice_sizes",
     "x = f32[4] parameter(0)\n i = s32[] parameter(1)\n ROOT r = f32[2] dynamic-slice(x, i), $",
     "dynamic_slice_sizes={2}", "dynamic_slice_sizes={3}"},
    {"index", "x = (f32[4], f32[4]) parameter(0)\n ROOT r = f32[4] get-tuple-element(x), $",
     "index=0", "index=1"},
    {"num_carries", scan, "num_carries=1", "num_carries=0"},
    {"is_reverse", scan, "num_carries=1, is_reverse=false", "num_carries=1, is_reverse=true"},
    {"algorithm", bigDot, "algorithm=dot_tf32_tf32_f32", "algorithm=dot_f32_f32_f32"},
    {"operand_precision", bigDot, "operand_precision={default,default}",
     "operand_precision={default,highest}"},
    {"operand_precision", bigDot, "operand_precision={default,default}",
     "operand_precision={high,high}"},
    {"exponent_bits", precision, "mantissa_bits=5, exponent_bits=8",
     "mantissa_bits=5, exponent_bits=1"},
    {"mantissa_bits", precision, "exponent_bits=8, mantissa_bits=5",
     "exponent_bits=8, mantissa_bits=2"},
    {"direction", compare, "direction=LT", "direction=GE"},
    {"type", compare, "direction=LT, type=FLOAT", "direction=LT, type=TOTALORDER"},
    {"largest", topK, "k=2, largest=true", "k=2, largest=false"},
    {"k", topK, "largest=true, k=2", "largest=true, k=3"},
    {"to_apply",
     "x = f32[4] parameter(0)\n z = f32[] constant(0)\n"
     " ROOT r = f32[] reduce(x, z), dimensions={0}, $",
     "to_apply=add", "to_apply=max"},
    {"calls", "x = f32[4] parameter(0)\n ROOT r = f32[4] fusion(x), kind=kLoop, $", "calls=twice",
     "calls=neg"},
    {"body", loop, "condition=once, body=adds", "condition=once, body=doubles"},
    {"condition", loop, "body=adds, condition=once", "body=adds, condition=thrice"},
    {"branch_computations", branch, "branch_computations={twice, neg}",
     "branch_computations={neg, twice}"},
    {"true_computation",
     "p = pred[] constant(true)\n x = f32[4] parameter(0)\n"
     " ROOT r = f32[4] conditional(p, x, x), $",
     "false_computation=neg, true_computation=neg",
     "false_computation=neg, true_computation=twice"},
    {"false_computation",
     "p = pred[] constant(false)\n x = f32[4] parameter(0)\n"
     " ROOT r = f32[4] conditional(p, x, x), $",
     "true_computation=neg, false_computation=neg",
     "true_computation=neg, false_computation=twice"},
    {"select", selectAndScatter, "scatter=add, select=greater", "scatter=add, select=smaller"},
    {"scatter",
     "x = f32[6] parameter(0)\n s = f32[5] parameter(1)\n z = f32[] constant(0)\n"
     " ROOT r = f32[6] select-and-scatter(x, s, z), window={size=2}, $",
     "select=greater, scatter=add", "select=greater, scatter=max"},
    {"custom_call_target", custom, "custom_call_target=\"__cublas$gemm\"",
     "custom_call_target=\"unheard_of\""},
    {"backend_config", loop, "condition=unknown, body=adds",
     "condition=unknown, body=adds, backend_config={\"known_trip_count\":{\"n\":\"7\"}}"},
    {"replica_groups", allReduce, "replica_groups={{0,1},{2,3}}", "replica_groups={{0,1,2,3}}"},
    {"kind", fusion, "calls=neg64, kind=kLoop", "calls=neg64, kind=kInput"},
    {"called_computations", custom, "custom_call_target=\"f\", called_computations={twice}",
     "custom_call_target=\"f\", called_computations={neg}"},
    {"is_stable", sort, "is_stable=true", "is_stable=false"},
    {"indices_are_sorted", gather,
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,3}, indices_are_sorted=true",
     "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,3}, indices_are_sorted=false"},
    {"unique_indices", largeScatter,
     "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
     "update_window_dims={}, unique_indices=true",
     "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
     "update_window_dims={}, unique_indices=false"},
    {"is_associative", scan, "num_carries=1, is_associative=true",
     "num_carries=1, is_associative=false"},
    {"fft_type", fft, "fft_length={8}, fft_type=FFT", "fft_length={8}, fft_type=IFFT"},
    {"fft_length", fft, "fft_type=FFT, fft_length={8}", "fft_type=FFT, fft_length={4}"},
    {"lower", solve, "left_side=true, lower=true", "left_side=true, lower=false"},
    {"left_side", solve, "lower=true, left_side=true", "lower=true, left_side=false"},
    {"unit_diagonal", solve, "left_side=true, unit_diagonal=true",
     "left_side=true, unit_diagonal=false"},
    {"transpose_a", solve, "left_side=true, transpose_a=NO_TRANSPOSE",
     "left_side=true, transpose_a=TRANSPOSE"},
    {"epsilon", norm, "feature_index=1, epsilon=0.001", "feature_index=1, epsilon=0.1"},
    {"distribution", "z = f32[] constant(0)\n o = f32[] constant(1)\n ROOT r = f32[8] rng(z, o), $",
     "distribution=rng_uniform", "distribution=rng_normal"},
    {"delta", "ROOT r = u64[2] rng-get-and-update-state(), $", "delta=1", "delta=2"},
    {"source_target_pairs", permute, "source_target_pairs={{0,1},{1,0}}",
     "source_target_pairs={{0,2},{2,0}}"},
    {"channel_id", allReduce, "replica_groups={{0,1}}, channel_id=1",
     "replica_groups={{0,1}}, channel_id=2"},
    {"use_global_device_ids", allReduce,
     "replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true",
     "replica_groups={{0,1}}, channel_id=1, use_global_device_ids=false"},
    {"constrain_layout", allReduce, "replica_groups={{0,1}}, constrain_layout=true",
     "replica_groups={{0,1}}, constrain_layout=false"},
    {"is_host_transfer", send, "channel_id=1, is_host_transfer=true",
     "channel_id=1, is_host_transfer=false"},
    {"custom_call_has_side_effect", custom,
     "custom_call_target=\"f\", custom_call_has_side_effect=true", "custom_call_target=\"f\""},
    {"api_version", custom, "custom_call_target=\"f\", api_version=API_VERSION_TYPED_FFI",
     "custom_call_target=\"f\""},
    {"operand_layout_constraints", custom,
     "custom_call_target=\"f\", operand_layout_constraints={f32[64,64]{0,1}, f32[64,64]{0,1}}",
     "custom_call_target=\"f\", operand_layout_constraints={f32[64,64]{1,0}, f32[64,64]{1,0}}"},
    {"output_to_operand_aliasing", custom,
     "custom_call_target=\"f\", output_to_operand_aliasing={{}: (0, {})}",
     "custom_call_target=\"f\""},
    {"result_accuracy", exponential, "result_accuracy={mode=highest}",
     "result_accuracy={tolerance={atol=0.1,rtol=0.1,ulps=100}}"},
    {"sharding", negate, "sharding={replicated}", "sharding={devices=[2]<=[2]}"},
    {"parameter_replication", "x = f32[64] parameter(0), $\n ROOT r = f32[64] negate(x)",
     "parameter_replication={true}", "parameter_replication={false}"},
    {"frontend_attributes", negate, "frontend_attributes={a=\"b\"}",
     "frontend_attributes={a=\"c\"}"},
    {"metadata", negate, "metadata={op_name=\"a\"}", "metadata={op_name=\"b\"}"},
    {"statistics", negate, "statistics={visualizing_index=0,a=1}",
     "statistics={visualizing_index=0,a=2}"},
    {"original_value", negate, "original_value={{\"a\"}}", "original_value={{\"b\"}}"},
    {"control-predecessors",
     "x = f32[64] parameter(0)\n y = f32[64] exponential(x)\n z = f32[64] negate(x), $\n"
     " ROOT r = (f32[64], f32[64]) tuple(y, z)",
     "control-predecessors={y}", "control-predecessors={}"},
    {"async_execution_thread",
     "x = f32[64] parameter(0)\n"
     " s = ((f32[64]), f32[64], s32[]) async-start(x), calls=neg64, $\n"
     " ROOT r = f32[64] async-done(s), calls=neg64",
     "async_execution_thread=\"main\"", "async_execution_thread=\"side\""},
};

constexpr const char *computations = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=LT }
greater { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=GE }
smaller { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=LE }
step { a = f32[] parameter(0)
  b = f32[] parameter(1)
  s = f32[] add(a, b)
  ROOT t = (f32[], f32[]) tuple(s, s) }
twice { a = f32[4] parameter(0)
  ROOT s = f32[4] add(a, a) }
neg { a = f32[4] parameter(0)
  ROOT s = f32[4] negate(a) }
neg64 { a = f32[64] parameter(0)
  ROOT s = f32[64] negate(a) }
adds { p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4] multiply(x, x)
  ROOT t = (s32[], f32[4]) tuple(j, y) }
doubles { p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4] add(x, x)
  ROOT t = (s32[], f32[4]) tuple(j, y) }
once { p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(1)
  ROOT c = pred[] compare(i, n), direction=LT }
thrice { p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
unknown { p = (s32[], f32[4]) parameter(0)
  x = f32[4] get-tuple-element(p), index=1
  z = f32[] constant(0)
  s = f32[] reduce(x, z), dimensions={0}, to_apply=add
  ROOT c = pred[] compare(s, z), direction=LT }
)";

/// Everything that is said of a program: why it is refused; its results; FLOPs, times, bytes over
/// the link, and what is not modelled.
std::string answers(std::string body, const std::string &attribute) {
  body.replace(body.find('$'), 1, attribute);
  llvm::Expected<Module> module = importBuffer(std::make_shared<SourceBuffer>(
      "test", std::string(computations) + "ENTRY main {\n " + body + "\n}\n"));
  if (!module)
    return "refused: " + takeDiag(module.takeError()).message;
  std::string text;
  llvm::Expected<std::vector<Tensor>> results =
      evaluate(*module, module->entryId, fillArguments(*module, module->entryId, 1));
  if (!results) {
    text += takeDiag(results.takeError()).message + "\n";
  } else {
    for (const Tensor &result : *results) {
      for (uint64_t word : result.words())
        text += fmt::format("{:x} ", word);
      text += "\n";
    }
  }
  static const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  static const Calibration calibration = priorCalibration(device);
  ExploreOptions options;
  options.search.maxPriced = 50;
  llvm::Expected<ExploredModel> model = exploreModel(*module, device, calibration, options);
  if (!model)
    return text + takeDiag(model.takeError()).message;
  for (const ExploredKernel &kernel : model->kernels)
    text += fmt::format("{} {} {} {} {}\n", kernel.name, kernel.tripCount, kernel.flops,
                        kernel.plans.front().estimate.timeNs,
                        toString(kernel.plans.front().plan.instruction));
  for (const UnsupportedOp &op : model->unsupported)
    text += fmt::format("{} {} {} {}\n", op.op, op.reason, op.flops.value_or(-1),
                        op.linkBytes.value_or(-1));
  for (const AssumedOp &op : model->assumed)
    text += fmt::format("{} {} {} {}\n", op.op, op.timeNs, op.linkBytes, op.reason);
  return text;
}

std::string_view wordOf(AttributeImport import) {
  return import == AttributeImport::Typed     ? "reads"
         : import == AttributeImport::Checked ? "checks its spelling"
                                              : "keeps";
}
std::string_view wordOf(AttributeUse use) {
  return use == AttributeUse::Reads ? "reads" : use == AttributeUse::None ? "–" : "no such op";
}
std::string_view wordOf(AttributeEffect effect) {
  return effect == AttributeEffect::Numbers ? "results"
         : effect == AttributeEffect::Costs ? "costs"
                                            : "nothing";
}

std::string table() {
  std::string text =
      "# Attributes\n\n"
      "Written by `scripts/update_docs.sh` from `analysis/ir/attributes.def`; a test fails when "
      "it\n"
      "is out of date, when the importer reads or a bundled program has an attribute without a\n"
      "row, when a change of an attribute that changes something changes no answer, and when one\n"
      "of an attribute that changes nothing does. What is not read here is kept, so that printing\n"
      "loses nothing. *Analysis*: index maps, tiles, costs. *Code*: checks compare it with the\n"
      "evaluator; how much error they allow follows from the types, `algorithm` and\n"
      "`operand_precision`.\n\n"
      "| attribute | of | changes | import | evaluator | analysis | code | |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const AttributeRow &row : attributeTable())
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", row.name, row.ops,
                        wordOf(row.changes), wordOf(row.import), wordOf(row.evaluator),
                        wordOf(row.analysis), wordOf(row.code), row.note);
  return text;
}

bool hasRow(std::string_view name) {
  for (const AttributeRow &row : attributeTable())
    if (row.name == name)
      return true;
  return false;
}

} // namespace

TEST(AttributeTable, WhatARowSaysIsSo) {
  std::set<std::string_view> shown;
  for (const AttributeRow &row : attributeTable()) {
    EXPECT_TRUE(row.changes != AttributeEffect::Nothing || !row.note.empty()) << row.name;
    for (const Example &example : examples) {
      if (row.name != example.name)
        continue;
      shown.insert(row.name);
      const std::string one = answers(example.body, example.one);
      const std::string other = answers(example.body, example.other);
      if (row.changes == AttributeEffect::Nothing) {
        EXPECT_EQ(one, other) << row.name;
        EXPECT_EQ(one.find("refused: "), std::string::npos) << row.name << ": " << one;
      } else {
        EXPECT_NE(one, other) << row.name;
        EXPECT_TRUE(one.find("refused: ") == std::string::npos) << row.name << ": " << one;
      }
    }
  }
  // Without an example, ops of which nothing but the name is known.
  for (const AttributeRow &row : attributeTable()) {
    EXPECT_TRUE(shown.count(row.name) || row.changes == AttributeEffect::Nothing) << row.name;
  }
}

TEST(AttributeTable, HasARowForAllThatTheImporterReads) {
  for (const auto &names : {typedAttributeNames(), checkedAttributeNames()})
    for (std::string_view name : names)
      EXPECT_TRUE(hasRow(name)) << name;
  for (const AttributeRow &row : attributeTable()) {
    auto isIn = [&](const std::vector<std::string_view> &names) {
      return std::find(names.begin(), names.end(), row.name) != names.end();
    };
    EXPECT_EQ(isIn(typedAttributeNames()), row.import == AttributeImport::Typed) << row.name;
    EXPECT_EQ(isIn(checkedAttributeNames()), row.import == AttributeImport::Checked) << row.name;
  }
}

TEST(AttributeTable, HasARowForAllThatBundledProgramsHave) {
  size_t files = 0;
  for (const char *folder : {"datasets/models", "datasets/templates", "tests/cases"})
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().string().find(".hlo.txt") == std::string::npos)
        continue;
      llvm::Expected<Module> module = importFile(entry.path().string());
      if (!module) { // a case of bad input, or a template with holes
        llvm::consumeError(module.takeError());
        continue;
      }
      ++files;
      for (const Graph &graph : module->all())
        for (const Op &op : graph.all())
          for (const RawAttribute &attribute : op.rawAttrs)
            EXPECT_TRUE(hasRow(attribute.name)) << entry.path() << ": " << attribute.name;
    }
  EXPECT_GT(files, 20u);
}

TEST(AttributeTable, IsDocumented) { expectDocument("docs/attributes.md", table()); }
