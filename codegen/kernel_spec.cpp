#include "codegen/kernel_spec.h"

#include "analysis/program/inference/plan_layouts.h"
#include "analysis/program/pipeline/plan_loops.h"
#include "analysis/support/checked.h"
#include "codegen/extract.h"

#include <algorithm>
#include <map>

namespace tilewright {

int64_t KernelSpec::sequentialSize(std::string_view op, unsigned dim, size_t n,
                                   int64_t otherwise) const {
  int64_t size = otherwise;
  for (const Sequential &tile : sequential)
    if (tile.op == op && tile.dim == dim) {
      size = tile.size;
      if (n-- == 0)
        break;
    }
  return size;
}

llvm::Expected<KernelSpec> specOf(const KernelPlan &plan) {
  if (!plan.tiled->group.within.empty())
    return makeError(DiagClass::Unsupported,
                     "it writes a window of a tensor in place, and there is code for whole results "
                     "alone");
  KernelSpec spec;
  spec.name = plan.name;
  spec.schedule = plan.schedule();
  const std::vector<TileParameter> &parameters = plan.tiled->space.parameters;
  // The root whose dims are tiled comes first.
  Group group = plan.tiled->group;
  for (const TileParameter &parameter : parameters)
    if (parameter.role == TileParameter::Role::Parallel)
      if (auto root = std::find(group.roots.begin(), group.roots.end(), parameter.op);
          root != group.roots.end()) {
        std::rotate(group.roots.begin(), root, root + 1);
        break;
      }
  auto module = extractGroup(*plan.module, plan.graph, group);
  if (!module)
    return module.takeError();
  spec.module = *module;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const TileParameter &parameter = parameters[i];
    if (parameter.role == TileParameter::Role::Parallel) {
      if (parameter.dim >= spec.rootTile.size())
        spec.rootTile.resize(parameter.dim + 1, 1);
      spec.rootTile[parameter.dim] = plan.values[i];
    } else if (parameter.role == TileParameter::Role::Sequential) {
      spec.sequential.push_back({plan.ops()[parameter.op].name, parameter.dim, plan.values[i]});
    }
  }
  if (auto error = validate(spec))
    return error;
  return spec;
}

llvm::Expected<KernelPlan> planOf(const KernelSpec &spec) {
  const Graph &graph = spec.graph();
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph[OpId{i}].opcode != Opcode::Parameter && graph[OpId{i}].opcode != Opcode::Tuple)
      ops.push_back(OpId{i});
  const std::vector<OpId> results = resultsOf(graph);
  auto group = makeGroup(graph, ops, results);
  if (!group)
    return group.takeError();
  // The dims of the first result are tiled; those of the last root of a group are.
  if (auto root = std::find(group->roots.begin(), group->roots.end(), results[0]);
      root != group->roots.end())
    std::rotate(root, root + 1, group->roots.end());
  KernelPlan plan;
  plan.name = spec.name;
  plan.module = spec.module;
  plan.graph = spec.module->entryId;
  plan.context = std::make_shared<ExprContext>();
  plan.instruction = spec.schedule.instruction;
  auto tiled = tileGroup(graph, *group, *plan.context);
  if (!tiled)
    return tiled.takeError();
  plan.tiled = std::make_shared<TiledGroup>(std::move(*tiled));
  const OpId root = results[0];
  std::map<std::pair<OpId, unsigned>, size_t> seen; ///< loops of an op's dim
  for (const TileParameter &parameter : plan.tiled->space.parameters) {
    int64_t value = 1;
    if (parameter.role == TileParameter::Role::Parallel) {
      if (parameter.op != root || parameter.dim >= spec.rootTile.size())
        return makeError(DiagClass::Unsupported, "%{} is tiled, not %{}", graph[parameter.op].name,
                         graph[root].name);
      value = spec.rootTile[parameter.dim];
    } else if (parameter.role == TileParameter::Role::Sequential) {
      const size_t n = seen[{parameter.op, parameter.dim}]++;
      value =
          std::min(parameter.largest(), spec.sequentialSize(graph[parameter.op].name, parameter.dim,
                                                            n, parameter.largest()));
    } else {
      value = parameter.name == "warps"     ? spec.schedule.warps
              : parameter.name == "stages"  ? spec.schedule.stages
              : parameter.name == "split_k" ? spec.schedule.splitK
                                            : spec.schedule.groupM;
    }
    plan.values.push_back(value);
  }
  return plan;
}

std::string KernelSpec::recordedWords() const {
  std::string words = loops.empty() ? "" : "settings of loops";
  if (!layouts.empty())
    words += words.empty() ? "layouts" : " and layouts";
  return words;
}

void KernelSpec::forgetProgram() {
  loops.clear();
  layouts.clear();
}

llvm::Error addRecorded(program::PlanProgram &program, const KernelSpec &spec, Misfit *misfit) {
  Misfit wrong{"loops", spec.loops.size()};
  llvm::Error error = pipeline::addPlanLoops(program, spec.loops, &wrong.index);
  if (!error) {
    wrong = {"layouts", spec.layouts.size()};
    error = inference::addPlanLayouts(program, spec.layouts, &wrong.index);
  }
  if (error && misfit)
    *misfit = wrong;
  return error;
}

llvm::Expected<program::PlanProgram> programOf(const KernelSpec &spec, Misfit *misfit) {
  if (misfit)
    *misfit = spec.loops.empty() ? Misfit{"layouts", spec.layouts.size()}
                                 : Misfit{"loops", spec.loops.size()};
  llvm::Expected<KernelPlan> plan = planOf(spec);
  if (!plan)
    return plan.takeError();
  llvm::Expected<program::PlanProgram> program = program::programOfPlan(*plan);
  if (program)
    if (llvm::Error error = addRecorded(*program, spec, misfit))
      return error;
  return program;
}

llvm::Error validate(const KernelSpec &spec) {
  const Graph &graph = spec.graph();
  std::vector<OpId> results = resultsOf(graph);
  if (results.empty())
    return makeError(DiagClass::Unsupported, "a kernel without results");
  for (OpId id : results)
    if (graph[id].shape.isTuple || bitWidth(graph[id].shape.dtype) == 0)
      return makeError(DiagClass::Unsupported, "%{}: no code for {} with a result of type {}",
                       graph[id].name, toString(graph[id].opcode), graph[id].shape.str(false));
  for (OpId id : graph.parameters())
    if (graph[id].shape.isTuple || bitWidth(graph[id].shape.dtype) == 0)
      return makeError(DiagClass::Unsupported,
                       "%{}: a kernel can't read a value of type {} from memory", graph[id].name,
                       graph[id].shape.str(false));
  const Op &root = graph[results[0]];
  if (spec.rootTile.size() != root.shape.rank())
    return makeError(DiagClass::BadInput, "%{} has {} dims, but {} tile sizes are given", root.name,
                     root.shape.rank(), spec.rootTile.size());
  int64_t elements = 1;
  constexpr int64_t maxElements = 1 << 20;
  for (unsigned i = 0; i < root.shape.rank(); ++i) {
    int64_t extent = root.shape.dims[i], size = spec.rootTile[i];
    if (extent == 0)
      return makeError(DiagClass::Unsupported, "%{} has no elements: there is nothing to compute",
                       root.name);
    if (size < 1 || size > extent)
      return makeError(DiagClass::BadInput, "%{} dim {}: tile {} is not in 1 to {}", root.name, i,
                       size, extent);
    auto product = checkedMul(elements, size);
    if (!product || *product > maxElements)
      return makeError(DiagClass::BadInput, "%{}: a tile of more than {} elements", root.name,
                       maxElements);
    elements = *product;
  }
  for (const KernelSpec::Sequential &tile : spec.sequential)
    if (tile.size < 1 || tile.size > (int64_t(1) << 31))
      return makeError(DiagClass::BadInput, "%{}: tile {} of reduction dim {} is not in 1 to 2^31",
                       tile.op, tile.size, tile.dim);
  const Schedule &schedule = spec.schedule;
  if (schedule.warps < 1 || schedule.warps > 32)
    return makeError(DiagClass::BadInput, "{} warps are not in 1 to 32", schedule.warps);
  if (schedule.stages < 1 || schedule.stages > 16)
    return makeError(DiagClass::BadInput, "{} stages are not in 1 to 16", schedule.stages);
  if (schedule.groupM < 1 || schedule.splitK < 1)
    return makeError(DiagClass::BadInput, "group_m {} and split_k {} must be 1 or more",
                     schedule.groupM, schedule.splitK);
  for (const Op &op : graph.all()) {
    if (!op.shape.isTuple && !op.shape.byteSize())
      return makeError(DiagClass::BadInput, "%{}: its size does not fit in 64 bits", op.name);
  }
  return llvm::Error::success();
}

} // namespace tilewright
