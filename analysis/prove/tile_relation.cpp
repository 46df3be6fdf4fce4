#include "analysis/prove/tile_relation.h"

#include "analysis/prove/terms.h"
#include "analysis/prove/witness.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <sstream>

namespace tilewright::prove {

namespace {

/// Limit on the enumerated size points of one claim; beyond it the claim is unknown.
constexpr size_t maxPoints = 20'000;

/// The variables of one goal; other facts are left out of its assumptions. That can only make it
/// harder to prove: a goal that fails is retried with all facts.
struct Scope {
  std::set<size_t> from, to, walks;
  bool everything = false;
};

/// A query under construction.
struct Scene {
  Scene(z3::context &z3, const Assignment &fixed) : z3(z3), fixed(fixed), tiles(z3, fixed) {}
  void assume(const z3::expr &e) { assumptions.push_back(e); }

  z3::context &z3;
  const Assignment &fixed;
  Terms tiles;
  std::vector<z3::expr> assumptions;
  bool hasOpenStride = false; ///< the goal involves a tile whose stride is not a number
};

class Prover {
public:
  Prover(const TileRelation &relation, const ProofOptions &options)
      : r(relation), options(options) {}

  Outcome covers();
  Outcome noExtra();

private:
  using Goal = std::function<z3::expr(Scene &, const Scope &)>;

  void show(Scope scope, bool isComplete, const std::string &what, const Goal &goal);
  /// sat, unsat or unknown of the negated goal, over all points of the tried sizes in the scope.
  z3::check_result decide(const Scope &scope, const Goal &goal, std::string &model);
  z3::check_result ask(Scene &scene, const z3::expr &goal, std::string &model);
  std::vector<size_t> triedIn(const Scope &scope) const;
  void setScene(Scene &scene, const Scope &scope);
  bool isFixed(const Formula &formula, const Assignment &fixed) const;

  z3::expr coordinate(const char *name, size_t i) {
    return z3.int_const(fmt::format("{}{}", name, i).c_str());
  }
  /// x is an element: of a tile with a lane that has the name (to be assumed), or by arithmetic (to
  /// be shown).
  z3::expr isLane(Scene &scene, const z3::expr &x, const TileDim &tile, const std::string &lane);
  z3::expr isElement(Scene &scene, Terms &terms, const z3::expr &x, const TileDim &tile);
  /// Some valid element of a tile that is not empty, in the lane of that name.
  z3::expr someLane(size_t i) { return z3.int_const(fmt::format("some!{}", i).c_str()); }
  z3::expr someElement(Scene &scene, const TileDim &tile, size_t i);

  Scope scopeOf(const IndexMap &map, std::span<const Expr> exprs) const;
  void bindFirst(Scene &scene, Terms &terms, const IndexMap &map, const Scope &scope);

  const TileRelation &r;
  const ProofOptions &options;
  z3::context z3;
  Outcome outcome;
};

std::vector<size_t> Prover::triedIn(const Scope &scope) const {
  std::vector<Expr> exprs;
  auto add = [&](const TileDim &t) {
    exprs.insert(exprs.end(), {t.offset, t.size, t.stride, t.lower, t.upper});
  };
  for (size_t i : scope.from)
    add(r.from[i]);
  for (size_t i : scope.to)
    add(r.to[i]);
  for (size_t i : scope.walks)
    add(r.walks[i].tile);
  const std::vector<VarId> used = variablesOf(exprs);
  std::vector<size_t> out;
  for (size_t i = 0; i < r.variables.size(); ++i)
    if (!r.variables[i].values.empty() &&
        (scope.everything ||
         std::binary_search(used.begin(), used.end(), r.variables[i].variable.variable())))
      out.push_back(i);
  return out;
}

bool Prover::isFixed(const Formula &formula, const Assignment &fixed) const {
  std::vector<VarId> used;
  formula.collectVariables(used);
  return std::all_of(r.variables.begin(), r.variables.end(), [&](const TileRelation::Known &k) {
    return k.values.empty() || fixed.get(k.variable.variable()) ||
           !std::binary_search(used.begin(), used.end(), k.variable.variable());
  });
}

void Prover::setScene(Scene &scene, const Scope &scope) {
  for (const RuntimeVariable &rt : r.runtime)
    scene.tiles.bind(rt.var, clamped(runtimeValue(z3, rt.source.index, {}), rt.range));
  for (const TileRelation::Known &k : r.variables)
    if (!scene.fixed.get(k.variable.variable()))
      scene.assume(within(scene.tiles.term(k.variable), k.domain));
  for (const std::vector<Formula> *list : {&r.facts, &r.given})
    for (const Formula &formula : *list)
      if (isFixed(formula, scene.fixed))
        scene.assume(scene.tiles.truth(formula));
  for (size_t i : scope.from)
    if (r.isNonEmpty) {
      z3::expr k = someLane(i), x = someElement(scene, r.from[i], i);
      Terms &t = scene.tiles;
      scene.assume(k >= 0 && k < t.term(r.from[i].size) && x >= t.term(r.from[i].lower) &&
                   x < t.term(r.from[i].upper));
    }
}

z3::expr Prover::isLane(Scene &scene, const z3::expr &x, const TileDim &tile,
                        const std::string &lane) {
  z3::expr k = z3.int_const(lane.c_str());
  Terms &t = scene.tiles;
  return x == t.term(tile.offset) + k * t.term(tile.stride) && k >= 0 && k < t.term(tile.size) &&
         x >= t.term(tile.lower) && x < t.term(tile.upper);
}

z3::expr Prover::isElement(Scene &scene, Terms &t, const z3::expr &x, const TileDim &tile) {
  const z3::expr mask = x >= t.term(tile.lower) && x < t.term(tile.upper);
  const std::optional<int64_t> stride = evaluate(tile.stride, scene.fixed);
  const z3::expr lanes = t.term(tile.size) - 1;
  if (!stride)
    scene.hasOpenStride = true;
  if (!stride)
    return z3.bool_val(false);
  if (*stride == 0)
    return mask && x == t.term(tile.offset) && lanes >= 0;
  const z3::expr step = z3.int_val(*stride < 0 ? -*stride : *stride);
  const z3::expr way = *stride < 0 ? t.term(tile.offset) - x : x - t.term(tile.offset);
  return mask && way >= 0 && way <= lanes * step && z3::mod(way, step) == 0;
}

z3::expr Prover::someElement(Scene &scene, const TileDim &tile, size_t i) {
  if (!r.isNonEmpty && tile.stride.isConstant()) {
    // If the masks leave any lane, they leave the first one within them.
    const int64_t stride = tile.stride.constant();
    const Expr lane = stride > 0 ? (tile.lower - tile.offset).ceilDiv(stride).max(0)
                                 : (tile.offset - tile.upper + 1).ceilDiv(-stride).max(0);
    return scene.tiles.term(tile.offset + lane * stride);
  }
  return scene.tiles.term(tile.offset) + someLane(i) * scene.tiles.term(tile.stride);
}

z3::check_result Prover::ask(Scene &scene, const z3::expr &goal, std::string &model) {
  z3::solver solver(z3, z3::solver::simple());
  z3::params params(z3);
  params.set("rlimit", options.rlimit);
  solver.set(params);
  auto count = [&] {
    z3::stats stats = solver.statistics();
    for (unsigned i = 0; i < stats.size(); ++i)
      if (stats.key(i) == "rlimit count" && stats.is_uint(i))
        return uint64_t(stats.uint_value(i));
    return uint64_t(0);
  };
  for (const z3::expr &e : scene.assumptions)
    solver.add(e);
  for (const z3::expr &e : scene.tiles.sideConditions)
    solver.add(e);
  if (outcome.isVacuous)
    outcome.isVacuous = solver.check() == z3::unsat;
  z3::expr whole = goal;
  for (const z3::expr &divisor : scene.tiles.divisors)
    whole = whole && divisor >= 1;
  solver.add(!whole);
  const uint64_t before = count();
  const z3::check_result result = solver.check();
  const uint64_t after = count();
  outcome.spent += after > before ? after - before : 0;
  ++outcome.queries;
  if (result == z3::sat) {
    std::ostringstream text;
    text << solver.get_model();
    model = text.str();
    std::replace(model.begin(), model.end(), '\n', ' ');
    for (const TileRelation::Known &k : r.variables)
      if (std::optional<int64_t> value = scene.fixed.get(k.variable.variable()))
        model += fmt::format(" {} = {}", k.variable.str(), *value);
  }
  return result;
}

z3::check_result Prover::decide(const Scope &scope, const Goal &goal, std::string &model) {
  const std::vector<size_t> tried = triedIn(scope);
  size_t points = 1;
  for (size_t i : tried) {
    points *= std::max<size_t>(r.variables[i].values.size(), 1);
    if (points > maxPoints) {
      model = "more tile sizes to try than is allowed";
      return z3::unknown;
    }
  }
  for (size_t point = 0; point < points; ++point) {
    Assignment fixed;
    size_t rest = point;
    for (size_t i : tried) {
      const std::vector<int64_t> &values = r.variables[i].values;
      fixed.set(r.variables[i].variable, values[rest % values.size()]);
      rest /= values.size();
    }
    // No claim for sizes that a constraint refuses.
    bool isRefused = false;
    for (const Formula &formula : r.given)
      isRefused |= formula.evaluate(fixed) == false;
    if (isRefused)
      continue;
    Scene scene(z3, fixed);
    setScene(scene, scope);
    const z3::expr shown = goal(scene, scope);
    if (scene.hasOpenStride) {
      model = "a stride is not a number";
      return z3::unknown;
    }
    const z3::check_result result = ask(scene, shown, model);
    if (result != z3::unsat)
      return result;
  }
  return z3::unsat;
}

void Prover::show(Scope scope, bool isComplete, const std::string &what, const Goal &goal) {
  if (outcome.status == Outcome::Status::Refuted)
    return;
  std::string model;
  z3::check_result result = decide(scope, goal, model);
  if (result == z3::sat) {
    for (size_t i = 0; i < r.from.size(); ++i)
      scope.from.insert(i);
    for (size_t i = 0; i < r.to.size(); ++i)
      scope.to.insert(i);
    for (size_t i = 0; i < r.walks.size(); ++i)
      scope.walks.insert(i);
    scope.everything = true;
    result = decide(scope, goal, model);
  }
  if (result == z3::unsat)
    return;
  if (result == z3::sat && isComplete) {
    outcome.status = Outcome::Status::Refuted;
    outcome.reason = fmt::format("{} fails at {}", what, model);
    return;
  }
  outcome.status = Outcome::Status::Unknown;
  outcome.reason = result == z3::sat ? fmt::format("no witness was found for: {}", what)
                   : model.empty() ? fmt::format("{} is not decided within {} steps of the solver",
                                                 what, options.rlimit)
                                   : fmt::format("{}: {}", what, model);
}

/// Dims and ranges of the first tensor that occur.
Scope Prover::scopeOf(const IndexMap &map, std::span<const Expr> exprs) const {
  const std::vector<VarId> used = variablesOf(exprs);
  Scope scope;
  const std::vector<MapVariable> dims = map.variables(VarKind::Dim);
  for (size_t i = 0; i < dims.size(); ++i)
    if (std::binary_search(used.begin(), used.end(), dims[i].var.variable()))
      scope.from.insert(i);
  for (size_t i = 0; i < r.walks.size(); ++i)
    if (std::binary_search(used.begin(), used.end(), r.walks[i].range.variable()))
      scope.walks.insert(i);
  return scope;
}

/// An element of the first tile and the map's other variables, with all that is known of them.
void Prover::bindFirst(Scene &scene, Terms &terms, const IndexMap &map, const Scope &scope) {
  const std::vector<MapVariable> dims = map.variables(VarKind::Dim);
  for (size_t i = 0; i < dims.size(); ++i) {
    z3::expr d = coordinate("d", i);
    terms.bind(dims[i].var, d);
    scene.assume(within(d, dims[i].domain));
    if (scope.from.count(i))
      scene.assume(isLane(scene, d, r.from[i], fmt::format("lane!d{}", i)));
  }
  const std::vector<MapVariable> ranges = map.variables(VarKind::Range);
  for (size_t i = 0; i < ranges.size(); ++i) {
    z3::expr s = coordinate("s", i);
    terms.bind(ranges[i].var, s);
    scene.assume(within(s, ranges[i].domain));
    for (size_t w : scope.walks)
      if (r.walks[w].range == ranges[i].var)
        scene.assume(isLane(scene, s, r.walks[w].tile, fmt::format("lane!s{}", i)));
  }
  terms.bindRuntime(map);
  for (const MapConstraint &c : map.constraints())
    scene.assume(holds(terms, c));
}

Outcome Prover::covers() {
  for (const IndexMap &map : r.maps) {
    if (map.isKnownEmpty())
      continue;
    for (size_t i = 0; i < r.to.size(); ++i) {
      const Expr f[] = {map.results()[i]};
      Scope scope = scopeOf(map, f);
      scope.to.insert(i);
      show(scope, true, fmt::format("dim {} holds what is read", i),
           [&](Scene &scene, const Scope &scope) {
             Terms terms(z3, scene.fixed);
             bindFirst(scene, terms, map, scope);
             return isElement(scene, scene.tiles, terms.term(f[0]), r.to[i]);
           });
    }
  }
  for (size_t i = 0; i < r.to.size(); ++i) {
    Scope scope;
    scope.to.insert(i);
    show(scope, true, fmt::format("dim {} stays within [0, {})", i, r.toExtents[i]),
         [&](Scene &scene, const Scope &scope) {
           z3::expr e = coordinate("e", i);
           scene.assume(isLane(scene, e, r.to[i], fmt::format("lane!e{}", i)));
           return within(e, Interval::ofExtent(r.toExtents[i]));
         });
  }
  return outcome;
}

Outcome Prover::noExtra() {
  if (r.maps.size() != 1) {
    outcome.status = Outcome::Status::Unknown;
    outcome.reason = fmt::format("{} maps, which witness to take is not known", r.maps.size());
    return outcome;
  }
  const IndexMap &map = r.maps.front();
  auto bindElement = [&](Scene &scene, Terms &terms, const Scope &scope, const IndexMap &solution) {
    const std::vector<MapVariable> dims = solution.variables(VarKind::Dim);
    for (size_t j = 0; j < r.to.size(); ++j) {
      z3::expr e = coordinate("e", j);
      terms.bind(dims[j].var, e);
      scene.assume(within(e, Interval::ofExtent(r.toExtents[j])));
      if (scope.to.count(j))
        scene.assume(isLane(scene, e, r.to[j], fmt::format("lane!e{}", j)));
    }
  };
  if (map.isKnownEmpty()) {
    Scope scope;
    for (size_t j = 0; j < r.to.size(); ++j)
      scope.to.insert(j);
    show(scope, true, "nothing is read, so that the tile is empty",
         [&](Scene &scene, const Scope &scope) {
           for (size_t j = 0; j < r.to.size(); ++j)
             scene.assume(isLane(scene, coordinate("e", j), r.to[j], fmt::format("lane!e{}", j)));
           return z3.bool_val(false);
         });
    return outcome;
  }

  const Witness witness(map, r.toExtents);
  for (const Witness::Part &part : witness.parts()) {
    // The lists from which the open variables of this part are chosen.
    Scope scope;
    for (size_t j : part.elements)
      scope.to.insert(j);
    for (size_t i : part.dims)
      scope.from.insert(i);
    // That a dim which is not read may be empty is expressed by a mask of any dim.
    for (const Witness::Open &open : part.open)
      for (const Witness::Choice &choice : open.choices)
        if (choice.kind == Witness::Choice::FirstTile && !r.isNonEmpty)
          for (size_t j = 0; j < r.to.size(); ++j)
            scope.to.insert(j);
    std::vector<int> walkOf(witness.rangeCount(), -1);
    for (size_t w = 0; w < r.walks.size(); ++w)
      for (size_t i = 0; i < witness.rangeCount(); ++i)
        if (witness.range(i) == r.walks[w].range)
          walkOf[i] = static_cast<int>(w);
    for (size_t i : part.ranges)
      if (walkOf[i] >= 0)
        scope.walks.insert(static_cast<size_t>(walkOf[i]));
    show(scope, part.isComplete, part.text, [&](Scene &scene, const Scope &scope) {
      Terms solved(z3, scene.fixed);
      bindElement(scene, solved, scope, witness.solution());
      z3::expr any = z3.bool_val(false);
      std::vector<size_t> at(part.open.size(), 0);
      for (bool more = true; more;) {
        Terms chosen(z3, scene.fixed);
        bindElement(scene, chosen, Scope{}, witness.solution());
        for (size_t o = 0; o < part.open.size(); ++o) {
          const Witness::Open &open = part.open[o];
          const Witness::Choice &choice = open.choices[at[o]];
          switch (choice.kind) {
          case Witness::Choice::Number:
            chosen.bind(open.variable, z3.int_val(choice.value));
            break;
          case Witness::Choice::FirstTile:
            chosen.bind(open.variable, someElement(scene, r.from[choice.index], choice.index));
            break;
          case Witness::Choice::Step: {
            const int w = walkOf[choice.index];
            chosen.bind(open.variable,
                        w < 0 ? z3.int_val(open.domain.lo)
                              : scene.tiles.term(r.walks[static_cast<size_t>(w)].tile.offset));
            break;
          }
          }
        }
        chosen.bindRuntime(witness.solution());
        // The map at the witness.
        Terms there(z3, scene.fixed);
        for (size_t i = 0; i < witness.dimCount(); ++i)
          there.bind(witness.dim(i), chosen.term(witness.dimValue(i)));
        for (size_t i = 0; i < witness.rangeCount(); ++i)
          there.bind(witness.range(i), chosen.term(witness.rangeValue(i)));
        there.bindRuntime(map);
        z3::expr all = z3.bool_val(true);
        for (size_t i : part.dims) {
          z3::expr d = there.term(witness.dim(i));
          all =
              all && isElement(scene, scene.tiles, d, r.from[i]) && within(d, witness.dimDomain(i));
        }
        for (size_t i : part.ranges) {
          z3::expr s = there.term(witness.range(i));
          all = all && within(s, witness.rangeDomain(i));
          if (walkOf[i] >= 0)
            all = all &&
                  isElement(scene, scene.tiles, s, r.walks[static_cast<size_t>(walkOf[i])].tile);
        }
        for (size_t c : part.constraints)
          all = all && holds(there, map.constraints()[c]);
        for (size_t j : part.results)
          all = all && there.term(map.results()[j]) == coordinate("e", j);
        any = any || all;
        more = false;
        for (size_t o = 0; o < at.size() && !more; ++o) {
          more = ++at[o] < part.open[o].choices.size();
          if (!more)
            at[o] = 0;
        }
      }
      return any;
    });
  }
  return outcome;
}

} // namespace

Outcome proveCovers(const TileRelation &relation, const ProofOptions &options) {
  try {
    return Prover(relation, options).covers();
  } catch (const z3::exception &exception) {
    return {Outcome::Status::Unknown, fmt::format("the solver failed: {}", exception.msg())};
  }
}

Outcome proveNoExtra(const TileRelation &relation, const ProofOptions &options) {
  try {
    return Prover(relation, options).noExtra();
  } catch (const z3::exception &exception) {
    return {Outcome::Status::Unknown, fmt::format("the solver failed: {}", exception.msg())};
  }
}

} // namespace tilewright::prove
