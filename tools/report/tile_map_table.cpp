#include "tools/report/tile_map_table.h"

#include "tools/report/text.h"

#include <algorithm>
#include <map>

namespace tilewright::report {

namespace {

/// Class of the colour ramp: 6 for the best time, 0 for four times as long and more.
int rampOf(double slower) {
  constexpr double steps[] = {1.0, 1.05, 1.15, 1.3, 1.7, 2.5};
  int ramp = 6;
  for (double step : steps)
    ramp -= slower > step;
  return ramp;
}

/// "a" … "z", "aa" …
std::string letters(size_t number) {
  std::string out;
  for (++number; number; number = (number - 1) / 26)
    out.insert(out.begin(), static_cast<char>('a' + (number - 1) % 26));
  return out;
}

/// The constraints that refuse cells: the letter and one example of each, in order of appearance.
struct Refusals {
  struct Entry {
    std::string rule, example;
    size_t cells = 0;
  };
  std::vector<Entry> entries;
  std::map<std::string, size_t> numbers;

  explicit Refusals(const TileMap &map) {
    for (const TileMap::Cell &cell : map.cells) {
      if (cell.timeNs)
        continue;
      auto [at, isNew] = numbers.emplace(cell.rule, entries.size());
      if (isNew)
        entries.push_back({cell.rule, cell.reason});
      ++entries[at->second].cells;
    }
  }
};

std::optional<double> ownSize(const Plan &plan, const std::string &parameter) {
  for (const auto &[name, value] : plan.tile)
    if (name == parameter)
      return std::strtod(value.c_str(), nullptr);
  return std::nullopt;
}

/// " title=…" that says with which schedule, where it isn't the plan's.
std::string scheduleTitle(const TileMap::Cell &cell) {
  return cell.schedule.empty()
             ? std::string()
             : fmt::format(" title=\"with {}\"", escapeHtml(parametersText(cell.schedule), 200));
}

/// "w8 s2": the same in few letters.
std::string scheduleMark(const TileMap::Cell &cell) {
  std::string out;
  for (const auto &[name, value] : cell.schedule)
    put(out, "{}{}{}", out.empty() ? "" : " ", escapeHtml(name.substr(0, 1), 10),
        escapeHtml(value, 10));
  return out.empty() ? out : "<small>" + out + "</small>";
}

} // namespace

std::string tileMapTable(const Kernel &kernel, std::string_view id) {
  if (!kernel.tileMap || kernel.tileMap->cells.empty())
    return {};
  const TileMap &map = *kernel.tileMap;
  bool hasColumns = !map.columns.parameter.empty();
  double best = 0;
  for (const TileMap::Cell &cell : map.cells)
    if (cell.timeNs && *cell.timeNs > 0)
      best = best > 0 ? std::min(best, *cell.timeNs) : *cell.timeNs;
  TimeUnit unit = timeUnitFor(best);
  Refusals refusals(map);
  std::optional<double> ownRow = ownSize(kernel.plan, map.rows.parameter);
  std::optional<double> ownColumn = ownSize(kernel.plan, map.columns.parameter);

  std::string out;
  put(out,
      "<div><h4 id=\"{0}-m\">Time ({1}) with other sizes of {2}{3}{4}</h4>"
      "<table class=\"heat\" aria-labelledby=\"{0}-m\"><thead><tr><th scope=\"col\">{2}{5}{4}</th>",
      id, unit.name, escapeHtml(map.rows.parameter, 20), hasColumns ? " and " : "",
      escapeHtml(map.columns.parameter, 20), hasColumns ? " \\ " : "");
  for (double size : map.columns.sizes)
    put(out, "<th scope=\"col\">{}</th>", hasColumns ? count(size) : std::string(unit.name));
  out += "</tr></thead><tbody>";
  for (size_t r = 0; r < map.rows.sizes.size(); ++r) {
    put(out, "<tr><th scope=\"row\">{}</th>", count(map.rows.sizes[r]));
    for (size_t c = 0; c < map.columns.sizes.size(); ++c) {
      const TileMap::Cell &cell = map.cells[r * map.columns.sizes.size() + c];
      bool isOwn =
          ownRow == map.rows.sizes[r] && (!hasColumns || ownColumn == map.columns.sizes[c]);
      if (cell.timeNs)
        put(out, "<td class=\"ramp{}{}\"{}>{}{}</td>", rampOf(best > 0 ? *cell.timeNs / best : 1),
            isOwn ? " own" : "", scheduleTitle(cell), inUnit(cell.timeNs, unit),
            scheduleMark(cell));
      else
        put(out, "<td class=\"no\" title=\"{}\">{}</td>", escapeHtml(cell.reason, 200),
            letters(refusals.numbers.at(cell.rule)));
    }
    out += "</tr>";
  }
  out += "</tbody></table>";
  if (std::any_of(map.cells.begin(), map.cells.end(),
                  [](const TileMap::Cell &cell) { return !cell.schedule.empty(); }))
    out += "<p class=\"note\">Each with the warps (w) and stages (s) that suit it best; those of "
           "the plan where none are named.</p>";
  if (!refusals.entries.empty()) {
    out += "<dl class=\"why\">";
    for (size_t i = 0; i < refusals.entries.size(); ++i)
      put(out, "<dt>{}</dt><dd>{}{}</dd>", letters(i), escapeHtml(refusals.entries[i].example, 240),
          refusals.entries[i].cells > 1
              ? fmt::format(", and {} like it", counted(refusals.entries[i].cells - 1, "plan"))
              : "");
    out += "</dl>";
  }
  return out + "</div>";
}

} // namespace tilewright::report
