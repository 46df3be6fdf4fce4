#include "analysis/program/build/frame.h"

#include "analysis/indexing/paths.h"
#include "analysis/program/build/build.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/element_work.h"
#include "analysis/tiling/matrix_product.h"
#include "analysis/tiling/resource_view.h"
#include "analysis/tiling/resources.h"

#include <algorithm>
#include <functional>

namespace tilewright::program {

namespace {

/// The dim whose variable an expression is.
std::optional<size_t> dimOf(Expr e, ExprContext &context, size_t rank) {
  for (size_t d = 0; d < rank; ++d)
    if (e == context.dim(static_cast<unsigned>(d)))
      return d;
  return std::nullopt;
}

class FrameFinder {
public:
  FrameFinder(const Graph &graph, const TiledGroup &group) : graph(graph), group(group) {}

  /// Of elements that are made one by one.
  Frame plain() {
    frame.root = group.group.roots.back();
    rank = resultShape(graph[frame.root], {})->rank();
    frame.isRow.assign(rank, false);
    frame.joined.assign(rank, std::nullopt);
    return frame;
  }

  llvm::Expected<Frame> run() {
    plain();
    if (isChain())
      return runChain();
    const CodeKind kind = kindOfCode(graph, group).kind;
    frame.isReduction = kind == CodeKind::Reduction || kind == CodeKind::Fused || isOfSeveral();
    if (kind == CodeKind::Dot)
      findDot();
    if (!frame.isReduction)
      return std::move(frame);
    for (OpId id : group.group.ops)
      if (graph[id].opcode == Opcode::Reduce)
        reductions.push_back(id);
    findReduced(reductions);
    if (llvm::Error error = findRows())
      return error;
    for (OpId id : reductions)
      if (llvm::Error error = join(id))
        return error;
    findFastest();
    return std::move(frame);
  }

private:
  /// Dots with others or with reductions beside them, and nothing else that takes a loop.
  bool isChain() {
    for (OpId id : group.group.ops) {
      const tilewright::Op &op = graph[id];
      if (op.opcode == Opcode::Dot)
        frame.dots.push_back(id);
      else if (op.opcode == Opcode::Reduce)
        reductions.push_back(id);
      else if (takesLoop(op.opcode))
        return clearChain();
    }
    bool isAlone = frame.dots.size() + reductions.size() < 2;
    return frame.dots.empty() || isAlone ? clearChain() : true;
  }
  bool clearChain() {
    frame.dots.clear();
    reductions.clear();
    return false;
  }

  llvm::Expected<Frame> runChain() {
    std::vector<OpId> loops = frame.dots;
    loops.insert(loops.end(), reductions.begin(), reductions.end());
    findReduced(loops);
    if (llvm::Error error = findCommonRows(loops))
      return error;
    frame.isReduction =
        !reductions.empty() || std::count(frame.isRow.begin(), frame.isRow.end(), false) > 0;
    frame.isAlongRows = frame.isReduction;
    for (OpId id : reductions)
      if (llvm::Error error = join(id))
        return error;
    return std::move(frame);
  }

  /// Where the root does not read it, from another result of the same dims, which has its tile.
  llvm::Expected<std::vector<IndexMap>> mapsFromResults(OpId id) {
    auto maps = mapsBetween(frame.root, id);
    const std::vector<int64_t> &dims = resultShape(graph[frame.root], {})->dims;
    for (OpId other : group.group.roots)
      if (maps && maps->empty() && id != frame.root && other != frame.root &&
          resultShape(graph[other], {})->dims == dims)
        maps = mapsBetween(other, id);
    return maps;
  }

  /// Rows are the dims of the root that all dots and reductions have, as far as it reads them.
  llvm::Error findCommonRows(const std::vector<OpId> &loops) {
    frame.isRow.assign(rank, true);
    std::vector<std::optional<DotSide>> sides(rank);
    for (OpId id : loops) {
      std::vector<bool> has(rank, id == frame.root);
      auto maps = mapsFromResults(id);
      if (!maps)
        return maps.takeError();
      if (maps->empty())
        continue;
      bool isDot = graph[id].opcode == Opcode::Dot;
      std::vector<DotSide> ofDot = isDot ? sidesOfResult(graph, id) : std::vector<DotSide>();
      for (const IndexMap &map : *maps)
        for (size_t d = 0; d < map.results().size(); ++d)
          for (VarId var : variablesOf(map.results()[d]))
            if (auto dim = dimOf(context.variableExpr(var), context, rank)) {
              has[*dim] = true;
              if (isDot && (!sides[*dim] || ofDot[d] == DotSide::Batch))
                sides[*dim] = ofDot[d];
            }
      for (size_t dim = 0; dim < rank; ++dim)
        frame.isRow[dim] = frame.isRow[dim] && has[dim];
    }
    findSingle(sides);
    return llvm::Error::success();
  }

  /// Of the rows the last one that is no batch is the instruction's; without columns its columns
  /// are the last ones.
  void findSingle(const std::vector<std::optional<DotSide>> &sides) {
    frame.isSingle = frame.isRow;
    bool hasColumns = std::count(frame.isRow.begin(), frame.isRow.end(), false) > 0;
    size_t kept = 0, most = hasColumns || rank == 0 ? 1 : 2;
    std::optional<DotSide> first;
    std::vector<int64_t> order = resultShape(graph[frame.root], {})->minorToMajorOrDefault();
    for (int64_t at : order) {
      auto dim = static_cast<size_t>(at);
      bool isOther = frame.isRow[dim] && sides[dim] && *sides[dim] != DotSide::Batch &&
                     resultShape(graph[frame.root], {})->dims[dim] > 1;
      if (!isOther || kept == most || (first && *first == *sides[dim]))
        continue;
      first = sides[dim];
      frame.isSingle[dim] = false;
      ++kept;
    }
  }

  void findReduced(const std::vector<OpId> &loops) {
    for (OpId id : loops)
      for (unsigned parameter : Frame::parametersOf(group, id))
        frame.reduced.push_back(parameter);
    std::sort(frame.reduced.begin(), frame.reduced.end());
    frame.reduced.erase(std::unique(frame.reduced.begin(), frame.reduced.end()),
                        frame.reduced.end());
  }

  /// The maps to each of several ops, along paths within the group.
  llvm::Expected<std::vector<std::vector<IndexMap>>> mapsBetween(OpId from,
                                                                 std::span<const OpId> to) {
    auto found = mapsWithin(graph, from, to, group.group.inputs, context);
    if (!found)
      return found.takeError();
    std::vector<std::vector<IndexMap>> maps(to.size());
    for (size_t i = 0; i < to.size(); ++i) {
      if ((*found)[i].refusal)
        return makeError(std::move(*(*found)[i].refusal));
      for (IndexMap &map : (*found)[i].maps.maps)
        if (!map.isKnownEmpty())
          maps[i].push_back(std::move(map));
    }
    return maps;
  }

  llvm::Expected<std::vector<IndexMap>> mapsBetween(OpId from, OpId to) {
    auto maps = mapsBetween(from, std::span(&to, 1));
    if (!maps)
      return maps.takeError();
    return std::move(maps->front());
  }

  void findDot() {
    for (OpId id : group.group.ops)
      if (graph[id].opcode == Opcode::Dot || graph[id].opcode == Opcode::Convolution)
        frame.dot = id;
    frame.reduced = Frame::parametersOf(group, frame.dot);
    const ResourceView view(graph, group);
    for (unsigned i = 0; i < group.instances.size(); ++i)
      if (group.instances[i].op == frame.dot)
        frame.sides = dotSides(view, i);
  }

  /// Reductions of several operands alone, of which code is made by loops.
  bool isOfSeveral() const {
    bool isFound = false;
    for (OpId id : group.group.ops) {
      const tilewright::Op &op = graph[id];
      bool isSeveral = op.opcode == Opcode::Reduce && op.operands.size() > 2;
      if (takesLoop(op.opcode) && !isSeveral)
        return false;
      isFound |= isSeveral;
    }
    return isFound;
  }

  llvm::Error findRows() {
    for (OpId id : reductions) {
      if (id == frame.root) {
        frame.isRow.assign(rank, true);
        continue;
      }
      auto maps = mapsBetween(frame.root, id);
      if (!maps)
        return maps.takeError();
      for (const IndexMap &map : *maps)
        for (Expr at : map.results())
          for (VarId var : variablesOf(at))
            if (auto dim = dimOf(context.variableExpr(var), context, rank))
              frame.isRow[*dim] = true;
    }
    return llvm::Error::success();
  }

  /// Dims of the root that read what is reduced at the same places as a reduction does.
  llvm::Error join(OpId id) {
    OpId input = graph[id].operands[0];
    const std::vector<unsigned> &parameters = Frame::parametersOf(group, id);
    std::vector<int64_t> dims = graph[id].attrs.dimensions;
    std::sort(dims.begin(), dims.end());
    std::vector<OpId> read{input};
    read.insert(read.end(), group.group.inputs.begin(), group.group.inputs.end());
    auto ofRoot = mapsBetween(frame.root, read);
    if (!ofRoot)
      return ofRoot.takeError();
    std::vector<OpId> common; // what the root reads, too
    for (size_t i = 1; i < read.size(); ++i)
      if (!(*ofRoot)[i].empty())
        common.push_back(read[i]);
    auto ofInput = mapsBetween(input, common);
    if (!ofInput)
      return ofInput.takeError();
    common.insert(common.begin(), input);
    ofInput->insert(ofInput->begin(), {IndexMap::identity(context, graph[input].shape.dims)});
    for (size_t i = 0, at = 0; i < read.size() && at < common.size(); ++i)
      if (read[i] == common[at]) {
        for (const IndexMap &a : (*ofRoot)[i])
          for (const IndexMap &b : (*ofInput)[at])
            join(a, b, dims, parameters, graph[input].shape.rank());
        ++at;
      }
    return llvm::Error::success();
  }

  void join(const IndexMap &ofRoot, const IndexMap &ofInput, const std::vector<int64_t> &dims,
            const std::vector<unsigned> &parameters, size_t inputRank) {
    for (size_t i = 0; i < ofRoot.results().size(); ++i) {
      auto rootDim = dimOf(ofRoot.results()[i], context, rank);
      auto inputDim = dimOf(ofInput.results()[i], context, inputRank);
      if (!rootDim || !inputDim || frame.isRow[*rootDim] || frame.joined[*rootDim])
        continue;
      auto at = std::find(dims.begin(), dims.end(), static_cast<int64_t>(*inputDim));
      if (at == dims.end())
        continue;
      unsigned parameter = parameters[static_cast<size_t>(at - dims.begin())];
      bool isTaken =
          std::find(frame.joined.begin(), frame.joined.end(), parameter) != frame.joined.end();
      if (!isTaken &&
          group.space.parameters[parameter].extent == group.space.parameters[*rootDim].extent)
        frame.joined[*rootDim] = parameter;
    }
  }

  void findFastest() {
    const tilewright::Op &first = graph[reductions.front()];
    const Shape &input = graph[first.operands[0]].shape;
    std::vector<int64_t> dims = first.attrs.dimensions;
    std::sort(dims.begin(), dims.end());
    for (int64_t dim : input.minorToMajorOrDefault()) {
      if (input.dims[static_cast<size_t>(dim)] == 1)
        continue;
      auto at = std::find(dims.begin(), dims.end(), dim);
      frame.isAlongRows = at != dims.end();
      if (frame.isAlongRows) {
        frame.fastest =
            Frame::parametersOf(group, reductions.front())[static_cast<size_t>(at - dims.begin())];
        return;
      }
      auto kept = static_cast<size_t>(
          dim - std::count_if(dims.begin(), dims.end(), [&](int64_t d) { return d < dim; }));
      if (reductions.front() == frame.root) {
        frame.fastest = static_cast<unsigned>(kept);
        return;
      }
      auto maps = mapsBetween(frame.root, reductions.front());
      if (!maps)
        llvm::consumeError(maps.takeError());
      else if (!maps->empty())
        if (auto root = dimOf(maps->front().results()[kept], context, rank))
          frame.fastest = static_cast<unsigned>(*root);
      return;
    }
  }

  const Graph &graph;
  const TiledGroup &group;
  ExprContext context;
  Frame frame;
  size_t rank = 0;
  std::vector<OpId> reductions;
};

} // namespace

const std::vector<unsigned> &Frame::parametersOf(const TiledGroup &group, OpId reduce) {
  static const std::vector<unsigned> none;
  for (const TileInstance &instance : group.instances)
    if (instance.op == reduce)
      return instance.reduces;
  return none;
}

llvm::Expected<Frame> frameOf(const Graph &graph, const TiledGroup &group, bool isByLoops) {
  if (isByLoops)
    return FrameFinder(graph, group).plain();
  return FrameFinder(graph, group).run();
}

/// The instruction of dots beside others: the same for all, a simpler one if a type needs it.
static Instruction instructionOfChain(const Graph &graph, const Frame &frame,
                                      Instruction instruction) {
  for (OpId dot : frame.dots)
    if (!whyNoMatrixProduct(graph, graph[dot], instruction).empty())
      return Instruction::Fma;
  return instruction;
}

/// Splits each case by conditions on tile sizes, of which the first that holds decides: what it
/// says of the variant is put down in it. Where none holds the variant stays as it is.
using Decision = std::pair<Expr, std::function<void(Variant &)>>;
static void splitCases(std::vector<VariantCase> &cases, const std::vector<Decision> &decisions) {
  std::vector<VariantCase> result;
  auto add = [&](VariantCase made) {
    if (!made.when.isConstant(0))
      result.push_back(std::move(made));
  };
  for (VariantCase &each : cases) {
    const Expr never = each.when.context().constant(0);
    for (const auto &[condition, apply] : decisions) {
      VariantCase holds{each.variant, select(condition, each.when, never)};
      apply(holds.variant);
      add(std::move(holds));
      each.when = select(condition, never, each.when);
    }
    add(std::move(each));
  }
  cases = std::move(result);
}

/// Of several dots, or of dots beside reductions: each dim of the result and each reduced one may
/// be covered by its tile or, where a matrix instruction has no axis for it, be one element.
static std::vector<VariantCase> chainVariants(const Graph &graph, const TiledGroup &group,
                                              const Frame &frame, Instruction instruction) {
  const std::vector<TileParameter> &parameters = group.space.parameters;
  ExprContext &context = parameters.front().size.context();
  const Expr one = context.constant(1);
  Variant first;
  first.instruction = instructionOfChain(graph, frame, instruction);
  const bool isMatrix = first.instruction != Instruction::Fma;
  first.isWhole.assign(parameters.size(), false);
  first.isOne.assign(parameters.size(), false);
  std::vector<VariantCase> cases{{first, one}};
  Expr rows = one;
  std::vector<size_t> rowDims;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const TileParameter &of = parameters[i];
    const bool isParallel = i < frame.isRow.size();
    if (!isParallel && !std::binary_search(frame.reduced.begin(), frame.reduced.end(), i))
      continue;
    const bool isSingle = isParallel && frame.isSingle[i];
    auto atLeast = [&](int64_t size) { return of.size.isAtLeast(context.constant(size)); };
    std::vector<Decision> decisions;
    if (isMatrix && isSingle)
      decisions.emplace_back(of.extent <= 1 ? one : one - atLeast(2),
                             [i](Variant &variant) { variant.isOne[i] = true; });
    decisions.emplace_back(of.extent <= 1 ? one : atLeast(of.extent),
                           [i](Variant &variant) { variant.isWhole[i] = true; });
    splitCases(cases, decisions);
    if (isParallel && frame.isRow[i] && !isSingle) {
      rows = rows * of.size;
      rowDims.push_back(i);
    }
  }
  const bool hasColumns = std::count(frame.isRow.begin(), frame.isRow.end(), false) > 0;
  if (!isMatrix || !(hasColumns || frame.isReduction))
    return cases;
  constexpr int64_t block = 16; // rows of an instruction
  const Expr isEven =
      rows.ceilDiv(block).mod(group.space.find("warps")->size).isEqual(context.constant(0));
  std::vector<VariantCase> result;
  for (VariantCase &each : cases) {
    // Rows that are covered are padded to as many for each warp.
    const bool areWhole = std::all_of(rowDims.begin(), rowDims.end(),
                                      [&](size_t i) { return each.variant.isWhole[i]; });
    std::vector<VariantCase> split{std::move(each)};
    splitCases(split, {{areWhole ? one : isEven, [](Variant &of) { of.isByRows = true; }}});
    for (VariantCase &of : split)
      result.push_back(std::move(of));
  }
  return result;
}

/// What covers its dim: reduced ones where a thread has all values of its part of a row at once,
/// and each dim of the result along the row by itself.
static std::vector<VariantCase> rowVariants(const Graph &graph, const TiledGroup &group,
                                            const Frame &frame) {
  const std::vector<TileParameter> &parameters = group.space.parameters;
  ExprContext &context = parameters.front().size.context();
  std::vector<bool> none(parameters.size());
  std::vector<VariantCase> cases{{{none}, context.constant(1)}};
  auto split = [&](Expr condition, const std::vector<bool> &wholes) {
    splitCases(cases, {{condition, [&](Variant &variant) {
                          for (size_t i = 0; i < wholes.size(); ++i)
                            variant.isWhole[i] = variant.isWhole[i] || wholes[i];
                        }}});
  };
  if (!frame.isReduction)
    return cases;
  std::vector<bool> reduced = none;
  for (unsigned parameter : frame.reduced)
    reduced[parameter] = true;
  split(reductionTiles(ResourceView(graph, group)).isWhole, reduced);
  for (size_t dim = 0; dim < frame.isRow.size(); ++dim) {
    std::vector<bool> one = none;
    one[dim] = true;
    if (!frame.isRow[dim])
      split(parameters[dim].extent <= 1
                ? context.constant(1)
                : parameters[dim].size.isAtLeast(context.constant(parameters[dim].extent)),
            one);
  }
  return cases;
}

std::vector<VariantCase> variantsOf(const Graph &graph, const TiledGroup &group, const Frame &frame,
                                    Instruction instruction) {
  if (!frame.dots.empty())
    return chainVariants(graph, group, frame, instruction);
  return rowVariants(graph, group, frame);
}

/// All columns of a tile read their windows from the same group of features.
static llvm::Error checkFeatureGroups(const Graph &graph, const Frame &frame,
                                      std::span<const int64_t> values) {
  const tilewright::Op &op = graph[frame.dot];
  const int64_t groups = op.attrs.featureGroupCount;
  if (groups == 1)
    return llvm::Error::success();
  int64_t outputs = graph[op.operands[1]].shape.dims[size_t(op.attrs.conv.kernelOutput)];
  int64_t columns = 1, wide = 0;
  for (size_t dim = 0; dim < frame.sides.size(); ++dim)
    if (frame.sides[dim] == DotSide::Columns) {
      columns *= values[dim];
      wide += values[dim] > 1;
    }
  if (outputs / groups % columns == 0 && wide <= 1)
    return llvm::Error::success();
  return makeError(DiagClass::Unsupported,
                   "%{}: a tile of {} output features is not within one of {} groups of {}",
                   op.name, columns, groups, outputs / groups);
}

llvm::Expected<Variant> variantOf(const Graph &graph, const TiledGroup &group,
                                  std::span<const int64_t> values, Instruction instruction,
                                  bool isByLoops) {
  llvm::Expected<Frame> frame = frameOf(graph, group, isByLoops);
  if (!frame)
    return frame.takeError();
  Variant variant;
  variant.isByLoops = isByLoops;
  if (frame->dot.isValid())
    variant.instruction = codeOf(graph, group, instruction).instruction;
  const Assignment point = group.space.assign(values);
  auto taken = [&](std::vector<VariantCase> cases) {
    auto at = std::find_if(cases.begin(), cases.end(), [&](const VariantCase &each) {
      return evaluate(each.when, point).value_or(0) != 0;
    });
    return at == cases.end() ? Variant() : std::move(at->variant);
  };
  if (!frame->dots.empty())
    return taken(chainVariants(graph, group, *frame, instruction));
  variant.isWhole = taken(rowVariants(graph, group, *frame)).isWhole;
  if (frame->dot.isValid() && graph[frame->dot].opcode == Opcode::Convolution)
    if (llvm::Error error = checkFeatureGroups(graph, *frame, values))
      return error;
  if (variant.instruction == Instruction::Fma)
    return variant;
  // By rows, columns and what is contracted: whether a tile that covers all of it is padded.
  const Shape &left = graph[graph[frame->dot].operands[0]].shape;
  const int64_t depth = 256 / static_cast<int64_t>(bitWidth(left.dtype));
  variant.isPadded.assign(group.space.parameters.size(), false);
  for (size_t i = 0; i < group.space.parameters.size(); ++i) {
    bool isParallel = i < frame->isRow.size();
    variant.isOne.push_back(isParallel && values[i] == 1 && group.space.parameters[i].extent > 1);
  }
  auto pad = [&](const std::vector<unsigned> &parameters, int64_t unit) {
    int64_t size = 1, whole = 1;
    for (unsigned i : parameters) {
      size *= values[i];
      whole *= group.space.parameters[i].extent;
    }
    for (unsigned i : parameters)
      variant.isPadded[i] =
          size == whole && size % unit != 0 && group.space.parameters[i].extent > 1;
  };
  const bool isWgmma = variant.instruction == Instruction::Wgmma;
  for (auto [side, unit] :
       {std::pair(DotSide::Rows, isWgmma ? 64 : 16), {DotSide::Columns, isWgmma ? 16 : 8}}) {
    std::vector<unsigned> parameters;
    for (unsigned i = 0; i < frame->sides.size(); ++i)
      if (frame->sides[i] == side)
        parameters.push_back(i);
    pad(parameters, unit);
  }
  pad(frame->reduced, depth);
  return variant;
}

SizeValues sizesOf(const Program &program, const TiledGroup &group,
                   std::span<const int64_t> values) {
  SizeValues sizes;
  for (const std::string &name : freeSizes(program)) {
    std::optional<size_t> at = group.space.indexOf(name == "W" ? "warps" : name);
    if (at)
      sizes[name] = values[*at];
  }
  return sizes;
}

} // namespace tilewright::program
