#include "analysis/tiling/resources.h"

#include "analysis/tiling/chain_constraints.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tilewright {
namespace {

/// What the resource rules read of a group, looked up once.
struct View {
  const Graph &graph;
  const TiledGroup &group;
  ExprContext &ctx;

  View(const Graph &graph, const TiledGroup &group)
      : graph(graph), group(group), ctx(group.space.parameters.front().size.context()) {}

  Expr parameter(std::string_view name) const { return group.space.find(name)->size; }
  const Op &op(unsigned instance) const { return graph[group.instances[instance].op]; }
  DType dtype(unsigned instance) const {
    const Shape &shape = op(instance).shape;
    return shape.isTuple && !shape.elements.empty() ? shape.elements.front().dtype : shape.dtype;
  }
  Expr elements(unsigned instance) const {
    return group.instances[instance].tile.elementCount(ctx);
  }
  Expr bytes(unsigned instance) const {
    const unsigned bits = bitWidth(dtype(instance));
    Expr count = elements(instance);
    return bits % 8 == 0 ? count * (bits / 8) : (count * bits).ceilDiv(8);
  }
  bool isDot(unsigned instance) const {
    return !group.instances[instance].isInput &&
           (op(instance).opcode == Opcode::Dot || op(instance).opcode == Opcode::Convolution);
  }
};

/// The dim that is contiguous in memory, skipping dims of extent 1; -1 if all are.
int fastestDim(const Shape &shape) {
  for (int64_t dim : shape.minorToMajorOrDefault())
    if (dim >= 0 && dim < static_cast<int64_t>(shape.dims.size()) && shape.dims[dim] > 1)
      return static_cast<int>(dim);
  return -1;
}

/// Program ids in the offset of the fastest dim.
std::set<VarId> fastestPrograms(const View &view, unsigned instance) {
  std::set<VarId> out;
  const int dim = fastestDim(view.op(instance).shape);
  if (dim < 0 || view.group.instances[instance].tile.dims.size() <= static_cast<size_t>(dim))
    return out;
  for (VarId var : variablesOf(view.group.instances[instance].tile.dims[dim].offset))
    if (view.ctx.info(var).kind == VarKind::ProgramId)
      out.insert(var);
  return out;
}

/// Instances that read each instance.
std::vector<std::vector<unsigned>> readers(const TiledGroup &group) {
  std::vector<std::vector<unsigned>> out(group.instances.size());
  for (unsigned i = 0; i < group.instances.size(); ++i)
    for (unsigned operand : group.instances[i].operands)
      if (out[operand].empty() || out[operand].back() != i)
        out[operand].push_back(i);
  return out;
}

Expr roundUp(Expr value, int64_t unit) { return value.ceilDiv(unit) * unit; }
Expr roundUp(Expr value, Expr unit) { return value.ceilDiv(unit) * unit; }

/// Elements of each operand of a convolution that are staged: rows or columns, times a step.
Expr stagedElements(const View &view, const TileInstance &instance, size_t operand) {
  const Op &op = view.graph[instance.op];
  const auto columns = static_cast<size_t>(op.attrs.conv.outputFeature);
  Expr across = view.ctx.constant(1);
  for (size_t d = 0; d < instance.tile.dims.size(); ++d)
    if ((d == columns) == (operand == 1))
      across = across * instance.tile.dims[d].size;
  if (auto packed = packedConvolutionStep(op, view.graph[op.operands[1]].shape))
    return across * roundUp(view.ctx.constant(*packed),
                            256 / int64_t(bitWidth(view.dtype(instance.operands[operand]))));
  return across * view.group.space.parameters[instance.reduces.front()].size;
}

constexpr int64_t barrierBytes = 8, swizzleUnit = 1024; ///< of wgmma

/// Shared memory of a chain of two dots.
void addChain(const View &view, const TwoDots &dots, bool isWgmma, Resources &out) {
  const ChainSizes sizes = chainSizes(view.graph, view.group, dots);
  const Expr stages = view.parameter("stages"), warps = view.parameter("warps");
  const Op &first = view.graph[dots.first], &second = view.graph[dots.second];
  const OpId values = second.operands[1 - dots.scoresSide];
  auto bytes = [&](OpId operand, Expr rows, Expr columns) {
    const unsigned bits = bitWidth(view.graph[operand].shape.dtype);
    return sizes.batch *
           roundUp((rows * columns * bits).ceilDiv(8), isWgmma ? swizzleUnit : int64_t(128));
  };
  const Expr depth = roundUp(sizes.depth, 16), step = roundUp(sizes.step, 16);
  // Both operands of the first dot are of one type ("search-chain").
  out.sharedItems.push_back({dots.first, fmt::format("the rows' operand of %{}", first.name),
                             bytes(first.operands[0], roundUp(sizes.rows, warps * 16), depth)});
  out.sharedItems.push_back({dots.first,
                             fmt::format("the columns' operand of %{}, staged", first.name),
                             bytes(first.operands[0], step, depth) * stages});
  out.sharedItems.push_back({dots.second,
                             fmt::format("operand {} of %{} (%{}), staged", 1 - dots.scoresSide,
                                         second.name, view.graph[values].name),
                             bytes(values, step, roundUp(sizes.columns, 16)) * stages});
  if (isWgmma)
    out.sharedItems.push_back({dots.second, fmt::format("barriers of %{}", second.name),
                               stages * (4 * barrierBytes) + barrierBytes});
}

/// Elements of an operand of a dot as wgmma reads it. m is whole products ("mma-shape"). n is
/// padded to whole products, of 8 columns, or of 16 for sums of integers beyond 32; where columns
/// are contiguous in memory a line of them is a multiple of 32 B.
Expr wgmmaElements(const View &view, unsigned dot, size_t operand) {
  const TileInstance &instance = view.group.instances[dot];
  const unsigned number = instance.operands[operand];
  if (operand != 1 || view.op(dot).opcode != Opcode::Dot)
    return view.elements(number);
  const DotDims &dims = view.op(dot).attrs.dot;
  const Op &rhs = view.op(number);
  auto isColumn = [&](size_t dim) {
    for (const std::vector<int64_t> *list : {&dims.rhsContracting, &dims.rhsBatch})
      if (std::find(list->begin(), list->end(), static_cast<int64_t>(dim)) != list->end())
        return false;
    return true;
  };
  Expr columns = view.ctx.constant(1), others = columns;
  const std::vector<TileDim> &tile = view.group.instances[number].tile.dims;
  for (size_t d = 0; d < tile.size(); ++d) {
    Expr &count = isColumn(d) ? columns : others;
    count = count * tile[d].size;
  }
  const int fastest = fastestDim(rhs.shape);
  const bool isLine = fastest >= 0 && isColumn(static_cast<size_t>(fastest));
  const unsigned bits = bitWidth(view.dtype(number));
  const Expr unit = isLine                     ? view.ctx.constant(256 / bits)
                    : isFloat(view.dtype(dot)) ? view.ctx.constant(8)
                                               : (columns - 32).max(0).min(1) * 8 + 8;
  return others * roundUp(columns, unit);
}

void addDots(const View &view, const std::vector<bool> &hasDot, bool isChain, bool isWgmma,
             Resources &out) {
  const Expr stages = view.parameter("stages");
  for (unsigned i = 0; i < view.group.instances.size(); ++i) {
    if (!view.isDot(i))
      continue;
    const TileInstance &dot = view.group.instances[i];
    for (size_t k = 0; k < dot.operands.size() && !isChain; ++k) {
      const unsigned operand = dot.operands[k];
      const bool isMadeHere = hasDot[operand];
      Expr bytes = view.op(i).opcode == Opcode::Convolution && !dot.reduces.empty()
                       ? stagedElements(view, dot, k) * (bitWidth(view.dtype(operand)) / 8)
                       : view.bytes(operand);
      if (isWgmma)
        bytes = roundUp((wgmmaElements(view, i, k) * bitWidth(view.dtype(operand))).ceilDiv(8),
                        swizzleUnit);
      out.sharedItems.push_back({dot.op,
                                 fmt::format("operand {} of %{} (%{}){}", k, view.op(i).name,
                                             view.op(operand).name, isMadeHere ? "" : ", staged"),
                                 isMadeHere ? bytes : bytes * stages});
    }
    if (isWgmma && !isChain)
      out.sharedItems.push_back(
          {dot.op, fmt::format("barriers of %{}", view.op(i).name), stages * (2 * barrierBytes)});
    // Accumulators have at least 32 bits.
    const int64_t words = std::max(1u, bitWidth(view.dtype(i)) / 32);
    out.registerItems.push_back({dot.op, fmt::format("accumulators of %{}", view.op(i).name),
                                 (view.elements(i) * words).ceilDiv(out.threads)});
  }
}

void addTransposes(const View &view, const std::vector<std::vector<unsigned>> &users,
                   const std::vector<bool> &feedsDot, Resources &out) {
  std::set<VarId> rootPrograms;
  for (unsigned root : view.group.roots) {
    std::set<VarId> mine = fastestPrograms(view, root);
    rootPrograms.insert(mine.begin(), mine.end());
  }
  for (unsigned i = 0; i < view.group.instances.size(); ++i) {
    if (!view.group.instances[i].isInput || feedsDot[i])
      continue;
    const std::set<VarId> mine = fastestPrograms(view, i);
    const bool runsAlong = std::any_of(mine.begin(), mine.end(),
                                       [&](VarId var) { return rootPrograms.count(var) > 0; });
    if (mine.empty() || rootPrograms.empty() || runsAlong)
      continue;
    // The op that turns it: the first transpose or bitcast on the way to the root.
    unsigned at = i;
    std::string name = fmt::format("tile of %{}", view.op(i).name);
    while (!users[at].empty()) {
      at = users[at].front();
      if (view.op(at).opcode == Opcode::Transpose || view.op(at).opcode == Opcode::Bitcast) {
        name = fmt::format("operand tile of %{}", view.op(at).name);
        break;
      }
    }
    out.sharedItems.push_back({view.group.instances[i].op, std::move(name), view.bytes(i)});
  }
}

void addReduces(const View &view, Resources &out) {
  const Expr warps = view.parameter("warps");
  for (unsigned i = 0; i < view.group.instances.size(); ++i) {
    if (view.group.instances[i].isInput || view.op(i).opcode != Opcode::Reduce)
      continue;
    const Expr rows = view.elements(i);
    const int64_t width = std::max<int64_t>(4, bitWidth(view.dtype(i)) / 8);
    const Expr isShared = (warps - rows).max(0).min(1); // fewer rows than warps
    out.sharedItems.push_back({view.group.instances[i].op,
                               fmt::format("cross-warp exchange of %{}", view.op(i).name),
                               rows * warps * isShared * width});
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

/// "{1} B for a, {2} B for b"; appends the amounts to the arguments.
std::string itemText(const std::vector<ResourceItem> &items, std::string_view unit,
                     std::vector<Expr> &args) {
  std::string out;
  for (const ResourceItem &item : items) {
    out += fmt::format("{}{{{}}}{} for {}", out.empty() ? "" : ", ", args.size(), unit, item.name);
    args.push_back(item.amount);
  }
  return out;
}

} // namespace

std::optional<int64_t> packedConvolutionStep(const Op &op, const Shape &kernel) {
  constexpr int64_t fewFeatures = 16, step = 32;
  const int64_t features = kernel.dims[static_cast<size_t>(op.attrs.conv.kernelInput)];
  if (features >= fewFeatures)
    return std::nullopt;
  int64_t total = features;
  for (const WindowDim &dim : op.attrs.window)
    total = std::min(total * dim.size, step); // what goes beyond a step doesn't matter
  return total;
}

Resources resourcesOf(const Graph &graph, const TiledGroup &group, Instruction instruction) {
  View view(graph, group);
  Resources out;
  out.threads = view.parameter("warps") * 32;
  out.grid = view.parameter("split_k");
  for (const TileParameter &p : group.space.parameters)
    if (p.role == TileParameter::Role::Parallel)
      out.grid = out.grid * p.tileCount();

  const std::vector<std::vector<unsigned>> users = readers(group);
  std::vector<bool> hasDot(group.instances.size()), feedsDot(group.instances.size());
  for (unsigned i = 0; i < group.instances.size(); ++i) {
    hasDot[i] = view.isDot(i);
    for (unsigned operand : group.instances[i].operands)
      hasDot[i] = hasDot[i] || hasDot[operand];
  }
  for (unsigned i = static_cast<unsigned>(group.instances.size()); i > 0; --i)
    for (unsigned user : users[i - 1])
      feedsDot[i - 1] = feedsDot[i - 1] || feedsDot[user] || view.isDot(user);
  const bool isWgmma = instruction == Instruction::Wgmma;
  const std::optional<TwoDots> chain = twoDots(graph, group.group);
  if (chain)
    addChain(view, *chain, isWgmma, out);
  addDots(view, hasDot, chain.has_value(), isWgmma, out);
  if (!chain) {
    addTransposes(view, users, feedsDot, out);
    addReduces(view, out);
  }

  out.sharedBytes = out.accumulatorRegistersPerThread = view.ctx.constant(0);
  for (const ResourceItem &item : out.sharedItems)
    out.sharedBytes = out.sharedBytes + item.amount;
  for (const ResourceItem &item : out.registerItems)
    out.accumulatorRegistersPerThread = out.accumulatorRegistersPerThread + item.amount;
  return out;
}

int64_t registersBesideAccumulators(Instruction instruction) {
  switch (instruction) {
  case Instruction::MmaSync:
    return 95;
  case Instruction::Wgmma:
    return 55;
  case Instruction::Fma:
    return 63;
  }
  return 0;
}

void addResourceConstraints(const Graph &graph, TiledGroup &group, const DeviceLimits &limits,
                            Instruction instruction) {
  const Resources r = resourcesOf(graph, group, instruction);
  ExprContext &ctx = r.threads.context();
  auto atMost = [&](Expr amount, int64_t limit, Provenance from) {
    group.constraints.push_back({Formula::lessEqual(amount, ctx.constant(limit)), std::move(from)});
  };
  atMost(r.threads, limits.threadsPerBlock,
         ofDevice("threads",
                  fmt::format("{{0}} threads a block, of at most {}", limits.threadsPerBlock),
                  {r.threads}));
  atMost(
      r.grid, limits.gridX,
      ofDevice("grid-limit", fmt::format("{{0}} blocks, of at most {}", limits.gridX), {r.grid}));
  if (!r.sharedItems.empty()) {
    std::vector<Expr> args{r.sharedBytes};
    std::string items = itemText(r.sharedItems, " B", args);
    atMost(r.sharedBytes, limits.sharedBytesPerBlock,
           ofDevice("shared-memory",
                    fmt::format("{{0}} B of shared memory a block, of at most {} B: {}",
                                limits.sharedBytesPerBlock, items),
                    std::move(args)));
  }
  if (!r.registerItems.empty()) {
    std::vector<Expr> args{r.accumulatorRegistersPerThread};
    std::string items = itemText(r.registerItems, "", args);
    const int64_t most = limits.registersPerThread - registersBesideAccumulators(instruction);
    atMost(r.accumulatorRegistersPerThread, most,
           ofDevice("registers",
                    fmt::format("{{0}} registers a thread, of at most {} beside the operands of "
                                "{}: {}",
                                most, toString(instruction), items),
                    args));
    const Expr all = r.accumulatorRegistersPerThread * r.threads;
    args[0] = all;
    atMost(all, limits.registersPerSm,
           ofDevice("registers",
                    fmt::format("{{0}} registers a block, of at most {}; a thread has {}",
                                limits.registersPerSm, items),
                    std::move(args)));
  }
}

bool isMatrixProduct(DType left, DType right, DType result) {
  if (left != right)
    return false;
  switch (left) {
  case DType::F16:
  case DType::BF16:
  case DType::F8E4M3FN:
  case DType::F8E5M2:
  case DType::F32:
    return isFloat(result) && result != DType::F64;
  case DType::S8:
  case DType::U8:
    return result == DType::S32;
  default:
    return false;
  }
}

void addInstructionConstraints(const Graph &graph, TiledGroup &group, Instruction instruction) {
  if (instruction == Instruction::Fma)
    return;
  View view(graph, group);
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
    const bool isKnown =
        isMatrixProduct(view.dtype(dot.operands[0]), view.dtype(dot.operands[1]), view.dtype(i)) &&
        (!isWgmma || bits < 32);
    const bool isConvolution = op.opcode == Opcode::Convolution;
    if (!isKnown || (isConvolution && (isWgmma || op.attrs.batchGroupCount != 1))) {
      need(Formula::constant(false),
           fmt::format("{} does not take a {} of {}", toString(instruction), toString(op.opcode),
                       toString(view.dtype(dot.operands[0]))),
           {});
      continue;
    }
    // m and n: products over the free dims; batch tiles hold one.
    const DotDims &d = op.attrs.dot;
    const Tile &tile = dot.tile;
    const size_t batch = d.lhsBatch.size();
    const size_t lhsFree =
        graph[op.operands[0]].shape.dims.size() - batch - d.lhsContracting.size();
    Expr m = one, n = one, k = one;
    for (size_t dim = 0; dim < tile.dims.size(); ++dim) {
      const Expr size = tile.dims[dim].size;
      if (isConvolution)
        (dim == static_cast<size_t>(op.attrs.conv.outputFeature) ? n : m) =
            (dim == static_cast<size_t>(op.attrs.conv.outputFeature) ? n : m) * size;
      else if (dim < batch)
        need(Formula::lessEqual(size, one), "batch tile {0} must be 1 for a matrix instruction",
             {size});
      else
        (dim < batch + lhsFree ? m : n) = (dim < batch + lhsFree ? m : n) * size;
    }
    for (unsigned parameter : dot.reduces)
      k = k * group.space.parameters[parameter].size;
    auto multiple = [&](Expr value, int64_t of, std::string_view what) {
      need(Formula::divides(view.ctx.constant(of), value),
           fmt::format("{} tile {{0}} must be a multiple of {} for {}", what, of,
                       toString(instruction)),
           {value});
    };
    const int64_t rows = isWgmma ? 64 : 16;
    multiple(m, rows, "m");
    multiple(n, 8, "n");
    const Shape &kernel = graph[op.operands[1]].shape;
    if (!isConvolution || !packedConvolutionStep(op, kernel))
      multiple(k, 256 / bits, "k");
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
      need(Formula::divides(warps * 16, m),
           "m tile {0} must be 64 rows times a whole number for each group of 4 of the {1} warps",
           {m, warps});
    } else {
      need(Formula::divides(warps * 128, m * n),
           "the 16 x 8 results of the tile {0} x {1} must divide evenly among {2} warps",
           {m, n, warps});
    }
  }
  group.constraints.insert(group.constraints.end(), added.begin(), added.end());
}

} // namespace tilewright
