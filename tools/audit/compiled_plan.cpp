#include "tools/audit/compiled_plan.h"

#include "analysis/ir/inline.h"
#include "analysis/support/diag.h"
#include "costmodel/features.h"
#include "costmodel/sequence/library_product.h"

#include <algorithm>
#include <functional>
#include <map>

namespace tilewright {

llvm::Expected<std::shared_ptr<const Module>> moduleOfBody(const Module &module, const Op &fusion) {
  // What the body calls, and nothing else of the module.
  Module alone;
  alone.source = module.source;
  std::map<uint32_t, GraphId> copies;
  std::function<GraphId(GraphId)> copyOf = [&](GraphId id) {
    if (auto found = copies.find(id.index); found != copies.end())
      return found->second;
    Graph graph = module.graph(id);
    for (size_t i = 0; i < graph.size(); ++i)
      for (CalledGraph &called : graph.op(OpId{uint32_t(i)}).called)
        called.graph = copyOf(called.graph);
    return copies[id.index] = alone.add(std::move(graph));
  };
  alone.name = module.name;
  alone.entryId = copyOf(fusion.called.front().graph);
  InlineOptions options;
  options.fusions = true;
  llvm::Expected<Module> inlined = inlineCalls(alone, options);
  if (!inlined)
    return inlined.takeError();
  return std::make_shared<const Module>(std::move(*inlined));
}

llvm::Expected<KernelSource> kernelOfBody(const Module &body) {
  const Graph &graph = body.entry();
  std::vector<OpId> ops;
  for (size_t i = 0; i < graph.size(); ++i) {
    const OpId id{uint32_t(i)};
    if (graph[id].opcode != Opcode::Parameter && graph[id].opcode != Opcode::Tuple)
      ops.push_back(id);
  }
  llvm::Expected<Group> group = makeGroup(graph, ops);
  if (!group)
    return group.takeError();
  KernelSource source;
  source.name = graph[graph.root()].name;
  source.graph = body.entryId;
  source.group = std::move(*group);
  source.kind = kindOf(graph, source.group);
  return source;
}

llvm::Expected<KernelPlan> compiledPlan(std::shared_ptr<const Module> body,
                                        const TileConfig &config, const Device &device) {
  llvm::Expected<KernelSource> source = kernelOfBody(*body);
  if (!source)
    return source.takeError();
  llvm::Expected<TiledKernel> tiled = tileKernel(*body, *source);
  if (!tiled)
    return tiled.takeError();
  KernelPlan plan;
  plan.name = source->name;
  plan.module = std::move(body);
  plan.graph = source->graph;
  plan.context = tiled->context;
  plan.tiled = tiled->tiled;
  plan.style = tritonStyle;
  size_t parallel = 0, contracted = 0;
  const std::vector<int64_t> &tile = config.outputTiles.back();
  for (const TileParameter &parameter : plan.tiled->space.parameters) {
    int64_t value = 1;
    if (parameter.role == TileParameter::Role::Parallel) {
      value = parallel < tile.size() ? tile[parallel] : 1;
      ++parallel;
    } else if (parameter.role == TileParameter::Role::Sequential) {
      // Without a size of its own a reduced dim is one tile.
      const bool isDots = parameter.name.front() == 'k';
      value = isDots && contracted < config.contracted.size() ? config.contracted[contracted++]
                                                              : parameter.extent;
    } else if (parameter.name == "warps") {
      value = config.warps;
    } else if (parameter.name == "stages") {
      value = config.stages;
    } else if (parameter.name == "split_k") {
      value = config.splitK;
    }
    plan.values.push_back(std::max<int64_t>(1, value));
  }
  if (parallel != tile.size())
    return makeError(DiagClass::Unsupported, "{} dims are tiled, its compiler has tiles of {}",
                     parallel, tile.size());
  llvm::Expected<Instruction> instruction = preferredInstruction(plan, device);
  if (!instruction)
    return instruction.takeError();
  plan.instruction = *instruction;
  return plan;
}

llvm::Expected<std::shared_ptr<const Module>> moduleOfProduct(const Graph &graph, OpId call) {
  const std::optional<LibraryWork> work = libraryWork(graph, call);
  if (!work || work->dims.lhsContracting.empty() || graph[call].operands.size() < 2)
    return makeError(DiagClass::Unsupported, "%{} is no matrix product", graph[call].name);
  Graph product("product");
  auto parameter = [&](int64_t number) {
    Op op;
    op.name = number == 0 ? "a" : "b";
    op.opcode = Opcode::Parameter;
    op.shape = graph[graph[call].operands[size_t(number)]].shape;
    op.attrs.parameterNumber = number;
    return product.add(std::move(op));
  };
  Op dot;
  dot.operands = {parameter(0), parameter(1)};
  dot.name = "c";
  dot.opcode = Opcode::Dot;
  dot.attrs.dot = work->dims;
  const Shape &result = graph[call].shape;
  const Shape &a = product[dot.operands[0]].shape, &b = product[dot.operands[1]].shape;
  dot.shape = Shape::tensor(result.isTuple ? result.elements[0].dtype : result.dtype, {});
  auto addFree = [&](const Shape &shape, const std::vector<int64_t> &batch,
                     const std::vector<int64_t> &contracted) {
    for (size_t d = 0; d < shape.dims.size(); ++d)
      if (!std::count(batch.begin(), batch.end(), int64_t(d)) &&
          !std::count(contracted.begin(), contracted.end(), int64_t(d)))
        dot.shape.dims.push_back(shape.dims[d]);
  };
  for (int64_t d : work->dims.lhsBatch)
    dot.shape.dims.push_back(a.dims[size_t(d)]);
  addFree(a, work->dims.lhsBatch, work->dims.lhsContracting);
  addFree(b, work->dims.rhsBatch, work->dims.rhsContracting);
  product.setRoot(product.add(std::move(dot)));
  auto module = std::make_shared<Module>();
  module->name = "product";
  module->entryId = module->add(std::move(product));
  return std::shared_ptr<const Module>(std::move(module));
}

llvm::Expected<RankedPlan> bestPlan(std::shared_ptr<const Module> body, const Device &device,
                                    const Calibration &calibration, size_t budget) {
  llvm::Expected<KernelSource> source = kernelOfBody(*body);
  if (!source)
    return source.takeError();
  PlanOptions options;
  options.cache = CacheState::Clean;
  llvm::Expected<KernelPlans> plans =
      kernelPlans(std::move(body), *source, device, calibration, options);
  if (!plans)
    return plans.takeError();
  PlanSearchOptions searching;
  searching.top = 1;
  searching.maxPriced = budget;
  llvm::Expected<PlanRanking> ranking = plans->search(searching);
  if (!ranking)
    return ranking.takeError();
  if (ranking->best.empty())
    return makeError(DiagClass::Unsupported, "{}",
                     ranking->refusal.empty() ? "no plan" : ranking->refusal);
  return std::move(ranking->best.front());
}

} // namespace tilewright
