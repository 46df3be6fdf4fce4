// The ops of the dialects stablehlo and chlo, by name.
#include "analysis/import/stablehlo/lowering.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright::stablehlo {

namespace {

constexpr OpRow refused(std::string_view name, std::string_view why) {
  return {name, Opcode::Parameter, nullptr, {}, RegionKind::Function, nullptr, why};
}

constexpr auto scalars = RegionKind::Scalars;

constexpr OpRow rows[] = {
    // Elementwise.
    {"stablehlo.abs", Opcode::Abs, lowerDirect},
    {"stablehlo.add", Opcode::Add, lowerDirect},
    {"stablehlo.and", Opcode::And, lowerDirect},
    {"stablehlo.atan2", Opcode::Atan2, lowerDirect},
    {"stablehlo.bitcast_convert", Opcode::BitcastConvert, lowerBitcast},
    {"stablehlo.cbrt", Opcode::Cbrt, lowerDirect},
    {"stablehlo.ceil", Opcode::Ceil, lowerDirect},
    {"stablehlo.clamp", Opcode::Clamp, lowerDirect},
    {"stablehlo.compare", Opcode::Compare, lowerCompare, "0:comparison_direction 1:compare_type"},
    {"stablehlo.complex", Opcode::Complex, lowerDirect},
    {"stablehlo.convert", Opcode::Convert, lowerDirect},
    {"stablehlo.cosine", Opcode::Cosine, lowerDirect},
    {"stablehlo.count_leading_zeros", Opcode::Clz, lowerDirect},
    {"stablehlo.divide", Opcode::Divide, lowerDirect},
    {"stablehlo.exponential", Opcode::Exp, lowerDirect},
    {"stablehlo.exponential_minus_one", Opcode::Expm1, lowerDirect},
    {"stablehlo.floor", Opcode::Floor, lowerDirect},
    {"stablehlo.imag", Opcode::Imag, lowerDirect},
    {"stablehlo.is_finite", Opcode::IsFinite, lowerDirect},
    {"stablehlo.log", Opcode::Log, lowerDirect},
    {"stablehlo.log_plus_one", Opcode::Log1p, lowerDirect},
    {"stablehlo.logistic", Opcode::Logistic, lowerDirect},
    {"stablehlo.map", Opcode::Map, lowerMap, {}, scalars},
    {"stablehlo.maximum", Opcode::Maximum, lowerDirect},
    {"stablehlo.minimum", Opcode::Minimum, lowerDirect},
    {"stablehlo.multiply", Opcode::Multiply, lowerDirect},
    {"stablehlo.negate", Opcode::Negate, lowerDirect},
    {"stablehlo.not", Opcode::Not, lowerDirect},
    {"stablehlo.or", Opcode::Or, lowerDirect},
    {"stablehlo.popcnt", Opcode::PopulationCount, lowerDirect},
    {"stablehlo.power", Opcode::Power, lowerDirect},
    {"stablehlo.real", Opcode::Real, lowerDirect},
    {"stablehlo.reduce_precision", Opcode::ReducePrecision, lowerReducePrecision, "format:format"},
    {"stablehlo.remainder", Opcode::Remainder, lowerDirect},
    {"stablehlo.round_nearest_afz", Opcode::RoundNearestAfz, lowerDirect},
    {"stablehlo.round_nearest_even", Opcode::RoundNearestEven, lowerDirect},
    {"stablehlo.rsqrt", Opcode::Rsqrt, lowerDirect},
    {"stablehlo.select", Opcode::Select, lowerDirect},
    {"stablehlo.shift_left", Opcode::ShiftLeft, lowerDirect},
    {"stablehlo.shift_right_arithmetic", Opcode::ShiftRightArithmetic, lowerDirect},
    {"stablehlo.shift_right_logical", Opcode::ShiftRightLogical, lowerDirect},
    {"stablehlo.sign", Opcode::Sign, lowerDirect},
    {"stablehlo.sine", Opcode::Sine, lowerDirect},
    {"stablehlo.sqrt", Opcode::Sqrt, lowerDirect},
    {"stablehlo.subtract", Opcode::Subtract, lowerDirect},
    {"stablehlo.tan", Opcode::Tan, lowerDirect},
    {"stablehlo.tanh", Opcode::Tanh, lowerDirect},
    {"stablehlo.uniform_dequantize", Opcode::Convert, lowerDequantize},
    {"stablehlo.uniform_quantize", Opcode::Convert, lowerQuantize},
    {"stablehlo.xor", Opcode::Xor, lowerDirect},
    // Values from nothing, tuples, tokens.
    {"stablehlo.after_all", Opcode::AfterAll, lowerDirect},
    {"stablehlo.constant",
     Opcode::Constant,
     lowerConstant,
     {},
     RegionKind::Function,
     parseConstant},
    {"stablehlo.create_token", Opcode::AfterAll, lowerDirect},
    {"stablehlo.get_tuple_element",
     Opcode::GetTupleElement,
     lowerTupleElement,
     {},
     RegionKind::Function,
     parseTupleElement},
    {"stablehlo.iota", Opcode::Iota, lowerIota, "dim:iota_dimension"},
    {"stablehlo.optimization_barrier", Opcode::OptimizationBarrier, lowerBarrier},
    {"stablehlo.tuple", Opcode::Tuple, lowerTuple},
    {"sdy.sharding_constraint",
     Opcode::Copy,
     lowerSharding,
     {},
     RegionKind::Function,
     parseSharding},
    // Movement.
    {"stablehlo.broadcast", Opcode::Broadcast, lowerBroadcast, "sizes:broadcast_sizes"},
    {"stablehlo.broadcast_in_dim", Opcode::Broadcast, lowerBroadcastInDim,
     "dims:broadcast_dimensions"},
    {"stablehlo.concatenate", Opcode::Concatenate, lowerConcatenate, "dim:dimension"},
    {"stablehlo.dynamic_slice", Opcode::DynamicSlice, lowerDynamicSlice, "sizes:slice_sizes"},
    {"stablehlo.dynamic_update_slice", Opcode::DynamicUpdateSlice, lowerDirect},
    {"stablehlo.pad", Opcode::Pad, lowerPad,
     "low:edge_padding_low high:edge_padding_high interior:interior_padding"},
    {"stablehlo.reshape", Opcode::Reshape, lowerDirect},
    {"stablehlo.reverse", Opcode::Reverse, lowerReverse, "dims:dimensions"},
    {"stablehlo.slice", Opcode::Slice, lowerSlice, {}, RegionKind::Function, parseSlice},
    {"stablehlo.transpose", Opcode::Transpose, lowerTranspose, "dims:permutation"},
    // Shapes that are values.
    {"stablehlo.dynamic_broadcast_in_dim", Opcode::Broadcast, lowerDynamicShape,
     "dims:broadcast_dimensions"},
    {"stablehlo.dynamic_gather", Opcode::Gather, lowerDynamicGather},
    {"stablehlo.dynamic_iota", Opcode::Iota, lowerDynamicShape, "dim:iota_dimension"},
    {"stablehlo.dynamic_pad", Opcode::Pad, lowerDynamicPad},
    {"stablehlo.dynamic_reshape", Opcode::Reshape, lowerDynamicShape},
    {"stablehlo.get_dimension_size", Opcode::GetDimensionSize, lowerDimensionSize, "dim:dimension"},
    {"stablehlo.real_dynamic_slice", Opcode::Slice, lowerRealDynamicSlice},
    {"stablehlo.set_dimension_size", Opcode::SetDimensionSize, lowerDimensionSize, "dim:dimension"},
    refused("stablehlo.dynamic_conv", "the padding is known at run time only"),
    // Contractions and indexed ops.
    {"stablehlo.convolution", Opcode::Convolution, lowerConvolution,
     "dim_numbers:dimension_numbers window:window"},
    {"stablehlo.dot", Opcode::Dot, lowerDot, "precision:precision_config"},
    {"stablehlo.dot_general", Opcode::Dot, lowerDotGeneral,
     "batching_dims:batching_dims contracting_dims:contracting_dims precision:precision_config "
     "algorithm:algorithm"},
    {"stablehlo.gather", Opcode::Gather, lowerGather},
    {"stablehlo.scatter", Opcode::Scatter, lowerScatter, {}, scalars},
    // Ops that run computations.
    {"func.call", Opcode::Call, lowerCall, "0:callee"},
    {"stablehlo.case", Opcode::Conditional, lowerConditional, {}, RegionKind::Branch},
    {"stablehlo.composite", Opcode::Call, lowerComposite, "0:name"},
    {"stablehlo.custom_call", Opcode::CustomCall, lowerCustomCall, "0:call_target_name"},
    {"stablehlo.if", Opcode::Conditional, lowerConditional, {}, RegionKind::Branch},
    {"stablehlo.reduce", Opcode::Reduce, lowerReduce, {}, scalars, parseReduce},
    {"stablehlo.reduce_window", Opcode::ReduceWindow, lowerReduceWindow, {}, scalars},
    {"stablehlo.select_and_scatter", Opcode::SelectAndScatter, lowerSelectAndScatter, {}, scalars},
    {"stablehlo.sort", Opcode::Sort, lowerSort, {}, scalars},
    {"stablehlo.while", Opcode::While, lowerWhile, {}, RegionKind::State, parseWhile},
    // Between devices, and with the host.
    {"stablehlo.all_gather", Opcode::AllGather, lowerAllGather},
    {"stablehlo.all_reduce", Opcode::AllReduce, lowerAllReduce, {}, scalars},
    {"stablehlo.all_to_all", Opcode::AllToAll, lowerAllToAll},
    {"stablehlo.collective_broadcast", Opcode::CollectiveBroadcast, lowerCollectiveBroadcast},
    {"stablehlo.collective_permute", Opcode::CollectivePermute, lowerPermute},
    {"stablehlo.infeed", Opcode::Infeed, lowerInfeed},
    {"stablehlo.outfeed", Opcode::Outfeed, lowerOutfeed},
    {"stablehlo.partition_id", Opcode::PartitionId, lowerReplicaId},
    {"stablehlo.recv", Opcode::Recv, lowerRecv},
    {"stablehlo.reduce_scatter", Opcode::ReduceScatter, lowerReduceScatter, {}, scalars},
    {"stablehlo.replica_id", Opcode::ReplicaId, lowerReplicaId},
    {"stablehlo.send", Opcode::Send, lowerSend},
    refused("stablehlo.cross-replica-sum", "was removed from StableHLO; all_reduce is read"),
    // Without a map.
    {"stablehlo.batch_norm_grad", Opcode::BatchNormGrad, lowerBatchNorm},
    {"stablehlo.batch_norm_inference", Opcode::BatchNormInference, lowerBatchNorm},
    {"stablehlo.batch_norm_training", Opcode::BatchNormTraining, lowerBatchNorm},
    {"stablehlo.cholesky", Opcode::Cholesky, lowerCholesky, "lower:lower"},
    {"stablehlo.fft", Opcode::Fft, lowerFft, "type:fft_type length:fft_length"},
    {"stablehlo.rng", Opcode::Rng, lowerRng, "distribution:rng_distribution"},
    {"stablehlo.rng_bit_generator", Opcode::RngBitGenerator, lowerRngBitGenerator,
     "algorithm:rng_algorithm"},
    {"stablehlo.triangular_solve", Opcode::TriangularSolve, lowerTriangularSolve},
    refused("stablehlo.einsum", "was removed from StableHLO; dot_general is read"),
    refused("stablehlo.unary_einsum", "was removed from StableHLO; reduce and transpose are read"),
    refused("stablehlo.torch_index_select", "was removed from StableHLO; gather is read"),
    // chlo.
    {"chlo.acos", Opcode::Acos, lowerChloUnary},
    {"chlo.acosh", Opcode::Acosh, lowerChloUnary},
    {"chlo.asin", Opcode::Asin, lowerChloUnary},
    {"chlo.asinh", Opcode::Asinh, lowerChloUnary},
    {"chlo.atan", Opcode::Atan2, lowerChloUnary},
    {"chlo.atanh", Opcode::Atanh, lowerChloUnary},
    {"chlo.bessel_i1e", Opcode::Parameter, lowerChloUnary},
    {"chlo.broadcast_add", Opcode::Add, lowerChloBroadcast},
    {"chlo.broadcast_and", Opcode::And, lowerChloBroadcast},
    {"chlo.broadcast_atan2", Opcode::Atan2, lowerChloBroadcast},
    {"chlo.broadcast_compare", Opcode::Compare, lowerChloBroadcast},
    {"chlo.broadcast_complex", Opcode::Complex, lowerChloBroadcast},
    {"chlo.broadcast_divide", Opcode::Divide, lowerChloBroadcast},
    {"chlo.broadcast_maximum", Opcode::Maximum, lowerChloBroadcast},
    {"chlo.broadcast_minimum", Opcode::Minimum, lowerChloBroadcast},
    {"chlo.broadcast_multiply", Opcode::Multiply, lowerChloBroadcast},
    {"chlo.broadcast_or", Opcode::Or, lowerChloBroadcast},
    {"chlo.broadcast_power", Opcode::Power, lowerChloBroadcast},
    {"chlo.broadcast_remainder", Opcode::Remainder, lowerChloBroadcast},
    {"chlo.broadcast_select", Opcode::Select, lowerChloBroadcast},
    {"chlo.broadcast_shift_left", Opcode::ShiftLeft, lowerChloBroadcast},
    {"chlo.broadcast_shift_right_arithmetic", Opcode::ShiftRightArithmetic, lowerChloBroadcast},
    {"chlo.broadcast_shift_right_logical", Opcode::ShiftRightLogical, lowerChloBroadcast},
    {"chlo.broadcast_subtract", Opcode::Subtract, lowerChloBroadcast},
    {"chlo.broadcast_xor", Opcode::Xor, lowerChloBroadcast},
    {"chlo.cosh", Opcode::Cosh, lowerChloUnary},
    {"chlo.digamma", Opcode::Parameter, lowerChloUnary},
    {"chlo.erf", Opcode::Erf, lowerDirect},
    {"chlo.erf_inv", Opcode::Parameter, lowerChloUnary},
    {"chlo.erfc", Opcode::Parameter, lowerChloUnary},
    {"chlo.lgamma", Opcode::Parameter, lowerChloUnary},
    {"chlo.next_after", Opcode::Parameter, lowerChloUnary},
    {"chlo.ragged_dot", Opcode::RaggedDot, lowerRaggedDot},
    {"chlo.sinh", Opcode::Sinh, lowerChloUnary},
    {"chlo.square", Opcode::Multiply, lowerChloUnary},
    {"chlo.tan", Opcode::Tan, lowerDirect},
    {"chlo.top_k", Opcode::TopK, lowerTopK, "k:k"},
    refused("chlo.broadcast_next_after", "is not read; spread the operands and use next_after"),
    refused("chlo.broadcast_polygamma", "has no formula here"),
    refused("chlo.broadcast_zeta", "has no formula here"),
    refused("chlo.conj", "is not read; complex(real, -imag) is"),
    refused("chlo.constant", "is not read; stablehlo.constant is"),
    refused("chlo.constant_like", "is not read; stablehlo.constant is"),
    refused("chlo.dynamic_reshape", "the result's shape is known at run time only"),
    refused("chlo.is_inf", "is not read; a comparison with infinity is"),
    refused("chlo.is_neg_inf", "is not read; a comparison with infinity is"),
    refused("chlo.is_pos_inf", "is not read; a comparison with infinity is"),
    refused("chlo.minimum_broadcast_shapes", "results in shapes, which no op here does"),
    refused("chlo.polygamma", "has no formula here"),
    refused("chlo.scan", "is not read; stablehlo.while is"),
    refused("chlo.zeta", "has no formula here"),
    // check, of test programs.
    {"check.expect_almost_eq", Opcode::CustomCall, lowerCheck},
    {"check.expect_almost_eq_const",
     Opcode::CustomCall,
     lowerCheckConstant,
     {},
     RegionKind::Function,
     parseCheckConstant},
    {"check.expect_close", Opcode::CustomCall, lowerCheck,
     "min_ulp_difference:min_ulp_difference max_ulp_difference:max_ulp_difference"},
    {"check.expect_eq", Opcode::CustomCall, lowerCheck},
    {"check.expect_eq_const",
     Opcode::CustomCall,
     lowerCheckConstant,
     {},
     RegionKind::Function,
     parseCheckConstant},
};

} // namespace

const OpRow *findOp(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpRow *> table = [] {
    std::unordered_map<std::string_view, const OpRow *> all;
    for (const OpRow &row : rows)
      all.emplace(row.name, &row);
    return all;
  }();
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

std::vector<const OpRow *> allOps() {
  std::vector<const OpRow *> all;
  for (const OpRow &row : rows)
    all.push_back(&row);
  std::sort(all.begin(), all.end(), [](auto *a, auto *b) { return a->name < b->name; });
  return all;
}

} // namespace tilewright::stablehlo
