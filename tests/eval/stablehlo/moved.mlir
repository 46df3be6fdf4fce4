// Slices, pads with gaps, transposes, joins and a reversal.
module @moved {
  func.func @main() {
    %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %s = stablehlo.slice %t [0:3:2, 1:2] : (tensor<3x2xi32>) -> tensor<2x1xi32>
    %r = stablehlo.reshape %s : (tensor<2x1xi32>) -> tensor<2xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.pad %r, %zero, low = [1], high = [-1], interior = [2] : (tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
    %v = stablehlo.reverse %p, dims = [0] : tensor<4xi32>
    %j = stablehlo.concatenate %p, %v, dim = 0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<8xi32>
    %want = stablehlo.constant dense<[0, 4, 0, 0, 0, 0, 4, 0]> : tensor<8xi32>
    stablehlo.custom_call @check.expect_eq(%j, %want) {has_side_effect = true} : (tensor<8xi32>, tensor<8xi32>) -> ()
    return
  }
}
