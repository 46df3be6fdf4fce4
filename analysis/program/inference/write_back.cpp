#include "analysis/program/inference/write_back.h"

#include "analysis/program/layout/program_layouts.h"
#include "analysis/program/pass/edit.h"
#include "analysis/program/verify.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <array>
#include <set>

namespace tilewright::inference {

using program::BufferId;
using program::LayoutFamily;
using program::LayoutSpec;
using program::Op;
using program::Program;
using program::Region;
using program::ScalarExpr;
using program::ScalarNode;
using program::ValueId;

namespace {

class WriteBack {
public:
  WriteBack(const Program &source, LayoutProblem &problem, const InferredLayouts &layouts)
      : source(source), p(source), problem(problem), layouts(layouts), graph(problem.graph()) {
    for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const GraphNode &node = graph.nodes[n];
      if (node.kind == NodeKind::Carried)
        carried[node.value] = n;
      else if (node.kind == NodeKind::Buffer)
        buffers.push_back(n);
      else if (node.kind == NodeKind::Cast && !node.op->as<program::RelayoutOp>())
        refuse(*node.op, fmt::format("{} is cast, which is not written back: give it that layout "
                                     "in the text",
                                     node.name));
      else
        nodesOf[node.op].push_back(n);
    }
    program::forEachOp(source.body, [&](const Op &op, const program::LoopNest &) {
      if (const auto *dot = op.as<program::DotOp>())
        hasGroups = hasGroups || dot->way == program::DotWay::Wgmma;
      if (const auto *read = op.as<program::ReadOp>(); read && !read->axes.empty())
        readInParts.insert(read->buffer);
    });
    for (const InferredMove &move : layouts.moves)
      moves[{move.from, move.to}] = &move;
  }

  llvm::Expected<Program> run() {
    for (uint32_t n : buffers)
      writeForm(n);
    p.body = region(source.body);
    if (!refusal.empty())
      return source.errorAt(refusedAt, refusal, DiagClass::Unsupported);
    if (llvm::Error wrong = program::inferTypes(p))
      return wrong;
    if (llvm::Error wrong = program::verify(p).error(p))
      return wrong;
    return std::move(p);
  }

private:
  void refuse(const Op &op, const std::string &why) {
    if (refusal.empty()) {
      refusal = why;
      refusedAt = op.where;
    }
  }

  const NodeLabel &labelOf(uint32_t n) const { return layouts.nodes[n].label; }
  const LayoutEntry &entry(LayoutId id) const { return problem.table()[id]; }

  LayoutSpec specOf(LayoutId id, const TileBox &box) const {
    if (std::optional<LayoutSpec> sums = sumsOf(id, box))
      return *sums;
    LayoutSpec spec;
    spec.family = LayoutFamily::Digits;
    spec.digits = entry(id).layout.toProgram(box.axes, *p.context);
    return spec;
  }

  /// Results of matrix instructions by their family, which verifier and emission look for.
  std::optional<LayoutSpec> sumsOf(LayoutId id, const TileBox &box) const {
    const layout::TileLayout &wanted = entry(id).layout;
    const int64_t warps = wanted.count(layout::Hardware::Warp);
    if (box.axes.size() != 2)
      return std::nullopt;
    // wgmma(1, 1) and mma(4, 1) are one layout.
    for (LayoutFamily family : hasGroups ? std::array{LayoutFamily::Wgmma, LayoutFamily::Mma}
                                         : std::array{LayoutFamily::Mma, LayoutFamily::Wgmma}) {
      const int64_t parts = family == LayoutFamily::Wgmma ? warps / 4 : warps;
      for (int64_t r = 1; r <= parts; ++r) {
        if (parts % r != 0)
          continue;
        LayoutSpec spec{family, {p.number(r), p.number(parts / r)}, {}};
        auto made =
            layout::TileLayout::of(p.layoutFor(spec, box.axes, DType::F32), box.axes, box.dims);
        if (made && *made == wanted)
          return spec;
        if (!made)
          llvm::consumeError(made.takeError());
      }
    }
    return std::nullopt;
  }

  /// A buffer takes the form that was chosen for it, unless that is the one it has, needs more
  /// memory than the buffer that it lies in, or another order than parts of it are read in.
  void writeForm(uint32_t n) {
    const GraphNode &node = graph.nodes[n];
    const SharedForm &form = problem.table().form(labelOf(n).result.id);
    llvm::Expected<layout::SharedLayout> given =
        layout::sharedLayoutOf(source, source[node.buffer]);
    const bool isGiven = given && *given == form.shared;
    program::Buffer &buffer = p.buffers[node.buffer.index];
    program::Buffer other = buffer;
    setForm(other, form, node.space);
    const bool isReordered = readInParts.count(node.buffer) && other.order != buffer.order;
    const bool isLarger = buffer.alias.isValid() && given && form.shared.bytes() > given->bytes();
    if (!isGiven && !isReordered && !isLarger)
      buffer = other;
    if (!given)
      llvm::consumeError(given.takeError());
  }
  void setForm(program::Buffer &buffer, const SharedForm &form, const TileBox &box) const {
    buffer.order.clear();
    for (size_t dim : form.order)
      buffer.order.push_back(box.axes[dim]);
    buffer.swizzle = form.swizzle;
    buffer.padElements = form.padElements;
    buffer.permute = form.permute == 0 ? Expr() : p.number(form.permute);
  }

  ValueId addValue(const std::string &wanted) {
    const std::string name = program::freeName(p, wanted);
    p.values.push_back({name, p.context->variable(VarKind::Runtime, name), {}});
    return {static_cast<uint32_t>(p.values.size() - 1)};
  }

  /// `boundary`: a number of ops at the front of `ops`; becomes that of what is made of them.
  Region region(const Region &ops, uint32_t *boundary = nullptr) {
    Region result;
    const uint32_t front = boundary ? *boundary : 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (boundary && i == front)
        *boundary = static_cast<uint32_t>(result.size());
      const Op &op = ops[i];
      Op made = op;
      if (auto *loop = made.as<program::ForOp>()) {
        loop->body = region(op.as<program::ForOp>()->body, &loop->issueAt);
      } else {
        const std::vector<const Region *> before = program::regionsOf(op);
        const std::vector<Region *> inner = program::regionsOf(made);
        for (size_t r = 0; r < inner.size(); ++r)
          *inner[r] = region(*before[r]);
      }
      if (auto found = nodesOf.find(&op); found != nodesOf.end() && refusal.empty())
        write(op, std::move(made), found->second, result);
      else
        result.push_back(std::move(made));
    }
    if (boundary && front >= ops.size())
      *boundary = static_cast<uint32_t>(result.size());
    return result;
  }

  /// The ops of one op: maps of what it computes, conversions, itself.
  void write(const Op &op, Op made, const std::vector<uint32_t> &nodes, Region &into) {
    const bool isWrite = op.as<program::WriteOp>() != nullptr;
    const uint32_t main = nodes[0];
    std::map<uint32_t, ValueId> fronts; // nodes that are maps in front, and their values
    if (graph.nodes[main].kind == NodeKind::SumSplits && graph.nodes[main].resultCount == 1)
      return writeSums(op, std::move(made), nodes, into);
    for (uint32_t n : nodes) {
      if (n == main && !isWrite)
        continue;
      ScalarExpr *scalar = scalarFor(made, graph.nodes[n]);
      if (!scalar)
        return refuse(op, fmt::format("{} is not written back", graph.nodes[n].name));
      fronts[n] = writeFront(op, n, *scalar, into);
      if (!refusal.empty())
        return;
      *scalar = valueExpr(fronts[n]);
    }
    if (isWrite) // as the value is held
      return into.push_back(std::move(made));
    convertUses(op, main, made, fronts, into);
    setLayout(made, main);
    define(op, main, std::move(made), into);
  }

  static ScalarExpr valueExpr(ValueId value) {
    ScalarExpr scalar;
    ScalarNode node;
    node.kind = ScalarNode::Kind::Value;
    node.value = value;
    scalar.add(node);
    return scalar;
  }

  /// The expression of an op that a node in front of it computes.
  ScalarExpr *scalarFor(Op &op, const GraphNode &node) const {
    if (auto *o = op.as<program::StoreOp>())
      return &o->value;
    if (auto *o = op.as<program::AtomicOp>())
      return &o->value;
    if (auto *o = op.as<program::ReduceOp>())
      return &o->value;
    if (auto *o = op.as<program::ScanOp>())
      return &o->value;
    if (auto *o = op.as<program::WriteOp>())
      return &o->value;
    if (auto *o = op.as<program::DotOp>())
      return node.name.rfind("left", 0) == 0 ? &o->left : &o->right;
    return nullptr;
  }

  /// A map of its own for a scalar expression, with the type that the node has.
  ValueId writeFront(const Op &op, uint32_t n, const ScalarExpr &scalar, Region &into) {
    const GraphNode &node = graph.nodes[n];
    program::MapOp map{scalar, specOf(labelOf(n).result.id, node.result)};
    const DType wanted = typeOf(op, scalar);
    if (wanted != scalar.type()) {
      ScalarNode convert;
      convert.kind = ScalarNode::Kind::Operation;
      convert.opcode = Opcode::Convert;
      convert.operands = {static_cast<uint32_t>(scalar.nodes.size() - 1)};
      convert.type = wanted;
      map.value.add(convert);
    }
    const ValueId value = addValue("v");
    types[value] = wanted;
    Op made{std::move(map), {value}, op.where};
    convertUses(op, n, made, {}, into);
    into.push_back(std::move(made));
    return value;
  }

  /// What memory holds: stores and writes convert on their way.
  DType typeOf(const Op &op, const ScalarExpr &scalar) const {
    if (const auto *o = op.as<program::StoreOp>())
      return source[o->to.tensor].type;
    if (const auto *o = op.as<program::AtomicOp>())
      return source[o->to.tensor].type;
    if (const auto *o = op.as<program::WriteOp>())
      return source[o->buffer].type;
    return scalar.type();
  }

  /// Operands as a node needs them.
  void convertUses(const Op &op, uint32_t n, Op &made, const std::map<uint32_t, ValueId> &fronts,
                   Region &into) {
    const GraphNode &node = graph.nodes[n];
    std::map<ValueId, ValueId> moved;
    for (size_t u = 0; u < node.uses.size(); ++u) {
      const GraphUse &use = node.uses[u];
      const Held has = labelOf(use.from).result, needs = labelOf(n).needs[u];
      if (has == needs || has.kind == Held::Kind::Nothing || needs.kind == Held::Kind::Nothing ||
          has.kind == Held::Kind::Form)
        continue;
      auto front = fronts.find(use.from);
      const ValueId value = front != fronts.end() ? front->second : valueNamed(use.value);
      if (!value.isValid() || isIndex(made, value))
        return refuse(
            op, fmt::format("{} is an index that is held otherwise than it is needed", use.value));
      if (needs.kind == Held::Kind::Form) {
        writeOperand(op, made, u, value, needs.id, use.box, into);
        continue;
      }
      if (entry(has.id).text == entry(needs.id).text && use.box.axes.empty())
        continue;
      moved[value] = converted(op, {use.from, n}, value, needs.id, use.box, into);
    }
    if (!moved.empty())
      program::replaceReads(made, moved, {});
  }

  /// An operand of a dot that is computed goes through a buffer of its own.
  void writeOperand(const Op &op, Op &made, size_t use, ValueId value, FormId form,
                    const TileBox &box, Region &into) {
    auto *dot = made.as<program::DotOp>();
    if (!dot || use > 1)
      return refuse(op, fmt::format("{} goes through shared memory", p[value].name));
    const BufferId id = addBuffer(typeOfValue(value), form, box);
    into.push_back({program::WriteOp{id, valueExpr(value)}, {}, op.where});
    ScalarNode slot;
    slot.kind = ScalarNode::Kind::Slot;
    slot.buffer = id;
    slot.type = p[id].type;
    ScalarExpr &side = use == 0 ? dot->left : dot->right;
    side = {};
    side.add(slot);
  }

  BufferId addBuffer(DType type, FormId form, const TileBox &box) {
    program::Buffer buffer;
    buffer.name = program::freeName(p, "X");
    buffer.type = type;
    buffer.stages = p.number(1);
    setForm(buffer, problem.table().form(form), box);
    p.buffers.push_back(std::move(buffer));
    return {static_cast<uint32_t>(p.buffers.size() - 1)};
  }

  ValueId valueNamed(const std::string &name) const {
    for (uint32_t v = 0; v < source.values.size(); ++v)
      if (source.values[v].name == name)
        return {v};
    return {};
  }
  bool isIndex(const Op &op, ValueId value) const {
    const program::Access *access = program::accessOf(op);
    if (!access || value.index >= source.values.size())
      return false;
    return std::any_of(access->index.begin(), access->index.end(), [&](Expr index) {
      const std::vector<VarId> variables = variablesOf(index);
      return std::find(variables.begin(), variables.end(), p[value].var.variable()) !=
             variables.end();
    });
  }

  /// The same value, held otherwise.
  ValueId converted(const Op &op, std::pair<uint32_t, uint32_t> edge, ValueId value, LayoutId to,
                    const TileBox &box, Region &into) {
    const ValueId result = addValue(p[value].name + "c");
    types[result] = typeOfValue(value);
    convertInto(op, edge, value, result, to, box, into);
    return result;
  }
  void convertInto(const Op &op, std::pair<uint32_t, uint32_t> edge, ValueId value, ValueId result,
                   LayoutId to, const TileBox &box, Region &into) {
    auto move = moves.find(edge);
    if (move == moves.end() || move->second->move.way != Move::Way::Shared) {
      into.push_back({program::RelayoutOp{value, specOf(to, box)}, {result}, op.where});
      return;
    }
    const BufferId id = addBuffer(typeOfValue(value), move->second->move.form, box);
    into.push_back({program::WriteOp{id, valueExpr(value)}, {}, op.where});
    program::ReadOp read;
    read.buffer = id;
    read.layout = specOf(to, box);
    into.push_back({std::move(read), {result}, op.where});
  }
  /// Of a value of the text its type; of a map in front the one of its expression.
  DType typeOfValue(ValueId value) const {
    if (value.index < source.values.size())
      return source[value].tile.type;
    return types.at(value);
  }

  void setLayout(Op &made, uint32_t n) {
    const GraphNode &node = graph.nodes[n];
    const Held label = node.kind == NodeKind::Store ? labelOf(n).held : labelOf(n).result;
    if (label.kind != Held::Kind::Layout)
      return;
    const TileBox &box = node.kind == NodeKind::Store ? node.space : node.result;
    LayoutSpec spec = specOf(label.id, box);
    if (auto *o = made.as<program::LoadOp>())
      o->layout = spec;
    else if (auto *o = made.as<program::ReadOp>())
      o->layout = spec;
    else if (auto *o = made.as<program::MapOp>())
      o->layout = spec;
    else if (auto *o = made.as<program::FullOp>())
      o->layout = spec;
    else if (auto *o = made.as<program::StoreOp>())
      o->layout = spec;
    else if (auto *o = made.as<program::DotOp>(); o && !o->isAdded)
      o->layout = spec;
  }

  /// The op's result; of a value that is assigned more than once in the layout that it has.
  void define(const Op &op, uint32_t n, Op made, Region &into) {
    auto found = made.results.empty() ? carried.end() : carried.find(made.results[0]);
    const Held has = labelOf(n).result;
    if (found == carried.end() || has.kind != Held::Kind::Layout ||
        labelOf(found->second).result == has) {
      into.push_back(std::move(made));
      return;
    }
    const auto *dot = op.as<program::DotOp>();
    if ((dot && dot->isAdded) || made.results.size() > 1)
      return refuse(
          op, fmt::format("{} is added to where it is held otherwise", source[op.results[0]].name));
    const ValueId kept = made.results[0], fresh = addValue(source[kept].name + "c");
    types[fresh] = source[kept].tile.type;
    made.results[0] = fresh;
    into.push_back(std::move(made));
    convertInto(op, {n, found->second}, fresh, kept, labelOf(found->second).result.id,
                graph.nodes[found->second].result, into);
  }

  void writeSums(const Op &op, Op made, const std::vector<uint32_t> &nodes, Region &into) {
    for (uint32_t n : nodes)
      convertUses(op, n, made, {}, into);
    into.push_back(std::move(made));
  }

  const Program &source;
  Program p;
  LayoutProblem &problem;
  const InferredLayouts &layouts;
  const TileGraph &graph;
  std::map<const Op *, std::vector<uint32_t>> nodesOf;
  std::map<ValueId, uint32_t> carried; ///< nodes of values that are assigned more than once
  std::vector<uint32_t> buffers;
  std::set<BufferId> readInParts;
  bool hasGroups = false;
  std::map<std::pair<uint32_t, uint32_t>, const InferredMove *> moves;
  std::map<ValueId, DType> types; ///< of values that are new
  std::string refusal;
  SourceLoc refusedAt;
};

} // namespace

llvm::Expected<Program> withLayouts(const Program &program, LayoutProblem &problem,
                                    const InferredLayouts &layouts) {
  return WriteBack(program, problem, layouts).run();
}

} // namespace tilewright::inference
