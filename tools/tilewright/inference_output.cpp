#include "tools/tilewright/inference_output.h"

#include "tools/tilewright/evaluation_output.h"

namespace tilewright::cli {

using inference::Cost;
using inference::GraphNode;
using inference::InferenceAnswer;
using inference::InferredLayouts;
using inference::InferredMove;
using inference::InferredNode;
using inference::LayoutProblem;
using inference::Move;
using inference::unitsOfClock;
using Outcome = inference::InferenceAnswer::Outcome;

double clocksOf(Cost cost) { return static_cast<double>(cost) / static_cast<double>(unitsOfClock); }

namespace {

std::string clocksText(Cost cost) {
  return cost % unitsOfClock == 0 ? fmt::format("{}", cost / unitsOfClock)
                                  : fmt::format("{:.2f}", clocksOf(cost));
}

std::string_view wordOf(Outcome outcome) {
  constexpr std::string_view words[] = {"found", "impossible", "none_in_family", "no_label",
                                        "budget_spent"};
  return words[static_cast<size_t>(outcome)];
}

std::string_view wordOf(Move::Way way) {
  constexpr std::string_view words[] = {"none", "free", "shuffles", "shared"};
  return words[static_cast<size_t>(way)];
}

/// Without the tile.
std::string shortText(const std::string &layout) {
  const size_t behindTile = layout.find("] ");
  return behindTile == std::string::npos ? layout : layout.substr(behindTile + 2);
}
std::string layoutText(const InferredNode &node) { return shortText(node.label.text); }

std::string accessText(const inference::FormAccess &access) {
  return fmt::format("{} B a lane{}, {} passes, {}", access.bytesPerLane,
                     access.isMatrix ? " by ldmatrix" : "", access.passes,
                     access.degree > 1 ? fmt::format("{}-way bank conflicts", access.degree)
                                       : "no bank conflicts");
}

std::string moveText(const InferredMove &inferred) {
  const Move &move = inferred.move;
  std::string text;
  switch (move.way) {
  case Move::Way::None:
  case Move::Way::Free:
    text = fmt::format("registers are packed anew, {} instructions", move.packs);
    break;
  case Move::Way::Shuffles:
    text = fmt::format("{} shuffles a warp", move.shuffles);
    break;
  case Move::Way::Shared:
    text = "through shared memory, " + inferred.form;
    if (move.store.isPossible)
      text += "; written " + accessText(move.store);
    if (move.load.isPossible)
      text += "; read " + accessText(move.load);
    break;
  }
  return text + fmt::format(": {} clocks{}", clocksText(move.cost),
                            inferred.trips > 1 ? fmt::format(" x {}", inferred.trips) : "");
}

void printLayoutsOf(const LayoutProblem &problem, const InferredLayouts &layouts) {
  TextTable table;
  table.head = {"op", "registers", "clocks", "layout"};
  for (const InferredNode &node : layouts.nodes)
    table.rows.push_back({problem.graph().nodes[node.node].name,
                          node.label.registers ? fmt::format("{}", node.label.registers) : "-",
                          node.label.own ? clocksText(node.label.own) : "-", layoutText(node)});
  say("{}", table.text());
  for (const InferredNode &node : layouts.nodes)
    if (!node.label.detail.empty())
      say("{}: {}\n", problem.graph().nodes[node.node].name, node.label.detail);
  for (const InferredMove &move : layouts.moves)
    say("{} to {}: {}\n", move.value, problem.graph().nodes[move.to].name, moveText(move));
}

void printFound(const LayoutProblem &problem, const InferenceAnswer &answer) {
  const InferredLayouts &layouts = answer.layouts;
  say("{} clocks of an SM a CTA by assumed prices, {:.2f} x the floor {} of all layouts "
      "whatsoever\n",
      clocksText(layouts.cost),
      static_cast<double>(layouts.cost) / static_cast<double>(std::max<Cost>(1, layouts.floor)),
      clocksText(layouts.floor));
  say("the least of {} labels{}\n", answer.labels,
      answer.isClosed ? ", searched in full" : "; some ops have more, which were left out");
  if (answer.given)
    say("the layouts of the text: {} clocks\n", clocksText(answer.given->cost));
  printLayoutsOf(problem, layouts);
  if (!answer.ranked.empty())
    say("other layouts, by what all costs with them\n");
  for (const inference::RankedLayout &other : answer.ranked)
    say("  {} clocks: {}\n", clocksText(other.cost), shortText(other.label.text));
  if (answer.optima.empty())
    return;
  say("{}{} choices cost this\n", answer.hasMoreOptima ? "over " : "", answer.optima.size());
  for (size_t n = 0; n < answer.optima.size(); ++n) {
    std::string differing;
    for (size_t k = 0; k < layouts.nodes.size(); ++k)
      if (const InferredNode &node = answer.optima[n].nodes[k];
          node.label.text != layouts.nodes[k].label.text)
        differing +=
            fmt::format("  {}: {}\n", problem.graph().nodes[node.node].name, layoutText(node));
    say("choice {}{}\n{}", n + 1, differing.empty() ? ", the one above" : "", differing);
  }
}

} // namespace

void printInference(const std::string &program, const LayoutProblem &problem,
                    const InferenceAnswer &answer) {
  say("kernel {}: {} ops, ", program, problem.graph().nodes.size());
  switch (answer.outcome) {
  case Outcome::Found:
    printFound(problem, answer);
    break;
  case Outcome::Impossible:
    say("no layouts, whatever they are\n");
    break;
  case Outcome::NoneInFamily:
    say("no layouts of {} labels, searched in full, satisfy these together{}\n", answer.labels,
        answer.isCertified ? " (Z3 finds the same)" : "");
    break;
  case Outcome::NoLabel:
    say("an op has no layout\n");
    break;
  case Outcome::BudgetSpent:
    say("not known: the budget of {} cells is spent\n", problem.options().labels.maxCells);
    break;
  }
  for (const std::string &reason : answer.reasons)
    say("  {}\n", reason);
  for (const InferenceAnswer::Repair &repair : answer.repairs)
    say("  repair: {}: {} clocks\n", repair.words, clocksText(repair.cost));
  for (const std::string &name : answer.notGiven)
    say("note: the text's layout of {} is none that it can take here\n", name);
  for (const std::string &note : problem.graph().notes)
    say("note: {}\n", note);
}

namespace {

Json accessJson(const inference::FormAccess &access) {
  if (!access.isPossible)
    return {};
  return {{"bytes_a_lane", access.bytesPerLane},
          {"by", access.isMatrix ? "ldmatrix" : "vectors"},
          {"passes", access.passes},
          {"degree", access.degree}};
}

Json layoutsJson(const LayoutProblem &problem, const InferredLayouts &layouts) {
  Json json = {{"cost_clocks", clocksOf(layouts.cost)}, {"ops", Json::array()}};
  for (const InferredNode &node : layouts.nodes) {
    const GraphNode &of = problem.graph().nodes[node.node];
    json["ops"].push_back({{"op", of.name},
                           {"kind", std::string(inference::ruleOf(of.kind).op)},
                           {"layout", node.label.text},
                           {"registers", node.label.registers},
                           {"cost_clocks", clocksOf(node.label.own)},
                           {"detail", node.label.detail}});
  }
  json["moves"] = Json::array();
  for (const InferredMove &move : layouts.moves)
    json["moves"].push_back({{"value", move.value},
                             {"from", problem.graph().nodes[move.from].name},
                             {"to", problem.graph().nodes[move.to].name},
                             {"way", std::string(wordOf(move.move.way))},
                             {"cost_clocks", clocksOf(move.move.cost)},
                             {"times", move.trips},
                             {"shuffles", move.move.shuffles},
                             {"packs", move.move.packs},
                             {"barriers", move.move.barriers},
                             {"bytes", move.move.bytes},
                             {"form", move.form.empty() ? Json() : Json(move.form)},
                             {"store", accessJson(move.move.store)},
                             {"load", accessJson(move.move.load)}});
  return json;
}

} // namespace

Json inferenceJson(const std::string &program, const LayoutProblem &problem,
                   const InferenceAnswer &answer) {
  Json document = newDocument("inference");
  document["program"] = program;
  document["outcome"] = std::string(wordOf(answer.outcome));
  document["labels"] = answer.labels;
  document["closed"] = answer.isClosed;
  document["prices"] = "assumed";
  if (answer.outcome == Outcome::Found) {
    document["floor_clocks"] = clocksOf(answer.layouts.floor);
    document["inferred"] = layoutsJson(problem, answer.layouts);
    document["given"] = answer.given ? layoutsJson(problem, *answer.given) : Json();
    document["optima"] = Json::array();
    for (const InferredLayouts &optimum : answer.optima)
      document["optima"].push_back(layoutsJson(problem, optimum));
    document["more_optima"] = answer.hasMoreOptima;
    document["ranked"] = Json::array();
    for (const inference::RankedLayout &other : answer.ranked)
      document["ranked"].push_back(
          {{"layout", other.label.text}, {"cost_clocks", clocksOf(other.cost)}});
  }
  document["reasons"] = answer.reasons;
  document["certified"] = answer.isCertified;
  document["repairs"] = Json::array();
  for (const InferenceAnswer::Repair &repair : answer.repairs)
    document["repairs"].push_back(
        {{"words", repair.words}, {"cost_clocks", clocksOf(repair.cost)}});
  document["notes"] = problem.graph().notes;
  document["not_given"] = answer.notGiven;
  return document;
}

} // namespace tilewright::cli
