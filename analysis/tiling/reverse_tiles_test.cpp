// From a tile of an operand to the tile of the result that it reaches: known answers. That they
// hold for all tiles is proved (analysis/prove).
#include "analysis/affine/simplify.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"
#include "analysis/tiling/testing/tiles.h"

using namespace tilewright;

namespace {

/// "[…]" of the result's tile for root-like tiles a0, a1, … of operand `operand` of %y.
struct Reached {
  std::string tile, why;
  Exactness exactness = Exactness::Exact;
};

Reached reach(const std::string &body, unsigned operand) {
  llvm::Expected<Module> module = parseHlo(std::make_shared<SourceBuffer>(
      "test", "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
              "  ROOT s = f32[] add(a, b)\n}\nENTRY main {\n" +
                  body + "}\n"));
  if (!module)
    return {takeDiag(module.takeError()).str(), ""};
  const Graph &graph = module->entry();
  const OpId id = graph.find("y");
  ExprContext ctx;
  TilePropagator rules(graph, ctx);
  FactoredTile tile;
  const std::vector<int64_t> &in = graph[graph[id].operands[operand]].shape.dims;
  for (size_t i = 0; i < in.size(); ++i)
    tile.dims.push_back(
        rules.factory.rootDim(ctx.variable(VarKind::ProgramId, fmt::format("p{}", i)),
                              ctx.variable(VarKind::TileParam, fmt::format("a{}", i)), in[i]));
  llvm::Expected<OperandTile> made = rules.resultTouched(id, operand, tile);
  if (!made)
    return {takeDiag(made.takeError()).message, ""};
  const std::vector<int64_t> &out = resultDims(graph[id]);
  ConditionSink ignore = [](TileCondition) {};
  Tile plain = rules.factory.plainTile(made->tile, out, ignore);
  Simplifier simplifier(ctx, Bounds());
  for (TileDim &dim : plain.dims)
    dim = {simplifier.simplify(dim.offset), simplifier.simplify(dim.size),
           simplifier.simplify(dim.stride), simplifier.simplify(dim.lower),
           simplifier.simplify(dim.upper)};
  return {plain.str(out), made->why, made->exactness};
}

} // namespace

TEST(ReverseTiles, Movement) {
  EXPECT_EQ(reach("  x = f32[2,5,1,3] parameter(0)\n"
                  "  ROOT y = f32[1,2,3,5] transpose(x), dimensions={2,0,3,1}\n",
                  0)
                .tile,
            "[0 : 1, a0 * p0 : a0, a3 * p3 : a3, a1 * p1 : a1]");
  // New dims are whole: 20, without padding to a power of two, which is the registers' matter.
  EXPECT_EQ(reach("  x = f32[10,30] parameter(0)\n"
                  "  ROOT y = f32[10,20,30] broadcast(x), dimensions={0,2}\n",
                  0)
                .tile,
            "[a0 * p0 : a0, 0 : 20, a1 * p1 : a1]");
  const std::string parts = "  a = f32[10] parameter(0)\n  b = f32[20] parameter(1)\n"
                            "  c = f32[30] parameter(2)\n"
                            "  ROOT y = f32[60] concatenate(a, b, c), dimensions={0}\n";
  EXPECT_EQ(reach(parts, 1).tile, "[a0 * p0 + 10 : a0 in [10, 30)]");
  EXPECT_EQ(reach(parts, 2).exactness, Exactness::Exact);
  // Every third element is taken, from 3 on.
  EXPECT_EQ(reach("  x = f32[20] parameter(0)\n  ROOT y = f32[5] slice(x), slice={[3:17:3]}\n", 0)
                .exactness,
            Exactness::Exact);
}

TEST(ReverseTiles, ReductionsDropTheirDims) {
  const std::string dot = "  a = f32[8,32] parameter(0)\n  b = f32[32,6] parameter(1)\n"
                          "  ROOT y = f32[8,6] dot(a, b), lhs_contracting_dims={1}, "
                          "rhs_contracting_dims={0}\n";
  EXPECT_EQ(reach(dot, 0).tile, "[a0 * p0 : a0, 0 : 6]");
  EXPECT_EQ(reach(dot, 1).tile, "[0 : 8, a1 * p1 : a1]");
}

TEST(ReverseTiles, WindowsThatTouchTheTile) {
  Reached touched = reach("  x = f32[9] parameter(0)\n  z = f32[] constant(0)\n"
                          "  ROOT y = f32[9] reduce-window(x, z), window={size=3 pad=1_1}, "
                          "to_apply=add\n",
                          0);
  EXPECT_EQ(touched.exactness, Exactness::Exact) << touched.why;
  EXPECT_NE(touched.tile.find("a0 + 2"), std::string::npos) << touched.tile;
}

TEST(ReverseTiles, RunTimeIndicesAreCovered) {
  Reached rows = reach("  x = f32[9,4] parameter(0)\n  i = s32[5] parameter(1)\n"
                       "  ROOT y = f32[5,4] gather(x, i), offset_dims={1}, "
                       "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                       "slice_sizes={1,4}\n",
                       0);
  EXPECT_EQ(rows.tile, "[0 : 5, a1 * p1 : a1]");
  EXPECT_EQ(rows.exactness, Exactness::OverApproximate);
}
