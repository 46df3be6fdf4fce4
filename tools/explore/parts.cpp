#include "tools/explore/parts.h"

#include "analysis/indexing/trip_count.h"
#include "analysis/support/checked.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace tilewright {

namespace {

std::vector<GraphId> calleesOf(const Op &op, CallRole role) {
  std::vector<GraphId> callees;
  for (const CalledGraph &call : op.called)
    if (call.role == role && call.graph.isValid())
      callees.push_back(call.graph);
  return callees;
}

class Discovery {
public:
  explicit Discovery(const Module &module) : module(module) {}

  void visit(GraphId id, unsigned depth);

  std::vector<ModelPart> parts;

private:
  static constexpr unsigned maxDepth = 64;

  /// False, with the reason, where nobody knows how often it runs.
  bool addLoop(ModelPart &part, OpId id, std::string &reason);
  void addConditional(ModelPart &part, OpId id, std::vector<GraphId> branches);

  const Module &module;
  std::set<GraphId> seen, conditions;
};

bool Discovery::addLoop(ModelPart &part, OpId id, std::string &reason) {
  const Graph &graph = module.graph(part.id);
  const Op &op = graph.op(id);
  TripCount trips = tripCount(module, graph, id);
  std::vector<GraphId> body = calleesOf(op, CallRole::Body);
  if (!trips.note.empty())
    part.notes.push_back({id, trips.note});
  if (!trips.count) {
    // One trip: the condition, which has to be evaluated, and the body.
    for (CallRole role : {CallRole::Condition, CallRole::Body})
      for (GraphId callee : calleesOf(op, role))
        part.loops.push_back({callee, 1, false});
    reason =
        fmt::format("while: the trip count is not known: {}; one trip is priced", trips.reason);
    return false;
  }
  if (body.empty()) {
    reason = "while: it has no body";
    return false;
  }
  part.loops.push_back({body.front(), *trips.count});
  part.grouping.noKernel.push_back(
      {id, fmt::format("while: {} runs of %{}, which is listed", *trips.count,
                       module.graph(body.front()).name())});
  // The trip count is known, so the condition is not evaluated.
  for (GraphId condition : calleesOf(op, CallRole::Condition)) {
    if (!conditions.insert(condition).second)
      continue;
    for (uint32_t i = 0; i < module.graph(condition).size(); ++i)
      part.conditions.push_back(
          {condition, {OpId{i}, "condition of a loop whose trip count is known"}});
  }
  return true;
}

void Discovery::addConditional(ModelPart &part, OpId id, std::vector<GraphId> branches) {
  part.conditionalRows.push_back(part.grouping.noKernel.size());
  part.conditionals.push_back(std::move(branches));
  part.grouping.noKernel.push_back({id, "conditional"});
}

void Discovery::visit(GraphId id, unsigned depth) {
  seen.insert(id);
  const Graph &graph = module.graph(id);
  ModelPart part;
  part.id = id;
  part.grouping = groupSimply(graph);
  for (OpReason &entry : std::exchange(part.grouping.unsupported, {})) {
    const Op &op = graph.op(entry.op);
    std::vector<GraphId> branches = calleesOf(op, CallRole::Branch);
    bool isLoop = op.opcode == Opcode::While;
    bool isConditional = op.opcode == Opcode::Conditional && !branches.empty();
    if ((isLoop || isConditional) && depth >= maxDepth)
      entry.reason =
          fmt::format("{}: computations nest deeper than {}", toString(op.opcode), maxDepth);
    else if (isLoop && addLoop(part, entry.op, entry.reason))
      continue;
    else if (isConditional) {
      addConditional(part, entry.op, std::move(branches));
      continue;
    }
    part.grouping.unsupported.push_back(std::move(entry));
  }
  for (const ModelPart::Loop &loop : part.loops)
    if (!seen.count(loop.body))
      visit(loop.body, depth + 1);
  for (const std::vector<GraphId> &branches : part.conditionals)
    for (GraphId branch : branches)
      if (!seen.count(branch))
        visit(branch, depth + 1);
  parts.push_back(std::move(part));
}

} // namespace

std::vector<ModelPart> modelParts(const Module &module) {
  Discovery discovery(module);
  discovery.visit(module.entryId, 0);
  return std::move(discovery.parts);
}

void countRuns(const Module &module, std::vector<ModelPart> &parts) {
  std::map<GraphId, size_t> number;
  for (size_t p = 0; p < parts.size(); ++p)
    number[parts[p].id] = p;
  auto timeOf = [&](GraphId id) { return parts[number.at(id)].timeNs; };
  std::vector<std::vector<GraphId>> chosen(parts.size());
  for (size_t p = 0; p < parts.size(); ++p) {
    ModelPart &part = parts[p];
    for (const ModelPart::Loop &loop : part.loops)
      part.timeNs += static_cast<double>(loop.trips) * timeOf(loop.body);
    for (size_t c = 0; c < part.conditionals.size(); ++c) {
      GraphId most = part.conditionals[c].front();
      for (GraphId branch : part.conditionals[c])
        if (timeOf(branch) > timeOf(most))
          most = branch;
      part.timeNs += timeOf(most);
      chosen[p].push_back(most);
      part.grouping.noKernel[part.conditionalRows[c]].reason =
          fmt::format("conditional: of its {} branches the costliest is counted, %{}",
                      part.conditionals[c].size(), module.graph(most).name());
    }
  }
  auto add = [&](GraphId id, int64_t runs) {
    int64_t &total = parts[number.at(id)].runs;
    total = checkedAdd(total, runs).value_or(INT64_MAX);
  };
  add(module.entryId, 1);
  for (size_t p = parts.size(); p-- > 0;) {
    for (const ModelPart::Loop &loop : parts[p].loops) {
      add(loop.body, checkedMul(loop.trips, parts[p].runs).value_or(INT64_MAX));
      parts[number.at(loop.body)].isCounted &= loop.isCounted && parts[p].isCounted;
    }
    for (const std::vector<GraphId> &branches : parts[p].conditionals)
      for (GraphId branch : branches)
        parts[number.at(branch)].isCounted &= parts[p].isCounted;
    for (GraphId branch : chosen[p])
      add(branch, parts[p].runs);
  }
}

std::vector<size_t> partsRunBy(const std::vector<ModelPart> &parts, size_t part) {
  std::set<GraphId> run;
  auto addRunBy = [&](const ModelPart &of) {
    for (const ModelPart::Loop &loop : of.loops)
      run.insert(loop.body);
    for (const std::vector<GraphId> &branches : of.conditionals)
      run.insert(branches.begin(), branches.end());
  };
  addRunBy(parts[part]);
  std::vector<size_t> numbers;
  for (size_t p = part; p-- > 0;)
    if (run.count(parts[p].id)) {
      addRunBy(parts[p]);
      numbers.push_back(p);
    }
  std::reverse(numbers.begin(), numbers.end());
  return numbers;
}

} // namespace tilewright
