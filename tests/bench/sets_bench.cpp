// Set questions about every map of the bundled models over a tile, by closed forms, by enumeration
// and by isl.
#include "analysis/sets/sets.h"
#include "tests/bench/model_paths.h"
#include "tests/bench/ratios.h"

#include <algorithm>

namespace tilewright::bench {
namespace {

struct Question {
  sets::IndexSet tile, whole;
};

/// Tiles of `extent` in each dim, in the middle of the domain; reductions run over all they have,
/// or over 4 steps.
const std::vector<Question> &questions() {
  static std::vector<GraphPaths> graphs = pathsOf(loadModels(), PathKind::Pairs);
  static const std::vector<Question> all = [] {
    std::vector<Question> list;
    for (const GraphPaths &graph : graphs)
      for (const IndexMap &map : graph.maps) {
        sets::Reads tile{map, {}};
        int64_t points = 1;
        bool isBounded = !usesMinMax(map);
        for (const MapVariable &v : map.variables()) {
          isBounded &= v.domain.isBounded();
          if (!isBounded)
            break;
          int64_t n = v.domain.hi - v.domain.lo + 1;
          int64_t size = std::min<int64_t>(n, points > 256 ? 1 : 4);
          points *= size;
          tile.restrictions.emplace_back(v.var,
                                         sets::Progression{v.domain.lo + (n - size) / 2, size, 1});
        }
        if (isBounded)
          list.push_back({sets::IndexSet(map.results().size(), {tile}), sets::image(map)});
      }
    return list;
  }();
  return all;
}

template <typename Ask> void askAll(benchmark::State &state, sets::Engine engine, Ask ask) {
  sets::Options options;
  options.engine = engine;
  const std::vector<Question> &all = questions();
  size_t known = 0;
  for (auto _ : state) {
    known = 0;
    for (const Question &question : all)
      known += ask(question, options);
  }
  state.counters["known"] = static_cast<double>(known);
  state.counters["asked"] = static_cast<double>(all.size());
}

template <typename Ask> void add(const std::string &name, Ask ask, bool enumerates) {
  auto one = [&](const char *suffix, sets::Engine engine) {
    benchmark::RegisterBenchmark((name + suffix).c_str(), [=](benchmark::State &state) {
      askAll(state, engine, ask);
    })->Unit(benchmark::kMillisecond);
  };
  one("/tilewright", sets::Engine::ClosedForms);
  one("/isl", sets::Engine::Library);
  if (enumerates)
    one("/enumeration", sets::Engine::Enumeration);
}

} // namespace
} // namespace tilewright::bench

int main(int argc, char **argv) {
  using namespace tilewright;
  using bench::Question;
  using sets::Options;
  bench::add(
      "count of a tile",
      [](const Question &q, const Options &o) { return count(q.tile, o).points.has_value(); },
      true);
  bench::add(
      "emptiness of a tile",
      [](const Question &q, const Options &o) {
        return isEmpty(q.tile, o).truth != sets::Truth::Unknown;
      },
      true);
  bench::add(
      "tile in the whole image",
      [](const Question &q, const Options &o) {
        return isSubset(q.tile, q.whole, o).truth != sets::Truth::Unknown;
      },
      false);
  return bench::runWithRatios(argc, argv);
}
