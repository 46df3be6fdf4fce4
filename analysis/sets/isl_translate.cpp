#include "analysis/sets/isl_translate.h"

#include "analysis/sets/nodes.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::sets {
namespace {

/// isl counts its operations coarsely, so hard systems of many dims would exceed an allowance by
/// far and are refused. Each variable, division and constraint by modulus is a dim; min and max may
/// double the number of pieces.
constexpr size_t maxDims = 16, maxMinMax = 6;

bool isWithinSize(const NodeList &nodes, const IndexMap &map) {
  size_t dims = map.variables().size(), minMax = 0;
  for (const NodeList::Node &n : nodes.nodes()) {
    ExprKind kind = n.expr.kind();
    dims += kind == ExprKind::FloorDiv || kind == ExprKind::CeilDiv || kind == ExprKind::Mod;
    minMax += kind == ExprKind::Min || kind == ExprKind::Max;
  }
  for (const MapConstraint &c : map.constraints())
    dims += c.modulus > 1;
  return dims <= maxDims && minMax <= maxMinMax;
}

class Translator {
public:
  Translator(isl_ctx *ctx, const Reads &reads) : ctx(ctx), reads(reads) {
    space.reset(isl_space_set_alloc(ctx, 0, reads.map.variables().size()));
  }

  bool run(IslReads &out, std::string &reason);

private:
  IslVal value(int64_t v) const { return IslVal(isl_val_int_from_si(ctx, v)); }
  IslPwAff constant(int64_t v) const {
    return IslPwAff(isl_pw_aff_val_on_domain(isl_set_universe(isl_space_copy(space.get())),
                                             value(v).release()));
  }
  IslPwAff variable(unsigned position) const {
    return IslPwAff(isl_pw_aff_var_on_domain(
        isl_local_space_from_space(isl_space_copy(space.get())), isl_dim_set, position));
  }
  static isl_pw_aff *copy(const IslPwAff &a) { return isl_pw_aff_copy(a.get()); }

  IslPwAff node(const NodeList::Node &node);
  /// expr in [lo, hi] and ≡ residue (mod modulus).
  void require(const IslPwAff &expr, Interval range, int64_t modulus, int64_t residue);
  void restrictTo(const IslPwAff &expr, const Progression &values);

  isl_ctx *ctx;
  const Reads &reads;
  IslSpace space;
  std::vector<IslPwAff> values;
  IslSet domain;
  std::string failure;
};

IslPwAff Translator::node(const NodeList::Node &n) {
  Expr e = n.expr;
  auto positiveConstant = [&](Expr divisor) {
    bool isPositive = divisor.isConstant() && divisor.constant() > 0;
    if (!isPositive)
      failure = "a divisor that is not a positive constant";
    return isPositive;
  };
  switch (e.kind()) {
  case ExprKind::Constant:
    return constant(e.constant());
  case ExprKind::Variable: {
    const std::vector<MapVariable> &variables = reads.map.variables();
    auto found = std::find_if(variables.begin(), variables.end(),
                              [&](const MapVariable &v) { return v.var == e; });
    if (found == variables.end()) {
      failure = fmt::format("{} has no domain", e.str());
      return nullptr;
    }
    return variable(static_cast<unsigned>(found - variables.begin()));
  }
  case ExprKind::Add:
    return IslPwAff(isl_pw_aff_add(copy(values[n.lhs]), copy(values[n.rhs])));
  case ExprKind::Mul: {
    bool isRight = e.rhs().isConstant();
    if (!isRight && !e.lhs().isConstant()) {
      failure = "a product of variables";
      return nullptr;
    }
    return IslPwAff(
        isl_pw_aff_scale_val(copy(values[isRight ? n.lhs : n.rhs]),
                             value((isRight ? e.rhs() : e.lhs()).constant()).release()));
  }
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv: {
    if (!positiveConstant(e.rhs()))
      return nullptr;
    isl_pw_aff *quotient =
        isl_pw_aff_scale_down_val(copy(values[n.lhs]), value(e.rhs().constant()).release());
    return IslPwAff(e.kind() == ExprKind::FloorDiv ? isl_pw_aff_floor(quotient)
                                                   : isl_pw_aff_ceil(quotient));
  }
  case ExprKind::Mod:
    if (!positiveConstant(e.rhs()))
      return nullptr;
    return IslPwAff(isl_pw_aff_mod_val(copy(values[n.lhs]), value(e.rhs().constant()).release()));
  case ExprKind::Min:
    return IslPwAff(isl_pw_aff_min(copy(values[n.lhs]), copy(values[n.rhs])));
  case ExprKind::Max:
    return IslPwAff(isl_pw_aff_max(copy(values[n.lhs]), copy(values[n.rhs])));
  case ExprKind::IsAtLeast:
  case ExprKind::IsEqual:
  case ExprKind::Pow2Ceil:
  case ExprKind::Pow2Divisor:
  case ExprKind::Log2:
  case ExprKind::Select:
    failure = notAffine;
    return nullptr;
  case ExprKind::Poison:
    failure = "an expression that leaves 64 bits";
    return nullptr;
  }
  return nullptr;
}

void Translator::require(const IslPwAff &expr, Interval range, int64_t modulus, int64_t residue) {
  auto restrict = [&](isl_set *more) { domain.reset(isl_set_intersect(domain.release(), more)); };
  if (range.lo != INT64_MIN)
    restrict(isl_pw_aff_ge_set(copy(expr), constant(range.lo).release()));
  if (range.hi != INT64_MAX)
    restrict(isl_pw_aff_le_set(copy(expr), constant(range.hi).release()));
  if (modulus > 1) {
    IslPwAff shifted(isl_pw_aff_sub(copy(expr), constant(residue).release()));
    shifted.reset(isl_pw_aff_mod_val(shifted.release(), value(modulus).release()));
    restrict(isl_pw_aff_eq_set(shifted.release(), constant(0).release()));
  }
}

void Translator::restrictTo(const IslPwAff &expr, const Progression &values) {
  if (values.isEmpty())
    require(expr, Interval::empty(), 1, 0);
  else
    require(expr, {values.offset, values.last()}, values.stride, values.offset);
}

bool Translator::run(IslReads &out, std::string &reason) {
  const IndexMap &map = reads.map;
  std::vector<Expr> roots = map.results();
  for (const MapConstraint &c : map.constraints())
    roots.push_back(c.expr);
  NodeList nodes(roots);
  if (!isWithinSize(nodes, map)) {
    reason =
        fmt::format("more than {} variables and divisions, or {} min and max", maxDims, maxMinMax);
    return false;
  }
  for (const NodeList::Node &n : nodes.nodes()) {
    values.push_back(node(n));
    if (!values.back()) {
      reason = failure.empty() ? "isl's allowance is spent" : failure;
      return false;
    }
  }
  domain.reset(map.isKnownEmpty() ? isl_set_empty(isl_space_copy(space.get()))
                                  : isl_set_universe(isl_space_copy(space.get())));
  for (unsigned i = 0; i < map.variables().size(); ++i) {
    const MapVariable &v = map.variables()[i];
    require(variable(i), v.domain, 1, 0);
    for (const auto &[var, given] : reads.restrictions)
      if (var == v.var) {
        std::optional<Progression> p = normalised(given);
        if (!p) {
          reason = "a box with numbers near 64 bits";
          return false;
        }
        restrictTo(variable(i), *p);
      }
  }
  for (const MapConstraint &c : map.constraints())
    require(values[nodes.positionOf(c.expr)], c.range, c.modulus, c.residue);
  if (!domain) {
    reason = "isl's allowance is spent";
    return false;
  }
  out.domain = std::move(domain);
  for (Expr result : map.results())
    out.results.emplace_back(copy(values[nodes.positionOf(result)]));
  return true;
}

} // namespace

bool translate(isl_ctx *ctx, const Reads &reads, IslReads &out, std::string &reason) {
  return Translator(ctx, reads).run(out, reason);
}

IslSet islImage(isl_ctx *ctx, const Reads &reads, std::string &reason) {
  IslReads translated;
  if (!translate(ctx, reads, translated, reason))
    return nullptr;
  size_t rank = translated.results.size();
  isl_space *from = isl_set_get_space(translated.domain.get());
  isl_space *to = isl_space_set_alloc(ctx, 0, rank);
  isl_pw_aff_list *list = isl_pw_aff_list_alloc(ctx, rank);
  for (IslPwAff &result : translated.results)
    list = isl_pw_aff_list_add(list, result.release());
  IslMap map;
  if (rank == 0)
    map.reset(isl_map_universe(isl_space_map_from_domain_and_range(from, to)));
  else
    map.reset(isl_map_from_multi_pw_aff(isl_multi_pw_aff_from_pw_aff_list(
        isl_space_map_from_domain_and_range(from, to), isl_pw_aff_list_copy(list))));
  isl_pw_aff_list_free(list);
  IslSet image(isl_map_range(isl_map_intersect_domain(map.release(), translated.domain.release())));
  if (!image)
    reason = "isl's allowance is spent";
  return image;
}

} // namespace tilewright::sets
