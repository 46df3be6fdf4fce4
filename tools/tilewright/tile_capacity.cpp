#include "tools/tilewright/tile_capacity.h"

#include "tools/tilewright/tile_refusal.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

/// Limits of the device that the point breaks.
std::vector<const Constraint *> brokenLimits(const TileSpaceAnswer &of, const Assignment &point) {
  std::vector<const Constraint *> broken;
  for (const Constraint &constraint : of.system.constraints)
    if (constraint.from.opName == "device" && constraint.formula.evaluate(point) == false)
      broken.push_back(&constraint);
  return broken;
}

std::optional<Exhausted> exhaustedBy(const Constraint &limit, const Assignment &point) {
  if (limit.formula.kind() != Formula::Kind::LessEqual)
    return std::nullopt;
  const std::optional<int64_t> need = evaluate(limit.formula.lhs(), point),
                               have = evaluate(limit.formula.rhs(), point);
  if (!need || !have)
    return std::nullopt;
  Exhausted found{limit.from.rule, *need, *have, {}};
  for (const auto &[amount, name] : limit.from.parts)
    if (std::optional<int64_t> value = evaluate(amount, point); value && *value != 0) {
      // " B for operand 0 of %dot" as it follows a number.
      const size_t said = name.find(" for ");
      found.by.emplace_back(said == std::string::npos ? name : name.substr(said + 5), *value);
    }
  return found;
}

/// No constraint is broken, and those that were are known to hold.
bool fits(const TileSpaceAnswer &of, const std::vector<const Constraint *> &broken,
          const Assignment &point) {
  return std::none_of(of.system.constraints.begin(), of.system.constraints.end(),
                      [&](const Constraint &constraint) {
                        return constraint.formula.evaluate(point) == false;
                      }) &&
         std::all_of(broken.begin(), broken.end(), [&](const Constraint *constraint) {
           return constraint->formula.evaluate(point) == true;
         });
}

std::string fitsText(const std::vector<LargestFit> &fits) {
  std::string text;
  for (size_t i = 0; i < fits.size(); ++i)
    text += fmt::format("{}{}={}",
                        i == 0                 ? ""
                        : i + 1 == fits.size() ? " or "
                                               : ", ",
                        fits[i].parameter, fits[i].value);
  return text;
}

} // namespace

Capacity capacityOf(const TileReport &report, const TileSpaceAnswer &of) {
  Capacity capacity;
  const Assignment chosen = chosenPoint(report, of);
  const std::vector<const Constraint *> broken = brokenLimits(of, chosen);
  for (const Constraint *limit : broken)
    if (std::optional<Exhausted> found = exhaustedBy(*limit, chosen))
      capacity.exhausted.push_back(std::move(*found));
  if (broken.empty())
    return capacity;
  for (size_t i = 0; i < report.choice.size(); ++i) {
    if (!report.choice[i])
      continue;
    const TileParameter &parameter = of.tiled->space.parameters[i];
    const std::vector<int64_t> &candidates = of.system.parameters[i].candidates;
    Assignment point = chosen;
    for (auto at = candidates.rbegin(); at != candidates.rend(); ++at) {
      if (*at >= *report.choice[i])
        continue;
      point.set(parameter.size, *at);
      if (!fits(of, broken, point))
        continue;
      const LargestFit fit{parameter.name, *at};
      capacity.fits.insert(parameter.name == "stages" ? capacity.fits.begin() : capacity.fits.end(),
                           fit);
      break;
    }
  }
  return capacity;
}

void printFits(const TileReport &report) {
  std::vector<std::pair<std::string, std::string>> lines; // what fits, and with which instructions
  for (const TileSpaceAnswer &each : report.answers) {
    const std::string text = fitsText(capacityOf(report, each).fits);
    if (text.empty())
      continue;
    const std::string name(tilewright::toString(each.instruction));
    const auto at = std::find_if(lines.begin(), lines.end(),
                                 [&](const auto &line) { return line.first == text; });
    if (at == lines.end())
      lines.emplace_back(text, name);
    else
      at->second += " and " + name;
  }
  for (const auto &[text, instructions] : lines)
    say("fits      {}{}\n", text,
        report.answers.size() == 1 ? "" : fmt::format(" with {}", instructions));
}

Json toJson(const Capacity &capacity) {
  Json document;
  document["exhausted"] = Json::array();
  for (const Exhausted &each : capacity.exhausted) {
    Json by = Json::array();
    for (const auto &[name, amount] : each.by)
      by.push_back({{"name", name}, {"amount", amount}});
    document["exhausted"].push_back({{"resource", each.resource},
                                     {"need", each.need},
                                     {"have", each.have},
                                     {"by", std::move(by)}});
  }
  document["fits"] = Json::array();
  for (const LargestFit &fit : capacity.fits)
    document["fits"].push_back({{"parameter", fit.parameter}, {"value", fit.value}});
  return document;
}

} // namespace tilewright::cli
