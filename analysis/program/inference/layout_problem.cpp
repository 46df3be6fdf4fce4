#include "analysis/program/inference/layout_problem.h"

#include "analysis/program/inference/candidates.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::inference {

namespace {

bool isByInstruction(const GraphNode &node) {
  const auto *dot = node.op->as<program::DotOp>();
  return node.kind == NodeKind::Dot && dot->way != program::DotWay::Fma;
}

/// Is the label the layout that the text gives, if it gives one?
bool hasOwnLayout(const GraphNode &node) {
  const ResultOf result = ruleOf(node.kind).result;
  return result == ResultOf::Label || result == ResultOf::Nothing;
}

/// Do uses of this node work in the layout that they take a whole value in?
bool followsOperand(NodeKind kind) {
  return kind == NodeKind::Map || kind == NodeKind::Carried || kind == NodeKind::Reduce ||
         kind == NodeKind::Store || kind == NodeKind::Atomic || kind == NodeKind::Scan ||
         kind == NodeKind::Cast || kind == NodeKind::SelectAxis || kind == NodeKind::Join ||
         kind == NodeKind::SumSplits;
}

} // namespace

llvm::Expected<std::unique_ptr<LayoutProblem>>
LayoutProblem::make(const program::Program &program, const InferenceOptions &options) {
  llvm::Expected<TileGraph> graph = graphOf(program);
  if (!graph)
    return graph.takeError();
  std::unique_ptr<LayoutProblem> result(new LayoutProblem(program, options));
  result->tiles = std::move(*graph);
  if (llvm::Error error = result->readWishes())
    return error;
  result->readGiven();
  result->usersOf.resize(result->tiles.nodes.size());
  for (uint32_t n = 0; n < result->tiles.nodes.size(); ++n)
    for (size_t u = 0; u < result->tiles.nodes[n].uses.size(); ++u) {
      const GraphUse &use = result->tiles.nodes[n].uses[u];
      result->usersOf[use.from].emplace_back(n, u);
      result->uses.push_back({n, u});
      result->problem.edges.push_back({use.from, n});
    }
  result->labels.resize(result->tiles.nodes.size());
  if (result->capacityFaults().empty()) // else no label would do
    result->build();
  return result;
}

std::vector<Constraint> LayoutProblem::constraints() const {
  std::vector<Constraint> result;
  for (const auto &[node, layout] : casts)
    result.push_back({Constraint::Kind::Cast, node, 0});
  if (!choices.mayConvert)
    for (const EdgeUse &use : uses)
      result.push_back({Constraint::Kind::AsItIs, use.node, use.use});
  for (uint32_t n = 0; n < tiles.nodes.size(); ++n)
    if (tiles.nodes[n].kind != NodeKind::Buffer)
      result.push_back({Constraint::Kind::Registers, n, 0});
  return result;
}

std::string LayoutProblem::wordsOf(const Constraint &constraint, bool isRepair) const {
  const GraphNode &node = tiles.nodes[constraint.node];
  switch (constraint.kind) {
  case Constraint::Kind::Cast:
    return fmt::format(fmt::runtime(isRepair ? "drop the cast of {} to {}" : "{} is cast to {}"),
                       casts.at(constraint.node).value, casts.at(constraint.node).text);
  case Constraint::Kind::AsItIs: {
    const GraphUse &use = node.uses[constraint.use];
    return isRepair ? fmt::format("let {} be converted before {}", use.value, node.name)
                    : fmt::format("{} ({}) takes {} as it is: no conversion is allowed there",
                                  node.name, ruleOf(node.kind).op, use.value);
  }
  case Constraint::Kind::Registers:
    return isRepair ? fmt::format("allow {} more than {} registers", node.name, choices.registers)
                    : fmt::format("{} may take {} registers", node.name, choices.registers);
  }
  return "";
}

bool LayoutProblem::takesLayouts(uint32_t n) const {
  const GraphNode &node = tiles.nodes[n];
  const bool isGiven = casts.count(n) != 0 && off.count({Constraint::Kind::Cast, n, 0}) == 0;
  return node.kind != NodeKind::Buffer && !isByInstruction(node) && !isGiven;
}

void LayoutProblem::addCandidate(uint32_t n, LayoutId layout) {
  if (!takesLayouts(n) || layouts[layout].warps != tiles.nodes[n].warps)
    return;
  Candidates &of = candidates[n];
  if (of.all.count(layout) != 0)
    return;
  if (of.all.size() >= choices.mostLabels) {
    isCapped = true;
    return;
  }
  of.all.insert(layout);
  of.open.push_back(layout);
}

/// The images of a label at its neighbours.
void LayoutProblem::spread(uint32_t n, const NodeLabel &label) {
  const GraphNode &node = tiles.nodes[n];
  for (size_t u = 0; u < label.needs.size(); ++u)
    if (label.needs[u].kind == Held::Kind::Layout) {
      const uint32_t from = node.uses[u].from;
      if (ruleOf(tiles.nodes[from].kind).result == ResultOf::Label)
        addCandidate(from, label.needs[u].id);
    }
  if (label.result.kind != Held::Kind::Layout)
    return;
  for (auto [user, use] : usersOf[n])
    if (followsOperand(tiles.nodes[user].kind) &&
        tiles.nodes[user].uses[use].box.axes == tiles.nodes[user].space.axes)
      addCandidate(user, label.result.id);
}

void LayoutProblem::seed(uint32_t n) {
  const GraphNode &node = tiles.nodes[n];
  if (auto cast = casts.find(n);
      cast != casts.end() && off.count({Constraint::Kind::Cast, n, 0}) == 0) {
    candidates[n].all.insert(cast->second.layout);
    candidates[n].open.push_back(cast->second.layout);
    return;
  }
  for (const auto *known : {&preferences, &given})
    if (auto found = known->find(n); found != known->end() && hasOwnLayout(node))
      addCandidate(n, found->second);
  const bool isFma = node.kind == NodeKind::Dot && !isByInstruction(node);
  bool isAnchor = node.kind == NodeKind::Load || node.kind == NodeKind::Store ||
                  node.kind == NodeKind::Atomic || node.kind == NodeKind::Reduce ||
                  node.kind == NodeKind::Scan || node.kind == NodeKind::Read ||
                  node.kind == NodeKind::Cast || node.kind == NodeKind::Full || isFma;
  if (node.kind == NodeKind::Map) // what no operand has the shape of
    isAnchor = std::none_of(node.uses.begin(), node.uses.end(), [&](const GraphUse &use) {
      return use.box.axes == node.space.axes && tiles.nodes[use.from].kind != NodeKind::Buffer;
    });
  if (!isAnchor)
    return;
  std::string key = fmt::format("{} {}:", node.space.bits, node.warps);
  for (const layout::TileDim &dim : node.space.dims)
    key += fmt::format("{}={},", dim.name, dim.extent);
  auto [found, isNew] = seeds.try_emplace(key);
  if (isNew)
    for (layout::TileLayout &layout : seedLayouts(node.space.dims, node.space.bits, node.warps))
      found->second.push_back(layouts.intern(std::move(layout)));
  for (LayoutId layout : found->second)
    addCandidate(n, layout);
}

void LayoutProblem::closeCandidates() {
  bool isDone = false;
  while (!isDone) {
    isDone = true;
    for (uint32_t n = 0; n < tiles.nodes.size(); ++n) {
      std::vector<LayoutId> open = std::move(candidates[n].open);
      candidates[n].open.clear();
      isDone = isDone && open.empty();
      for (LayoutId layout : open) {
        auto [found, isNew] = made.try_emplace(std::pair(n, layout));
        if (isNew) {
          llvm::Expected<NodeLabel> label = rules.labelFor(tiles.nodes[n], layout);
          if (label)
            found->second = std::move(*label);
          else
            refused[std::pair(n, layout)] = takeDiag(label.takeError()).message;
        }
        if (found->second)
          spread(n, *found->second);
      }
    }
  }
}

void LayoutProblem::makeLabels(uint32_t n) {
  const GraphNode &node = tiles.nodes[n];
  std::vector<NodeLabel> &into = labels[n];
  const bool isLimited = off.count({Constraint::Kind::Registers, n, 0}) == 0;
  bool isTooLarge = false;
  if (node.kind == NodeKind::Buffer)
    into = rules.formLabels(node, givenForms.count(n) != 0 ? std::optional(givenForms.at(n))
                                                           : std::nullopt);
  for (LayoutId layout : candidates[n].all) {
    const std::optional<NodeLabel> &label = made.at(std::pair(n, layout));
    if (!label) {
      if (refusals[n].empty())
        refusals[n] = refused.at(std::pair(n, layout));
      continue;
    }
    if (isLimited && label->registers > choices.registers) {
      isTooLarge = true;
      continue;
    }
    into.push_back(*label);
  }
  if (isByInstruction(node))
    std::erase_if(into, [&](const NodeLabel &label) {
      return isLimited && label.registers > choices.registers;
    });
  if (auto cast = casts.find(n);
      cast != casts.end() && off.count({Constraint::Kind::Cast, n, 0}) == 0)
    std::erase_if(into, [&](const NodeLabel &label) {
      return !(label.held == Held::layout(cast->second.layout));
    });
  std::sort(into.begin(), into.end(), [](const NodeLabel &a, const NodeLabel &b) {
    return std::tie(a.own, a.registers, a.text) < std::tie(b.own, b.registers, b.text);
  });
  if (!into.empty())
    refusals[n].clear();
  else if (isTooLarge && refusals[n].empty())
    refusals[n] = fmt::format("all its layouts take more than {} registers", choices.registers);
}

void LayoutProblem::build(const std::set<Constraint> &without) {
  off = without;
  const size_t count = tiles.nodes.size();
  candidates.assign(count, {});
  labels.assign(count, {});
  refusals.assign(count, "");
  isCapped = false;
  for (uint32_t n = 0; n < count; ++n)
    if (isByInstruction(tiles.nodes[n])) {
      labels[n] = rules.instructionLabels(tiles.nodes[n], tiles, refusals[n]);
      for (const NodeLabel &label : labels[n])
        spread(n, label);
    }
  for (uint32_t n = 0; n < count; ++n)
    seed(n);
  closeCandidates();
  problem.nodes.clear();
  for (uint32_t n = 0; n < count; ++n) {
    makeLabels(n);
    LabelledNode node{tiles.nodes[n].name, {}, {}};
    for (const NodeLabel &label : labels[n]) {
      node.own.push_back(label.own);
      const bool isPreferred =
          preferences.count(n) == 0 || label.result == Held::layout(preferences.at(n));
      constexpr uint32_t notPreferred = 4096; // more than registers make a difference
      node.ties.push_back(std::min(label.registers, uint32_t(1024)) +
                          (isPreferred ? 0 : notPreferred));
    }
    problem.nodes.push_back(std::move(node));
  }
  problem.costs = this;
}

LabelAnswer LayoutProblem::solveAsGiven(std::vector<uint32_t> &free) const {
  LabelProblem fixed = problem;
  for (uint32_t n = 0; n < fixed.nodes.size(); ++n) {
    auto layout = given.find(n);
    auto form = givenForms.find(n);
    if (layout == given.end() && form == givenForms.end())
      continue;
    const Held wanted =
        layout != given.end() ? Held::layout(layout->second) : Held::form(form->second);
    auto isWanted = [&](const NodeLabel &label) {
      return (tiles.nodes[n].hasResult ? label.result : label.held) == wanted;
    };
    if (std::none_of(labels[n].begin(), labels[n].end(), isWanted)) {
      free.push_back(n);
      continue;
    }
    for (size_t k = 0; k < labels[n].size(); ++k)
      if (!isWanted(labels[n][k]))
        fixed.nodes[n].own[k] = impossible;
  }
  return solveLabels(fixed, choices.labels);
}

Cost LayoutProblem::floor() const {
  Cost sum = 0;
  for (const GraphNode &node : tiles.nodes)
    sum += rules.floorOf(node, tiles);
  return sum;
}

bool LayoutProblem::isStrict(const EdgeUse &use) const {
  return !choices.mayConvert && off.count({Constraint::Kind::AsItIs, use.node, use.use}) == 0;
}

Cost LayoutProblem::bound(size_t edge, uint32_t from, uint32_t to) {
  const EdgeUse &at = uses[edge];
  const GraphUse &use = tiles.nodes[at.node].uses[at.use];
  const Held &has = labels[use.from][from].result, &needs = labels[at.node][to].needs[at.use];
  if (needs.kind == Held::Kind::Nothing || has == needs)
    return 0;
  if (has.kind == Held::Kind::Form && needs.kind == Held::Kind::Form)
    return impossible;
  if (has.kind == Held::Kind::Form)
    return timesOf(pricer.accessBound(needs.id, use.box.bits, false), use.trips);
  if (needs.kind == Held::Kind::Form)
    return timesOf(pricer.accessBound(has.id, use.box.bits, true) + choices.prices.barrier,
                   use.trips);
  if (!isAllowed(edge, from, to))
    return impossible;
  return timesOf(pricer.bound(has.id, needs.id, use.box.bits), use.trips);
}

bool LayoutProblem::isAllowed(size_t edge, uint32_t from, uint32_t to) {
  const EdgeUse &at = uses[edge];
  const Held &has = labels[tiles.nodes[at.node].uses[at.use].from][from].result;
  const Held &needs = labels[at.node][to].needs[at.use];
  if (needs.kind == Held::Kind::Nothing || has == needs)
    return true;
  if (has.kind == Held::Kind::Form && needs.kind == Held::Kind::Form)
    return false;
  const bool isConverted = has.kind == Held::Kind::Layout && needs.kind == Held::Kind::Layout;
  return !(isConverted && isStrict(at)) || pricer.isFree(has.id, needs.id);
}

Move LayoutProblem::moveOf(size_t edge, uint32_t from, uint32_t to) {
  const EdgeUse &at = uses[edge];
  const GraphUse &use = tiles.nodes[at.node].uses[at.use];
  const Held &has = labels[use.from][from].result, &needs = labels[at.node][to].needs[at.use];
  Move move;
  if (needs.kind == Held::Kind::Nothing || has == needs)
    return move;
  if (has.kind == Held::Kind::Layout && needs.kind == Held::Kind::Layout) {
    move = pricer.move(has.id, needs.id, use.box.bits);
    if (isStrict(at) && move.way != Move::Way::Free)
      move.cost = impossible;
    return move;
  }
  move.way = Move::Way::Shared;
  move.cost = impossible;
  if (has.kind == Held::Kind::Form && needs.kind == Held::Kind::Form)
    return move;
  const bool isStore = needs.kind == Held::Kind::Form;
  move.form = isStore ? needs.id : has.id;
  const FormAccess &access =
      pricer.access(isStore ? has.id : needs.id, move.form, use.box.bits, isStore);
  (isStore ? move.store : move.load) = access;
  move.barriers = isStore ? 1 : 0;
  move.cost = sumOf(pricer.costOf(access), move.barriers * choices.prices.barrier);
  return move;
}

Cost LayoutProblem::price(size_t edge, uint32_t from, uint32_t to) {
  const EdgeUse &at = uses[edge];
  return timesOf(moveOf(edge, from, to).cost, tiles.nodes[at.node].uses[at.use].trips);
}

} // namespace tilewright::inference
