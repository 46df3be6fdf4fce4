#include "analysis/import/hlo_text.h"
#include "analysis/tiling/numeric_tile.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

/// One graph's ops as one group.
struct Tiled {
  std::shared_ptr<const Module> module;
  std::unique_ptr<ExprContext> context = std::make_unique<ExprContext>();
  TiledGroup group;

  const Graph &graph() const { return module->entry(); }
  std::string tile(std::string_view name, unsigned which = 0) const {
    OpId id = graph().find(name);
    std::vector<unsigned> found = group.instancesOf(id);
    if (which >= found.size())
      return "none";
    return group.instances[found[which]].tile.str(graph()[id].shape.dims);
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const Constraint &c : group.constraints)
      out.push_back(c.formula.str());
    return out;
  }
};

llvm::Expected<Tiled> tryTile(const std::string &body) {
  auto module = parseHlo(std::make_shared<SourceBuffer>(
      "test", "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n"
              "  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n"
              "ENTRY main {\n" +
                  body + "}\n"));
  if (!module)
    return module.takeError();
  Tiled out;
  out.module = std::make_shared<Module>(std::move(*module));
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < out.graph().size(); ++i)
    if (opClass(out.graph()[OpId{i}].opcode) != OpClass::Tuple &&
        out.graph()[OpId{i}].opcode != Opcode::Parameter)
      ops.push_back(OpId{i});
  auto group = makeGroup(out.graph(), ops);
  if (!group)
    return group.takeError();
  auto tiled = tileGroup(out.graph(), *group, *out.context);
  if (!tiled)
    return tiled.takeError();
  out.group = std::move(*tiled);
  return out;
}

Tiled tile(const std::string &body) {
  auto out = tryTile(body);
  if (!out) {
    ADD_FAILURE() << takeDiag(out.takeError()).str();
    std::abort();
  }
  return std::move(*out);
}

} // namespace

TEST(TileGroup, Dot) {
  Tiled t = tile("  a = bf16[128,64] parameter(0)\n  b = bf16[64,256] parameter(1)\n"
                 "  d = bf16[128,256] dot(a, b), lhs_contracting_dims={1}, "
                 "rhs_contracting_dims={0}\n"
                 "  ROOT e = bf16[128,256] exponential(d)\n");
  EXPECT_EQ(t.tile("d"), "[pid0 * t0 : t0, pid1 * t1 : t1]");
  EXPECT_EQ(t.tile("a"), "[pid0 * t0 : t0, step_k0 * k0 : k0]");
  EXPECT_EQ(t.tile("b"), "[step_k0 * k0 : k0, pid1 * t1 : t1]");
  EXPECT_TRUE(t.group.constraints.empty());
  std::vector<std::string> names;
  for (const TileParameter &p : t.group.space.parameters)
    names.push_back(p.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"t0", "t1", "k0", "warps", "stages", "split_k", "group_m"}));
  const std::vector<unsigned> dots = t.group.instancesOf(t.graph().find("d"));
  EXPECT_EQ(t.group.instances[dots[0]].reduces, std::vector<unsigned>{2});
  EXPECT_TRUE(t.group.instances[dots[0]].loops.empty());
  EXPECT_EQ(t.group.instances[t.group.instances[dots[0]].operands[0]].loops,
            std::vector<unsigned>{2});
}

TEST(TileGroup, SoftmaxHasOneReduceParameter) {
  Tiled t = tile("  x = f32[64,1000] parameter(0)\n  ninf = f32[] constant(-inf)\n"
                 "  zero = f32[] constant(0)\n"
                 "  m = f32[64] reduce(x, ninf), dimensions={1}, to_apply=add\n"
                 "  mb = f32[64,1000] broadcast(m), dimensions={0}\n"
                 "  s = f32[64,1000] subtract(x, mb)\n  e = f32[64,1000] exponential(s)\n"
                 "  l = f32[64] reduce(e, zero), dimensions={1}, to_apply=add\n"
                 "  lb = f32[64,1000] broadcast(l), dimensions={0}\n"
                 "  ROOT d = f32[64,1000] divide(e, lb)\n");
  EXPECT_TRUE(t.group.space.find("r0"));
  EXPECT_FALSE(t.group.space.find("r1"));
  std::vector<unsigned> x = t.group.instancesOf(t.graph().find("x"));
  ASSERT_EQ(x.size(), 2u);
  const int64_t whole[] = {4, 1000, 1000, 4, 1, 1, 1}, part[] = {4, 1000, 128, 4, 1, 1, 1};
  EXPECT_TRUE(sameTileAt(t.group, x[0], x[1], whole));
  EXPECT_FALSE(sameTileAt(t.group, x[0], x[1], part));
}
