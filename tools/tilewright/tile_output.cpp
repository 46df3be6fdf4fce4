#include "tools/tilewright/tile_output.h"

#include "analysis/affine/simplify.h"
#include "analysis/tiling/plan_text.h"
#include "tools/tilewright/resource_parts.h"
#include "tools/tilewright/tile_joins.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tilewright::cli {

namespace {

std::string_view toString(Exactness exactness) {
  switch (exactness) {
  case Exactness::Exact:
    return "exact";
  case Exactness::OverApproximate:
    return "over-approximate";
  case Exactness::Unknown:
    return "unknown";
  }
  return "";
}

/// Tiles with the chosen values substituted. A free parameter keeps its name.
class Shown {
public:
  explicit Shown(const TileReport &report) : report(report) {
    const TileSpace &space = report.tiled().space;
    Bounds bounds = report.tiled().bounds();
    context = &space.parameters.front().size.context();
    replacement.resize(context->variableCount());
    for (size_t i = 0; i < space.parameters.size(); ++i) {
      const TileParameter &parameter = space.parameters[i];
      std::optional<int64_t> value = report.choice[i];
      if (!value)
        continue;
      replacement[parameter.size.variable().index] = context->constant(*value);
      bounds.set(parameter.size, Interval::point(*value));
      if (!parameter.index)
        continue;
      int64_t tiles = std::max<int64_t>(1, (parameter.extent + *value - 1) / *value);
      bounds.set(parameter.index, Interval::ofExtent(tiles));
      if (tiles == 1)
        replacement[parameter.index.variable().index] = context->constant(0);
    }
    simplifier = std::make_unique<Simplifier>(*context, bounds);
  }

  Expr operator()(Expr expr) { return simplifier->simplify(substitute(expr, replacement)); }

  Tile operator()(const Tile &tile) {
    Tile result = tile;
    for (TileDim &dim : result.dims)
      for (Expr *part : {&dim.offset, &dim.size, &dim.stride, &dim.lower, &dim.upper})
        *part = (*this)(*part);
    return result;
  }

  /// With the sizes chosen.
  Exactness exactness(const TileInstance &instance) {
    const bool isExact = instance.exactWhen && (*this)(instance.exactWhen).isConstant(1);
    return isExact ? Exactness::Exact : instance.exactness;
  }

private:
  const TileReport &report;
  ExprContext *context;
  std::vector<Expr> replacement;
  std::unique_ptr<Simplifier> simplifier;
};

/// Tile sizes by name; of the schedule only what `asked` chose.
std::string valuesText(const TileSpace &space, const Choice &values, const Choice &asked) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] && (asked[i] || space.parameters[i].role != TileParameter::Role::Schedule))
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", space.parameters[i].name, *values[i]);
  return out.empty() ? "free" : out;
}

Choice asChoice(const std::vector<int64_t> &values) { return Choice(values.begin(), values.end()); }

/// Op names in JSON have no %, as everywhere in JSON.
std::string withoutSigil(const std::string &name) {
  return name.starts_with("%") ? name.substr(1) : name;
}

Json namedValues(const TileSpace &space, const std::vector<int64_t> &values) {
  Json result = Json::object();
  for (size_t i = 0; i < values.size(); ++i)
    result[space.parameters[i].name] = values[i];
  return result;
}

/// True if some tile size is free. Schedule parameters don't count.
bool hasFreeSizes(const TileReport &report) {
  const std::vector<TileParameter> &parameters = report.tiled().space.parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!report.choice[i] && parameters[i].role != TileParameter::Role::Schedule)
      return true;
  return false;
}

/// Numbers of the constraints that refuse the choice: the core if there is one, else the violated
/// ones.
std::vector<size_t> refusing(const Explanation &answer) {
  return answer.core ? answer.core->constraints : answer.violated;
}

} // namespace

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

Json coreJson(const TileReport &report, const TileSpaceAnswer &of) {
  const TileSpace &space = of.tiled->space;
  Assignment point;
  for (size_t i = 0; i < report.choice.size(); ++i)
    if (report.choice[i])
      point.set(space.parameters[i].size, *report.choice[i]);
  Json core = Json::array();
  for (size_t index : refusing(of.answer)) {
    const Constraint &constraint = of.system.constraints[index];
    core.push_back({{"op", withoutSigil(constraint.from.opName)},
                    {"operand", constraint.from.operand},
                    {"dim", constraint.from.dim},
                    {"rule", constraint.from.rule},
                    {"text", constraint.describe(point)}});
  }
  return core;
}

} // namespace

Json toJson(const TileReport &report) {
  const TileSpace &space = report.tiled().space;
  Json document = newDocument("tile");
  document["root"] = report.source.name;
  document["kind"] = tilewright::toString(report.source.kind);
  document["parameters"] = Json::array();
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    const TileParameter &parameter = space.parameters[i];
    const char *roles[] = {"parallel", "sequential", "schedule"};
    document["parameters"].push_back(
        {{"name", parameter.name},
         {"role", roles[static_cast<int>(parameter.role)]},
         {"extent", parameter.extent},
         {"value", report.choice[i] ? Json(*report.choice[i]) : Json()}});
  }
  document["feasible"] = tilewright::toString(report.feasible());
  if (!report.refusal.empty())
    document["reason"] = report.refusal;
  else if (!report.answer().reason.empty())
    document["reason"] = report.answer().reason;
  document["solver"] = {{"spent_rlimit", report.answer().spent},
                        {"allowed_rlimit", report.answer().allowed},
                        {"is_reproducible", report.answer().isReproducible}};
  if (!report.answer().witness.empty())
    document["witness"] = namedValues(space, report.answer().witness);

  document["core"] = coreJson(report, report.answers[report.shown]);
  if (report.answer().core) {
    document["core_is_smallest"] = report.answer().core->isSmallest;
    document["core_is_certified"] = report.answer().core->isCertified;
  }
  if (report.answers.size() > 1) {
    document["instructions"] = Json::array();
    for (const TileSpaceAnswer &each : report.answers)
      document["instructions"].push_back({{"instruction", tilewright::toString(each.instruction)},
                                          {"feasible", tilewright::toString(each.answer.feasible)},
                                          {"core", coreJson(report, each)}});
  }

  Shown shown(report);
  document["tiles"] = Json::array();
  for (const TileInstance &instance : report.tiled().instances) {
    if (report.feasible() == Verdict::No)
      break; // the tiles' formulas hold only if the constraints do
    Json entry = {{"op", report.graph.op(instance.op).name},
                  {"shape", report.graph.op(instance.op).shape.str(false)},
                  {"is_input", instance.isInput},
                  {"offsets", Json::array()},
                  {"sizes", Json::array()},
                  {"strides", Json::array()},
                  {"lower", Json::array()},
                  {"upper", Json::array()},
                  {"exactness", toString(shown.exactness(instance))}};
    for (const TileDim &dim : shown(instance.tile).dims) {
      entry["offsets"].push_back(dim.offset.str());
      entry["sizes"].push_back(dim.size.str());
      entry["strides"].push_back(dim.stride.str());
      entry["lower"].push_back(dim.lower.str());
      entry["upper"].push_back(dim.upper.str());
    }
    if (shown.exactness(instance) != Exactness::Exact) {
      entry["factor"] = instance.factor;
      entry["why"] = instance.why;
    }
    document["tiles"].push_back(std::move(entry));
  }
  if (report.plan) {
    document["plan"] = namedValues(space, report.plan->values);
    document["plan"]["instruction"] = tilewright::toString(report.plan->instruction);
    document["plans_to_choose_from"] = report.plansToChooseFrom;
  }
  if (report.resources) {
    const EstimateResources &r = *report.resources;
    document["resources"] = {{"warps", r.warps},
                             {"registers", r.registers},
                             {"shared_bytes", r.sharedBytes},
                             {"blocks_per_sm", r.ctasPerSm},
                             {"occupancy", r.occupancy},
                             {"occupancy_limiter", r.occupancyLimiter}};
    document["resources"]["register_items"] = partsJson(r.registerParts);
    document["resources"]["shared_items"] = partsJson(r.sharedParts);
  }
  if (report.price)
    document["price"] = priceJson(*report.price);
  document["joins"] = Json::array();
  if (report.feasible() != Verdict::No)
    for (const Join &join : joinsOf(report))
      document["joins"].push_back(
          {{"op", report.graph.op(join.op).name},
           {"dim", join.dim},
           {"boundaries", join.boundaries},
           {"tiles", join.tiles ? Json(*join.tiles) : Json()},
           {"straddling_tiles", join.straddling ? Json(*join.straddling) : Json()}});
  document["runtime"] = Json::array();
  for (const RuntimeVariable &rt : report.tiled().runtime) {
    Json element = Json::array();
    for (Expr index : rt.element)
      element.push_back(shown(index).str());
    document["runtime"].push_back({{"name", rt.var.str()},
                                   {"op", report.graph.op(rt.source).name},
                                   {"element", std::move(element)},
                                   {"least", rt.range.lo},
                                   {"most", rt.range.hi}});
  }
  if (report.answer().nearest) {
    const Nearest &nearest = *report.answer().nearest;
    document["nearest"] = {{"found", tilewright::toString(nearest.found)},
                           {"values", namedValues(space, nearest.values)},
                           {"steps", nearest.steps},
                           {"is_nearest", nearest.isNearest}};
  }
  return document;
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

/// "wgmma and mma.sync".
std::string namesOf(const std::vector<const TileSpaceAnswer *> &answers) {
  std::string names;
  for (size_t i = 0; i < answers.size(); ++i)
    names += fmt::format("{}{}",
                         i == 0                    ? ""
                         : i + 1 == answers.size() ? " and "
                                                   : ", ",
                         tilewright::toString(answers[i]->instruction));
  return names;
}

/// Limits of the device that the choice breaks, beside those that the core names: whoever would
/// change it wants to know all of them.
std::vector<std::string> otherLimits(const TileReport &report, const TileSpaceAnswer &of) {
  std::vector<std::string> lines;
  if (!of.answer.core)
    return lines;
  Assignment point;
  for (size_t i = 0; i < report.choice.size(); ++i)
    if (report.choice[i])
      point.set(of.tiled->space.parameters[i].size, *report.choice[i]);
  for (size_t i = 0; i < of.system.constraints.size(); ++i) {
    const Constraint &constraint = of.system.constraints[i];
    const std::vector<size_t> &named = of.answer.core->constraints;
    if (constraint.from.opName == "device" && constraint.formula.evaluate(point) == false &&
        std::find(named.begin(), named.end(), i) == named.end())
      lines.push_back(constraint.describe(point));
  }
  return lines;
}

/// Why each instruction is refused: a line for each reason, then what it conflicts with.
void printReasons(const TileReport &report) {
  std::vector<std::string> reasons, choices;
  std::map<std::string, std::vector<const TileSpaceAnswer *>> of;
  for (const TileSpaceAnswer &each : report.answers) {
    std::vector<std::string> lines;
    size_t constraints = 0;
    if (each.answer.core) {
      lines = each.answer.core->text;
      constraints = each.answer.core->constraints.size();
    } else if (!each.answer.reason.empty()) {
      lines = {each.answer.reason};
      constraints = 1;
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      std::vector<std::string> &all = i < constraints ? reasons : choices;
      if (std::find(all.begin(), all.end(), lines[i]) == all.end())
        all.push_back(lines[i]);
      of[lines[i]].push_back(&each);
    }
  }
  for (const TileSpaceAnswer &each : report.answers)
    for (const std::string &line : otherLimits(report, each)) {
      if (std::find(reasons.begin(), reasons.end(), line) == reasons.end())
        reasons.push_back(line);
      of[line].push_back(&each);
    }
  for (const std::string &line : reasons)
    say("  {}because {}\n",
        of[line].size() == report.answers.size() ? "" : fmt::format("with {} ", namesOf(of[line])),
        line);
  for (const std::string &line : choices)
    say("  {}\n", line);
  for (const TileSpaceAnswer &each : report.answers)
    if (each.answer.core && !each.answer.core->isCertified) {
      say("  found by search; Z3 could not confirm it within its {} resource units "
          "(--rlimit)\n",
          each.answer.allowed);
      break;
    }
}

void printRefusal(const TileReport &report) {
  if (!report.refusal.empty()) {
    say("  because {}\n", report.refusal);
    return;
  }
  printReasons(report);
  const TileSpaceAnswer *nearest = nullptr;
  bool isNone = false;
  for (const TileSpaceAnswer &each : report.answers) {
    if (!each.answer.nearest)
      continue;
    isNone |= each.answer.nearest->found == Verdict::No;
    if (each.answer.nearest->found == Verdict::Yes &&
        (!nearest || each.answer.nearest->steps < nearest->answer.nearest->steps))
      nearest = &each;
  }
  if (nearest)
    say("nearest   {}{}\n",
        valuesText(report.tiled().space, asChoice(nearest->answer.nearest->values), report.choice),
        report.answers.size() == 1
            ? ""
            : fmt::format(" with {}", tilewright::toString(nearest->instruction)));
  else if (isNone)
    say("nearest   none: no candidate tiling is feasible\n");
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
    Assignment point;
    for (size_t i = 0; i < report.choice.size(); ++i)
      if (report.choice[i])
        point.set(space.parameters[i].size, *report.choice[i]);
    for (const Constraint &constraint : report.system().constraints) {
      std::optional<bool> value = constraint.formula.evaluate(point);
      say("  {} {} [{}]\n", value ? (*value ? "holds   " : "violated") : "open    ",
          constraint.describe(point), constraint.from.rule);
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

void TileList::addShown(const ConstraintSystem &system) {
  for (size_t i = 0; i < shown.size(); ++i)
    if (!shown[i] && system.parameters[i].candidates.size() > 1)
      shown[i] = system.parameters[i].candidates.front();
}

namespace {

Json listJson(const TileList &list) {
  Json document = newDocument("tile.list");
  document["feasible_count"] = list.feasible;
  document["is_complete"] = list.isComplete && list.undecided == 0;
  document["parameters"] = Json::array();
  for (const TileParameter &parameter : list.space.parameters)
    document["parameters"].push_back(parameter.name);
  document["tilings"] = Json::array();
  for (const TileList::Row &row : list.rows)
    document["tilings"].push_back(row.values);
  if (!list.rows.empty() && !list.rows.front().instruction.empty()) {
    document["instructions"] = Json::array();
    for (const TileList::Row &row : list.rows)
      document["instructions"].push_back(row.instruction);
  }
  if (list.priced) {
    document["priced_count"] = *list.priced;
    document["is_exhaustive"] = list.isExhaustive;
    document["times_ns"] = Json::array();
    document["limiters"] = Json::array();
    for (const TileList::Row &row : list.rows) {
      document["times_ns"].push_back(*row.timeNs);
      document["limiters"].push_back(row.limiter);
    }
  }
  return document;
}

} // namespace

void printList(const TileList &list, bool json) {
  if (json)
    return print(listJson(list));
  say("{} feasible tiling{}", list.feasible, list.feasible == 1 ? "" : "s");
  if (!list.isComplete)
    say(" found before the search's budget was spent");
  if (list.undecided)
    say(", {} candidates undecided", list.undecided);
  if (list.priced)
    say(", {} priced, the fastest first", *list.priced);
  say("\n");
  if (!list.refusal.empty())
    say("  none: {}\n", list.refusal);
  for (const TileList::Row &row : list.rows) {
    const std::string instruction =
        row.instruction.empty() ? "" : " instruction=" + row.instruction;
    if (row.timeNs)
      say("  {:>9}  {:<14} {}{}\n", timeText(*row.timeNs), row.limiter,
          valuesText(list.space, asChoice(row.values), list.shown), instruction);
    else
      say("  {}{}\n", valuesText(list.space, asChoice(row.values), list.shown), instruction);
  }
  if (list.rows.size() < list.feasible && list.rows.size() == list.limit)
    say("  … {} more; see --limit\n", list.feasible - list.rows.size());
}

} // namespace tilewright::cli
