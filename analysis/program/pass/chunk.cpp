#include "analysis/program/pass/chunk.h"

#include "analysis/program/pass/edit.h"
#include "analysis/program/substitute.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <map>

namespace tilewright::program {

namespace {

/// An op that makes or takes each lane by itself, along the axes that it does not go over.
bool isPointwise(const Op &op) {
  return op.as<LoadOp>() || op.as<StoreOp>() || op.as<AtomicOp>() || op.as<MapOp>() ||
         op.as<FullOp>() || op.as<ForOp>() || op.as<ReduceOp>();
}

class Chunker {
public:
  Chunker(const Program &program, const ChunkSize &size) : p(program), size(size) {}

  llvm::Expected<Program> run() {
    if (llvm::Error error = checkOps())
      return error;
    findTiles();
    if (tiles.empty())
      return makeError(DiagClass::Unsupported, "{} has no tiles: it is made by one CTA", p.name);
    Expr left = rowsAtOnce();
    if (!left)
      left = p.warps * (32 * size.elements);
    for (size_t i = tiles.size(); i-- > 0;)
      left = cut(tiles[i], left, i + 1 == tiles.size());
    Region outside, body;
    split(outside, body);
    for (size_t i = tiles.size(); i-- > 0;) {
      ForOp loop;
      loop.name = p.context->info(tiles[i].part.variable()).name;
      loop.var = tiles[i].part;
      loop.trips = tiles[i].parts;
      loop.body = std::move(body);
      body = {};
      body.push_back({std::move(loop), {}, {}});
    }
    outside.insert(outside.end(), std::make_move_iterator(body.begin()),
                   std::make_move_iterator(body.end()));
    p.body = std::move(outside);
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(p);
  }

private:
  /// An axis of which each CTA has a tile.
  struct Tiled {
    AxisId axis;
    size_t variable; ///< of the grid
    Expr part, parts;
  };

  llvm::Error checkOps() const {
    const Op *other = nullptr;
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      bool copies = op.as<ForOp>() && !op.as<ForOp>()->issue.empty();
      if (!other && (!isPointwise(op) || copies))
        other = &op;
    });
    if (other)
      return makeError(DiagClass::Unsupported, "{}: {} needs the whole tile", p.name,
                       kindName(*other));
    return llvm::Error::success();
  }

  /// Rows that threads have at once where something is reduced; null: nothing is.
  Expr rowsAtOnce() const {
    Expr rows;
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      const auto *reduce = op.as<ReduceOp>();
      if (!reduce || rows)
        return;
      Expr threads = p.warps * 32;
      const LayoutSpec *spec = nullptr;
      for (const ScalarNode &node : reduce->value.nodes)
        if (!spec && node.kind == ScalarNode::Kind::Value &&
            p[node.value].tile.axes == p.axesOf(reduce->value))
          spec = layoutOf(p, node.value);
      bool isAlong =
          spec && (spec->family == LayoutFamily::Rows || spec->family == LayoutFamily::Columns);
      rows = isAlong ? threads.floorDiv(spec->arguments[1]) : threads.pow2Divisor();
    });
    return rows;
  }

  /// Everything that is stored or reduced has lanes along the axis, none of which meet.
  bool isSeparate(AxisId axis) const {
    bool isFound = true;
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      if (op.as<StoreOp>() || op.as<AtomicOp>())
        isFound = isFound && contains(p.axesOf(*accessOf(op)), axis);
      if (const auto *reduce = op.as<ReduceOp>())
        isFound =
            isFound && contains(p.axesOf(reduce->value), axis) && !contains(reduce->over, axis);
    });
    return isFound;
  }

  void findTiles() {
    for (uint32_t a = 0; a < p.axes.size(); ++a)
      for (size_t v = 0; v < p.grid.variables.size(); ++v) {
        const GridVariable &variable = p.grid.variables[v];
        const Axis &axis = p.axes[a];
        if (axis.bound && axis.origin == variable.var * axis.extent &&
            variable.count == axis.bound.ceilDiv(axis.extent) && isAlone(v) &&
            isSeparate(AxisId{a}))
          tiles.push_back({AxisId{a}, v, Expr(), Expr()});
      }
  }

  /// The variable moves one axis and nothing else.
  bool isAlone(size_t variable) const {
    size_t uses = 0;
    Program copy = p;
    rewriteExprs(copy, [&](Expr &e) {
      std::vector<VarId> variables = variablesOf(e);
      uses += static_cast<size_t>(std::count(variables.begin(), variables.end(),
                                             p.grid.variables[variable].var.variable()));
    });
    return uses == 1;
  }

  Expr let(const std::string &wanted, Expr value) {
    std::string name = freeName(p, wanted);
    Expr var = p.context->variable(VarKind::TileParam, name);
    p.lets.push_back({name, var, value});
    return var;
  }

  /// Cuts an axis into parts of `most` lanes at most; returns how many of them fit, at least 1.
  Expr cut(Tiled &tile, Expr most, bool isFastest) {
    Axis &axis = p.axes[tile.axis.index];
    Expr whole = axis.extent, parts = whole.ceilDiv(most);
    Expr each = whole.ceilDiv(parts);
    if (isFastest && size.vector > 1)
      each = select(parts.isAtLeast(p.number(2)), each.ceilDiv(size.vector) * size.vector, whole);
    axis.extent = let("C" + axis.name, each);
    tile.parts = whole.ceilDiv(axis.extent);
    tile.part = p.context->variable(VarKind::Step, freeName(p, "u" + axis.name));
    GridVariable &variable = p.grid.variables[tile.variable];
    axis.origin = (variable.var * tile.parts + tile.part) * axis.extent;
    variable.count = axis.bound.ceilDiv(axis.extent * tile.parts);
    return most.floorDiv(axis.extent).max(1);
  }

  /// What has no axes and is made once stays in front of the loops.
  void split(Region &outside, Region &body) {
    std::map<ValueId, size_t> assigned;
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      for (ValueId id : op.results)
        ++assigned[id];
    });
    std::vector<bool> isOutside(p.values.size());
    for (Op &op : p.body) {
      bool stays = (op.as<LoadOp>() || op.as<MapOp>() || op.as<FullOp>()) &&
                   p[op.results[0]].tile.axes.empty() && assigned[op.results[0]] == 1;
      auto reads = [&](ValueId id) { stays = stays && isOutside[id.index]; };
      for (const ScalarExpr *scalar : scalarsOf(op))
        for (const ScalarNode &node : scalar->nodes)
          if (node.kind == ScalarNode::Kind::Value)
            reads(node.value);
      auto readsIn = [&](Expr e) {
        for (VarId var : variablesOf(e))
          if (p.valueOf(var).isValid())
            reads(p.valueOf(var));
      };
      if (const Access *access = accessOf(op))
        for (Expr index : access->index)
          readsIn(index);
      if (const auto *load = op.as<LoadOp>())
        for (const Condition &condition : load->conditions)
          for (Expr e : {condition.value, condition.low, condition.high})
            readsIn(e);
      if (stays)
        isOutside[op.results[0].index] = true;
      (stays ? outside : body).push_back(std::move(op));
    }
  }

  Program p;
  ChunkSize size;
  std::vector<Tiled> tiles;
};

} // namespace

llvm::Expected<Program> chunk(const Program &program, const ChunkSize &size) {
  return Chunker(program, size).run();
}

} // namespace tilewright::program
