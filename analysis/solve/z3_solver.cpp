#include "analysis/solve/z3_solver.h"

#include "analysis/solve/z3_encoding.h"
#include "analysis/support/diag.h"
#include "analysis/support/digest.h"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace tilewright {

namespace {

using Clock = std::chrono::steady_clock;

/// One query: context, solver, encoding and statistics. Any method may throw z3::exception.
class Query {
public:
  Query(const ConstraintSystem &system, const SolverOptions &options)
      : system(system), options(options), solver(makeSolver(context, options)),
        encoding(system, options, solver) {
    answer.allowed = options.rlimit;
    startCount = resourceCount();
  }

  llvm::Error dump() {
    if (options.dumpDir.empty())
      return llvm::Error::success();
    std::ostringstream text;
    text << "; Tilewright: is there a tiling? One assumption per constraint:\n";
    Assignment nowhere;
    for (size_t c = 0; c < system.constraints.size(); ++c) {
      std::string line = system.constraints[c].describe(nowhere);
      std::replace_if(
          line.begin(), line.end(), [](char ch) { return ch == '\n' || ch == '\r'; }, ' ');
      text << "; c" << c << ": " << line << '\n';
    }
    text << "(set-option :produce-unsat-cores true)\n" << solver << "(check-sat-assuming (";
    for (const z3::expr &name : encoding.assumptions())
      text << ' ' << name;
    text << " ))\n(get-unsat-core)\n(get-model)\n";
    std::string path = fmt::format("{}/query-{:016x}.smt2", options.dumpDir, fnv1a(text.str()));
    return writeFileAtomically(path, text.str());
  }

  z3::check_result check(const std::vector<size_t> &constraints) {
    z3::expr_vector assumptions(context);
    for (size_t c : constraints)
      assumptions.push_back(encoding.assumptions()[c]);
    uint64_t spentBefore = spent();
    if (spentBefore >= options.rlimit)
      return z3::unknown;
    z3::params params(context);
    params.set("rlimit", unsigned(options.rlimit - spentBefore));
    params.set("timeout", options.watchdogMs);
    solver.set(params);
    Clock::time_point start = Clock::now();
    z3::check_result result = solver.check(assumptions);
    lastDuration = Clock::now() - start;
    return result;
  }

  std::vector<size_t> coreOf(const std::vector<size_t> &constraints) {
    z3::expr_vector core = solver.unsat_core();
    std::vector<size_t> out;
    for (size_t c : constraints)
      for (unsigned i = 0; i < core.size(); ++i)
        if (z3::eq(core[int(i)], encoding.assumptions()[c])) {
          out.push_back(c);
          break;
        }
    return out;
  }

  /// Drops constraints one by one while the rest still conflicts.
  void minimize(std::vector<size_t> &core) {
    answer.isCoreMinimal = true;
    for (size_t i = core.size(); i-- > 0;) {
      std::vector<size_t> without = core;
      without.erase(without.begin() + ptrdiff_t(i));
      switch (check(without)) {
      case z3::unsat:
        core = coreOf(without);
        i = std::min(i, core.size());
        break;
      case z3::sat:
        break;
      case z3::unknown:
        answer.isCoreMinimal = false;
        return;
      }
    }
  }

  /// Why the last check had no answer; reason_unknown() alone misleads.
  std::string whyUnknown() {
    if (spent() >= options.rlimit)
      return fmt::format("the budget of {} solver steps is spent", options.rlimit);
    if (lastDuration >= std::chrono::milliseconds(options.watchdogMs)) {
      answer.isReproducible = false;
      return fmt::format("the solver was stopped after {} ms", options.watchdogMs);
    }
    return fmt::format("the solver gave up: {}", solver.reason_unknown());
  }

  /// Accepts the model after evaluating it. Unknown if a formula has no value at it.
  llvm::Error takeModel() {
    answer.model = encoding.valuesOf(solver.get_model());
    answer.verdict = Verdict::Yes;
    Assignment point = system.assign(answer.model);
    for (size_t c = 0; c < system.constraints.size(); ++c) {
      std::optional<bool> holds = system.constraints[c].formula.evaluate(point);
      if (holds == std::optional(true))
        continue;
      if (holds)
        return makeError(DiagClass::Internal,
                         "the solver's model {} does not satisfy \"{}\", evaluated again",
                         system.describePoint(answer.model), system.constraints[c].formula.str());
      answer.verdict = Verdict::Unknown;
      answer.reason =
          fmt::format("\"{}\" has no 64-bit value at {}", system.constraints[c].describe(point),
                      system.describePoint(answer.model));
      answer.model.clear();
      return llvm::Error::success();
    }
    return llvm::Error::success();
  }

  /// A conflict proves No unless it rests on points without a value.
  void takeCore(std::vector<size_t> core) {
    answer.verdict = Verdict::No;
    answer.core = std::move(core);
    for (size_t c : answer.core)
      if (encoding.mayBeUndecided(c)) {
        answer.verdict = Verdict::Unknown;
        answer.reason = fmt::format("\"{}\" has no 64-bit value at some points",
                                    system.constraints[c].describe({}));
        answer.core.clear();
        answer.isCoreMinimal = false;
        return;
      }
  }

  std::vector<size_t> allConstraints() const {
    std::vector<size_t> out;
    for (size_t c = 0; c < system.constraints.size(); ++c)
      out.push_back(c);
    return out;
  }

  uint64_t spent() { return resourceCount() - startCount; }

  const ConstraintSystem &system;
  const SolverOptions &options;
  z3::context context;
  z3::solver solver;
  detail::Z3Encoding encoding;
  Answer answer;

private:
  static z3::solver makeSolver(z3::context &context, const SolverOptions &options) {
    if (options.tactic.empty())
      return z3::solver(context, z3::solver::simple());
    return z3::tactic(context, options.tactic.c_str()).mk_solver();
  }

  uint64_t resourceCount() {
    z3::stats stats = solver.statistics();
    for (unsigned i = 0; i < stats.size(); ++i)
      if (stats.key(i) == "rlimit count")
        return stats.is_uint(i) ? stats.uint_value(i) : uint64_t(stats.double_value(i));
    return 0;
  }

  uint64_t startCount = 0;
  Clock::duration lastDuration{};
};

/// Answers that need no solver; empty otherwise.
std::optional<Answer> withoutSolver(const ConstraintSystem &system, const SolverOptions &options) {
  for (const SolveParameter &parameter : system.parameters)
    if (parameter.candidates.empty()) {
      Answer answer;
      answer.verdict = Verdict::No;
      answer.isCoreMinimal = true;
      answer.allowed = options.rlimit;
      answer.reason = fmt::format("{} has no candidate sizes", parameter.name);
      return answer;
    }
  return std::nullopt;
}

llvm::Error checkTactic(const std::string &name) {
  z3::context context;
  for (unsigned i = 0, n = Z3_get_num_tactics(context); i < n; ++i)
    if (name.empty() || name == Z3_get_tactic_name(context, i))
      return llvm::Error::success();
  return makeError(DiagClass::BadInput, "\"{}\" is not a tactic of the solver", name);
}

/// Runs `body` on a query; exceptions of Z3 (memory, an interrupt) become Unknown.
template <typename Body>
llvm::Expected<Answer> ask(const ConstraintSystem &system, const SolverOptions &options,
                           Body body) {
  if (llvm::Error error = system.check())
    return error;
  if (std::optional<Answer> answer = withoutSolver(system, options))
    return *answer;
  try {
    if (llvm::Error error = checkTactic(options.tactic))
      return error;
    Query query(system, options);
    if (llvm::Error error = query.dump())
      return error;
    if (!query.encoding.isComplete()) {
      query.answer.reason = "a candidate list is too long and irregular for the solver";
      return query.answer;
    }
    if (llvm::Error error = body(query))
      return error;
    query.answer.spent = query.spent();
    return query.answer;
  } catch (const z3::exception &exception) {
    Answer answer;
    answer.allowed = options.rlimit;
    answer.isReproducible = false;
    answer.reason = fmt::format("the solver failed: {}", exception.msg());
    return answer;
  }
}

} // namespace

llvm::Expected<Answer> decide(const ConstraintSystem &system, const SolverOptions &options) {
  return ask(system, options, [&](Query &query) -> llvm::Error {
    std::vector<size_t> all = query.allConstraints();
    switch (query.check(all)) {
    case z3::sat:
      return query.takeModel();
    case z3::unsat: {
      std::vector<size_t> core = query.coreOf(all);
      if (options.minimizeCore)
        query.minimize(core);
      query.takeCore(std::move(core));
      break;
    }
    case z3::unknown:
      query.answer.reason = query.whyUnknown();
      break;
    }
    return llvm::Error::success();
  });
}

llvm::Expected<Answer> forEachModel(const ConstraintSystem &system,
                                    llvm::function_ref<bool(const std::vector<int64_t> &)> visit,
                                    const SolverOptions &options) {
  return ask(system, options, [&](Query &query) -> llvm::Error {
    std::vector<size_t> all = query.allConstraints();
    while (true) {
      switch (query.check(all)) {
      case z3::sat: {
        z3::expr blocking = query.encoding.blocking(query.solver.get_model());
        if (llvm::Error error = query.takeModel())
          return error;
        if (query.answer.verdict == Verdict::Unknown || !visit(query.answer.model))
          return llvm::Error::success();
        query.solver.add(blocking);
        break;
      }
      case z3::unsat:
        query.answer.model.clear();
        query.takeCore(query.coreOf(all));
        query.answer.core.clear(); // blocked models take part in it
        return llvm::Error::success();
      case z3::unknown:
        query.answer.verdict = Verdict::Unknown;
        query.answer.model.clear();
        query.answer.reason = query.whyUnknown();
        return llvm::Error::success();
      }
    }
  });
}

} // namespace tilewright
