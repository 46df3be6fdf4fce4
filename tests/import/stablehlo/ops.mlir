module @abs {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.abs %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @cbrt {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.cbrt %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @ceil {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.ceil %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @cosine {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.cosine %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @exponential {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.exponential %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @exponential_minus_one {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.exponential_minus_one %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @floor {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.floor %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @log {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.log %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @log_plus_one {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.log_plus_one %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @logistic {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.logistic %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @negate {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.negate %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @round_nearest_afz {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.round_nearest_afz %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @round_nearest_even {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.round_nearest_even %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @rsqrt {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.rsqrt %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @sign {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.sign %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @sine {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.sine %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @sqrt {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.sqrt %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @tan {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.tan %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @tanh {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.tanh %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @add {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.add %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @atan2 {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.atan2 %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @divide {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.divide %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @maximum {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.maximum %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @minimum {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.minimum %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @multiply {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.multiply %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @power {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.power %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @remainder {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.remainder %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @subtract {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.subtract %x, %y : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @and {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.and %x, %y : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @or {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.or %x, %y : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @xor {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.xor %x, %y : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @shift_left {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.shift_left %x, %y : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @shift_right_arithmetic {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.shift_right_arithmetic %x, %y : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @shift_right_logical {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.shift_right_logical %x, %y : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @count_leading_zeros {
  func.func @main(%x: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.count_leading_zeros %x : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @not {
  func.func @main(%x: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.not %x : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @popcnt {
  func.func @main(%x: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %r = stablehlo.popcnt %x : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @abs_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32> {
    %r = stablehlo.abs %x : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @real {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32> {
    %r = stablehlo.real %x : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @imag {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32> {
    %r = stablehlo.imag %x : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @complex {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xcomplex<f32>> {
    %r = stablehlo.complex %x, %y : tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @is_finite {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xi1> {
    %r = stablehlo.is_finite %x : (tensor<4x6xf32>) -> tensor<4x6xi1>
    return %r : tensor<4x6xi1>
  }
}

module @convert {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xi32> {
    %r = stablehlo.convert %x : (tensor<4x6xf32>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @convert_to_f8 {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf8E4M3FN> {
    %r = stablehlo.convert %x : (tensor<4x6xf32>) -> tensor<4x6xf8E4M3FN>
    return %r : tensor<4x6xf8E4M3FN>
  }
}

module @bitcast_convert {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xi32> {
    %r = stablehlo.bitcast_convert %x : (tensor<4x6xf32>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @clamp {
  func.func @main(%l: tensor<f32>, %x: tensor<4x6xf32>, %h: tensor<f32>) -> tensor<4x6xf32> {
    %r = stablehlo.clamp %l, %x, %h : (tensor<f32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @compare {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xi1> {
    %r = stablehlo.compare LT, %x, %y, FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    return %r : tensor<4x6xi1>
  }
}

module @compare_in_total_order {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xi1> {
    %r = stablehlo.compare GE, %x, %y, TOTALORDER : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    return %r : tensor<4x6xi1>
  }
}

module @compare_unsigned {
  func.func @main(%x: tensor<4x6xui32>, %y: tensor<4x6xui32>) -> tensor<4x6xi1> {
    %r = stablehlo.compare NE, %x, %y, UNSIGNED : (tensor<4x6xui32>, tensor<4x6xui32>) -> tensor<4x6xi1>
    return %r : tensor<4x6xi1>
  }
}

module @reduce_precision {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.reduce_precision %x, format = e5m10 : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @select {
  func.func @main(%p: tensor<4x6xi1>, %x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.select %p, %x, %y : tensor<4x6xi1>, tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @map {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.subtract %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @constant {
  func.func @main() -> tensor<2x3xf32> {
    %r = stablehlo.constant dense<[[1.0, -2.5, 0x7F800000], [1.0e-3, 0xFFC00000, 3.0]]> : tensor<2x3xf32>
    return %r : tensor<2x3xf32>
  }
}

module @constant_splat {
  func.func @main() -> tensor<2x3xbf16> {
    %r = stablehlo.constant dense<1.5> : tensor<2x3xbf16>
    return %r : tensor<2x3xbf16>
  }
}

module @constant_bytes {
  func.func @main() -> tensor<4xi32> {
    %r = stablehlo.constant dense<"0x01000000FFFFFFFF00000080FFFFFF7F"> : tensor<4xi32>
    return %r : tensor<4xi32>
  }
}

module @constant_complex {
  func.func @main() -> tensor<2xcomplex<f32>> {
    %r = stablehlo.constant dense<[(1.0, 2.0), (0.0, -1.0)]> : tensor<2xcomplex<f32>>
    return %r : tensor<2xcomplex<f32>>
  }
}

module @constant_truth {
  func.func @main() -> tensor<2x2xi1> {
    %r = stablehlo.constant dense<[[true, false], [false, false]]> : tensor<2x2xi1>
    return %r : tensor<2x2xi1>
  }
}

module @constant_unsigned {
  func.func @main() -> tensor<3xui8> {
    %r = stablehlo.constant dense<[0, 128, 255]> : tensor<3xui8>
    return %r : tensor<3xui8>
  }
}

module @constant_of_nothing {
  func.func @main() -> tensor<2x0xf32> {
    %r = stablehlo.constant dense<> : tensor<2x0xf32>
    return %r : tensor<2x0xf32>
  }
}

module @iota {
  func.func @main() -> tensor<4x6xi32> {
    %r = stablehlo.iota dim = 1 : tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @tuple {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %t = stablehlo.tuple %x, %y : tuple<tensor<4x6xf32>, tensor<4x6xi32>>
    %r = stablehlo.get_tuple_element %t[1] : (tuple<tensor<4x6xf32>, tensor<4x6xi32>>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @optimization_barrier {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xi32>) -> (tensor<4x6xi32>, tensor<4x6xf32>) {
    %r:2 = stablehlo.optimization_barrier %x, %y : tensor<4x6xf32>, tensor<4x6xi32>
    return %r#1, %r#0 : tensor<4x6xi32>, tensor<4x6xf32>
  }
}

module @tokens {
  func.func @main() -> !stablehlo.token {
    %a = stablehlo.create_token : !stablehlo.token
    %r = stablehlo.after_all %a, %a : !stablehlo.token
    return %r : !stablehlo.token
  }
}

module @broadcast {
  func.func @main(%x: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.broadcast %x, sizes = [4] : (tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @broadcast_in_dim {
  func.func @main(%x: tensor<6x1xf32>) -> tensor<4x6x3xf32> {
    %r = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<6x1xf32>) -> tensor<4x6x3xf32>
    return %r : tensor<4x6x3xf32>
  }
}

module @concatenate {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x2xf32>) -> tensor<4x8xf32> {
    %r = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
  }
}

module @dynamic_slice {
  func.func @main(%x: tensor<4x6xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x3xf32> {
    %r = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    return %r : tensor<2x3xf32>
  }
}

module @dynamic_update_slice {
  func.func @main(%x: tensor<4x6xf32>, %u: tensor<2x3xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<4x6xf32> {
    %r = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @pad {
  func.func @main(%x: tensor<4x6xf32>, %v: tensor<f32>) -> tensor<7x12xf32> {
    %r = stablehlo.pad %x, %v, low = [1, -1], high = [2, 2], interior = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<7x12xf32>
    return %r : tensor<7x12xf32>
  }
}

module @reshape {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
    %r = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<2x12xf32>
    return %r : tensor<2x12xf32>
  }
}

module @reverse {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.reverse %x, dims = [1] : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @slice {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<2x3xf32> {
    %r = stablehlo.slice %x [1:3, 0:6:2] : (tensor<4x6xf32>) -> tensor<2x3xf32>
    return %r : tensor<2x3xf32>
  }
}

module @transpose {
  func.func @main(%x: tensor<2x3x5xf32>) -> tensor<5x2x3xf32> {
    %r = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
    return %r : tensor<5x2x3xf32>
  }
}

module @dynamic_shapes {
  func.func @main(%x: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<3x2xf32>, tensor<4x6xi32>) {
    %s = stablehlo.constant dense<[4, 6]> : tensor<2xi32>
    %t = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
    %a = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<6xf32>, tensor<2xi32>) -> tensor<4x6xf32>
    %b = stablehlo.dynamic_reshape %x, %t : (tensor<6xf32>, tensor<2xi32>) -> tensor<3x2xf32>
    %c = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>) -> tensor<4x6xi32>
    return %a, %b, %c : tensor<4x6xf32>, tensor<3x2xf32>, tensor<4x6xi32>
  }
}

module @dynamic_places {
  func.func @main(%x: tensor<6xf32>, %v: tensor<f32>) -> (tensor<9xf32>, tensor<2xf32>) {
    %l = stablehlo.constant dense<1> : tensor<1xi32>
    %h = stablehlo.constant dense<2> : tensor<1xi32>
    %n = stablehlo.constant dense<0> : tensor<1xi32>
    %e = stablehlo.constant dense<5> : tensor<1xi32>
    %a = stablehlo.dynamic_pad %x, %v, %l, %h, %n : (tensor<6xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<9xf32>
    %b = stablehlo.real_dynamic_slice %x, %l, %e, %h : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
    return %a, %b : tensor<9xf32>, tensor<2xf32>
  }
}

module @get_dimension_size {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<i32> {
    %r = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x6xf32>) -> tensor<i32>
    return %r : tensor<i32>
  }
}

module @set_dimension_size {
  func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>> {
    %r = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
    return %r : tensor<?xf32, #stablehlo.bounds<8>>
  }
}

module @dot {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6x5xf32>) -> tensor<4x5xf32> {
    %r = stablehlo.dot %x, %y, precision = [HIGHEST, DEFAULT] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    return %r : tensor<4x5xf32>
  }
}

module @dot_general {
  func.func @main(%x: tensor<2x4x6xbf16>, %y: tensor<2x6x5xbf16>) -> tensor<2x4x5xf32> {
    %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x6xbf16>, tensor<2x6x5xbf16>) -> tensor<2x4x5xf32>
    return %r : tensor<2x4x5xf32>
  }
}

module @dot_with_algorithm {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6x5xf32>) -> tensor<4x5xf32> {
    %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    return %r : tensor<4x5xf32>
  }
}

module @convolution {
  func.func @main(%x: tensor<2x8x9x4xf32>, %w: tensor<3x2x2x6xf32>) -> tensor<2x4x9x6xf32> {
    %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 0], [0, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x9x4xf32>, tensor<3x2x2x6xf32>) -> tensor<2x4x9x6xf32>
    return %r : tensor<2x4x9x6xf32>
  }
}

module @convolution_dilated {
  func.func @main(%x: tensor<2x4x8xf32>, %w: tensor<5x4x3xf32>) -> tensor<2x5x11xf32> {
    %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {lhs_dilate = [2], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x8xf32>, tensor<5x4x3xf32>) -> tensor<2x5x11xf32>
    return %r : tensor<2x5x11xf32>
  }
}

module @gather {
  func.func @main(%x: tensor<5x6xf32>, %i: tensor<3x1xi32>) -> tensor<3x6xf32> {
    %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<5x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
    return %r : tensor<3x6xf32>
  }
}

module @gather_of_batches {
  func.func @main(%x: tensor<3x5x6xf32>, %i: tensor<3x2x1xi32>) -> tensor<3x2x6xf32> {
    %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<3x5x6xf32>, tensor<3x2x1xi32>) -> tensor<3x2x6xf32>
    return %r : tensor<3x2x6xf32>
  }
}

module @dynamic_gather {
  func.func @main(%x: tensor<5x6xf32>, %i: tensor<3x1xi32>) -> tensor<3x6xf32> {
    %s = stablehlo.constant dense<[1, 6]> : tensor<2xi32>
    %r = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<5x6xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x6xf32>
    return %r : tensor<3x6xf32>
  }
}

module @scatter {
  func.func @main(%x: tensor<5x6xf32>, %i: tensor<3x1xi32>, %u: tensor<3x6xf32>) -> tensor<5x6xf32> {
    %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<5x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<5x6xf32>
    return %r : tensor<5x6xf32>
  }
}

module @reduce {
  func.func @main(%x: tensor<4x6xf32>, %z: tensor<f32>) -> tensor<4xf32> {
    %r = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

module @reduce_with_region {
  func.func @main(%x: tensor<4x6xf32>, %k: tensor<4x6xi32>, %z: tensor<f32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>) {
    %r:2 = stablehlo.reduce(%x init: %z), (%k init: %n) across dimensions = [1] : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %g = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v = stablehlo.select %g, %a, %b : tensor<i1>, tensor<f32>
      %w = stablehlo.select %g, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
    }
    return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
  }
}

module @reduce_window {
  func.func @main(%x: tensor<4x6xf32>, %z: tensor<f32>) -> tensor<2x6xf32> {
    %r = "stablehlo.reduce_window"(%x, %z) <{base_dilations = array<i64: 1, 1>, padding = dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 2>, window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x6xf32>
    return %r : tensor<2x6xf32>
  }
}

module @select_and_scatter {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<2x3xf32>, %z: tensor<f32>) -> tensor<4x6xf32> {
    %r = "stablehlo.select_and_scatter"(%x, %y, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @sort {
  func.func @main(%x: tensor<4x6xf32>, %k: tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>) {
    %r:2 = "stablehlo.sort"(%x, %k) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %s = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
    return %r#0, %r#1 : tensor<4x6xf32>, tensor<4x6xi32>
  }
}

module @while {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<i32>, tensor<4x6xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4x6xf32>
     cond {
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %b = stablehlo.multiply %a, %y : tensor<4x6xf32>
      stablehlo.return %j, %b : tensor<i32>, tensor<4x6xf32>
    }
    return %r#0, %r#1 : tensor<i32>, tensor<4x6xf32>
  }
}

module @if {
  func.func @main(%p: tensor<i1>, %x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = "stablehlo.if"(%p) ({
      %s = stablehlo.add %x, %y : tensor<4x6xf32>
      stablehlo.return %s : tensor<4x6xf32>
    }, {
      stablehlo.return %y : tensor<4x6xf32>
    }) : (tensor<i1>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @case {
  func.func @main(%k: tensor<i32>, %x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<i32>) {
    %r:2 = "stablehlo.case"(%k) ({
      %one = stablehlo.constant dense<1> : tensor<i32>
      stablehlo.return %x, %one : tensor<4x6xf32>, tensor<i32>
    }, {
      stablehlo.return %y, %k : tensor<4x6xf32>, tensor<i32>
    }, {
      %s = stablehlo.subtract %x, %y : tensor<4x6xf32>
      stablehlo.return %s, %k : tensor<4x6xf32>, tensor<i32>
    }) : (tensor<i32>) -> (tensor<4x6xf32>, tensor<i32>)
    return %r#0, %r#1 : tensor<4x6xf32>, tensor<i32>
  }
}

module @call {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %a:2 = call @both(%x, %y) : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
    %r = func.call @once(%a#1) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
  func.func private @once(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.negate %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
  func.func private @both(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %a = stablehlo.add %x, %y : tensor<4x6xf32>
    %b = stablehlo.subtract %x, %y : tensor<4x6xf32>
    return %a, %b : tensor<4x6xf32>, tensor<4x6xf32>
  }
}

module @composite {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.composite "my.twice" %x {composite_attributes = {n = 2 : i64}, decomposition = @twice, version = 1 : i32} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
  func.func private @twice(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.add %x, %x : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @custom_call {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = stablehlo.custom_call @my_kernel(%x) {backend_config = "a=\"1\"", has_side_effect = true} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @all_gather {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x12xf32> {
    %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x6xf32>) -> tensor<4x12xf32>
    return %r : tensor<4x12xf32>
  }
}

module @all_reduce {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @all_to_all {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @all_to_all_that_moves {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
    %r = "stablehlo.all_to_all"(%x) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x6xf32>) -> tensor<2x12xf32>
    return %r : tensor<2x12xf32>
  }
}

module @collective_broadcast {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @collective_permute {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @reduce_scatter {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
    %r = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x3xf32>
    return %r : tensor<4x3xf32>
  }
}

module @partition_id {
  func.func @main() -> tensor<ui32> {
    %r = stablehlo.partition_id : tensor<ui32>
    return %r : tensor<ui32>
  }
}

module @replica_id {
  func.func @main() -> tensor<ui32> {
    %r = stablehlo.replica_id : tensor<ui32>
    return %r : tensor<ui32>
  }
}

module @infeed {
  func.func @main(%t: !stablehlo.token) -> (tensor<4x6xf32>, tensor<4x6xi32>) {
    %r:3 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [[0, 1], [0, 1]]}> : (!stablehlo.token) -> (tensor<4x6xf32>, tensor<4x6xi32>, !stablehlo.token)
    return %r#0, %r#1 : tensor<4x6xf32>, tensor<4x6xi32>
  }
}

module @outfeed {
  func.func @main(%x: tensor<4x6xf32>, %t: !stablehlo.token) -> !stablehlo.token {
    %r = "stablehlo.outfeed"(%x, %t) <{outfeed_config = ""}> : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    return %r : !stablehlo.token
  }
}

module @send {
  func.func @main(%x: tensor<4x6xf32>, %t: !stablehlo.token) -> !stablehlo.token {
    %r = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    return %r : !stablehlo.token
  }
}

module @recv {
  func.func @main(%t: !stablehlo.token) -> tensor<4x6xf32> {
    %r:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    return %r#0 : tensor<4x6xf32>
  }
}

module @cholesky {
  func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %r = stablehlo.cholesky %x, lower = true : tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

module @fft {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>> {
    %r = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
    return %r : tensor<4x5xcomplex<f32>>
  }
}

module @rng {
  func.func @main(%l: tensor<f32>, %h: tensor<f32>) -> tensor<4x6xf32> {
    %s = stablehlo.constant dense<[4, 6]> : tensor<2xi64>
    %r = stablehlo.rng %l, %h, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @rng_bit_generator {
  func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<4x6xui32>) {
    %state, %bits = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x6xui32>)
    return %state, %bits : tensor<2xui64>, tensor<4x6xui32>
  }
}

module @triangular_solve {
  func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    return %r : tensor<4x3xf32>
  }
}

module @batch_norm_inference {
  func.func @main(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>, %v: tensor<6xf32>, %w: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = "stablehlo.batch_norm_inference"(%x, %s, %o, %v, %w) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @batch_norm_training {
  func.func @main(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) {
    %r:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)
    return %r#0, %r#1, %r#2 : tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>
  }
}

module @batch_norm_grad {
  func.func @main(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>, %v: tensor<6xf32>, %g: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) {
    %r:3 = "stablehlo.batch_norm_grad"(%x, %s, %o, %v, %g) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)
    return %r#0, %r#1, %r#2 : tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>
  }
}

module @chlo_acos {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.acos %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_acosh {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.acosh %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_asin {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.asin %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_asinh {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.asinh %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_atan {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.atan %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_atanh {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.atanh %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_bessel_i1e {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.bessel_i1e %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_cosh {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.cosh %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_digamma {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.digamma %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_erf {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.erf %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_erf_inv {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.erf_inv %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_erfc {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.erfc %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_lgamma {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.lgamma %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_sinh {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.sinh %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_square {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.square %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_tan {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.tan %x : tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_acos_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.acos %x : tensor<4x6xcomplex<f32>> -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_acosh_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.acosh %x : tensor<4x6xcomplex<f32>> -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_asin_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.asin %x : tensor<4x6xcomplex<f32>> -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_asinh_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.asinh %x : tensor<4x6xcomplex<f32>> -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_atan_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.atan %x : tensor<4x6xcomplex<f32>> -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_atanh_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.atanh %x : tensor<4x6xcomplex<f32>> -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_cosh_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.cosh %x : tensor<4x6xcomplex<f32>> -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_sinh_of_complex {
  func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.sinh %x : tensor<4x6xcomplex<f32>> -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_erf_inv_of_f64 {
  func.func @main(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
    %r = chlo.erf_inv %x : tensor<4x6xf64> -> tensor<4x6xf64>
    return %r : tensor<4x6xf64>
  }
}

module @chlo_lgamma_of_f64 {
  func.func @main(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
    %r = chlo.lgamma %x : tensor<4x6xf64> -> tensor<4x6xf64>
    return %r : tensor<4x6xf64>
  }
}

module @chlo_next_after {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %r = chlo.next_after %x, %y : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_top_k {
  func.func @main(%x: tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
    %v, %i = chlo.top_k(%x, k = 2) : tensor<4x6xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
    return %v, %i : tensor<4x2xf32>, tensor<4x2xi32>
  }
}

module @chlo_broadcast_add {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_add %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_atan2 {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_atan2 %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_divide {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_divide %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_maximum {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_maximum %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_minimum {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_minimum %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_multiply {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_multiply %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_power {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_power %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_remainder {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_remainder %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_subtract {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_subtract %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_broadcast_and {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x1xi32>) -> tensor<4x6xi32> {
    %r = chlo.broadcast_and %x, %y : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @chlo_broadcast_or {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x1xi32>) -> tensor<4x6xi32> {
    %r = chlo.broadcast_or %x, %y : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @chlo_broadcast_xor {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x1xi32>) -> tensor<4x6xi32> {
    %r = chlo.broadcast_xor %x, %y : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @chlo_broadcast_shift_left {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x1xi32>) -> tensor<4x6xi32> {
    %r = chlo.broadcast_shift_left %x, %y : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @chlo_broadcast_shift_right_arithmetic {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x1xi32>) -> tensor<4x6xi32> {
    %r = chlo.broadcast_shift_right_arithmetic %x, %y : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @chlo_broadcast_shift_right_logical {
  func.func @main(%x: tensor<4x6xi32>, %y: tensor<4x1xi32>) -> tensor<4x6xi32> {
    %r = chlo.broadcast_shift_right_logical %x, %y : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    return %r : tensor<4x6xi32>
  }
}

module @chlo_broadcast_complex {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xcomplex<f32>> {
    %r = chlo.broadcast_complex %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xcomplex<f32>>
    return %r : tensor<4x6xcomplex<f32>>
  }
}

module @chlo_broadcast_compare {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4x6xi1> {
    %r = chlo.broadcast_compare %x, %y {broadcast_dimensions = array<i64: 1>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xi1>
    return %r : tensor<4x6xi1>
  }
}

module @chlo_broadcast_select {
  func.func @main(%p: tensor<6xi1>, %x: tensor<4x6xf32>, %y: tensor<f32>) -> tensor<4x6xf32> {
    %r = chlo.broadcast_select %p, %x, %y : (tensor<6xi1>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @chlo_ragged_dot {
  func.func @main(%x: tensor<8x6xf32>, %y: tensor<3x6x5xf32>, %g: tensor<3xi32>) -> tensor<8x5xf32> {
    %r = "chlo.ragged_dot"(%x, %y, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x6xf32>, tensor<3x6x5xf32>, tensor<3xi32>) -> tensor<8x5xf32>
    return %r : tensor<8x5xf32>
  }
}

module @uniform_quantize {
  func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %a = stablehlo.uniform_quantize %x : (tensor<4x6xf32>) -> tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>
    %b = stablehlo.uniform_quantize %y : (tensor<4x6xf32>) -> tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>
    %s = stablehlo.add %a, %b : tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>
    %r = stablehlo.uniform_dequantize %s : (tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @quantize_by_axis {
  func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %a = stablehlo.uniform_quantize %x : (tensor<4x6xf32>) -> tensor<4x6x!quant.uniform<i8:f32:0, {0.01:0, 0.02:1, 0.03:-2, 0.04:5}>>
    %r = stablehlo.uniform_dequantize %a : (tensor<4x6x!quant.uniform<i8:f32:0, {0.01:0, 0.02:1, 0.03:-2, 0.04:5}>>) -> tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @sharding_constraint {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%x: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x6xf32> {
    %a = sdy.sharding_constraint %x <@mesh, [{}, {"y"}]> : tensor<4x6xf32>
    %r = stablehlo.negate %a : tensor<4x6xf32>
    return %r : tensor<4x6xf32>
  }
}

module @checks {
  func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
    %s = stablehlo.add %x, %y : tensor<2xf32>
    check.expect_eq %s, %x : tensor<2xf32>
    check.expect_almost_eq %s, %y : tensor<2xf32>
    check.expect_close %s, %y, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
    check.expect_eq_const %s, dense<[1.0, 2.0]> : tensor<2xf32>
    check.expect_almost_eq_const %s, dense<1.0> : tensor<2xf32>
    return %s : tensor<2xf32>
  }
}
