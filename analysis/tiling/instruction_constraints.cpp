// Constraints of matrix instructions on a group's tiles.
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/matrix_product.h"
#include "analysis/tiling/resource_view.h"
#include "analysis/tiling/strided_view.h"

#include <fmt/format.h>

namespace tilewright {

void addInstructionConstraints(const Graph &graph, TiledGroup &group, Instruction instruction) {
  if (instruction == Instruction::Fma) {
    if (auto dots = twoDots(graph, group.group))
      group.constraints.push_back({Formula::constant(false),
                                   {dots->second,
                                    "%" + graph[dots->second].name,
                                    -1,
                                    -1,
                                    "mma-shape",
                                    "two dots in one kernel take matrix instructions, not fma",
                                    {}}});
    return;
  }
  const ResourceView view(graph, group);
  const bool isWgmma = instruction == Instruction::Wgmma;
  const Expr one = view.ctx.constant(1), warps = view.parameter("warps");
  std::vector<Constraint> added;
  for (unsigned i = 0; i < group.instances.size(); ++i) {
    if (!view.isDot(i))
      continue;
    const TileInstance &dot = group.instances[i];
    const Op &op = view.op(i);
    auto need = [&](Formula formula, std::string text, std::vector<Expr> args) {
      Provenance from{dot.op, "%" + op.name, -1, -1, "mma-shape", std::move(text), std::move(args)};
      if (!formula.isTrue())
        added.push_back({std::move(formula), std::move(from)});
    };
    const unsigned bits = bitWidth(view.dtype(dot.operands[0]));
    const bool isConvolution = op.opcode == Opcode::Convolution;
    std::string whyNot = whyNoMatrixProduct(graph, op, instruction);
    if (whyNot.empty() && ((isWgmma && (bits == 32 || isConvolution)) ||
                           (isConvolution && op.attrs.batchGroupCount != 1)))
      whyNot = fmt::format("does not take a {} of {}", toString(op.opcode),
                           toString(view.dtype(dot.operands[0])));
    if (!whyNot.empty()) {
      need(Formula::constant(false), fmt::format("{} {}", toString(instruction), whyNot), {});
      continue;
    }
    // m and n: products over the free dims; batch tiles hold one.
    const DotDims &d = op.attrs.dot;
    const Tile &tile = dot.tile;
    const size_t batch = d.lhsBatch.size();
    const size_t lhsFree =
        graph[op.operands[0]].shape.dims.size() - batch - d.lhsContracting.size();
    Expr m = one, n = one, k = one;
    int64_t wholeM = 1, wholeN = 1, wholeK = 1;
    for (size_t dim = 0; dim < tile.dims.size(); ++dim) {
      const Expr size = tile.dims[dim].size;
      if (!isConvolution && dim < batch) {
        need(Formula::lessEqual(size, one), "batch tile {0} must be 1 for a matrix instruction",
             {size});
        continue;
      }
      const bool isM = isConvolution ? dim != static_cast<size_t>(op.attrs.conv.outputFeature)
                                     : dim < batch + lhsFree;
      (isM ? m : n) = (isM ? m : n) * size;
      (isM ? wholeM : wholeN) *= view.shapeOf(dot.op).dims[dim];
    }
    for (unsigned parameter : dot.reduces) {
      k = k * group.space.parameters[parameter].size;
      wholeK *= group.space.parameters[parameter].largest();
    }
    // Code pads a tile to whole instructions: worth it where the dims have no more to give.
    auto multiple = [&](Expr value, int64_t of, int64_t whole, std::string_view what) {
      Formula isMultiple = Formula::divides(view.ctx.constant(of), value);
      if (whole % of == 0)
        need(std::move(isMultiple),
             fmt::format("{} tile {{0}} must be a multiple of {} for {}", what, of,
                         toString(instruction)),
             {value});
      else
        need(isMultiple || Formula::lessEqual(view.ctx.constant(whole), value),
             fmt::format("{} tile {{0}} must be a multiple of {} for {}, or all {}", what, of,
                         toString(instruction), whole),
             {value});
    };
    if (isWgmma)
      need(Formula::divides(view.ctx.constant(64), m),
           "m tile {0} must be a multiple of 64 for wgmma", {m});
    else
      multiple(m, 16, wholeM, "m");
    multiple(n, 8, wholeN, "n");
    const Shape &kernel = graph[op.operands[1]].shape;
    if (!isConvolution || !packedConvolutionStep(op, kernel))
      multiple(k, 256 / bits, wholeK, "k");
    if (isConvolution && op.attrs.featureGroupCount > 1) {
      const int64_t columns =
          kernel.dims[static_cast<size_t>(op.attrs.conv.kernelOutput)] / op.attrs.featureGroupCount;
      need(Formula::divides(n, view.ctx.constant(columns)),
           "n tile {0} must divide the {1} output features of a group",
           {n, view.ctx.constant(columns)});
    }
    if (isWgmma) {
      need(Formula::divides(view.ctx.constant(4), warps),
           "{0} warps must be a multiple of 4 for wgmma", {warps});
      need(Formula::divides(warps * 128, m * roundUp(n, 8)),
           "the 64 x 8 results of the tile {0} x {1} must divide evenly among the {2} warps in "
           "groups of 4",
           {m, n, warps});
      if (auto why = tmaRefusal(graph, group.group, dot.op))
        need(Formula::constant(false), *why, {});
    } else {
      need(Formula::divides(warps * 128, roundUp(m, 16) * roundUp(n, 8)),
           "the 16 x 8 results of the tile {0} x {1} must divide evenly among {2} warps",
           {m, n, warps});
    }
  }
  group.constraints.insert(group.constraints.end(), added.begin(), added.end());
}

} // namespace tilewright
