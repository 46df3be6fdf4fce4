"builtin.module"() <{sym_name = "abs"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.abs"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "cbrt"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.cbrt"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "ceil"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.ceil"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "cosine"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.cosine"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "exponential"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.exponential"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "exponential_minus_one"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.exponential_minus_one"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "floor"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.floor"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "log"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.log"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "log_plus_one"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.log_plus_one"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "logistic"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.logistic"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "negate"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.negate"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "round_nearest_afz"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.round_nearest_afz"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "round_nearest_even"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.round_nearest_even"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "rsqrt"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.rsqrt"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "sign"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.sign"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "sine"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.sine"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "sqrt"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.sqrt"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "tan"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.tan"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "tanh"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.tanh"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "add"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "atan2"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.atan2"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "divide"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.divide"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "maximum"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.maximum"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "minimum"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.minimum"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "multiply"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.multiply"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "power"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.power"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "remainder"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.remainder"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "subtract"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.subtract"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "and"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x6xi32>):
    %0 = "stablehlo.and"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "or"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x6xi32>):
    %0 = "stablehlo.or"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "xor"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x6xi32>):
    %0 = "stablehlo.xor"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "shift_left"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x6xi32>):
    %0 = "stablehlo.shift_left"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "shift_right_arithmetic"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x6xi32>):
    %0 = "stablehlo.shift_right_arithmetic"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "shift_right_logical"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x6xi32>):
    %0 = "stablehlo.shift_right_logical"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "count_leading_zeros"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>):
    %0 = "stablehlo.count_leading_zeros"(%arg0) : (tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "not"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>):
    %0 = "stablehlo.not"(%arg0) : (tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "popcnt"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>):
    %0 = "stablehlo.popcnt"(%arg0) : (tensor<4x6xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "abs_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "stablehlo.abs"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "real"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "stablehlo.real"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "imag"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "stablehlo.imag"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.complex"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "is_finite"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xi1>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.is_finite"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xi1>
    "func.return"(%0) : (tensor<4x6xi1>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "convert"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "convert_to_f8"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf8E4M3FN>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.convert"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf8E4M3FN>
    "func.return"(%0) : (tensor<4x6xf8E4M3FN>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "bitcast_convert"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "clamp"}> ({
  "func.func"() <{function_type = (tensor<f32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<f32>, %arg1: tensor<4x6xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<f32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "compare"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.compare"(%arg0, %arg1) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    "func.return"(%0) : (tensor<4x6xi1>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "compare_in_total_order"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.compare"(%arg0, %arg1) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    "func.return"(%0) : (tensor<4x6xi1>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "compare_unsigned"}> ({
  "func.func"() <{function_type = (tensor<4x6xui32>, tensor<4x6xui32>) -> tensor<4x6xi1>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xui32>, %arg1: tensor<4x6xui32>):
    %0 = "stablehlo.compare"(%arg0, %arg1) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x6xui32>, tensor<4x6xui32>) -> tensor<4x6xi1>
    "func.return"(%0) : (tensor<4x6xi1>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "reduce_precision"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "select"}> ({
  "func.func"() <{function_type = (tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi1>, %arg1: tensor<4x6xf32>, %arg2: tensor<4x6xf32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "map"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.map"(%arg0, %arg1) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.subtract"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "constant"}> ({
  "func.func"() <{function_type = () -> tensor<2x3xf32>, sym_name = "main"}> ({
    %0 = "stablehlo.constant"() <{value = dense<[[1.000000e+00, -2.500000e+00, 0x7F800000], [1.000000e-03, 0xFFC00000, 3.000000e+00]]> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "constant_splat"}> ({
  "func.func"() <{function_type = () -> tensor<2x3xbf16>, sym_name = "main"}> ({
    %0 = "stablehlo.constant"() <{value = dense<1.500000e+00> : tensor<2x3xbf16>}> : () -> tensor<2x3xbf16>
    "func.return"(%0) : (tensor<2x3xbf16>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "constant_bytes"}> ({
  "func.func"() <{function_type = () -> tensor<4xi32>, sym_name = "main"}> ({
    %0 = "stablehlo.constant"() <{value = dense<[1, -1, -2147483648, 2147483647]> : tensor<4xi32>}> : () -> tensor<4xi32>
    "func.return"(%0) : (tensor<4xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "constant_complex"}> ({
  "func.func"() <{function_type = () -> tensor<2xcomplex<f32>>, sym_name = "main"}> ({
    %0 = "stablehlo.constant"() <{value = dense<[(1.000000e+00,2.000000e+00), (0.000000e+00,-1.000000e+00)]> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    "func.return"(%0) : (tensor<2xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "constant_truth"}> ({
  "func.func"() <{function_type = () -> tensor<2x2xi1>, sym_name = "main"}> ({
    %0 = "stablehlo.constant"() <{value = dense<[[true, false], [false, false]]> : tensor<2x2xi1>}> : () -> tensor<2x2xi1>
    "func.return"(%0) : (tensor<2x2xi1>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "constant_unsigned"}> ({
  "func.func"() <{function_type = () -> tensor<3xui8>, sym_name = "main"}> ({
    %0 = "stablehlo.constant"() <{value = dense<[0, 128, 255]> : tensor<3xui8>}> : () -> tensor<3xui8>
    "func.return"(%0) : (tensor<3xui8>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "constant_of_nothing"}> ({
  "func.func"() <{function_type = () -> tensor<2x0xf32>, sym_name = "main"}> ({
    %0 = "stablehlo.constant"() <{value = dense<> : tensor<2x0xf32>}> : () -> tensor<2x0xf32>
    "func.return"(%0) : (tensor<2x0xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "iota"}> ({
  "func.func"() <{function_type = () -> tensor<4x6xi32>, sym_name = "main"}> ({
    %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "tuple"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xi32>):
    %0 = "stablehlo.tuple"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tuple<tensor<4x6xf32>, tensor<4x6xi32>>
    %1 = "stablehlo.get_tuple_element"(%0) <{index = 1 : i32}> : (tuple<tensor<4x6xf32>, tensor<4x6xi32>>) -> tensor<4x6xi32>
    "func.return"(%1) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "optimization_barrier"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xi32>, tensor<4x6xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xi32>):
    %0:2 = "stablehlo.optimization_barrier"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
    "func.return"(%0#1, %0#0) : (tensor<4x6xi32>, tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "tokens"}> ({
  "func.func"() <{function_type = () -> !stablehlo.token, sym_name = "main"}> ({
    %0 = "stablehlo.create_token"() : () -> !stablehlo.token
    %1 = "stablehlo.after_all"(%0, %0) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    "func.return"(%1) : (!stablehlo.token) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "broadcast"}> ({
  "func.func"() <{function_type = (tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<6xf32>):
    %0 = "stablehlo.broadcast"(%arg0) <{broadcast_sizes = array<i64: 4>}> : (tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "broadcast_in_dim"}> ({
  "func.func"() <{function_type = (tensor<6x1xf32>) -> tensor<4x6x3xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<6x1xf32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<6x1xf32>) -> tensor<4x6x3xf32>
    "func.return"(%0) : (tensor<4x6x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "concatenate"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x2xf32>):
    %0 = "stablehlo.concatenate"(%arg0, %arg1) <{dimension = 1 : i64}> : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
    "func.return"(%0) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "dynamic_slice"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>):
    %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2) <{slice_sizes = array<i64: 2, 3>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "dynamic_update_slice"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>):
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "pad"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<f32>) -> tensor<7x12xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<f32>):
    %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_high = array<i64: 2, 2>, edge_padding_low = array<i64: 1, -1>, interior_padding = array<i64: 0, 1>}> : (tensor<4x6xf32>, tensor<f32>) -> tensor<7x12xf32>
    "func.return"(%0) : (tensor<7x12xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "reshape"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<2x12xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.reshape"(%arg0) : (tensor<4x6xf32>) -> tensor<2x12xf32>
    "func.return"(%0) : (tensor<2x12xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "reverse"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 1>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "slice"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 3, 6>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "transpose"}> ({
  "func.func"() <{function_type = (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2x3x5xf32>):
    %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
    "func.return"(%0) : (tensor<5x2x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "dynamic_shapes"}> ({
  "func.func"() <{function_type = (tensor<6xf32>) -> (tensor<4x6xf32>, tensor<3x2xf32>, tensor<4x6xi32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<6xf32>):
    %0 = "stablehlo.constant"() <{value = dense<[4, 6]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %1 = "stablehlo.constant"() <{value = dense<[3, 2]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %2 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) <{broadcast_dimensions = array<i64: 1>}> : (tensor<6xf32>, tensor<2xi32>) -> tensor<4x6xf32>
    %3 = "stablehlo.dynamic_reshape"(%arg0, %1) : (tensor<6xf32>, tensor<2xi32>) -> tensor<3x2xf32>
    %4 = "stablehlo.dynamic_iota"(%0) <{iota_dimension = 0 : i64}> : (tensor<2xi32>) -> tensor<4x6xi32>
    "func.return"(%2, %3, %4) : (tensor<4x6xf32>, tensor<3x2xf32>, tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "dynamic_places"}> ({
  "func.func"() <{function_type = (tensor<6xf32>, tensor<f32>) -> (tensor<9xf32>, tensor<2xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<6xf32>, %arg1: tensor<f32>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<1xi32>}> : () -> tensor<1xi32>
    %1 = "stablehlo.constant"() <{value = dense<2> : tensor<1xi32>}> : () -> tensor<1xi32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
    %3 = "stablehlo.constant"() <{value = dense<5> : tensor<1xi32>}> : () -> tensor<1xi32>
    %4 = "stablehlo.dynamic_pad"(%arg0, %arg1, %0, %1, %2) : (tensor<6xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<9xf32>
    %5 = "stablehlo.real_dynamic_slice"(%arg0, %0, %3, %1) : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
    "func.return"(%4, %5) : (tensor<9xf32>, tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "get_dimension_size"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<i32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.get_dimension_size"(%arg0) <{dimension = 1 : i64}> : (tensor<4x6xf32>) -> tensor<i32>
    "func.return"(%0) : (tensor<i32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "set_dimension_size"}> ({
  "func.func"() <{function_type = (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<8xf32>, %arg1: tensor<i32>):
    %0 = "stablehlo.set_dimension_size"(%arg0, %arg1) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
    "func.return"(%0) : (tensor<?xf32, #stablehlo.bounds<8>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "dot"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6x5xf32>):
    %0 = "stablehlo.dot"(%arg0, %arg1) <{precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]}> : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    "func.return"(%0) : (tensor<4x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "dot_general"}> ({
  "func.func"() <{function_type = (tensor<2x4x6xbf16>, tensor<2x6x5xbf16>) -> tensor<2x4x5xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2x4x6xbf16>, %arg1: tensor<2x6x5xbf16>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x4x6xbf16>, tensor<2x6x5xbf16>) -> tensor<2x4x5xf32>
    "func.return"(%0) : (tensor<2x4x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "dot_with_algorithm"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6x5xf32>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    "func.return"(%0) : (tensor<4x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "convolution"}> ({
  "func.func"() <{function_type = (tensor<2x8x9x4xf32>, tensor<3x2x2x6xf32>) -> tensor<2x4x9x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2x8x9x4xf32>, %arg1: tensor<3x2x2x6xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>], window_reversal = array<i1: false, true>, window_strides = array<i64: 2, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x2x6xf32>) -> tensor<2x4x9x6xf32>
    "func.return"(%0) : (tensor<2x4x9x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "convolution_dilated"}> ({
  "func.func"() <{function_type = (tensor<2x4x8xf32>, tensor<5x4x3xf32>) -> tensor<2x5x11xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2x4x8xf32>, %arg1: tensor<5x4x3xf32>):
    %0 = "stablehlo.convolution"(%arg0, %arg1) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 2>, rhs_dilation = array<i64: 2>}> : (tensor<2x4x8xf32>, tensor<5x4x3xf32>) -> tensor<2x5x11xf32>
    "func.return"(%0) : (tensor<2x5x11xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "gather"}> ({
  "func.func"() <{function_type = (tensor<5x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<5x6xf32>, %arg1: tensor<3x1xi32>):
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<5x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
    "func.return"(%0) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "gather_of_batches"}> ({
  "func.func"() <{function_type = (tensor<3x5x6xf32>, tensor<3x2x1xi32>) -> tensor<3x2x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<3x5x6xf32>, %arg1: tensor<3x2x1xi32>):
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<3x5x6xf32>, tensor<3x2x1xi32>) -> tensor<3x2x6xf32>
    "func.return"(%0) : (tensor<3x2x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "dynamic_gather"}> ({
  "func.func"() <{function_type = (tensor<5x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<5x6xf32>, %arg1: tensor<3x1xi32>):
    %0 = "stablehlo.constant"() <{value = dense<[1, 6]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<5x6xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x6xf32>
    "func.return"(%1) : (tensor<3x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "scatter"}> ({
  "func.func"() <{function_type = (tensor<5x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<5x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<5x6xf32>, %arg1: tensor<3x1xi32>, %arg2: tensor<3x6xf32>):
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) : (tensor<5x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<5x6xf32>
    "func.return"(%0) : (tensor<5x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "reduce"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<f32>):
    %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "reduce_with_region"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>):
    %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.select"(%1, %arg4, %arg6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %3 = "stablehlo.select"(%1, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%2, %3) : (tensor<f32>, tensor<i32>) -> ()
    }) : (tensor<4x6xf32>, tensor<4x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    "func.return"(%0#0, %0#1) : (tensor<4xf32>, tensor<4xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "reduce_window"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<f32>) -> tensor<2x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<f32>):
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{base_dilations = array<i64: 1, 1>, padding = dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 2>, window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x6xf32>
    "func.return"(%0) : (tensor<2x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "select_and_scatter"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.compare"(%arg5, %arg6) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%2) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.add"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "sort"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xi32>):
    %0:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %1 = "stablehlo.compare"(%arg2, %arg3) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
    "func.return"(%0#0, %0#1) : (tensor<4x6xf32>, tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "while"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<i32>, tensor<4x6xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %2:2 = "stablehlo.while"(%0, %arg0) ({
    ^bb0(%arg4: tensor<i32>, %arg5: tensor<4x6xf32>):
      %6 = "stablehlo.compare"(%arg4, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%6) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<4x6xf32>):
      %3 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %4 = "stablehlo.add"(%arg2, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %5 = "stablehlo.multiply"(%arg3, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      "stablehlo.return"(%4, %5) : (tensor<i32>, tensor<4x6xf32>) -> ()
    }) : (tensor<i32>, tensor<4x6xf32>) -> (tensor<i32>, tensor<4x6xf32>)
    "func.return"(%2#0, %2#1) : (tensor<i32>, tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "if"}> ({
  "func.func"() <{function_type = (tensor<i1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<4x6xf32>, %arg2: tensor<4x6xf32>):
    %0 = "stablehlo.if"(%arg0) ({
      %1 = "stablehlo.add"(%arg1, %arg2) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      "stablehlo.return"(%1) : (tensor<4x6xf32>) -> ()
    }, {
      "stablehlo.return"(%arg2) : (tensor<4x6xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "case"}> ({
  "func.func"() <{function_type = (tensor<i32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<i32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<4x6xf32>, %arg2: tensor<4x6xf32>):
    %0:2 = "stablehlo.case"(%arg0) ({
      %2 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      "stablehlo.return"(%arg1, %2) : (tensor<4x6xf32>, tensor<i32>) -> ()
    }, {
      "stablehlo.return"(%arg2, %arg0) : (tensor<4x6xf32>, tensor<i32>) -> ()
    }, {
      %1 = "stablehlo.subtract"(%arg1, %arg2) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      "stablehlo.return"(%1, %arg0) : (tensor<4x6xf32>, tensor<i32>) -> ()
    }) : (tensor<i32>) -> (tensor<4x6xf32>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<4x6xf32>, tensor<i32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "call"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg3: tensor<4x6xf32>, %arg4: tensor<4x6xf32>):
    %3:2 = "func.call"(%arg3, %arg4) <{callee = @both}> : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
    %4 = "func.call"(%3#1) <{callee = @once}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%4) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "once", sym_visibility = "private"}> ({
  ^bb0(%arg2: tensor<4x6xf32>):
    %2 = "stablehlo.negate"(%arg2) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%2) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>), sym_name = "both", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = "stablehlo.subtract"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0, %1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "composite"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg1: tensor<4x6xf32>):
    %1 = "stablehlo.composite"(%arg1) <{composite_attributes = {n = 2 : i64}, decomposition = @twice, name = "my.twice", version = 1 : i32}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%1) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "twice", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "custom_call"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.custom_call"(%arg0) <{backend_config = "a=\221\22", call_target_name = "my_kernel", has_side_effect = true}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "all_gather"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x12xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x6xf32>) -> tensor<4x12xf32>
    "func.return"(%0) : (tensor<4x12xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "all_reduce"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "all_to_all"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "all_to_all_that_moves"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<2x12xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x6xf32>) -> tensor<2x12xf32>
    "func.return"(%0) : (tensor<2x12xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "collective_broadcast"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "collective_permute"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "reduce_scatter"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x3xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) : (tensor<4x6xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "partition_id"}> ({
  "func.func"() <{function_type = () -> tensor<ui32>, sym_name = "main"}> ({
    %0 = "stablehlo.partition_id"() : () -> tensor<ui32>
    "func.return"(%0) : (tensor<ui32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "replica_id"}> ({
  "func.func"() <{function_type = () -> tensor<ui32>, sym_name = "main"}> ({
    %0 = "stablehlo.replica_id"() : () -> tensor<ui32>
    "func.return"(%0) : (tensor<ui32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "infeed"}> ({
  "func.func"() <{function_type = (!stablehlo.token) -> (tensor<4x6xf32>, tensor<4x6xi32>), sym_name = "main"}> ({
  ^bb0(%arg0: !stablehlo.token):
    %0:3 = "stablehlo.infeed"(%arg0) <{infeed_config = "", layout = [[0, 1], [0, 1]]}> : (!stablehlo.token) -> (tensor<4x6xf32>, tensor<4x6xi32>, !stablehlo.token)
    "func.return"(%0#0, %0#1) : (tensor<4x6xf32>, tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "outfeed"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: !stablehlo.token):
    %0 = "stablehlo.outfeed"(%arg0, %arg1) <{outfeed_config = ""}> : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"(%0) : (!stablehlo.token) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "send"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: !stablehlo.token):
    %0 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"(%0) : (!stablehlo.token) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "recv"}> ({
  "func.func"() <{function_type = (!stablehlo.token) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: !stablehlo.token):
    %0:2 = "stablehlo.recv"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    "func.return"(%0#0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "cholesky"}> ({
  "func.func"() <{function_type = (tensor<4x4xf32>) -> tensor<4x4xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x4xf32>):
    %0 = "stablehlo.cholesky"(%arg0) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%0) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "fft"}> ({
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x8xf32>):
    %0 = "stablehlo.fft"(%arg0) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
    "func.return"(%0) : (tensor<4x5xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "rng"}> ({
  "func.func"() <{function_type = (tensor<f32>, tensor<f32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>):
    %0 = "stablehlo.constant"() <{value = dense<[4, 6]> : tensor<2xi64>}> : () -> tensor<2xi64>
    %1 = "stablehlo.rng"(%arg0, %arg1, %0) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x6xf32>
    "func.return"(%1) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "rng_bit_generator"}> ({
  "func.func"() <{function_type = (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x6xui32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2xui64>):
    %0:2 = "stablehlo.rng_bit_generator"(%arg0) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x6xui32>)
    "func.return"(%0#0, %0#1) : (tensor<2xui64>, tensor<4x6xui32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "triangular_solve"}> ({
  "func.func"() <{function_type = (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x4xf32>, %arg1: tensor<4x3xf32>):
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "batch_norm_inference"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>, %arg4: tensor<6xf32>):
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "batch_norm_training"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>):
    %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "batch_norm_grad"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>, %arg4: tensor<4x6xf32>):
    %0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_acos"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.acos"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_acosh"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.acosh"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_asin"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.asin"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_asinh"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.asinh"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_atan"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.atan"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_atanh"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.atanh"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_bessel_i1e"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.bessel_i1e"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_cosh"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.cosh"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_digamma"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.digamma"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_erf"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.erf"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_erf_inv"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.erf_inv"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_erfc"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.erfc"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_lgamma"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.lgamma"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_sinh"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.sinh"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_square"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.square"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_tan"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "chlo.tan"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_acos_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "chlo.acos"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_acosh_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "chlo.acosh"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_asin_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "chlo.asin"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_asinh_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "chlo.asinh"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_atan_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "chlo.atan"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_atanh_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "chlo.atanh"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_cosh_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "chlo.cosh"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_sinh_of_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xcomplex<f32>>):
    %0 = "chlo.sinh"(%arg0) : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_erf_inv_of_f64"}> ({
  "func.func"() <{function_type = (tensor<4x6xf64>) -> tensor<4x6xf64>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf64>):
    %0 = "chlo.erf_inv"(%arg0) : (tensor<4x6xf64>) -> tensor<4x6xf64>
    "func.return"(%0) : (tensor<4x6xf64>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_lgamma_of_f64"}> ({
  "func.func"() <{function_type = (tensor<4x6xf64>) -> tensor<4x6xf64>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf64>):
    %0 = "chlo.lgamma"(%arg0) : (tensor<4x6xf64>) -> tensor<4x6xf64>
    "func.return"(%0) : (tensor<4x6xf64>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_next_after"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "chlo.next_after"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_top_k"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0:2 = "chlo.top_k"(%arg0) <{k = 2 : i64}> : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    "func.return"(%0#0, %0#1) : (tensor<4x2xf32>, tensor<4x2xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_add"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_add"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_atan2"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_atan2"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_divide"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_divide"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_maximum"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_maximum"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_minimum"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_minimum"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_multiply"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_multiply"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_power"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_power"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_remainder"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_remainder"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_subtract"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_subtract"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_and"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x1xi32>):
    %0 = "chlo.broadcast_and"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_or"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x1xi32>):
    %0 = "chlo.broadcast_or"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_xor"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x1xi32>):
    %0 = "chlo.broadcast_xor"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_shift_left"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x1xi32>):
    %0 = "chlo.broadcast_shift_left"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_shift_right_arithmetic"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x1xi32>):
    %0 = "chlo.broadcast_shift_right_arithmetic"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_shift_right_logical"}> ({
  "func.func"() <{function_type = (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xi32>, %arg1: tensor<4x1xi32>):
    %0 = "chlo.broadcast_shift_right_logical"(%arg0, %arg1) : (tensor<4x6xi32>, tensor<4x1xi32>) -> tensor<4x6xi32>
    "func.return"(%0) : (tensor<4x6xi32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_complex"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xcomplex<f32>>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_complex"(%arg0, %arg1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xcomplex<f32>>
    "func.return"(%0) : (tensor<4x6xcomplex<f32>>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_compare"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xi1>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>):
    %0 = "chlo.broadcast_compare"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 1>, comparison_direction = #chlo<comparison_direction LT>}> : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xi1>
    "func.return"(%0) : (tensor<4x6xi1>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_broadcast_select"}> ({
  "func.func"() <{function_type = (tensor<6xi1>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<6xi1>, %arg1: tensor<4x6xf32>, %arg2: tensor<f32>):
    %0 = "chlo.broadcast_select"(%arg0, %arg1, %arg2) : (tensor<6xi1>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "chlo_ragged_dot"}> ({
  "func.func"() <{function_type = (tensor<8x6xf32>, tensor<3x6x5xf32>, tensor<3xi32>) -> tensor<8x5xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<8x6xf32>, %arg1: tensor<3x6x5xf32>, %arg2: tensor<3xi32>):
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x6xf32>, tensor<3x6x5xf32>, tensor<3xi32>) -> tensor<8x5xf32>
    "func.return"(%0) : (tensor<8x5xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "uniform_quantize"}> ({
  "func.func"() <{function_type = (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>):
    %0 = "stablehlo.uniform_quantize"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>
    %1 = "stablehlo.uniform_quantize"(%arg1) : (tensor<4x6xf32>) -> tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>
    %2 = "stablehlo.add"(%0, %1) : (tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>, tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>) -> tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>
    %3 = "stablehlo.uniform_dequantize"(%2) : (tensor<4x6x!quant.uniform<i8:f32, 0.025:-3>>) -> tensor<4x6xf32>
    "func.return"(%3) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() ({
  "func.func"() ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "stablehlo.uniform_quantize"(%arg0) : (tensor<4x6xf32>) -> tensor<4x6x!quant.uniform<i8:f32:0, {0.01:0, 0.02:1, 0.03:-2, 0.04:5}>>
    %1 = "stablehlo.uniform_dequantize"(%0) : (tensor<4x6x!quant.uniform<i8:f32:0, {0.01:0, 0.02:1, 0.03:-2, 0.04:5}>>) -> tensor<4x6xf32>
    "func.return"(%1) : (tensor<4x6xf32>) -> ()
  }) {function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"} : () -> ()
}) {sym_name = "quantize_by_axis"} : () -> ()

"builtin.module"() <{sym_name = "sharding_constraint"}> ({
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}], function_type = (tensor<4x6xf32>) -> tensor<4x6xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4x6xf32>):
    %0 = "sdy.sharding_constraint"(%arg0) <{sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = "stablehlo.negate"(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%1) : (tensor<4x6xf32>) -> ()
  }) : () -> ()
}) : () -> ()

"builtin.module"() <{sym_name = "checks"}> ({
  "func.func"() <{function_type = (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>):
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "check.expect_eq"(%0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> ()
    "check.expect_almost_eq"(%0, %arg1) <{tolerance = 1.000000e-03 : f32}> : (tensor<2xf32>, tensor<2xf32>) -> ()
    "check.expect_close"(%0, %arg1) <{max_ulp_difference = 3 : i64}> : (tensor<2xf32>, tensor<2xf32>) -> ()
    "check.expect_eq_const"(%0) <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : (tensor<2xf32>) -> ()
    "check.expect_almost_eq_const"(%0) <{value = dense<1.0> : tensor<2xf32>}> : (tensor<2xf32>) -> ()
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
