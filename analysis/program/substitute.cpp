#include "analysis/program/substitute.h"

#include <algorithm>

namespace tilewright::program {

namespace {

using Rewrite = std::function<void(Expr &)>;

class Rewriter {
public:
  explicit Rewriter(const Rewrite &rewrite) : rewrite(rewrite) {}

  void one(Expr &e) {
    if (e)
      rewrite(e);
  }
  void all(std::vector<Expr> &list) {
    for (Expr &e : list)
      one(e);
  }
  void spec(LayoutSpec &layout) {
    all(layout.arguments);
    for (std::vector<Digit> *digits :
         {&layout.digits.registers, &layout.digits.lanes, &layout.digits.warps})
      for (Digit &digit : *digits) {
        one(digit.extent);
        one(digit.stride);
      }
  }
  void layout(std::optional<LayoutSpec> &layout) {
    if (layout)
      spec(*layout);
  }
  void scalar(ScalarExpr &s) {
    for (ScalarNode &node : s.nodes)
      one(node.index);
  }
  void conditions(std::vector<Condition> &list) {
    for (Condition &c : list)
      for (Expr *e : {&c.value, &c.low, &c.high})
        one(*e);
  }

  void region(Region &ops) {
    for (Op &op : ops) {
      std::visit([&](auto &what) { kind(what); }, op.what);
      for (Region *inner : regionsOf(op))
        region(*inner);
    }
  }

private:
  void kind(LoadOp &o) {
    all(o.from.index);
    conditions(o.conditions);
    layout(o.layout);
  }
  void kind(StoreOp &o) {
    all(o.to.index);
    scalar(o.value);
    layout(o.layout);
  }
  void kind(AtomicOp &o) {
    all(o.to.index);
    scalar(o.value);
  }
  void kind(CopyOp &o) {
    all(o.from.index);
    conditions(o.conditions);
  }
  void kind(ReadOp &o) {
    one(o.step);
    layout(o.layout);
  }
  void kind(WriteOp &o) { scalar(o.value); }
  void kind(MapOp &o) {
    scalar(o.value);
    layout(o.layout);
  }
  void kind(ReduceOp &o) { scalar(o.value); }
  void kind(ScanOp &o) { scalar(o.value); }
  void kind(DotOp &o) {
    scalar(o.left);
    scalar(o.right);
    layout(o.layout);
  }
  void kind(FullOp &o) { layout(o.layout); }
  void kind(RelayoutOp &o) { spec(o.layout); }
  void kind(SelectAxisOp &o) { one(o.at); }
  void kind(JoinOp &) {}
  void kind(ForOp &o) {
    for (Expr *e : {&o.trips, &o.ahead, &o.splits, &o.unroll})
      one(*e);
  }
  void kind(IfOp &o) { one(o.condition); }
  void kind(SumSplitsOp &) {}
  void kind(BarrierOp &) {}
  void kind(RoleOp &) {}

  const Rewrite &rewrite;
};

} // namespace

void rewriteExprs(Program &p, const Rewrite &rewrite) {
  Rewriter r(rewrite);
  for (TensorInfo &tensor : p.tensors)
    r.all(tensor.dims);
  for (Let &let : p.lets)
    r.one(let.value);
  for (Expr *e : {&p.warps, &p.producerWarps, &p.grid.group, &p.grid.persistent, &p.grid.clusterX,
                  &p.grid.clusterY})
    r.one(*e);
  for (Role &role : p.roles) {
    r.one(role.warps);
    r.one(role.registers);
  }
  for (GridVariable &variable : p.grid.variables)
    r.one(variable.count);
  for (Axis &axis : p.axes)
    for (Expr *e : {&axis.extent, &axis.origin, &axis.lower, &axis.bound})
      r.one(*e);
  for (Buffer &buffer : p.buffers) {
    r.one(buffer.stages);
    r.one(buffer.permute);
  }
  for (Source &source : p.sources) {
    r.all(source.at);
    for (MapConstraint &condition : source.conditions)
      r.one(condition.expr);
  }
  r.region(p.body);
}

void inlineSingleSteps(Program &program) {
  std::vector<Expr> table(program.context->variableCount());
  bool isFound = false;
  auto visit = [&](auto &&self, Region &ops) -> void {
    Region result;
    for (Op &op : ops) {
      for (Region *inner : regionsOf(op))
        self(self, *inner);
      auto *loop = op.as<ForOp>();
      if (!loop || !loop->trips.isConstant(1) || !loop->issue.empty() || loop->splitVar) {
        result.push_back(std::move(op));
        continue;
      }
      isFound = true;
      table[loop->var.variable().index] = program.number(0);
      std::move(loop->body.begin(), loop->body.end(), std::back_inserter(result));
    }
    ops = std::move(result);
  };
  visit(visit, program.body);
  if (isFound)
    rewriteExprs(program,
                 [&](Expr &e) { e = tilewright::substitute(e, std::span<const Expr>(table)); });
}

void renumberTensors(Program &program, std::span<const uint32_t> place) {
  auto visit = [&](auto &&self, Region &ops) -> void {
    for (Op &op : ops) {
      if (const Access *access = accessOf(op))
        const_cast<Access *>(access)->tensor = TensorId{place[access->tensor.index]};
      for (Region *inner : regionsOf(op))
        self(self, *inner);
    }
  };
  visit(visit, program.body);
}

std::vector<std::string> freeSizes(const Program &program) {
  std::vector<std::string> names;
  for (Expr size : program.sizes)
    names.push_back(program.context->info(size.variable()).name);
  return names;
}

llvm::Expected<Program> substituteSizes(const Program &program, const SizeValues &values) {
  Program p = program;
  std::vector<Expr> table(p.context->variableCount());
  for (const auto &[name, value] : values) {
    auto isNamed = [&](Expr size) { return p.context->info(size.variable()).name == name; };
    auto it = std::find_if(p.sizes.begin(), p.sizes.end(), isNamed);
    if (it == p.sizes.end())
      return makeError(DiagClass::BadInput, "{} has no size {}", p.name, name);
    if (value < 0)
      return makeError(DiagClass::BadInput, "{} = {} is negative", name, value);
    table[it->variable().index] = p.number(value);
    p.sizes.erase(it);
  }
  auto put = [&](Expr e) { return tilewright::substitute(e, std::span<const Expr>(table)); };
  std::vector<Let> kept;
  for (Let &let : p.lets) {
    let.value = put(let.value);
    if (let.value.isPoison())
      return makeError(DiagClass::BadInput,
                       "{} has no value of 64 bits at these sizes, or a divisor is not positive",
                       let.name);
    if (let.value.isConstant())
      table[let.var.variable().index] = let.value;
    else
      kept.push_back(let);
  }
  p.lets = std::move(kept);
  bool hasPoison = false;
  rewriteExprs(p, [&](Expr &e) {
    e = put(e);
    hasPoison |= e.isPoison();
  });
  if (hasPoison)
    return makeError(DiagClass::BadInput,
                     "{} has a number that leaves 64 bits at these sizes, or a divisor that is not "
                     "positive",
                     p.name);
  if (llvm::Error error = inferTypes(p))
    return error;
  return p;
}

} // namespace tilewright::program
