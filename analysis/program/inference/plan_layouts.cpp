#include "analysis/program/inference/plan_layouts.h"

#include "analysis/program/inference/write_back.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tilewright::inference {

std::vector<PlanLayout> planLayouts(const LayoutProblem &problem, const InferredLayouts &layouts) {
  std::vector<PlanLayout> result;
  for (const InferredNode &node : layouts.nodes)
    if (problem.labelsOf(node.node).size() > 1)
      result.push_back({problem.graph().nodes[node.node].name, node.label.text});
  return result;
}

llvm::Expected<InferredLayouts> layoutsOfPlan(LayoutProblem &problem,
                                              std::span<const PlanLayout> layouts, Misfit *misfit) {
  auto wrong = [&](Misfit which, std::string message) {
    if (misfit)
      *misfit = which;
    return makeError(DiagClass::BadInput, "{}", message);
  };
  const std::vector<GraphNode> &nodes = problem.graph().nodes;
  std::map<std::string_view, uint32_t> byName;
  for (uint32_t n = 0; n < nodes.size(); ++n)
    byName.emplace(nodes[n].name, n);
  std::vector<std::optional<uint32_t>> chosen(nodes.size());
  for (Misfit i = 0; i < layouts.size(); ++i) {
    auto found = byName.find(layouts[i].of);
    if (found == byName.end())
      return wrong(i,
                   fmt::format("no value or op of the plan's program is named {}", layouts[i].of));
    const uint32_t n = found->second;
    if (chosen[n])
      return wrong(i, fmt::format("{} has a layout already", layouts[i].of));
    const std::vector<NodeLabel> &labels = problem.labelsOf(n);
    auto label = std::find_if(labels.begin(), labels.end(), [&](const NodeLabel &each) {
      return each.text == layouts[i].layout;
    });
    if (label == labels.end())
      return wrong(i, fmt::format("{} is none of the {} layouts that {} can have, as {}",
                                  layouts[i].layout, labels.size(), layouts[i].of,
                                  labels.empty() ? "none" : labels.front().text));
    chosen[n] = static_cast<uint32_t>(label - labels.begin());
  }
  std::vector<uint32_t> labels;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (!chosen[n] && problem.labelsOf(n).size() != 1)
      return wrong(layouts.size(), fmt::format("there is no layout of {}", nodes[n].name));
    labels.push_back(chosen[n].value_or(0));
  }
  InferredLayouts result = layoutsFor(problem, labels);
  if (result.cost >= impossible)
    return wrong(layouts.size(), "values can't be converted as these layouts need it");
  return result;
}

llvm::Error addPlanLayouts(program::PlanProgram &plan, std::span<const PlanLayout> layouts,
                           Misfit *misfit) {
  if (layouts.empty())
    return llvm::Error::success();
  if (misfit)
    *misfit = layouts.size();
  llvm::Expected<program::Program> program = program::concreteProgram(plan);
  if (!program)
    return program.takeError();
  llvm::Expected<std::unique_ptr<LayoutProblem>> problem = LayoutProblem::make(*program, {});
  if (!problem)
    return problem.takeError();
  llvm::Expected<InferredLayouts> chosen = layoutsOfPlan(**problem, layouts, misfit);
  if (!chosen)
    return chosen.takeError();
  llvm::Expected<program::Program> made = withLayouts(*program, **problem, *chosen);
  if (!made) // whatever is wrong with it, the plan asked for it
    return makeError(DiagClass::BadInput, "{}", takeDiag(made.takeError()).message);
  plan.stages.push_back({"layouts", std::move(*made), {}, true});
  return llvm::Error::success();
}

} // namespace tilewright::inference
