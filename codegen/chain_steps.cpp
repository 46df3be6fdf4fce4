// The range of steps over the keys that a CTA of a chain takes (a causal or windowed mask shortens
// it), and the steps in which no mask and no end of the keys has an effect.
#include "analysis/affine/linear_form.h"
#include "analysis/support/checked.h"
#include "codegen/chain_lowering.h"

#include <algorithm>

namespace tilewright {

/// The range of the loop over the keys; all steps where nothing is known.
void ChainLowering::analyseSteps() {
  const Graph &graph = spec.graph();
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph[OpId{i}].opcode != Opcode::Parameter && graph[OpId{i}].opcode != Opcode::Tuple)
      ops.push_back(OpId{i});
  auto group = makeGroup(graph, ops);
  auto tiled = group ? tileGroup(graph, *group, lowering->emitter.context())
                     : llvm::Expected<TiledGroup>(group.takeError());
  if (!tiled) {
    llvm::consumeError(tiled.takeError());
    return;
  }
  std::vector<unsigned> loops;
  for (unsigned instance : tiled->instancesOf(second))
    loops.insert(loops.end(), tiled->instances[instance].reduces.begin(),
                 tiled->instances[instance].reduces.end());
  if (loops.size() != 1 || !tiled->ranges[loops[0]].first || !tiled->ranges[loops[0]].end)
    return;
  keyLoop = loops[0];
  tiling = std::move(*tiled);
  // CTAs with longer loops start first, where the rows alone decide the length.
  std::vector<VarId> rows;
  for (const TileParameter &parameter : tiling->space.parameters)
    if (parameter.index && parameter.role == TileParameter::Role::Parallel)
      rows.push_back(parameter.index.variable());
  auto depends = [&](Expr bound) {
    std::vector<VarId> used = variablesOf(bound);
    return std::any_of(rows.begin(), rows.end(), [&](VarId row) {
      return std::find(used.begin(), used.end(), row) != used.end();
    });
  };
  const LoopRange &range = tiling->ranges[*keyLoop];
  laterRowsAreLonger = depends(range.end) && !depends(range.first) && sides[2].tiles == 1;
}

void ChainLowering::findSteps() {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  firstStep = k.c32(0);
  endStep = k.c32(keySteps);
  if (!keyLoop)
    return;
  OpId root = resultsOf(spec.graph())[0];
  bool isKnown = true;
  auto translate = [&](Expr bound) {
    return emitter.simplify(substitute(bound, [&](VarId var) {
      for (const TileParameter &parameter : tiling->space.parameters) {
        bool isSize = parameter.size.variable() == var;
        if (!isSize && !(parameter.index && parameter.index.variable() == var))
          continue;
        if (parameter.role == TileParameter::Role::Parallel && parameter.op == root) {
          if (isSize)
            return emitter.constant(spec.rootTile[parameter.dim]);
          for (const RootSide &side : sides)
            for (size_t i = 0; i < side.dims.size(); ++i)
              if (side.dims[i] == parameter.dim)
                return side.pids[i];
        }
        if (&parameter == &tiling->space.parameters[*keyLoop] && isSize)
          return emitter.constant(keyStep);
      }
      isKnown = false;
      return Expr();
    }));
  };
  Expr first = translate(tiling->ranges[*keyLoop].first),
       end = translate(tiling->ranges[*keyLoop].end);
  if (!isKnown)
    return;
  if (emitter.range(end - first).lo < 1) {
    // Each CTA takes at least one step: a superfluous step is harmless.
    first = emitter.simplify(first.min(keySteps - 1));
    end = emitter.simplify(end.max(first + 1));
  }
  firstStep = k.b.CreateTrunc(emitter.index(first), k.i32);
  endStep = k.b.CreateTrunc(emitter.index(end), k.i32);
}

/// Predicates of selects between the dots that are affine in row and key.
void ChainLowering::findMasks() {
  const Graph &graph = spec.graph();
  MaskReader reader(graph);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph[OpId{i}];
    if (op.opcode != Opcode::Select || !dependsOn(scores, OpId{i}))
      continue;
    Mask mask;
    mask.predicate = op.operands[0];
    auto isKnown = [&](const Mask &other) { return other.predicate == mask.predicate; };
    if (graph[mask.predicate].shape.rank() == 0 || dependsOn(mask.predicate, first) ||
        std::any_of(masks.begin(), masks.end(), isKnown) || !reader.isExact(mask.predicate))
      continue;
    mask.conditions = reader.conditionsOf(mask.predicate);
    auto at = lowering->emitter.readAt(scores, scoresPlaceholders, mask.predicate, closed);
    if (!at) { // read at several places: the mask is kept
      llvm::consumeError(at.takeError());
      continue;
    }
    // Read by a reduction only: use the place of the reduction's input.
    if (!*at)
      continue;
    mask.at = std::move(**at);
    masks.push_back(std::move(mask));
  }
}

/// Condition that in a step every mask is true and every key exists for rows firstRow … firstRow +
/// rows - 1. Null: always true.
llvm::Value *ChainLowering::isWhole(Expr step, Expr firstRow, int64_t rows) {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  llvm::Value *result = nullptr;
  auto require = [&](Expr atLeastZero) {
    if (emitter.range(atLeastZero).lo >= 0)
      return;
    llvm::Value *value = emitter.index(atLeastZero);
    llvm::Value *holds = k.b.CreateICmpSGE(value, llvm::ConstantInt::get(value->getType(), 0));
    result = result ? k.b.CreateAnd(result, holds) : holds;
  };
  Expr row = emitter.variable(VarKind::Dim, "row", Interval::ofExtent(rows), k.c32(0));
  Expr key = emitter.variable(VarKind::Dim, "key", Interval::ofExtent(keyStep), k.c32(0));
  Coordinates place =
      scoresAt(emitter.simplify(firstRow + row), emitter.simplify(step * keyStep + key));
  for (Mask &mask : masks) {
    mask.isCertain = false;
    Coordinates at = replacePlaceholders(emitter, mask.at, scoresPlaceholders, place);
    std::vector<Expr> lowest;
    for (const AffineValue &condition : mask.conditions) {
      Expr value = emitter.constant(condition.constant);
      for (size_t d = 0; d < at.size(); ++d)
        value = value + at[d] * condition.coefficients[d];
      LinearForm form = LinearForm::of(emitter.simplify(value));
      Expr least = emitter.constant(form.constant);
      for (const LinearForm::Term &term : form.terms) {
        if (term.expr == row || term.expr == key) {
          int64_t last = (term.expr == row ? rows : keyStep) - 1;
          least = least + std::min<int64_t>(term.coefficient * last, 0);
          continue;
        }
        for (VarId var : variablesOf(term.expr))
          if (var == row.variable() || var == key.variable())
            least = Expr();
        if (!least)
          break;
        least = least + term.expr * term.coefficient;
      }
      if (!least)
        break;
      lowest.push_back(emitter.simplify(least));
    }
    if (lowest.size() != mask.conditions.size())
      continue; // rows that come from several dims
    mask.isCertain = true;
    for (Expr least : lowest)
      require(least);
  }
  if (keyCount % keyStep != 0)
    require(emitter.simplify(emitter.constant(keyCount - keyStep) - step * keyStep));
  return result;
}

} // namespace tilewright
