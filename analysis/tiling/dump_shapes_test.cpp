// Small copies of fusions as compilers dump them, at every tile size: for each CTA the inputs'
// tiles hold exactly what the evaluator reads for it, and sizes are refused only where some set is
// no tile.
#include "analysis/indexing/recorded_reads.h"
#include "analysis/tiling/testing/tile_oracle.h"
#include "analysis/tiling/testing/tiles.h"

using namespace tilewright;
using Dims = std::vector<int64_t>;

namespace {

class Dump {
public:
  explicit Dump(const std::string &body, uint64_t seed = 1) : tiles(tileText(body)) {
    llvm::Expected<Recording> run = recordReads(*tiles.module, seed);
    if (!run)
      ADD_FAILURE() << takeDiag(run.takeError()).str();
    else
      recording = std::move(*run);
  }

  /// Every size of every dim; the loops' sizes too.
  void checkAllSizes() {
    const TileSpace &space = tiles.group.space;
    Dims limits;
    for (const TileParameter &p : space.parameters)
      limits.push_back(p.role == TileParameter::Role::Schedule ? 1 : p.largest());
    Dims at(limits.size(), 0);
    do {
      Dims values;
      for (int64_t v : at)
        values.push_back(v + 1);
      checkSizes(values);
    } while (oracle::advance(at, limits) && !::testing::Test::HasFailure());
  }
  int accepted = 0, refused = 0;

private:
  const Graph &graph() const { return tiles.graph(); }

  /// Elements of every op that elements `wanted` of the root need.
  std::vector<std::set<int64_t>> needed(OpId root, const std::set<int64_t> &wanted) {
    std::vector<std::set<int64_t>> out(graph().size());
    out[root.index] = wanted;
    for (uint32_t i = root.index + 1; i > 0; --i)
      for (unsigned k = 0; k < graph()[OpId{i - 1}].operands.size(); ++k)
        for (int64_t e : out[i - 1]) {
          auto reads = recording.reads.find({i - 1, k, e});
          if (reads != recording.reads.end())
            out[graph()[OpId{i - 1}].operands[k].index].insert(reads->second.begin(),
                                                               reads->second.end());
        }
    return out;
  }

  /// Of the CTA that `point` is set to. Of no CTA's element: 0.
  void setRuntimeValues(Assignment &point) {
    for (const RuntimeVariable &rt : tiles.group.runtime) {
      int64_t at = 0, isInside = true;
      for (size_t i = 0; i < rt.element.size(); ++i) {
        const int64_t extent = graph()[rt.source].shape.dims[i];
        const int64_t index = *evaluate(rt.element[i], point);
        isInside &= index >= 0 && index < extent;
        at = at * extent + index;
      }
      const int64_t value = isInside ? recording.values.at(rt.source.index).integer(at) : 0;
      point.set(rt.var, std::clamp(value, rt.range.lo, rt.range.hi));
    }
  }

  void checkSizes(const Dims &values) {
    const TiledGroup &group = tiles.group;
    const bool isFine = isFeasible(group, values).value();
    (isFine ? accepted : refused)++;
    int64_t steps = 1;
    const Dims counts = tileCounts(group.space, values);
    for (size_t p = 0; p < counts.size(); ++p)
      if (group.space.parameters[p].role == TileParameter::Role::Sequential)
        steps *= counts[p];
    if (!isFine && steps > 1)
      return; // what one step needs is not recorded
    Assignment point = group.space.assign(values);
    const TileInstance &root = group.instances[group.roots.back()];
    bool isBoxes = true;
    for (int64_t cta = 0; cta < ctaCount(group.space, values).value(); ++cta) {
      std::vector<std::set<int64_t>> covered(graph().size());
      std::set<int64_t> wanted;
      for (int64_t step = 0; step < steps; ++step) {
        setCta(group.space, values, cta * steps + step, true, point);
        setRuntimeValues(point);
        std::vector<NumericDim> mine = numericTile(root.tile, point).value();
        for (int64_t e : elementsOf(mine, graph()[root.op].shape.dims))
          wanted.insert(e);
        if (!isFine)
          continue;
        for (const TileInstance &instance : group.instances)
          for (int64_t e : elementsOf(numericTile(instance.tile, point).value(),
                                      graph()[instance.op].shape.dims))
            covered[instance.op.index].insert(e);
      }
      const std::vector<std::set<int64_t>> real = needed(root.op, wanted);
      for (const TileInstance &instance : group.instances) {
        Dims strides;
        isBoxes &= oracle::isBox(real[instance.op.index], graph()[instance.op].shape.dims, strides);
        if (!isFine || !instance.isInput)
          continue;
        const std::set<int64_t> &have = covered[instance.op.index], &want = real[instance.op.index];
        const bool isExact = instance.exactness == Exactness::Exact ||
                             (instance.exactWhen && evaluate(instance.exactWhen, point) == 1);
        if (isExact) {
          ASSERT_EQ(have, want) << "%" << graph()[instance.op].name << " CTA " << cta << " sizes "
                                << ::testing::PrintToString(values);
        } else if (instance.exactness == Exactness::OverApproximate) {
          ASSERT_TRUE(std::includes(have.begin(), have.end(), want.begin(), want.end()))
              << "%" << graph()[instance.op].name << " CTA " << cta << " has "
              << ::testing::PrintToString(have) << " for " << ::testing::PrintToString(want)
              << " sizes " << ::testing::PrintToString(values);
        }
      }
    }
    EXPECT_TRUE(isFine || !isBoxes)
        << "refused without need: sizes " << ::testing::PrintToString(values);
  }

  TiledText tiles;
  Recording recording;
};

} // namespace

TEST(DumpShapes, SliceOfRowsOfAReshape) {
  Dump dump("  p = f32[32] parameter(0)\n  b = f32[8,4] bitcast(p)\n"
            "  ROOT s = f32[4,1] slice(b), slice={[0:8:2], [0:1]}\n");
  dump.checkAllSizes();
  EXPECT_EQ(dump.refused, 0);
}

TEST(DumpShapes, SliceOfSeveralColumnsOfAReshape) {
  Dump dump("  p = f32[32] parameter(0)\n  b = f32[8,4] bitcast(p)\n"
            "  ROOT s = f32[4,3] slice(b), slice={[0:8:2], [0:3]}\n");
  dump.checkAllSizes();
  EXPECT_EQ(dump.refused, 6); // several rows of several columns
}

TEST(DumpShapes, DequantisedOperandOfADot) {
  Dump dump("  q = s8[2,2,4,6] parameter(0)\n  c = f32[2,2,4,6] convert(q)\n"
            "  t = f32[2,6,2,4] transpose(c), dimensions={0,3,1,2}\n"
            "  s = f32[2,2,6] parameter(1)\n  st = f32[2,6,2] transpose(s), dimensions={0,2,1}\n"
            "  sb = f32[2,6,2,4] broadcast(st), dimensions={0,1,2}\n"
            "  m = f32[2,6,2,4] multiply(t, sb)\n  b = f32[2,8,6]{1,2,0} bitcast(m)\n"
            "  w = f32[2,8,3] parameter(2)\n"
            "  d = f32[2,6,3] dot(b, w), lhs_batch_dims={0}, lhs_contracting_dims={1}, "
            "rhs_batch_dims={0}, rhs_contracting_dims={1}\n"
            "  ROOT r = f32[6,2,3] transpose(d), dimensions={1,0,2}\n");
  dump.checkAllSizes();
  EXPECT_GT(dump.accepted, 100); // loops of 1, 2, 4 and 8 over the [2,4] that became 8
  EXPECT_GT(dump.refused, 100);
}

TEST(DumpShapes, BatchDimInTheMiddleOfBothOperands) {
  Dump dump("  a = f32[5,2,4] parameter(0)\n  b = f32[4,2,3] parameter(1)\n"
            "  na = f32[5,2,4] negate(a)\n  ab = f32[4,2,3] abs(b)\n"
            "  ROOT d = f32[2,5,3]{1,0,2} dot(na, ab), lhs_contracting_dims={2}, "
            "rhs_contracting_dims={0}, lhs_batch_dims={1}, rhs_batch_dims={1}\n");
  dump.checkAllSizes();
  EXPECT_EQ(dump.refused, 0);
}

TEST(DumpShapes, SliceThatStartsWhereASliceSays) {
  for (uint64_t seed : {1, 2, 3}) {
    Dump dump("  p = f32[64] parameter(0)\n  c = s32[64] convert(p)\n"
              "  s1 = s32[1] slice(c), slice={[0:1]}\n  off = s32[] reshape(s1)\n"
              "  d1 = s32[20] dynamic-slice(c, off), dynamic_slice_sizes={20}\n"
              "  s2 = s32[1] slice(d1), slice={[1:2]}\n  off2 = s32[] reshape(s2)\n"
              "  ROOT d2 = s32[10] dynamic-slice(d1, off2), dynamic_slice_sizes={10}\n",
              seed);
    dump.checkAllSizes();
    EXPECT_EQ(dump.refused, 0);
  }
}

TEST(DumpShapes, SlicesBehindBitcastsOfUnitDims) {
  Dump dump("  p = f32[4,6,1] parameter(0)\n  q = f32[6,1] parameter(1)\n"
            "  s0 = f32[1,6,1] slice(p), slice={[0:1], [0:6], [0:1]}\n"
            "  b0 = f32[6,1] bitcast(s0)\n  m0 = f32[6,1] multiply(q, b0)\n"
            "  s1 = f32[1,6,1] slice(p), slice={[1:2], [0:6], [0:1]}\n"
            "  b1 = f32[6,1] bitcast(s1)\n  m1 = f32[6,1] multiply(q, b1)\n"
            "  d = f32[6,1] subtract(m0, m1)\n  ROOT r = f32[1,6] bitcast(d)\n");
  dump.checkAllSizes();
  EXPECT_EQ(dump.refused, 0);
}

// Neighbours of kernels that went wrong elsewhere: the same ops in other orders, every tile size.
TEST(DumpShapes, CropsAndWindows) {
  const char *bodies[] = {
      "  x = f32[4,9] parameter(0)\n  z = f32[] constant(0)\n"
      "  c = f32[4,5] pad(x, z), padding=0_0x-2_-2\n"
      "  ROOT w = f32[4,4] reduce-window(c, z), window={size=1x3 pad=0_0x1_0}, to_apply=add\n",
      "  x = f32[4,9] parameter(0)\n  z = f32[] constant(0)\n"
      "  w = f32[4,5] reduce-window(x, z), window={size=1x3 stride=1x2 pad=0_0x1_1}, to_apply=add\n"
      "  ROOT c = f32[4,4] pad(w, z), padding=0_0x-2_1\n",
      "  x = f32[12] parameter(0)\n  z = f32[] constant(0)\n  r = f32[12] reverse(x), "
      "dimensions={0}\n  w = f32[6] reduce-window(r, z), window={size=2 stride=2}, to_apply=add\n"
      "  ROOT s = f32[3,2] reshape(w)\n",
      "  x = f32[8,3] parameter(0)\n  z = f32[] constant(0)\n  t = f32[3,8] transpose(x), "
      "dimensions={1,0}\n  p = f32[3,15] pad(t, z), padding=0_0x0_0_1\n"
      "  ROOT w = f32[3,14] reduce-window(p, z), window={size=1x2}, to_apply=add\n",
      "  x = f32[6,4] parameter(0)\n  z = f32[] constant(0)\n"
      "  w = f32[6,4] reduce-window(x, z), window={size=1x1}, to_apply=add\n"
      "  ROOT n = f32[24] reshape(w)\n",
  };
  for (const char *body : bodies)
    Dump(body).checkAllSizes();
}

TEST(DumpShapes, JoinsSpreadAndTurned) {
  const char *bodies[] = {
      "  h = f32[4,1,3] parameter(0)\n  j = f32[4,1,6] concatenate(h, h), dimensions={2}\n"
      "  f = f32[4,6] bitcast(j)\n  w = f32[2,4,6] broadcast(f), dimensions={1,2}\n"
      "  ROOT t = f32[4,2,6] transpose(w), dimensions={1,0,2}\n",
      "  a = f32[3,4] parameter(0)\n  b = f32[5,4] parameter(1)\n"
      "  j = f32[8,4] concatenate(a, b), dimensions={0}\n  t = f32[4,8] transpose(j), "
      "dimensions={1,0}\n  ROOT s = f32[4,2,4] reshape(t)\n",
      "  a = f32[2,6] parameter(0)\n  b = f32[2,6] parameter(1)\n  c = f32[2,6] parameter(2)\n"
      "  j = f32[2,18] concatenate(a, b, c), dimensions={1}\n"
      "  r = f32[2,18] reverse(j), dimensions={1}\n"
      "  ROOT s = f32[2,7] slice(r), slice={[0:2], [2:16:2]}\n",
      "  a = f32[8] parameter(0)\n  b = f32[4] parameter(1)\n"
      "  u = f32[4,2] reshape(a)\n  v = f32[2,2] reshape(b)\n"
      "  ROOT j = f32[6,2] concatenate(u, v), dimensions={0}\n",
  };
  for (const char *body : bodies)
    Dump(body).checkAllSizes();
}

TEST(DumpShapes, UpdatesAndSlicesAtRunTime) {
  const char *bodies[] = {
      "  x = f32[6,8] parameter(0)\n  u = f32[2,3] parameter(1)\n  i = s32[] parameter(2)\n"
      "  j = s32[] parameter(3)\n  d = f32[6,8] dynamic-update-slice(x, u, i, j)\n"
      "  ROOT t = f32[8,6] transpose(d), dimensions={1,0}\n",
      "  x = f32[12] parameter(0)\n  u = f32[4] parameter(1)\n  i = s32[] parameter(2)\n"
      "  d = f32[12] dynamic-update-slice(x, u, i)\n  ROOT r = f32[12] reverse(d), "
      "dimensions={0}\n",
      "  x = f32[6,8] parameter(0)\n  i = s32[] parameter(1)\n  k = s32[] constant(2)\n"
      "  d = f32[3,4] dynamic-slice(x, i, k), dynamic_slice_sizes={3,4}\n"
      "  ROOT r = f32[12] reshape(d)\n",
      "  x = f32[10,4] parameter(0)\n  n = s32[5] parameter(1)\n"
      "  g = f32[5,4] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}\n"
      "  ROOT t = f32[4,5] transpose(g), dimensions={1,0}\n",
  };
  for (uint64_t seed : {1, 2})
    for (const char *body : bodies)
      Dump(body, seed).checkAllSizes();
}

TEST(DumpShapes, GathersOfOneIndexAreExact) {
  const char *bodies[] = {
      "  x = f32[10,4] parameter(0)\n  n = s32[5] parameter(1)\n"
      "  ROOT g = f32[5,4] gather(x, n), offset_dims={1}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}\n",
      "  x = f32[5,6,4] parameter(0)\n  n = s32[2,3] parameter(1)\n"
      "  ROOT g = f32[3,2,3,4] gather(x, n), offset_dims={1,2,3}, collapsed_slice_dims={}, "
      "start_index_map={1,0}, index_vector_dim=0, slice_sizes={2,3,4}\n",
      "  x = f32[3,7,4] parameter(0)\n  n = s32[3,2,1] parameter(1)\n"
      "  g = f32[3,2,4] gather(x, n), offset_dims={2}, collapsed_slice_dims={1}, "
      "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
      "index_vector_dim=2, slice_sizes={1,1,4}\n  ROOT r = f32[3,8] reshape(g)\n",
      "  x = f32[9] parameter(0)\n  n = s32[4,1] parameter(1)\n  z = f32[] constant(0)\n"
      "  g = f32[4,3] gather(x, n), offset_dims={1}, collapsed_slice_dims={}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={3}\n"
      "  ROOT p = f32[6,4] pad(g, z), padding=1_1x-1_2\n",
  };
  for (uint64_t seed : {1, 2, 3})
    for (const char *body : bodies)
      Dump(body, seed).checkAllSizes();
}

TEST(DumpShapes, DotsThroughViews) {
  const char *bodies[] = {
      "  a = f32[2,3,4] parameter(0)\n  b = f32[12,2] parameter(1)\n"
      "  f = f32[2,12] reshape(a)\n"
      "  ROOT d = f32[2,2] dot(f, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
      "  a = f32[4,6] parameter(0)\n  b = f32[4,2] parameter(1)\n"
      "  s = f32[4,4] slice(a), slice={[0:4], [1:5]}\n"
      "  d = f32[4,2] dot(s, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT r = f32[2,2,2] reshape(d)\n",
      "  a = f32[6,3] parameter(0)\n  b = f32[6,2] parameter(1)\n"
      "  r = f32[6,3] reverse(a), dimensions={0}\n"
      "  ROOT d = f32[3,2] dot(r, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
      "  a = f32[4,6] parameter(0)\n  z = f32[] constant(0)\n"
      "  t = f32[6,4] transpose(a), dimensions={1,0}\n  f = f32[24] reshape(t)\n"
      "  s = f32[3,8] reshape(f)\n  ROOT m = f32[3] reduce(s, z), dimensions={1}, "
      "to_apply=add\n",
  };
  for (const char *body : bodies)
    Dump(body).checkAllSizes();
}

TEST(DumpShapes, RunningSumsOfRowsThatWereOneDim) {
  // The windows of a whole row read the whole row, so that all of it may be split otherwise.
  Dump dump("  p = s32[3,3] parameter(0)\n  b = s32[9] bitcast(p)\n  z = s32[] constant(0)\n"
            "  w = s32[16] pad(b, z), padding=0_7\n  r = s32[2,8] bitcast(w)\n"
            "  ROOT s = s32[2,8] reduce-window(r, z), window={size=1x8 pad=0_0x7_0}, "
            "to_apply=add\n");
  dump.checkAllSizes();
  EXPECT_EQ(dump.accepted, 1); // both rows whole
  EXPECT_EQ(dump.refused, 15);
}

// Neighbours of which both digits change are neighbours again when the digits have changed places;
// neither the cut nor the join alone would say so.
TEST(DumpShapes, DigitsInAnotherOrder) {
  TiledText t = tileText("  x = f32[4] parameter(0)\n  a = f32[2,2] reshape(x)\n"
                         "  b = f32[2,2] transpose(a), dimensions={1,0}\n  c = f32[4] reshape(b)\n"
                         "  ROOT r = f32[2] slice(c), slice={[1:3]}\n");
  ASSERT_EQ(t.feasible({2}), true);
  const std::vector<NumericDim> x = t.numbers("x", 0, {2}, {0});
  EXPECT_EQ(x[0].offset, 1);
  EXPECT_EQ(x[0].size, 2);
  EXPECT_EQ(x[0].stride, 1);
  // {0, 1} and {2, 3} are {0, 2} and {1, 3}; {0 … 2} is none.
  TiledText whole = tileText("  x = f32[4] parameter(0)\n  a = f32[2,2] reshape(x)\n"
                             "  b = f32[2,2] transpose(a), dimensions={1,0}\n"
                             "  ROOT c = f32[4] reshape(b)\n");
  EXPECT_EQ(whole.feasible({1}), true);
  EXPECT_EQ(whole.feasible({2}), true);
  EXPECT_EQ(whole.feasible({3}), false);
  EXPECT_EQ(whole.feasible({4}), true);
}

// A cut is needed only where the digits are used apart.
TEST(DumpShapes, DigitsThatMeetAgain) {
  TiledText t = tileText("  x = f32[16] parameter(0)\n  a = f32[2,8] reshape(x)\n"
                         "  b = f32[8,2] transpose(a), dimensions={1,0}\n"
                         "  c = f32[2,8] transpose(b), dimensions={1,0}\n"
                         "  ROOT r = f32[16] reshape(c)\n");
  EXPECT_TRUE(t.group.constraints.empty());
  EXPECT_EQ(t.feasible({5}), true);
  EXPECT_EQ(t.numbers("x", 0, {5}, {2})[0].offset, 10);
}
