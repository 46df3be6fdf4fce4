#include "tests/bench/model_paths.h"

#include "analysis/import/import_file.h"
#include "analysis/import/testing/models.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <unordered_map>

namespace tilewright::bench {
namespace {

constexpr size_t maxPaths = 256; // of one graph, from roots

struct Edge {
  uint32_t operand; ///< OpId::index
  uint32_t map;
};

bool hasMinMax(Expr e) {
  if (e.isConstant() || e.isVariable() || e.isPoison())
    return false;
  return e.kind() == ExprKind::Min || e.kind() == ExprKind::Max || hasMinMax(e.lhs()) ||
         hasMinMax(e.rhs());
}

/// Walks from op to op along the maps of one graph.
class Paths {
public:
  Paths(const GraphPaths &graph, const std::vector<std::vector<Edge>> &edges)
      : graph(graph), edges(edges), counts(graph.maps.size(), 0) {
    // Operands come before their users, and so do the numbers of their maps.
    for (const std::vector<Edge> &own : edges)
      for (const Edge &edge : own) {
        for (const Edge &next : edges[edge.operand])
          if (fits(edge, next))
            counts[edge.map] += counts[next.map];
        counts[edge.map] = std::max(counts[edge.map], 1.0);
      }
  }

  /// All pairs.
  std::vector<std::vector<uint32_t>> pairs() const {
    std::vector<std::vector<uint32_t>> result;
    for (const std::vector<Edge> &own : edges)
      for (const Edge &edge : own)
        for (const Edge &next : edges[edge.operand])
          if (fits(edge, next))
            result.push_back({edge.map, next.map});
    return result;
  }

  /// How many paths there are from the ops that nobody reads.
  double countFromRoots() const {
    double count = 0;
    for (const Edge &edge : starts())
      count += counts[edge.map];
    return count;
  }

  std::vector<std::vector<uint32_t>> fromRoots() const {
    std::vector<std::vector<uint32_t>> result;
    double count = countFromRoots();
    if (count <= static_cast<double>(maxPaths)) {
      for (double at = 0; at < count; ++at)
        result.push_back(pathNumber(at));
    } else {
      std::mt19937_64 random(1);
      for (size_t i = 0; i < maxPaths; ++i)
        result.push_back(pathNumber(static_cast<double>(random() >> 11) * 0x1p-53 * count));
    }
    std::erase_if(result, [](const std::vector<uint32_t> &path) { return path.size() < 2; });
    return result;
  }

  /// Each sequence of maps once: of equal maps the first stands for all.
  std::vector<std::vector<uint32_t>> differentFromRoots() const {
    std::unordered_map<std::string, uint32_t> firsts;
    std::vector<uint32_t> first;
    for (uint32_t map = 0; map < graph.maps.size(); ++map)
      first.push_back(firsts.try_emplace(graph.maps[map].str(), map).first->second);
    std::set<std::vector<uint32_t>> found;
    std::vector<uint32_t> path;
    auto walk = [&](auto &self, const std::vector<Edge> &choices, const Edge *from) -> void {
      bool isEnd = true;
      for (const Edge &edge : choices) {
        if (from && !fits(*from, edge))
          continue;
        isEnd = false;
        path.push_back(first[edge.map]);
        self(self, edges[edge.operand], &edge);
        path.pop_back();
      }
      if (isEnd && path.size() > 1)
        found.insert(path);
    };
    walk(walk, starts(), nullptr);
    return {found.begin(), found.end()};
  }

private:
  bool fits(const Edge &first, const Edge &second) const {
    return graph.maps[first.map].results().size() ==
           graph.maps[second.map].variables(VarKind::Dim).size();
  }

  std::vector<Edge> starts() const {
    std::vector<bool> isRead(edges.size());
    for (const std::vector<Edge> &own : edges)
      for (const Edge &edge : own)
        isRead[edge.operand] = true;
    std::vector<Edge> result;
    for (size_t op = 0; op < edges.size(); ++op)
      if (!isRead[op])
        result.insert(result.end(), edges[op].begin(), edges[op].end());
    return result;
  }

  /// The path of that number in the order of edges.
  std::vector<uint32_t> pathNumber(double number) const {
    std::vector<uint32_t> path;
    std::vector<Edge> choices = starts();
    while (!choices.empty()) {
      size_t i = 0;
      while (i + 1 < choices.size() && number >= counts[choices[i].map])
        number -= counts[choices[i++].map];
      Edge taken = choices[i];
      path.push_back(taken.map);
      choices = edges[taken.operand];
      std::erase_if(choices, [&](const Edge &next) { return !fits(taken, next); });
    }
    return path;
  }

  const GraphPaths &graph;
  const std::vector<std::vector<Edge>> &edges;
  std::vector<double> counts; ///< paths that start with a map, by map
};

/// Every op's reads, by op index.
std::vector<std::vector<Edge>> edgesOf(const Graph &graph, GraphPaths &out) {
  std::vector<std::vector<Edge>> edges(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    llvm::Expected<OpIndexing> indexing = outputToOperands(graph, OpId{i}, *out.context);
    if (!indexing) {
      llvm::consumeError(indexing.takeError()); // opaque ops end a path
      continue;
    }
    for (size_t o = 0; o < indexing->operands.size(); ++o)
      for (const IndexMap &map : indexing->operands[o].maps) {
        if (map.isKnownEmpty())
          continue;
        edges[i].push_back(
            {graph.op(OpId{i}).operands[o].index, static_cast<uint32_t>(out.maps.size())});
        out.maps.push_back(map);
      }
  }
  return edges;
}

} // namespace

bool usesMinMax(const IndexMap &map) {
  return std::any_of(map.results().begin(), map.results().end(), hasMinMax);
}

std::vector<Module> loadModels() {
  std::vector<Module> models;
  for (const std::string &file : bundledModels()) {
    llvm::Expected<Module> module = importFile(file);
    if (!module) {
      std::fprintf(stderr, "%s\n", takeDiag(module.takeError()).str().c_str());
      std::exit(2);
    }
    models.push_back(std::move(*module));
  }
  return models;
}

std::vector<GraphPaths> pathsOf(const std::vector<Module> &models, PathKind kind) {
  std::vector<GraphPaths> out;
  for (const Module &module : models)
    for (const Graph &graph : module.all()) {
      GraphPaths paths{std::make_unique<ExprContext>(), {}, {}};
      std::vector<std::vector<Edge>> edges = edgesOf(graph, paths);
      Paths all(paths, edges);
      paths.paths = kind == PathKind::Pairs   ? all.pairs()
                    : kind == PathKind::Roots ? all.fromRoots()
                                              : all.differentFromRoots();
      paths.pathCount = static_cast<double>(paths.paths.size());
      if (kind != PathKind::Pairs)
        paths.pathCount = std::max(paths.pathCount, all.countFromRoots());
      if (!paths.paths.empty())
        out.push_back(std::move(paths));
    }
  return out;
}

} // namespace tilewright::bench
