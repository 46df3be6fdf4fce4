// Composing and simplifying index maps along the paths of the bundled models, with IndexMap, with
// isl's relations and (where it is installed) with MLIR's AffineMap.
//
// Three questions, each with the maps of the ops made beforehand:
//   first   the paths of a graph one after the other, in contexts that have composed nothing yet
//   again   the same once more in the same contexts
//   alone   each path by itself, in a context that holds the maps on it and nothing else, and that
//           doesn't remember what it composes: not even what one path composes twice is found
// With --different, "alone" is asked of every path from a root that differs from the others in a
// map, and nothing else is asked; this takes long.
// IndexMap and isl keep domains and constraints; AffineMap has neither and does less. It has no min
// and max either: paths with such maps are a question of their own, without it.
#include "analysis/affine/map_pool.h"
#include "analysis/affine/testing/maps.h"
#include "analysis/sets/isl_translate.h"
#include "tests/bench/model_paths.h"
#include "tests/bench/ratios.h"
#ifdef TILEWRIGHT_HAVE_MLIR
#include "tests/bench/mlir_maps.h"
#endif

#include <algorithm>
#include <chrono>
#include <deque>
#include <string_view>
#include <type_traits>

namespace tilewright::bench {
namespace {

using Clock = std::chrono::steady_clock;

class OwnMaps {
public:
  explicit OwnMaps(const std::vector<IndexMap> &maps) : maps(maps) {}
  size_t compose(const std::vector<uint32_t> &path) const {
    IndexMap map = maps[path[0]];
    for (size_t i = 1; i < path.size(); ++i)
      map = tilewright::compose(map, maps[path[i]]);
    return map.results().size();
  }

private:
  const std::vector<IndexMap> &maps;
};

/// Dims to results as isl relations: range and runtime variables are projected out.
class IslMaps {
public:
  explicit IslMaps(const std::vector<IndexMap> &ownMaps) : ctx(sets::makeIslCtx(0)) {
    for (const IndexMap &map : ownMaps)
      maps.push_back(relation(map));
  }
  size_t compose(const std::vector<uint32_t> &path) const {
    sets::IslMap map(isl_map_copy(maps[path[0]].get()));
    for (size_t i = 1; i < path.size(); ++i)
      map.reset(
          isl_map_coalesce(isl_map_apply_range(map.release(), isl_map_copy(maps[path[i]].get()))));
    return static_cast<size_t>(isl_map_dim(map.get(), isl_dim_out));
  }

private:
  sets::IslMap relation(const IndexMap &map) {
    // Dims beside results, for all variables; then the dims are the input.
    std::vector<Expr> both;
    for (const MapVariable &v : map.variables(VarKind::Dim))
      both.push_back(v.var);
    unsigned dims = static_cast<unsigned>(both.size());
    both.insert(both.end(), map.results().begin(), map.results().end());
    std::string reason;
    sets::IslSet graph = sets::islImage(
        ctx.get(), {IndexMap(map.context(), map.variables(), both, map.constraints()), {}}, reason);
    isl_map *result = isl_map_from_range(graph.release());
    result = isl_map_move_dims(result, isl_dim_in, 0, isl_dim_out, 0, dims);
    return sets::IslMap(isl_map_reset_tuple_id(result, isl_dim_in));
  }

  sets::IslCtx ctx;
  std::vector<sets::IslMap> maps;
};

const std::vector<Module> &models() {
  static const std::vector<Module> loaded = loadModels();
  return loaded;
}

/// Paths of one kind, with or without min and max on them.
struct Question {
  const char *name;
  PathKind kind;
  bool minMax;
};
constexpr Question questions[] = {{"pairs", PathKind::Pairs, false},
                                  {"roots", PathKind::Roots, false},
                                  {"pairs with min or max", PathKind::Pairs, true},
                                  {"roots with min or max", PathKind::Roots, true}};
[[maybe_unused]] constexpr Question different{"different paths from roots", PathKind::Different,
                                              false};

std::vector<GraphPaths> pathsOf(const Question &question) {
  std::vector<GraphPaths> graphs = bench::pathsOf(models(), question.kind);
  for (GraphPaths &graph : graphs)
    std::erase_if(graph.paths, [&](const std::vector<uint32_t> &path) {
      return question.minMax != std::any_of(path.begin(), path.end(), [&](uint32_t map) {
               return usesMinMax(graph.maps[map]);
             });
    });
  return graphs;
}

/// Do no paths of that kind occur?
bool isVoid(const Question &question) {
  std::vector<GraphPaths> graphs = pathsOf(question);
  return std::all_of(graphs.begin(), graphs.end(),
                     [](const GraphPaths &graph) { return graph.paths.empty(); });
}

template <typename Maps>
double secondsOfAll(const std::vector<GraphPaths> &graphs, const std::vector<Maps> &engines) {
  Clock::time_point start = Clock::now();
  for (size_t g = 0; g < graphs.size(); ++g)
    for (const std::vector<uint32_t> &path : graphs[g].paths)
      benchmark::DoNotOptimize(engines[g].compose(path));
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename Maps>
void composeAll(benchmark::State &state, const Question &question, bool again) {
  size_t paths = 0, maps = 0;
  for (auto _ : state) {
    std::vector<GraphPaths> graphs = pathsOf(question);
    std::vector<Maps> engines;
    paths = maps = 0;
    for (const GraphPaths &graph : graphs) {
      engines.emplace_back(graph.maps);
      paths += graph.paths.size();
      for (const std::vector<uint32_t> &path : graph.paths)
        maps += path.size();
    }
    double first = secondsOfAll(graphs, engines);
    state.SetIterationTime(again ? secondsOfAll(graphs, engines) : first);
  }
  state.counters["paths"] = static_cast<double>(paths);
  state.counters["maps"] = static_cast<double>(maps);
}

template <typename Maps> void add(const std::string &engine, bool minMax) {
  for (const Question &question : questions)
    for (bool again : {false, true})
      if (question.minMax == minMax && !isVoid(question))
        benchmark::RegisterBenchmark(
            (std::string(question.name) + (again ? ", again/" : ", first/") + engine).c_str(),
            [&question, again](benchmark::State &state) {
              composeAll<Maps>(state, question, again);
            })
            ->UseManualTime()
            ->MinTime(0.1)
            ->Unit(benchmark::kMillisecond);
}

std::vector<IndexMap> mapsOf(const GraphPaths &graph, const std::vector<uint32_t> &path) {
  std::vector<IndexMap> maps;
  for (uint32_t map : path)
    maps.push_back(graph.maps[map]);
  return maps;
}

/// One path with its maps in a fresh context that doesn't remember compositions.
struct LonePath {
  ExprContext context;
  std::vector<IndexMap> maps;
  std::vector<uint32_t> path;

  explicit LonePath(const std::vector<IndexMap> &from) {
    context.maps().stopRemembering();
    test::Copier copier(context);
    for (const IndexMap &map : from) {
      path.push_back(static_cast<uint32_t>(maps.size()));
      maps.push_back(copier.copy(map).simplified());
    }
  }
};

/// Nanoseconds are too little to be measured one by one: as many contexts as make about that many
/// compositions are made ready, and then all are used.
constexpr size_t compositionsAtOnce = 64;

template <typename Maps> double secondsAlone(const std::vector<IndexMap> &maps) {
  size_t copies = std::clamp<size_t>(compositionsAtOnce / maps.size(), 1, 16);
  std::deque<LonePath> lone;
  std::deque<Maps> engines;
  for (size_t i = 0; i < copies; ++i)
    engines.emplace_back(lone.emplace_back(maps).maps);
  Clock::time_point start = Clock::now();
  for (size_t i = 0; i < engines.size(); ++i)
    benchmark::DoNotOptimize(engines[i].compose(lone[i].path));
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(copies);
}

std::string describe(const GraphPaths &graph, const std::vector<uint32_t> &path) {
  IndexMap map = graph.maps[path[0]];
  for (size_t i = 1; i < path.size(); ++i)
    map = compose(map, graph.maps[path[i]]);
  return std::to_string(path.size()) + " maps, together " + map.str();
}

/// Each path alone, the least of some rounds in which the engines take turns; more rounds where the
/// two are close, since the least of few is decided by what else the machine does.
template <typename Other> void pathByPath(const Question &question, const char *engine) {
  const int rounds = std::is_same_v<Other, IslMaps>         ? 3
                     : question.kind == PathKind::Different ? 2
                                                            : 7;
  const int closeRounds = 100;
  const double close = 2;
  struct Timing {
    double ratio, own, other;
    const GraphPaths *graph;
    const std::vector<uint32_t> *path;
  };
  std::vector<GraphPaths> graphs = pathsOf(question);
  std::vector<Timing> timings;
  double own = 0, other = 0;
  for (const GraphPaths &graph : graphs)
    for (const std::vector<uint32_t> &path : graph.paths) {
      Timing timing{0, 1e9, 1e9, &graph, &path};
      const std::vector<IndexMap> maps = mapsOf(graph, path);
      for (int round = 0;
           round < rounds || (round < closeRounds && timing.other < close * timing.own); ++round) {
        timing.own = std::min(timing.own, secondsAlone<OwnMaps>(maps));
        timing.other = std::min(timing.other, secondsAlone<Other>(maps));
      }
      timing.ratio = timing.other / timing.own;
      own += timing.own;
      other += timing.other;
      timings.push_back(timing);
    }
  if (timings.empty())
    return;
  std::sort(timings.begin(), timings.end(),
            [](const Timing &a, const Timing &b) { return a.ratio < b.ratio; });
  size_t count = timings.size(), slower = 0, closeCount = 0;
  while (slower < count && timings[slower].ratio < 1)
    ++slower;
  while (closeCount < count && timings[closeCount].ratio < close)
    ++closeCount;
  std::printf(
      "%s, alone: %zu paths, %.3g ms; %s takes %.3g times as long in all, by path %.3g "
      "(least), %.3g (10 %%), %.3g (median); faster than Tilewright on %zu, less than twice "
      "as long on %zu\n",
      question.name, count, own * 1e3, engine, other / own, timings[0].ratio,
      timings[count / 10].ratio, timings[count / 2].ratio, slower, closeCount);
  // The closest ones in any case.
  for (size_t i = 0; i < std::min(count, std::clamp<size_t>(slower, 3, 100)); ++i)
    std::printf("  %.3g us against %.3g us: %s\n", timings[i].own * 1e6, timings[i].other * 1e6,
                describe(*timings[i].graph, *timings[i].path).c_str());
  std::fflush(stdout);
}

void printPathCounts() {
  for (const char *kind : {"pairs", "roots"}) {
    double all = 0, taken = 0;
    for (const GraphPaths &graph :
         bench::pathsOf(models(), kind[0] == 'p' ? PathKind::Pairs : PathKind::Roots)) {
      all += graph.pathCount;
      taken += static_cast<double>(graph.paths.size());
    }
    std::printf("%s: %.0f of %.3g paths\n", kind, taken, all);
    std::fflush(stdout);
  }
}

} // namespace
} // namespace tilewright::bench

int main(int argc, char **argv) {
  using namespace tilewright::bench;
#ifdef TILEWRIGHT_HAVE_MLIR
  if (argc == 2 && std::string_view(argv[1]) == "--different") {
    pathByPath<MlirMaps>(different, "AffineMap");
    return 0;
  }
#endif
  for (bool minMax : {false, true}) {
    add<OwnMaps>("tilewright", minMax);
    add<IslMaps>("isl", minMax);
  }
#ifdef TILEWRIGHT_HAVE_MLIR
  add<MlirMaps>("AffineMap", false);
#endif
  if (int status = runWithRatios(argc, argv))
    return status;
  printPathCounts();
  for (const Question &question : questions) {
#ifdef TILEWRIGHT_HAVE_MLIR
    if (!question.minMax)
      pathByPath<MlirMaps>(question, "AffineMap");
#endif
    pathByPath<IslMaps>(question, "isl");
  }
  return 0;
}
