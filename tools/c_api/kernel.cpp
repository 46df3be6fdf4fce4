// Kernels, and whether a plan of theirs is feasible.
#include "tools/c_api/choices.h"
#include "tools/c_api/documents.h"
#include "tools/c_api/status.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/tile_choice.h"

#include <cmath>

namespace tilewright::capi {

using cli::Json;

namespace {

llvm::Error openKernel(tw_model modelHandle, tw_device deviceHandle, const char *root,
                       const char *cache, tw_kernel *kernel) {
  auto model = objectOf<Model>(modelHandle);
  if (!model)
    return model.takeError();
  auto device = objectOf<DeviceOfSession>(deviceHandle);
  if (!device)
    return device.takeError();
  if (!kernel)
    return noPlace("kernel");
  llvm::Expected<CacheState> state = cacheOf(cache);
  if (!state)
    return state.takeError();
  llvm::Expected<KernelSource> source = findKernel(*(*model)->prepared, root ? root : "");
  if (!source)
    return source.takeError();
  llvm::Expected<KernelPlans> plans =
      kernelPlans((*model)->prepared->module, *source, (*device)->device, (*device)->calibration,
                  {.cache = *state});
  if (!plans)
    return plans.takeError();
  give(kernel, std::make_shared<Kernel>(*model, *device, std::move(*source), std::move(*plans)));
  return llvm::Error::success();
}

std::string kernelDocument(const Kernel &kernel) {
  const KernelPlan &first = kernel.plans.spaces().front();
  const Group &group = first.tiled->group;
  Json document = cli::newDocument("kernel");
  document["name"] = first.name;
  document["kind"] = toString(kindOf(first.ops(), group));
  document["root_shape"] = first.ops()[group.roots.front()].shape.str(false);
  document["parameters"] = Json::array();
  for (const TileParameter &parameter : kernel.space().parameters) {
    const char *roles[] = {"parallel", "sequential", "schedule"};
    document["parameters"].push_back({{"name", parameter.name},
                                      {"role", roles[static_cast<int>(parameter.role)]},
                                      {"extent", parameter.largest()}});
  }
  document["instructions"] = Json::array();
  for (const KernelPlan &space : kernel.plans.spaces())
    document["instructions"].push_back(toString(space.instruction));
  document["lower_bound_ns"] = kernel.plans.boundNs();
  return cli::dump(document);
}

/// A system in which what is chosen has one candidate, and of the rest divisors are tried, too.
llvm::Expected<ConstraintSystem> askedOf(Kernel &kernel, size_t space) {
  llvm::Expected<const ConstraintSystem *> standard = systemOf(kernel, space);
  if (!standard)
    return standard.takeError();
  ConstraintSystem system = **standard;
  for (size_t i = 0; i < system.parameters.size(); ++i)
    if (kernel.space().parameters[i].role != TileParameter::Role::Schedule)
      cli::addDivisors(kernel.space().parameters[i].largest(), system.parameters[i].candidates);
  return system;
}

using Reasons = std::vector<std::pair<Instruction, std::vector<std::string>>>;

/// A line each, with the instruction where it is not all that give the reason.
std::string linesOf(const Reasons &reasons) {
  std::vector<std::string> seen;
  std::string text;
  for (const auto &[ignored, lines] : reasons)
    for (const std::string &line : lines) {
      if (std::find(seen.begin(), seen.end(), line) != seen.end())
        continue;
      seen.push_back(line);
      std::vector<std::string_view> who;
      for (const auto &[instruction, others] : reasons)
        if (std::find(others.begin(), others.end(), line) != others.end())
          who.push_back(toString(instruction));
      std::string names;
      for (size_t i = 0; i < who.size(); ++i)
        names += fmt::format("{}{}", i ? i + 1 == who.size() ? " and " : ", " : "", who[i]);
      text += fmt::format("{}{}{}", text.empty() ? "" : "\n",
                          who.size() == reasons.size() ? "" : fmt::format("with {} ", names), line);
    }
  return text;
}

/// All is chosen: the compiled constraints answer, and whether an SM can hold a CTA.
llvm::Expected<Verdict> verdictOfPoint(Kernel &kernel, size_t space,
                                       const std::vector<int64_t> &point) {
  llvm::Expected<const CompiledSystem *> compiled = compiledOf(kernel, space);
  if (!compiled)
    return compiled.takeError();
  bool isKnown = true;
  for (const std::optional<bool> &truth : (*compiled)->evaluate(point)) {
    if (truth && !*truth)
      return Verdict::No;
    isKnown &= truth.has_value();
  }
  if (!isKnown)
    return Verdict::Unknown;
  KernelPlan plan = kernel.plans.spaces()[space];
  plan.values = point;
  PlanScorer &scorer = scorerOf(kernel, space);
  if (llvm::Error error = scorer.add(plan)) {
    llvm::consumeError(std::move(error));
    return Verdict::Yes; // it has no price, which is no constraint
  }
  llvm::Expected<std::vector<double>> times = scorer.score();
  if (!times)
    return times.takeError();
  return std::isfinite(times->front()) ? Verdict::Yes : Verdict::No;
}

llvm::Expected<Explanation> explanationOf(Kernel &kernel, size_t space, const Choice &choice,
                                          bool inWords) {
  llvm::Expected<ConstraintSystem> system = askedOf(kernel, space);
  if (!system)
    return system.takeError();
  ExplainOptions options;
  options.findNearest = false;
  options.certify = inWords;
  return explain(*system, choice, options);
}

llvm::Error isFeasible(tw_kernel handle, tw_instruction instruction, const int64_t *values,
                       size_t count, tw_verdict *feasible, tw_text *why) {
  if (why)
    *why = nullptr;
  llvm::Expected<Call> call = Call::begin(handle, instruction, values, count);
  if (!call)
    return call.takeError();
  if (!feasible)
    return noPlace("feasible");
  Kernel &kernel = *call->kernel;
  const Choice &choice = call->choice;
  std::vector<int64_t> point;
  for (const std::optional<int64_t> &value : choice)
    if (value)
      point.push_back(*value);
  const bool isPoint = point.size() == choice.size();

  Verdict most = Verdict::No;
  Reasons reasons;
  for (size_t space : call->spaces) {
    Verdict verdict = Verdict::No;
    if (isPoint) {
      llvm::Expected<Verdict> answer = verdictOfPoint(kernel, space, point);
      if (!answer)
        return answer.takeError();
      verdict = *answer;
    }
    if (!isPoint || (verdict != Verdict::Yes && why)) {
      llvm::Expected<Explanation> answer = explanationOf(kernel, space, choice, why != nullptr);
      if (!answer)
        return answer.takeError();
      std::vector<std::string> lines;
      if (answer->core)
        lines = answer->core->text;
      else if (!answer->reason.empty())
        lines = {answer->reason};
      else if (isPoint && answer->feasible == Verdict::Yes)
        lines = {"device: an SM can't hold a CTA of this plan"};
      reasons.emplace_back(kernel.plans.spaces()[space].instruction, std::move(lines));
      if (!isPoint)
        verdict = answer->feasible;
    }
    if (verdict == Verdict::Yes) {
      most = Verdict::Yes;
      break;
    }
    if (verdict == Verdict::Unknown)
      most = Verdict::Unknown;
  }
  *feasible = most == Verdict::Yes ? TW_YES : most == Verdict::No ? TW_NO : TW_UNKNOWN;
  if (most != Verdict::Yes)
    giveText(why, linesOf(reasons));
  return llvm::Error::success();
}

llvm::Error findNearest(tw_kernel handle, tw_instruction instruction, const int64_t *values,
                        size_t count, int64_t *to) {
  llvm::Expected<Call> call = Call::begin(handle, instruction, values, count);
  if (!call)
    return call.takeError();
  if (!to)
    return noPlace("nearest");
  Kernel &kernel = *call->kernel;
  const Choice &choice = call->choice;
  std::optional<Nearest> best;
  bool isNone = true;
  for (size_t space : call->spaces) {
    llvm::Expected<ConstraintSystem> system = askedOf(kernel, space);
    if (!system)
      return system.takeError();
    llvm::Expected<Nearest> nearest = nearestFeasible(*system, choice);
    if (!nearest)
      return nearest.takeError();
    isNone &= nearest->found == Verdict::No;
    if (nearest->found == Verdict::Yes && (!best || nearest->steps < best->steps))
      best = std::move(*nearest);
  }
  if (!best)
    return isNone ? makeError(DiagClass::Unsupported, "no candidate tiling is feasible")
                  : makeError(DiagClass::BudgetSpent, "the search ended before it found a "
                                                      "feasible tiling");
  std::copy(best->values.begin(), best->values.end(), to);
  return llvm::Error::success();
}

} // namespace

} // namespace tilewright::capi

using namespace tilewright;
using namespace tilewright::capi;

tw_status tw_open_kernel(tw_model model, tw_device device, const char *root, const char *cache,
                         tw_kernel *kernel, tw_text *error) {
  return guarded(error, [&] { return openKernel(model, device, root, cache, kernel); });
}

tw_status tw_describe_kernel(tw_kernel kernel, tw_text *json, tw_text *error) {
  return guarded(error, [&]() -> llvm::Error {
    auto object = objectOf<Kernel>(kernel);
    if (!object)
      return object.takeError();
    if (!json)
      return noPlace("json");
    const std::lock_guard lock((*object)->mutex);
    giveText(json, kernelDocument(**object));
    return llvm::Error::success();
  });
}

size_t tw_parameter_count(tw_kernel kernel) {
  auto object = std::dynamic_pointer_cast<Kernel>(Handles::all().find(kernel));
  return object ? object->parameters() : 0;
}

tw_status tw_feasible(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                      size_t count, tw_verdict *feasible, tw_text *why, tw_text *error) {
  return guarded(error,
                 [&] { return isFeasible(kernel, instruction, values, count, feasible, why); });
}

tw_status tw_nearest(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                     size_t count, int64_t *nearest, tw_text *error) {
  return guarded(error, [&] { return findNearest(kernel, instruction, values, count, nearest); });
}
