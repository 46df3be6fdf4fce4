// Plans of a kernel: enumerated, searched, priced.
#include "tools/c_api/choices.h"
#include "tools/c_api/status.h"
#include "tools/tilewright/price_output.h"
#include "tools/tilewright/resource_parts.h"
#include "tools/tilewright/tilings.h"

#include <cmath>

namespace tilewright::capi {

using cli::Json;

namespace {

/// Plans that a scorer is given at once: their sizes stay in the cache of a core.
constexpr size_t mostAtOnce = size_t(1) << 12;

void describe(Plans &plans, const PlanCounts &counts, bool isComplete, const std::string &refusal,
              Json limiters) {
  Json document = cli::newDocument("plans");
  document["raw"] = counts.raw;
  document["feasible"] = counts.feasible;
  document["priced"] = counts.priced;
  document["is_exhaustive"] = counts.isExhaustive();
  document["is_complete"] = isComplete;
  document["refusal"] = refusal;
  document["limiters"] = std::move(limiters);
  plans.description = cli::dump(document);
}

llvm::Error enumerate(tw_kernel handle, tw_instruction instruction, const int64_t *fixed,
                      size_t count, size_t limit, tw_plans *place) {
  llvm::Expected<Call> call = Call::begin(handle, instruction, fixed, count);
  if (!call)
    return call.takeError();
  if (!place)
    return noPlace("plans");
  Kernel &kernel = *call->kernel;
  auto plans = std::make_shared<Plans>();
  plans->parameters = kernel.parameters();
  PlanCounts counts;
  bool isComplete = true;
  PlanSearchOptions searching;
  searching.choice = call->choice;
  for (size_t space : call->spaces) {
    const KernelPlan &prototype = kernel.plans.spaces()[space];
    llvm::Expected<ConstraintSystem> system = tilewright::systemOf(prototype, searching);
    if (!system)
      return system.takeError();
    llvm::Expected<CompiledSystem> compiled = CompiledSystem::compile(*system);
    if (!compiled)
      return compiled.takeError();
    const SearchResult total = compiled->count();
    counts.feasible += total.solutions;
    isComplete &= total.end == SearchResult::End::Exhausted && total.undecided == 0;
    if (plans->values.size() < limit)
      compiled->enumerate([&](std::span<const int64_t> values) {
        plans->values.emplace_back(values.begin(), values.end());
        plans->instructions.push_back(prototype.instruction);
        return plans->values.size() < limit;
      });
  }
  plans->timesNs.assign(plans->values.size(), std::nan(""));
  isComplete &= plans->values.size() == counts.feasible;
  describe(*plans, counts, isComplete, "", Json::array());
  give(place, std::move(plans));
  return llvm::Error::success();
}

llvm::Expected<PlanRanking> searchOne(const Kernel &kernel, Instruction instruction,
                                      const PlanSearchOptions &searching, bool schedules) {
  PlanOptions options = kernel.plans.options;
  options.instruction = instruction;
  llvm::Expected<KernelPlans> plans =
      kernelPlans(kernel.model->prepared->module, kernel.source, kernel.device->device,
                  kernel.device->calibration, options);
  if (!plans)
    return plans.takeError();
  return schedules ? plans->search(searching) : cli::searchTilings(*plans, searching);
}

llvm::Error search(tw_kernel handle, tw_instruction instruction, const int64_t *fixed, size_t count,
                   size_t top, size_t budget, bool schedules, tw_plans *place) {
  llvm::Expected<Call> call = Call::begin(handle, instruction, fixed, count);
  if (!call)
    return call.takeError();
  if (!place)
    return noPlace("plans");
  Kernel &kernel = *call->kernel;
  PlanSearchOptions searching;
  searching.choice = call->choice;
  if (top > 0)
    searching.top = top;
  if (budget > 0)
    searching.maxPriced = budget;
  llvm::Expected<PlanRanking> ranking =
      call->spaces.size() == kernel.spaces.size()
          ? schedules ? kernel.plans.search(searching) : cli::searchTilings(kernel.plans, searching)
          : searchOne(kernel, kernel.plans.spaces()[call->spaces.front()].instruction, searching,
                      schedules);
  if (!ranking)
    return ranking.takeError();
  auto plans = std::make_shared<Plans>();
  plans->parameters = kernel.parameters();
  Json limiters = Json::array();
  for (const RankedPlan &each : ranking->best) {
    plans->values.push_back(each.plan.values);
    plans->instructions.push_back(each.plan.instruction);
    plans->timesNs.push_back(each.estimate.timeNs);
    limiters.push_back(each.estimate.limiter);
  }
  PlanCounts counts{ranking->raw, ranking->feasible, ranking->priced, 0, ranking->isExhaustive};
  describe(*plans, counts, ranking->isExhaustive, ranking->refusal, std::move(limiters));
  give(place, std::move(plans));
  return llvm::Error::success();
}

llvm::Error copyPlans(tw_plans handle, int64_t *values, int32_t *instructions, double *timesNs) {
  auto plans = objectOf<Plans>(handle);
  if (!plans)
    return plans.takeError();
  for (size_t i = 0; i < (*plans)->values.size(); ++i) {
    if (values)
      values = std::copy((*plans)->values[i].begin(), (*plans)->values[i].end(), values);
    if (instructions)
      instructions[i] = static_cast<int32_t>((*plans)->instructions[i]);
    if (timesNs)
      timesNs[i] = (*plans)->timesNs[i];
  }
  return llvm::Error::success();
}

/// Prices rows; `add` takes the checked values of a plan, `score` gives the times of those added
/// and forgets them.
template <class Add, class Score>
llvm::Error priceRows(const Kernel &kernel, const int64_t *values, size_t plans, double *timesNs,
                      const Add &add, const Score &score) {
  const std::vector<TileParameter> &parameters = kernel.space().parameters;
  std::vector<int64_t> row(parameters.size());
  // What choiceOf() says of each number holds here, too.
  auto addRow = [&](size_t number) -> llvm::Error {
    for (size_t i = 0; i < row.size(); ++i) {
      const int64_t value = values[number * row.size() + i], largest = parameters[i].largest();
      if (value < 1 || (value > largest && parameters[i].role == TileParameter::Role::Schedule))
        return makeError(DiagClass::BadInput, "plan {}: {} is {}, allowed are 1 to {}", number,
                         parameters[i].name, value, largest);
      row[i] = std::min(value, largest);
    }
    return add(row);
  };
  for (size_t first = 0; first < plans; first += mostAtOnce) {
    const size_t end = std::min(plans, first + mostAtOnce);
    llvm::Error failed = llvm::Error::success();
    for (size_t i = first; i < end && !failed; ++i)
      failed = addRow(i);
    llvm::Expected<std::vector<double>> times = score();
    if (failed) {
      llvm::consumeError(times.takeError());
      return failed;
    }
    if (!times)
      return times.takeError();
    std::copy(times->begin(), times->end(), timesNs + first);
  }
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<Kernel>> kernelToPrice(tw_kernel handle, const int64_t *values,
                                                      size_t plans, size_t count,
                                                      const double *timesNs) {
  auto kernel = objectOf<Kernel>(handle);
  if (!kernel)
    return kernel.takeError();
  if (count != (*kernel)->parameters())
    return makeError(DiagClass::BadInput, "{} values a plan, and the kernel has {} parameters",
                     count, (*kernel)->parameters());
  if (plans > 0 && (!values || !timesNs))
    return noPlace(values ? "times_ns" : "values");
  return kernel;
}

llvm::Error price(tw_kernel handle, tw_instruction instruction, const int64_t *values, size_t plans,
                  size_t count, double *timesNs) {
  auto object = kernelToPrice(handle, values, plans, count, timesNs);
  if (!object)
    return object.takeError();
  Kernel &kernel = **object;
  const std::lock_guard lock(kernel.mutex);
  llvm::Expected<std::vector<size_t>> spaces = spacesOf(kernel, instruction);
  if (!spaces)
    return spaces.takeError();
  PlanScorer &scorer = scorerOf(kernel, spaces->front());
  KernelPlan plan = kernel.plans.spaces()[spaces->front()];
  return priceRows(
      kernel, values, plans, timesNs,
      [&](const std::vector<int64_t> &row) {
        plan.values = row;
        return scorer.add(plan);
      },
      [&] { return scorer.score(); });
}

llvm::Error priceAs(tw_kernel handle, const char *compiler, const int64_t *values, size_t plans,
                    size_t count, double *timesNs) {
  auto object = kernelToPrice(handle, values, plans, count, timesNs);
  if (!object)
    return object.takeError();
  if (!compiler)
    return noPlace("compiler");
  if (std::string_view(compiler) != "triton")
    return makeError(DiagClass::BadInput, "no compiler '{}'; known: triton",
                     excerpt(std::string(compiler)));
  Kernel &kernel = **object;
  const Device &device = kernel.device->device;
  const std::lock_guard lock(kernel.mutex);
  if (!kernel.triton) {
    KernelPlan prototype = kernel.plans.spaces().front();
    prototype.style = tritonStyle;
    kernel.triton = std::make_unique<PlanBatch>(std::move(prototype), device);
  }
  PlanBatch &batch = *kernel.triton;
  const Parameters parameters = parametersFor(kernel.device->calibration, device);
  return priceRows(
      kernel, values, plans, timesNs,
      [&](const std::vector<int64_t> &row) { return batch.add(row); },
      [&]() -> llvm::Expected<std::vector<double>> {
        std::vector<double> times(batch.size());
        llvm::Error error = batch.score(parameters, kernel.plans.options.cache, times);
        batch.clear();
        if (error)
          return error;
        return times;
      });
}

llvm::Error estimate(tw_kernel handle, tw_instruction instruction, const int64_t *values,
                     size_t count, tw_text *json) {
  auto object = objectOf<Kernel>(handle);
  if (!object)
    return object.takeError();
  if (!json)
    return noPlace("json");
  Kernel &kernel = **object;
  const std::lock_guard lock(kernel.mutex);
  llvm::Expected<KernelPlan> plan = planOf(kernel, instruction, values, count);
  if (!plan)
    return plan.takeError();
  llvm::Expected<cli::PlanPrice> price = cli::priceOf(kernel.plans, *plan);
  if (!price)
    return price.takeError();
  const CacheState cache = kernel.plans.options.cache;
  price->cache = cache == CacheState::Warm    ? "warm"
                 : cache == CacheState::Clean ? "clean"
                                              : "flushed";
  Json document = cli::newDocument("estimate");
  document["price"] = cli::priceJson(*price);
  const EstimateResources &r = price->estimate.resources;
  document["resources"] = {{"warps", r.warps},
                           {"registers", r.registers},
                           {"shared_bytes", r.sharedBytes},
                           {"blocks_per_sm", r.ctasPerSm},
                           {"occupancy", r.occupancy},
                           {"occupancy_limiter", r.occupancyLimiter},
                           {"register_items", cli::partsJson(r.registerParts)},
                           {"shared_items", cli::partsJson(r.sharedParts)}};
  giveText(json, cli::dump(document));
  return llvm::Error::success();
}

} // namespace

} // namespace tilewright::capi

using namespace tilewright::capi;

tw_status tw_enumerate(tw_kernel kernel, tw_instruction instruction, const int64_t *fixed,
                       size_t count, size_t limit, tw_plans *plans, tw_text *error) {
  return guarded(error, [&] { return enumerate(kernel, instruction, fixed, count, limit, plans); });
}

tw_status tw_search(tw_kernel kernel, tw_instruction instruction, const int64_t *fixed,
                    size_t count, size_t top, size_t budget, int32_t schedules, tw_plans *plans,
                    tw_text *error) {
  return guarded(error, [&] {
    return search(kernel, instruction, fixed, count, top, budget, schedules != 0, plans);
  });
}

size_t tw_plans_size(tw_plans plans) {
  auto object = std::dynamic_pointer_cast<Plans>(Handles::all().find(plans));
  return object ? object->values.size() : 0;
}

tw_status tw_copy_plans(tw_plans plans, int64_t *values, int32_t *instructions, double *times_ns,
                        tw_text *error) {
  return guarded(error, [&] { return copyPlans(plans, values, instructions, times_ns); });
}

tw_status tw_describe_plans(tw_plans plans, tw_text *json, tw_text *error) {
  return guarded(error, [&]() -> llvm::Error {
    auto object = objectOf<Plans>(plans);
    if (!object)
      return object.takeError();
    if (!json)
      return noPlace("json");
    giveText(json, (*object)->description);
    return llvm::Error::success();
  });
}

tw_status tw_price(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                   size_t plans, size_t count, double *times_ns, tw_text *error) {
  return guarded(error, [&] { return price(kernel, instruction, values, plans, count, times_ns); });
}

tw_status tw_price_as(tw_kernel kernel, const char *compiler, const int64_t *values, size_t plans,
                      size_t count, double *times_ns, tw_text *error) {
  return guarded(error, [&] { return priceAs(kernel, compiler, values, plans, count, times_ns); });
}

tw_status tw_estimate(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                      size_t count, tw_text *json, tw_text *error) {
  return guarded(error, [&] { return estimate(kernel, instruction, values, count, json); });
}
