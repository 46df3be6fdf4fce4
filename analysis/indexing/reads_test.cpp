// Maps against what the reference evaluator really reads.
#include "analysis/indexing/testing/indexing.h"

using namespace tilewright;

namespace {

bool isLineOp(Opcode opcode) { return opcode == Opcode::Sort || opcode == Opcode::TopK; }

void expectMapsMatchReads(const std::string &body, const std::string &computations = "",
                          uint64_t seed = 1) {
  HloGraph g(body, computations);
  SCOPED_TRACE(body);
  std::optional<Recording> run = record(g, seed);
  ASSERT_TRUE(run);
  Recording &recording = *run;
  for (uint32_t i = 0; i < g.graph().size(); ++i) {
    const Op &op = g.graph().op(OpId{i});
    OpClass cls = opClass(op.opcode);
    if (cls != OpClass::Elementwise && cls != OpClass::Structured && !isLineOp(op.opcode))
      continue;
    ASSERT_TRUE(recording.values.count(i)) << op.name << " does not reach the root";
    OpIndexing maps = g.maps(op.name);
    ASSERT_EQ(maps.isOpaque, isLineOp(op.opcode)) << maps.reason;
    for (unsigned k = 0; k < op.operands.size(); ++k) {
      llvm::Expected<OperandMaps> back = operandToOutput(g.graph(), OpId{i}, k, g.context);
      ASSERT_TRUE(static_cast<bool>(back)) << takeDiag(back.takeError()).message;
      if (op.opcode == Opcode::Scan && k > 0)
        continue; // the recorder doesn't report carries
      EXPECT_EQ(differenceFromReads(g.graph(), recording, OpId{i}, k, maps.operands[k], *back), "");
    }
  }
}

} // namespace

TEST(IndexingReads, Movement) {
  expectMapsMatchReads(
      "x = f32[4,6] parameter(0)\n y = f32[2,6] parameter(1)\n z = f32[] parameter(2)\n"
      "b = f32[4,3,6] broadcast(x), dimensions={0,2}\n"
      "t = f32[6,4,3] transpose(b), dimensions={2,0,1}\n r = f32[8,9] reshape(t)\n"
      "s = f32[3,5] slice(r), slice={[1:8:3], [0:9:2]}\n"
      "v = f32[3,5] reverse(s), dimensions={0,1}\n p = f32[9,4] pad(v, z), padding=1_3_1x-2_1_0\n"
      "c = f32[6,6] concatenate(x, y), dimensions={0}\n q = f32[3,2,6] reshape(c)\n"
      "n = f32[6,6] negate(c)\n m = f32[6,6] add(n, c)\n k = f32[6,6] clamp(z, m, z)\n"
      "lt = pred[6,6] compare(k, m), direction=LT\n e = f32[6,6] select(lt, k, m)\n"
      "ROOT u = (f32[9,4], f32[3,2,6], f32[6,6]) tuple(p, q, e)");
  expectMapsMatchReads("x = f32[2,3,4]{0,2,1} parameter(0)\n b = f32[4,6]{1,0} bitcast(x)\n"
                       "ROOT c = f32[3,8]{0,1} bitcast(b)");
  expectMapsMatchReads("x = f32[2,0,3] parameter(0)\n r = f32[0,6] reshape(x)\n"
                       "ROOT n = f32[0,6] negate(r)");
}

TEST(IndexingReads, ReshapesOfAllKinds) {
  for (const char *shapes : {"[12] [3,4]", "[3,4] [12]", "[4,6] [3,8]", "[2,3,4] [4,3,2]",
                             "[1,6,1] [2,1,3]", "[2,2,3] [3,4]", "[5,4] [2,10]"}) {
    std::string text = shapes, from = text.substr(0, text.find(' ')),
                to = text.substr(text.find(' ') + 1);
    expectMapsMatchReads("x = f32" + from + " parameter(0)\n ROOT r = f32" + to + " reshape(x)");
  }
}

TEST(IndexingReads, Contractions) {
  expectMapsMatchReads(
      "a = f32[2,3,4,2] parameter(0)\n b = f32[4,2,5,2] parameter(1)\n z = f32[] constant(0)\n"
      "d = f32[2,3,5] dot(a, b), lhs_batch_dims={3}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={2,0}, rhs_contracting_dims={0,3}\n"
      "ROOT r = f32[3] reduce(d, z), dimensions={2,0}, to_apply=add");
  std::string step = "step { a = f32[3] parameter(0)\n b = f32[3] parameter(1)\n"
                     "c = f32[3] add(a, b)\n ROOT t = (f32[3], f32[3]) tuple(c, c) }";
  for (const char *reverse : {"false", "true"})
    expectMapsMatchReads(
        std::string("x = f32[3,5] parameter(0)\n z = f32[3] parameter(1)\n"
                    "s = (f32[3,5], f32[3]) scan(x, z), dimensions={1}, num_carries=1, "
                    "is_reverse=") +
            reverse + ", to_apply=step\n ROOT r = f32[3,5] get-tuple-element(s), index=0",
        step);
}

TEST(IndexingReads, ScaledDots) {
  for (const char *shapes : {"[2,10] [2,2] [10,3] [10,1]", "[4,6] [] [6,2] [3,2]",
                             "[3,70] [3,3] [70,2] [3,2]", "[2,0] [2,0] [0,3] []"}) {
    std::string text = shapes;
    std::vector<std::string> parts;
    for (size_t at = 0; at != std::string::npos;) {
      size_t end = text.find(' ', at);
      parts.push_back(text.substr(at, end == std::string::npos ? end : end - at));
      at = end == std::string::npos ? end : end + 1;
    }
    std::string rows = parts[0].substr(1, parts[0].find(',') - 1);
    std::string columns = parts[2].substr(parts[2].find(',') + 1);
    expectMapsMatchReads("a = f32" + parts[0] + " parameter(0)\n b = f32" + parts[2] +
                         " parameter(1)\n sa = f32" + parts[1] + " parameter(2)\n sb = f32" +
                         parts[3] + " parameter(3)\n ROOT d = f32[" + rows + "," + columns +
                         " scaled-dot(a, b, sa, sb), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}");
  }
}

TEST(IndexingReads, RaggedDots) {
  std::string dims = ", lhs_contracting_dims={2}, rhs_contracting_dims={2}, lhs_batch_dims={0}, "
                     "rhs_batch_dims={1}, lhs_ragged_dims={1}, rhs_group_dims={0}";
  for (const char *sizes : {"{1, 0, 3}", "{2, 2, 2}", "{0, 1, 0}"})
    expectMapsMatchReads(std::string("a = f32[2,5,3] parameter(0)\n b = f32[3,2,3,4] parameter(1)\n"
                                     "n = s32[3] constant(") +
                         sizes + ")\n ROOT d = f32[2,5,4] ragged-dot(a, b, n)" + dims);
  expectMapsMatchReads("a = f32[2,5,3] parameter(0)\n b = f32[3,2,3,4] parameter(1)\n"
                       "n = s32[2,3] constant({{1, 2, 2}, {0, 3, 9}})\n"
                       "ROOT d = f32[2,5,4] ragged-dot(a, b, n)" +
                       dims);
  for (const char *sizes : {"{1, 0, 3}", "{2, 2, 2}"})
    expectMapsMatchReads(std::string("a = f32[2,5] parameter(0)\n b = f32[5,4] parameter(1)\n"
                                     "n = s32[3] constant(") +
                         sizes +
                         ")\n ROOT d = f32[3,2,4] ragged-dot(a, b, n), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}, lhs_ragged_dims={1}, rhs_group_dims={}");
  expectMapsMatchReads("a = f32[4,2,3] parameter(0)\n b = f32[4,3,2] parameter(1)\n"
                       "n = s32[2] constant({1, 3})\n"
                       "ROOT d = f32[4,2,2] ragged-dot(a, b, n), lhs_batch_dims={0}, "
                       "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, "
                       "lhs_ragged_dims={0}, rhs_group_dims={}");
}

TEST(IndexingReads, Windows) {
  for (const char *window :
       {"[3,8] size=3x2 stride=2x1 pad=0_1x0_1", "[6,7] size=1x2",
        "[5,4] size=1x2 stride=1x2 pad=-1_0x0_0", "[9,15] size=3x1 lhs_dilate=2x2",
        "[2,4] size=3x2 rhs_dilate=2x4", "[4,5] size=2x3 stride=3x2 lhs_dilate=2x1 pad=1_0x1_2"}) {
    std::string text = window, out = text.substr(0, text.find(' ')),
                attrs = text.substr(text.find(' ') + 1);
    expectMapsMatchReads("x = f32[6,8] parameter(0)\n z = f32[] parameter(1)\n ROOT w = f32" + out +
                         " reduce-window(x, z), window={" + attrs + "}, to_apply=add");
  }
}

TEST(IndexingReads, Convolutions) {
  for (const char *attributes :
       {"[1,5,4,3] window={size=2x3}", "[1,3,3,3] window={size=2x3 stride=2x2 pad=0_0x1_1}",
        "[1,12,11,3] window={size=2x3 lhs_dilate=2x2 pad=1_1x1_1}",
        "[1,4,4,3] window={size=2x3 rhs_dilate=2x1 rhs_reversal=1x1}"}) {
    std::string text = attributes, out = text.substr(0, text.find(' ')),
                attrs = text.substr(text.find(' ') + 1);
    expectMapsMatchReads("x = f32[1,6,6,2] parameter(0)\n k = f32[2,2,3,3] parameter(1)\n"
                         "ROOT c = f32" +
                         out + " convolution(x, k), " + attrs + ", dim_labels=b01f_i01o->b01f");
  }
  expectMapsMatchReads("x = f32[2,4,6] parameter(0)\n k = f32[2,3,6] parameter(1)\n"
                       "ROOT c = f32[2,2,6] convolution(x, k), window={size=3}, "
                       "dim_labels=b0f_i0o->b0f, feature_group_count=3");
  expectMapsMatchReads("x = f32[4,4,3] parameter(0)\n k = f32[3,3,6] parameter(1)\n"
                       "ROOT c = f32[2,2,6] convolution(x, k), window={size=3}, "
                       "dim_labels=b0f_i0o->b0f, batch_group_count=2");
}

TEST(IndexingReads, ReadsDecidedAtRunTime) {
  for (uint64_t seed : {1, 2, 3}) {
    expectMapsMatchReads(
        "x = f32[6,8] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n"
        "u = f32[2,3] parameter(3)\n k = s32[] constant(9)\n"
        "s = f32[4,5] dynamic-slice(x, i, j), dynamic_slice_sizes={4,5}\n"
        "ROOT d = f32[4,5] dynamic-update-slice(s, u, k, j)",
        "", seed);
    expectMapsMatchReads("x = f32[5,6,4] parameter(0)\n i = s32[3,2] parameter(1)\n"
                         "ROOT g = f32[2,3,4] gather(x, i), offset_dims={0,2}, "
                         "collapsed_slice_dims={0}, start_index_map={1,0}, index_vector_dim=1, "
                         "slice_sizes={1,2,4}",
                         "", seed);
    expectMapsMatchReads("x = f32[7,3] parameter(0)\n i = s32[4] parameter(1)\n"
                         "ROOT g = f32[4,3] gather(x, i), offset_dims={1}, "
                         "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                         "slice_sizes={1,3}",
                         "", seed);
    expectMapsMatchReads("x = f32[2,5,4] parameter(0)\n i = s32[2,3,1] parameter(1)\n"
                         "ROOT g = f32[2,3,4] gather(x, i), offset_dims={2}, "
                         "collapsed_slice_dims={1}, operand_batching_dims={0}, "
                         "start_indices_batching_dims={0}, start_index_map={1}, "
                         "index_vector_dim=2, slice_sizes={1,1,4}",
                         "", seed);
    expectMapsMatchReads("x = f32[7,3] parameter(0)\n i = s32[4,1] parameter(1)\n"
                         "u = f32[4,3] parameter(2)\n"
                         "ROOT g = f32[7,3] scatter(x, i, u), update_window_dims={1}, "
                         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                         "index_vector_dim=1, to_apply=add",
                         "", seed);
  }
}

TEST(IndexingReads, SelectAndScatter) {
  for (const char *window :
       {"[2,3] size=3x2 stride=2x2", "[3,4] size=2x3 stride=1x1 rhs_dilate=2x1",
        "[4,6] size=3x2 stride=2x2 lhs_dilate=2x2 pad=0_1x0_2", "[3,6] size=3x1 pad=0_0x0_0"}) {
    std::string text = window, source = text.substr(0, text.find(' ')),
                attrs = text.substr(text.find(' ') + 1);
    expectMapsMatchReads("x = f32[5,6] parameter(0)\n s = f32" + source +
                             " parameter(1)\n z = f32[] constant(0)\n"
                             "ROOT r = f32[5,6] select-and-scatter(x, s, z), window={" +
                             attrs + "}, select=ge, scatter=add",
                         "ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                         "ROOT r = pred[] compare(a, b), direction=GE }");
  }
}

// Opaque, but within a box that both directions know.
TEST(IndexingReads, LinesOfSortAndTopK) {
  expectMapsMatchReads("x = f32[3,5] parameter(0)\n"
                       "ROOT s = f32[3,5] sort(x), dimensions={0}, to_apply=lt",
                       "lt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                       "ROOT r = pred[] compare(a, b), direction=LT }");
  expectMapsMatchReads("x = f32[3,5] parameter(0)\n"
                       "k = (f32[3,2], s32[3,2]) topk(x), k=2, largest=true\n"
                       "ROOT v = f32[3,2] get-tuple-element(k), index=0");
}

// Extents of zero, leading and not: everything is still a relation, an empty one.
TEST(IndexingReads, ExtentsOfZero) {
  expectMapsMatchReads(
      "x = f32[3,0] parameter(0)\n y = f32[0,4] parameter(1)\n z = f32[] parameter(2)\n"
      "d = f32[3,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "none = f32[0,3] dot(y, d), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
      "a = f32[3,0] transpose(none), dimensions={1,0}\n"
      "r = f32[3] reduce(x, z), dimensions={1}, to_apply=add\n"
      "q = f32[0] reduce(x, z), dimensions={0}, to_apply=add\n"
      "w = f32[3,2] pad(x, z), padding=0_0x1_1\n"
      "c = f32[3,4] concatenate(x, d), dimensions={1}\n"
      "s = f32[3,0] slice(c), slice={[0:3], [2:2]}\n v = f32[3,0] reverse(s), dimensions={1}\n"
      "b = f32[3,0,2] broadcast(v), dimensions={0,1}\n m = f32[0,5] reshape(b)\n"
      "ROOT t = (f32[3,0], f32[3], f32[0], f32[3,2], f32[0,5]) tuple(a, r, q, w, m)",
      "");
  expectMapsMatchReads("x = f32[0,4] parameter(0)\n z = f32[] parameter(1)\n"
                       "ROOT w = f32[1,4] reduce-window(x, z), window={size=3x1 pad=1_2x0_0}, "
                       "to_apply=add");
  expectMapsMatchReads("x = f32[1,0,2] parameter(0)\n k = f32[3,2,4] parameter(1)\n"
                       "ROOT c = f32[1,2,4] convolution(x, k), window={size=3 pad=2_2}, "
                       "dim_labels=b0f_0io->b0f");
  expectMapsMatchReads("x = f32[5,3] parameter(0)\n i = s32[0] parameter(1)\n"
                       "ROOT g = f32[0,3] gather(x, i), offset_dims={1}, "
                       "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                       "slice_sizes={1,3}");
  expectMapsMatchReads("x = f32[5,3] parameter(0)\n i = s32[0,1] parameter(1)\n"
                       "u = f32[0,3] parameter(2)\n"
                       "ROOT g = f32[5,3] scatter(x, i, u), update_window_dims={1}, "
                       "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                       "index_vector_dim=1, to_apply=add");
  expectMapsMatchReads("x = f32[5,0] parameter(0)\n i = s32[] parameter(1)\n"
                       "ROOT s = f32[2,0] dynamic-slice(x, i, i), dynamic_slice_sizes={2,0}");
}

// A running sum is a window over all that is before, or a scan.
TEST(IndexingReads, RunningSums) {
  for (const char *pad : {"5_0x0_0", "0_5x0_0"})
    expectMapsMatchReads(std::string("x = f32[6,2] parameter(0)\n z = f32[] parameter(1)\n"
                                     "ROOT w = f32[6,2] reduce-window(x, z), window={size=6x1 "
                                     "pad=") +
                         pad + "}, to_apply=add");
}
