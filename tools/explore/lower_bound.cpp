#include "tools/explore/lower_bound.h"

#include "analysis/indexing/op_cost.h"
#include "analysis/ir/dot_algorithm.h"
#include "analysis/ir/free_view.h"
#include "analysis/tiling/masks.h"
#include "costmodel/formula.h"
#include "tools/explore/mask_share.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// The computation of a fusion; an invalid id where it has none.
GraphId bodyOf(const Op &fusion) {
  for (const CalledGraph &called : fusion.called)
    if (called.role == CallRole::Calls)
      return called.graph;
  return {};
}

/// Of an extent that is known at run time only the least is 0.
double bytesOf(const Op &op) {
  const bool isKnown = !op.shape.isTuple && !op.shape.isDynamic();
  return isKnown ? static_cast<double>(op.shape.byteSize().value_or(0)) : 0;
}

/// Products of one kind as one, so that nested fusions don't multiply their number.
void addProduct(std::vector<NeededWork::Product> &products, const NeededWork::Product &product) {
  for (NeededWork::Product &known : products)
    if (known.type == product.type && known.tensorCores == product.tensorCores) {
      known.flops += product.flops;
      return;
    }
  products.push_back(product);
}

/// What follows from a whole result of a fusion's computation.
struct FusedNeeds {
  std::vector<bool> read; ///< of its ops, as Needs::read
  NeededWork work;
  double writtenBytes = 0;
};

/// Looks at each computation once, however many fusions run it.
class FusionFinder {
public:
  explicit FusionFinder(const Module &module) : module(module) {}

  const FusedNeeds &of(GraphId id);

private:
  const Module &module;
  std::map<uint32_t, FusedNeeds> known;
};

bool isProduct(Opcode opcode) { return opcode == Opcode::Dot || opcode == Opcode::Convolution; }

/// What follows from whole results, from the users back to what they read.
class Needs {
public:
  /// `isInside`: ops that are computed; the others lie in memory. `isKernel`: a copy is made, as
  /// that is what the kernel is for; else whoever lays out the memory may save it.
  Needs(const Module &module, FusionFinder &fusions, const Graph &graph, std::vector<bool> isInside,
        std::span<const OpId> roots, bool isKernel)
      : module(module), fusions(fusions), graph(graph), isInside(std::move(isInside)),
        isKernel(isKernel), masks(graph) {
    needed.assign(graph.size(), {0, false});
    read.assign(graph.size(), false);
    for (OpId root : roots)
      needed[root.index] = {1, true};
    for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
      if (needed[i].share > 0 && this->isInside[i])
        visit(OpId{i});
  }

  /// Of everything but parameters and what they are made of, from the root.
  static Needs ofGraph(const Module &module, FusionFinder &fusions, const Graph &graph) {
    std::vector<bool> inside(graph.size());
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const Op &op = graph.op(OpId{i});
      const bool isElement = op.opcode == Opcode::GetTupleElement &&
                             graph.op(op.operands[0]).opcode == Opcode::Parameter;
      inside[i] = op.opcode != Opcode::Parameter && !isElement;
    }
    std::vector<OpId> roots;
    if (graph.root().isValid())
      roots.push_back(graph.root());
    return {module, fusions, graph, std::move(inside), roots, false};
  }

  /// Bytes that making a result writes: none for arguments passed on, the update for updates in
  /// place, and none that we know of for scatters and for ops that are not modelled.
  double writtenBytes(OpId id) const;

  std::vector<bool> read; ///< every element is needed by something that computes or moves it
  NeededWork work;        ///< its arithmetic

private:
  /// How much of an op's value is needed at least.
  using Need = MaskShare;

  void need(OpId id, Need by = {}) {
    Need &known = needed[id.index];
    known = {std::max(known.share, by.share), known.isEveryLine || by.isEveryLine};
    read[id.index] = read[id.index] || by.share == 1;
  }
  /// From an op that moves nothing itself, to what it is made of.
  void pass(OpId from, OpId id, Need by) {
    const bool isRead = read[id.index];
    need(id, by);
    read[id.index] = isRead || (read[from.index] && by.share == 1);
  }
  bool movesNothing(OpId id) const { return movesNoByte(graph, id, isKernel); }
  void needAll(const Op &op) {
    for (OpId operand : op.operands)
      need(operand);
  }
  void visit(OpId id);
  void visitFusion(const Op &op);
  void count(OpId id, double share);
  std::optional<Need> leftBy(const Op &select);
  double productShare(const Op &product);

  const Module &module;
  FusionFinder &fusions;
  const Graph &graph;
  std::vector<bool> isInside;
  bool isKernel;
  MaskReader masks;
  std::vector<Need> needed;
};

/// Of a select's first choice. Nothing where only values decide.
std::optional<Needs::Need> Needs::leftBy(const Op &select) {
  if (select.shape.isTuple || select.operands.size() != 3)
    return std::nullopt;
  const std::vector<AffineValue> conditions = masks.conditionsOf(select.operands[0]);
  const bool isKnown = std::all_of(conditions.begin(), conditions.end(), [&](const auto &each) {
    return each.coefficients.size() == select.shape.rank();
  });
  if (conditions.empty() || !isKnown)
    return std::nullopt;
  return maskShare(conditions, select.shape.dims);
}

/// Of a product's multiplications, those that no mask on the way to an operand makes zero.
double Needs::productShare(const Op &product) {
  double share = 1;
  std::vector<OpId> stack(product.operands);
  std::set<OpId> seen;
  while (!stack.empty()) {
    const OpId id = stack.back();
    stack.pop_back();
    const Op &op = graph.op(id);
    if (!isInside[id.index] || !seen.insert(id).second || isProduct(op.opcode))
      continue;
    if (op.opcode == Opcode::Select)
      if (const std::optional<Need> left = leftBy(op))
        share = std::min(share, left->share);
    stack.insert(stack.end(), op.operands.begin(), op.operands.end());
  }
  return share;
}

void Needs::count(OpId id, double share) {
  const Op &op = graph.op(id);
  if (OpClass cls = opClass(op.opcode); cls == OpClass::Tuple || cls == OpClass::Leaf)
    return;
  const OpCost cost = opCost(module, graph, id);
  const double flops = share * static_cast<double>(cost.isCounted ? cost.flops : 0);
  if (!isProduct(op.opcode)) {
    work.otherFlops += flops;
    return;
  }
  NeededWork::Product product;
  product.type = graph.op(op.operands[0]).shape.dtype;
  product.flops = flops * productShare(op);
  if (auto algorithm = dotAlgorithm(graph, op)) {
    product.type = algorithm->product;
    product.tensorCores = algorithm->tensorCores;
  }
  addProduct(work.products, product);
}

void Needs::visit(OpId id) {
  const Op &op = graph.op(id);
  const Need mine = needed[id.index];
  const bool isWhole = mine.share == 1;
  if (op.opcode == Opcode::Fusion)
    return isWhole ? visitFusion(op) : void();
  count(id, mine.share);
  if (op.opcode == Opcode::Tuple || movesNothing(id)) {
    for (OpId operand : op.operands)
      pass(id, operand, {mine.share, isWhole});
    return;
  }
  switch (op.opcode) {
  case Opcode::GetTupleElement:
    if (isWhole)
      needed[op.operands[0].index] = {1, true};
    return;
  case Opcode::Dot: // an element of its result for each row and column
    if (isWhole || mine.isEveryLine)
      needAll(op);
    return;
  case Opcode::Transpose:
  case Opcode::Reverse:
    return need(op.operands[0], mine);
  case Opcode::Reshape:
    return need(op.operands[0], {mine.share, isWhole});
  case Opcode::Broadcast:
  case Opcode::Concatenate:
  case Opcode::Reduce:
    return isWhole ? needAll(op) : void();
  case Opcode::DynamicUpdateSlice: // may be done in place
    return isWhole ? need(op.operands[1]) : void();
  case Opcode::Select:
    return isWhole ? need(op.operands[1], leftBy(op).value_or(Need{0, false})) : void();
  default:
    if (opClass(op.opcode) == OpClass::Elementwise)
      for (OpId operand : op.operands)
        need(operand, mine);
    return;
  }
}

void Needs::visitFusion(const Op &op) {
  const GraphId bodyId = bodyOf(op);
  if (!bodyId.isValid())
    return;
  const FusedNeeds &inner = fusions.of(bodyId);
  const Graph &body = module.graph(bodyId);
  work.otherFlops += inner.work.otherFlops;
  for (const NeededWork::Product &product : inner.work.products)
    addProduct(work.products, product);
  for (OpId parameter : body.parameters())
    if (inner.read[parameter.index])
      need(op.operands[static_cast<size_t>(body.op(parameter).attrs.parameterNumber)]);
}

double Needs::writtenBytes(OpId id) const {
  const Op &op = graph.op(id);
  const OpClass cls = opClass(op.opcode);
  if (!isInside[id.index])
    return 0;
  if (movesNothing(id))
    return writtenBytes(op.operands[0]);
  switch (op.opcode) {
  case Opcode::DynamicUpdateSlice:
    return bytesOf(graph.op(op.operands[1]));
  case Opcode::Fusion: {
    const GraphId body = bodyOf(op);
    return body.isValid() ? fusions.of(body).writtenBytes : 0;
  }
  case Opcode::Tuple: {
    double bytes = 0;
    for (OpId operand : op.operands)
      if (opClass(graph.op(operand).opcode) != OpClass::Tuple)
        bytes += writtenBytes(operand);
    return bytes;
  }
  case Opcode::Scatter: // may be done in place, at places that values decide
    return 0;
  default:
    return cls == OpClass::Elementwise || cls == OpClass::Structured ? bytesOf(op) : 0;
  }
}

/// Finds what a computation's own fusions call first, so that no walk nests as fusions do.
const FusedNeeds &FusionFinder::of(GraphId wanted) {
  std::vector<std::pair<GraphId, bool>> stack{{wanted, false}}; // … and are its callees known?
  while (!stack.empty()) {
    const auto [id, isReady] = stack.back();
    stack.pop_back();
    if (known.contains(id.index))
      continue;
    const Graph &graph = module.graph(id);
    if (!isReady) {
      stack.push_back({id, true});
      for (const Op &op : graph.all())
        if (GraphId body = op.opcode == Opcode::Fusion ? bodyOf(op) : GraphId{}; body.isValid())
          stack.push_back({body, false});
      continue;
    }
    Needs needs = Needs::ofGraph(module, *this, graph);
    FusedNeeds fused{std::move(needs.read), std::move(needs.work), 0};
    if (graph.root().isValid())
      fused.writtenBytes = needs.writtenBytes(graph.root());
    known.emplace(id.index, std::move(fused));
  }
  return known.at(wanted.index);
}

/// What lies in memory and is read whole, each tensor once.
double readBytes(const Graph &graph, const Needs &needs, const std::vector<bool> &isInput) {
  std::map<std::pair<OpId, int64_t>, double> tensors;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    if (!needs.read[i] || !isInput[i])
      continue;
    if (op.opcode == Opcode::GetTupleElement)
      tensors[{op.operands[0], op.attrs.tupleIndex}] = bytesOf(op);
    else
      tensors[{OpId{i}, -1}] = bytesOf(op);
  }
  double bytes = 0;
  for (const auto &[tensor, size] : tensors)
    bytes += size;
  return bytes;
}

double productNs(const NeededWork::Product &product, const Device &device, bool withTensorCores) {
  const double peak =
      std::max(device.peakFlops(product.type, withTensorCores && product.tensorCores),
               device.peakFlops(product.type, false));
  return peak > 0 ? product.flops / peak : 0;
}

} // namespace

NeededWork neededWork(const Module &module, const Graph &graph) {
  FusionFinder fusions(module);
  const Needs needs = Needs::ofGraph(module, fusions, graph);
  NeededWork work = needs.work;
  std::vector<bool> isInput(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    isInput[i] =
        op.opcode == Opcode::Parameter || (op.opcode == Opcode::GetTupleElement &&
                                           graph.op(op.operands[0]).opcode == Opcode::Parameter);
  }
  work.readBytes = readBytes(graph, needs, isInput);
  if (graph.root().isValid())
    work.writtenBytes = needs.writtenBytes(graph.root());
  return work;
}

NeededWork neededWork(const Module &module, const Graph &graph, const Group &group) {
  std::vector<bool> isInside(graph.size()), isInput(graph.size());
  for (OpId id : group.ops)
    isInside[id.index] = true;
  for (OpId id : group.inputs)
    isInput[id.index] = true;
  FusionFinder fusions(module);
  const Needs needs(module, fusions, graph, isInside, group.roots, true);
  NeededWork work = needs.work;
  work.readBytes = readBytes(graph, needs, isInput);
  for (OpId root : group.roots)
    work.writtenBytes += needs.writtenBytes(root);
  return work;
}

double lowerBoundNs(const NeededWork &work, const Device &device, CacheState cache,
                    bool withTensorCores) {
  double peak = 1, products = 0;
  for (DType type : {DType::F8E4M3FN, DType::BF16, DType::F32})
    peak = std::max({peak, device.peakFlops(type, true), device.peakFlops(type, false)});
  for (const NeededWork::Product &product : work.products)
    products += productNs(product, device, withTensorCores);
  const double kept = std::max(work.writtenBytes - device.l2Bytes, 0.0);
  double moved = (work.readBytes + kept) / device.dramBandwidth;
  if (cache == CacheState::Warm) {
    const double bytes = work.readBytes + work.writtenBytes;
    moved = std::max(std::max(bytes - device.l2Bytes, 0.0) / device.dramBandwidth,
                     bytes / device.l2Bandwidth);
  }
  return std::max({products, work.otherFlops / peak, moved});
}

double leastPriceNs(const NeededWork &work, const Device &device, const Parameters &parameters,
                    CacheState cache, Instruction strongest) {
  double rate = formula::fmaRate;
  if (strongest >= Instruction::MmaSync)
    rate = std::max(rate, parameters.mmaSyncRate);
  if (strongest >= Instruction::Wgmma)
    rate = std::max(rate, parameters.wgmmaRate);
  double products = 0;
  for (const NeededWork::Product &product : work.products)
    products += productNs(product, device, strongest != Instruction::Fma) / rate;
  return leastTimeNs(work.readBytes, work.writtenBytes, products, device, parameters, cache);
}

} // namespace tilewright
