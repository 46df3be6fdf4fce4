#include "tests/proofs/obligation.h"

#include <sstream>

namespace tilewright::proofs {

z3::expr Obligation::constant(const char *name) {
  if (constants)
    if (auto it = constants->find(name); it != constants->end())
      return number(it->second);
  return any(name);
}

namespace {

constexpr unsigned budget = 400'000;   // of Z3's own steps
constexpr unsigned watchdogMs = 5'000; // steps hardly bound time in nonlinear arithmetic

z3::solver makeSolver(z3::context &c, int attempt) {
  if (attempt == 0)
    return z3::solver(c, z3::solver::simple());
  if (attempt == 1)
    return z3::solver(c);
  return (z3::tactic(c, "simplify") & z3::tactic(c, "purify-arith") & z3::tactic(c, "smt"))
      .mk_solver();
}

z3::params limits(z3::context &c) {
  z3::params params(c);
  params.set("rlimit", budget);
  params.set("timeout", watchdogMs);
  return params;
}

const char *const attempts[] = {"simple", "default", "purified"};

Verdict proveWith(const Claim &claim, const Constants *constants) {
  z3::context c;
  Obligation obligation(c, constants);
  claim.state(obligation);
  int latest = 0;
  z3::solver premises = makeSolver(c, 0);
  premises.set(limits(c));
  for (const z3::expr &assumption : obligation.assumptions)
    premises.add(assumption);
  if (obligation.goals.empty() || premises.check() == z3::unsat)
    return {Status::Unknown, "the claim says nothing: it has no goals or can't be met"};
  for (const z3::expr &goal : obligation.goals) {
    bool done = false;
    for (int attempt = 0; attempt < 3 && !done; ++attempt) {
      z3::solver solver = makeSolver(c, attempt);
      solver.set(limits(c));
      for (const z3::expr &assumption : obligation.assumptions)
        solver.add(assumption);
      solver.add(!goal);
      z3::check_result result = solver.check();
      if (result == z3::sat) {
        std::ostringstream text;
        text << goal << " fails at " << solver.get_model();
        return {Status::Refuted, text.str()};
      }
      done = result == z3::unsat;
      latest = done ? std::max(latest, attempt) : latest;
    }
    if (!done)
      return {Status::Unknown, goal.to_string() + " is not decided"};
  }
  return {Status::Proved, attempts[latest]};
}

} // namespace

Verdict prove(const Claim &claim) {
  Verdict verdict = proveWith(claim, nullptr);
  if (verdict.status != Status::Unknown || claim.grid.empty())
    return verdict;
  std::string values;
  for (const Constants &constants : claim.grid) {
    Verdict one = proveWith(claim, &constants);
    if (one.status != Status::Proved)
      return one;
    values += values.empty() ? "" : "; ";
    for (const auto &[name, value] : constants)
      values += name + "=" + std::to_string(value) + " ";
    values.pop_back();
  }
  return {Status::ProvedOnGrid, values};
}

} // namespace tilewright::proofs
