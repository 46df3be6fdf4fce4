func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.add %x, %y : tensor<4xf32>  // error at %y: %y is not defined above
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.ad %x, %x : tensor<4xf32>  // error at stablehlo.ad: there is no op 'stablehlo.ad'
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.addf %x, %x : tensor<4xf32>  // error at arith.addf: arith.addf: ops of the dialect arith are not read; lower it to stablehlo first
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "vhlo.abs_v1"(%x) : (tensor<4xf32>) -> tensor<4xf32>  // error at "vhlo: this is VHLO, the serialised form; convert it with stablehlo-translate --deserialize, or scripts/stablehlo_text.py
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %r = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,bc->ac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>  // error at "stablehlo.einsum": stablehlo.einsum: was removed from StableHLO; dot_general is read
  return %r : tensor<2x4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
  %r = stablehlo.abs %x : tensor<5xf32>  // error at stablehlo.abs: abs: operand %x f32[4] and the result f32[5] differ in dims
  return %r : tensor<5xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {  // error at {: @main returns f32[5] as result 0, its type says f32[4]
  %r = stablehlo.constant dense<1.0> : tensor<5xf32>
  return %r : tensor<5xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {  // error at {: @main returns 1 values, its type says 2
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xi32>  // error at %x: the operand is f32[4], not f32[5]
  return %r : tensor<5xi32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %x = stablehlo.abs %x : tensor<4xf32>  // error at %x: %x is defined twice
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {  // error at %x: %x is defined twice
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4x?xindex>) -> tensor<4xf32> {  // error at index: elements of type index are not read
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<*xf32>) -> tensor<4xf32> {  // error at *: tensors of any rank are not read; the rank must be known
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: memref<4xf32>) -> tensor<4xf32> {  // error at memref: the type memref is not read; tensors, tuples and tokens are
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xcomplex<f16>>) -> tensor<4xf32> {  // error at f16: complex numbers of f16 are not read, of f32 and f64 they are
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32, #stablehlo.bounds<8>>) -> tensor<4xf32> {  // error at 8: bound 8 of dim 0, which is not '?'
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32, #sparse_tensor.encoding<{}>>) -> tensor<4xf32> {  // error at #sparse: the encoding #sparse_tensor.encoding of a tensor is not read; #stablehlo.bounds is
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<9223372036854775806x9xf32>) -> tensor<4xf32> {  // error at <9223372036854775806x9: the bytes of f32[9223372036854775806,9] do not fit in 64 bits
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<9223372036854775807x9xf32>) -> tensor<4xf32> {  // error at 92233: extent 9223372036854775807 is out of range
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<99999999999999999999xf32>) -> tensor<4xf32> {  // error at 99999: 99999999999999999999 does not fit in 64 bits
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<3x4x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<4xf32> {  // error at <3x4x: 2 scales along dim 0 of f32[3,4]
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4x!quant.uniform<i8:f32, -0.1>>) -> tensor<4xf32> {  // error at -0.1: scale -0.1 must be positive
  return %x : tensor<4xf32>
}
// -----
func.func @main() -> tensor<2x2xf32> {
  %r = stablehlo.constant dense<[[1.0, 2.0], [3.0]]> : tensor<2x2xf32>  // error at [[1.0: the constant has 1 elements along dim 1, f32[2,2] needs 2
  return %r : tensor<2x2xf32>
}
// -----
func.func @main() -> tensor<2xf32> {
  %r = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<2xf32>  // error at 3.0: the constant has over 2 elements along dim 0 of f32[2]
  return %r : tensor<2xf32>
}
// -----
func.func @main() -> tensor<2xi8> {
  %r = stablehlo.constant dense<[1, 256]> : tensor<2xi8>  // error at 256: '256' is not a value of s8
  return %r : tensor<2xi8>
}
// -----
func.func @main() -> tensor<2xf32> {
  %r = stablehlo.constant dense<"0x00000000">  : tensor<2xi1>  // error at "0x: 4 bytes, pred[2] needs 1 each of its 2 elements
  return %r : tensor<2xf32>
}
// -----
func.func @main() -> tensor<2xf32> {
  %r = stablehlo.constant dense<"0x0000000G00000000"> : tensor<2xf32>  // error at 0G: not a hexadecimal digit
  return %r : tensor<2xf32>
}
// -----
func.func @main() -> tensor<2xf32> {
  %r = stablehlo.constant dense<1.0> : tensor<?xf32>  // error at dense: a constant can't be f32[?]
  return %r : tensor<2xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.transpose %x, dim = [0] : (tensor<4xf32>) -> tensor<4xf32>  // error at dim: stablehlo.transpose has no 'dim = [0]' here
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.transpose"(%x) <{permutation = array<i64: 0>, permutations = 1 : i64}> : (tensor<4xf32>) -> tensor<4xf32>  // error at permutations: stablehlo.transpose has no attribute 'permutations'
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.transpose"(%x) : (tensor<4xf32>) -> tensor<4xf32>  // error at "stablehlo.transpose": stablehlo.transpose needs permutation
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.transpose"(%x) {permutation = array<i64: 0>, permutation = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>  // error at permutation = 1: attribute permutation is given twice
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xi1> {
  %r = stablehlo.compare LESS, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>  // error at stablehlo.compare: the comparison 'LESS' is none of EQ, NE, LT, LE, GT and GE
  return %r : tensor<4xi1>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.reduce_precision %x, format = m5 : tensor<4xf32>  // error at stablehlo.reduce_precision: the format 'm5' is not e5m10 or the like
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<9xf32> {
  %r = stablehlo.slice %x [0:9] : (tensor<4xf32>) -> tensor<9xf32>  // error at stablehlo.slice: slice: [0:9] is out of range, dim 0 of operand %x f32[4] has 4
  return %r : tensor<9xf32>
}
// -----
func.func @main(%x: tensor<4x2xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.abs across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>  // error at stablehlo.abs: 'stablehlo.abs' is no op on two values
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4x2xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.xor across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>  // error at stablehlo.reduce: xor: takes integers or pred, operand %lhs f32[] is something else
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4x2xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  %r = stablehlo.reduce(%x init: %z) across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %s = stablehlo.add %a, %z : tensor<f32>  // error at %z: the region uses %z of what encloses it, a reducer can use constants of there only
    stablehlo.return %s : tensor<f32>
  }
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.while(%a = %x) : tensor<4xf32>
   cond {  // error at {: the region returns 2 values, not 1
    %t = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %t, %t : tensor<i1>, tensor<i1>
  } do {
    stablehlo.return %a : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.while(%a = %x) : tensor<4xf32>  // error at stablehlo.while: while: %r.0 results in f32[4], not pred[]
   cond {
    stablehlo.return %a : tensor<4xf32>
  } do {
    stablehlo.return %a : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
// -----
func.func @main(%k: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.case"(%k) ({
    stablehlo.return %x : tensor<4xf32>
  }, {  // error at {: the branch returns 2 values, the op 1
    stablehlo.return %x, %x : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>  // error at call: there is no function @f
  return %r : tensor<4xf32>
}
// -----
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>  // error at call: function @f has no body
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>  // error at call: call: computation %main calls itself through %r
  return %r : tensor<4xf32>
}
// -----
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {  // error at @f: function @f is defined twice
  return %x : tensor<4xf32>
}
// -----
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {  // error at @f: of 2 functions none is @main, and several could be it; name one @main
  return %x : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// -----
module @m {  // error at module: the module has no function
}
// -----
module @m {
  module @n {  // error at module @n: a module inside a module is not read
  }
}
// -----
module @m {
  ml_program.global private @g : tensor<4xf32>  // error at ml_program.global: 'ml_program.global' is not read here; func.func is
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = stablehlo.abs %x : tensor<4xf32>  // error at stablehlo.abs: 2 results are named, 1 have types
  return %r#0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.abs %x#1 : tensor<4xf32>  // error at %x#1: result 1 of %x, which has 1
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  "cf.br"(%x)[^bb1] : (tensor<4xf32>) -> ()  // error at "cf.br": cf.br: ops of the dialect cf are not read; lower it to stablehlo first
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
^bb1:  // error at ^bb1: regions of several blocks are not read
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.abs %x : tensor<4xf32>
}  // error at }: expected an op, or return at the block's end, found '}'
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.abs"(%x) ({  // error at {: stablehlo.abs has no region
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [LOW, HIGH] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>  // error at stablehlo.dot_general: the precision 'LOW' is none of DEFAULT, HIGH and HIGHEST
  return %r : tensor<2x4xf32>
}
// -----
func.func @main(%x: tensor<2x8x9x4xf32>, %w: tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>  // error at [b, 0, 0, f]: b, f and the spatial dims from 0 on must stand once each
  return %r : tensor<2x6x8x6xf32>
}
// -----
func.func @main(%x: tensor<2x8x9x4xf32>, %w: tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {step = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>  // error at step: a window has no 'step'
  return %r : tensor<2x6x8x6xf32>
}
// -----
func.func @main(%x: tensor<4x6xf32>, %z: tensor<f32>) -> tensor<4x6xf32> {
  %r = "stablehlo.reduce_window"(%x, %z) <{padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 1, 2>}> ({  // error at "stablehlo.reduce_window": padding has 2 entries, 2 window dims need 4
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> ({  // error at "stablehlo.all_reduce": replica 1 is in two groups
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x12xf32> {
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x12xf32>  // error at "stablehlo.all_gather": a group of 1 replicas beside one of 2, they must be of one size
  return %r : tensor<4x12xf32>
}
// -----
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, -1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>  // error at "stablehlo.all_to_all": a group of 2 replicas beside one of 1, they must be of one size
  return %r : tensor<4x6xf32>
}
// -----
func.func @main(%x: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %r = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> ({  // error at "stablehlo.reduce_scatter": a group of 1 replicas beside one of 2, they must be of one size
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<99999999x2xi64>}> ({  // error at tensor<99999999x2xi64>: s64[99999999,2] as a list of integers, at most 1048576 in at most two dims are read
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<?xf32>, %s: tensor<1xi32>) -> tensor<?xf32> {
  %r = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>  // error at stablehlo.dynamic_reshape: stablehlo.dynamic_reshape: the result f32[?] has extents that are known at run time only
  return %r : tensor<?xf32>
}
// -----
func.func @main(%x: tensor<6xf32>, %s: tensor<1xi32>) -> tensor<2xf32> {
  %r = stablehlo.real_dynamic_slice %x, %s, %s, %s : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>  // error at stablehlo.real_dynamic_slice: stablehlo.real_dynamic_slice: operand 1 decides the shape or the place and is not a constant; such values are known at run time only
  return %r : tensor<2xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<2x3xf32> {
  %r = chlo.broadcast_add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<2x3xf32>  // error at chlo.broadcast_add: dim 0 of operand 0 f32[4] does not spread over f32[2,3]
  return %r : tensor<2x3xf32>
}
// -----
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %r = chlo.lgamma %x : tensor<4xi32> -> tensor<4xi32>  // error at chlo.lgamma: chlo.lgamma: of s32[4] is not read, of real numbers it is
  return %r : tensor<4xi32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.custom_call @f(%x) {called_computations = [@g]} : (tensor<4xf32>) -> tensor<4xf32>  // error at @g: there is no function @g
  return %r : tensor<4xf32>
}
// -----
#a = dense<1> : tensor<i64>
#a = dense<2> : tensor<i64>  // error at a = dense<2>: #a is defined twice
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.1>>) -> tensor<4xi8> {
  %r = stablehlo.bitcast_convert %x : (tensor<4x!quant.uniform<i8:f32, 0.1>>) -> tensor<4xi8>  // error at stablehlo.bitcast_convert: stablehlo.bitcast_convert: of quantised values is not read
  return %r : tensor<4xi8>
}
// -----
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<5xf32>, sym_name = "main"}> ({  // error at function_type: the function's type is not that of its arguments and results
  ^bb0(%x: tensor<4xf32>):
    "func.return"(%x) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
