// Maps composed along paths of random graphs against the reads of the evaluator, followed through.
#include "analysis/indexing/paths.h"
#include "analysis/indexing/testing/indexing.h"

#include <fmt/ranges.h>
#include <numeric>
#include <random>

using namespace tilewright;

namespace {

/// A random graph over one parameter `x`, as HLO text.
class RandomGraph {
public:
  explicit RandomGraph(uint64_t seed) : random(seed) {
    dims = shape();
    text = "x = f32" + str(dims) + " parameter(0)\n z = f32[] parameter(1)\n";
    last = "x";
    for (int64_t n = pick(1, 5); n > 0; --n)
      step();
    text += "ROOT r = f32" + str(dims) + " negate(" + last + ")";
  }
  std::string text;

private:
  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  }
  static std::string str(const std::vector<int64_t> &list, const char *open = "[",
                         const char *close = "]") {
    return fmt::format("{}{}{}", open, fmt::join(list, ","), close);
  }
  std::vector<int64_t> shape() {
    static const int64_t extents[] = {1, 2, 3, 4, 6};
    std::vector<int64_t> result;
    for (int64_t n = pick(1, 3); n > 0; --n)
      result.push_back(extents[pick(0, 4)]);
    return result;
  }
  int64_t count() const {
    return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
  }
  void add(std::vector<int64_t> to, const std::string &op) {
    dims = std::move(to);
    std::string name = fmt::format("v{}", next++);
    text += fmt::format(" {} = f32{} {}\n", name, str(dims), op);
    last = name;
  }

  void step() {
    size_t rank = dims.size();
    size_t d = rank ? static_cast<size_t>(pick(0, int64_t(rank) - 1)) : 0;
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    switch (pick(0, 10)) {
    case 0: {
      std::shuffle(order.begin(), order.end(), random);
      std::vector<int64_t> to;
      for (int64_t o : order)
        to.push_back(dims[static_cast<size_t>(o)]);
      return add(to, "transpose(" + last + "), dimensions=" + str(order, "{", "}"));
    }
    case 1:
    case 2: { // split off factors at random
      std::vector<int64_t> to;
      int64_t rest = count();
      for (int64_t f : {pick(1, 6), pick(1, 6), pick(1, 6)})
        if (rest > 0 && rest % f == 0 && pick(0, 1)) {
          to.push_back(f);
          rest /= f;
        }
      to.push_back(rest);
      std::shuffle(to.begin(), to.end(), random);
      return add(to, "reshape(" + last + ")");
    }
    case 3: {
      std::vector<int64_t> to;
      std::string ranges;
      for (size_t i = 0; i < rank; ++i) {
        int64_t start = pick(0, dims[i] / 2), limit = pick(start, dims[i]), step = pick(1, 2);
        to.push_back((limit - start + step - 1) / step);
        ranges += fmt::format("{}[{}:{}:{}]", i ? ", " : "", start, limit, step);
      }
      return add(to, "slice(" + last + "), slice={" + ranges + "}");
    }
    case 4:
      return rank ? add(dims, fmt::format("reverse({}), dimensions={{{}}}", last, d)) : void();
    case 5: {
      std::vector<int64_t> to;
      std::string padding;
      for (size_t i = 0; i < rank; ++i) {
        int64_t low = pick(-1, 2), high = pick(0, 1), interior = pick(0, 4) ? 0 : 1;
        int64_t extent = dims[i] + low + high + std::max<int64_t>(dims[i] - 1, 0) * interior;
        if (extent < 0) {
          extent -= low;
          low = 0;
        }
        to.push_back(extent);
        padding += fmt::format("{}{}_{}_{}", i ? "x" : "", low, high, interior);
      }
      return rank ? add(to, "pad(" + last + ", z), padding=" + padding) : void();
    }
    case 6: {
      if (rank > 3)
        return;
      std::vector<int64_t> to = dims;
      to.insert(to.begin() + static_cast<ptrdiff_t>(d), pick(1, 3));
      for (size_t i = d; i < rank; ++i)
        ++order[i];
      return add(to, "broadcast(" + last + "), dimensions=" + str(order, "{", "}"));
    }
    case 7: {
      if (!rank || count() > 60)
        return;
      std::vector<int64_t> to = dims;
      to[d] *= 2;
      return add(to, fmt::format("concatenate({0}, {0}), dimensions={{{1}}}", last, d));
    }
    case 8: {
      if (!rank)
        return;
      std::vector<int64_t> to = dims;
      to.erase(to.begin() + static_cast<ptrdiff_t>(d));
      return add(to, fmt::format("reduce({}, z), dimensions={{{}}}, to_apply=add", last, d));
    }
    case 9: {
      std::vector<int64_t> to;
      std::string size, stride, pad;
      for (size_t i = 0; i < rank; ++i) {
        int64_t n = pick(1, 2), by = pick(1, 2), low = pick(0, 1), padded = dims[i] + low;
        to.push_back(padded < n ? 0 : (padded - n) / by + 1);
        size += fmt::format("{}{}", i ? "x" : "", n);
        stride += fmt::format("{}{}", i ? "x" : "", by);
        pad += fmt::format("{}{}_0", i ? "x" : "", low);
      }
      return rank ? add(to, fmt::format("reduce-window({}, z), window={{size={} stride={} "
                                        "pad={}}}, to_apply=add",
                                        last, size, stride, pad))
                  : void();
    }
    default: {
      if (!rank)
        return;
      std::vector<int64_t> to = dims;
      std::string starts;
      for (size_t i = 0; i < rank; ++i) {
        to[i] = pick(dims[i] / 2, dims[i]);
        std::string name = fmt::format("i{}", next++);
        text += pick(0, 2) ? fmt::format(" {} = s32[] parameter({})\n", name, parameters++)
                           : fmt::format(" {} = s32[] constant({})\n", name, pick(-1, 4));
        starts += ", " + name;
      }
      return add(to,
                 "dynamic-slice(" + last + starts + "), dynamic_slice_sizes=" + str(to, "{", "}"));
    }
    }
  }

  std::mt19937_64 random;
  std::vector<int64_t> dims;
  std::string last;
  int next = 0, parameters = 2;
};

} // namespace

TEST(IndexingPaths, ComposedMapsAreTheReadsFollowedThrough) {
  int checked = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomGraph random(seed);
    HloGraph g(random.text);
    SCOPED_TRACE(fmt::format("seed {}:\n{}", seed, random.text));
    std::optional<Recording> run = record(g, seed);
    ASSERT_TRUE(run);
    OpId root = g.graph().root(), x = g.find("x");
    llvm::Expected<OperandMaps> maps = mapsToOp(g.graph(), root, x, g.context);
    ASSERT_TRUE(static_cast<bool>(maps)) << takeDiag(maps.takeError()).str();
    EXPECT_EQ(maps->coverage, Coverage::Exact);
    const std::vector<int64_t> &out = g.graph().op(root).shape.dims,
                               &in = g.graph().op(x).shape.dims;
    TensorValue value = run->value();
    forEachIndex(out, [&](const std::vector<int64_t> &at) {
      // Follow the recorded reads from op to op, users first.
      std::map<uint32_t, std::set<int64_t>> needed{{root.index, {linearPosition(at, out)}}};
      for (uint32_t i = root.index; i > x.index; --i)
        for (unsigned k = 0; k < g.graph().op(OpId{i}).operands.size(); ++k)
          for (int64_t element : needed[i]) {
            const std::set<int64_t> &reads = run->reads[{i, k, element}];
            needed[g.graph().op(OpId{i}).operands[k].index].insert(reads.begin(), reads.end());
          }
      std::set<int64_t> claimed;
      for (const IndexMap &map : maps->maps)
        for (const std::vector<int64_t> &read : readsOf(map, at, value))
          claimed.insert(linearPosition(read, in));
      ASSERT_EQ(claimed, needed[x.index]) << linearPosition(at, out) << "\n" << maps->maps[0].str();
      ++checked;
    });
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(checked, 5000);
}

namespace {

/// What it takes to find the maps to all operands of an op of that many, in rules fired.
uint64_t workForOperands(size_t count) {
  std::string parameters, operands;
  for (size_t i = 0; i < count; ++i) {
    parameters += fmt::format("  p{0} = f32[4,8]{{1,0}} parameter({0})\n", i);
    operands += fmt::format("{}p{}", i ? ", " : "", i);
  }
  HloGraph g(fmt::format("{}  c = f32[{},8]{{1,0}} concatenate({}), "
                         "dimensions={{0}}\n  ROOT n = f32[{},8]{{1,0}} negate(c)\n",
                         parameters, 4 * count, operands, 4 * count));
  llvm::Expected<std::vector<MapsOrRefusal>> all =
      mapsToOps(g.graph(), g.find("n"), g.graph().parameters(), g.context);
  if (!all) {
    ADD_FAILURE() << takeDiag(all.takeError()).str();
    return 0;
  }
  EXPECT_EQ(all->size(), count);
  for (size_t i : {size_t{0}, count / 2, count - 1})
    EXPECT_EQ((*all)[i].maps.maps.at(0).str(),
              fmt::format("(d0, d1) -> ({}, d1), domain: d0 in [{}, {}], d1 in [0, 7]",
                          i ? fmt::format("d0 - {}", 4 * i) : "d0", 4 * i, 4 * i + 3));
  uint64_t fired = 0;
  for (const RuleInfo &rule : rules())
    fired += g.context.ruleCounts()[rule.rule];
  return fired;
}

} // namespace

/// Whatever the shapes on the way, a chain of reshapes is one reshape.
TEST(IndexingPaths, ReshapesInARowAreOne) {
  const char *shapes[] = {"60,84", "70,72", "56,90", "63,80", "48,105", "5040", "2,3,4,5,6,7"};
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    std::string first = shapes[random() % std::size(shapes)];
    std::string lines = fmt::format("  x = f32[{}] parameter(0)\n", first), last = "x";
    for (int i = 0; i < 12; ++i) {
      std::string shape = i == 11 ? first : shapes[random() % std::size(shapes)];
      lines += fmt::format("  r{0} = f32[{1}] reshape({2})\n  n{0} = f32[{1}] negate(r{0})\n", i,
                           shape, last);
      last = fmt::format("n{}", i);
    }
    HloGraph g(lines + fmt::format("  ROOT o = f32[{}] tanh({})\n", first, last));
    auto maps = mapsToOp(g.graph(), g.find("o"), g.find("x"), g.context);
    ASSERT_TRUE(bool(maps));
    ASSERT_EQ(maps->maps.size(), 1u);
    const std::vector<int64_t> &dims = g.graph()[g.find("x")].shape.dims;
    EXPECT_TRUE(maps->maps.front().equivalent(IndexMap::identity(g.context, dims).simplified()))
        << lines << maps->maps.front().str();
  }
}

TEST(IndexingPaths, ManyTargetsTakeWorkInProportion) {
  uint64_t few = workForOperands(1000), many = workForOperands(10000);
  EXPECT_GE(few, 1000u);
  EXPECT_LE(many, 11 * few);
}

TEST(IndexingPaths, EachOfManyTargetsHasItsOwnRefusal) {
  HloGraph g(R"(
  x = f32[8]{0} parameter(0)
  y = f32[8]{0} parameter(1)
  z = f32[8]{0} parameter(2)
  s = f32[8]{0} custom-call(x), custom_call_target="secret"
  ROOT a = f32[8]{0} add(s, y)
)");
  OpId targets[] = {g.find("x"), g.find("y"), g.find("z"), g.find("a"), g.find("s")};
  llvm::Expected<std::vector<MapsOrRefusal>> all =
      mapsToOps(g.graph(), g.find("a"), targets, g.context);
  ASSERT_TRUE(static_cast<bool>(all));
  ASSERT_TRUE((*all)[0].refusal);
  EXPECT_EQ((*all)[0].refusal->message,
            "no map to %x: %s is on the way, what custom call \"secret\" reads is not known");
  for (size_t i : {1, 3, 4}) {
    EXPECT_FALSE((*all)[i].refusal);
    EXPECT_EQ((*all)[i].maps.maps.size(), 1u);
  }
  EXPECT_FALSE((*all)[2].refusal);
  EXPECT_TRUE((*all)[2].maps.maps.empty());
}

// What a group's inputs are made of is no path of the group: `y` is read as it lies in memory,
// though it is a transpose of `x`, and `x` where the group itself reads it.
TEST(IndexingPaths, EndAtTheInputsOfAGroup) {
  HloGraph g(R"(
  x = f32[8,8]{1,0} parameter(0)
  y = f32[8,8]{1,0} transpose(x), dimensions={1,0}
  z = f32[8,8]{1,0} negate(y)
  b = f32[8,8]{1,0} reverse(x), dimensions={0}
  ROOT a = f32[8,8]{1,0} add(z, b)
)");
  const OpId targets[] = {g.find("x"), g.find("y")};
  auto all = mapsToOps(g.graph(), g.find("a"), targets, g.context);
  auto within = mapsWithin(g.graph(), g.find("a"), targets, targets, g.context);
  ASSERT_TRUE(all && within);
  EXPECT_EQ((*all)[0].maps.maps.size(), 2u); // transposed and reversed
  ASSERT_EQ((*within)[0].maps.maps.size(), 1u);
  EXPECT_TRUE((*within)[0].maps.maps[0].equivalent(
      outputToOperands(g.graph(), g.find("b"), g.context)->operands[0].maps[0]));
  ASSERT_EQ((*within)[1].maps.maps.size(), 1u);
  EXPECT_TRUE((*within)[1].maps.maps[0].equivalent((*all)[1].maps.maps[0]));

  // Only what is behind an end is left out; an end that nothing is asked of stops paths, too.
  const OpId ends[] = {g.find("y")}, x[] = {g.find("x")};
  within = mapsWithin(g.graph(), g.find("a"), x, ends, g.context);
  ASSERT_TRUE(bool(within));
  EXPECT_EQ((*within)[0].maps.maps.size(), 1u);
  within = mapsWithin(g.graph(), g.find("z"), x, ends, g.context);
  ASSERT_TRUE(bool(within));
  EXPECT_TRUE((*within)[0].maps.maps.empty());
}

// Each step brings a runtime variable whose source needs the one before; all are kept, in order.
TEST(IndexingPaths, LongChainsOfGathers) {
  constexpr size_t count = 1500;
  std::string body = "x = f32[16] parameter(0)\n i = s32[16] parameter(1)\n";
  for (size_t n = 0; n < count; ++n)
    body +=
        fmt::format(" g{} = f32[16] gather({}, i), offset_dims={{}}, collapsed_slice_dims={{0}}, "
                    "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}\n",
                    n, n ? fmt::format("g{}", n - 1) : "x");
  HloGraph g(body + " ROOT r = f32[16] negate(g" + std::to_string(count - 1) + ")");
  llvm::Expected<OperandMaps> maps = mapsToOp(g.graph(), g.find("r"), g.find("x"), g.context);
  ASSERT_TRUE(static_cast<bool>(maps)) << takeDiag(maps.takeError()).str();
  ASSERT_EQ(maps->maps.size(), 1u);
  std::vector<MapVariable> values = maps->maps[0].variables(VarKind::Runtime);
  ASSERT_EQ(values.size(), count);
  EXPECT_EQ(maps->maps[0].results()[0], values.back().var);
  EXPECT_EQ(values[0].source->element, std::vector<Expr>{g.context.dim(0)});
  for (size_t n = 1; n < count; ++n)
    ASSERT_EQ(values[n].source->element, std::vector<Expr>{values[n - 1].var}) << n;
}
