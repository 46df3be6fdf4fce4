// The JSON document of `tilewright tile`.
#include "analysis/solve/reason_text.h"
#include "tools/tilewright/resource_parts.h"
#include "tools/tilewright/shown_tiles.h"
#include "tools/tilewright/tile_capacity.h"
#include "tools/tilewright/tile_joins.h"
#include "tools/tilewright/tile_refusal.h"

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

/// Numbers of the constraints that refuse the choice: the core if there is one, else the violated
/// ones.
std::vector<size_t> refusing(const Explanation &answer) {
  return answer.core ? answer.core->constraints : answer.violated;
}

Json coreJson(const TileReport &report, const TileSpaceAnswer &of) {
  const ConstraintSystem asked = askedSystem(report, of);
  const std::vector<size_t> indices = refusing(of.answer);
  Json core = Json::array();
  for (size_t index : indices) {
    const Constraint &constraint = of.system.constraints[index];
    core.push_back({{"op", withoutSigil(constraint.from.opName)},
                    {"operand", constraint.from.operand},
                    {"dim", constraint.from.dim},
                    {"rule", constraint.from.rule},
                    {"text", reasonText(asked, indices, index)}});
  }
  return core;
}

} // namespace

Json toJson(const TileReport &report) {
  const TileSpace &space = report.tiled().space;
  Json document = newDocument("tile");
  document["root"] = report.source.name;
  document["kind"] = tilewright::toString(report.source.kind);
  if (!report.source.notes.empty())
    document["notes"] = report.source.notes;
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
  if (Capacity capacity = capacityOf(report, report.answers[report.shown]);
      !capacity.exhausted.empty())
    document["capacity"] = toJson(capacity);
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

} // namespace tilewright::cli
