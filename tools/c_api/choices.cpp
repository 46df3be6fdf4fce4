#include "tools/c_api/choices.h"

#include "analysis/support/diag.h"

#include <fmt/ranges.h>

namespace tilewright::capi {

llvm::Expected<std::vector<size_t>> spacesOf(const Kernel &kernel, tw_instruction instruction) {
  const std::vector<KernelPlan> &all = kernel.plans.spaces();
  std::vector<size_t> spaces;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < all.size(); ++i) {
    names.push_back(toString(all[i].instruction));
    if (instruction == TW_ANY || static_cast<int>(all[i].instruction) == instruction)
      spaces.push_back(i);
  }
  if (spaces.empty())
    return makeError(DiagClass::BadInput, "instruction {} is none of those of the kernel: {}",
                     static_cast<int>(instruction), fmt::join(names, ", "));
  return spaces;
}

llvm::Expected<Choice> choiceOf(const Kernel &kernel, const int64_t *values, size_t count) {
  const std::vector<TileParameter> &parameters = kernel.space().parameters;
  Choice choice(parameters.size());
  if (!values && count == 0)
    return choice;
  if (!values || count != parameters.size())
    return makeError(DiagClass::BadInput, "{} values, and the kernel has {} parameters",
                     values ? count : 0, parameters.size());
  for (size_t i = 0; i < count; ++i) {
    const TileParameter &parameter = parameters[i];
    if (values[i] == 0)
      continue;
    const bool isSchedule = parameter.role == TileParameter::Role::Schedule;
    if (values[i] < 0 || (isSchedule && values[i] > parameter.largest()))
      return makeError(DiagClass::BadInput, "{} is {}, allowed are 1 to {}, and 0 for any",
                       parameter.name, values[i], parameter.largest());
    choice[i] = std::min(values[i], parameter.largest());
  }
  return choice;
}

llvm::Expected<std::vector<int64_t>> pointOf(const Kernel &kernel, const int64_t *values,
                                             size_t count) {
  llvm::Expected<Choice> choice = choiceOf(kernel, values, count);
  if (!choice)
    return choice.takeError();
  std::vector<int64_t> point;
  for (size_t i = 0; i < choice->size(); ++i) {
    if (!(*choice)[i])
      return makeError(DiagClass::BadInput, "{} is free, and a plan has a number for everything",
                       kernel.space().parameters[i].name);
    point.push_back(*(*choice)[i]);
  }
  return point;
}

llvm::Expected<KernelPlan> planOf(const Kernel &kernel, tw_instruction instruction,
                                  const int64_t *values, size_t count) {
  llvm::Expected<std::vector<size_t>> spaces = spacesOf(kernel, instruction);
  if (!spaces)
    return spaces.takeError();
  llvm::Expected<std::vector<int64_t>> point = pointOf(kernel, values, count);
  if (!point)
    return point.takeError();
  KernelPlan plan = kernel.plans.spaces()[spaces->front()];
  plan.values = std::move(*point);
  return plan;
}

llvm::Expected<const ConstraintSystem *> systemOf(Kernel &kernel, size_t space) {
  std::optional<ConstraintSystem> &system = kernel.spaces[space].system;
  if (!system) {
    llvm::Expected<ConstraintSystem> made =
        tilewright::systemOf(kernel.plans.spaces()[space], PlanSearchOptions());
    if (!made)
      return made.takeError();
    system = std::move(*made);
  }
  return &*system;
}

llvm::Expected<const CompiledSystem *> compiledOf(Kernel &kernel, size_t space) {
  std::optional<CompiledSystem> &compiled = kernel.spaces[space].compiled;
  if (!compiled) {
    llvm::Expected<const ConstraintSystem *> system = systemOf(kernel, space);
    if (!system)
      return system.takeError();
    llvm::Expected<CompiledSystem> made = CompiledSystem::compile(**system);
    if (!made)
      return made.takeError();
    compiled.emplace(std::move(*made));
  }
  return &*compiled;
}

PlanScorer &scorerOf(Kernel &kernel, size_t space) {
  std::unique_ptr<PlanScorer> &scorer = kernel.spaces[space].scorer;
  if (!scorer)
    scorer = kernel.plans.scorer(kernel.plans.spaces()[space]);
  return *scorer;
}

llvm::Expected<Call> Call::begin(tw_kernel handle, tw_instruction instruction,
                                 const int64_t *values, size_t count) {
  auto kernel = objectOf<Kernel>(handle);
  if (!kernel)
    return kernel.takeError();
  Call call{*kernel, std::unique_lock((*kernel)->mutex), {}, {}};
  llvm::Expected<std::vector<size_t>> spaces = spacesOf(**kernel, instruction);
  if (!spaces)
    return spaces.takeError();
  call.spaces = std::move(*spaces);
  llvm::Expected<Choice> choice = choiceOf(**kernel, values, count);
  if (!choice)
    return choice.takeError();
  call.choice = std::move(*choice);
  return call;
}

} // namespace tilewright::capi
