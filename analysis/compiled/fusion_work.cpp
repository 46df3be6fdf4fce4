#include "analysis/compiled/fusion_work.h"

#include "analysis/compiled/emitter_cost.h"
#include "analysis/indexing/window_hits.h"

#include <algorithm>
#include <functional>
#include <set>

namespace tilewright {

double elementsOf(const Shape &shape) {
  if (!shape.isTuple)
    return double(shape.elementCount().value_or(0));
  double sum = 0;
  for (const Shape &element : shape.elements)
    sum += elementsOf(element);
  return sum;
}

double bytesOf(const Shape &shape) { return double(shape.byteSize().value_or(0)); }

std::vector<OpId> bodyResults(const Graph &body) {
  const Op &root = body[body.root()];
  return root.opcode == Opcode::Tuple ? root.operands : std::vector<OpId>{body.root()};
}

namespace {

bool isViewOrConversion(const Op &op) {
  return op.opcode == Opcode::Bitcast || op.opcode == Opcode::Reshape ||
         op.opcode == Opcode::Convert || op.opcode == Opcode::Copy;
}

} // namespace

OpId behindConversions(const Graph &body, OpId id) {
  while (isViewOrConversion(body[id]) && !body[id].operands.empty())
    id = body[id].operands[0];
  return id;
}

namespace {

/// More paths to one op than this share the last one.
constexpr size_t mostPaths = 64;

/// Elements of a window that lie inside the operand, on average.
double tapsInside(const Op &window, const Shape &operand) {
  auto hits = windowHits(window.attrs.window, window.shape.dims, operand.dims);
  const double elements = elementsOf(window.shape);
  return hits && elements > 0 ? double(hits->hits) / elements : 1;
}

bool keepsFastest(const Op &transpose) {
  const auto &dims = transpose.attrs.dimensions;
  return dims.empty() || dims.back() == int64_t(dims.size()) - 1;
}

std::string textOf(const std::vector<int64_t> &numbers) {
  std::string text;
  for (int64_t n : numbers)
    text += std::to_string(n) + ",";
  return text;
}

std::string textOf(const std::vector<SliceDim> &dims) {
  std::string text;
  for (const SliceDim &dim : dims)
    text += std::to_string(dim.start) + ":" + std::to_string(dim.limit) + ":" +
            std::to_string(dim.step) + ",";
  return text;
}

class Worker {
public:
  Worker(const Module &module, const Graph &body, bool isByTile)
      : module(module), body(body), isByTile(isByTile), needed(body.size()),
        evaluations(body.size()), regions(body.size()) {}

  FusionWork run(size_t operands) {
    work.operands.resize(operands);
    for (OpId result : bodyResults(body))
      addResult(result);
    for (size_t i = body.size(); i-- > 0;) {
      addReads(OpId{uint32_t(i)});
      addEvaluations(OpId{uint32_t(i)});
    }
    for (size_t i = body.size(); i-- > 0;) // a slice of a view is a slice of what is viewed
      if (const Op &op = at(i); op.opcode == Opcode::Bitcast || op.opcode == Opcode::Reshape)
        regions[op.operands[0].index].insert(regions[i].begin(), regions[i].end());
    countInstructions();
    addOperands();
    if (isByTile)
      work.heldWords = heldWords();
    return std::move(work);
  }

private:
  using Evaluations = std::map<IndexPath, double>;

  const Op &at(size_t index) const { return body[OpId{uint32_t(index)}]; }
  double count(OpId id) const { return elementsOf(body[id].shape); }

  void seed(OpId id, double elements) { evaluations[id.index][{}] = elements; }

  /// Is a dynamic-update-slice of an operand's buffer that nothing else in the fusion reads, but
  /// the window that is written? The emitter writes the whole result of others.
  bool isWrittenInPlace(const Op &update) const {
    if (update.opcode != Opcode::DynamicUpdateSlice)
      return false;
    const OpId buffer = behindConversions(body, update.operands[0]);
    if (body[buffer].opcode != Opcode::Parameter)
      return false;
    auto isSameWindow = [&](const Op &reader) {
      return reader.opcode == Opcode::DynamicSlice &&
             reader.operands.size() + 1 == update.operands.size() &&
             std::equal(reader.operands.begin() + 1, reader.operands.end(),
                        update.operands.begin() + 2);
    };
    for (const Op &reader : body.all()) {
      const bool isView = !reader.operands.empty() && isViewOrConversion(reader);
      for (size_t i = 0; i < reader.operands.size() && !isView; ++i)
        if (behindConversions(body, reader.operands[i]) == buffer &&
            !(i == 0 && (&reader == &update || isSameWindow(reader))))
          return false;
    }
    return true;
  }

  /// Updates that are written into their operand's buffer touch what they update alone.
  void addResult(OpId result) {
    const OpId hero = behindConversions(body, result);
    const Op &op = body[hero];
    FusionResult made;
    if (op.opcode != Opcode::Scatter && !isWrittenInPlace(op)) {
      const double elements = count(result);
      work.results.push_back({bytesOf(body[result].shape), elements, {}});
      needed[result.index] = elements;
      seed(result, elements);
      return;
    }
    const bool isScatter = op.opcode == Opcode::Scatter;
    const size_t buffers = isScatter ? (op.operands.size() - 1) / 2 : 1;
    const Op &update = body[isScatter ? op.operands.back() : op.operands[1]];
    made.elements = elementsOf(update.shape);
    made.bytes = bytesOf(update.shape);
    for (size_t i = buffers; i < op.operands.size(); ++i) {
      needed[op.operands[i].index] += count(op.operands[i]);
      seed(op.operands[i], count(op.operands[i]));
    }
    if (isScatter) // what is there is read, to be added to
      needed[op.operands[0].index] += made.elements;
    const Op &buffer = body[behindConversions(body, op.operands[0])];
    if (buffer.opcode == Opcode::Parameter)
      made.inPlaceOf = buffer.attrs.parameterNumber;
    updated.insert(hero.index);
    work.results.push_back(made);
  }

  /// Elements that are needed of each operand, each once.
  void addReads(OpId id) {
    const double n = needed[id.index];
    const Op &op = body[id];
    if (n == 0)
      return;
    const double share = n / std::max(1.0, elementsOf(op.shape));
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const OpId operand = op.operands[i];
      const double all = count(operand);
      double &known = needed[operand.index];
      switch (op.opcode) {
      case Opcode::Slice:
      case Opcode::DynamicSlice:
      case Opcode::Gather: {
        const double taken = i == 0 ? n : all;
        known = std::min(all, known + taken);
        regions[operand.index].insert(i > 0 || taken >= all        ? ""
                                      : op.opcode == Opcode::Slice ? textOf(op.attrs.slice)
                                                                   : op.name);
        break;
      }
      case Opcode::Reduce:
      case Opcode::Dot:
      case Opcode::Convolution:
      case Opcode::ReduceWindow:
      case Opcode::Pad:
      case Opcode::Concatenate:
      case Opcode::Scatter:
      case Opcode::Sort:
        known = std::max(known, all * std::min(1.0, share));
        break;
      case Opcode::DynamicUpdateSlice:
        known = std::max(known, all);
        break;
      default:
        known = std::max(known, std::min(all, n));
      }
    }
  }

  void addEvaluations(OpId id) {
    const Op &op = body[id];
    for (const auto &[path, n] : evaluations[id.index])
      for (size_t i = 0; i < op.operands.size(); ++i)
        addEvaluation(op, path, n, i);
  }

  void addEvaluation(const Op &op, const IndexPath &path, double n, size_t i) {
    const OpId operand = op.operands[i];
    const double all = count(operand), made = std::max(1.0, elementsOf(op.shape));
    IndexPath next = path;
    double times = n;
    auto turn = [&](const std::string &step) {
      next.key += "/" + step;
      next.isBroadcastLast = op.opcode == Opcode::Broadcast;
    };
    const std::string name(toString(op.opcode));
    switch (op.opcode) {
    case Opcode::Broadcast:
      turn(name + textOf(op.attrs.dimensions));
      if (all == 1)
        times = 1;
      break;
    case Opcode::Transpose:
      turn(name + textOf(op.attrs.dimensions));
      next.isTurned = next.isTurned || !keepsFastest(op);
      break;
    case Opcode::Slice:
      turn(name + textOf(op.attrs.slice));
      break;
    case Opcode::Reverse:
      turn(name + textOf(op.attrs.dimensions));
      break;
    case Opcode::DynamicSlice:
      turn(name + op.name);
      break;
    case Opcode::Gather:
      turn((i > 0 ? "index" : "gather") + op.name);
      next.isGathered = next.isGathered || i == 0;
      next.isIndex = next.isIndex || i > 0;
      break;
    case Opcode::Concatenate:
      turn(name + op.name);
      next.isJoined = true;
      times = n * all / made;
      break;
    case Opcode::Pad:
      turn(name + op.name);
      next.isJoined = true;
      times = i == 0 ? n * std::min(1.0, all / made) : 0;
      break;
    case Opcode::DynamicUpdateSlice: { // an element comes from one of both
      const double share = count(op.operands[1]) / made;
      times = i == 0 ? n * (1 - share) : i == 1 ? n * share : 0;
      if (updated.count(operand.index) || isUpdated(op))
        return;
      if (i > 0)
        turn("update" + op.name);
      break;
    }
    case Opcode::Scatter:
      if (isUpdated(op))
        return;
      break;
    case Opcode::Reduce:
      turn(op.name);
      times = all > 1 ? n * all /
                            std::max(1.0,
                                     elementsOf(op.shape.isTuple ? op.shape.elements[0] : op.shape))
                      : 0;
      break;
    case Opcode::ReduceWindow: {
      const double taps = i == 0 ? tapsInside(op, body[operand].shape) : 0;
      turn("window" + op.name);
      next.taps *= std::max(1.0, taps);
      times = n * taps;
      break;
    }
    default:
      break;
    }
    if (isByTile)
      times = std::min(times, all);
    Evaluations &known = evaluations[operand.index];
    auto found = known.find(next);
    if (found == known.end() && known.size() >= mostPaths)
      found = std::prev(known.end());
    if (found == known.end())
      known.emplace(std::move(next), times);
    else
      found->second = std::max(found->second, times);
  }

  bool isUpdated(const Op &op) const {
    return updated.count(uint32_t(&op - body.all().data())) > 0;
  }

  void countInstructions() {
    double mostLost = 0;
    for (size_t i = 0; i < body.size(); ++i) {
      const Op &op = at(i);
      double n = 0;
      for (const auto &[path, times] : evaluations[i])
        n += times;
      double elements = elementsOf(op.shape);
      if (isByTile)
        n = elements;
      const EmitterCost cost = emitterCost(module, body, op);
      if (op.opcode == Opcode::Reduce && !op.operands.empty()) {
        const double each =
            count(op.operands[0]) /
            std::max(1.0, elementsOf(op.shape.isTuple ? op.shape.elements[0] : op.shape));
        n *= each;
        elements *= each;
      }
      work.instructions += n * cost.instructions;
      work.halfRate += n * cost.half;
      work.special += n * cost.special;
      work.leastInstructions += std::min(n, elements) * cost.instructions;
      if (const double lost = (n - elements) * cost.instructions; lost > mostLost && elements > 0) {
        mostLost = lost;
        work.mostRepeated = op.name;
        work.mostRepeats = n / elements;
      }
    }
  }

  void addOperands() {
    for (size_t i = 0; i < body.size(); ++i) {
      const Op &op = at(i);
      const auto number = size_t(op.attrs.parameterNumber);
      if (op.opcode != Opcode::Parameter || number >= work.operands.size())
        continue;
      FusionOperand &operand = work.operands[number];
      operand.bytes = needed[i] * bitWidth(op.shape.dtype) / 8.0;
      if (op.shape.isTuple)
        operand.bytes = std::min(bytesOf(op.shape), needed[i] * 4);
      for (const std::string &part : regions[i])
        operand.region += (operand.region.empty() ? "" : "|") + part;
      operand.loads.assign(evaluations[i].begin(), evaluations[i].end());
    }
  }

  static double wordsOf(const Op &op) {
    const unsigned bits = op.shape.isTuple ? 32 : bitWidth(op.shape.dtype);
    if (bits == 64)
      return 2;
    if (op.shape.dtype == DType::Pred)
      return 0.25;
    return bits >= 32 || op.opcode != Opcode::Parameter ? 1 : 0.5;
  }

  /// What is before each reduction of whole tiles and read again by something that isn't.
  double heldWords() const {
    double whole = 0;
    for (const FusionResult &result : work.results)
      whole = std::max(whole, result.elements);
    for (const Op &op : body.all())
      if (op.opcode == Opcode::Reduce && !op.operands.empty())
        whole = std::max(whole, count(op.operands[0]));
    const auto users = body.users();
    double most = 0;
    for (size_t i = 0; i < body.size(); ++i)
      if (at(i).opcode == Opcode::Reduce && !at(i).operands.empty() &&
          count(at(i).operands[0]) >= whole)
        most = std::max(most, heldFor(OpId{uint32_t(i)}, whole, users));
    return most;
  }

  double heldFor(OpId reduction, double whole, const std::vector<std::vector<OpId>> &users) const {
    std::set<uint32_t> before;
    std::vector<OpId> open = {body[reduction].operands[0]};
    while (!open.empty()) {
      const OpId id = open.back();
      open.pop_back();
      if (before.insert(id.index).second)
        open.insert(open.end(), body[id].operands.begin(), body[id].operands.end());
    }
    std::function<bool(OpId)> isReadBehind = [&](OpId id) {
      return std::any_of(users[id.index].begin(), users[id.index].end(), [&](OpId user) {
        const Opcode opcode = body[user].opcode;
        if (opcode == Opcode::Bitcast || opcode == Opcode::Reshape)
          return isReadBehind(user);
        return !before.count(user.index) && user != reduction;
      });
    };
    double words = 0;
    for (uint32_t index : before) {
      const Op &op = at(index);
      const bool holdsNothing = op.opcode == Opcode::Broadcast || op.opcode == Opcode::Constant ||
                                op.opcode == Opcode::Bitcast || op.opcode == Opcode::Reshape;
      if (!holdsNothing && elementsOf(op.shape) >= whole && isReadBehind(OpId{index}))
        words += wordsOf(op);
    }
    return words;
  }

  const Module &module;
  const Graph &body;
  const bool isByTile;
  FusionWork work;
  std::vector<double> needed;           ///< elements, by op
  std::vector<Evaluations> evaluations; ///< by op
  std::vector<std::set<std::string>> regions;
  std::set<uint32_t> updated; ///< ops that write into their operand's buffer
};

} // namespace

FusionWork fusionWork(const Module &module, const Op &fusion, bool isByTile) {
  return Worker(module, module.graph(fusion.called.front().graph), isByTile)
      .run(fusion.operands.size());
}

} // namespace tilewright
