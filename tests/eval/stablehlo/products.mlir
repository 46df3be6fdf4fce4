// A batch of two: the second is the identity. Then a plain product of integers.
module @products {
  func.func @main() {
    %a = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]]> : tensor<2x2x2xbf16>
    %b = stablehlo.constant dense<[[[1.0, 1.0], [2.0, 0.0]], [[7.0, 8.0], [9.0, 10.0]]]> : tensor<2x2x2xbf16>
    %c = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x2xbf16>, tensor<2x2x2xbf16>) -> tensor<2x2x2xf32>
    %want = stablehlo.constant dense<[[[5.0, 1.0], [11.0, 3.0]], [[7.0, 8.0], [9.0, 10.0]]]> : tensor<2x2x2xf32>
    stablehlo.custom_call @check.expect_eq(%c, %want) {has_side_effect = true} : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> ()
    %p = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %q = stablehlo.constant dense<[4, 5, -6]> : tensor<3xi32>
    %r = stablehlo.dot %p, %q : (tensor<3xi32>, tensor<3xi32>) -> tensor<i32>
    %minus4 = stablehlo.constant dense<-4> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %minus4) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}
