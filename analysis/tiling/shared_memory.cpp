// Shared memory of a CTA, exact to the byte, for each kind of lowering.
#include "analysis/tiling/chain_constraints.h"
#include "analysis/tiling/resource_view.h"
#include "analysis/tiling/strided_view.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tilewright {
namespace {

constexpr int64_t barrierBytes = 8, swizzleUnit = 1024; ///< of wgmma
constexpr int64_t tileUnit = 128;                       ///< of the others
constexpr int64_t kBytes = 32;                          ///< of K in one matrix instruction

void addChain(const ResourceView &view, const TwoDots &dots, bool isWgmma, Resources &out) {
  const ChainSizes sizes = chainSizes(view.graph, view.group, dots);
  const Expr warps = view.parameter("warps");
  const Op &first = view.graph[dots.first], &second = view.graph[dots.second];
  const OpId values = second.operands[1 - dots.scoresSide];
  auto bytes = [&](OpId operand, Expr rows, Expr columns) {
    const unsigned bits = bitWidth(view.graph[operand].shape.dtype);
    return sizes.batch *
           roundUp((rows * columns * bits).ceilDiv(8), isWgmma ? swizzleUnit : tileUnit);
  };
  const Expr depth = roundUp(sizes.depth, 16), step = roundUp(sizes.step, 16);
  // Keys of one step are copied once.
  const Expr isOneStep = sizes.step.isAtLeast(view.constant(sizes.allKeys));
  const Expr stages = select(isOneStep, view.constant(1), view.parameter("stages"));
  // Columns of a tile are whole products; all of them are padded to that.
  const Expr columns = select(sizes.columns.isAtLeast(view.constant(sizes.allColumns)),
                              roundUp(sizes.columns, 16), sizes.columns);
  // Both operands of the first dot are of one type ("search-chain").
  out.sharedItems.push_back({dots.first, fmt::format("the rows' operand of %{}", first.name),
                             bytes(first.operands[0], roundUp(sizes.rows, warps * 16), depth)});
  out.sharedItems.push_back({dots.first,
                             fmt::format("the columns' operand of %{}, staged", first.name),
                             bytes(first.operands[0], step, depth) * stages});
  out.sharedItems.push_back({dots.second,
                             fmt::format("operand {} of %{} (%{}), staged", 1 - dots.scoresSide,
                                         second.name, view.graph[values].name),
                             bytes(values, step, columns) * stages});
  if (isWgmma)
    out.sharedItems.push_back({dots.second, fmt::format("barriers of %{}", second.name),
                               select(isOneStep, view.constant(3 * barrierBytes),
                                      stages * (4 * barrierBytes) + barrierBytes)});
}

/// An input that is copied for an operand of a dot.
struct CopiedInput {
  unsigned instance;
  bool isMoved; ///< its elements are the operand's
};

void addCopied(const ResourceView &view, unsigned instance, bool isMoved,
               std::vector<CopiedInput> &out) {
  const TileInstance &at = view.group.instances[instance];
  if (at.isInput) {
    bool isKnown = std::any_of(out.begin(), out.end(), [&](const CopiedInput &other) {
      return other.instance == instance;
    });
    if (!isKnown && !view.shapeOf(at.op).dims.empty())
      out.push_back({instance, isMoved});
    return;
  }
  isMoved = isMoved && (movesElements(view.graph, view.graph[at.op]) ||
                        view.graph[at.op].opcode == Opcode::Pad);
  for (unsigned operand : at.operands)
    addCopied(view, operand, isMoved, out);
}

/// Is there a tile of the root whose number or size an instance's tile depends on?
bool dependsOn(const ResourceView &view, unsigned instance, const std::vector<DotSide> &sides,
               DotSide side) {
  std::set<VarId> used;
  for (const TileDim &dim : view.group.instances[instance].tile.dims)
    for (Expr e : {dim.offset, dim.size})
      for (VarId var : variablesOf(e))
        used.insert(var);
  for (size_t i = 0; i < sides.size(); ++i) {
    const TileParameter &of = view.group.space.parameters[i];
    if (sides[i] == side && of.extent > 1 &&
        (used.count(of.index.variable()) > 0 || used.count(of.size.variable()) > 0))
      return true;
  }
  return false;
}

void addDot(const ResourceView &view, unsigned dot, Instruction instruction, Resources &out) {
  const Op &op = view.op(dot);
  const OpId id = view.group.instances[dot].op;
  const DotTiles tiles = dotTiles(view, dot);
  const Expr stages = view.parameter("stages");
  const bool isWgmma = instruction == Instruction::Wgmma;
  // Matrix instructions take whole products along K.
  const bool isMatrix = instruction != Instruction::Fma;
  const int64_t bytes = std::max(1u, bitWidth(view.shapeOf(op.operands[0]).dtype) / 8);
  Expr across[2] = {tiles.rows, tiles.columns}, step = tiles.step;
  if (isMatrix)
    step = roundUp(step, kBytes / bytes);
  if (isWgmma) {
    const WarpgroupTiles padded = warpgroupTiles(view, dot, tiles);
    across[0] = padded.rows;
    across[1] = padded.columns;
  } else if (isMatrix) {
    across[0] = roundUp(across[0], 16);
    across[1] = roundUp(across[1], 8);
  }
  // A convolution with feature groups is a product only if each tile is within a group; otherwise
  // it is a loop for each element.
  Expr isProduct = view.constant(1);
  if (int64_t groups = op.attrs.featureGroupCount; op.opcode == Opcode::Convolution && groups > 1) {
    const Shape &kernel = view.graph[op.operands[1]].shape;
    isProduct = isMultiple(
        view.constant(kernel.dims[static_cast<size_t>(op.attrs.conv.kernelOutput)] / groups),
        tiles.columns);
  }
  const std::vector<DotSide> sides = dotSides(view, dot);
  const bool isConvolution = op.opcode == Opcode::Convolution;
  int64_t products = isConvolution ? productsOf(view.graph, id).value_or(2) : 1;
  for (unsigned parameter : view.group.instances[dot].reduces)
    products *= view.group.space.parameters[parameter].extent;
  if (products == 1) // of two elements that threads read
    return;
  for (size_t k = 0; k < 2; ++k) {
    // What an operand is computed of is copied as it is read.
    std::vector<CopiedInput> inputs;
    addCopied(view, view.group.instances[dot].operands[k], true, inputs);
    Expr all = view.constant(0);
    for (const CopiedInput &input : inputs) {
      const TileInstance &at = view.group.instances[input.instance];
      const bool isWhole = input.isMoved || isConvolution;
      if (!isWhole && at.loops.empty())
        continue; // in registers
      const DotSide side = k == 0 ? DotSide::Rows : DotSide::Columns;
      Expr elements = step;
      if (dependsOn(view, input.instance, sides, side) || (isMatrix && isWhole) || isConvolution)
        elements = elements * across[k];
      if (dependsOn(view, input.instance, sides, DotSide::Batch))
        elements = elements * tiles.batch;
      Expr size = (elements * int64_t(bitWidth(view.shapeOf(at.op).dtype))).ceilDiv(8);
      all = all + roundUp(size, isWgmma ? swizzleUnit : tileUnit) * stages * isProduct;
    }
    out.sharedItems.push_back({id,
                               fmt::format("operand {} of %{} (%{}), staged", k, op.name,
                                           view.graph[op.operands[k]].name),
                               all});
  }
  if (isWgmma)
    out.sharedItems.push_back(
        {id, fmt::format("barriers of %{}", op.name), stages * (4 * barrierBytes)});
}

/// The users of each instance.
std::vector<std::vector<unsigned>> readers(const TiledGroup &group) {
  std::vector<std::vector<unsigned>> out(group.instances.size());
  for (unsigned i = 0; i < group.instances.size(); ++i)
    for (unsigned operand : group.instances[i].operands)
      if (out[operand].empty() || out[operand].back() != i)
        out[operand].push_back(i);
  return out;
}

void addTransposes(const ResourceView &view, Resources &out) {
  const std::vector<std::vector<unsigned>> users = readers(view.group);
  for (const StagedInputTile &input : stagedInputTiles(view)) {
    // The op that transposes it: the first transpose or bitcast on the way to the root.
    unsigned at = view.group.instancesOf(input.op).front();
    std::string name = fmt::format("tile of %{}", view.graph[input.op].name);
    while (!users[at].empty()) {
      at = users[at].front();
      if (view.op(at).opcode == Opcode::Transpose || view.op(at).opcode == Opcode::Bitcast) {
        name = fmt::format("operand tile of %{}", view.op(at).name);
        break;
      }
    }
    out.sharedItems.push_back({input.op, std::move(name), input.bytes});
  }
}

} // namespace

void addSharedItems(const ResourceView &view, const CodeChoice &code, Resources &out) {
  const bool isWgmma = code.instruction == Instruction::Wgmma;
  switch (code.kind) {
  case CodeKind::Chain:
    if (auto dots = twoDots(view.graph, view.group.group))
      addChain(view, *dots, isWgmma, out);
    break;
  case CodeKind::Dot: {
    std::set<OpId> seen;
    for (unsigned i = 0; i < view.group.instances.size(); ++i)
      if (view.isDot(i) && seen.insert(view.group.instances[i].op).second)
        addDot(view, i, code.instruction, out);
    break;
  }
  case CodeKind::Reduction: // of its program
  case CodeKind::Fused:
    break;
  case CodeKind::Elementwise:
    addTransposes(view, out);
    break;
  }
}

} // namespace tilewright
