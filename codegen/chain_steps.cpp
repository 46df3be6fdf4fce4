// Which steps over the keys a program of a chain takes: under a causal or windowed mask, fewer.
#include "analysis/tiling/tiled_group.h"
#include "codegen/chain_lowering.h"

namespace tilewright {

llvm::Error ChainLowering::findSteps() {
  ValueEmitter &emitter = lowering->emitter;
  KernelBuilder &k = lowering->k;
  firstStep = k.c32(0);
  endStep = k.c32(keySteps);
  const Graph &graph = spec.graph();
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph[OpId{i}].opcode != Opcode::Parameter && graph[OpId{i}].opcode != Opcode::Tuple)
      ops.push_back(OpId{i});
  auto group = makeGroup(graph, ops);
  auto tiled = group ? tileGroup(graph, *group, emitter.context())
                     : llvm::Expected<TiledGroup>(group.takeError());
  if (!tiled) { // all steps, then
    llvm::consumeError(tiled.takeError());
    return llvm::Error::success();
  }
  std::vector<unsigned> loops;
  for (unsigned instance : tiled->instancesOf(second))
    loops.insert(loops.end(), tiled->instances[instance].reduces.begin(),
                 tiled->instances[instance].reduces.end());
  OpId root = resultsOf(graph)[0];
  if (loops.size() != 1 || !tiled->ranges[loops[0]].first || !tiled->ranges[loops[0]].end)
    return llvm::Error::success();
  bool isKnown = true;
  auto translate = [&](Expr bound) {
    return emitter.simplify(substitute(bound, [&](VarId var) {
      for (const TileParameter &parameter : tiled->space.parameters) {
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
        if (&parameter == &tiled->space.parameters[loops[0]] && isSize)
          return emitter.constant(keyStep);
      }
      isKnown = false;
      return Expr();
    }));
  };
  Expr first = translate(tiled->ranges[loops[0]].first),
       end = translate(tiled->ranges[loops[0]].end);
  if (!isKnown)
    return llvm::Error::success();
  firstStep = k.b.CreateTrunc(emitter.index(first), k.i32);
  endStep = k.b.CreateTrunc(emitter.index(end), k.i32);
  return llvm::Error::success();
}

} // namespace tilewright
