// Functions, integers without a sign, and division as hardware does it.
module @calls {
  func.func private @square(%x: tensor<3xui8>) -> tensor<3xui8> {
    %y = stablehlo.multiply %x, %x : tensor<3xui8>
    return %y : tensor<3xui8>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[3, 15, 16]> : tensor<3xui8>
    %y = call @square(%x) : (tensor<3xui8>) -> tensor<3xui8>
    %want = stablehlo.constant dense<[9, 225, 0]> : tensor<3xui8>
    stablehlo.custom_call @check.expect_eq(%y, %want) {has_side_effect = true} : (tensor<3xui8>, tensor<3xui8>) -> ()
    %a = stablehlo.constant dense<[-7, 7]> : tensor<2xi32>
    %b = stablehlo.constant dense<2> : tensor<2xi32>
    %q = stablehlo.divide %a, %b : tensor<2xi32>
    %r = stablehlo.remainder %a, %b : tensor<2xi32>
    %want_q = stablehlo.constant dense<[-3, 3]> : tensor<2xi32>
    %want_r = stablehlo.constant dense<[-1, 1]> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%q, %want_q) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r, %want_r) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    return
  }
}
