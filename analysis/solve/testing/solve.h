// Helpers for the tests of this folder: random small systems with a fixed seed, and brute force.
#pragma once

#include "analysis/solve/constraint_system.h"

#include <functional>
#include <memory>
#include <random>
#include <set>

namespace tilewright::testing {

inline Constraint constraint(Formula formula, std::string text = "must hold") {
  Provenance from;
  from.opName = "%op";
  from.rule = "test";
  from.text = std::move(text);
  return {std::move(formula), std::move(from)};
}

struct RandomSystem {
  std::unique_ptr<ExprContext> context = std::make_unique<ExprContext>();
  ConstraintSystem system;
};

class SystemMaker {
public:
  explicit SystemMaker(unsigned seed) : random(seed) {}

  int64_t below(int64_t n) { return int64_t(random() % uint64_t(n)); }

  RandomSystem make(int64_t mostParameters = 4, int64_t longestList = 6) {
    RandomSystem out;
    vars.clear();
    context = out.context.get();
    size_t count = 1 + size_t(below(mostParameters));
    for (size_t i = 0; i < count; ++i) {
      std::string name = "t" + std::to_string(i);
      vars.push_back(context->variable(VarKind::TileParam, name));
      std::set<int64_t> list;
      for (int64_t n = 1 + below(longestList); n > 0; --n)
        list.insert(1 + below(below(2) ? 12 : 64));
      out.system.parameters.push_back({vars.back().variable(), name, {list.begin(), list.end()}});
    }
    for (int64_t n = below(6); n > 0; --n)
      out.system.constraints.push_back(constraint(formula(2)));
    return out;
  }

  Formula formula(int depth) {
    int64_t pick = below(depth > 0 ? 10 : 6);
    if (pick < 3)
      return Formula::lessEqual(expr(2), below(2) ? expr(1) : context->constant(below(200)));
    if (pick < 4)
      return Formula::equal(expr(1).mod(1 + below(5)), context->constant(below(3)));
    if (pick < 6)
      return Formula::divides(expr(1), below(2) ? expr(1) : context->constant(below(64)));
    if (pick < 8)
      return Formula::any({formula(depth - 1), formula(depth - 1)});
    if (pick < 9)
      return Formula::all({formula(depth - 1), formula(depth - 1)});
    return !formula(depth - 1);
  }

private:
  Expr expr(int depth) {
    if (depth == 0 || below(4) == 0)
      return below(3) ? vars[size_t(below(int64_t(vars.size())))]
                      : context->constant(below(20) - 4);
    Expr a = expr(depth - 1), b = expr(depth - 1);
    switch (below(12)) {
    case 8:
      return below(2) ? a.isAtLeast(b) * 3 : a.isEqual(b) + a;
    case 9:
      return select(below(2) ? b.isAtLeast(a) : b, a, expr(depth - 1));
    case 10:
      return below(2) ? a.pow2Ceil() : a.log2(); // log2 has no value at some points
    case 11:
      return a.pow2Divisor() + b;
    case 0:
    case 1:
      return a * b;
    case 2:
      return a + b;
    case 3:
      return a.floorDiv(b); // the divisor may be zero or negative at some points
    case 4:
      return a.ceilDiv(b);
    case 5:
      return a.mod(b);
    case 6:
      return a.min(b);
    default:
      return a.max(b) - 3;
    }
  }

  std::mt19937_64 random;
  ExprContext *context = nullptr;
  std::vector<Expr> vars;
};

/// Every point of the candidate grid, in lexicographic order.
inline void forEachPoint(const ConstraintSystem &system,
                         const std::function<void(const std::vector<int64_t> &)> &visit) {
  std::vector<int64_t> point;
  std::function<void()> go = [&] {
    if (point.size() == system.parameters.size())
      return visit(point);
    for (int64_t value : system.parameters[point.size()].candidates) {
      point.push_back(value);
      go();
      point.pop_back();
    }
  };
  go();
}

/// All points at which every constraint is true, by Formula::evaluate.
inline std::vector<std::vector<int64_t>> bruteForce(const ConstraintSystem &system) {
  std::vector<std::vector<int64_t>> out;
  forEachPoint(system, [&](const std::vector<int64_t> &point) {
    Assignment assignment = system.assign(point);
    for (const Constraint &constraint : system.constraints)
      if (constraint.formula.evaluate(assignment) != std::optional(true))
        return;
    out.push_back(point);
  });
  return out;
}

} // namespace tilewright::testing
