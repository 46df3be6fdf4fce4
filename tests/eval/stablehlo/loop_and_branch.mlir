// 10 + 9 + … + 1, doubled by a branch that is taken.
module @loop {
  func.func @main() {
    %n = stablehlo.constant dense<10> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %n, %sum = %zero) : tensor<i32>, tensor<i32>
      cond {
        %c = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %next = stablehlo.subtract %i, %one : tensor<i32>
        %more = stablehlo.add %sum, %i : tensor<i32>
        stablehlo.return %next, %more : tensor<i32>, tensor<i32>
      }
    %is = stablehlo.compare EQ, %r#0, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %y = "stablehlo.if"(%is) ({
      %twice = stablehlo.add %r#1, %r#1 : tensor<i32>
      stablehlo.return %twice : tensor<i32>
    }, {
      stablehlo.return %zero : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    %want = stablehlo.constant dense<110> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%y, %want) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}
