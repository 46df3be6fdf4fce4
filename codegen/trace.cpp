// ValueEmitter's queries about where values come from; emits nothing.
#include "analysis/tiling/strided_view.h"
#include "codegen/value_emitter.h"

#include <algorithm>
#include <set>

namespace tilewright {

std::optional<std::pair<OpId, Coordinates>>
ValueEmitter::seenThroughMovement(OpId op, Coordinates coordinates) {
  while (ir[op].opcode != Opcode::Parameter) {
    if (!movesElements(ir, ir[op]))
      return std::nullopt;
    auto maps = indexing(op);
    if (!maps) {
      llvm::consumeError(maps.takeError());
      return std::nullopt;
    }
    const std::vector<IndexMap> &first = (*maps)->operands[0].maps;
    if (first.size() != 1 || !first[0].constraints().empty() || first[0].isKnownEmpty() ||
        first[0].variables().size() != coordinates.size())
      return std::nullopt;
    for (size_t i = 0; i < coordinates.size(); ++i)
      if (first[0].variables()[i].domain != Interval::ofExtent(ir[op].shape.dims[i]))
        return std::nullopt;
    Coordinates next;
    for (Expr result : first[0].results())
      next.push_back(simplify(substitute(result, [&](VarId var) {
        for (size_t i = 0; i < coordinates.size(); ++i)
          if (exprs.dim(static_cast<unsigned>(i)).variable() == var)
            return coordinates[i];
        return Expr();
      })));
    coordinates = std::move(next);
    op = ir[op].operands[0];
  }
  for (Expr &coordinate : coordinates)
    coordinate = simplify(coordinate);
  return std::pair(op, std::move(coordinates));
}

llvm::Expected<std::optional<Coordinates>> ValueEmitter::readAt(OpId from,
                                                                const Coordinates &coordinates,
                                                                OpId to,
                                                                std::span<const OpId> closed) {
  std::optional<Coordinates> found;
  std::set<std::vector<uint32_t>> seen;
  std::vector<std::pair<OpId, Coordinates>> work{{from, coordinates}};
  while (!work.empty()) {
    auto [op, at] = std::move(work.back());
    work.pop_back();
    for (Expr &coordinate : at)
      coordinate = simplify(coordinate);
    if (op == to) {
      if (found && *found != at)
        return makeError(DiagClass::Unsupported, "%{} reads %{} at two different places",
                         ir[from].name, ir[to].name);
      found = at;
      continue;
    }
    if (op < to || ir[op].operands.empty() ||
        std::find(closed.begin(), closed.end(), op) != closed.end())
      continue; // operands come before users
    std::vector<uint32_t> key{op.index};
    for (Expr coordinate : at)
      key.push_back(coordinate.id());
    if (!seen.insert(std::move(key)).second)
      continue;
    auto maps = indexing(op);
    if (!maps)
      return maps.takeError();
    for (unsigned i = 0; i < ir[op].operands.size(); ++i)
      for (const IndexMap &map : (*maps)->operands[i].maps) {
        if (map.isKnownEmpty())
          continue;
        std::vector<Expr> replacement;
        auto replace = [&](Expr var, Expr with) {
          if (replacement.size() <= var.variable().index)
            replacement.resize(var.variable().index + 1);
          replacement[var.variable().index] = with;
        };
        for (const MapVariable &variable : map.variables()) {
          if (exprs.info(variable.var.variable()).kind == VarKind::Dim)
            continue;
          // The op's own range variables, separate from those of other ops.
          Expr own = exprs.variable(VarKind::Range,
                                    ir[op].name + "/" + exprs.info(variable.var.variable()).name);
          numbers.bind(own, variable.domain, nullptr);
          replace(variable.var, own);
        }
        for (size_t d = 0; d < at.size(); ++d)
          replace(exprs.dim(static_cast<unsigned>(d)), at[d]);
        work.emplace_back(ir[op].operands[i], substitute(map.results(), replacement));
      }
  }
  return found;
}

} // namespace tilewright
