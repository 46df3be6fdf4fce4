#include "analysis/tiling/carried_state.h"

#include "analysis/ir/literal.h"
#include "analysis/ir/reducer.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tilewright {

namespace {

enum class Form : uint8_t { Independent, Scaled, Other };

bool isMovement(Opcode opcode) {
  return opcode == Opcode::Broadcast || opcode == Opcode::Reshape || opcode == Opcode::Bitcast ||
         opcode == Opcode::Transpose || opcode == Opcode::Copy || opcode == Opcode::Convert;
}

struct CarriedReduction {
  OpId op;
  bool isMaximum = false; ///< else a sum
};

struct CarriedState {
  /// In order: a maximum, if there is one, then sums.
  std::vector<CarriedReduction> reductions;
  std::optional<OpId> shift;     ///< h(m)
  std::optional<size_t> divisor; ///< the sum l that P is divided by
  std::string whyNotOnline;
};

/// The op whose elements this one only moves or converts.
OpId withoutMovement(const Graph &graph, OpId op) {
  while (isMovement(graph[op].opcode))
    op = graph[op].operands[0];
  return op;
}

/// The value of an op whose elements are all one scalar constant, looking through movement.
std::optional<double> scalarConstant(const Graph &graph, OpId op) {
  const Op &constant = graph[withoutMovement(graph, op)];
  if (constant.opcode != Opcode::Constant || constant.shape.rank() != 0)
    return std::nullopt;
  auto value = parseLiteral(constant.shape, constant.literal);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  return value->asDouble(0);
}

/// Collects all facts in one pass over the ops, operands before users.
class Finder {
public:
  Finder(const Module &module, const Graph &graph, std::span<const OpId> ops, OpId first,
         OpId second)
      : module(module), graph(graph), ops(ops), first(first), second(second) {}

  llvm::Expected<std::string> run() {
    fromFirst = dependentsOf({first});
    fromSecond = dependentsOf({second});
    if (llvm::Error error = collect())
      return error;
    std::set<OpId> reduced;
    for (const CarriedReduction &reduction : state.reductions)
      reduced.insert(reduction.op);
    fromReductions = dependentsOf(reduced);
    std::vector<OpId> sums, scores;
    for (const CarriedReduction &reduction : state.reductions)
      if (!reduction.isMaximum)
        sums.push_back(graph[reduction.op].operands[0]);
    for (OpId operand : graph[second].operands)
      if (fromFirst.count(operand))
        scores.push_back(operand);
    decide(sums);
    if (state.whyNotOnline.empty() && state.divisor)
      state.whyNotOnline = fmt::format("%{} divides what is summed up again",
                                       graph[state.reductions[*state.divisor].op].name);
    decide(scores);
    // O and all sums are corrected by one factor.
    if (state.shift)
      for (const std::vector<OpId> *targets : {&sums, &scores})
        for (OpId target : *targets)
          if (at(target) == Form::Independent && state.whyNotOnline.empty())
            state.whyNotOnline = fmt::format(
                "%{} is not scaled as other sums over the same columns are", graph[target].name);
    return std::move(state.whyNotOnline);
  }

private:
  /// `from` and the kernel's ops that depend on it.
  std::set<OpId> dependentsOf(std::set<OpId> from) const {
    for (OpId id : ops)
      if (std::any_of(graph[id].operands.begin(), graph[id].operands.end(),
                      [&](OpId operand) { return from.count(operand) != 0; }))
        from.insert(id);
    return from;
  }

  llvm::Error collect() {
    for (OpId id : ops) {
      const Op &op = graph[id];
      if (op.opcode != Opcode::Reduce)
        continue;
      std::optional<Opcode> combiner;
      if (op.called.size() == 1 && op.operands.size() == 2 && !op.shape.isTuple)
        combiner = reducerOpcode(module.graph(op.called[0].graph));
      if (!fromFirst.count(id) || fromSecond.count(id) || op.attrs.dimensions.size() != 1)
        return makeError(DiagClass::Unsupported,
                         "%{}: no code for a reduction that is not over one dim between two dots",
                         op.name);
      bool isSum = combiner == Opcode::Add, isMaximum = combiner == Opcode::Maximum;
      if ((!isSum && !isMaximum) || !isFloat(op.shape.dtype) || op.shape.dtype == DType::F64)
        return makeError(DiagClass::Unsupported,
                         "%{}: between two dots, reductions are sums or a maximum of floats",
                         op.name);
      std::optional<double> start = scalarConstant(graph, op.operands[1]);
      if (!start || (isSum && *start != 0) || std::isnan(*start))
        return makeError(DiagClass::Unsupported,
                         "%{}: between two dots, sums start at 0 and a maximum at a constant",
                         op.name);
      if (isMaximum && !state.reductions.empty())
        return makeError(DiagClass::Unsupported,
                         "%{}: a maximum after another reduction between two dots", op.name);
      state.reductions.push_back({id, isMaximum});
    }
    return llvm::Error::success();
  }

  /// Finds the forms of these ops and their conditions; records why the state is not carried.
  void decide(const std::vector<OpId> &targets) {
    std::set<OpId> needed(targets.begin(), targets.end());
    for (auto it = ops.rbegin(); it != ops.rend(); ++it)
      if (needed.count(*it))
        needed.insert(graph[*it].operands.begin(), graph[*it].operands.end());
    for (OpId id : ops)
      if (needed.count(id) && fromReductions.count(id) && !forms.count(id))
        forms[id] = formOf(id);
    for (OpId target : targets)
      if (at(target) == Form::Other && state.whyNotOnline.empty())
        state.whyNotOnline = fmt::format("%{} depends on {} in a way that can't be corrected later",
                                         graph[target].name, firstReductionOf(target));
  }

  Form at(OpId id) const {
    auto it = forms.find(id);
    if (it != forms.end())
      return it->second;
    return fromReductions.count(id) ? Form::Other : Form::Independent;
  }

  /// The form of an op that depends on a reduction.
  Form formOf(OpId id) {
    const Op &op = graph[id];
    if (isMovement(op.opcode))
      return at(op.operands[0]);
    auto operand = [&](size_t i) { return at(op.operands[i]); };
    switch (op.opcode) {
    case Opcode::Exp: {
      const Op &argument = graph[op.operands[0]];
      if (argument.opcode != Opcode::Subtract || at(argument.operands[0]) != Form::Independent ||
          !state.reductions.front().isMaximum)
        return Form::Other;
      OpId subtracted = argument.operands[1];
      if (!isOfMaximum(subtracted) || (state.shift && *state.shift != subtracted))
        return Form::Other;
      state.shift = subtracted;
      return Form::Scaled;
    }
    case Opcode::Negate:
      return operand(0);
    case Opcode::Add:
    case Opcode::Subtract:
      return operand(0) == Form::Scaled && operand(1) == Form::Scaled ? Form::Scaled : Form::Other;
    case Opcode::Multiply:
      if (operand(0) == Form::Independent)
        return operand(1);
      return operand(1) == Form::Independent ? operand(0) : Form::Other;
    case Opcode::Divide: {
      OpId bottom = withoutMovement(graph, op.operands[1]);
      for (size_t i = 0; i < state.reductions.size(); ++i)
        if (!state.reductions[i].isMaximum && bottom == state.reductions[i].op &&
            state.divisor.value_or(i) == i) {
          if (operand(0) != Form::Other)
            state.divisor = i;
          return operand(0);
        }
      return operand(1) == Form::Independent ? operand(0) : Form::Other;
    }
    case Opcode::Select: {
      auto scales = [&](size_t i) {
        return operand(i) == Form::Scaled || scalarConstant(graph, op.operands[i]) == 0.0;
      };
      return operand(0) == Form::Independent && scales(1) && scales(2) ? Form::Scaled : Form::Other;
    }
    default:
      return Form::Other;
    }
  }

  /// True if the op depends only on the maximum, constants and parameters, not on the first dot
  /// directly.
  bool isOfMaximum(OpId id) const {
    std::set<OpId> seen{id};
    std::vector<OpId> work{id};
    while (!work.empty()) {
      OpId next = work.back();
      work.pop_back();
      if (next == state.reductions.front().op || !fromFirst.count(next))
        continue;
      if (graph[next].opcode == Opcode::Dot || graph[next].opcode == Opcode::Reduce)
        return false;
      for (OpId operand : graph[next].operands)
        if (seen.insert(operand).second)
          work.push_back(operand);
    }
    return true;
  }

  std::string firstReductionOf(OpId target) const {
    for (const CarriedReduction &reduction : state.reductions)
      if (dependentsOf({reduction.op}).count(target))
        return "%" + graph[reduction.op].name;
    return "a reduction";
  }

  const Module &module;
  const Graph &graph;
  std::span<const OpId> ops;
  OpId first, second;
  std::set<OpId> fromFirst, fromSecond, fromReductions;
  std::map<OpId, Form> forms; ///< of ops that depend on a reduction
  CarriedState state;
};

} // namespace

llvm::Expected<std::string> whyNotOnline(const Module &module, const Graph &graph,
                                         std::span<const OpId> ops, OpId first, OpId second) {
  return Finder(module, graph, ops, first, second).run();
}

} // namespace tilewright
