// Data movement, reductions, dots, control flow and refusals: values computed by hand.
#include "tests/eval/eval_helpers.h"

using namespace tilewright;

TEST(EvaluatorMovement, BroadcastTransposeReshape) {
  Tensor x = counting(DType::S32, {2, 3});
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[2,3] parameter(0)\n"
                                  "ROOT y = s32[3,2,2] broadcast(x), dimensions={1,0}\n"),
                            {x})),
            (Values{0, 0, 3, 3, 1, 1, 4, 4, 2, 2, 5, 5}));
  Tensor column = counting(DType::S32, {2, 1});
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[2,1] parameter(0)\n"
                                  "ROOT y = s32[2,3] broadcast(x), dimensions={0,1}\n"),
                            {column})),
            (Values{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[2,3] parameter(0)\n"
                                  "ROOT y = s32[3,2] transpose(x), dimensions={1,0}\n"),
                            {x})),
            (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[2,3] parameter(0)\n"
                                  "ROOT y = s32[3,1,2] reshape(x)\n"),
                            {x})),
            (Values{0, 1, 2, 3, 4, 5}));
}

TEST(EvaluatorMovement, TransposeThereAndBackIsIdentity) {
  Tensor x = fillTensor(Shape::tensor(DType::F32, {3, 4, 5, 2}), 1);
  Tensor y = runOne(entry("x = f32[3,4,5,2] parameter(0)\n"
                          "t = f32[5,3,2,4] transpose(x), dimensions={2,0,3,1}\n"
                          "ROOT y = f32[3,4,5,2] transpose(t), dimensions={1,3,0,2}\n"),
                    {x});
  EXPECT_EQ(valuesOf(y), valuesOf(x));
}

TEST(EvaluatorMovement, BitcastKeepsPhysicalOrder) {
  // Column-major [2,3] holds 0 3 1 4 2 5; read as row-major [6].
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[2,3]{0,1} parameter(0)\n"
                                  "ROOT y = s32[6]{0} bitcast(x)\n"),
                            {counting(DType::S32, {2, 3})})),
            (Values{0, 3, 1, 4, 2, 5}));
  // A bitcast that is a transpose, and back.
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[2,3]{1,0} parameter(0)\n"
                                  "ROOT y = s32[3,2]{0,1} bitcast(x)\n"),
                            {counting(DType::S32, {2, 3})})),
            (Values{0, 3, 1, 4, 2, 5}));
}

TEST(EvaluatorMovement, BitcastConvertAcrossWidths) {
  Tensor one = tensorOf(DType::F32, {2}, "{1, -2}");
  EXPECT_EQ(valuesOf(runOne(entry("x = f32[2] parameter(0)\n"
                                  "ROOT y = u8[2,4] bitcast-convert(x)\n"),
                            {one})),
            (Values{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}));
  EXPECT_EQ(valuesOf(runOne(entry("x = f32[2] parameter(0)\n"
                                  "b = u16[2,2] bitcast-convert(x)\n"
                                  "ROOT y = f32[2] bitcast-convert(b)\n"),
                            {one})),
            (Values{1, -2}));
  EXPECT_EQ(valuesOf(runOne(entry("x = f32[2] parameter(0)\n"
                                  "ROOT y = s32[2] bitcast-convert(x)\n"),
                            {one})),
            (Values{0x3f800000, -0x40000000}));
}

TEST(EvaluatorMovement, SliceReverseConcatenatePad) {
  Tensor x = counting(DType::S32, {3, 4});
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[3,4] parameter(0)\n"
                                  "ROOT y = s32[2,2] slice(x), slice={[1:3], [0:4:3]}\n"),
                            {x})),
            (Values{4, 7, 8, 11}));
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[3,4] parameter(0)\n"
                                  "ROOT y = s32[3,4] reverse(x), dimensions={1}\n"),
                            {x})),
            (Values{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8}));
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[2,1] parameter(0)\ny = s32[2,2] parameter(1)\n"
                                  "ROOT z = s32[2,3] concatenate(x, y), dimensions={1}\n"),
                            {counting(DType::S32, {2, 1}), counting(DType::S32, {2, 2}, 10)})),
            (Values{0, 10, 11, 1, 12, 13}));
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[4] parameter(0)\nz = s32[] constant(9)\n"
                                  "ROOT y = s32[10] pad(x, z), padding=1_2_1\n"),
                            {counting(DType::S32, {4})})),
            (Values{9, 0, 9, 1, 9, 2, 9, 3, 9, 9}));
  // Low edge crops the first element and the gap before the second.
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[4] parameter(0)\nz = s32[] constant(9)\n"
                                  "ROOT y = s32[4] pad(x, z), padding=-1_-2_1\n"),
                            {counting(DType::S32, {4})})),
            (Values{9, 1, 9, 2}));
}

TEST(EvaluatorMovement, Iota) {
  EXPECT_EQ(valuesOf(runOne(entry("ROOT i = f32[2,3] iota(), iota_dimension=1\n"))),
            (Values{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(valuesOf(runOne(entry("ROOT i = s8[2,3] iota(), iota_dimension=0\n"))),
            (Values{0, 0, 0, 1, 1, 1}));
}

TEST(EvaluatorMovement, DynamicSlicesClampTheirStarts) {
  auto sliceAt = [](int64_t start) {
    std::vector<int64_t> values = {start};
    return valuesOf(runOne(
        entry("x = s32[5] parameter(0)\ni = s32[] parameter(1)\n"
              "ROOT y = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}\n"),
        {counting(DType::S32, {5}), Tensor::ofIntegers(Shape::tensor(DType::S32, {}), values)}));
  };
  EXPECT_EQ(sliceAt(1), (Values{1, 2}));
  EXPECT_EQ(sliceAt(-7), (Values{0, 1}));
  EXPECT_EQ(sliceAt(4), (Values{3, 4}));
  EXPECT_EQ(valuesOf(runOne(entry("x = s32[2,3] parameter(0)\nu = s32[1,2] parameter(1)\n"
                                  "i = s32[] constant(1)\nj = s32[] constant(5)\n"
                                  "ROOT y = s32[2,3] dynamic-update-slice(x, u, i, j)\n"),
                            {counting(DType::S32, {2, 3}), counting(DType::S32, {1, 2}, 70)})),
            (Values{0, 1, 2, 3, 70, 71}));
}

// A patched tensor, doubled and read at a turning start: facts of the composed index map.
TEST(EvaluatorMovement, UpdateUnderARoll) {
  std::string text =
      entry("base = s32[29,10,11]{2,1,0} parameter(0)\nupd = s32[14,4,7]{2,1,0} parameter(1)\n"
            "row = s32[] parameter(2)\ncol = s32[] parameter(3)\nlane = s32[] parameter(4)\n"
            "turn = s32[] parameter(5)\nzero = s32[] constant(0)\n"
            "patched = s32[29,10,11]{2,1,0} dynamic-update-slice(base, upd, row, col, lane)\n"
            "twice = s32[29,20,11]{2,1,0} concatenate(patched, patched), dimensions={1}\n"
            "ROOT rolled = s32[29,10,11]{2,1,0} dynamic-slice(twice, zero, turn, zero), "
            "dynamic_slice_sizes={29,10,11}\n");
  std::vector<Tensor> arguments = {counting(DType::S32, {29, 10, 11}),
                                   counting(DType::S32, {14, 4, 7}, 100000)};
  for (int64_t value : {20, 5, 1, 3}) // row 20 clamps to 15
    arguments.push_back(tensorOf(DType::S32, {}, std::to_string(value)));
  const Tensor &base = arguments[0], &update = arguments[1];
  Tensor out = runOne(text, arguments);
  auto at = [](const Tensor &tensor, std::vector<int64_t> index) {
    return tensor.integer(tensor.offset(index));
  };
  EXPECT_EQ(at(out, {16, 5, 3}), at(update, {1, 3, 2}));
  EXPECT_EQ(at(out, {16, 9, 3}), at(base, {16, 2, 3}));
  EXPECT_EQ(at(out, {15, 2, 1}), at(update, {0, 0, 0}));
  forEachIndex({29, 10, 11}, [&](const std::vector<int64_t> &d) {
    int64_t a = d[0] - 15, column = (d[1] + 3) % 10, b = column - 5, c = d[2] - 1;
    bool isUpdated = a >= 0 && a < 14 && b >= 0 && b < 4 && c >= 0 && c < 7;
    ASSERT_EQ(at(out, d), isUpdated ? at(update, {a, b, c}) : at(base, {d[0], column, d[2]}));
  });
}

TEST(EvaluatorReduce, SumsProductsAndVariadic) {
  Tensor x = counting(DType::F32, {2, 3}, 1);
  EXPECT_EQ(
      valuesOf(runOne(withReducers("f32", "x = f32[2,3] parameter(0)\nz = f32[] constant(10)\n"
                                          "ROOT y = f32[3] reduce(x, z), dimensions={0}, "
                                          "to_apply=add.f32\n"),
                      {x})),
      (Values{15, 17, 19}));
  EXPECT_EQ(valuesOf(runOne(withReducers("s8", "x = s8[3] parameter(0)\nz = s8[] constant(1)\n"
                                               "ROOT y = s8[] reduce(x, z), dimensions={0}, "
                                               "to_apply=multiply.s8\n"),
                            {tensorOf(DType::S8, {3}, "{100, 2, 3}")})),
            (Values{600 - 512})); // wraps
  // argmax: value and index together, ties to the lower index.
  std::string argmax = "HloModule m\nf {\n a = f32[] parameter(0)\n i = s32[] parameter(1)\n"
                       " b = f32[] parameter(2)\n j = s32[] parameter(3)\n"
                       " p = pred[] compare(a, b), direction=GE\n"
                       " v = f32[] select(p, a, b)\n k = s32[] select(p, i, j)\n"
                       " ROOT t = (f32[], s32[]) tuple(v, k)\n}\n"
                       "ENTRY main {\n x = f32[2,3] parameter(0)\n n = s32[2,3] iota(), "
                       "iota_dimension=1\n z = f32[] constant(-inf)\n o = s32[] constant(0)\n"
                       " ROOT r = (f32[2], s32[2]) reduce(x, n, z, o), dimensions={1}, "
                       "to_apply=f\n}\n";
  std::vector<Tensor> results =
      run(parseText(argmax), {tensorOf(DType::F32, {2, 3}, "{{1, 5, 5}, {7, -1, 2}}")});
  EXPECT_EQ(valuesOf(results[0]), (Values{5, 7}));
  EXPECT_EQ(valuesOf(results[1]), (Values{1, 0}));
}

TEST(EvaluatorReduce, RoundsOnceAfterTheSum) {
  // 256 + 1 + 1 in bf16: stepwise it would stay 256.
  std::string text = withReducers("bf16", "x = bf16[3] parameter(0)\nz = bf16[] constant(0)\n"
                                          "ROOT y = bf16[] reduce(x, z), dimensions={0}, "
                                          "to_apply=add.bf16\n");
  Tensor x = tensorOf(DType::BF16, {3}, "{256, 1, 1}");
  EXPECT_EQ(valuesOf(runOne(text, {x})), (Values{258}));
}

TEST(Evaluator, RoundsEachStepOrNotAtAll) {
  std::string text = entry("x = bf16[] parameter(0)\ny = bf16[] parameter(1)\n"
                           "s = bf16[] add(x, y)\nROOT d = bf16[] subtract(s, x)\n");
  std::vector<Tensor> arguments = {tensorOf(DType::BF16, {}, "256"),
                                   tensorOf(DType::BF16, {}, "1")};
  EXPECT_EQ(valuesOf(runOne(text, arguments)), (Values{0}));
  EvalOptions exact;
  exact.roundEachStep = false;
  EXPECT_EQ(valuesOf(runOne(text, arguments, exact)), (Values{1}));
}

TEST(EvaluatorScan, RunningSumsBothWaysWithCarry) {
  std::string head = "HloModule m\nf {\n x = s32[] parameter(0)\n c = s32[] parameter(1)\n"
                     " s = s32[] add(x, c)\n ROOT t = (s32[], s32[]) tuple(s, s)\n}\n";
  auto scan = [&](std::string_view extra) {
    return run(parseText(head +
                         "ENTRY main {\n x = s32[4] parameter(0)\n z = s32[] constant(10)\n"
                         " ROOT r = (s32[4], s32[]) scan(x, z), dimensions={0}, "
                         "num_carries=1, is_associative=true" +
                         std::string(extra) + ", to_apply=f\n}\n"),
               {counting(DType::S32, {4}, 1)});
  };
  std::vector<Tensor> forward = scan(""), backward = scan(", is_reverse=true");
  EXPECT_EQ(valuesOf(forward[0]), (Values{11, 13, 16, 20}));
  EXPECT_EQ(valuesOf(forward[1]), (Values{20}));
  EXPECT_EQ(valuesOf(backward[0]), (Values{20, 19, 17, 14}));
  // Slices of rank one: columns are summed downwards.
  std::string matrix = "HloModule m\nf {\n x = f32[2] parameter(0)\n c = f32[2] parameter(1)\n"
                       " s = f32[2] add(x, c)\n ROOT t = (f32[2], f32[2]) tuple(s, s)\n}\n"
                       "ENTRY main {\n x = f32[3,2] parameter(0)\n z = f32[2] constant({0, 0})\n"
                       " ROOT r = (f32[3,2], f32[2]) scan(x, z), dimensions={0}, num_carries=1, "
                       "to_apply=f\n}\n";
  EXPECT_EQ(valuesOf(run(parseText(matrix), {counting(DType::F32, {3, 2})})[0]),
            (Values{0, 1, 2, 4, 6, 9}));
}

TEST(EvaluatorSort, KeysWithValuesStable) {
  std::string text = "HloModule m\nless {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
                     " c = s32[] parameter(2)\n d = s32[] parameter(3)\n"
                     " ROOT p = pred[] compare(a, b), direction=LT\n}\nENTRY main {\n"
                     " k = s32[2,4] parameter(0)\n v = s32[2,4] iota(), iota_dimension=1\n"
                     " ROOT s = (s32[2,4], s32[2,4]) sort(k, v), dimensions={1}, "
                     "is_stable=true, to_apply=less\n}\n";
  std::vector<Tensor> sorted =
      run(parseText(text), {tensorOf(DType::S32, {2, 4}, "{{3, 1, 3, 1}, {0, -1, 9, 4}}")});
  EXPECT_EQ(valuesOf(sorted[0]), (Values{1, 1, 3, 3, -1, 0, 4, 9}));
  EXPECT_EQ(valuesOf(sorted[1]), (Values{1, 3, 0, 2, 1, 0, 3, 2}));
}

TEST(EvaluatorDot, AgreesWithTheDefinition) {
  Tensor x = fillTensor(Shape::tensor(DType::F32, {3, 2, 4, 5}), 1);
  Tensor y = fillTensor(Shape::tensor(DType::F32, {5, 2, 6, 3}), 2);
  // Batch (0,1) with (3,1), contracting 3 with 0: result [3,2,4,6].
  Tensor z = runOne(entry("x = f32[3,2,4,5] parameter(0)\ny = f32[5,2,6,3] parameter(1)\n"
                          "ROOT z = f32[3,2,4,6] dot(x, y), lhs_batch_dims={0,1}, "
                          "rhs_batch_dims={3,1}, lhs_contracting_dims={3}, "
                          "rhs_contracting_dims={0}\n"),
                    {x, y});
  forEachIndex({3, 2, 4, 6}, [&](const std::vector<int64_t> &d) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k)
      sum += x.real(x.offset(std::vector<int64_t>{d[0], d[1], d[2], k})) *
             y.real(y.offset(std::vector<int64_t>{k, d[1], d[3], d[0]}));
    ASSERT_EQ(z.real(z.offset(d)), static_cast<double>(static_cast<float>(sum)));
  });
}

TEST(EvaluatorDot, IntegersAccumulateInTheResultType) {
  EXPECT_EQ(valuesOf(runOne(
                entry("x = s8[2] parameter(0)\ny = s8[2] parameter(1)\n"
                      "ROOT z = s32[] dot(x, y), lhs_contracting_dims={0}, "
                      "rhs_contracting_dims={0}\n"),
                {tensorOf(DType::S8, {2}, "{127, 127}"), tensorOf(DType::S8, {2}, "{127, -128}")})),
            (Values{127 * 127 - 127 * 128}));
  Tensor z = runOne(entry("x = c64[2] parameter(0)\n"
                          "ROOT z = c64[] dot(x, x), lhs_contracting_dims={0}, "
                          "rhs_contracting_dims={0}\n"),
                    {tensorOf(DType::C64, {2}, "{(1, 2), (0, 1)}")});
  EXPECT_EQ(z.complex(0), std::complex<double>(-4, 4));
}

TEST(Evaluator, ExtentsOfZero) {
  std::vector<Tensor> results = run(
      parseText(withReducers("f32",
                             "x = f32[4,0]{1,0} parameter(0)\ny = f32[0,16]{1,0} parameter(1)\n"
                             "z = f32[16]{0} parameter(2)\nneg = f32[4,0]{1,0} negate(x)\n"
                             "d = f32[4,16]{1,0} dot(x, y), lhs_contracting_dims={1}, "
                             "rhs_contracting_dims={0}\n"
                             "zb = f32[4,16]{1,0} broadcast(z), dimensions={1}\n"
                             "dz = f32[4,16]{1,0} add(d, zb)\nseven = f32[] constant(7)\n"
                             "r = f32[4]{0} reduce(x, seven), dimensions={1}, to_apply=add.f32\n"
                             "ROOT t = (f32[4,0]{1,0}, f32[4,16]{1,0}, f32[4]{0}) "
                             "tuple(neg, dz, r)\n")),
      {counting(DType::F32, {4, 0}), counting(DType::F32, {0, 16}), counting(DType::F32, {16})});
  EXPECT_EQ(results[0].size(), 0);
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(results[1].real(i), static_cast<double>(i % 16));
  EXPECT_EQ(valuesOf(results[2]), (Values{7, 7, 7, 7}));
}

TEST(EvaluatorControl, WhileCallFusionConditionalAndTuples) {
  std::string loop = "HloModule m\ncond {\n s = (s32[], f32[]) parameter(0)\n"
                     " i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(5)\n"
                     " ROOT c = pred[] compare(i, n), direction=LT\n}\n"
                     "twice {\n v = f32[] parameter(0)\n ROOT w = f32[] add(v, v)\n}\n"
                     "body {\n s = (s32[], f32[]) parameter(0)\n"
                     " i = s32[] get-tuple-element(s), index=0\n"
                     " v = f32[] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
                     " j = s32[] add(i, one)\n w = f32[] call(v), to_apply=twice\n"
                     " ROOT o = (s32[], f32[]) tuple(j, w)\n}\n"
                     "ENTRY main {\n x = f32[] parameter(0)\n zero = s32[] constant(0)\n"
                     " t = (s32[], f32[]) tuple(zero, x)\n"
                     " ROOT l = (s32[], f32[]) while(t), condition=cond, body=body\n}\n";
  std::vector<Tensor> result = run(parseText(loop), {tensorOf(DType::F32, {}, "3")});
  EXPECT_EQ(result[0].integer(0), 5);
  EXPECT_EQ(result[1].real(0), 96);
  std::string choose = "HloModule m\nneg {\n v = s32[] parameter(0)\n ROOT w = s32[] negate(v)\n}\n"
                       "same {\n ROOT v = s32[] parameter(0)\n}\n"
                       "ENTRY main {\n i = s32[] parameter(0)\n x = s32[] constant(4)\n"
                       " y = s32[] constant(6)\n"
                       " ROOT c = s32[] conditional(i, x, y), branch_computations={neg, same}\n}\n";
  EXPECT_EQ(runOne(choose, {tensorOf(DType::S32, {}, "0")}).integer(0), -4);
  EXPECT_EQ(runOne(choose, {tensorOf(DType::S32, {}, "1")}).integer(0), 6);
  EXPECT_EQ(runOne(choose, {tensorOf(DType::S32, {}, "-3")}).integer(0), 6);
  std::string fused = "HloModule m\nf {\n a = f32[2] parameter(0)\n b = f32[2] parameter(1)\n"
                      " s = f32[2] subtract(a, b)\n ROOT t = (f32[2], f32[2]) tuple(s, a)\n}\n"
                      "ENTRY main {\n a = f32[2] parameter(0)\n b = f32[2] parameter(1)\n"
                      " p = (f32[2], f32[2]) fusion(b, a), kind=kLoop, calls=f\n"
                      " ROOT g = f32[2] get-tuple-element(p), index=0\n}\n";
  EXPECT_EQ(valuesOf(runOne(fused, {counting(DType::F32, {2}), counting(DType::F32, {2}, 10)})),
            (Values{10, 10}));
}

TEST(EvaluatorErrors, RefusalsNameTheOpAndTheReason) {
  Diag diag = runError(entry("x = f32[4] parameter(0)\n"
                             "ROOT c = f32[4] custom-call(x), custom_call_target=\"secret\"\n"),
                       {counting(DType::F32, {4})});
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_EQ(diag.message, "custom-call %c: custom call to \"secret\" is not evaluated");
  EXPECT_EQ(diag.line, 4u);
  diag = runError(entry("ROOT c = f32[8] constant({...})\n"));
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_NE(diag.message.find("the dump left the values out"), std::string::npos);
  // What the root doesn't need isn't run.
  EXPECT_EQ(valuesOf(runOne(entry("x = f32[1] parameter(0)\nc = f32[8] constant({...})\n"
                                  "ROOT y = f32[1] negate(x)\n"),
                            {counting(DType::F32, {1}, 3)})),
            (Values{-3}));
  diag = runError(withReducers("f32", "x = f32[4] parameter(0)\n"
                                      "ROOT r = f32[4] all-reduce(x), replica_groups={{0}}, "
                                      "to_apply=add.f32\n"),
                  {counting(DType::F32, {4})});
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_EQ(runError(entry("ROOT x = f32[4] parameter(0)\n"), {counting(DType::F32, {5})}).message,
            "argument 0 is f32[5], %x takes f32[4]");
  EXPECT_EQ(runError(entry("ROOT x = f32[4] parameter(0)\n"), {}).cls, DiagClass::BadInput);
}

TEST(EvaluatorErrors, BudgetsEndEndlessLoopsAndLargeTensors) {
  std::string endless = "HloModule m\ncond {\n s = s32[] parameter(0)\n"
                        " ROOT c = pred[] compare(s, s), direction=EQ\n}\n"
                        "body {\n ROOT s = s32[] parameter(0)\n}\n"
                        "ENTRY main {\n z = s32[] constant(0)\n"
                        " ROOT l = s32[] while(z), condition=cond, body=body\n}\n";
  EvalOptions options;
  options.maxWork = 10000;
  EXPECT_EQ(runError(endless, {}, options).cls, DiagClass::BudgetSpent);
  Diag diag = runError(entry("z = f32[] constant(0)\n"
                             "ROOT b = f32[1048576,1048576] broadcast(z), dimensions={}\n"));
  EXPECT_EQ(diag.cls, DiagClass::BudgetSpent);
  // Freed tensors don't count: ten steps of 1,000 elements within 3,000.
  std::string chain = "x0 = f32[1000] parameter(0)\n";
  for (int i = 0; i < 10; ++i)
    chain += fmt::format("{}x{} = f32[1000] negate(x{})\n", i == 9 ? "ROOT " : "", i + 1, i);
  options.maxWork = 1 << 20;
  options.maxLiveElements = 3000;
  EXPECT_EQ(runOne(entry(chain), {counting(DType::F32, {1000})}, options).size(), 1000);
}
