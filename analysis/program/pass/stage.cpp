#include "analysis/program/pass/stage.h"

#include "analysis/affine/linear_form.h"
#include "analysis/program/fold.h"
#include "analysis/program/pass/edit.h"
#include "analysis/program/pass/layouts.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::program {

namespace {

class Stager {
public:
  Stager(const Program &program, const SizeValues &sizes)
      : result{program, {}, {}}, p(result.program), sizes(assignmentOf(program, sizes)) {}

  llvm::Expected<StagedProgram> run() {
    LoopNest loops;
    region(p.body, loops);
    if (result.staged.empty()) {
      std::string why;
      for (const NotStaged &other : result.others)
        why += fmt::format("; {}: {}", other.load, other.reason);
      return makeError(DiagClass::Unsupported, "{}: no load is transposed{}", p.name, why);
    }
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(result);
  }

private:
  void region(Region &ops, LoopNest &loops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      loops.push_back(&ops[i]);
      for (Region *inner : regionsOf(ops[i]))
        region(*inner, loops);
      loops.pop_back();
      if (ops[i].as<LoadOp>() && stageLoad(ops, i, loops))
        i += 2; // the write and the read
    }
  }

  /// The axis along the memory of a load, where it is another one than its threads run along.
  AxisId transposedAxis(const LoadOp &load, AxisId fastest) const {
    Expr index = contiguousIndex(p, load.from);
    if (!index || !fastest.isValid() || contains(p.axesOf(index), fastest) ||
        !contains(p.axesOf(load.from), fastest))
      return AxisId{};
    LinearForm form = LinearForm::of(index);
    for (const LinearForm::Term &term : form.terms)
      if (term.coefficient == 1 && term.expr.isVariable())
        if (AxisId axis = p.axisOf(term.expr.variable()); axis.isValid())
          return axis;
    return AxisId{};
  }

  /// Loops around that do not go from one part of the tile to the next.
  bool isRepeated(const AxisSet &axes, const LoopNest &loops) const {
    return std::any_of(loops.begin(), loops.end(), [&](const Op *op) {
      const auto *loop = op->as<ForOp>();
      return !loop || std::none_of(axes.begin(), axes.end(), [&](AxisId axis) {
        std::vector<VarId> moving = variablesOf(p[axis].origin);
        return std::find(moving.begin(), moving.end(), loop->var.variable()) != moving.end();
      });
    });
  }

  bool stageLoad(Region &ops, size_t at, const LoopNest &loops) {
    const LoadOp load = *ops[at].as<LoadOp>();
    if (!load.layout || load.layout->family != LayoutFamily::Flat)
      return false;
    ValueId value = ops[at].results[0];
    const AxisSet &axes = p[value].tile.axes;
    AxisId fastest = fastestAxis(*load.layout, axes), along = transposedAxis(load, fastest);
    if (!along.isValid())
      return false;
    std::string text = printOp(p, ops[at]);
    text = text.substr(0, text.find(" @"));
    auto refuse = [&](std::string reason) {
      result.others.push_back({text, std::move(reason)});
      return false;
    };
    for (AxisId axis : {fastest, along})
      if (evaluate(p.resolved(p[axis].extent), sizes) == 1)
        return refuse(fmt::format("a tile of one element along {} is read along memory as it is",
                                  p[axis].name));
    if (isRepeated(axes, loops))
      return refuse("a loop reads parts of it again and again");
    for (Expr index : load.from.index)
      for (VarId var : variablesOf(index))
        if (p.valueOf(var).isValid() && !p[p.valueOf(var)].tile.axes.empty())
          return refuse("its rows are anywhere in memory: an index is a tile");
    if (bitWidth(p[value].tile.type) < 8)
      return refuse("elements of less than a byte");

    std::vector<AxisId> order;
    for (AxisId axis : load.layout->of.empty() ? axes : load.layout->of)
      if (contains(axes, axis))
        order.push_back(axis);
    Buffer buffer;
    buffer.name = freeName(p, "S");
    buffer.type = p[value].tile.type;
    // Rows, along which the load runs, stand beside what is read along.
    std::erase(order, along);
    buffer.order = order;
    buffer.order.insert(buffer.order.end() - 1, along);
    buffer.stages = p.number(1);
    buffer.permute = newWidth(buffer.name);
    Expr vector = buffer.permute, threads = newThreads(buffer.name, vector, along);
    BufferId id{static_cast<uint32_t>(p.buffers.size())};
    p.buffers.push_back(std::move(buffer));

    ValueId loaded = newValue(value);
    auto *own = ops[at].as<LoadOp>();
    ops[at].results = {loaded};
    order.push_back(along);
    own->layout = LayoutSpec{LayoutFamily::Rows, {vector, threads}, {}, order};
    if (order == axes)
      own->layout->of.clear();
    Op write, read;
    WriteOp writeOp{id, {}};
    ScalarNode leaf;
    leaf.kind = ScalarNode::Kind::Value;
    leaf.value = loaded;
    leaf.type = p[loaded].tile.type;
    writeOp.value.add(leaf);
    write.what = std::move(writeOp);
    read.what = ReadOp{id, Expr(), {}, load.layout};
    read.results = {value};
    auto behind = ops.begin() + static_cast<ptrdiff_t>(at) + 1;
    behind = ops.insert(behind, std::move(write));
    ops.insert(behind + 1, std::move(read));
    result.staged.push_back(std::move(text));
    return true;
  }

  /// A width of vectors of its own, 1 until vectorise() sets it.
  Expr newWidth(const std::string &buffer) {
    std::string name = freeName(p, "V" + buffer);
    Expr var = p.context->variable(VarKind::TileParam, name);
    p.lets.push_back({name, var, p.number(1)});
    return var;
  }

  /// Threads that load a row together: 128 bytes, so that a warp has four rows of a slot's columns
  /// in other banks.
  Expr newThreads(const std::string &buffer, Expr vector, AxisId along) {
    std::string name = freeName(p, "G" + buffer);
    Expr var = p.context->variable(VarKind::TileParam, name);
    Expr rows = p[along].extent.ceilDiv(vector).pow2Ceil();
    p.lets.push_back({name, var, rows.min(p.number(8))});
    return var;
  }

  /// A value like this one, in front of it.
  ValueId newValue(ValueId like) {
    Value value = p[like];
    value.name = freeName(p, value.name);
    value.var = p.context->variable(VarKind::Runtime, value.name);
    ValueId id{static_cast<uint32_t>(p.values.size())};
    p.values.push_back(std::move(value));
    return id;
  }

  StagedProgram result;
  Program &p;
  Assignment sizes;
};

} // namespace

llvm::Expected<StagedProgram> stage(const Program &program, const SizeValues &sizes) {
  return Stager(program, sizes).run();
}

} // namespace tilewright::program
