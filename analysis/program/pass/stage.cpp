#include "analysis/program/pass/stage.h"

#include "analysis/affine/linear_form.h"
#include "analysis/program/pass/edit.h"
#include "analysis/program/pass/layouts.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::program {

namespace {

constexpr int64_t wordBytes = 4; // of a bank

class Stager {
public:
  explicit Stager(const Program &program) : result{program, {}, {}}, p(result.program) {}

  llvm::Expected<StagedProgram> run() {
    size_t loops = 0;
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
  void region(Region &ops, size_t loops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      for (Region *inner : regionsOf(ops[i]))
        region(*inner, loops + 1);
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

  bool stageLoad(Region &ops, size_t at, size_t loops) {
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
    auto refuse = [&](const char *reason) {
      result.others.push_back({text, reason});
      return false;
    };
    if (loops > 0)
      return refuse("in a loop a slot would be written while it is read");
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
    buffer.order = order;
    buffer.stages = p.number(1);
    buffer.padElements = std::max<int64_t>(1, wordBytes * 8 / bitWidth(buffer.type));
    BufferId id{static_cast<uint32_t>(p.buffers.size())};
    p.buffers.push_back(std::move(buffer));

    ValueId loaded = newValue(value);
    auto *own = ops[at].as<LoadOp>();
    ops[at].results = {loaded};
    std::erase(order, along);
    order.push_back(along);
    own->layout = LayoutSpec{LayoutFamily::Flat, {newWidth(p.buffers.back().name)}, {}, order};
    if (order.size() == 2 && order[0] > order[1]) {
      own->layout->family = LayoutFamily::Across;
      own->layout->of.clear();
    } else if (order == axes) {
      own->layout->of.clear();
    }
    Op write, read;
    WriteOp writeOp{id, {}};
    ScalarNode leaf;
    leaf.kind = ScalarNode::Kind::Value;
    leaf.value = loaded;
    leaf.type = p[loaded].tile.type;
    writeOp.value.add(leaf);
    write.what = std::move(writeOp);
    read.what = ReadOp{id, Expr(), load.layout};
    read.results = {value};
    read.source = ops[at].source;
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
};

} // namespace

llvm::Expected<StagedProgram> stage(const Program &program) { return Stager(program).run(); }

} // namespace tilewright::program
