#include "tools/tilewright/tile_refusal.h"

#include "analysis/solve/reason_text.h"
#include "tools/tilewright/shown_tiles.h"
#include "tools/tilewright/tile_capacity.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tilewright::cli {

ConstraintSystem askedSystem(const TileReport &report, const TileSpaceAnswer &of) {
  ConstraintSystem asked = of.system;
  for (size_t i = 0; i < report.choice.size(); ++i)
    if (report.choice[i])
      asked.parameters[i].candidates = {*report.choice[i]};
  return asked;
}

Assignment chosenPoint(const TileReport &report, const TileSpaceAnswer &of) {
  Assignment point;
  for (size_t i = 0; i < report.choice.size(); ++i)
    if (report.choice[i])
      point.set(of.tiled->space.parameters[i].size, *report.choice[i]);
  return point;
}

namespace {

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
  const Assignment point = chosenPoint(report, of);
  const ConstraintSystem asked = askedSystem(report, of);
  for (size_t i = 0; i < of.system.constraints.size(); ++i) {
    const Constraint &constraint = of.system.constraints[i];
    const std::vector<size_t> &named = of.answer.core->constraints;
    if (constraint.from.opName == "device" && constraint.formula.evaluate(point) == false &&
        std::find(named.begin(), named.end(), i) == named.end())
      lines.push_back(reasonText(asked, {}, i));
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

} // namespace

void printRefusal(const TileReport &report) {
  if (!report.refusal.empty()) {
    say("  because {}\n", report.refusal);
    return;
  }
  printReasons(report);
  printFits(report);
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

} // namespace tilewright::cli
