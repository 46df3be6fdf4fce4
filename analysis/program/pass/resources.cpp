#include "analysis/program/pass/resources.h"

#include "analysis/affine/simplify.h"
#include "analysis/affine/transfer.h"
#include "analysis/program/fold.h"
#include "analysis/program/pass/element_program.h"
#include "analysis/program/pass/of_plan.h"
#include "analysis/program/verify.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace tilewright {

/// By variant.
struct ProgramResources {
  std::vector<ResourceItem> shared;
  Expr registers; ///< live at once, a thread; of reductions alone where CTAs share sums, null if
                  ///< never
  Expr threads;   ///< of a CTA, with producer warps; of dots beside others
  Expr partialSumBytes; ///< of a CTA that shares sums of rows; null if none does
  std::vector<Constraint> constraints;
  std::optional<program::WorkOfThreads> work; ///< of elementwise code and of reductions
};

namespace {

using program::Program;

/// Expressions of programs over the parameters of their group, sizes of the same names.
class OverParameters {
public:
  OverParameters(const Program &program, const TiledGroup &group)
      : program(program), group(group), context(group.space.parameters.front().size.context()) {}

  Expr operator()(Expr amount) const {
    return transferred(program.resolved(amount), context, [&](VarId var) {
      const std::string &name = program.context->info(var).name;
      return group.space.parameters[*group.space.indexOf(name == "W" ? "warps" : name)].size;
    });
  }

  Formula operator()(const Formula &of) const {
    std::vector<Formula> parts;
    for (const Formula &part : of.parts())
      parts.push_back((*this)(part));
    switch (of.kind()) {
    case Formula::Kind::True:
    case Formula::Kind::False:
      return of;
    case Formula::Kind::LessEqual:
      return Formula::lessEqual((*this)(of.lhs()), (*this)(of.rhs()));
    case Formula::Kind::Equal:
      return Formula::equal((*this)(of.lhs()), (*this)(of.rhs()));
    case Formula::Kind::Divides:
      return Formula::divides((*this)(of.lhs()), (*this)(of.rhs()));
    case Formula::Kind::And:
      return Formula::all(std::move(parts));
    case Formula::Kind::Or:
      return Formula::any(std::move(parts));
    case Formula::Kind::Not:
      return !parts.front();
    }
    return of;
  }

private:
  const Program &program;
  const TiledGroup &group;
  ExprContext &context;
};

/// What tile sizes take a variant for must hold of them.
class ProgramReader {
public:
  ProgramReader(const Graph &graph, const TiledGroup &group)
      : graph(graph), group(group), context(group.space.parameters.front().size.context()),
        registers(context.constant(0)), threads(group.space.find("warps")->size * 32),
        partialSums(context.constant(0)) {}

  void add(const program::GroupProgram &each, bool isOfDots) {
    ++variants;
    const Expr splits = group.space.find("split_k")->size;
    if (!each.refusal.empty() && !isOfDots) // loops of threads are left
      return require(each.when, Formula::lessEqual(splits, context.constant(1)), each.refusal);
    if (!each.refusal.empty())
      return require(each.when, Formula::constant(false), each.refusal);
    const OverParameters over(each.program, group);
    const program::Folds folds = program::foldsOf(each.program);
    for (const program::SharedItem &item : folds.shared) {
      Expr &sum = items.try_emplace(item.name, context.constant(0)).first->second;
      sum = select(each.when, over(item.bytes), sum);
    }
    if (!isOfDots)
      addWork(each, over);
    const bool isShared = !isOfDots && each.program.splitVariable();
    if (!isOfDots && !isShared)
      return;
    Expr live = context.constant(0);
    for (const program::RoleRegisters &role : folds.registers)
      live = live.max(over(role.words));
    registers = select(each.when, live, registers);
    if (isShared) {
      addPartialSums(each.when, over(folds.counts[program::Count::WorkspaceBytes]),
                     over(folds.counts[program::Count::Ctas]));
      return require(each.when, Formula::lessEqual(splits, over(sharedSteps(each.program))),
                     "more CTAs share a sum than its loop has steps");
    }
    threads = select(each.when, over(folds.counts[program::Count::Threads]), threads);
    const program::Verification verified = program::verify(each.program);
    for (const program::Violation &broken : verified.violations)
      require(each.when, Formula::constant(false), broken.message);
    for (const program::Requirement &requirement : verified.requirements)
      require(each.when, over(requirement.formula), requirement.message);
  }

  ProgramResources finish(bool isOfDots) && {
    Simplifier simplifier(context, group.bounds());
    for (auto &[name, bytes] : items)
      if (Expr simple = simplifier.simplify(bytes); !simple.isConstant(0))
        result.shared.push_back({group.group.roots.back(), name, simple});
    const OpId root = group.group.roots.back();
    for (const auto &[text, each] : demands)
      if (Formula all = holdsFor(each); !all.isTrue())
        result.constraints.push_back(
            {std::move(all), {root, "%" + graph[root].name, -1, -1, "program", text, {}}});
    if (isOfDots || isShared)
      result.registers = simplifier.simplify(registers);
    if (isOfDots)
      result.threads = simplifier.simplify(threads);
    if (isShared)
      result.partialSumBytes = simplifier.simplify(partialSums);
    if (result.work) {
      for (program::Evaluations &of : result.work->evaluations)
        of.times = simplifier.simplify(of.times);
      result.work->loads = simplifier.simplify(result.work->loads);
    }
    return std::move(result);
  }

private:
  /// What is the same in variants is counted once.
  void addWork(const program::GroupProgram &each, const OverParameters &over) {
    program::WorkOfThreads of = program::workOfThreads(each.program);
    if (!result.work)
      result.work.emplace(program::WorkOfThreads{{}, context.constant(0)});
    program::WorkOfThreads &all = *result.work;
    std::vector<bool> isTaken(all.evaluations.size(), false);
    for (program::Evaluations &one : of.evaluations) {
      const Expr times = over(one.times) * one.operations;
      one.operations = 1;
      size_t at = 0;
      while (at < isTaken.size() && (isTaken[at] || !areAlike(all.evaluations[at], one)))
        ++at;
      if (at < isTaken.size()) {
        isTaken[at] = true;
        all.evaluations[at].times = select(each.when, times, all.evaluations[at].times);
        continue;
      }
      one.times = select(each.when, times, context.constant(0));
      all.evaluations.push_back(one);
    }
    all.loads = select(each.when, over(of.loads), all.loads);
  }
  static bool areAlike(const program::Evaluations &a, const program::Evaluations &b) {
    return a.opcode == b.opcode && a.type == b.type && a.divisor == b.divisor &&
           a.isInSteps == b.isInSteps;
  }

  static Expr sharedSteps(const Program &program) {
    for (const program::Op &op : program.body)
      if (const auto *loop = op.as<program::ForOp>(); loop && loop->splits)
        return loop->trips;
    return program.number(1);
  }

  /// What CTAs leave is written once and read once.
  void addPartialSums(Expr when, Expr moved, Expr ctas) {
    isShared = true;
    partialSums = select(when, moved.floorDiv(ctas * 2), partialSums);
    require(when, Formula::lessEqual(moved, context.constant(2 * maxPartialSumBytes)),
            fmt::format("partial sums of the CTAs that share rows take more than {} B",
                        maxPartialSumBytes));
  }

  void require(Expr when, Formula formula, const std::string &message) {
    std::string text;
    for (char c : message) // braces are places of numbers
      text += c == '{' ? '(' : c == '}' ? ')' : c;
    if (formula.isFalse())
      refused.insert(when.id());
    demands[text].push_back({when, std::move(formula)});
  }

  /// What is demanded of variants, each by its condition.
  struct Demand {
    Expr when;
    Formula formula;
  };

  /// Where all variants that there are demand the same, no condition is needed: a formula on one
  /// parameter then filters its candidates.
  Formula holdsFor(const std::vector<Demand> &of) const {
    const Formula &first = of.front().formula;
    std::set<uint32_t> whens = refused;
    bool isSame = first.lhs() && first.parts().empty();
    std::vector<Formula> formulas;
    for (const auto &[when, formula] : of) {
      isSame &= formula.kind() == first.kind() && formula.lhs() == first.lhs() &&
                formula.rhs() == first.rhs();
      whens.insert(when.id());
      formulas.push_back(Formula::equal(when, context.constant(0)) || formula);
    }
    return isSame && whens.size() == variants ? first : Formula::all(std::move(formulas));
  }

  const Graph &graph;
  const TiledGroup &group;
  ExprContext &context;
  ProgramResources result;
  std::map<std::string, Expr> items; ///< a reduction may be over several axes, or not at all
  std::map<std::string, std::vector<Demand>> demands; ///< of variants, by what they say
  size_t variants = 0;
  std::set<uint32_t> refused; ///< conditions of variants that there are not, by Expr::id()
  Expr registers, threads, partialSums;
  bool isShared = false; ///< CTAs share sums of rows at some sizes
};

ProgramResources resourcesOfPrograms(const Module &module, const Graph &graph,
                                     const TiledGroup &group, const CodeChoice &code,
                                     llvm::function_ref<bool(Expr)> isAsked) {
  const bool isOfDots = code.kind == CodeKind::Fused;
  ProgramReader reader(graph, group);
  llvm::Expected<std::vector<program::GroupProgram>> programs =
      program::programsOf(module, graph, group, code.instruction, isAsked);
  if (!programs) // one for all tiles
    reader.add({{},
                group.space.parameters.front().size.context().constant(1),
                takeDiag(programs.takeError()).message},
               isOfDots);
  else
    for (const program::GroupProgram &each : *programs)
      reader.add(each, isOfDots);
  return std::move(reader).finish(isOfDots);
}

ProgramResources resourcesOfElements(const Module &module, const Graph &graph,
                                     const TiledGroup &group) {
  ProgramResources result;
  llvm::Expected<Program> made = program::programOfElements(module, graph, group);
  if (!made) {
    llvm::consumeError(made.takeError());
    return result;
  }
  const OverParameters over(*made, group);
  Simplifier simplifier(group.space.parameters.front().size.context(), group.bounds());
  auto simple = [&](Expr amount) { return simplifier.simplify(over(amount)); };
  program::WorkOfThreads &work = result.work.emplace(program::workOfThreads(*made));
  for (program::Evaluations &each : work.evaluations)
    each.times = simple(each.times);
  work.loads = simple(work.loads);
  return result;
}

/// Registers of a thread beside those of tiles: addresses, operands on their way, counters.
constexpr int64_t registersBesideTiles = 40;

void addPrograms(const Module &module, const Graph &graph, const TiledGroup &group,
                 const CodeChoice &code, llvm::function_ref<bool(Expr)> isAsked,
                 Resources &resources) {
  std::shared_ptr<const ProgramResources> &known =
      group.programs[static_cast<size_t>(code.instruction)];
  if (!known)
    known = std::make_shared<const ProgramResources>(
        resourcesOfPrograms(module, graph, group, code, isAsked));
  for (const ResourceItem &item : known->shared) {
    resources.sharedItems.push_back(item);
    resources.sharedBytes = resources.sharedBytes + item.amount;
  }
  resources.partialSumBytes = known->partialSumBytes;
  if (!known->registers)
    return;
  const OpId root = group.group.roots.back();
  if (code.kind == CodeKind::Reduction) {
    // Rows are not made in chunks there: what is live of them is held.
    const Expr isHeld = known->registers.isAtLeast(known->registers.context().constant(1));
    const Expr more =
        isHeld * (known->registers + registersBesideTiles - resources.registersPerThread).max(0);
    resources.registerItems.push_back({root, "sums of rows that CTAs share", more});
    resources.registersPerThread = resources.registersPerThread + more;
    resources.accumulatorItems.push_back({root, "sums of rows that CTAs share", known->registers});
    resources.accumulatorRegistersPerThread =
        resources.accumulatorRegistersPerThread + known->registers;
    return;
  }
  resources.threads = known->threads;
  resources.accumulatorItems = {{root, "tiles that are live at once", known->registers}};
  resources.accumulatorRegistersPerThread = known->registers;
  resources.registerItems = {
      resources.accumulatorItems.front(),
      {root, "addresses and operands", known->registers.context().constant(registersBesideTiles)}};
  resources.registersPerThread = known->registers + registersBesideTiles;
}

} // namespace

const program::WorkOfThreads *workOf(const Module &module, const Graph &graph,
                                     const TiledGroup &group, const CodeChoice &code) {
  std::shared_ptr<const ProgramResources> &known =
      group.programs[static_cast<size_t>(code.instruction)];
  if (!known)
    known = std::make_shared<const ProgramResources>(
        code.kind == CodeKind::Elementwise
            ? resourcesOfElements(module, graph, group)
            : resourcesOfPrograms(module, graph, group, code, nullptr));
  return known->work ? &*known->work : nullptr;
}

namespace {

Resources resourcesOf(const Module &module, const Graph &graph, const TiledGroup &group,
                      const CodeChoice &code, const DeviceLimits &limits,
                      llvm::function_ref<bool(Expr)> isAsked) {
  Resources resources = resourcesByKind(graph, group, code, limits);
  if (code.kind == CodeKind::Reduction || code.kind == CodeKind::Fused)
    addPrograms(module, graph, group, code, isAsked, resources);
  return resources;
}

} // namespace

Resources kernelResources(const Module &module, const Graph &graph, const TiledGroup &group,
                          const CodeChoice &code, const DeviceLimits &limits) {
  return resourcesOf(module, graph, group, code, limits, nullptr);
}

Resources kernelResources(const Module &module, const Graph &graph, const TiledGroup &group,
                          Instruction instruction, const DeviceLimits &limits) {
  return kernelResources(module, graph, group, codeOf(graph, group, instruction), limits);
}

void addKernelConstraints(const Module &module, const Graph &graph, TiledGroup &group,
                          const DeviceLimits &limits, Instruction instruction,
                          llvm::function_ref<bool(Expr)> isAsked) {
  const CodeChoice code = codeOf(graph, group, instruction);
  addResourceConstraints(graph, group, limits, code,
                         resourcesOf(module, graph, group, code, limits, isAsked));
  if (const auto &known = group.programs[static_cast<size_t>(code.instruction)]; known)
    group.constraints.insert(group.constraints.end(), known->constraints.begin(),
                             known->constraints.end());
}

} // namespace tilewright
