// Plans that the search accepts, drawn for tests.
#pragma once

#include "analysis/import/hlo_text.h"
#include "analysis/solve/compiled.h"
#include "analysis/solve/tile_system.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace tilewright {

/// The first feasible tiling, and the first ones where each parameter has some of its candidates
/// only, drawn anew each time.
inline std::set<std::vector<int64_t>> pointsOf(const TiledGroup &tiled, std::mt19937_64 &random,
                                               size_t draws) {
  constexpr uint64_t maxNodes = 20000; // of a search for one tiling
  auto system = makeSystem(tiled.space, tiled.constraints, CandidatePlan::standard());
  EXPECT_TRUE(bool(system)) << takeDiag(system.takeError()).message;
  std::set<std::vector<int64_t>> points;
  for (size_t draw = 0; draw <= draws; ++draw) {
    ConstraintSystem drawn = *system;
    if (draw > 0)
      for (SolveParameter &parameter : drawn.parameters) {
        std::erase_if(parameter.candidates, [&](int64_t) { return random() % 2 == 0; });
        if (parameter.candidates.empty())
          parameter.candidates =
              system->parameters[&parameter - drawn.parameters.data()].candidates;
      }
    auto compiled = CompiledSystem::compile(drawn);
    EXPECT_TRUE(bool(compiled)) << takeDiag(compiled.takeError()).message;
    std::vector<int64_t> point;
    if (compiled->findFirst(point, {.maxNodes = maxNodes}).verdict() == Verdict::Yes)
      points.insert(std::move(point));
    else if (draw == 0)
      break;
  }
  return points;
}

/// Layers repeat each other but for the names of their ops.
inline std::string textWithoutNames(Module module) {
  Graph &graph = module.graph(module.entryId);
  for (uint32_t i = 0; i < graph.size(); ++i)
    graph.op(OpId{i}).name = "v" + std::to_string(i);
  return printHlo(module);
}

} // namespace tilewright
