#include "analysis/solve/z3_encoding.h"

#include "analysis/support/checked.h"

#include <fmt/format.h>

namespace tilewright::detail {

namespace {

/// A run of candidates with one difference: list[first … last].
struct Run {
  size_t first, last;
};

std::vector<Run> arithmeticRuns(const std::vector<int64_t> &list) {
  std::vector<Run> runs;
  for (size_t first = 0; first < list.size();) {
    size_t last = first + 1 < list.size() ? first + 1 : first;
    auto step = [&](size_t i) { return checkedSub(list[i], list[i - 1]); };
    while (last + 1 < list.size() && step(last) && step(last + 1) == step(last))
      ++last;
    if (last == first + 1)
      last = first; // two values don't make a run; leave the second one to a longer run
    runs.push_back({first, last});
    first = last + 1;
  }
  return runs;
}

constexpr size_t maxRuns = 4096;

/// Pow2Ceil, Pow2Divisor or Log2 as a chain over the powers of two that an operand within `range`
/// can reach.
z3::expr powerTerm(Code op, const z3::expr &x, Interval range) {
  z3::context &c = x.ctx();
  constexpr int64_t last = 62;
  int64_t top = std::min(checkedLog2(std::max<int64_t>(range.hi, 1)).value_or(last) + 1, last);
  auto power = [&](int64_t k) { return c.int_val(int64_t{1} << k); };
  if (op == Code::Pow2Ceil) {
    z3::expr result = power(top);
    for (int64_t k = top - 1; k >= 0; --k)
      result = z3::ite(x <= power(k), power(k), result);
    return result;
  }
  z3::expr result = c.int_val(op == Code::Log2 ? 0 : 1);
  for (int64_t k = 1; k <= top; ++k)
    result = op == Code::Log2 ? z3::ite(x >= power(k), c.int_val(k), result)
                              : z3::ite(z3::mod(x, power(k)) == 0, power(k), result);
  return result;
}

} // namespace

Z3Encoding::Z3Encoding(const ConstraintSystem &system, const SolverOptions &options,
                       z3::solver &solver)
    : system(system), solver(solver), context(solver.ctx()), program(system),
      values(system.parameters.size()), undecided(system.constraints.size()) {
  std::vector<RegisterId> truths;
  for (const Constraint &constraint : system.constraints)
    truths.push_back(program.add(constraint.formula));
  std::vector<std::vector<int64_t>> lists;
  std::vector<Interval> intervals;
  for (const SolveParameter &parameter : system.parameters) {
    std::string name = fmt::format("p{}.{}.index", indices.size(), parameter.name);
    lists.push_back(parameter.candidates);
    intervals.push_back({parameter.candidates.front(), parameter.candidates.back()});
    indices.push_back(context.int_const(name.c_str()));
    z3::expr last = context.int_val(uint64_t(parameter.candidates.size() - 1));
    solver.add(indices.back() >= 0 && indices.back() <= last);
  }
  box = program.abstractly(intervals);
  for (size_t c = 0; c < truths.size(); ++c) {
    names.push_back(context.bool_const(("c" + std::to_string(c)).c_str()));
    std::optional<Diagram> table = tabulate(program, truths[c], lists, options.maxDiagramSteps);
    if (table)
      undecided[c] = table->hasUndecided;
    z3::expr body = table ? diagram(*table) : formula(truths[c], c);
    solver.add(z3::implies(names.back(), body));
  }
}

z3::expr Z3Encoding::diagram(const Diagram &diagram) const {
  std::vector<z3::expr> terms{context.bool_val(false), context.bool_val(true)};
  for (const Diagram::Node &node : diagram.nodes) {
    const z3::expr &index = indices[node.parameter];
    z3::expr_vector parts(context);
    uint32_t first = 0;
    for (const Diagram::Edge &edge : node.edges) {
      z3::expr_vector outside(context); // the index lies before or after the run
      if (first > 0)
        outside.push_back(index <= context.int_val(first - 1));
      if (edge.last + 1 < system.parameters[node.parameter].candidates.size())
        outside.push_back(index >= context.int_val(edge.last + 1));
      if (edge.target != Diagram::reject)
        outside.push_back(terms[edge.target]);
      if (edge.target != Diagram::accept)
        parts.push_back(z3::mk_or(outside));
      first = edge.last + 1;
    }
    terms.push_back(z3::mk_and(parts));
  }
  return terms[diagram.root];
}

const z3::expr &Z3Encoding::valueOf(unsigned parameter) {
  std::optional<z3::expr> &value = values[parameter];
  if (value)
    return *value;
  const std::vector<int64_t> &list = system.parameters[parameter].candidates;
  const z3::expr &index = indices[parameter];
  value = context.int_const(
      fmt::format("p{}.{}.value", parameter, system.parameters[parameter].name).c_str());
  auto number = [&](int64_t n) { return context.int_val(n); };
  solver.add(*value >= number(list.front()) && *value <= number(list.back()));
  std::vector<Run> runs = arithmeticRuns(list);
  if (runs.size() > maxRuns)
    complete = false;
  for (size_t i = 0; i < std::min(runs.size(), maxRuns); ++i) {
    auto [first, last] = runs[i];
    z3::expr term = number(list[first]);
    if (last > first)
      term =
          term + number(list[first + 1] - list[first]) * (index - context.int_val(uint64_t(first)));
    z3::expr isHere =
        index >= context.int_val(uint64_t(first)) && index <= context.int_val(uint64_t(last));
    solver.add(z3::implies(isHere, *value == term));
  }
  return *value;
}

/// The formula over the unbounded integers. Each truth is a pair: "surely true" and "surely false";
/// neither holds where a divisor is not positive or a variable has no value.
z3::expr Z3Encoding::formula(RegisterId truth, size_t constraint) {
  struct Term {
    z3::expr value;   ///< integer, or "true"
    z3::expr isFalse; ///< of truths only
    z3::expr isDefined;
  };
  const z3::expr yes = context.bool_val(true), no = context.bool_val(false);
  std::map<RegisterId, Term> terms;
  auto termOf = [&](RegisterId id) -> Term {
    const Register &reg = program[id];
    if (reg.op == Code::Parameter)
      return {valueOf(id), no, yes};
    if (reg.op == Code::Constant)
      return {context.int_val(reg.value), no, yes};
    if (reg.op == Code::Undefined) {
      undecided[constraint] = true;
      return {context.int_val(0), no, no};
    }
    const Term &term = terms.at(id);
    bool isTruth = reg.op == Code::LessEqual || reg.op == Code::Equal || reg.op == Code::Divides;
    if (!isTruth)
      return term;
    // A comparison as a number.
    return {z3::ite(term.value, context.int_val(1), context.int_val(0)), no,
            term.value || term.isFalse};
  };
  // Constants stand for truths, too; as one they are 0 or 1.
  auto truthOf = [&](RegisterId id) -> Term {
    if (program[id].op != Code::Constant)
      return terms.at(id);
    bool holds = program[id].value != 0;
    return {context.bool_val(holds), context.bool_val(!holds), yes};
  };
  auto positive = [&](RegisterId id, const z3::expr &value) {
    if (box[id].range.lo > 0)
      return yes;
    undecided[constraint] = true;
    return value > 0;
  };
  auto both = [&](const Term &a, const Term &b) { return a.isDefined && b.isDefined; };
  auto integer = [&](z3::expr value, z3::expr isDefined) { return Term{value, no, isDefined}; };
  auto compare = [&](const z3::expr &holds, const z3::expr &isDefined) {
    return Term{isDefined && holds, isDefined && !holds, yes};
  };
  auto compute = [&](RegisterId id) -> Term {
    const Register &reg = program[id];
    if (reg.op == Code::And || reg.op == Code::Or || reg.op == Code::Not) {
      Term a = truthOf(reg.a), b = truthOf(reg.op == Code::Not ? reg.a : reg.b);
      if (reg.op == Code::And)
        return {a.value && b.value, a.isFalse || b.isFalse, yes};
      if (reg.op == Code::Or)
        return {a.value || b.value, a.isFalse && b.isFalse, yes};
      return {a.isFalse, a.value, yes};
    }
    if (isUnary(reg.op)) {
      Term a = termOf(reg.a);
      z3::expr isDefined = reg.op == Code::Pow2Ceil ? yes : positive(reg.a, a.value);
      return integer(powerTerm(reg.op, a.value, box[reg.a].range), a.isDefined && isDefined);
    }
    Term a = termOf(reg.a), b = termOf(reg.b);
    if (reg.op == Code::Select) {
      Term c = termOf(reg.c);
      return integer(z3::ite(c.value != 0, a.value, b.value), both(a, b) && c.isDefined);
    }
    const z3::expr &x = a.value, &y = b.value;
    switch (reg.op) {
    case Code::Add:
      return integer(x + y, both(a, b));
    case Code::Mul:
      return integer(x * y, both(a, b));
    case Code::FloorDiv: // Z3's div is Euclidean: the floor for positive divisors
      return integer(x / y, both(a, b) && positive(reg.b, y));
    case Code::CeilDiv:
      return integer(-((-x) / y), both(a, b) && positive(reg.b, y));
    case Code::Mod:
      return integer(z3::mod(x, y), both(a, b) && positive(reg.b, y));
    case Code::Min:
      return integer(z3::ite(x <= y, x, y), both(a, b));
    case Code::Max:
      return integer(z3::ite(x >= y, x, y), both(a, b));
    case Code::LessEqual:
      return compare(x <= y, both(a, b));
    case Code::Equal:
      return compare(x == y, both(a, b));
    default: // Divides
      return compare(z3::mod(y, x) == 0, both(a, b) && positive(reg.a, x));
    }
  };
  for (RegisterId id : program.cone(truth))
    terms.insert_or_assign(id, compute(id));
  return truthOf(truth).value;
}

std::vector<int64_t> Z3Encoding::valuesOf(const z3::model &model) const {
  std::vector<int64_t> out;
  for (size_t p = 0; p < indices.size(); ++p) {
    uint64_t index = model.eval(indices[p], true).get_numeral_uint64();
    out.push_back(system.parameters[p].candidates.at(index));
  }
  return out;
}

z3::expr Z3Encoding::blocking(const z3::model &model) const {
  z3::expr_vector parts(context);
  for (const z3::expr &index : indices)
    parts.push_back(index != model.eval(index, true));
  return z3::mk_or(parts);
}

} // namespace tilewright::detail
