// Composing and simplifying index maps along the paths of the bundled models, with IndexMap, with
// isl's relations and (where it is installed) with MLIR's AffineMap.
//
// Every measurement starts from fresh contexts with the maps of the ops in them, so that no engine
// finds expressions that an earlier round interned. IndexMap and isl keep domains and constraints;
// AffineMap has neither and does less. Then each path is timed alone, and the worst is printed.
#include "analysis/sets/isl_translate.h"
#include "tests/bench/model_paths.h"
#include "tests/bench/ratios.h"
#ifdef TILEWRIGHT_HAVE_MLIR
#include "tests/bench/mlir_maps.h"
#endif

#include <algorithm>
#include <chrono>
#include <functional>

namespace tilewright::bench {
namespace {

using Clock = std::chrono::steady_clock;

class OwnMaps {
public:
  explicit OwnMaps(const GraphPaths &paths) : maps(paths.maps) {}
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
  explicit IslMaps(const GraphPaths &paths) : ctx(sets::makeIslCtx(0)) {
    for (const IndexMap &map : paths.maps)
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

template <typename Maps> void composeAll(benchmark::State &state, PathKind kind) {
  size_t paths = 0;
  for (auto _ : state) {
    std::vector<GraphPaths> graphs = pathsOf(models(), kind);
    std::vector<Maps> engines(graphs.begin(), graphs.end());
    paths = 0;
    Clock::time_point start = Clock::now();
    for (size_t g = 0; g < graphs.size(); ++g)
      for (const std::vector<uint32_t> &path : graphs[g].paths) {
        benchmark::DoNotOptimize(engines[g].compose(path));
        ++paths;
      }
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
  }
  state.counters["paths"] = static_cast<double>(paths);
}

/// Seconds of each path alone, the least of some rounds.
template <typename Maps> std::vector<double> timesOfPaths(PathKind kind) {
  std::vector<double> best;
  for (int round = 0; round < 5; ++round) {
    std::vector<GraphPaths> graphs = pathsOf(models(), kind);
    size_t i = 0;
    for (const GraphPaths &graph : graphs) {
      Maps engine(graph);
      for (const std::vector<uint32_t> &path : graph.paths) {
        Clock::time_point start = Clock::now();
        benchmark::DoNotOptimize(engine.compose(path));
        double time = std::chrono::duration<double>(Clock::now() - start).count();
        if (i == best.size())
          best.push_back(time);
        best[i] = std::min(best[i], time);
        ++i;
      }
    }
  }
  return best;
}

/// The composed map of a path by its number, for the report.
std::string describePath(PathKind kind, size_t number) {
  for (const GraphPaths &graph : pathsOf(models(), kind)) {
    if (number >= graph.paths.size()) {
      number -= graph.paths.size();
      continue;
    }
    const std::vector<uint32_t> &path = graph.paths[number];
    IndexMap map = graph.maps[path[0]];
    for (size_t i = 1; i < path.size(); ++i)
      map = compose(map, graph.maps[path[i]]);
    return std::to_string(path.size()) + " maps, together " + map.str();
  }
  return "";
}

void printSpread(const char *name, PathKind kind, const char *engine,
                 const std::vector<double> &own, const std::vector<double> &other) {
  std::vector<std::pair<double, size_t>> ratios;
  for (size_t i = 0; i < own.size(); ++i)
    ratios.push_back({other[i] / own[i], i});
  std::sort(ratios.begin(), ratios.end());
  size_t faster = 0;
  while (faster < ratios.size() && ratios[faster].first < 1)
    ++faster;
  std::printf("%s, path by path: %s takes %.3g (worst), %.3g (median), %.3g (best) times as long; "
              "faster than Tilewright on %zu of %zu paths\n",
              name, engine, ratios.front().first, ratios[ratios.size() / 2].first,
              ratios.back().first, faster, ratios.size());
  for (size_t i = 0; i < std::min<size_t>(3, faster); ++i)
    std::printf("  %.3g us against %.3g us: %s\n", own[ratios[i].second] * 1e6,
                other[ratios[i].second] * 1e6, describePath(kind, ratios[i].second).c_str());
}

void pathByPath(const char *name, PathKind kind) {
  std::vector<double> own = timesOfPaths<OwnMaps>(kind);
  printSpread(name, kind, "isl", own, timesOfPaths<IslMaps>(kind));
#ifdef TILEWRIGHT_HAVE_MLIR
  printSpread(name, kind, "AffineMap", own, timesOfPaths<MlirMaps>(kind));
#endif
}

template <typename Maps> void add(const char *name, PathKind kind) {
  benchmark::RegisterBenchmark(name,
                               [kind](benchmark::State &state) { composeAll<Maps>(state, kind); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

} // namespace
} // namespace tilewright::bench

int main(int argc, char **argv) {
  using namespace tilewright::bench;
  add<OwnMaps>("compose pairs/tilewright", PathKind::Pairs);
  add<OwnMaps>("compose chains/tilewright", PathKind::Chains);
  add<IslMaps>("compose pairs/isl", PathKind::Pairs);
  add<IslMaps>("compose chains/isl", PathKind::Chains);
#ifdef TILEWRIGHT_HAVE_MLIR
  add<MlirMaps>("compose pairs/AffineMap", PathKind::Pairs);
  add<MlirMaps>("compose chains/AffineMap", PathKind::Chains);
#endif
  if (int status = runWithRatios(argc, argv))
    return status;
  pathByPath("pairs", PathKind::Pairs);
  pathByPath("chains", PathKind::Chains);
  return 0;
}
