#include "analysis/program/inference/explain.h"

#include "analysis/program/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <z3++.h>

namespace tilewright::inference {

namespace {

std::string withThousands(int64_t number) {
  return number < 1000 ? std::to_string(number)
                       : fmt::format("{},{:03}", withThousands(number / 1000), number % 1000);
}

int64_t roundedUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

std::vector<std::string> LayoutProblem::capacityFaults() const {
  std::vector<std::string> result;
  constexpr int64_t mostThreads = 1024; // of a CTA
  const int64_t allowed = choices.registers;
  for (const GraphNode &node : tiles.nodes) {
    if (!node.hasResult || node.kind == NodeKind::Buffer)
      continue;
    const int64_t threads = node.warps * 32, elements = node.result.elements();
    const int64_t bits = node.result.bits;
    const int64_t need = roundedUp(roundedUp(elements, threads) * bits, 32);
    if (need <= allowed)
      continue;
    std::vector<int64_t> shape;
    for (const layout::TileDim &dim : node.result.dims)
      shape.push_back(dim.extent);
    const int64_t enough = roundedUp(roundedUp(elements * bits, 32), allowed * 32) * 32;
    result.push_back(fmt::format(
        "{} [{}] of {} bits: {} values / {} threads = {} registers a "
        "thread, {} allowed; that holds "
        "for every layout, {}",
        node.name, fmt::join(shape, ", "), bits, withThousands(elements), threads, need, allowed,
        enough > mostThreads ? fmt::format("and a CTA has no {} threads", withThousands(enough))
                             : fmt::format("{} threads would do", withThousands(enough))));
  }
  return result;
}

std::optional<bool> isFeasibleByZ3(LayoutProblem &problem) {
  constexpr unsigned effort = 50'000'000; // of Z3's deterministic units
  z3::context z3;
  z3::solver solver(z3, z3::solver::simple());
  z3::params params(z3);
  params.set("rlimit", effort);
  solver.set(params);
  const LabelProblem &labelling = problem.labelling();
  std::vector<std::vector<z3::expr>> takes;
  for (uint32_t n = 0; n < labelling.nodes.size(); ++n) {
    takes.emplace_back();
    z3::expr_vector one(z3);
    for (size_t k = 0; k < labelling.nodes[n].own.size(); ++k) {
      takes.back().push_back(z3.bool_const(fmt::format("n{}.{}", n, k).c_str()));
      one.push_back(takes.back().back());
    }
    solver.add(z3::mk_or(one));
  }
  for (size_t e = 0; e < labelling.edges.size(); ++e) {
    const LabelledEdge &edge = labelling.edges[e];
    for (uint32_t b = 0; b < takes[edge.to].size(); ++b) {
      z3::expr_vector fitting(z3);
      for (uint32_t a = 0; a < takes[edge.from].size(); ++a)
        if (problem.isAllowed(e, a, b))
          fitting.push_back(takes[edge.from][a]);
      solver.add(z3::implies(takes[edge.to][b], z3::mk_or(fitting)));
    }
    for (uint32_t a = 0; a < takes[edge.from].size(); ++a) {
      z3::expr_vector fitting(z3);
      for (uint32_t b = 0; b < takes[edge.to].size(); ++b)
        if (problem.isAllowed(e, a, b))
          fitting.push_back(takes[edge.to][b]);
      solver.add(z3::implies(takes[edge.from][a], z3::mk_or(fitting)));
    }
    // Several labels of a node may be true only where each fits: so no pair that does not.
    for (uint32_t a = 0; a < takes[edge.from].size(); ++a)
      for (uint32_t b = 0; b < takes[edge.to].size(); ++b)
        if (!problem.isAllowed(e, a, b))
          solver.add(!takes[edge.from][a] || !takes[edge.to][b]);
  }
  switch (solver.check()) {
  case z3::sat:
    return true;
  case z3::unsat:
    return false;
  default:
    return std::nullopt;
  }
}

namespace {

class Explainer {
public:
  Explainer(LayoutProblem &problem, InferenceAnswer &answer) : problem(problem), answer(answer) {
    for (const Constraint &constraint : problem.constraints())
      all.insert(constraint);
  }

  void run() {
    if (!solves({}))
      return sayRefusals();
    findCore();
    certify();
    findRepairs();
    for (const Constraint &constraint : core)
      answer.reasons.push_back(problem.wordsOf(constraint));
  }

private:
  using Constraints = std::set<Constraint>;

  void buildWith(const Constraints &on) {
    Constraints off;
    std::set_difference(all.begin(), all.end(), on.begin(), on.end(),
                        std::inserter(off, off.end()));
    problem.build(off);
  }
  /// The least cost with these constraints; nothing: none, or not found out.
  std::optional<Cost> solves(const Constraints &on) {
    buildWith(on);
    LabelAnswer solved = problem.solve();
    isSpent = isSpent || solved.outcome == LabelAnswer::Outcome::BudgetSpent;
    return solved.outcome == LabelAnswer::Outcome::Found ? std::optional(solved.cost)
                                                         : std::nullopt;
  }

  /// Not even without any constraint: ops have no labels, or rules alone contradict each other.
  void sayRefusals() {
    for (uint32_t n = 0; n < problem.graph().nodes.size(); ++n)
      if (problem.labelsOf(n).empty())
        answer.reasons.push_back(fmt::format(
            "{} ({}): {}", problem.graph().nodes[n].name, ruleOf(problem.graph().nodes[n].kind).op,
            problem.refusalOf(n).empty() ? "no layout reaches it" : problem.refusalOf(n)));
    answer.outcome =
        isSpent ? InferenceAnswer::Outcome::BudgetSpent : InferenceAnswer::Outcome::NoLabel;
    if (answer.reasons.empty())
      answer.reasons.push_back("the rules of the ops alone contradict each other");
  }

  /// Leaves constraints out one by one, as long as there is no solution: many at once first.
  void findCore() {
    core = all;
    for (Constraint::Kind kind : {Constraint::Kind::Registers, Constraint::Kind::AsItIs}) {
      Constraints rest = core;
      std::erase_if(rest, [&](const Constraint &c) { return c.kind == kind; });
      if (rest != core && !solves(rest))
        core = rest;
    }
    for (Constraint::Kind kind :
         {Constraint::Kind::Registers, Constraint::Kind::AsItIs, Constraint::Kind::Cast}) {
      const Constraints tried = core;
      for (const Constraint &constraint : tried) {
        if (constraint.kind != kind)
          continue;
        Constraints rest = core;
        rest.erase(constraint);
        if (!solves(rest))
          core = rest;
      }
    }
  }

  /// None with all of the core, some without any one of it.
  void certify() {
    buildWith(core);
    std::optional<bool> together = isFeasibleByZ3(problem);
    answer.isCertified = together == false;
    for (const Constraint &constraint : core) {
      Constraints rest = core;
      rest.erase(constraint);
      buildWith(rest);
      answer.isCertified = answer.isCertified && isFeasibleByZ3(problem) == true;
    }
  }

  void findRepairs() {
    for (const Constraint &constraint : core) {
      Constraints rest = all;
      rest.erase(constraint);
      if (std::optional<Cost> cost = solves(rest))
        answer.repairs.push_back({*cost, problem.wordsOf(constraint, true)});
    }
    std::stable_sort(answer.repairs.begin(), answer.repairs.end(),
                     [](const auto &a, const auto &b) {
                       return std::tie(a.cost, a.words) < std::tie(b.cost, b.words);
                     });
  }

  LayoutProblem &problem;
  InferenceAnswer &answer;
  Constraints all, core;
  bool isSpent = false;
};

} // namespace

void explain(LayoutProblem &problem, InferenceAnswer &answer) {
  if (answer.outcome != InferenceAnswer::Outcome::NoneInFamily)
    return;
  Explainer(problem, answer).run();
  problem.build();
}

} // namespace tilewright::inference
