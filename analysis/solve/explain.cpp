#include "analysis/solve/explain.h"

#include "analysis/solve/hitting_set.h"
#include "analysis/solve/reason_text.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr uint64_t maxHittingSteps = 2'000'000;
/// Candidates tried per parameter when a model is improved; more would not change the answer.
constexpr size_t maxTriesPerParameter = 64;

void noteSpent(const Answer &answer, Explanation &out) {
  out.spent += answer.spent;
  out.isReproducible &= answer.isReproducible;
}

/// The conflict of a system with a choice. Elements are numbered: constraints first, then chosen
/// parameters.
class Conflict {
public:
  Conflict(const ConstraintSystem &system, const Choice &choice, const ExplainOptions &options)
      : system(system), choice(choice), options(options), open(system) {
    for (size_t p = 0; p < choice.size(); ++p) {
      if (!choice[p])
        continue;
      chosen.push_back(p);
      std::vector<int64_t> &list = open.parameters[p].candidates;
      auto place = std::lower_bound(list.begin(), list.end(), *choice[p]);
      if (place == list.end() || *place != *choice[p])
        list.insert(place, *choice[p]);
    }
  }

  size_t elementCount() const { return system.constraints.size() + chosen.size(); }

  /// The system with only these constraints and choices.
  ConstraintSystem subsystem(std::span<const size_t> elements) const {
    std::vector<size_t> constraints;
    for (size_t element : elements)
      if (element < system.constraints.size())
        constraints.push_back(element);
    ConstraintSystem out = open.withConstraints(constraints);
    for (size_t element : elements)
      if (element >= system.constraints.size()) {
        size_t p = chosen[element - system.constraints.size()];
        out.parameters[p].candidates = {*choice[p]};
      }
    return out;
  }

  std::vector<size_t> allElements() const {
    std::vector<size_t> out;
    for (size_t e = 0; e < elementCount(); ++e)
      out.push_back(e);
    return out;
  }

  /// Nothing: no core could be found within the budget.
  llvm::Expected<std::optional<Core>> find() {
    auto compiled = CompiledSystem::compile(open);
    if (!compiled)
      return compiled.takeError();
    evaluator = &*compiled;
    nodesLeft = options.limits.maxNodes;
    detail::HittingSets sets(maxHittingSteps);
    for (unsigned round = 0; round < options.maxRounds; ++round) {
      std::optional<std::vector<size_t>> candidate = sets.smallest();
      if (!candidate)
        break;
      std::vector<int64_t> point;
      auto verdict = decideSubset(*candidate, point);
      if (!verdict)
        return verdict.takeError();
      if (*verdict == Verdict::No)
        return coreOf(*candidate, true);
      if (*verdict == Verdict::Unknown)
        break;
      improve(*candidate, point);
      std::vector<size_t> unsatisfied = unsatisfiedAt(point);
      if (unsatisfied.empty())
        return makeError(DiagClass::Internal, "a conflict has the solution {}",
                         system.describePoint(point));
      sets.add(std::move(unsatisfied));
    }
    return byDeletion();
  }

private:
  llvm::Expected<Verdict> decideSubset(std::span<const size_t> elements,
                                       std::vector<int64_t> &point) {
    auto compiled = CompiledSystem::compile(subsystem(elements), SearchOrder::Tightest);
    if (!compiled)
      return compiled.takeError();
    SearchResult result = compiled->findFirst(point, {.maxNodes = nodesLeft});
    nodesLeft -= std::min(nodesLeft, result.nodes);
    return result.verdict();
  }

  std::vector<size_t> unsatisfiedAt(std::span<const int64_t> point) const {
    std::vector<size_t> out;
    std::vector<std::optional<bool>> truths = evaluator->evaluate(point);
    for (size_t c = 0; c < truths.size(); ++c)
      if (truths[c] != std::optional(true))
        out.push_back(c);
    for (size_t i = 0; i < chosen.size(); ++i)
      if (point[chosen[i]] != *choice[chosen[i]])
        out.push_back(truths.size() + i);
    return out;
  }

  /// Coordinate descent to a point of the subset that violates fewer constraints: smaller sets to
  /// hit need fewer rounds.
  void improve(const std::vector<size_t> &subset, std::vector<int64_t> &point) const {
    std::vector<size_t> best = unsatisfiedAt(point);
    for (bool hasImproved = true; hasImproved;) {
      hasImproved = false;
      for (size_t p = 0; p < point.size(); ++p) {
        const std::vector<int64_t> &list = open.parameters[p].candidates;
        size_t stride = (list.size() + maxTriesPerParameter - 1) / maxTriesPerParameter;
        auto attempt = [&](int64_t value) {
          int64_t before = point[p];
          point[p] = value;
          std::vector<size_t> left = unsatisfiedAt(point);
          bool keepsSubset = std::none_of(subset.begin(), subset.end(), [&](size_t element) {
            return std::binary_search(left.begin(), left.end(), element);
          });
          if (keepsSubset && left.size() < best.size()) {
            best = std::move(left);
            hasImproved = true;
          } else {
            point[p] = before;
          }
        };
        if (choice[p])
          attempt(*choice[p]);
        for (size_t i = 0; i < list.size(); i += stride)
          attempt(list[i]);
      }
    }
  }

  /// A minimal core: drops one element after another while the rest still conflicts.
  llvm::Expected<std::optional<Core>> byDeletion() {
    nodesLeft = options.limits.maxNodes;
    bool isMinimal = true;
    std::vector<size_t> core = allElements();
    std::vector<int64_t> point;
    auto whole = decideSubset(core, point);
    if (!whole)
      return whole.takeError();
    if (*whole != Verdict::No)
      return std::nullopt;
    for (size_t i = core.size(); i-- > 0;) {
      std::vector<size_t> without = core;
      without.erase(without.begin() + ptrdiff_t(i));
      auto verdict = decideSubset(without, point);
      if (!verdict)
        return verdict.takeError();
      if (*verdict == Verdict::No)
        core = std::move(without);
      isMinimal &= *verdict != Verdict::Unknown;
    }
    Core out = coreOf(core, false);
    out.isMinimal = isMinimal;
    return out;
  }

public:
  Core coreOf(std::span<const size_t> elements, bool isSmallest) const {
    Core core;
    core.isSmallest = core.isMinimal = isSmallest;
    for (size_t element : elements)
      if (element < system.constraints.size())
        core.constraints.push_back(element);
    ConstraintSystem asked = open;
    for (size_t p : chosen)
      asked.parameters[p].candidates = {*choice[p]};
    for (size_t constraint : core.constraints)
      core.text.push_back(reasonText(asked, core.constraints, constraint));
    for (size_t element : elements) {
      if (element < system.constraints.size())
        continue;
      size_t p = chosen[element - system.constraints.size()];
      core.choices.push_back(p);
      core.text.push_back(fmt::format("chosen: {} = {}", system.parameters[p].name, *choice[p]));
    }
    for (const SolveParameter &parameter : open.parameters)
      if (elements.empty() && parameter.candidates.empty())
        core.text.push_back(fmt::format("{} has no candidate sizes", parameter.name));
    return core;
  }

  /// One violated constraint and the choices that it mentions.
  Core coreAt(size_t constraint) const {
    std::vector<VarId> mentioned;
    system.constraints[constraint].formula.collectVariables(mentioned);
    std::vector<size_t> elements{constraint};
    for (size_t i = 0; i < chosen.size(); ++i)
      if (std::binary_search(mentioned.begin(), mentioned.end(), system.parameters[chosen[i]].var))
        elements.push_back(system.constraints.size() + i);
    return coreOf(elements, false);
  }

  /// Certifies a core with Z3.
  llvm::Error certify(Core &core, Explanation &out) const {
    std::vector<size_t> elements = core.constraints;
    for (size_t p : core.choices)
      elements.push_back(system.constraints.size() +
                         size_t(std::find(chosen.begin(), chosen.end(), p) - chosen.begin()));
    SolverOptions solver = options.solver;
    solver.minimizeCore = false;
    auto answer = decide(subsystem(elements), solver);
    if (!answer)
      return answer.takeError();
    noteSpent(*answer, out);
    if (answer->verdict == Verdict::Yes)
      return makeError(DiagClass::Internal,
                       "the search finds a conflict that the solver satisfies with {}",
                       system.describePoint(answer->model));
    core.isCertified = answer->verdict == Verdict::No;
    return llvm::Error::success();
  }

private:
  const ConstraintSystem &system;
  const Choice &choice;
  const ExplainOptions &options;
  ConstraintSystem open; ///< lists with the chosen values in them
  std::vector<size_t> chosen;
  const CompiledSystem *evaluator = nullptr;
  uint64_t nodesLeft = 0; ///< of all searches for one core together
};

/// Evaluates everything at a complete choice.
void evaluateChoice(const ConstraintSystem &system, const Choice &choice, Explanation &out) {
  std::vector<int64_t> values;
  for (const std::optional<int64_t> &value : choice)
    values.push_back(*value);
  Assignment point = system.assign(values);
  for (size_t c = 0; c < system.constraints.size(); ++c) {
    std::optional<bool> holds = system.constraints[c].formula.evaluate(point);
    if (!holds)
      out.undecided.push_back(c);
    else if (!*holds)
      out.violated.push_back(c);
  }
  if (!out.violated.empty()) {
    out.feasible = Verdict::No;
  } else if (!out.undecided.empty()) {
    out.reason = fmt::format("\"{}\" has no 64-bit value at {}",
                             system.constraints[out.undecided.front()].describe(point),
                             system.describePoint(values));
  } else {
    out.feasible = Verdict::Yes;
    out.witness = std::move(values);
  }
}

} // namespace

llvm::Expected<Explanation> explain(const ConstraintSystem &system, const Choice &choice,
                                    const ExplainOptions &options) {
  if (llvm::Error error = system.check())
    return error;
  if (choice.size() != system.parameters.size())
    return makeError(DiagClass::BadInput, "{} values were chosen for {} parameters", choice.size(),
                     system.parameters.size());
  Explanation out;
  out.allowed = options.solver.rlimit;
  Conflict conflict(system, choice, options);
  bool isComplete = std::all_of(choice.begin(), choice.end(),
                                [](const std::optional<int64_t> &v) { return v.has_value(); });
  if (isComplete) {
    evaluateChoice(system, choice, out);
  } else {
    std::vector<size_t> all = conflict.allElements();
    ConstraintSystem whole = conflict.subsystem(all);
    auto compiled = CompiledSystem::compile(whole, SearchOrder::Tightest);
    if (!compiled)
      return compiled.takeError();
    out.feasible = compiled->findFirst(out.witness, options.limits).verdict();
    if (out.feasible == Verdict::Unknown) {
      // Too large to search, or values out of range: the solver may still decide.
      auto answer = decide(whole, options.solver);
      if (!answer)
        return answer.takeError();
      noteSpent(*answer, out);
      out.feasible = answer->verdict;
      out.witness = std::move(answer->model);
      out.reason = std::move(answer->reason);
      if (out.feasible == Verdict::No) {
        std::vector<size_t> elements = answer->core;
        for (size_t e = system.constraints.size(); e < conflict.elementCount(); ++e)
          elements.push_back(e);
        out.core = conflict.coreOf(elements, false);
        out.core->isCertified = true;
      }
    }
  }
  if (out.feasible != Verdict::No)
    return out;
  if (!out.core) {
    auto core = conflict.find();
    if (!core)
      return core.takeError();
    out.core = std::move(*core);
    if (!out.core && !out.violated.empty())
      out.core = conflict.coreAt(out.violated.front());
    if (out.core && options.certify)
      if (llvm::Error error = conflict.certify(*out.core, out))
        return error;
  }
  if (options.findNearest) {
    auto nearest = nearestFeasible(system, choice, options.limits);
    if (!nearest)
      return nearest.takeError();
    out.nearest = std::move(*nearest);
  }
  return out;
}

} // namespace tilewright
