#include "analysis/program/pass/clip.h"

#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::program {

namespace {

class Clipper {
public:
  Clipper(const Program &program, const TiledGroup &group, std::span<const int64_t> values)
      : result{program, {}}, p(result.program), group(group), values(values) {}

  llvm::Expected<ClippedProgram> run() {
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      if (const auto *loop = op.as<ForOp>())
        ++loops[loop->var.variable()];
    });
    visit(p.body);
    if (!isClipped)
      return makeError(DiagClass::Unsupported, "{}: all steps of loops have an effect{}", p.name,
                       result.others.empty() ? "" : ", or " + result.others[0].reason);
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(result);
  }

private:
  void visit(Region &ops) {
    for (Op &op : ops) {
      for (Region *inner : regionsOf(op))
        visit(*inner);
      if (op.as<ForOp>())
        clipLoop(op);
    }
  }

  void clipLoop(Op &op) {
    ForOp &loop = *op.as<ForOp>();
    Axis *axis = movedAxis(loop);
    const TileParameter *of = axis ? parameterOf(axis->extent) : nullptr;
    auto number = static_cast<size_t>(of ? of - group.space.parameters.data() : 0);
    if (!of || number >= group.ranges.size() || !group.ranges[number].end)
      return;
    Expr first = ofProgram(group.ranges[number].first), end = ofProgram(group.ranges[number].end);
    if (!first || !end || (first.isConstant(0) && end == loop.trips))
      return;
    bool isStored = false;
    forEachOpOf(op, [&](const Op &inner) { isStored |= inner.as<StoreOp>() != nullptr; });
    if (isStored || loops[loop.var.variable()] > 1) {
      result.others.push_back({printOp(p, op), isStored ? "results are stored in its steps"
                                                        : "other loops go over the same axis"});
      return;
    }
    if (GridVariable *rows = longerRows(first, end))
      end = countedFromTheEnd(*rows, end);
    loop.trips = first.isConstant(0) ? end : (end - first).max(0);
    axis->origin = axis->extent * (first + loop.var);
    isClipped = true;
  }

  static bool mentions(Expr expr, VarId var) {
    std::vector<VarId> used = variablesOf(expr);
    return std::binary_search(used.begin(), used.end(), var);
  }

  /// The variable of CTAs that alone makes loops longer, by their end, where all others are of
  /// batches; null: none.
  GridVariable *longerRows(Expr first, Expr end) {
    GridVariable *found = nullptr;
    for (GridVariable &variable : p.grid.variables) {
      VarId var = variable.var.variable();
      bool isOfTiles = false, isPlain = true;
      for (const Axis &axis : p.axes)
        if (mentions(axis.origin, var)) {
          isOfTiles = true;
          isPlain &= axis.origin == axis.extent * variable.var;
        }
      if (mentions(first, var) || !isPlain || (isOfTiles && (found || !mentions(end, var))))
        return nullptr;
      if (isOfTiles)
        found = &variable;
    }
    return found;
  }

  /// The last rows of all batches come first, then the ones before them, so that CTAs with long
  /// loops start first. Gives the expression where the variable counts from the end.
  Expr countedFromTheEnd(GridVariable &rows, Expr e) {
    const VarId var = rows.var.variable();
    auto counted = [&](Expr expr) {
      return substitute(
          expr, [&](VarId other) { return other == var ? rows.count - 1 - rows.var : Expr(); });
    };
    for (Axis &axis : p.axes)
      if (mentions(axis.origin, var))
        axis.origin = axis.extent * counted(rows.var);
    Expr result = counted(e);
    std::rotate(p.grid.variables.data(), &rows, &rows + 1);
    return result;
  }

  /// The axis of which each step of a loop is the next tile; null: none, or several.
  Axis *movedAxis(const ForOp &loop) {
    Axis *found = nullptr;
    for (Axis &axis : p.axes) {
      std::vector<VarId> used = variablesOf(axis.origin);
      if (!std::binary_search(used.begin(), used.end(), loop.var.variable()))
        continue;
      if (found || axis.origin != axis.extent * loop.var)
        return nullptr;
      found = &axis;
    }
    return found;
  }

  const TileParameter *parameterOf(Expr size) const {
    if (!size.isVariable())
      return nullptr;
    for (const TileParameter &of : group.space.parameters)
      if (of.name == p.context->info(size.variable()).name)
        return &of;
    return nullptr;
  }

  /// Whether a tile covers its dim, and has no size in the program.
  bool isWhole(const TileParameter &of) const {
    return values[static_cast<size_t>(&of - group.space.parameters.data())] >= of.extent;
  }

  Expr sizeOf(const TileParameter &of) const {
    for (Expr size : p.sizes)
      if (parameterOf(size) == &of)
        return size;
    return isWhole(of) ? p.number(of.largest()) : Expr();
  }

  /// The number of a CTA's tile along a parameter; null where the program does not say.
  Expr tileNumber(const TileParameter &of) const {
    for (const Axis &axis : p.axes)
      for (const GridVariable &variable : p.grid.variables)
        for (Expr tile : {variable.var, variable.count - 1 - variable.var})
          if (parameterOf(axis.extent) == &of && axis.origin == axis.extent * tile)
            return tile;
    return isWhole(of) ? p.number(0) : Expr();
  }

  /// An expression over parameters of the group and their tiles over the program's sizes and CTA
  /// variables. Null for others.
  Expr ofProgram(Expr e) const {
    if (!e || e.isPoison())
      return Expr();
    if (e.isConstant())
      return p.number(e.constant());
    if (e.isVariable()) {
      for (const TileParameter &of : group.space.parameters) {
        if (of.index && of.index.variable() == e.variable())
          return tileNumber(of);
        if (of.size.variable() == e.variable())
          return sizeOf(of);
      }
      return Expr();
    }
    Expr operands[3];
    const Expr from[] = {e.lhs(), e.rhs(), e.third()};
    for (size_t i = 0; i < 3; ++i)
      if (from[i] && !(operands[i] = ofProgram(from[i])))
        return Expr();
    return p.context->operation(e.kind(), operands[0], operands[1], operands[2]);
  }

  ClippedProgram result;
  Program &p;
  const TiledGroup &group;
  std::span<const int64_t> values;
  std::map<VarId, size_t> loops; ///< by variable
  bool isClipped = false;
};

} // namespace

llvm::Expected<ClippedProgram> clip(const Program &program, const TiledGroup &group,
                                    std::span<const int64_t> values) {
  return Clipper(program, group, values).run();
}

} // namespace tilewright::program
