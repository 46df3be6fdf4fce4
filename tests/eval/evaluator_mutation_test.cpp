// Modules that mean nothing: valid ones with shapes, attributes, operands and opcodes changed at
// random, and not verified. The evaluator answers or refuses, within its budgets.
#include "tests/eval/eval_helpers.h"

using namespace tilewright;

namespace {
const std::string source = withReducers("f32",
                                        R"(x = f32[3,4] parameter(0)
    i = s32[2,1] parameter(1)
    w = f32[2,2,1,2] parameter(2)
    img = f32[1,3,4,1] reshape(x)
    zero = f32[] constant(0)
    one = s32[] constant(1)
    b = f32[2,3,4] broadcast(x), dimensions={1,2}
    t = f32[4,3] transpose(x), dimensions={1,0}
    s = f32[2,2] slice(x), slice={[1:3], [0:4:2]}
    r = f32[3,4] reverse(x), dimensions={0}
    cat = f32[3,8] concatenate(x, r), dimensions={1}
    p = f32[5,6] pad(x, zero), padding=1_1x-1_0_1
    ds = f32[2,2] dynamic-slice(x, one, one), dynamic_slice_sizes={2,2}
    dus = f32[3,4] dynamic-update-slice(x, s, one, one)
    g = f32[2,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
    sc = f32[3,4] scatter(x, i, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add.f32
    d = f32[3,3] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    c = f32[1,3,4,2] convolution(img, w), window={size=2x2 pad=0_1x1_0}, dim_labels=b01f_01io->b01f
    red = f32[4] reduce(x, zero), dimensions={0}, to_apply=maximum.f32
    rw = f32[3,2] reduce-window(x, zero), window={size=1x2 stride=1x2}, to_apply=add.f32
    sas = f32[3,4] select-and-scatter(x, rw, zero), window={size=1x2 stride=1x2}, select=ge.f32, scatter=add.f32
    so = f32[3,4] sort(x), dimensions={1}, to_apply=lt.f32
    n = f32[3,4] iota(), iota_dimension=1
    cmp = pred[3,4] compare(x, n), direction=LT
    sel = f32[3,4] select(cmp, x, n)
    cl = f32[3,4] clamp(zero, x, n)
    bits = s32[3,4] bitcast-convert(x)
    bytes = s8[3,4,4] bitcast-convert(bits)
    cv = bf16[3,4] convert(x)
    flip = f32[4,3]{0,1} bitcast(x)
    m = f32[3,4] map(x, n), dimensions={0,1}, to_apply=add.f32
    ROOT all = (f32[2,3,4], f32[3,8], f32[5,6], f32[2,2], f32[3,4], f32[3,4], f32[3,3], f32[1,3,4,2], f32[4], f32[3,4], f32[3,4], f32[3,4], f32[3,4], s8[3,4,4], bf16[3,4], f32[4,3]{0,1}, f32[3,4]) tuple(b, cat, p, ds, dus, sc, d, c, red, sas, so, sel, cl, bytes, cv, flip, m)
)");

class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  /// Changes one op and says which.
  OpId mutate(Graph &graph) {
    OpId id{pick(graph.size())};
    Op &op = graph.op(id);
    switch (pick(7)) {
    case 0:
      mutateShape(op.shape);
      break;
    case 1:
      mutateNumbers(op.attrs);
      break;
    case 2:
      if (!op.operands.empty())
        op.operands.erase(op.operands.begin() + pick(op.operands.size()));
      break;
    case 3:
      if (!op.operands.empty())
        op.operands[pick(op.operands.size())] = OpId{pick(op.operands.back().index + 1)};
      break;
    case 4:
      op.opcode = graph.op(OpId{pick(graph.size())}).opcode;
      break;
    case 5:
      op.attrs = graph.op(OpId{pick(graph.size())}).attrs;
      break;
    default:
      if (!op.called.empty())
        op.called.pop_back();
    }
    return id;
  }

private:
  uint32_t pick(size_t count) { return static_cast<uint32_t>(random() % count); }
  int64_t number() {
    int64_t special[] = {-1, 0, 1, 2, 3, 4, 5, 7, INT64_MAX, INT64_MIN, int64_t(1) << 40};
    return special[pick(std::size(special))];
  }
  void change(std::vector<int64_t> &list) {
    if (!list.empty() && pick(3))
      list[pick(list.size())] = number();
    else if (!list.empty() && pick(2))
      list.pop_back();
    else
      list.push_back(number());
  }
  void mutateShape(Shape &shape) {
    switch (pick(3)) {
    case 0:
      shape.dtype = static_cast<DType>(pick(static_cast<size_t>(DType::Opaque) + 1));
      break;
    case 1:
      if (!shape.dims.empty())
        shape.dims[pick(shape.dims.size())] = pick(6);
      break;
    default:
      if (pick(2) || shape.dims.empty())
        shape.dims.push_back(pick(4));
      else
        shape.dims.pop_back();
      shape.layout.reset();
    }
  }
  void mutateNumbers(OpAttributes &attrs) {
    std::vector<int64_t> *lists[] = {&attrs.dimensions,
                                     &attrs.dot.lhsBatch,
                                     &attrs.dot.lhsContracting,
                                     &attrs.dot.rhsContracting,
                                     &attrs.gather.offsetDims,
                                     &attrs.gather.collapsedSliceDims,
                                     &attrs.gather.startIndexMap,
                                     &attrs.gather.operandBatchingDims,
                                     &attrs.gather.startIndicesBatchingDims,
                                     &attrs.gather.sliceSizes,
                                     &attrs.scatter.updateWindowDims,
                                     &attrs.scatter.insertedWindowDims,
                                     &attrs.scatter.scatterDimsToOperandDims,
                                     &attrs.conv.inputSpatial,
                                     &attrs.conv.kernelSpatial};
    change(*lists[pick(std::size(lists))]);
    std::vector<int64_t *> numbers = {&attrs.gather.indexVectorDim, &attrs.scatter.indexVectorDim,
                                      &attrs.conv.inputBatch,       &attrs.conv.kernelOutput,
                                      &attrs.featureGroupCount,     &attrs.batchGroupCount,
                                      &attrs.parameterNumber,       &attrs.tupleIndex};
    for (WindowDim &dim : attrs.window)
      numbers.insert(numbers.end(), {&dim.size, &dim.stride, &dim.padLow, &dim.padHigh,
                                     &dim.windowDilation, &dim.baseDilation});
    for (PadDim &dim : attrs.padding)
      numbers.insert(numbers.end(), {&dim.low, &dim.high, &dim.interior});
    for (SliceDim &dim : attrs.slice)
      numbers.insert(numbers.end(), {&dim.start, &dim.limit, &dim.step});
    *numbers[pick(numbers.size())] = number();
  }

  std::mt19937 random;
};
} // namespace

TEST(EvaluatorMutations, AnsweredOrRefused) {
  const Module original = parseText(source);
  Module unchanged = original;
  EXPECT_EQ(run(unchanged, fillArguments(unchanged, unchanged.entryId, 1)).size(), 17u);
  int answered = 0, refused = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Module module = original;
    Mutator mutator(seed);
    // The changed op is the root, so that it runs; or the tuple of all, which hears of everything.
    Graph &graph = module.graph(module.entryId);
    OpId root = graph.root();
    for (unsigned i = 0; i <= seed % 3; ++i) {
      OpId changed = mutator.mutate(graph);
      graph.setRoot(seed % 8 == 0 ? root : changed);
    }
    std::vector<Tensor> arguments;
    for (OpId parameter : graph.parameters())
      if (graph.op(parameter).shape.elementCount().value_or(1 << 20) < 100000)
        arguments.push_back(fillTensor(graph.op(parameter).shape, 5));
    EvalOptions options;
    options.maxWork = 1 << 20;
    options.maxLiveElements = 1 << 20;
    options.roundEachStep = seed % 2 == 0;
    llvm::Expected<std::vector<Tensor>> result =
        evaluate(module, module.entryId, arguments, options);
    if (result) {
      ++answered;
    } else {
      ++refused;
      EXPECT_NE(takeDiag(result.takeError()).cls, DiagClass::Internal);
    }
  }
  EXPECT_GT(answered, 500);
  EXPECT_GT(refused, 500);
}
