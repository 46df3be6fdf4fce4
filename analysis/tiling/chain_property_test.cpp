// Random chains of reshape, transpose, slice, reverse, broadcast, pad and concatenate: a tile size
// is accepted iff, for every CTA, the elements that are needed of the inputs and of every op
// that is no view are a tile, with the same strides for all CTAs.
#include "analysis/support/diag.h"
#include "analysis/tiling/testing/read_oracle.h"
#include "analysis/tiling/testing/tile_oracle.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tilewright;
using Dims = std::vector<int64_t>;
using oracle::product;

namespace {

enum class Extents { Any, PowersOfTwo };
enum class Sizes { Any, PowersOfTwo };
enum class Pads { Outside, InteriorToo };

bool isPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

class RandomChain {
public:
  RandomChain(unsigned seed, Extents extents, Pads pads)
      : random(seed), extents(extents), hasInterior(pads == Pads::InteriorToo) {
    zero = add(Opcode::Constant, {}, {});
    graph.op(zero).literal = "0";
    value = add(Opcode::Parameter, {}, shape());
    const int steps = 2 + pick(5);
    for (int i = 0; i < steps; ++i)
      grow();
    graph.setRoot(value);
  }

  std::vector<OpId> ops() const {
    std::vector<OpId> out;
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (graph[OpId{i}].opcode != Opcode::Parameter && OpId{i} != zero)
        out.push_back(OpId{i});
    return out;
  }

  int pick(int64_t n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); }

  Graph graph{"g"};
  OpId zero;

private:
  bool isAllowed(int64_t extent) const { return extents == Extents::Any || isPowerOfTwo(extent); }
  OpId add(Opcode opcode, std::vector<OpId> operands, Dims dims, OpAttributes attrs = {}) {
    Op op;
    op.name = "v" + std::to_string(graph.size());
    op.opcode = opcode;
    op.shape = Shape::tensor(DType::F32, std::move(dims));
    op.operands = std::move(operands);
    op.attrs = std::move(attrs);
    return graph.add(std::move(op));
  }
  Dims shape() {
    static const std::vector<int64_t> any{1, 2, 3, 4, 5, 6, 8, 9, 12}, powers{1, 2, 2, 4, 8, 16};
    const std::vector<int64_t> &list = extents == Extents::Any ? any : powers;
    Dims dims;
    for (int i = 1 + pick(3); i > 0; --i)
      if (int64_t d = list[pick(static_cast<int64_t>(list.size()))]; product(dims) * d <= 64)
        dims.push_back(d);
    if (product(dims) == 1)
      dims.push_back(8);
    return dims;
  }
  void grow() {
    const Dims dims = graph[value].shape.dims;
    const int rank = static_cast<int>(dims.size());
    OpAttributes attrs;
    Dims to = dims;
    switch (pick(10)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      std::vector<Dims> shapes = oracle::shapesOf(product(dims));
      to = shapes.empty() ? Dims{1} : shapes[pick(static_cast<int64_t>(shapes.size()))];
      if (pick(4) == 0)
        to.insert(to.begin() + pick(static_cast<int64_t>(to.size()) + 1), 1);
      value = add(Opcode::Reshape, {value}, to);
      return;
    }
    case 4: {
      for (int i = 0; i < rank; ++i)
        attrs.dimensions.push_back(i);
      std::shuffle(attrs.dimensions.begin(), attrs.dimensions.end(), random);
      for (int i = 0; i < rank; ++i)
        to[i] = dims[attrs.dimensions[i]];
      value = add(Opcode::Transpose, {value}, to, attrs);
      return;
    }
    case 5: {
      const int64_t extent = 2 + pick(extents == Extents::Any ? 2 : 1);
      if (product(dims) * extent > 64)
        return;
      const int at = pick(rank + 1);
      to.insert(to.begin() + at, extent);
      for (int i = 0; i < rank; ++i)
        attrs.dimensions.push_back(i < at ? i : i + 1);
      value = add(Opcode::Broadcast, {value}, to, attrs);
      return;
    }
    case 6: {
      for (int i = 0; i < rank; ++i) {
        SliceDim s{0, dims[i], 1};
        if (pick(2)) {
          s.step = 1 + (pick(3) == 0) * (1 + pick(2));
          s.start = pick(dims[i]);
          const int64_t most = (dims[i] - s.start - 1) / s.step + 1;
          to[i] = 1 + pick(most);
          while (!isAllowed(to[i]))
            --to[i];
          s.limit = s.start + (to[i] - 1) * s.step + 1;
        }
        attrs.slice.push_back(s);
      }
      value = add(Opcode::Slice, {value}, to, attrs);
      return;
    }
    case 7: {
      for (int i = 0; i < rank; ++i)
        if (pick(2))
          attrs.dimensions.push_back(i);
      value = add(Opcode::Reverse, {value}, to, attrs);
      return;
    }
    case 8: {
      for (int i = 0; i < rank; ++i) {
        PadDim p;
        for (int tries = 0; tries < 8; ++tries) {
          p = {pick(9) - 1, pick(9) - 1, hasInterior && pick(4) == 0 ? 1 + pick(2) : 0};
          to[i] = dims[i] + (dims[i] - 1) * p.interior + p.low + p.high;
          if (to[i] >= 1 && isAllowed(to[i]))
            break;
          p = {};
          to[i] = dims[i];
        }
        attrs.padding.push_back(p);
      }
      if (product(to) <= 96)
        value = add(Opcode::Pad, {value, zero}, to, attrs);
      return;
    }
    default: {
      if (rank == 0)
        return;
      const int dim = pick(rank);
      Dims other = dims;
      other[dim] = 1 + pick(8);
      to[dim] += other[dim];
      if (product(to) > 96 || !isAllowed(to[dim]) || !isAllowed(other[dim]))
        return;
      attrs.dimensions = {dim};
      OpId y = add(Opcode::Parameter, {}, other);
      value = add(Opcode::Concatenate, pick(2) ? std::vector{value, y} : std::vector{y, value}, to,
                  attrs);
    }
    }
  }

  std::mt19937 random;
  Extents extents;
  bool hasInterior;
  OpId value;
};

struct ChainTotals {
  long chains = 0, points = 0, exact = 0, falseAccepts = 0, falseRejects = 0, inexact = 0;
};

bool isMove(Opcode opcode) { return opcode == Opcode::Reshape || opcode == Opcode::Transpose; }

/// Elements of every value that these elements of the root need.
void neededOf(const Graph &graph, OpId root, const std::vector<int64_t> &elements,
              std::vector<std::set<int64_t>> &needed) {
  needed.assign(graph.size(), {});
  needed[root.index] = {elements.begin(), elements.end()};
  for (uint32_t i = root.index + 1; i > 0; --i) {
    const Op &op = graph[OpId{i - 1}];
    if (op.operands.empty())
      continue;
    std::vector<std::set<int64_t>> read(op.operands.size());
    for (int64_t e : needed[i - 1])
      oracle::reads(graph, op, e, read);
    for (size_t k = 0; k < op.operands.size(); ++k)
      needed[op.operands[k].index].insert(read[k].begin(), read[k].end());
  }
}

/// Do the elements of every value come in the order of the root's lanes, or backwards, along each
/// dim of the root, the same way in all CTAs? A tile has one stride for all of them.
bool isOrdered(const Graph &graph, const TiledGroup &tiled, const Dims &values) {
  const TileInstance &root = tiled.instances[tiled.roots.front()];
  const Dims &extents = graph[root.op].shape.dims;
  Assignment point = tiled.space.assign(values);
  std::map<std::pair<uint32_t, size_t>, int> directions; // by value and dim of the root
  const int64_t ctas = ctaCount(tiled.space, values).value();
  for (int64_t cta = 0; cta < ctas; ++cta) {
    setCta(tiled.space, values, cta, false, point);
    std::map<Dims, std::vector<std::set<int64_t>>> reads; // by element of the root
    for (int64_t e : elementsOf(*numericTile(root.tile, point), extents)) {
      std::vector<std::set<int64_t>> &needed = reads[oracle::coordinates(e, extents)];
      neededOf(graph, root.op, {e}, needed);
    }
    for (uint32_t v = 0; v < graph.size(); ++v) {
      if (isMove(graph[OpId{v}].opcode))
        continue;
      for (size_t d = 0; d < extents.size(); ++d) {
        std::map<Dims, int64_t> last; // along d, by the other coordinates
        for (const auto &[index, needed] : reads) {
          if (needed[v].size() != 1)
            continue;
          Dims line = index;
          line[d] = 0;
          const int64_t element = *needed[v].begin();
          auto [it, isNew] = last.emplace(line, element);
          const int direction = element > it->second ? 1 : element < it->second ? -1 : 0;
          it->second = element;
          int &known = directions[{v, d}];
          if (direction * known < 0)
            return false;
          known += direction * (known == 0);
        }
      }
    }
  }
  return true;
}

/// Compares one choice of sizes with the truth.
void checkPoint(const RandomChain &chain, const TiledGroup &tiled, const Dims &values,
                ChainTotals &totals, std::string &complaint) {
  const Graph &graph = chain.graph;
  const std::optional<bool> accepted = isFeasible(tiled, values);
  ASSERT_TRUE(accepted.has_value());
  bool isExact = true, isRight = true, isMarked = false;
  std::vector<Dims> strides(graph.size());
  Assignment point = tiled.space.assign(values);
  const int64_t ctas = ctaCount(tiled.space, values).value();
  for (int64_t cta = 0; cta < ctas; ++cta) {
    setCta(tiled.space, values, cta, false, point);
    const TileInstance &root = tiled.instances[tiled.roots.front()];
    std::vector<std::set<int64_t>> needed;
    neededOf(graph, root.op, elementsOf(*numericTile(root.tile, point), graph[root.op].shape.dims),
             needed);
    for (uint32_t i = 0; i < graph.size(); ++i) {
      if (isMove(graph[OpId{i}].opcode) || OpId{i} == chain.zero || OpId{i} == graph.root())
        continue;
      Dims mine;
      isExact &= oracle::isBox(needed[i], graph[OpId{i}].shape.dims, mine);
      strides[i].resize(mine.size(), 0);
      for (size_t d = 0; d < mine.size(); ++d) {
        isExact &= mine[d] == 0 || strides[i][d] == 0 || mine[d] == strides[i][d];
        if (mine[d])
          strides[i][d] = mine[d];
      }
    }
    if (!*accepted)
      continue;
    for (const TileInstance &instance : tiled.instances) {
      if (isMove(graph[instance.op].opcode) || instance.op == chain.zero)
        continue;
      const Dims &dims = graph[instance.op].shape.dims;
      const std::set<int64_t> &want = needed[instance.op.index];
      auto tile = numericTile(instance.tile, point);
      ASSERT_TRUE(tile.has_value());
      std::vector<int64_t> list = elementsOf(*tile, dims);
      std::set<int64_t> have(list.begin(), list.end());
      if (instance.exactness != Exactness::Exact)
        isMarked = true;
      const bool holds = instance.exactness == Exactness::Exact
                             ? have == want
                             : std::includes(have.begin(), have.end(), want.begin(), want.end());
      if (isRight && !holds)
        complaint = "%" + graph[instance.op].name + " in CTA " + std::to_string(cta) + " has " +
                    ::testing::PrintToString(have) + " for " + ::testing::PrintToString(want) +
                    ": " + instance.tile.str(dims) + ": ";
      isRight &= holds;
      isRight &= validCount(*tile) == static_cast<int64_t>(have.size());
      isRight &= have.empty() || (*have.begin() >= 0 && *have.rbegin() < product(dims));
    }
  }
  ++totals.points;
  totals.exact += isExact;
  if (*accepted && (!isRight || (!isExact && !isMarked))) {
    ++totals.falseAccepts;
    complaint += "accepted wrongly";
  } else if (!*accepted && isExact) {
    if (!isOrdered(graph, tiled, values))
      return;
    ++totals.falseRejects;
    complaint = "refused wrongly";
  } else if (*accepted && isExact && isMarked) {
    ++totals.inexact;
    complaint = "exact, but marked as not";
  }
}

void checkChain(unsigned seed, Extents extents, Sizes sizes, Pads pads, ChainTotals &totals,
                int &complaints) {
  RandomChain chain(seed, extents, pads);
  ExprContext context;
  auto group = makeGroup(chain.graph, chain.ops());
  if (!group) {
    llvm::consumeError(group.takeError()); // the root is a parameter
    return;
  }
  auto tiled = tileGroup(chain.graph, *group, context);
  ASSERT_TRUE(static_cast<bool>(tiled)) << seed;
  ++totals.chains;
  for (int attempt = 0; attempt < 8; ++attempt) {
    Dims values;
    for (const TileParameter &p : tiled->space.parameters) {
      int64_t value = 1;
      if (p.role != TileParameter::Role::Schedule) {
        value = 1 + chain.pick(p.largest());
        if (sizes == Sizes::PowersOfTwo)
          while (!isPowerOfTwo(value) && value < p.largest())
            ++value;
      }
      values.push_back(value);
    }
    std::string complaint;
    checkPoint(chain, *tiled, values, totals, complaint);
    const bool isShown = complaint.ends_with("accepted wrongly") || complaint.starts_with("exact");
    if (complaint.empty() || (!isShown && --complaints < 0))
      continue;
    std::string text = complaint + ": seed " + std::to_string(seed) + " sizes";
    for (size_t i = 0; i < values.size(); ++i)
      if (tiled->space.parameters[i].role != TileParameter::Role::Schedule)
        text += " " + std::to_string(values[i]);
    for (uint32_t i = 0; i < chain.graph.size(); ++i) {
      const Op &op = chain.graph[OpId{i}];
      text += "\n  %" + op.name + " = " + op.shape.str(false) + " " +
              std::string(toString(op.opcode)) + "(";
      for (OpId operand : op.operands)
        text += " %" + chain.graph[operand].name;
      text += " )";
      for (const SliceDim &s : op.attrs.slice)
        text += " [" + std::to_string(s.start) + ":" + std::to_string(s.limit) + ":" +
                std::to_string(s.step) + "]";
      for (const PadDim &p : op.attrs.padding)
        text += " " + std::to_string(p.low) + "_" + std::to_string(p.high) + "_" +
                std::to_string(p.interior);
      for (int64_t d : op.attrs.dimensions)
        text += " d" + std::to_string(d);
    }
    const Assignment point = tiled->space.assign(values);
    for (const Constraint &c : tiled->constraints)
      if (c.formula.evaluate(point) == false)
        text += "\n  refused by " + c.from.rule + ": " + c.describe(point);
    ADD_FAILURE() << text;
  }
}

long environmentOr(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

/// `shown`: so many false rejects are told of; false accepts all are.
ChainTotals checkChains(Extents extents, Sizes sizes, Pads pads, int shown) {
  constexpr long chainsByDefault = 1500;
  ChainTotals totals;
  int complaints = static_cast<int>(environmentOr("TILEWRIGHT_PROPERTY_SHOWN", shown));
  const long chains = environmentOr("TILEWRIGHT_PROPERTY_CHAINS", chainsByDefault);
  const long first = environmentOr("TILEWRIGHT_PROPERTY_SEED", 1);
  for (long seed = first; seed < first + chains; ++seed)
    checkChain(static_cast<unsigned>(seed), extents, sizes, pads, totals, complaints);
  EXPECT_EQ(totals.falseAccepts, 0);
  EXPECT_EQ(totals.inexact, 0);
  EXPECT_GT(totals.exact, totals.points / 2);
  ::testing::Test::RecordProperty("points", static_cast<int>(totals.points));
  ::testing::Test::RecordProperty("exact", static_cast<int>(totals.exact));
  ::testing::Test::RecordProperty("false_rejects", static_cast<int>(totals.falseRejects));
  return totals;
}

} // namespace

// Of 650,000 chains (seeds from 1 and from 1,000,001) no tile of powers of two is refused wrongly.
// A few in a million are beyond that: joins of joins in steps of three that masks leave one lane
// of, and sets that happen to be a tile although their lanes are in no order.
TEST(ChainTiles, PowersOfTwo) {
  ChainTotals totals = checkChains(Extents::PowersOfTwo, Sizes::PowersOfTwo, Pads::Outside, 3);
  EXPECT_EQ(totals.falseRejects, 0);
}

// Chains that only some special rule decides, one or two of each kind: digits that meet again in
// their order or in another one, constant digits in the middle, one CTA that has all, masks of
// one digit that say something of another.
TEST(ChainTiles, PowersOfTwoThatNeedEveryRule) {
  ChainTotals totals;
  int complaints = 3;
  for (unsigned seed :
       {38016u,   102120u,  116070u,  117878u,  231315u,  44812u,   253093u,  162966u,
        206357u,  292885u,  1007657u, 1054059u, 1106127u, 1152661u, 1168337u, 1179893u,
        1226347u, 1257715u, 1295129u, 1297777u, 1366471u, 1408637u, 1421630u, 1565729u})
    checkChain(seed, Extents::PowersOfTwo, Sizes::PowersOfTwo, Pads::Outside, totals, complaints);
  EXPECT_EQ(totals.falseAccepts, 0);
  EXPECT_EQ(totals.falseRejects, 0);
}

TEST(ChainTiles, PowersOfTwoAndInteriorPadding) {
  ChainTotals totals = checkChains(Extents::PowersOfTwo, Sizes::PowersOfTwo, Pads::InteriorToo, 0);
  EXPECT_LE(totals.falseRejects * 1000, totals.exact);
}

TEST(ChainTiles, PowersOfTwoInTilesOfAnySizeAndInteriorPadding) {
  ChainTotals totals = checkChains(Extents::PowersOfTwo, Sizes::Any, Pads::InteriorToo, 0);
  EXPECT_LE(totals.falseRejects * 1000, totals.exact * 2);
}

TEST(ChainTiles, AnyExtents) {
  ChainTotals totals = checkChains(Extents::Any, Sizes::Any, Pads::InteriorToo, 0);
  EXPECT_LE(totals.falseRejects * 1000, totals.exact * 6);
}
