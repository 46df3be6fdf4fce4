// What has to be proved for a rule to hold for all integers, and how Z3 is asked.
//
// An obligation is purely existential once negated: quotients and remainders are named, dividends
// are written as d·q + r, and where the rule says that something exists the witness is given.
// "q is x // d" is stated as d·q <= x < d·q + d; that this determines q is a lemma of its own.
#pragma once

#include "analysis/affine/rules.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
#include <z3++.h>

namespace tilewright::proofs {

/// The constants of a rule: symbols at first, numbers where that can't be decided.
using Constants = std::map<std::string, int64_t>;

/// The assumptions and goals of one claim. Letters are integers for which the claim must hold.
class Obligation {
public:
  Obligation(z3::context &context, const Constants *constants)
      : context(context), constants(constants) {}

  z3::expr number(int64_t value) { return context.int_val(value); }
  z3::expr any(const char *name) { return context.int_const(name); }
  z3::expr atLeast(const char *name, int64_t low) {
    z3::expr x = any(name);
    assume(x >= number(low));
    return x;
  }
  /// 0 <= x < bound: a remainder.
  z3::expr below(const char *name, const z3::expr &bound) {
    z3::expr x = atLeast(name, 0);
    assume(x < bound);
    return x;
  }
  /// A constant of the rule of which the claim says nothing more than its sign.
  z3::expr constant(const char *name);
  z3::expr positive(const char *name) {
    z3::expr x = constant(name);
    assume(x >= number(1));
    return x;
  }

  void assume(const z3::expr &e) { assumptions.push_back(e); }
  void show(const z3::expr &e) { goals.push_back(e); }

  /// q = x // d, q = ⌈x/d⌉, r = x mod d with x = d·q + r.
  void showFloor(const z3::expr &x, const z3::expr &d, const z3::expr &q) {
    show(d * q <= x);
    show(x < d * q + d);
  }
  void showCeil(const z3::expr &x, const z3::expr &d, const z3::expr &q) {
    show(x <= d * q);
    show(d * q - d < x);
  }
  void showMod(const z3::expr &x, const z3::expr &d, const z3::expr &r, const z3::expr &q) {
    show(x == d * q + r);
    show(r >= number(0));
    show(r < d);
  }

  z3::context &context;
  std::vector<z3::expr> assumptions, goals;

private:
  const Constants *constants;
};

struct Claim {
  std::optional<Rule> rule; ///< none: a lemma
  const char *text;
  std::function<void(Obligation &)> state;
  /// Values of the constants to try where symbols don't do.
  std::vector<Constants> grid;
};

/// Sums, min and max, and node building; divisions; constraints; program maps.
std::vector<Claim> sumClaims();
std::vector<Claim> divisionClaims();
std::vector<Claim> constraintClaims();
std::vector<Claim> mappingClaims();

enum class Status {
  Proved,       ///< for all values, constants included
  ProvedOnGrid, ///< for all values, for each of the constants listed
  Unknown,
  Refuted
};

struct Verdict {
  Status status = Status::Unknown;
  std::string reason; ///< the attempt that decided, the goal that was not, or a counterexample
};

/// Three attempts a goal, each with a deterministic budget: the simple solver, the default one,
/// and one after arithmetic has been purified.
Verdict prove(const Claim &claim);

} // namespace tilewright::proofs
