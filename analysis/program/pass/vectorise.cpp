#include "analysis/program/pass/vectorise.h"

#include "analysis/affine/linear_form.h"
#include "analysis/affine/simplify.h"
#include "analysis/program/pass/layouts.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>
#include <numeric>

namespace tilewright::program {

namespace {

constexpr int64_t mostBits = 16 * 8;

/// The largest power of two that divides a number, at most `most`.
int64_t powerDividing(int64_t number, int64_t most) {
  int64_t power = 1;
  while (power * 2 <= most && number % (power * 2) == 0)
    power *= 2;
  return power;
}

class Vectoriser {
public:
  Vectoriser(const Program &program, int64_t mostLanes)
      : result{program, {}}, p(result.program), simplifier(*p.context, boundsOf(p)),
        mostLanes(mostLanes) {}

  llvm::Expected<VectorisedProgram> run() {
    findWidths();
    if (widths.empty())
      return makeError(DiagClass::Unsupported,
                       "{} has no layout whose threads hold one element in a row", p.name);
    for (size_t i = 0; i < widths.size(); ++i)
      widen(i);
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(result);
  }

private:
  struct Width {
    Expr is; ///< the first number of layouts: a let of 1, or 1
    std::optional<size_t> let;
  };

  /// Of coordinates that count.
  static Bounds boundsOf(const Program &p) {
    Bounds bounds;
    for (const Axis &axis : p.axes) {
      Expr end = p.resolved(axis.bound ? axis.bound : axis.extent);
      bounds.set(axis.var, Interval{0, end.isConstant() ? end.constant() - 1 : INT64_MAX});
    }
    return bounds;
  }

  bool isOne(Expr e) const { return p.resolved(e).isConstant(1); }

  /// Widths of 1 of layouts with vectors. Those that are plain numbers are one.
  void findWidths() {
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      const LayoutSpec *spec = layoutOf(op);
      bool hasVectors =
          spec && (spec->family == LayoutFamily::Flat || spec->family == LayoutFamily::Across ||
                   spec->family == LayoutFamily::Rows || spec->family == LayoutFamily::Columns);
      if (!hasVectors || !isOne(spec->arguments[0]))
        return;
      Width width{spec->arguments[0], std::nullopt};
      for (size_t l = 0; l < p.lets.size(); ++l)
        if (p.lets[l].var == width.is)
          width.let = l;
      for (const Width &known : widths)
        if (known.is == width.is)
          return;
      widths.push_back(width);
    });
  }

  /// Bounds that the formula of a width consists of: a number and expressions.
  struct Bound {
    int64_t most = mostBits;
    std::vector<Expr> parts;
  };

  void widen(size_t number) {
    Width width = widths[number];
    Expr value = formulaOf(width, mostLanes, [](const Op &) { return true; });
    // Elements that share a byte are stored by one thread, whatever else is loaded by elements.
    int64_t least = 1;
    auto sharesBytes = [&](const Op &op) {
      const Access *access = accessOf(op);
      return op.as<StoreOp>() && bitWidth(p[access->tensor].type) < 8;
    };
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      if (sharesBytes(op))
        least = std::max<int64_t>(least, 8 / bitWidth(p[accessOf(op)->tensor].type));
    });
    if (least > 1)
      value = value.max(formulaOf(width, least, sharesBytes));
    set(width, simplifier.simplify(value));
  }

  /// The largest width, of at most `most`, that the accesses of these ops allow.
  Expr formulaOf(const Width &width, int64_t most, const std::function<bool(const Op &)> &counts) {
    Bound bound{most, {}};
    bool isUsed = false;
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      const Access *access = accessOf(op);
      const LayoutSpec *spec = access && counts(op) ? specOf(op) : nullptr;
      if (!spec || spec->arguments.empty() || spec->arguments[0] != width.is)
        return;
      bound.most = std::min<int64_t>(bound.most, mostBits / bitWidth(p[access->tensor].type));
      isUsed |= limit(op, *access, fastestAxis(*spec, axesOf(op)), width.is, bound);
    });
    Expr value = p.number(isUsed ? std::max<int64_t>(bound.most, 1) : 1);
    for (Expr part : bound.parts)
      value = value.min(part);
    return value;
  }

  void set(const Width &width, Expr value) {
    if (width.let) {
      p.lets[*width.let].value = value;
      return;
    }
    auto visit = [&](auto &&self, Region &ops) -> void {
      for (Op &op : ops) {
        if (LayoutSpec *spec = layoutOf(op); spec && !spec->arguments.empty())
          if (spec->arguments[0] == width.is)
            spec->arguments[0] = value;
        for (Region *inner : regionsOf(op))
          self(self, *inner);
      }
    };
    visit(visit, p.body);
  }

  const LayoutSpec *specOf(const Op &op) const {
    if (const LayoutSpec *named = layoutOf(op))
      return named;
    const auto *store = op.as<StoreOp>();
    if (!store)
      return nullptr;
    for (const ScalarNode &node : store->value.nodes)
      if (node.kind == ScalarNode::Kind::Value && p[node.value].tile.axes == axesOf(op))
        return layoutOf(p, node.value);
    return nullptr;
  }

  AxisSet axesOf(const Op &op) const {
    if (op.as<LoadOp>())
      return p[op.results[0]].tile.axes;
    AxisSet axes = p.axesOf(*accessOf(op));
    for (const ScalarExpr *scalar : scalarsOf(op))
      unite(axes, p.axesOf(*scalar));
    return axes;
  }

  void note(const Op &op, std::string reason, int64_t lanes, Bound &bound) {
    int64_t full = mostBits / bitWidth(p[accessOf(op)->tensor].type);
    if (lanes >= std::min(full, bound.most))
      return;
    bound.most = lanes;
    std::string access = printOp(p, op);
    access = access.substr(0, access.find(op.as<StoreOp>() ? " = " : " @"));
    result.limits.push_back({std::move(access), std::move(reason), lanes});
  }

  /// The place of an element in memory, where that is a number times each coordinate: rows that
  /// follow each other without gaps are one. Else the coordinate along memory.
  Expr positionOf(const Access &access) {
    Expr position = p.number(0);
    const std::vector<Expr> &dims = p[access.tensor].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!p.resolved(dims[d]).isConstant())
        return contiguousIndex(p, access);
      position = position * p.resolved(dims[d]) + access.index[d];
    }
    return simplifier.simplify(position);
  }

  /// Adds what an access demands of the width; false where it is not along memory.
  bool limit(const Op &op, const Access &access, AxisId along, Expr width, Bound &bound) {
    if (!along.isValid())
      return false;
    Expr var = p[along].var, last = contiguousIndex(p, access), position = positionOf(access);
    if (!last || !contains(p.axesOf(access), along))
      return false;
    LinearForm form = LinearForm::of(position);
    bool isElsewhere = form.coefficientOf(var) != 1;
    for (const LinearForm::Term &term : form.terms)
      isElsewhere |= term.expr != var && contains(p.axesOf(term.expr), along);
    for (Expr other : access.index) // rows of symbolic lengths are no part of the position
      isElsewhere |= position == last && other != last && contains(p.axesOf(other), along);
    if (isElsewhere)
      return false;
    if (!isMadeOf(p[along].extent, width)) // a step of whole vectors
      divides(op, p[along].extent, "a tile of " + p[along].name, bound);
    if (p[along].bound)
      divides(op, p[along].bound, "the end of " + p[along].name, bound);
    const std::vector<Expr> &dims = p[access.tensor].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      Expr dim = p.resolved(dims[d]);
      bool isRow = access.index[d] == last && position == last;
      bool isInside =
          dim.isConstant() &&
          Interval::ofExtent(dim.constant()).contains(simplifier.range(access.index[d]));
      if (isRow || (contains(p.axesOf(access.index[d]), along) && !isInside))
        divides(op, dim, "a row", bound);
    }
    start(op, form, var, bound);
    if (const auto *load = op.as<LoadOp>())
      for (const Condition &condition : load->conditions)
        if (contains(p.axesOf(condition.value), along))
          start(op, LinearForm::of(condition.value - condition.low), var, bound, &condition);
    return true;
  }

  /// Does the formula of a size name the width?
  bool isMadeOf(Expr size, Expr width) const {
    if (!width.isVariable())
      return false;
    std::vector<VarId> work = variablesOf(size);
    for (size_t i = 0; i < work.size(); ++i) {
      if (work[i] == width.variable())
        return true;
      for (const Let &let : p.lets)
        if (let.var.variable() == work[i])
          for (VarId inner : variablesOf(let.value))
            if (std::find(work.begin(), work.end(), inner) == work.end())
              work.push_back(inner);
    }
    return false;
  }

  /// The width has to divide a size.
  void divides(const Op &op, Expr size, const std::string &what, Bound &bound) {
    size = p.resolved(size);
    if (!size.isConstant()) {
      Expr part = size.pow2Divisor();
      if (std::find(bound.parts.begin(), bound.parts.end(), part) == bound.parts.end())
        bound.parts.push_back(part);
      return;
    }
    note(op, fmt::format("{} has {} elements", what, size.constant()),
         powerDividing(size.constant(), mostBits), bound);
  }

  /// … and where an access starts, whatever the other axes and values are.
  void start(const Op &op, const LinearForm &form, Expr var, Bound &bound,
             const Condition *condition = nullptr) {
    const char *what = condition ? "a condition starts" : "it starts";
    if (form.constant != 0)
      note(op, fmt::format("{} {} elements into a vector", what, form.constant),
           powerDividing(form.constant, mostBits), bound);
    for (const LinearForm::Term &term : form.terms) {
      if (term.expr == var && (!condition || term.coefficient == 1))
        continue;
      int64_t divisor =
          term.expr == var ? 1 : simplifier.knownDivisor(p.resolved(term.expr)) * term.coefficient;
      note(op,
           fmt::format("{} at any multiple of {} with {}", what, std::abs(divisor),
                       printExpr(p, term.expr)),
           powerDividing(divisor, mostBits), bound);
    }
    if (condition && !p.resolved(condition->high - condition->low).isConstant())
      note(op, "a condition ends anywhere", 1, bound);
    else if (condition)
      note(op,
           fmt::format("a condition holds for {} elements",
                       p.resolved(condition->high - condition->low).constant()),
           powerDividing(p.resolved(condition->high - condition->low).constant(), mostBits), bound);
  }

  VectorisedProgram result;
  Program &p;
  Simplifier simplifier;
  int64_t mostLanes;
  std::vector<Width> widths;
};

} // namespace

llvm::Expected<VectorisedProgram> vectorise(const Program &program, int64_t mostLanes) {
  return Vectoriser(program, mostLanes).run();
}

} // namespace tilewright::program
