#include "analysis/import/hlo_text.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/numeric_tile.h"
#include "analysis/tiling/program_map.h"
#include "analysis/tiling/separate_roots.h"
#include "analysis/tiling/testing/tile_oracle.h"

#include <gtest/gtest.h>
#include <map>

using namespace tilewright;
using Dims = std::vector<int64_t>;

namespace {

struct Parts {
  std::shared_ptr<const Module> module;
  Group group;
  std::vector<SeparateTiles> parts;
  const Graph &graph() const { return module->entry(); }
};

Parts partsOf(const std::string &body) {
  Parts out;
  auto module = parseHlo(std::make_shared<SourceBuffer>(
      "roots", "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
               "ROOT s = f32[] add(a, b) }\nENTRY main {\n" +
                   body + "}\n"));
  EXPECT_TRUE(bool(module)) << (module ? "" : takeDiag(module.takeError()).str());
  out.module = std::make_shared<const Module>(std::move(*module));
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < out.graph().size(); ++i)
    if (out.graph()[OpId{i}].opcode != Opcode::Parameter &&
        out.graph()[OpId{i}].opcode != Opcode::Tuple)
      ops.push_back(OpId{i});
  out.group = llvm::cantFail(makeGroup(out.graph(), ops));
  auto parts = tileHorizontalFusion(out.graph(), out.group);
  EXPECT_TRUE(bool(parts)) << (parts ? "" : takeDiag(parts.takeError()).str());
  out.parts = std::move(*parts);
  return out;
}

std::string rootsText(const Parts &made) {
  std::string text;
  for (const SeparateTiles &part : made.parts) {
    text += text.empty() ? "" : " | ";
    for (size_t i = 0; i < part.tiled.group.roots.size(); ++i)
      text += (i ? "," : "") + made.graph()[part.tiled.group.roots[i]].name;
  }
  return text;
}

/// For some sizes of each part: the CTAs of one launch write every element of every root once.
void expectPartition(const Parts &made) {
  for (int64_t size : {1, 2, 3, 5, 64}) {
    JointCtas joint;
    std::vector<Dims> values;
    std::vector<ProgramMap> maps;
    for (const SeparateTiles &part : made.parts) {
      Dims own;
      for (const TileParameter &p : part.tiled.space.parameters)
        own.push_back(p.role == TileParameter::Role::Schedule ? 1 : std::min(size, p.largest()));
      if (isFeasible(part.tiled, own) != std::optional(true))
        for (size_t p = 0; p < own.size(); ++p)
          if (part.tiled.space.parameters[p].role != TileParameter::Role::Schedule)
            own[p] = part.tiled.space.parameters[p].largest();
      ASSERT_EQ(isFeasible(part.tiled, own), std::optional(true));
      Dims counts;
      const Dims all = tileCounts(part.tiled.space, own);
      for (size_t p = 0; p < all.size(); ++p)
        if (part.tiled.space.parameters[p].role == TileParameter::Role::Parallel)
          counts.push_back(all[p]);
      maps.push_back(llvm::cantFail(
          ProgramMap::make(*part.context, counts, ProgramOrder::inOrder(counts.size()))));
      values.push_back(std::move(own));
      ASSERT_FALSE(bool(joint.add(maps.back().ctas)));
    }
    std::map<std::pair<uint32_t, int64_t>, int> writers;
    for (int64_t cta = 0; cta < joint.ctas(); ++cta) {
      auto place = joint.partOf(cta);
      ASSERT_TRUE(place);
      const SeparateTiles &part = made.parts[place->part];
      const ProgramMap &map = maps[place->part];
      Assignment at;
      at.set(map.cta, place->cta);
      at.set(map.turn, 0);
      Assignment point = part.tiled.space.assign(values[place->part]);
      for (size_t d = 0; d < map.tile.size(); ++d)
        point.set(part.tiled.space.parameters[d].index, evaluate(map.tile[d], at).value());
      for (unsigned root : part.tiled.roots) {
        const TileInstance &instance = part.tiled.instances[root];
        for (int64_t e : elementsOf(numericTile(instance.tile, point).value(),
                                    made.graph()[instance.op].shape.dims))
          ++writers[{instance.op.index, e}];
      }
    }
    size_t elements = 0;
    for (OpId root : made.group.roots)
      elements += size_t(*made.graph()[root].shape.elementCount());
    EXPECT_EQ(writers.size(), elements) << "size " << size;
    for (const auto &[element, count] : writers)
      EXPECT_EQ(count, 1);
  }
}

} // namespace

TEST(SeparateRoots, RootsThatFollowShareTileDims) {
  Parts made = partsOf("x = f32[6,10] parameter(0)\n y = f32[7] parameter(1)\n"
                       "a = f32[6,10] negate(x)\n b = f32[7] abs(y)\n c = f32[60] reshape(a)\n"
                       "ROOT t = (f32[6,10], f32[7], f32[60]) tuple(a, b, c)\n");
  EXPECT_EQ(rootsText(made), "a,c | b");
  expectPartition(made);
}

TEST(SeparateRoots, WhatTwoPartsNeedIsInBoth) {
  Parts made = partsOf("x = f32[6,10] parameter(0)\n a = f32[6,10] negate(x)\n"
                       "z = f32[] constant(0)\n r = f32[6] reduce(a, z), dimensions={1}, "
                       "to_apply=add\n s = f32[10] reduce(a, z), dimensions={0}, to_apply=add\n"
                       "ROOT t = (f32[6], f32[10]) tuple(r, s)\n");
  EXPECT_EQ(rootsText(made), "r | s");
  for (const SeparateTiles &part : made.parts)
    EXPECT_FALSE(part.tiled.instancesOf(made.graph().find("a")).empty());
  expectPartition(made);
}

TEST(SeparateRoots, OnePartWhereAllBelongTogether) {
  Parts made =
      partsOf("x = f32[6,10] parameter(0)\n a = f32[6,10] negate(x)\n"
              "b = f32[6,10] exponential(a)\n ROOT t = (f32[6,10], f32[6,10]) tuple(a, b)\n");
  EXPECT_EQ(rootsText(made), "a,b");
  expectPartition(made);
}
