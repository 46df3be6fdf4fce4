#include "analysis/indexing/recorded_reads.h"

#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright {

std::set<std::vector<int64_t>> readsOf(const IndexMap &map, const std::vector<int64_t> &output,
                                       const TensorValue &value) {
  std::set<std::vector<int64_t>> reads;
  Assignment at;
  std::vector<MapVariable> ranges = map.variables(VarKind::Range);
  std::vector<MapVariable> runtimes = map.variables(VarKind::Runtime);
  std::vector<MapVariable> dims = map.variables(VarKind::Dim);
  for (size_t i = 0; i < dims.size(); ++i)
    at.set(dims[i].var, output[i]);
  std::function<void(size_t)> visit = [&](size_t i) {
    if (i < ranges.size()) {
      for (int64_t s = ranges[i].domain.lo; s <= ranges[i].domain.hi; ++s) {
        at.set(ranges[i].var, s);
        visit(i + 1);
      }
      return;
    }
    // Sources may use other runtime variables: iterate until all have a value.
    Assignment point = at;
    for (size_t round = 0; round < runtimes.size(); ++round)
      for (const MapVariable &rt : runtimes) {
        std::vector<int64_t> element;
        for (Expr e : rt.source->element)
          if (std::optional<int64_t> coordinate = evaluate(e, point))
            element.push_back(*coordinate);
        if (element.size() == rt.source->element.size())
          point.set(rt.var,
                    std::clamp(value(rt.source->tensor, element), rt.domain.lo, rt.domain.hi));
      }
    if (std::optional<std::vector<int64_t>> read = map.evaluate(point))
      reads.insert(*read);
  };
  visit(0);
  return reads;
}

void forEachIndex(const std::vector<int64_t> &extents,
                  const std::function<void(const std::vector<int64_t> &)> &visit) {
  for (int64_t extent : extents)
    if (extent <= 0)
      return;
  std::vector<int64_t> at(extents.size());
  while (true) {
    visit(at);
    size_t d = extents.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1])
      at[--d] = 0;
    if (d == 0)
      return;
  }
}

int64_t linearPosition(const std::vector<int64_t> &at, const std::vector<int64_t> &extents) {
  int64_t result = 0;
  for (size_t i = 0; i < at.size(); ++i)
    result = result * extents[i] + at[i];
  return result;
}

TensorValue Recording::value() const {
  return [this](uint32_t tensor, const std::vector<int64_t> &element) {
    const Tensor &t = values.at(tensor);
    return t.integer(t.offset(element));
  };
}

llvm::Expected<Recording> recordReads(const Module &module, uint64_t seed) {
  Recording recording;
  recording.entry = module.entryId;
  EvalOptions options;
  options.recorder = &recording;
  options.onResult = [&](const OpInstance &instance, std::span<const Tensor *const> leaves) {
    if (instance.graph == recording.entry && !leaves.empty())
      recording.values[instance.op.index] = *leaves[0];
  };
  std::vector<Tensor> arguments = fillArguments(module, module.entryId, seed);
  std::vector<OpId> parameters = module.entry().parameters();
  for (size_t i = 0; i < arguments.size() && i < parameters.size(); ++i)
    recording.values[parameters[i].index] = arguments[i];
  llvm::Expected<std::vector<Tensor>> results =
      evaluate(module, module.entryId, arguments, options);
  if (!results)
    return results.takeError();
  return recording;
}

namespace {

/// True if the sets agree to the extent that the coverage states.
bool agrees(Coverage coverage, const std::set<int64_t> &claimed, const std::set<int64_t> &real) {
  return coverage == Coverage::Exact
             ? claimed == real
             : std::includes(claimed.begin(), claimed.end(), real.begin(), real.end());
}

/// All reads of one element by the maps, as positions in a tensor of these extents; empty if one
/// lies outside.
std::optional<std::set<int64_t>> positionsOf(const std::vector<IndexMap> &maps,
                                             const std::vector<int64_t> &at,
                                             const TensorValue &value,
                                             const std::vector<int64_t> &extents) {
  std::set<int64_t> positions;
  for (const IndexMap &map : maps)
    for (const std::vector<int64_t> &read : readsOf(map, at, value)) {
      for (size_t d = 0; d < read.size(); ++d)
        if (!Interval::ofExtent(extents[d]).contains(read[d]))
          return std::nullopt;
      positions.insert(linearPosition(read, extents));
    }
  return positions;
}

} // namespace

std::string differenceFromReads(const Graph &graph, Recording &recording, OpId id, unsigned k,
                                const OperandMaps &forward, const OperandMaps &back) {
  const Op &op = graph.op(id);
  const Shape &in = graph.op(op.operands[k]).shape, &out = *resultShape(op, {});
  std::string difference;
  auto check = [&](const OperandMaps &maps, const std::vector<int64_t> &at, const Shape &to,
                   const std::set<int64_t> &real, const char *direction) {
    std::optional<std::set<int64_t>> claimed =
        positionsOf(maps.maps, at, recording.value(), to.dims);
    if ((claimed && agrees(maps.coverage, *claimed, real)) || !difference.empty())
      return;
    difference = op.name + " operand " + std::to_string(k) + ", " + direction + " from element";
    for (int64_t coordinate : at)
      difference += " " + std::to_string(coordinate);
    for (const IndexMap &map : maps.maps)
      difference += ": " + map.str();
  };
  std::map<int64_t, std::set<int64_t>> readers;
  forEachIndex(out.dims, [&](const std::vector<int64_t> &at) {
    const std::set<int64_t> &real = recording.reads[{id.index, k, linearPosition(at, out.dims)}];
    for (int64_t element : real)
      readers[element].insert(linearPosition(at, out.dims));
    check(forward, at, in, real, "forward");
  });
  forEachIndex(in.dims, [&](const std::vector<int64_t> &at) {
    check(back, at, out, readers[linearPosition(at, in.dims)], "back");
  });
  return difference;
}

} // namespace tilewright
