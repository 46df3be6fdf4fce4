// The output of `tilewright tile --list`.
#include "tools/tilewright/shown_tiles.h"

#include <fmt/format.h>

namespace tilewright::cli {

void TileList::addShown(const ConstraintSystem &system) {
  for (size_t i = 0; i < shown.size(); ++i)
    if (!shown[i] && system.parameters[i].candidates.size() > 1)
      shown[i] = system.parameters[i].candidates.front();
}

Json toJson(const TileList &list) {
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

void printList(const TileList &list) {
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
