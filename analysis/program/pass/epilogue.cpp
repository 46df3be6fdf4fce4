#include "analysis/program/pass/epilogue.h"

#include "analysis/program/fold.h"
#include "analysis/program/pass/edit.h"
#include "analysis/program/pass/layouts.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace tilewright::program {

namespace {

class EpilogueMaker {
public:
  EpilogueMaker(const Program &program, const SizeValues &sizes, const ChunkSize &size)
      : p(program), sizes(assignmentOf(program, sizes)), size(size) {}

  llvm::Expected<Program> run() {
    std::string why = findSums();
    if (why.empty())
      why = divideOps();
    if (!why.empty())
      return makeError(DiagClass::Unsupported, "{}: {}", p.name, why);
    chooseDirection();
    findType();
    if (std::string unfit = placeTile(); !unfit.empty())
      return makeError(DiagClass::Unsupported, "{}: {}", p.name, unfit);
    makeParts();
    rebuild();
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(p);
  }

private:
  /// The one loop with one product, of rows and columns; else why not.
  std::string findSums() {
    for (size_t i = 0; i < p.body.size(); ++i) {
      const auto *o = p.body[i].as<ForOp>();
      if (!o)
        continue;
      if (loop)
        return "several loops";
      loop = i;
      for (const Op &op : o->body) {
        const auto *dot = op.as<DotOp>();
        if (!dot || dot->way == DotWay::Fma || !dot->isAdded || o->body.size() > 1)
          return "no loop of one product by a matrix instruction";
        sums = op.results[0];
      }
      for (const Op &op : o->issue)
        if (const auto *copy = op.as<CopyOp>())
          hosts.insert(copy->buffer);
    }
    if (!sums.isValid() || hosts.empty() || p[sums].tile.axes.size() != 2)
      return "no loop of one product by a matrix instruction";
    if (hosts.rbegin()->index - hosts.begin()->index + 1 != hosts.size())
      return "its rings are not declared one behind the other";
    behind = *loop + 1;
    if (behind < p.body.size() && p.body[behind].as<SumSplitsOp>())
      ++behind;
    return "";
  }

  void addUses(const Op &op, std::set<ValueId> &uses) const {
    Program one; // expressions of an op, whatever it is
    one.context = p.context;
    one.body = {op};
    rewriteExprs(one, [&](Expr &e) {
      for (VarId var : variablesOf(e))
        if (ValueId value = p.valueOf(var); value.isValid())
          uses.insert(value);
    });
    forEachOpOf(op, [&](const Op &inner) {
      for (const ScalarExpr *scalar : scalarsOf(inner))
        for (const ScalarNode &node : scalar->nodes)
          if (node.kind == ScalarNode::Kind::Value)
            uses.insert(node.value);
      uses.insert(inner.results.begin(), inner.results.end());
    });
  }

  /// What the loop needs stays in front of it.
  std::string divideOps() {
    std::set<ValueId> needed;
    addUses(p.body[*loop], needed);
    std::vector<Op> early, late;
    for (size_t i = *loop; i-- > 0;) {
      const Op &op = p.body[i];
      bool isNeeded = std::any_of(op.results.begin(), op.results.end(),
                                  [&](ValueId id) { return needed.count(id) > 0; });
      if (isNeeded)
        addUses(op, needed);
      (isNeeded ? early : late).insert((isNeeded ? early : late).begin(), op);
    }
    late.insert(late.end(), p.body.begin() + static_cast<ptrdiff_t>(behind), p.body.end());
    for (const Op &op : late) {
      if (!op.as<LoadOp>() && !op.as<MapOp>() && !op.as<StoreOp>())
        return fmt::format("{} behind the product needs the whole tile", kindName(op));
      AxisSet axes = axesOf(op);
      if (!without(axes, p[sums].tile.axes).empty())
        return fmt::format("{} behind the product goes along other axes", kindName(op));
    }
    before = std::move(early);
    moved = std::move(late);
    return "";
  }

  AxisSet axesOf(const Op &op) const {
    AxisSet axes;
    for (ValueId id : op.results)
      unite(axes, p[id].tile.axes);
    if (const Access *access = accessOf(op))
      unite(axes, p.axesOf(*access));
    for (const ScalarExpr *scalar : scalarsOf(op))
      unite(axes, p.axesOf(*scalar));
    return axes;
  }

  /// Threads run along the memory of the first result.
  void chooseDirection() {
    const AxisSet &axes = p[sums].tile.axes;
    slow = axes[0];
    fast = axes[1];
    for (const Op &op : moved)
      if (const auto *store = op.as<StoreOp>()) {
        Expr along = contiguousIndex(p, store->to);
        AxisSet run = along ? p.axesOf(along) : AxisSet{};
        if (contains(run, slow) && !contains(run, fast))
          std::swap(slow, fast);
        return;
      }
  }

  /// Sums that are only used as a narrower type are stored as that.
  void findType() {
    type = p[sums].tile.type;
    std::optional<DType> narrow;
    bool isOne = true;
    for (const Op &op : moved)
      for (const ScalarExpr *scalar : scalarsOf(op)) {
        if (scalar->root().kind == ScalarNode::Kind::Value && scalar->root().value == sums)
          isOne = false;
        for (const ScalarNode &node : scalar->nodes)
          for (uint32_t operand : node.operands)
            if (isSums(scalar->nodes[operand])) {
              isOne = isOne && node.opcode == Opcode::Convert && (!narrow || *narrow == node.type);
              narrow = node.type;
              conversion = isOne ? std::optional(node) : std::nullopt;
            }
      }
    constexpr unsigned leastBits = 16;
    isNarrowed =
        isOne && narrow && bitWidth(*narrow) >= leastBits && bitWidth(*narrow) <= bitWidth(type);
    if (isNarrowed)
      type = *narrow;
  }

  bool isSums(const ScalarNode &node) const {
    return node.kind == ScalarNode::Kind::Value && node.value == sums;
  }

  int64_t numberOf(Expr expr) const { return evaluate(p.resolved(expr), sizes).value_or(0); }

  /// Rows an odd multiple of eight elements apart, or swizzled, as they fit.
  std::string placeTile() {
    Buffer tile;
    tile.name = freeName(p, "X");
    tile.type = type;
    tile.order = {slow, fast};
    tile.stages = p.number(1);
    tile.alias = *hosts.begin();
    tile.hosts = static_cast<uint32_t>(hosts.size());
    int64_t room = 0, length = numberOf(p[fast].extent);
    for (BufferId host : hosts)
      room += numberOf(bufferBytes(p, p[host]));
    constexpr int64_t eight = 8;
    const int64_t padding = length / eight % 2 == 0 ? eight : 0;
    auto fits = [&](int64_t pad, int64_t swizzle) {
      tile.padElements = pad;
      tile.swizzle = swizzle;
      bool isWhole =
          swizzle == 0 || length * static_cast<int64_t>(bitWidth(type)) / 8 % swizzle == 0;
      return isWhole && numberOf(bufferBytes(p, tile)) <= room;
    };
    for (auto [pad, swizzle] : {std::pair<int64_t, int64_t>(padding, 0), {0, 128}, {0, 64}, {0, 0}})
      if (fits(pad, swizzle)) {
        buffer = BufferId{static_cast<uint32_t>(p.buffers.size())};
        p.buffers.push_back(tile);
        return "";
      }
    return fmt::format("a tile of {} bytes does not fit into the {} bytes of the rings",
                       numberOf(bufferBytes(p, tile)), room);
  }

  Expr let(const std::string &wanted, Expr value) {
    std::string name = freeName(p, wanted);
    Expr var = p.context->variable(VarKind::TileParam, name);
    p.lets.push_back({name, var, value});
    return var;
  }

  /// Parts of as many rows as threads have elements of at once.
  void makeParts() {
    const std::string &name = p[buffer].name;
    width = let("V" + name, p.number(1));
    Axis axis = p[slow];
    Expr whole = axis.extent;
    Expr rows = (p.warps * (32 * size.elements)).floorDiv(p[fast].extent).max(1);
    Expr lanes = let("R" + name, whole.pow2Divisor().min((rows.floorDiv(2) + 1).pow2Ceil()));
    Expr parts = let("N" + name, whole.floorDiv(lanes));
    ForOp &o = steps;
    o.name = freeName(p, "u");
    o.var = p.context->variable(VarKind::Step, o.name);
    o.trips = parts;
    Expr tile = p.number(0);
    for (const GridVariable &variable : p.grid.variables)
      if (axis.origin == whole * variable.var)
        tile = variable.var;
    axis.name = freeName(p, "e");
    axis.var = p.context->variable(VarKind::Dim, axis.name);
    axis.origin = (tile * parts + o.var) * lanes;
    axis.extent = lanes;
    part = AxisId{static_cast<uint32_t>(p.axes.size())};
    p.axes.push_back(axis);
  }

  LayoutSpec layout() const { return {LayoutFamily::Flat, {width}, {}, {part, fast}}; }

  Expr alongPart(Expr e) const {
    return substitute(
        e, [&](VarId var) { return var == p[slow].var.variable() ? p[part].var : Expr(); });
  }

  /// The source of a value along the part.
  SourceId sourceOf(SourceId id) {
    auto [known, isNew] = sources.try_emplace(id, id);
    if (!isNew)
      return known->second;
    Source source = p.sources[id.index];
    for (Expr &at : source.at)
      at = alongPart(at);
    for (MapConstraint &condition : source.conditions)
      condition.expr = alongPart(condition.expr);
    known->second = SourceId{static_cast<uint32_t>(p.sources.size())};
    p.sources.push_back(std::move(source));
    return known->second;
  }

  ScalarNode sumsAsRead() const {
    ScalarNode node;
    node.kind = ScalarNode::Kind::Value;
    node.value = read;
    node.type = type;
    return node;
  }

  /// The same with what was read in place of the sums.
  void rewrite(ScalarExpr &scalar) {
    for (ScalarNode &node : scalar.nodes) {
      bool isConverted =
          isNarrowed && !node.operands.empty() && isSums(scalar.nodes[node.operands[0]]);
      if (isConverted || (!isNarrowed && isSums(node))) {
        std::vector<SourceId> own = isConverted ? std::vector<SourceId>() : node.sources;
        node = sumsAsRead();
        node.sources = std::move(own); // of a conversion they are where it is written
      }
      if (node.index)
        node.index = alongPart(node.index);
      for (SourceId &source : node.sources)
        source = sourceOf(source);
    }
    // Leaves that a conversion had are gone with it.
    ScalarExpr kept;
    std::vector<uint32_t> place(scalar.nodes.size());
    for (size_t i = 0; i < scalar.nodes.size(); ++i) {
      if (isSums(scalar.nodes[i]))
        continue;
      for (uint32_t &operand : scalar.nodes[i].operands)
        operand = place[operand];
      place[i] = kept.add(scalar.nodes[i]);
    }
    scalar = std::move(kept);
  }

  void rewrite(Op &op) {
    for (const ScalarExpr *scalar : scalarsOf(op))
      rewrite(const_cast<ScalarExpr &>(*scalar));
    if (const Access *access = accessOf(op))
      for (Expr &index : const_cast<Access *>(access)->index)
        index = alongPart(index);
    if (auto *load = op.as<LoadOp>()) {
      for (Condition &condition : load->conditions)
        for (Expr *e : {&condition.value, &condition.low, &condition.high})
          *e = alongPart(*e);
      load->layout = layout();
    }
    if (auto *store = op.as<StoreOp>())
      store->layout = layout();
    if (auto *map = op.as<MapOp>())
      map->layout = layout();
  }

  void rebuild() {
    Value value = p[sums];
    value.name = freeName(p, "x");
    value.var = p.context->variable(VarKind::Runtime, value.name);
    read = ValueId{static_cast<uint32_t>(p.values.size())};
    p.values.push_back(std::move(value));
    Region body = std::move(before);
    for (size_t i = *loop; i < behind; ++i)
      body.push_back(p.body[i]);
    std::set<ValueId> isInLoop{sums};
    Op reading;
    reading.what = ReadOp{buffer, Expr(), {part, fast}, layout()};
    reading.results = {read};
    steps.body.push_back(std::move(reading));
    for (Op &op : moved) {
      std::set<ValueId> uses;
      addUses(op, uses);
      bool isStep =
          op.as<StoreOp>() || contains(axesOf(op), slow) ||
          std::any_of(uses.begin(), uses.end(), [&](ValueId id) { return isInLoop.count(id) > 0; });
      if (isStep)
        isInLoop.insert(op.results.begin(), op.results.end());
      rewrite(op);
      (isStep ? steps.body : body).push_back(std::move(op));
    }
    WriteOp writing;
    writing.buffer = buffer;
    ScalarNode leaf = sumsAsRead();
    leaf.value = sums;
    leaf.type = p[sums].tile.type;
    uint32_t at = writing.value.add(leaf);
    if (isNarrowed) {
      conversion->operands = {at};
      writing.value.add(*conversion);
    }
    body.push_back({std::move(writing), {}, {}});
    body.push_back({std::move(steps), {}, {}});
    p.body = std::move(body);
  }

  Program p;
  Assignment sizes;
  ChunkSize size;
  std::optional<size_t> loop;
  size_t behind = 0; ///< the first op behind the loop and the sum of its splits
  ValueId sums, read;
  std::set<BufferId> hosts;
  Region before, moved;
  AxisId slow, fast, part;
  DType type = DType::F32; ///< of the tile in shared memory
  bool isNarrowed = false;
  std::optional<ScalarNode> conversion;
  BufferId buffer;
  Expr width;
  ForOp steps;
  std::map<SourceId, SourceId> sources;
};

} // namespace

llvm::Expected<Program> epilogueThroughShared(const Program &program, const SizeValues &sizes,
                                              const ChunkSize &size) {
  return EpilogueMaker(program, sizes, size).run();
}

} // namespace tilewright::program
