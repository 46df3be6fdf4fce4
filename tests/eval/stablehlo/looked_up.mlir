// Rows by index, of which the last one is clamped; then sums scattered back.
module @looked_up {
  func.func @main() {
    %table = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
    %ids = stablehlo.constant dense<[[2], [0], [9]]> : tensor<3x1xi32>
    %rows = "stablehlo.gather"(%table, %ids) {
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 2>, indices_are_sorted = false
    } : (tensor<3x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
    %want = stablehlo.constant dense<[[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]> : tensor<3x2xf32>
    stablehlo.custom_call @check.expect_eq(%rows, %want) {has_side_effect = true} : (tensor<3x2xf32>, tensor<3x2xf32>) -> ()
    %zeros = stablehlo.constant dense<0.0> : tensor<3x2xf32>
    %at = stablehlo.constant dense<[[1], [1], [9]]> : tensor<3x1xi32>
    %sums = "stablehlo.scatter"(%zeros, %at, %rows) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
      indices_are_sorted = false, unique_indices = false
    } : (tensor<3x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %want_sums = stablehlo.constant dense<[[0.0, 0.0], [6.0, 8.0], [0.0, 0.0]]> : tensor<3x2xf32>
    stablehlo.custom_call @check.expect_eq(%sums, %want_sums) {has_side_effect = true} : (tensor<3x2xf32>, tensor<3x2xf32>) -> ()
    return
  }
}
