// Random graphs: for every CTA, the tiles of all inputs and of all computed values hold exactly
// the elements that the CTA's root tile needs.
#include "analysis/support/diag.h"
#include "analysis/tiling/testing/read_oracle.h"
#include "analysis/tiling/testing/tile_oracle.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright;
using Dims = std::vector<int64_t>;
using oracle::product;
using oracle::reads;

namespace {

class RandomGraph {
public:
  explicit RandomGraph(unsigned seed) : random(seed) {
    zero = add(Opcode::Constant, {}, {});
    graph.op(zero).literal = "0";
    values.push_back(add(Opcode::Parameter, {}, shape()));
    const int steps = 2 + pick(6);
    for (int i = 0; i < steps; ++i)
      grow();
    root = values.back();
    graph.setRoot(root);
  }

  /// The root and what it is computed from.
  std::vector<OpId> ops() const {
    std::vector<bool> needed(graph.size());
    needed[root.index] = true;
    for (uint32_t i = root.index + 1; i > 0; --i)
      for (OpId operand : graph[OpId{i - 1}].operands)
        needed[operand.index] = needed[operand.index] || needed[i - 1];
    std::vector<OpId> out;
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (needed[i] && graph[OpId{i}].opcode != Opcode::Parameter)
        out.push_back(OpId{i});
    return out;
  }

  int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  Graph graph{"g"};
  OpId root, zero;

private:
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
    static const int64_t extents[] = {1, 2, 3, 4, 5, 6, 8, 12};
    Dims dims;
    for (int i = 1 + pick(3); i > 0; --i)
      if (int64_t d = extents[pick(8)]; product(dims) * d <= 60)
        dims.push_back(d);
    if (dims.empty())
      dims.push_back(6);
    return dims;
  }
  void grow() {
    OpId x = values[values.size() - 1 - (pick(4) == 0 ? pick(static_cast<int>(values.size())) : 0)];
    const Dims dims = graph[x].shape.dims;
    const int rank = static_cast<int>(dims.size());
    OpAttributes attrs;
    Dims to = dims;
    switch (pick(13)) {
    case 0:
    case 1:
    case 2: { // reshape: more often, since it is the hard one
      std::vector<Dims> shapes = oracle::shapesOf(product(dims));
      if (shapes.empty())
        return;
      to = shapes[pick(static_cast<int>(shapes.size()))];
      if (pick(4) == 0)
        to.insert(to.begin() + pick(static_cast<int>(to.size()) + 1), 1);
      values.push_back(add(Opcode::Reshape, {x}, to));
      return;
    }
    case 3:
    case 4: {
      for (int i = 0; i < rank; ++i)
        attrs.dimensions.push_back(i);
      std::shuffle(attrs.dimensions.begin(), attrs.dimensions.end(), random);
      for (int i = 0; i < rank; ++i)
        to[i] = dims[attrs.dimensions[i]];
      values.push_back(add(Opcode::Transpose, {x}, to, attrs));
      return;
    }
    case 5: {
      if (product(dims) > 30)
        return;
      to.insert(to.begin() + pick(rank + 1), 1 + pick(3));
      int64_t at = 0;
      for (; to[at] == (at < rank ? dims[at] : -1); ++at) {
      }
      for (int i = 0; i < rank; ++i)
        attrs.dimensions.push_back(i < at ? i : i + 1);
      values.push_back(add(Opcode::Broadcast, {x}, to, attrs));
      return;
    }
    case 6: {
      for (int i = 0; i < rank; ++i) {
        SliceDim s{0, dims[i], 1};
        if (pick(2)) {
          s.step = 1 + (pick(3) == 0);
          s.start = pick(static_cast<int>(dims[i]));
          to[i] = 1 + pick(static_cast<int>((dims[i] - s.start - 1) / s.step + 1));
          s.limit = s.start + (to[i] - 1) * s.step + 1;
        }
        attrs.slice.push_back(s);
      }
      values.push_back(add(Opcode::Slice, {x}, to, attrs));
      return;
    }
    case 7: {
      for (int i = 0; i < rank; ++i)
        if (pick(2))
          attrs.dimensions.push_back(i);
      values.push_back(add(Opcode::Reverse, {x}, to, attrs));
      return;
    }
    case 8: {
      for (int i = 0; i < rank; ++i) {
        PadDim p;
        if (pick(2))
          p = {pick(5) - 1, pick(5) - 1, pick(4) == 0 ? 1 : 0};
        int64_t size = dims[i] + (dims[i] - 1) * p.interior + p.low + p.high;
        if (size < 1) {
          p = {};
          size = dims[i];
        }
        to[i] = size;
        attrs.padding.push_back(p);
      }
      if (product(to) <= 80)
        values.push_back(add(Opcode::Pad, {x, zero}, to, attrs));
      return;
    }
    case 9: {
      if (rank == 0)
        return;
      const int dim = pick(rank);
      Dims other = dims;
      other[dim] = 1 + pick(5);
      to[dim] += other[dim];
      if (product(to) > 80)
        return;
      attrs.dimensions = {dim};
      OpId y = add(Opcode::Parameter, {}, other);
      values.push_back(
          add(Opcode::Concatenate, pick(2) ? std::vector{x, y} : std::vector{y, x}, to, attrs));
      return;
    }
    case 10: {
      if (rank < 2)
        return;
      const int dim = pick(rank);
      to.erase(to.begin() + dim);
      attrs.dimensions = {dim};
      values.push_back(add(Opcode::Reduce, {x, zero}, to, attrs));
      return;
    }
    case 11: {
      if (rank != 2)
        return;
      OpId y = add(Opcode::Parameter, {}, {dims[1], 1 + pick(6)});
      attrs.dot.lhsContracting = {1};
      attrs.dot.rhsContracting = {0};
      to[1] = graph[y].shape.dims[1];
      values.push_back(add(Opcode::Dot, {x, y}, to, attrs));
      return;
    }
    default:
      for (OpId y : values)
        if (y != x && graph[y].shape.dims == dims) {
          values.push_back(add(Opcode::Add, {x, y}, dims));
          return;
        }
      values.push_back(add(Opcode::Negate, {x}, dims));
    }
  }

  std::mt19937 random;
  std::vector<OpId> values;
};

struct Totals {
  long graphs = 0, points = 0, accepted = 0, wrong = 0;
};

/// Checks one point of the space; false where a tile is wrong.
bool checkPoint(const Graph &graph, const TiledGroup &tiled, const Dims &values) {
  const TileSpace &space = tiled.space;
  const Dims counts = tileCounts(space, values);
  int64_t steps = 1;
  for (size_t i = 0; i < counts.size(); ++i)
    if (space.parameters[i].role == TileParameter::Role::Sequential)
      steps *= counts[i];
  const int64_t ctas = ctaCount(space, values).value();
  Assignment point = space.assign(values);
  for (int64_t cta = 0; cta < ctas; ++cta) {
    std::vector<std::set<int64_t>> needed(graph.size()), covered(graph.size());
    for (int64_t step = 0; step < steps; ++step) {
      setCta(space, values, cta * steps + step, true, point);
      for (size_t i = 0; i < tiled.instances.size(); ++i) {
        const TileInstance &instance = tiled.instances[i];
        auto tile = numericTile(instance.tile, point);
        if (!tile)
          return false;
        std::vector<int64_t> elements = elementsOf(*tile, graph[instance.op].shape.dims);
        for (int64_t e : elements)
          if (e < 0 || e >= product(graph[instance.op].shape.dims))
            return false;
        if (validCount(*tile) != static_cast<int64_t>(elements.size()))
          return false;
        if (std::count(tiled.roots.begin(), tiled.roots.end(), i))
          needed[instance.op.index].insert(elements.begin(), elements.end());
        covered[instance.op.index].insert(elements.begin(), elements.end());
      }
    }
    for (uint32_t i = static_cast<uint32_t>(graph.size()); i > 0; --i) {
      const Op &op = graph[OpId{i - 1}];
      if (op.operands.empty())
        continue;
      std::vector<std::set<int64_t>> read(op.operands.size());
      for (int64_t e : needed[i - 1])
        reads(graph, op, e, read);
      for (size_t k = 0; k < op.operands.size(); ++k)
        needed[op.operands[k].index].insert(read[k].begin(), read[k].end());
    }
    // Views inside a chain may have no instance; everything else is covered exactly.
    for (const TileInstance &instance : tiled.instances) {
      const uint32_t i = instance.op.index;
      const Opcode opcode = graph[instance.op].opcode;
      if (opcode == Opcode::Reshape || opcode == Opcode::Transpose || opcode == Opcode::Constant)
        continue;
      bool isExact = true;
      for (unsigned other : tiled.instancesOf(instance.op))
        isExact &= tiled.instances[other].exactness == Exactness::Exact;
      if (isExact ? covered[i] != needed[i]
                  : !std::includes(covered[i].begin(), covered[i].end(), needed[i].begin(),
                                   needed[i].end()))
        return false;
    }
  }
  return true;
}

void checkGraph(unsigned seed, Totals &totals) {
  RandomGraph made(seed);
  ExprContext context;
  auto group = makeGroup(made.graph, made.ops());
  if (!group) {
    llvm::consumeError(group.takeError()); // the root is a parameter
    return;
  }
  auto tiled = tileGroup(made.graph, *group, context);
  if (!tiled) {
    // Ops that the root does not need may use a value of the group: a second root.
    Diag diag = takeDiag(tiled.takeError());
    EXPECT_EQ(diag.cls, DiagClass::Unsupported);
    EXPECT_NE(diag.message.find("can't be results of one kernel"), std::string::npos)
        << diag.message;
    return;
  }
  ++totals.graphs;
  for (int attempt = 0; attempt < 12; ++attempt) {
    Dims values;
    for (const TileParameter &p : tiled->space.parameters) {
      int64_t value = p.role == TileParameter::Role::Schedule ? 1 : 1 + made.pick(p.largest());
      if (made.pick(3) == 0 && p.role != TileParameter::Role::Schedule)
        value = p.largest();
      while (made.pick(2) == 0 && value > 1 && p.largest() % value != 0)
        --value;
      values.push_back(value);
    }
    ++totals.points;
    std::optional<bool> accepted = isFeasible(*tiled, values);
    ASSERT_TRUE(accepted.has_value());
    if (!*accepted)
      continue;
    ++totals.accepted;
    if (checkPoint(made.graph, *tiled, values))
      continue;
    ++totals.wrong;
    if (totals.wrong <= 3) {
      std::string text = "seed " + std::to_string(seed) + " sizes";
      for (int64_t v : values)
        text += " " + std::to_string(v);
      for (const TileInstance &i : tiled->instances) {
        text += "\n  " + std::string(toString(made.graph[i.op].opcode)) + " %" +
                made.graph[i.op].name + " " + made.graph[i.op].shape.str(false) + " (";
        for (OpId operand : made.graph[i.op].operands)
          text += " %" + made.graph[operand].name;
        text += " ) " + i.tile.str(made.graph[i.op].shape.dims);
      }
      for (const Constraint &c : tiled->constraints)
        text += "\n  requires " + c.formula.str();
      ADD_FAILURE() << text;
    }
  }
}

} // namespace

TEST(GraphTiles, HoldExactlyWhatEveryCtaNeeds) {
  Totals totals;
  for (unsigned seed = 1; seed <= 2500; ++seed)
    checkGraph(seed, totals);
  EXPECT_EQ(totals.wrong, 0);
  EXPECT_GT(totals.graphs, 2000);
  EXPECT_GT(totals.accepted, totals.points / 4);
  RecordProperty("points", static_cast<int>(totals.points));
  RecordProperty("accepted", static_cast<int>(totals.accepted));
}
