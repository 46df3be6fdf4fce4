// Modules split as StableHLO's own tests have them, with the dialect check in both forms.
module {
  func.func @first() {
    %a = stablehlo.constant dense<[0, 1, 8, -9, 0]> : tensor<5xi8>
    %b = stablehlo.constant dense<[-128, -1, 8, -9, 127]> : tensor<5xi8>
    %c = stablehlo.multiply %a, %b : tensor<5xi8>
    "check.expect_eq_const"(%c) <{value = dense<[0, -1, 64, 81, 0]> : tensor<5xi8>}> : (tensor<5xi8>) -> ()
    return
  }
}

// -----

module {
  func.func @second() {
    %a = stablehlo.constant dense<[4.0, 9.0]> : tensor<2xf32>
    %b = stablehlo.sqrt %a : tensor<2xf32>
    check.expect_almost_eq_const %b, dense<[2.0, 3.0]> : tensor<2xf32>
    %c = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
    check.expect_eq %b, %c : tensor<2xf32>
    return
  }
}
