// exp(0) : exp(ln 3) is 1 : 3; a row of equal scores is even.
module @softmax {
  func.func @main() {
    %x = stablehlo.constant dense<[[0.0, 1.0986123], [5.0, 5.0]]> : tensor<2x2xf32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %mm = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %d = stablehlo.subtract %x, %mm : tensor<2x2xf32>
    %e = stablehlo.exponential %d : tensor<2x2xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %ss = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %y = stablehlo.divide %e, %ss : tensor<2x2xf32>
    %want = stablehlo.constant dense<[[0.25, 0.75], [0.5, 0.5]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_close(%y, %want) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return
  }
}
