#include "tests/bench/model_paths.h"

#include "analysis/import/import_file.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace tilewright::bench {
namespace {

constexpr size_t maxSteps = 64;

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
        bool isPlain = std::none_of(map.results().begin(), map.results().end(), hasMinMax);
        if (map.isKnownEmpty() || !isPlain)
          continue;
        edges[i].push_back(
            {graph.op(OpId{i}).operands[o].index, static_cast<uint32_t>(out.maps.size())});
        out.maps.push_back(map);
      }
  }
  return edges;
}

} // namespace

std::vector<Module> loadModels() {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator("datasets/models"))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<Module> models;
  for (const std::string &file : files) {
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
      auto fits = [&](const Edge &first, const Edge &second) {
        return paths.maps[first.map].results().size() ==
               paths.maps[second.map].variables(VarKind::Dim).size();
      };
      // The longest way on from each op, operands first.
      std::vector<std::vector<uint32_t>> longest(graph.size());
      for (uint32_t i = 0; i < graph.size(); ++i)
        for (const Edge &edge : edges[i]) {
          std::vector<uint32_t> path{edge.map};
          const std::vector<uint32_t> &rest = longest[edge.operand];
          if (!rest.empty() && fits(edge, Edge{0, rest[0]}))
            path.insert(path.end(), rest.begin(), rest.end());
          path.resize(std::min(path.size(), maxSteps));
          if (kind == PathKind::Pairs)
            for (const Edge &next : edges[edge.operand])
              if (fits(edge, next))
                paths.paths.push_back({edge.map, next.map});
          if (path.size() > longest[i].size())
            longest[i] = std::move(path);
        }
      if (kind == PathKind::Chains)
        for (std::vector<uint32_t> &path : longest)
          if (path.size() > 1)
            paths.paths.push_back(std::move(path));
      if (!paths.paths.empty())
        out.push_back(std::move(paths));
    }
  return out;
}

} // namespace tilewright::bench
