// A convolution that adds neighbours, and the largest of pairs.
module @windows {
  func.func @main() {
    %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
    %f = stablehlo.constant dense<1.0> : tensor<3x1x1xf32>
    %y = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, tensor<3x1x1xf32>) -> tensor<1x4x1xf32>
    %want = stablehlo.constant dense<[[[3.0], [6.0], [9.0], [7.0]]]> : tensor<1x4x1xf32>
    stablehlo.custom_call @check.expect_eq(%y, %want) {has_side_effect = true} : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> ()
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %m = "stablehlo.reduce_window"(%y, %lowest) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>} : (tensor<1x4x1xf32>, tensor<f32>) -> tensor<1x2x1xf32>
    %want_m = stablehlo.constant dense<[[[6.0], [9.0]]]> : tensor<1x2x1xf32>
    stablehlo.custom_call @check.expect_eq(%m, %want_m) {has_side_effect = true} : (tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> ()
    return
  }
}
