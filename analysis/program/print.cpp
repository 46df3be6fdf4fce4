#include "analysis/program/text.h"

#include <cfloat>
#include <cmath>

namespace tilewright::program {

namespace {

class Printer {
public:
  explicit Printer(const Program &program) : p(program) {}
  std::string text;

  void header() {
    text += fmt::format("kernel {}({}) -> {}\n", p.name, tensors(false), tensors(true));
    for (const Let &let : p.lets)
      text += fmt::format("let {} = {}\n", let.name, expr(let.value));
    text += "warps " + expr(p.warps);
    if (p.producerWarps)
      text += " producer " + expr(p.producerWarps);
    text += "\n";
    if (!p.roles.empty())
      text += "roles " + roles() + "\n";
    if (!p.grid.variables.empty())
      text += "grid " + grid() + "\n";
    if (!p.axes.empty())
      text += "axis " + axes() + "\n";
    for (const Buffer &buffer : p.buffers)
      printBuffer(buffer);
  }

  void region(const Region &ops, unsigned indent, const ForOp *loop = nullptr) {
    bool hasIssue = loop && !loop->issue.empty();
    for (size_t i = 0; i <= ops.size(); ++i) {
      if (hasIssue && i == loop->issueAt) {
        text.append(indent, ' ');
        text += "issue\n";
        region(loop->issue, indent + 2);
      }
      if (i == ops.size())
        break;
      text.append(indent, ' ');
      text += line(ops[i]) + "\n";
      if (const auto *o = ops[i].as<ForOp>()) {
        region(o->body, indent + 2, o);
      } else if (const auto *o = ops[i].as<IfOp>()) {
        region(o->then, indent + 2);
        if (!o->otherwise.empty()) {
          text.append(indent, ' ');
          text += "else\n";
          region(o->otherwise, indent + 2);
        }
      } else if (const auto *o = ops[i].as<RoleOp>()) {
        region(o->body, indent + 2);
      }
    }
  }

  std::string line(const Op &op) const {
    std::string results;
    for (ValueId id : op.results)
      results += (results.empty() ? "" : ", ") + p[id].name;
    if (!results.empty())
      results += op.as<DotOp>() && op.as<DotOp>()->isAdded ? " += " : " = ";
    return results + std::visit([&](const auto &what) { return right(what); }, op.what);
  }

private:
  std::string expr(Expr e) const { return printExpr(p, e); }
  std::string scalar(const ScalarExpr &s) const { return printScalar(p, s); }

  template <typename List, typename F> static std::string joined(const List &list, F of) {
    std::string result;
    for (const auto &item : list)
      result += (result.empty() ? "" : ", ") + of(item);
    return result;
  }

  std::string tensors(bool isResult) const {
    std::string result;
    for (const TensorInfo &tensor : p.tensors)
      if (tensor.isResult == isResult)
        result += fmt::format("{}{}: {}[{}]", result.empty() ? "" : ", ", tensor.name,
                              toString(tensor.type),
                              joined(tensor.dims, [&](Expr dim) { return expr(dim); }));
    return result;
  }

  std::string roles() const {
    return joined(p.roles, [&](const Role &role) {
      std::string registers = role.registers ? " registers " + expr(role.registers) : "";
      return fmt::format("{} < {}{}", role.name, expr(role.warps), registers);
    });
  }

  std::string grid() const {
    std::string result = joined(p.grid.variables, [&](const GridVariable &v) {
      return fmt::format("{} < {}", v.name, expr(v.count));
    });
    if (p.grid.group)
      result += " group " + expr(p.grid.group);
    if (p.grid.persistent)
      result += " persistent " + expr(p.grid.persistent);
    if (p.grid.clusterX)
      result += fmt::format(" cluster {}, {}", expr(p.grid.clusterX), expr(p.grid.clusterY));
    return result;
  }

  std::string axes() const {
    return joined(p.axes, [&](const Axis &axis) {
      std::string result = fmt::format("{} < {}", axis.name, expr(axis.extent));
      if (!axis.origin.isConstant(0))
        result += " at " + expr(axis.origin);
      if (axis.lower)
        result += " from " + expr(axis.lower);
      if (axis.bound)
        result += " of " + expr(axis.bound);
      return result;
    });
  }

  void printBuffer(const Buffer &buffer) {
    text += fmt::format("{} {}: {}[", buffer.isRing ? "ring" : "shared", buffer.name,
                        toString(buffer.type));
    for (size_t i = 0; i < buffer.order.size(); ++i)
      text += (i ? "," : "") + p[buffer.order[i]].name;
    text += "]";
    if (!buffer.stages.isConstant(1))
      text += " x " + expr(buffer.stages);
    if (buffer.swizzle)
      text += fmt::format(" swizzle {}", buffer.swizzle);
    if (buffer.permute)
      text += " permute " + expr(buffer.permute);
    if (buffer.alias.isValid())
      text += " in " + p[buffer.alias].name;
    for (uint32_t i = 1; buffer.alias.isValid() && i < buffer.hosts; ++i)
      text += "," + p.buffers[buffer.alias.index + i].name;
    if (buffer.padElements)
      text += fmt::format(" pad {}", buffer.padElements);
    text += "\n";
  }

  std::string access(const Access &a) const {
    std::string result = p[a.tensor].name + "[";
    for (size_t i = 0; i < a.index.size(); ++i)
      result += (i ? ", " : "") + expr(a.index[i]);
    return result + "]";
  }

  std::string conditions(const std::vector<Condition> &list) const {
    std::string result;
    for (const Condition &c : list)
      result += fmt::format("{}{} in [{}, {})", result.empty() ? " if " : " & ", expr(c.value),
                            expr(c.low), expr(c.high));
    return result;
  }

  std::string digits(const std::vector<Digit> &list) const {
    std::string text;
    for (const Digit &digit : list)
      text += fmt::format("{}{}:{}{}", text.empty() ? "" : " ", expr(digit.extent),
                          expr(digit.stride), digit.isCopy() ? "" : "@" + p[digit.axis].name);
    return text;
  }

  std::string at(const std::optional<LayoutSpec> &layout) const {
    if (!layout)
      return "";
    if (layout->family == LayoutFamily::Like)
      return " @ like " + p[layout->value].name;
    if (layout->family == LayoutFamily::Digits)
      return fmt::format(" @ digits({}, {}, {})", digits(layout->digits.registers),
                         digits(layout->digits.lanes), digits(layout->digits.warps));
    std::string of;
    for (AxisId axis : layout->of)
      of += (of.empty() ? " of " : ",") + p[axis].name;
    return fmt::format(" @ {}({}){}", toString(layout->family),
                       joined(layout->arguments, [&](Expr e) { return expr(e); }), of);
  }

  std::string axisNames(const AxisSet &set) const {
    return joined(set, [&](AxisId axis) { return p[axis].name; });
  }

  std::string number(double value) const {
    ScalarExpr one;
    ScalarNode node;
    node.number = value;
    one.add(node);
    return scalar(one);
  }

  std::string right(const LoadOp &o) const {
    bool isZero = o.otherwise == 0 && !std::signbit(o.otherwise);
    return "load " + access(o.from) + conditions(o.conditions) +
           (isZero ? "" : " else " + number(o.otherwise)) + at(o.layout);
  }
  std::string right(const StoreOp &o) const {
    return fmt::format("store {} = {}{}", access(o.to), scalar(o.value), at(o.layout));
  }
  std::string right(const AtomicOp &o) const {
    return fmt::format("atomic {} {} = {}", toString(o.monoid), access(o.to), scalar(o.value));
  }
  std::string right(const CopyOp &o) const {
    std::string via = o.way == CopyWay::CpAsync ? "" : fmt::format(" via {}", toString(o.way));
    return fmt::format("copy {} <- {}{}{}", p[o.buffer].name, access(o.from),
                       conditions(o.conditions), via);
  }
  std::string right(const ReadOp &o) const {
    std::string step = o.step ? "@(" + expr(o.step) + ")" : "";
    std::string axes;
    for (AxisId axis : o.axes)
      axes += (axes.empty() ? "[" : ",") + p[axis].name;
    return "read " + p[o.buffer].name + step + axes + (axes.empty() ? "" : "]") + at(o.layout);
  }
  std::string right(const WriteOp &o) const {
    return fmt::format("write {} <- {}", p[o.buffer].name, scalar(o.value));
  }
  std::string right(const MapOp &o) const { return "map " + scalar(o.value) + at(o.layout); }
  std::string right(const ReduceOp &o) const {
    return fmt::format("reduce {} {} over {}", toString(o.monoid), scalar(o.value),
                       axisNames(o.over));
  }
  std::string right(const ScanOp &o) const {
    return fmt::format("scan {} {} over {}", toString(o.monoid), scalar(o.value), p[o.over].name);
  }
  std::string right(const DotOp &o) const {
    std::string wait = o.wait ? fmt::format(" wait {}", o.wait) : "";
    if (o.products != 1)
      wait += fmt::format(" products {}", o.products);
    return fmt::format("dot({}, {}) over {} {}{}{}", scalar(o.left), scalar(o.right),
                       axisNames(o.over), toString(o.way), wait, at(o.layout));
  }
  std::string right(const FullOp &o) const {
    std::string names;
    for (AxisId axis : o.axes)
      names += (names.empty() ? "" : ",") + p[axis].name;
    return fmt::format("full {} {}[{}]{}", number(o.number), toString(o.type), names, at(o.layout));
  }
  std::string right(const RelayoutOp &o) const {
    return "relayout " + p[o.value].name + at(o.layout);
  }
  std::string right(const SelectAxisOp &o) const {
    return fmt::format("select.axis {}, {} = {}", p[o.value].name, p[o.axis].name, expr(o.at));
  }
  std::string right(const JoinOp &o) const {
    return fmt::format("join {} over {}", joined(o.parts, [&](ValueId id) { return p[id].name; }),
                       p[o.axis].name);
  }
  std::string right(const ForOp &o) const {
    std::string result = fmt::format("for {} < {}", o.name, expr(o.trips));
    if (o.ahead)
      result += " ahead " + expr(o.ahead);
    if (o.splitVar) {
      bool isAtom = o.splits.isVariable() || o.splits.isConstant();
      result += fmt::format(" split {}/{}", expr(o.splitVar),
                            isAtom ? expr(o.splits) : "(" + expr(o.splits) + ")");
    }
    if (o.unroll)
      result += " unroll " + expr(o.unroll);
    return result;
  }
  std::string right(const IfOp &o) const { return "if " + expr(o.condition); }
  std::string right(const SumSplitsOp &o) const {
    return fmt::format("sum.splits {}{} over {}",
                       o.monoid == Monoid::Add ? "" : std::string(toString(o.monoid)) + " ",
                       joined(o.values, [&](ValueId id) { return p[id].name; }), expr(o.splitVar));
  }
  std::string right(const BarrierOp &o) const {
    return o.isOfCluster ? "cluster.barrier" : "barrier";
  }
  std::string right(const RoleOp &o) const { return "role " + p[o.role].name; }

  const Program &p;
};

} // namespace

std::string printProgram(const Program &program) {
  Printer printer(program);
  printer.header();
  printer.region(program.body, 0);
  return std::move(printer.text);
}

std::string printOp(const Program &program, const Op &op) { return Printer(program).line(op); }

} // namespace tilewright::program
