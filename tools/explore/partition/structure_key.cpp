#include "tools/explore/partition/structure_key.h"

#include <algorithm>
#include <array>

namespace tilewright {

namespace {

void addAttributes(KeyHash &hash, const OpAttributes &a) {
  for (const std::vector<int64_t> *list : {&a.dimensions,
                                           &a.dot.lhsBatch,
                                           &a.dot.rhsBatch,
                                           &a.dot.lhsContracting,
                                           &a.dot.rhsContracting,
                                           &a.conv.inputSpatial,
                                           &a.conv.kernelSpatial,
                                           &a.conv.outputSpatial,
                                           &a.gather.offsetDims,
                                           &a.gather.collapsedSliceDims,
                                           &a.gather.startIndexMap,
                                           &a.gather.operandBatchingDims,
                                           &a.gather.startIndicesBatchingDims,
                                           &a.gather.sliceSizes,
                                           &a.scatter.updateWindowDims,
                                           &a.scatter.insertedWindowDims,
                                           &a.scatter.scatterDimsToOperandDims,
                                           &a.scatter.inputBatchingDims,
                                           &a.scatter.scatterIndicesBatchingDims,
                                           &a.dynamicSliceSizes})
    hash.add(*list);
  for (const WindowDim &w : a.window)
    hash.add({w.size, w.stride, w.padLow, w.padHigh, w.windowDilation, w.baseDilation, w.reversed});
  for (const PadDim &p : a.padding)
    hash.add({p.low, p.high, p.interior});
  for (const SliceDim &s : a.slice)
    hash.add({s.start, s.limit, s.step});
  hash.add({a.conv.inputBatch, a.conv.inputFeature, a.conv.kernelInput, a.conv.kernelOutput,
            a.conv.outputBatch, a.conv.outputFeature, a.featureGroupCount, a.batchGroupCount,
            a.gather.indexVectorDim, a.scatter.indexVectorDim, a.tupleIndex, a.exponentBits,
            a.mantissaBits, int64_t(a.comparison), a.replicaGroups.count, a.replicaGroups.size,
            a.asyncOpcode ? int64_t(*a.asyncOpcode) : -1});
  hash.add(a.customCallTarget);
  hash.add(a.fusionKind);
}

/// Where an op comes from and where it runs; the names of computations are in their contents.
bool saysNothingOfItsWork(std::string_view attribute) {
  constexpr std::array names{"metadata",
                             "sharding",
                             "calls",
                             "to_apply",
                             "body",
                             "condition",
                             "branch_computations",
                             "select",
                             "scatter",
                             "frontend_attributes"};
  return std::find(names.begin(), names.end(), attribute) != names.end();
}

StructureKey keyOf(const Shape &shape) {
  KeyHash hash;
  hash.add(shape.str(true));
  return hash.get();
}

} // namespace

StructureKeys::StructureKeys(const Module &module) : module(module) {
  const size_t count = module.all().size();
  ops.resize(count);
  graphs.resize(count);
  isKnown.resize(count);
  firstShape.resize(count);
  for (size_t g = 0; g < count; ++g) {
    firstShape[g] = shapes.size();
    for (const Op &op : module.all()[g].all())
      shapes.push_back(keyOf(op.shape));
  }
  // Those that are called first, without recursion: computations may nest deeply.
  std::vector<std::pair<GraphId, bool>> stack;
  for (uint32_t g = 0; g < count; ++g)
    stack.push_back({GraphId{g}, false});
  while (!stack.empty()) {
    const auto [id, isReady] = stack.back();
    stack.pop_back();
    if (isKnown[id.index])
      continue;
    if (isReady) {
      addGraph(id);
      continue;
    }
    stack.push_back({id, true});
    for (const Op &op : module.graph(id).all())
      for (const CalledGraph &call : op.called)
        if (call.graph.isValid() && !isKnown[call.graph.index])
          stack.push_back({call.graph, false});
  }
}

void StructureKeys::addGraph(GraphId id) {
  const Graph &graph = module.graph(id);
  KeyHash whole;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    KeyHash hash;
    hash.add(uint64_t(op.opcode));
    hash.add(shapes[firstShape[id.index] + i]);
    addAttributes(hash, op.attrs);
    hash.add(op.literal);
    for (const RawAttribute &attribute : op.rawAttrs)
      if (!saysNothingOfItsWork(attribute.name)) {
        hash.add(attribute.name);
        hash.add(attribute.text);
      }
    for (const CalledGraph &call : op.called) {
      hash.add(uint64_t(call.role));
      if (call.graph.isValid())
        hash.add(graphs[call.graph.index]);
    }
    ops[id.index].push_back(hash.get());
    whole.add(hash.get());
    for (OpId operand : op.operands)
      whole.add(operand.index);
    whole.add(uint64_t(op.attrs.parameterNumber));
  }
  whole.add(graph.root().index);
  graphs[id.index] = whole.get();
  isKnown[id.index] = true;
}

StructureKey StructureKeys::of(GraphId id, const Group &group) const {
  const Graph &graph = module.graph(id);
  const std::vector<StructureKey> &own = ops[id.index];
  KeyHash hash;
  std::vector<OpId> inputs; // by number: as they are first read
  for (OpId op : group.ops) {
    hash.add(own[op.index]);
    for (OpId operand : graph.op(op).operands) {
      auto inside = std::lower_bound(group.ops.begin(), group.ops.end(), operand);
      if (inside != group.ops.end() && *inside == operand) {
        hash.add(uint64_t(inside - group.ops.begin()));
        continue;
      }
      const auto input = std::find(inputs.begin(), inputs.end(), operand);
      hash.add(uint64_t(1) << 32 | uint64_t(input - inputs.begin()));
      if (input == inputs.end()) {
        inputs.push_back(operand);
        hash.add(shapes[firstShape[id.index] + operand.index]);
      }
    }
  }
  for (OpId root : group.roots) {
    hash.add(
        uint64_t(std::lower_bound(group.ops.begin(), group.ops.end(), root) - group.ops.begin()));
    if (auto within = group.within.find(root); within != group.within.end())
      hash.add(within->second);
  }
  return hash.get();
}

} // namespace tilewright
