#include "tools/tilewright/tile_output.h"

#include "analysis/solve/reason_text.h"
#include "analysis/tiling/plan_text.h"
#include "tools/tilewright/shown_tiles.h"
#include "tools/tilewright/tile_joins.h"
#include "tools/tilewright/tile_refusal.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tilewright::cli {

void TileReport::show() {
  for (size_t i = answers.size(); i-- > 0;)
    if (answers[i].answer.feasible == Verdict::Yes)
      shown = i;
}

Verdict TileReport::feasible() const {
  if (!refusal.empty() && !hasFreeSizes(*this))
    return Verdict::No; // no constraint speaks against it, and yet it can't be launched
  Verdict most = Verdict::No;
  for (const TileSpaceAnswer &each : answers)
    if (each.answer.feasible == Verdict::Yes ||
        (each.answer.feasible == Verdict::Unknown && most == Verdict::No))
      most = each.answer.feasible;
  return most;
}

namespace {

/// Longer formulas are omitted from tables; the limit is much larger if all sizes are given.
constexpr size_t longestTile = 160, longestAskedTile = 2000;

/// True if no CTA reads anything of it.
bool isNeverRead(const Tile &tile) {
  return std::any_of(tile.dims.begin(), tile.dims.end(), [](const TileDim &dim) {
    const Expr elements = dim.upper - dim.lower;
    return elements.isConstant() && elements.constant() <= 0;
  });
}

/// One line a tile; equal lines once.
void printTiles(const TileReport &report) {
  Shown shown(report);
  say("tiles     of each dim [offset : size : stride in [first, end)]; left out are strides of 1 "
      "and bounds that are the dim's\n");
  std::set<std::string> printed;
  const size_t longest = hasFreeSizes(report) ? longestTile : longestAskedTile;
  bool isCut = false;
  for (const TileInstance &instance : report.tiled().instances) {
    const Op &op = report.graph.op(instance.op);
    const Tile tile = shown(instance.tile);
    std::string text = tile.str(op.shape.dims);
    if (isNeverRead(tile))
      text = "nothing is read of it here";
    else if (text.size() > longest) {
      text = "(a long formula)";
      isCut = true;
    }
    const Exactness exactness = shown.exactness(instance);
    if (exactness == Exactness::OverApproximate)
      text += instance.factor > 0 ? fmt::format("  up to {:.3g} times what is needed: {}",
                                                instance.factor, instance.why)
                                  : fmt::format("  more than is needed: {}", instance.why);
    else if (exactness == Exactness::Unknown)
      text += fmt::format("  not known before the program runs: {}", instance.why);
    std::string line =
        fmt::format("  {:<24} {:<22} {}\n", "%" + op.name + (instance.isInput ? " (input)" : ""),
                    op.shape.str(false), text);
    if (printed.insert(line).second)
      say("{}", line);
  }
  if (isCut)
    say("Long formulas stand in --json; with --tile they get shorter.\n");
  for (const Join &join : joinsOf(report))
    say("join      {}\n", toText(join, report.graph));
}

/// "[t0 * pid0, 0]", the tensor element that is a runtime value's source.
std::string elementText(const RuntimeVariable &rt, Shown &shown) {
  std::string text;
  for (Expr index : rt.element)
    text += (text.empty() ? "[" : ", ") + shown(index).str();
  return text.empty() ? text : text + "]";
}

/// The meaning of the names in tiles: "t0 of 64, t1 of 128: dims of %out", "k0 of 512: loop of
/// %dot".
void printNames(const TileReport &report) {
  const TileSpace &space = report.tiled().space;
  std::string line;
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    const TileParameter &p = space.parameters[i];
    if (p.role == TileParameter::Role::Schedule)
      continue;
    line += fmt::format("{} of {}", p.name, p.extent);
    const bool isLast = i + 1 == space.parameters.size() ||
                        space.parameters[i + 1].role != p.role ||
                        space.parameters[i + 1].op != p.op;
    if (!isLast)
      line += ", ";
    else
      line +=
          fmt::format(": {} of %{}; ", p.role == TileParameter::Role::Parallel ? "dims" : "loop",
                      report.graph.op(p.op).name);
  }
  if (!line.empty())
    say("sizes     {}\n", line.substr(0, line.size() - 2));
  Shown shown(report);
  for (const RuntimeVariable &rt : report.tiled().runtime)
    say("values    {} is that of %{}{} when the program runs, in [{}, {}]\n", rt.var.str(),
        report.graph.op(rt.source).name, elementText(rt, shown), rt.range.lo, rt.range.hi);
}

/// "yes, exact": exactness of a feasible tiling's tiles.
std::string feasibleText(const TileReport &report) {
  std::string text(tilewright::toString(report.feasible()));
  if (report.feasible() != Verdict::Yes)
    return text;
  Exactness worst = Exactness::Exact;
  Shown shown(report);
  for (const TileInstance &instance : report.tiled().instances)
    worst = std::max(worst, shown.exactness(instance));
  switch (worst) {
  case Exactness::Exact:
    return text + ", every tile holds exactly what is needed";
  case Exactness::OverApproximate:
    return text + ", but some tiles hold more than is needed";
  case Exactness::Unknown:
    return text + ", but what some tiles hold depends on values";
  }
  return text;
}

/// The plan that resources and price are of.
void printPlan(const TileReport &report) {
  if (!report.plan) {
    if (!report.refusal.empty())
      say("plan      none: {}\n", report.refusal);
    return;
  }
  const bool isOnlyOne = report.plansToChooseFrom == 1;
  say("plan      {}{}\n", planText(*report.plan),
      isOnlyOne ? ""
                : fmt::format(", the fastest of {} by predicted time", report.plansToChooseFrom));
}

} // namespace

void printTable(const TileReport &report, bool everything) {
  const TileSpace &space = report.tiled().space;
  const Explanation &answer = report.answer();
  say("kernel    %{} ({}), {} ops, {}\n", report.source.name,
      tilewright::toString(report.source.kind), report.tiled().group.ops.size(),
      report.graph.op(report.tiled().group.roots.back()).shape.str(false));
  for (const std::string &note : report.source.notes)
    say("note      {}\n", note);
  printNames(report);
  say("tile      {}\n", valuesText(space, report.choice, report.choice));
  say("feasible  {}\n", feasibleText(report));
  if (report.feasible() == Verdict::No) {
    printRefusal(report);
  } else if (report.feasible() == Verdict::Unknown) {
    say("  {}\n  Z3 spent {} of {} resource units (--rlimit){}\n", answer.reason, answer.spent,
        answer.allowed,
        answer.isReproducible ? "" : ", and ended by the clock: another run may differ");
  } else if (hasFreeSizes(report)) {
    say("such as   {}\n", valuesText(space, asChoice(answer.witness), report.choice));
  }
  if (everything) {
    say("constraints\n");
    const TileSpaceAnswer &of = report.answers[report.shown];
    const Assignment point = chosenPoint(report, of);
    const ConstraintSystem asked = askedSystem(report, of);
    for (size_t i = 0; i < asked.constraints.size(); ++i) {
      const Constraint &constraint = asked.constraints[i];
      std::optional<bool> value = constraint.formula.evaluate(point);
      say("  {} {} [{}]\n", value ? (*value ? "holds   " : "violated") : "open    ",
          reasonText(asked, {}, i), constraint.from.rule);
    }
    if (report.system().constraints.empty())
      say("  none: every tiling is exact\n");
    say("solver    {}\n", answer.spent == 0
                              ? "not needed, the search decided"
                              : fmt::format("Z3 spent {} resource units of at most {} a query",
                                            answer.spent, answer.allowed));
  }
  if (report.feasible() == Verdict::No)
    return; // the tiles' formulas hold only if the constraints do
  printTiles(report);
  printPlan(report);
  if (report.resources) {
    const EstimateResources &r = *report.resources;
    say("resources {:.0f} threads a CTA, {:.0f} registers a thread, {:.0f} B of shared "
        "memory: {:.0f} CTAs an SM, occupancy {:.4g} %, limited by {}\n",
        r.warps * 32, r.registers, r.sharedBytes, r.ctasPerSm, 100 * r.occupancy,
        r.occupancyLimiter);
    auto printParts = [](std::string_view what, const std::vector<ResourcePart> &parts) {
      for (const ResourcePart &part : parts)
        say("  {:<14} {:>7.0f}  {}\n", what, part.amount, part.name);
    };
    printParts("registers", r.registerParts);
    printParts("shared bytes", r.sharedParts);
  }
  if (report.price)
    printPrice(*report.price);
}

} // namespace tilewright::cli
