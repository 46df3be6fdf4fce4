#include "tools/explore/layout_saving.h"

#include "analysis/program/inference/plan_layouts.h"
#include "analysis/program/inference/write_back.h"
#include "analysis/program/verify.h"
#include "tools/explore/plan_refinement.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {

using inference::InferenceAnswer;
using inference::InferredLayouts;
using inference::LayoutProblem;

/// What inference says of a program whose tensors are numbered.
struct LayoutSavings::Known {
  struct Conflict {
    uint32_t from, to; ///< nodes
    int64_t degree;
  };
  inference::Cost given = 0, inferred = 0, floor = 0;
  std::vector<Conflict> conflicts;
  std::vector<PlanLayout> layouts;
  std::map<std::string, size_t> nodes; ///< by name
  std::string refusal, unwritten;

  void infer(const program::Program &program, const DeviceLimits &limits);
  void write(const program::Program &program, LayoutProblem &problem,
             const InferredLayouts &layouts, const DeviceLimits &limits);
};

void LayoutSavings::Known::infer(const program::Program &program, const DeviceLimits &limits) {
  auto problem = LayoutProblem::make(program, {});
  if (!problem) {
    refusal = takeDiag(problem.takeError()).message;
    return;
  }
  InferenceAnswer answer = inference::inferLayouts(**problem);
  if (answer.outcome != InferenceAnswer::Outcome::Found) {
    refusal = answer.reasons.empty() ? "the budget is spent" : answer.reasons.front();
    return;
  }
  inference::priceGiven(**problem, answer);
  inferred = answer.layouts.cost;
  floor = answer.layouts.floor;
  for (const inference::InferredMove &move : answer.layouts.moves) {
    const int64_t degree = std::max(move.move.store.degree, move.move.load.degree);
    if (move.move.way == inference::Move::Way::Shared && degree > 1)
      conflicts.push_back({move.from, move.to, degree});
  }
  layouts = inference::planLayouts(**problem, answer.layouts);
  for (size_t n = 0; n < answer.layouts.nodes.size(); ++n)
    nodes[(*problem)->graph().nodes[n].name] = n;
  if (!answer.given || !answer.notGiven.empty()) {
    refusal = "its own layouts have no price";
    return;
  }
  given = answer.given->cost;
  if (inferred < given)
    write(program, **problem, answer.layouts, limits);
}

void LayoutSavings::Known::write(const program::Program &program, LayoutProblem &problem,
                                 const InferredLayouts &layouts, const DeviceLimits &limits) {
  llvm::Expected<program::Program> made = inference::withLayouts(program, problem, layouts);
  if (!made) {
    unwritten = takeDiag(made.takeError()).message;
    return;
  }
  if (llvm::Error wrong = program::verify(*made, &limits).error(*made))
    unwritten = takeDiag(std::move(wrong)).message;
}

LayoutSavings::LayoutSavings(const Device &device)
    : device(device), known(std::make_unique<KnownPrograms<Known>>()) {}
LayoutSavings::~LayoutSavings() = default;

LayoutSaving LayoutSavings::of(const RankedPlan &plan, const program::PlanProgram &made) {
  LayoutSaving saving;
  llvm::Expected<program::Program> concrete = program::concreteProgram(made);
  if (!concrete) {
    saving.refusal = takeDiag(concrete.takeError()).message;
    return saving;
  }
  const Known &answer = known->of(*concrete, [&](const program::Program &numbered) {
    Known found;
    found.infer(numbered, device.limits);
    return found;
  });
  saving.given = answer.given;
  saving.inferred = answer.inferred;
  saving.floor = answer.floor;
  saving.refusal = answer.refusal;
  saving.unwritten = answer.unwritten;
  llvm::Expected<inference::TileGraph> graph = inference::graphOf(*concrete);
  if (!graph) { // as of the numbered one
    saving.refusal = takeDiag(graph.takeError()).message;
    return saving;
  }
  for (const Known::Conflict &conflict : answer.conflicts)
    saving.conflicts.push_back(fmt::format("{} to {}: {}-way", graph->nodes[conflict.from].name,
                                           graph->nodes[conflict.to].name, conflict.degree));
  for (const PlanLayout &layout : answer.layouts)
    saving.layouts.push_back({graph->nodes[answer.nodes.at(layout.of)].name, layout.layout});
  if (!saving.areTaken())
    return saving;
  const double clocks = static_cast<double>(saving.given - saving.inferred) /
                        static_cast<double>(inference::unitsOfClock);
  saving.gainNs = nsOfAllCtas(plan.estimate, device, clocks);
  return saving;
}

} // namespace tilewright
