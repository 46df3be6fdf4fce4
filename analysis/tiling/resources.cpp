#include "analysis/tiling/resources.h"

#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/matrix_product.h"
#include "analysis/tiling/resource_view.h"
#include "analysis/tiling/strided_view.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright {
namespace {

void addAccumulators(const ResourceView &view, Resources &out) {
  for (unsigned i = 0; i < view.group.instances.size(); ++i) {
    if (!view.isDot(i))
      continue;
    // Accumulators have at least 32 bits.
    const int64_t words = std::max(1u, bitWidth(view.dtype(i)) / 32);
    out.accumulatorItems.push_back(
        {view.group.instances[i].op, fmt::format("accumulators of %{}", view.op(i).name),
         (view.elements(i) * words).ceilDiv(view.parameter("warps") * 32)});
  }
}

Provenance ofDevice(std::string rule, std::string text, std::vector<Expr> args) {
  Provenance from;
  from.opName = "device";
  from.rule = std::move(rule);
  from.text = std::move(text);
  from.textArgs = std::move(args);
  return from;
}

std::vector<std::pair<Expr, std::string>> partsOf(const std::vector<ResourceItem> &items,
                                                  std::string_view unit) {
  std::vector<std::pair<Expr, std::string>> parts;
  for (const ResourceItem &item : items)
    parts.emplace_back(item.amount, fmt::format("{} for {}", unit, item.name));
  return parts;
}

} // namespace

std::optional<int64_t> packedConvolutionStep(const Op &op, const Shape &kernel) {
  constexpr int64_t fewFeatures = 16, step = 32;
  const int64_t features = kernel.dims[static_cast<size_t>(op.attrs.conv.kernelInput)];
  if (features >= fewFeatures)
    return std::nullopt;
  int64_t total = features;
  for (const WindowDim &dim : op.attrs.window)
    total = std::min(total * dim.size, step); // the rest beyond a step doesn't matter
  return total;
}

const KindOfCode &kindOfCode(const Graph &graph, const TiledGroup &group) {
  if (group.code)
    return *group.code;
  // The root whose dims are tiled comes first.
  const OpId tiled = ResourceView(graph, group).root;
  std::vector<OpId> results{tiled};
  for (OpId root : group.group.roots)
    if (root != tiled)
      results.push_back(root);
  group.code = std::make_shared<const KindOfCode>(kindOfCode(graph, group.group.ops, results));
  return *group.code;
}

CodeChoice codeOf(const Graph &graph, const TiledGroup &group, Instruction instruction) {
  CodeChoice code{kindOfCode(graph, group).kind, Instruction::Fma};
  if (code.kind == CodeKind::Chain) // takes matrix instructions
    code.instruction = instruction == Instruction::Fma ? Instruction::MmaSync : instruction;
  if (code.kind != CodeKind::Dot && code.kind != CodeKind::Fused)
    return code;
  code.instruction = instruction;
  for (OpId id : group.group.ops) {
    const Op &op = graph[id];
    if (op.opcode != Opcode::Dot && op.opcode != Opcode::Convolution)
      continue;
    if (code.instruction == Instruction::Wgmma &&
        (op.opcode == Opcode::Convolution ||
         (code.kind == CodeKind::Fused && tmaRefusal(graph, group.group, id)) ||
         !whyNoMatrixProduct(graph, op, Instruction::Wgmma).empty()))
      code.instruction = Instruction::MmaSync;
    if (code.instruction == Instruction::MmaSync &&
        !whyNoMatrixProduct(graph, op, Instruction::MmaSync).empty())
      code.instruction = Instruction::Fma;
  }
  return code;
}

Resources resourcesByKind(const Graph &graph, const TiledGroup &group, const CodeChoice &code,
                          const DeviceLimits &limits) {
  return resourcesByKind(graph, group, code, limits,
                         registerCosts(group.space.parameters.front().size.context()));
}

Resources resourcesByKind(const Graph &graph, const TiledGroup &group, const CodeChoice &code,
                          const DeviceLimits &limits, const RegisterCosts &costs) {
  ResourceView view(graph, group);
  Resources out;
  out.grid = view.parameter("split_k");
  for (const TileParameter &p : group.space.parameters)
    if (p.role == TileParameter::Role::Parallel)
      out.grid = out.grid * p.tileCount();
  addSharedItems(view, code, out);
  addAccumulators(view, out);
  addRegisterItems(view, code, limits, costs, out);
  auto sumOf = [&](const std::vector<ResourceItem> &items) {
    Expr sum = view.constant(0);
    for (const ResourceItem &item : items)
      sum = sum + item.amount;
    return sum;
  };
  out.sharedBytes = sumOf(out.sharedItems);
  out.accumulatorRegistersPerThread = sumOf(out.accumulatorItems);
  out.registersPerThread = sumOf(out.registerItems);
  return out;
}

bool hasTransposedBytes(const Graph &graph, const Group &group) {
  for (OpId id : group.ops) {
    const Op &op = graph[id];
    if (op.opcode != Opcode::Dot)
      continue;
    for (size_t i = 0; i < 2; ++i) {
      const Shape &shape = graph[op.operands[i]].shape;
      if (bitWidth(shape.dtype) != 8)
        continue;
      const std::vector<int64_t> &contracted =
          i == 0 ? op.attrs.dot.lhsContracting : op.attrs.dot.rhsContracting;
      int64_t stride = 0;
      auto view =
          stridedViewOf(graph, op.operands[i], [&](OpId at) { return !group.contains(at); });
      if (view) {
        auto found = strideOfAll(*view, shape, contracted);
        if (found)
          stride = *found;
        else
          llvm::consumeError(found.takeError());
      } else {
        llvm::consumeError(view.takeError());
      }
      if (stride != 1)
        return true;
    }
  }
  return false;
}

int64_t registersBesideAccumulators(Instruction instruction, bool hasTransposedBytes) {
  switch (instruction) {
  case Instruction::MmaSync:
    return hasTransposedBytes ? 135 : 95;
  case Instruction::Wgmma: // see mostWarpgroupRegisters()
    return warpgroupRegistersBesideSums;
  case Instruction::Fma:
    return 63;
  }
  return 0;
}

namespace {
/// What the warps that multiply can have beside those that copy, as the code shares it out.
Constraint warpgroupRegisters(const ResourceView &view, const CodeChoice &code,
                              const DeviceLimits &limits, Expr sums) {
  const int64_t beside =
      code.kind == CodeKind::Chain ? chainRegistersBesideSums : warpgroupRegistersBesideSums;
  const Expr warps = view.parameter("warps");
  const Expr all = mostWarpgroupRegisters(warps, limits), most = all - beside;
  return {Formula::lessEqual(sums, most),
          ofDevice("registers",
                   fmt::format("{{0}} registers a thread for sums, of at most {{1}} with wgmma: "
                               "{{2}} warps beside those that copy can have {{3}} each, and {} are "
                               "for other values",
                               beside),
                   {sums, most, warps, all})};
}
/// The partial sums of split-K: those of a thread in units of 16 B, for each CTA and batch.
void addPartialSums(const ResourceView &view, const CodeChoice &code, Expr grid,
                    std::vector<Constraint> &out) {
  const TileParameter &split = *view.group.space.find("split_k");
  if (code.kind != CodeKind::Dot || split.largest() == 1)
    return;
  constexpr int64_t unit = 16;
  const Expr threads = view.parameter("warps") * 32;
  for (unsigned i = 0; i < view.group.instances.size(); ++i) {
    if (!view.isDot(i))
      continue;
    const DotTiles tiles = dotTiles(view, i);
    const int64_t width = std::max(4u, bitWidth(view.dtype(i)) / 8);
    Expr sums; // of a thread
    if (code.instruction == Instruction::Fma) {
      // The code takes the best of more ways to share the tile out.
      for (int64_t across : {1, 4, 16, 32}) {
        const Expr way =
            tiles.rows.ceilDiv(threads.floorDiv(across)) * tiles.columns.ceilDiv(across);
        sums = sums ? sums.min(way) : way;
      }
    } else if (code.instruction == Instruction::MmaSync) {
      sums = (roundUp(tiles.rows, 16) * roundUp(tiles.columns, 8)).ceilDiv(threads);
    } else {
      const WarpgroupTiles padded = warpgroupTiles(view, i, tiles);
      sums = (padded.rows * padded.columns).ceilDiv(threads);
    }
    const Expr bytes = grid * tiles.batch * ((sums * width).ceilDiv(unit) * unit) * threads;
    out.push_back(
        {Formula::lessEqual(split.size, view.constant(1)) ||
             Formula::lessEqual(bytes, view.constant(maxPartialSumBytes)),
         ofDevice("partial-sums",
                  fmt::format("{{0}} B of partial sums of the {{1}} CTAs that share a tile's sum, "
                              "of at most {}",
                              maxPartialSumBytes),
                  {bytes, split.size})});
  }
}
} // namespace

void addResourceConstraints(const Graph &graph, TiledGroup &group, const DeviceLimits &limits,
                            const CodeChoice &code, const Resources &r) {
  ExprContext &ctx = r.threads.context();
  auto atMost = [&](Expr amount, int64_t limit, Provenance from) {
    group.constraints.push_back({Formula::lessEqual(amount, ctx.constant(limit)), std::move(from)});
  };
  atMost(r.threads, limits.threadsPerCta,
         ofDevice("threads",
                  fmt::format("{{0}} threads a CTA, of at most {}", limits.threadsPerCta),
                  {r.threads}));
  atMost(r.grid, limits.gridX,
         ofDevice("grid-limit", fmt::format("{{0}} CTAs, of at most {}", limits.gridX), {r.grid}));
  addPartialSums(ResourceView(graph, group), code, r.grid, group.constraints);
  if (!r.sharedItems.empty()) {
    Provenance from = ofDevice(
        "shared-memory",
        fmt::format("{{0}} B of shared memory a CTA, of at most {} B", limits.sharedBytesPerCta),
        {r.sharedBytes});
    from.parts = partsOf(r.sharedItems, " B");
    atMost(r.sharedBytes, limits.sharedBytesPerCta, std::move(from));
  }
  if (r.accumulatorItems.empty())
    return;
  if (code.instruction == Instruction::Wgmma) {
    const ResourceView view(graph, group);
    const Expr sums =
        code.kind == CodeKind::Fused ? r.accumulatorRegistersPerThread : warpgroupSums(view, code);
    group.constraints.push_back(warpgroupRegisters(view, code, limits, sums));
    return;
  }
  const int64_t most =
      limits.registersPerThread -
      registersBesideAccumulators(code.instruction, hasTransposedBytes(graph, group.group));
  Provenance ofThread =
      ofDevice("registers",
               fmt::format("{{0}} registers a thread, of at most {} beside the operands of {}",
                           most, toString(code.instruction)),
               {r.accumulatorRegistersPerThread});
  ofThread.parts = partsOf(r.accumulatorItems, "");
  atMost(r.accumulatorRegistersPerThread, most, std::move(ofThread));
  const Expr all = r.accumulatorRegistersPerThread * group.space.find("warps")->size * 32;
  Provenance ofCta =
      ofDevice("registers",
               fmt::format("{{0}} registers a CTA, of at most {}", limits.registersPerSm), {all});
  ofCta.parts = partsOf(r.accumulatorItems, " a thread");
  atMost(all, limits.registersPerSm, std::move(ofCta));
}

} // namespace tilewright
