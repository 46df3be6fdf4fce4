// Small copies of fusions as compilers dump them, at every tile size: for each program the inputs'
// tiles hold exactly what the evaluator reads for it, and sizes are refused only where some set is
// no tile.
#include "analysis/indexing/recorded_reads.h"
#include "analysis/tiling/tile_oracle.h"
#include "analysis/tiling/tile_test_util.h"

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
    for (const RuntimeVariable &rt : group.runtime)
      point.set(rt.var, std::clamp(recording.values.at(rt.source.index).integer(0), rt.range.lo,
                                   rt.range.hi));
    const TileInstance &root = group.instances[group.roots.back()];
    bool isBoxes = true;
    for (int64_t program = 0; program < programCount(group.space, values).value(); ++program) {
      std::vector<std::set<int64_t>> covered(graph().size());
      std::set<int64_t> wanted;
      for (int64_t step = 0; step < steps; ++step) {
        setProgram(group.space, values, program * steps + step, true, point);
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
        if (isFine && instance.isInput) {
          ASSERT_EQ(covered[instance.op.index], real[instance.op.index])
              << "%" << graph()[instance.op].name << " program " << program << " size "
              << values[0];
        }
      }
    }
    EXPECT_TRUE(isFine || !isBoxes) << "refused without need: size " << values[0];
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
