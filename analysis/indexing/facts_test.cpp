// Index maps of single ops, as other compilers document them, and the tests that hold each:
//
//   fact                                            test (of IndexingFacts unless said)
//    1 broadcast, both directions                   Broadcast
//    2 concatenate: each operand's own part         Concatenate
//    3 dynamic-slice: starts and their bounds       DynamicSlice
//    4 dynamic-update-slice: both operands          DynamicUpdateSlice
//    5 gather of slices by pairs of indices         Gather
//    6 reduce, its initial value                    Reduce
//    7 variadic reduce                              VariadicReduce
//    8 transpose                                    Transpose
//    9 strided slice, both directions               Slice
//   10 slice of a slice                             SliceOfSlice
//   11 reverse                                      Reverse
//   12 interior padding, the padding value          Pad
//   13 edge padding, negative padding               Pad
//   14 reshapes that merge and split, back          Reshape
//   15 reshapes of both kinds at once, of nothing   Reshape
//   16 dot with two batch and two contracted dims   Dot
//   17 scales of a scaled dot                       ScaledDot
//   18 windows: padding, both dilations             ReduceWindow
//   19 convolution: strides, dilations, reversal    Convolution
//   20 feature and batch groups                     GroupedConvolution
//   21 all-gather and its replica                   AllGather
//   22 reshape and slice of a concatenation         ReshapeOfConcatenate
//   23 scan                                         Scan
//   24 whose start is whose in chained slices       ChainedDynamicSlices
//   25 remainders in one period, min by ranges      Simplify.OnePeriod
//      divisors that are not positive               Simplify.NonPositiveDivisorsAreNeverMerged
//   26 nested divisions                             Simplify.NestedDivisions
//   27 remainders split at the greatest divisor     Simplify.RemainderSplitsAtTheGcd
//   28 ranges counted in steps, congruences merged  Maps.RescalesRanges
//   29 emptiness that intervals don't see           Maps.EmptinessIsFound, and of sets
//                                                   Emptiness.WhatIntervalsAloneDoNotSee
//
// Where ours differ on purpose (3, 4, 11, 13, 20, 23, 25, 27), the test says why.
#include "analysis/indexing/testing/indexing.h"

using namespace tilewright;

TEST(IndexingFacts, Broadcast) {
  HloGraph g("x = f32[20] parameter(0)\n ROOT r = f32[10,20,30] broadcast(x), dimensions={1}");
  EXPECT_EQ(g.map(0), "(d0, d1, d2) -> (d1), domain: d0 in [0, 9], d1 in [0, 19], d2 in [0, 29]");
  EXPECT_EQ(g.back(0), "(d0)[s0, s1] -> (s0, d0, s1), domain: d0 in [0, 19], s0 in [0, 9], "
                       "s1 in [0, 29]");
}

// XLA writes a reshape before such a broadcast; other writers stretch the dim of 1 at once.
TEST(IndexingFacts, BroadcastStretchesDimsOfOne) {
  HloGraph g("x = f32[4,1] parameter(0)\n ROOT r = f32[4,3,2] broadcast(x), dimensions={0,1}");
  EXPECT_EQ(g.map(0), "(d0, d1, d2) -> (d0, 0), domain: d0 in [0, 3], d1 in [0, 2], d2 in [0, 1]");
  EXPECT_EQ(g.back(0), "(d0, d1)[s0, s1] -> (d0, s0, s1), domain: d0 in [0, 3], d1 in [0, 0], "
                       "s0 in [0, 2], s1 in [0, 1]");
}

// Reading one operand backwards by itself, or from the maps of all, is the same.
TEST(IndexingFacts, ManyOperandsBackwards) {
  constexpr unsigned count = 500;
  std::string body, list;
  for (unsigned i = 0; i < count; ++i) {
    body += "p" + std::to_string(i) + " = f32[" + std::to_string(1 + i % 3) + ",2] parameter(" +
            std::to_string(i) + ")\n ";
    list += (i ? ", p" : "p") + std::to_string(i);
  }
  HloGraph g(body + "ROOT r = f32[999,2] concatenate(" + list + "), dimensions={0}");
  OpIndexing all = g.maps("r");
  ASSERT_EQ(all.operands.size(), count);
  for (unsigned i = 0; i < count; ++i) {
    llvm::Expected<OperandMaps> maps =
        operandToOutput(g.graph(), g.graph().root(), i, g.context, all);
    ASSERT_TRUE(bool(maps)) << takeDiag(maps.takeError()).str();
    EXPECT_EQ(maps->maps[0].str(), g.back(i));
  }
  llvm::Expected<OperandMaps> beyond =
      operandToOutput(g.graph(), g.graph().root(), count, g.context, all);
  ASSERT_FALSE(bool(beyond));
  EXPECT_EQ(takeDiag(beyond.takeError()).message, "%r has 500 operands, there is no number 500");
}

TEST(IndexingFacts, Concatenate) {
  HloGraph g("a = f32[2,5,7] parameter(0)\n b = f32[2,11,7] parameter(1)\n"
             "c = f32[2,17,7] parameter(2)\n"
             "ROOT r = f32[2,33,7] concatenate(a, b, c), dimensions={1}");
  EXPECT_EQ(g.map(0),
            "(d0, d1, d2) -> (d0, d1, d2), domain: d0 in [0, 1], d1 in [0, 4], d2 in [0, 6]");
  EXPECT_EQ(g.map(1),
            "(d0, d1, d2) -> (d0, d1 - 5, d2), domain: d0 in [0, 1], d1 in [5, 15], d2 in [0, 6]");
  EXPECT_EQ(g.map(2), "(d0, d1, d2) -> (d0, d1 - 16, d2), domain: d0 in [0, 1], d1 in [16, 32], "
                      "d2 in [0, 6]");
  EXPECT_EQ(g.back(1),
            "(d0, d1, d2) -> (d0, d1 + 5, d2), domain: d0 in [0, 1], d1 in [0, 10], d2 in [0, 6]");
}

// A start that can only be 0 is no variable.
TEST(IndexingFacts, DynamicSlice) {
  HloGraph g("x = f32[2,2,258] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n"
             "k = s32[] parameter(3)\n"
             "ROOT r = f32[1,2,32] dynamic-slice(x, i, j, k), dynamic_slice_sizes={1,2,32}");
  EXPECT_EQ(g.map(0), "(d0, d1, d2){rt0 = %i, rt1 = %k} -> (rt0, d1, d2 + rt1), domain: "
                      "d0 in [0, 0], d1 in [0, 1], d2 in [0, 31], rt0 in [0, 1], rt1 in [0, 226]");
  EXPECT_EQ(g.map(2), "(d0, d1, d2) -> (), domain: d0 in [0, 0], d1 in [0, 1], d2 in [0, 31]");
}

TEST(IndexingFacts, ConstantStartsAreClampedAndFolded) {
  HloGraph g("x = f32[10,20] parameter(0)\n i = s32[] constant(12)\n j = s32[] constant(-3)\n"
             "ROOT r = f32[4,5] dynamic-slice(x, i, j), dynamic_slice_sizes={4,5}");
  EXPECT_EQ(g.map(0), "(d0, d1) -> (d0 + 6, d1), domain: d0 in [0, 3], d1 in [0, 4]");
}

TEST(IndexingFacts, AConstantIndexOfAGatherIsFolded) {
  HloGraph g("x = f32[2,3,4] parameter(0)\n i = s64[] constant(2)\n"
             "ROOT r = f32[2,4] gather(x, i), offset_dims={0,1}, collapsed_slice_dims={1}, "
             "start_index_map={1}, index_vector_dim=0, slice_sizes={2,1,4}");
  EXPECT_EQ(g.map(0), "(d0, d1) -> (d0, 2, d1), domain: d0 in [0, 1], d1 in [0, 3]");
}

// The update is read where it lands, which XLA's map doesn't say: its d0 - rt0 may lie outside.
TEST(IndexingFacts, DynamicUpdateSlice) {
  HloGraph g("x = f32[20,30] parameter(0)\n u = f32[5,10] parameter(1)\n i = s32[] parameter(2)\n"
             "j = s32[] parameter(3)\n ROOT r = f32[20,30] dynamic-update-slice(x, u, i, j)");
  EXPECT_EQ(g.map(0), "(d0, d1) -> (d0, d1), domain: d0 in [0, 19], d1 in [0, 29]");
  EXPECT_EQ(g.map(1), "(d0, d1){rt0 = %i, rt1 = %j} -> (d0 - rt0, d1 - rt1), domain: "
                      "d0 in [0, 19], d1 in [0, 29], rt0 in [0, 15], rt1 in [0, 20], "
                      "d0 - rt0 in [0, 4], d1 - rt1 in [0, 9]");
  EXPECT_EQ(g.maps("r").operands[0].coverage, Coverage::OverApproximate);
}

TEST(IndexingFacts, Gather) {
  HloGraph g("x = f32[33,76,70] parameter(0)\n i = s32[1806,2] parameter(1)\n"
             "ROOT r = f32[1806,7,8,4] gather(x, i), offset_dims={1,2,3}, "
             "collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, "
             "slice_sizes={7,8,4}");
  EXPECT_EQ(g.map(0),
            "(d0, d1, d2, d3){rt0 = %i[d0, 0], rt1 = %i[d0, 1]} -> (d1 + rt0, d2 + rt1, d3), "
            "domain: d0 in [0, 1805], d1 in [0, 6], d2 in [0, 7], d3 in [0, 3], rt0 in [0, 26], "
            "rt1 in [0, 68]");
  EXPECT_EQ(g.map(1), "(d0, d1, d2, d3)[s0] -> (d0, s0), domain: d0 in [0, 1805], d1 in [0, 6], "
                      "d2 in [0, 7], d3 in [0, 3], s0 in [0, 1]");
}

TEST(IndexingFacts, Reduce) {
  HloGraph g("x = f32[150,20,10,50] parameter(0)\n z = f32[] constant(0)\n"
             "ROOT r = f32[150,10] reduce(x, z), dimensions={3,1}, to_apply=add");
  EXPECT_EQ(g.map(0), "(d0, d1)[s0, s1] -> (d0, s0, d1, s1), domain: d0 in [0, 149], "
                      "d1 in [0, 9], s0 in [0, 19], s1 in [0, 49]");
  EXPECT_EQ(g.map(1), "(d0, d1) -> (), domain: d0 in [0, 149], d1 in [0, 9]");
  EXPECT_EQ(g.back(1), "()[s0, s1] -> (s0, s1), domain: s0 in [0, 149], s1 in [0, 9]");
}

TEST(IndexingFacts, VariadicReduce) {
  HloGraph g("x = f32[256,10] parameter(0)\n i = s32[256,10] parameter(1)\n"
             "a = f32[] parameter(2)\n b = s32[] parameter(3)\n"
             "ROOT r = (f32[10], s32[10]) reduce(x, i, a, b), dimensions={0}, to_apply=both",
             "both { p = f32[] parameter(0)\n q = s32[] parameter(1)\n t = f32[] parameter(2)\n"
             "u = s32[] parameter(3)\n ROOT k = (f32[], s32[]) tuple(p, q) }");
  for (unsigned operand : {0u, 1u})
    EXPECT_EQ(g.map(operand), "(d0)[s0] -> (s0, d0), domain: d0 in [0, 9], s0 in [0, 255]");
}

TEST(IndexingFacts, Transpose) {
  HloGraph g("x = f32[3,12288,6,128] parameter(0)\n"
             "ROOT r = f32[3,6,128,12288] transpose(x), dimensions={0,2,3,1}");
  EXPECT_EQ(g.map(0), "(d0, d1, d2, d3) -> (d0, d3, d1, d2), domain: d0 in [0, 2], d1 in [0, 5], "
                      "d2 in [0, 127], d3 in [0, 12287]");
}

TEST(IndexingFacts, Slice) {
  HloGraph g("x = f32[10,20,50] parameter(0)\n"
             "ROOT r = f32[5,3,25] slice(x), slice={[5:10:1], [3:20:7], [0:50:2]}");
  EXPECT_EQ(g.map(0), "(d0, d1, d2) -> (d0 + 5, d1 * 7 + 3, d2 * 2), domain: d0 in [0, 4], "
                      "d1 in [0, 2], d2 in [0, 24]");
  // On the values that reach the output; d2 ends at 48, the last even one.
  EXPECT_EQ(g.back(0), "(d0, d1, d2) -> (d0 - 5, (d1 - 3) floordiv 7, d2 floordiv 2), domain: "
                       "d0 in [5, 9], d1 in [3, 17], d2 in [0, 48], d1 mod 7 = 3, d2 mod 2 = 0");
}

TEST(IndexingFacts, SliceOfSlice) {
  HloGraph g("x = f32[150,64,1024] parameter(0)\n"
             "s = f32[16,32,128] slice(x), slice={[5:21:1], [0:64:2], [50:434:3]}\n"
             "ROOT r = f32[7,9,24] slice(s), slice={[3:16:2], [4:30:3], [5:100:4]}");
  EXPECT_EQ(g.paths("r", "x"),
            std::vector<std::string>{"(d0, d1, d2) -> (d0 * 2 + 8, d1 * 6 + 8, d2 * 12 + 65), "
                                     "domain: d0 in [0, 6], d1 in [0, 8], d2 in [0, 23]"});
}

// The coordinate of a dim of one is written as its only value.
TEST(IndexingFacts, Reverse) {
  HloGraph g("x = f32[1,17,9,9] parameter(0)\n"
             "ROOT r = f32[1,17,9,9] reverse(x), dimensions={1,2}");
  EXPECT_EQ(g.map(0), "(d0, d1, d2, d3) -> (0, -d1 + 16, -d2 + 8, d3), domain: d0 in [0, 0], "
                      "d1 in [0, 16], d2 in [0, 8], d3 in [0, 8]");
  EXPECT_EQ(g.back(0), g.map(0));
}

TEST(IndexingFacts, Pad) {
  HloGraph interior("x = f32[4,4] parameter(0)\n z = f32[] constant(0)\n"
                    "ROOT r = f32[12,16] pad(x, z), padding=1_4_1x4_8_0");
  EXPECT_EQ(interior.map(0), "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], "
                             "d1 in [4, 7], d0 mod 2 = 1");
  EXPECT_EQ(interior.map(1), "(d0, d1) -> (), domain: d0 in [0, 11], d1 in [0, 15]");
  EXPECT_EQ(interior.back(0),
            "(d0, d1) -> (d0 * 2 + 1, d1 + 4), domain: d0 in [0, 3], d1 in [0, 3]");
  HloGraph edge("x = f32[2,8] parameter(0)\n z = f32[] constant(0)\n"
                "ROOT r = f32[10,8] pad(x, z), padding=1_7x0_0");
  EXPECT_EQ(edge.map(0), "(d0, d1) -> (d0 - 1, d1), domain: d0 in [1, 2], d1 in [0, 7]");
  // (d0 + 3) floordiv 2, with a dividend that starts in [0, 2), on the members 1 and 3 of [0, 4].
  HloGraph negative("x = f32[7] parameter(0)\n z = f32[] constant(0)\n"
                    "ROOT r = f32[5] pad(x, z), padding=-3_-5_1");
  EXPECT_EQ(negative.map(0),
            "(d0) -> ((d0 - 1) floordiv 2 + 2), domain: d0 in [1, 3], d0 mod 2 = 1");
}

TEST(IndexingFacts, Reshape) {
  HloGraph mixed("x = f32[4,8,12] parameter(0)\n ROOT r = f32[32,3,4] reshape(x)");
  EXPECT_EQ(mixed.map(0), "(d0, d1, d2) -> (d0 floordiv 8, d0 mod 8, d1 * 4 + d2), domain: "
                          "d0 in [0, 31], d1 in [0, 2], d2 in [0, 3]");
  EXPECT_EQ(mixed.back(0), "(d0, d1, d2) -> (d0 * 8 + d1, d2 floordiv 4, d2 mod 4), domain: "
                           "d0 in [0, 3], d1 in [0, 7], d2 in [0, 11]");
  HloGraph collapse("x = f32[4,8] parameter(0)\n ROOT r = f32[32] reshape(x)");
  EXPECT_EQ(collapse.map(0), "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]");
  HloGraph expand("x = f32[32] parameter(0)\n ROOT r = f32[4,8] reshape(x)");
  EXPECT_EQ(expand.map(0), "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]");
  HloGraph generic("x = f32[4,8] parameter(0)\n ROOT r = f32[2,4,4] reshape(x)");
  EXPECT_EQ(generic.map(0),
            "(d0, d1, d2) -> (d0 * 2 + d1 floordiv 2, (d1 mod 2) * 4 + d2), domain: d0 in [0, 1], "
            "d1 in [0, 3], d2 in [0, 3]");
  EXPECT_EQ(generic.back(0),
            "(d0, d1) -> (d0 floordiv 2, (d0 mod 2) * 2 + d1 floordiv 4, d1 mod 4), domain: "
            "d0 in [0, 3], d1 in [0, 7]");
  HloGraph empty("x = f32[1,0,0] parameter(0)\n ROOT r = f32[0] reshape(x)");
  EXPECT_EQ(empty.map(0), "(d0) -> (0, 0, 0), empty");
  EXPECT_EQ(empty.back(0), "(d0, d1, d2) -> (0), empty");
}

TEST(IndexingFacts, Bitcast) {
  // The same bytes: [2,3] column-major is [3,2] row-major.
  HloGraph transpose("x = f32[2,3]{0,1} parameter(0)\n ROOT r = f32[3,2]{1,0} bitcast(x)");
  EXPECT_EQ(transpose.map(0), "(d0, d1) -> (d1, d0), domain: d0 in [0, 2], d1 in [0, 1]");
  HloGraph narrow("x = s8[8] parameter(0)\n ROOT r = s32[2] bitcast(x)");
  EXPECT_EQ(narrow.map(0), "(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 1], s0 in [0, 3]");
  EXPECT_EQ(narrow.back(0), "(d0) -> (d0 floordiv 4), domain: d0 in [0, 7]");
  HloGraph nibbles("x = s8[4] parameter(0)\n ROOT r = s4[8] bitcast(x)");
  EXPECT_EQ(nibbles.map(0), "(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]");
}

TEST(IndexingFacts, Dot) {
  HloGraph g("a = f32[4,38,17,11,18,10] parameter(0)\n b = f32[17,10,16,18,22,38] parameter(1)\n"
             "ROOT r = f32[10,38,4,11,16,22] dot(a, b), lhs_batch_dims={5,1}, "
             "rhs_batch_dims={1,5}, lhs_contracting_dims={4,2}, rhs_contracting_dims={3,0}");
  // s0 runs over the first contracted pair (18), s1 over the second (17); printing numbers the
  // variables of each map in list order, which is the same for both.
  EXPECT_EQ(g.map(0), "(d0, d1, d2, d3, d4, d5)[s0, s1] -> (d2, d1, s1, d3, s0, d0), domain: "
                      "d0 in [0, 9], d1 in [0, 37], d2 in [0, 3], d3 in [0, 10], d4 in [0, 15], "
                      "d5 in [0, 21], s0 in [0, 17], s1 in [0, 16]");
  EXPECT_EQ(g.map(1), "(d0, d1, d2, d3, d4, d5)[s0, s1] -> (s1, d0, d4, s0, d5, d1), domain: "
                      "d0 in [0, 9], d1 in [0, 37], d2 in [0, 3], d3 in [0, 10], d4 in [0, 15], "
                      "d5 in [0, 21], s0 in [0, 17], s1 in [0, 16]");
}

TEST(IndexingFacts, ScaledDot) {
  HloGraph g("a = bf16[2,10] parameter(0)\n b = bf16[10,3] parameter(1)\n"
             "sa = bf16[2,2] parameter(2)\n sb = bf16[1,3] parameter(3)\n"
             "ROOT r = f32[2,3] scaled-dot(a, b, sa, sb), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}");
  EXPECT_EQ(g.map(2), "(d0, d1)[s0] -> (d0, s0 floordiv 5), domain: d0 in [0, 1], d1 in [0, 2], "
                      "s0 in [0, 9]");
}

TEST(IndexingFacts, ReduceWindow) {
  HloGraph padded("x = f32[13,17] parameter(0)\n z = f32[] constant(0)\n"
                  "ROOT r = f32[7,17] reduce-window(x, z), "
                  "window={size=3x2 stride=2x1 pad=1_1x0_1}, to_apply=add");
  EXPECT_EQ(padded.map(0),
            "(d0, d1)[s0, s1] -> (d0 * 2 + s0 - 1, d1 + s1), domain: d0 in [0, 6], d1 in [0, 16], "
            "s0 in [0, 2], s1 in [0, 1], d0 * 2 + s0 in [1, 13], d1 + s1 in [0, 16]");
  HloGraph base("x = f32[2,3] parameter(0)\n z = f32[] constant(0)\n"
                "ROOT r = f32[3,5] reduce-window(x, z), window={size=1x1 lhs_dilate=2x2}, "
                "to_apply=add");
  EXPECT_EQ(base.map(0), "(d0, d1) -> (d0 floordiv 2, d1 floordiv 2), domain: d0 in [0, 2], "
                         "d1 in [0, 4], d0 mod 2 = 0, d1 mod 2 = 0");
  HloGraph dilated("x = f32[7,3] parameter(0)\n z = f32[] constant(0)\n"
                   "ROOT r = f32[4,3] reduce-window(x, z), window={size=2x1 rhs_dilate=3x1}, "
                   "to_apply=add");
  EXPECT_EQ(dilated.map(0), "(d0, d1)[s0] -> (d0 + s0 * 3, d1), domain: d0 in [0, 3], "
                            "d1 in [0, 2], s0 in [0, 1]");
}

TEST(IndexingFacts, Convolution) {
  auto conv = [](const char *out, const char *window) {
    return HloGraph(std::string("x = f32[1,12,10,4] parameter(0)\n k = f32[4,3,5,8] parameter(1)\n"
                                "ROOT r = f32") +
                    out + " convolution(x, k), window={" + window +
                    "}, dim_labels=b01f_i01o->b01f");
  };
  HloGraph plain = conv("[1,10,6,8]", "size=3x5");
  EXPECT_EQ(plain.map(0),
            "(d0, d1, d2, d3)[s0, s1, s2] -> (0, d1 + s0, d2 + s1, s2), domain: d0 in [0, 0], "
            "d1 in [0, 9], d2 in [0, 5], d3 in [0, 7], s0 in [0, 2], s1 in [0, 4], s2 in [0, 3]");
  EXPECT_EQ(plain.map(1),
            "(d0, d1, d2, d3)[s0, s1, s2] -> (s2, s0, s1, d3), domain: d0 in [0, 0], "
            "d1 in [0, 9], d2 in [0, 5], d3 in [0, 7], s0 in [0, 2], s1 in [0, 4], s2 in [0, 3]");
  HloGraph strided = conv("[1,6,5,8]", "size=3x5 stride=2x2 pad=1_1x2_2");
  EXPECT_EQ(strided.map(0),
            "(d0, d1, d2, d3)[s0, s1, s2] -> (0, d1 * 2 + s0 - 1, d2 * 2 + s1 - 2, s2), domain: "
            "d0 in [0, 0], d1 in [0, 5], d2 in [0, 4], d3 in [0, 7], s0 in [0, 2], s1 in [0, 4], "
            "s2 in [0, 3], d1 * 2 + s0 in [1, 12], d2 * 2 + s1 in [2, 11]");
  HloGraph lhs = conv("[1,21,15,8]", "size=3x5 lhs_dilate=2x2");
  EXPECT_EQ(lhs.map(0),
            "(d0, d1, d2, d3)[s0, s1, s2] -> (0, (d1 + s0) floordiv 2, (d2 + s1) floordiv 2, s2), "
            "domain: d0 in [0, 0], d1 in [0, 20], d2 in [0, 14], d3 in [0, 7], s0 in [0, 2], "
            "s1 in [0, 4], s2 in [0, 3], (d1 + s0) mod 2 = 0, (d2 + s1) mod 2 = 0");
  HloGraph rhs = conv("[1,8,6,8]", "size=3x5 rhs_dilate=2x1 rhs_reversal=1x0");
  EXPECT_EQ(rhs.map(0),
            "(d0, d1, d2, d3)[s0, s1, s2] -> (0, d1 + s0 * 2, d2 + s1, s2), domain: d0 in [0, 0], "
            "d1 in [0, 7], d2 in [0, 5], d3 in [0, 7], s0 in [0, 2], s1 in [0, 4], s2 in [0, 3]");
  EXPECT_EQ(rhs.map(1),
            "(d0, d1, d2, d3)[s0, s1, s2] -> (s2, -s0 + 2, s1, d3), domain: d0 in [0, 0], "
            "d1 in [0, 7], d2 in [0, 5], d3 in [0, 7], s0 in [0, 2], s1 in [0, 4], s2 in [0, 3]");
}

TEST(IndexingFacts, GroupedConvolution) {
  HloGraph features("x = f32[1,10,10,24] parameter(0)\n k = f32[4,3,5,48] parameter(1)\n"
                    "ROOT r = f32[1,8,6,48] convolution(x, k), window={size=3x5}, "
                    "dim_labels=b01f_i01o->b01f, feature_group_count=6");
  EXPECT_EQ(features.map(0),
            "(d0, d1, d2, d3)[s0, s1, s2] -> (0, d1 + s0, d2 + s1, (d3 floordiv 8) * 4 + s2), "
            "domain: d0 in [0, 0], d1 in [0, 7], d2 in [0, 5], d3 in [0, 47], s0 in [0, 2], "
            "s1 in [0, 4], s2 in [0, 3]");
  // XLA gives the batch as 2·s3 + d0 with s3 in [0, 6], a superset. Which group it is follows from
  // the output feature, so that the map is exact.
  HloGraph batches("x = f32[14,10,10,4] parameter(0)\n k = f32[4,3,5,21] parameter(1)\n"
                   "ROOT r = f32[2,8,6,21] convolution(x, k), window={size=3x5}, "
                   "dim_labels=b01f_i01o->b01f, batch_group_count=7");
  EXPECT_EQ(batches.map(0),
            "(d0, d1, d2, d3)[s0, s1, s2] -> (d0 + (d3 floordiv 3) * 2, d1 + s0, d2 + s1, s2), "
            "domain: d0 in [0, 1], d1 in [0, 7], d2 in [0, 5], d3 in [0, 20], s0 in [0, 2], "
            "s1 in [0, 4], s2 in [0, 3]");
}

TEST(IndexingFacts, AllGather) {
  HloGraph g("x = f32[128,128] parameter(0)\n"
             "ROOT r = f32[128,256] all-gather(x), replica_groups={{0,1}}, dimensions={1}");
  EXPECT_EQ(g.map(0), "(d0, d1) -> (d0, d1 mod 128), domain: d0 in [0, 127], d1 in [0, 255]");
  EXPECT_EQ(g.maps("r").replica->str(), "d1 floordiv 128");
}

TEST(IndexingFacts, ReshapeOfConcatenate) {
  HloGraph g("a = f32[2] parameter(0)\n b = f32[30] parameter(1)\n"
             "c = f32[32] concatenate(a, b), dimensions={0}\n ROOT r = f32[4,8] reshape(c)");
  EXPECT_EQ(g.paths("r", "b"),
            std::vector<std::string>{"(d0, d1) -> (d0 * 8 + d1 - 2), domain: d0 in [0, 3], "
                                     "d1 in [0, 7], d0 * 8 + d1 in [2, 31]"});
  HloGraph s("a = f32[2,5,7] parameter(0)\n b = f32[2,11,7] parameter(1)\n"
             "c = f32[2,17,7] parameter(2)\n"
             "j = f32[2,33,7] concatenate(a, b, c), dimensions={1}\n"
             "ROOT r = f32[2,11,7] slice(j), slice={[0:2], [0:33:3], [0:7]}");
  EXPECT_EQ(s.paths("r", "b"),
            std::vector<std::string>{"(d0, d1, d2) -> (d0, d1 * 3 - 5, d2), domain: d0 in [0, 1], "
                                     "d1 in [2, 5], d2 in [0, 6]"});
  EXPECT_EQ(s.paths("r", "c"),
            std::vector<std::string>{"(d0, d1, d2) -> (d0, d1 * 3 - 16, d2), domain: d0 in [0, 1], "
                                     "d1 in [6, 10], d2 in [0, 6]"});
  HloGraph outside("a = f32[4] parameter(0)\n b = f32[6] parameter(1)\n"
                   "j = f32[10] concatenate(a, b), dimensions={0}\n"
                   "ROOT r = f32[5] slice(j), slice={[5:10]}");
  EXPECT_EQ(outside.paths("r", "a"), std::vector<std::string>{"(d0) -> (0), empty"});
}

TEST(IndexingFacts, Scan) {
  HloGraph g("x = f32[10] parameter(0)\n z = f32[] constant(0)\n"
             "s = (f32[10], f32[]) scan(x, z), dimensions={0}, num_carries=1, to_apply=step\n"
             "ROOT r = f32[10] get-tuple-element(s), index=0",
             "step { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] add(a, b)\n"
             "ROOT t = (f32[], f32[]) tuple(c, c) }");
  OpIndexing indexing = g.maps("s");
  // XLA leaves the carried dependence out; we say both: the step's own read, and all of them.
  EXPECT_EQ(indexing.operands[0].perStep->str(), "(d0) -> (d0), domain: d0 in [0, 9]");
  EXPECT_EQ(indexing.operands[0].maps[0].str(),
            "(d0)[s0] -> (s0), domain: d0 in [0, 9], s0 in [0, 9], d0 - s0 in [0, 9]");
  EXPECT_EQ(indexing.operands[1].maps[0].str(), "(d0) -> (), domain: d0 in [0, 9]");
}

// XLA's composition mixes up which start has which bounds.
TEST(IndexingFacts, ChainedDynamicSlices) {
  HloGraph g("x = f32[150,64] parameter(0)\n a = s32[] parameter(1)\n b = s32[] parameter(2)\n"
             "c = s32[] parameter(3)\n d = s32[] parameter(4)\n"
             "o = f32[50,32] dynamic-slice(x, a, b), dynamic_slice_sizes={50,32}\n"
             "ROOT r = f32[25,16] dynamic-slice(o, c, d), dynamic_slice_sizes={25,16}");
  llvm::Expected<OperandMaps> maps = mapsToOp(g.graph(), g.find("r"), g.find("x"), g.context);
  ASSERT_TRUE(static_cast<bool>(maps));
  ASSERT_EQ(maps->maps.size(), 1u);
  std::map<std::string, Interval> domains;
  for (const MapVariable &v : maps->maps[0].variables(VarKind::Runtime))
    domains[v.source->tensorName] = v.domain;
  EXPECT_EQ(domains, (std::map<std::string, Interval>{
                         {"%a", {0, 100}}, {"%b", {0, 32}}, {"%c", {0, 25}}, {"%d", {0, 16}}}));
  EXPECT_EQ(maps->maps[0].str(),
            "(d0, d1){rt0 = %c, rt1 = %d, rt2 = %a, rt3 = %b} -> (d0 + rt0 + rt2, d1 + rt1 + rt3), "
            "domain: d0 in [0, 24], d1 in [0, 15], rt0 in [0, 25], rt1 in [0, 16], "
            "rt2 in [0, 100], rt3 in [0, 32]");
}

TEST(IndexingFacts, FibonacciChainOfAdds) {
  std::string body = "a0 = f32[5] parameter(0)\n a1 = f32[5] parameter(1)\n";
  for (int i = 2; i < 40; ++i)
    body += "a" + std::to_string(i) + " = f32[5] add(a" + std::to_string(i - 1) + ", a" +
            std::to_string(i - 2) + ")\n";
  HloGraph g(body + "ROOT r = f32[5] negate(a39)");
  EXPECT_EQ(g.paths("r", "a0"), std::vector<std::string>{"(d0) -> (d0), domain: d0 in [0, 4]"});
}

TEST(IndexingFacts, TheWayBackThroughTuples) {
  HloGraph g("x = f32[2,3] parameter(0)\n y = f32[4] parameter(1)\n"
             "t = (f32[2,3], f32[4]) tuple(x, y)\n"
             "ROOT r = f32[4] get-tuple-element(t), index=1");
  EXPECT_EQ(g.back(0), "(d0) -> (d0), domain: d0 in [0, 3]");
  llvm::Expected<OperandMaps> second = operandToOutput(g.graph(), g.find("t"), 1, g.context);
  ASSERT_TRUE(static_cast<bool>(second));
  EXPECT_EQ(second->resultPath, ResultPath{1});
  EXPECT_EQ(second->maps[0].str(), "(d0) -> (d0), domain: d0 in [0, 3]");
  // The other element is not read by the first result.
  llvm::Expected<OperandMaps> other =
      operandToOutput(g.graph(), g.find("t"), 1, g.context, ResultPath{0});
  ASSERT_TRUE(static_cast<bool>(other));
  EXPECT_TRUE(other->maps.empty());
}

TEST(IndexingFacts, TheWayBackOfWindowsAndStarts) {
  HloGraph pool("x = f32[6,8] parameter(0)\n z = f32[] parameter(1)\n"
                "ROOT w = f32[6,4] reduce-window(x, z), window={size=3x3 stride=1x2 "
                "pad=1_1x1_1}, to_apply=add");
  EXPECT_EQ(pool.back(0), "(d0, d1)[s0, s1] -> (d0 - s1 + 1, s0), domain: d0 in [0, 5], "
                          "d1 in [0, 7], s0 in [0, 3], s1 in [0, 2], d0 - s1 in [-1, 4], "
                          "d1 - s0 * 2 in [-1, 1]");
  HloGraph slice("x = f32[9] parameter(0)\n i = s32[] parameter(1)\n"
                 "ROOT r = f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4}");
  EXPECT_EQ(slice.back(0), "(d0){rt0 = %i} -> (d0 - rt0), domain: d0 in [0, 8], rt0 in [0, 5], "
                           "d0 - rt0 in [0, 3]");
  HloGraph update("x = f32[9] parameter(0)\n u = f32[4] parameter(1)\n i = s32[] parameter(2)\n"
                  "ROOT r = f32[9] dynamic-update-slice(x, u, i)");
  EXPECT_EQ(update.back(1), "(d0){rt0 = %i} -> (d0 + rt0), domain: d0 in [0, 3], rt0 in [0, 5]");
  HloGraph gather("x = f32[7,3] parameter(0)\n i = s32[4] parameter(1)\n"
                  "ROOT g = f32[4,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
                  "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}");
  EXPECT_EQ(gather.back(0), "(d0, d1)[s0]{rt0 = %i[s0]} -> (s0, d1), domain: d0 in [0, 6], "
                            "d1 in [0, 2], s0 in [0, 3], rt0 in [0, 6], d0 - rt0 in [0, 0]");
}
