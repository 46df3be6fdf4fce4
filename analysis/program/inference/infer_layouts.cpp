#include "analysis/program/inference/infer_layouts.h"

#include "analysis/program/inference/explain.h"

#include <algorithm>

namespace tilewright::inference {

InferredLayouts layoutsFor(LayoutProblem &problem, const std::vector<uint32_t> &labels) {
  InferredLayouts result;
  result.cost = costOf(problem.labelling(), labels);
  result.floor = problem.floor();
  for (uint32_t n = 0; n < labels.size(); ++n)
    result.nodes.push_back({n, problem.labelsOf(n)[labels[n]]});
  for (size_t e = 0; e < problem.labelling().edges.size(); ++e) {
    const LabelledEdge &edge = problem.labelling().edges[e];
    Move move = problem.moveOf(e, labels[edge.from], labels[edge.to]);
    if (move.way == Move::Way::None || (move.way == Move::Way::Free && move.cost == 0))
      continue;
    const GraphUse &use = problem.graph().nodes[edge.to].uses[problem.useOf(e).use];
    std::string form =
        move.way == Move::Way::Shared ? problem.table().form(move.form).text : std::string();
    result.moves.push_back(
        {edge.from, edge.to, use.value, std::move(move), use.trips, std::move(form)});
  }
  return result;
}

std::vector<RankedLayout> rankLayouts(LayoutProblem &problem, uint32_t node, size_t most) {
  std::vector<RankedLayout> result;
  LabelProblem fixed = problem.labelling();
  const std::vector<Cost> own = fixed.nodes[node].own;
  for (size_t k = 0; k < own.size(); ++k) {
    fixed.nodes[node].own.assign(own.size(), impossible);
    fixed.nodes[node].own[k] = own[k];
    LabelAnswer solved = solveLabels(fixed, problem.options().labels);
    if (solved.outcome == LabelAnswer::Outcome::Found)
      result.push_back({problem.labelsOf(node)[k], solved.cost});
  }
  std::stable_sort(result.begin(), result.end(), [](const auto &a, const auto &b) {
    return std::tie(a.cost, a.label.registers, a.label.text) <
           std::tie(b.cost, b.label.registers, b.label.text);
  });
  if (result.size() > most)
    result.erase(result.begin() + static_cast<ptrdiff_t>(most), result.end());
  return result;
}

void priceGiven(LayoutProblem &problem, InferenceAnswer &answer) {
  std::vector<uint32_t> free;
  LabelAnswer solved = problem.solveAsGiven(free);
  if (solved.outcome == LabelAnswer::Outcome::Found)
    answer.given = layoutsFor(problem, solved.labels);
  for (uint32_t node : free)
    answer.notGiven.push_back(problem.graph().nodes[node].name);
}

InferenceAnswer inferLayouts(LayoutProblem &problem) {
  InferenceAnswer answer;
  answer.isClosed = problem.isClosed();
  for (uint32_t n = 0; n < problem.graph().nodes.size(); ++n)
    answer.labels += problem.labelsOf(n).size();
  answer.reasons = problem.capacityFaults();
  if (!answer.reasons.empty()) {
    answer.outcome = InferenceAnswer::Outcome::Impossible;
    return answer;
  }
  answer.search = problem.solve();
  switch (answer.search.outcome) {
  case LabelAnswer::Outcome::Found:
    answer.layouts = layoutsFor(problem, answer.search.labels);
    for (const std::vector<uint32_t> &labels : answer.search.optima)
      answer.optima.push_back(layoutsFor(problem, labels));
    answer.hasMoreOptima = answer.search.hasMoreOptima;
    break;
  case LabelAnswer::Outcome::None:
    answer.outcome = InferenceAnswer::Outcome::NoneInFamily;
    explain(problem, answer);
    break;
  case LabelAnswer::Outcome::BudgetSpent:
    answer.outcome = InferenceAnswer::Outcome::BudgetSpent;
    break;
  }
  return answer;
}

} // namespace tilewright::inference
