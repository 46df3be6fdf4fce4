#include "codegen/staged_inputs.h"

#include "analysis/support/checked.h"

#include <algorithm>

namespace tilewright {

namespace {
constexpr int64_t lineBytes = 128, wordBytes = 4; // all 32 banks
constexpr int64_t maxLoadsUnrolled = 8;           // loads of a thread in flight at once
} // namespace

void StagedInputs::find() {
  const Graph &graph = lowering.graph;
  const Shape &shape = graph[lowering.results[0]].shape;
  if (shape.rank() < 2 || rootTile[static_cast<size_t>(shape.minorToMajorOrDefault()[0])] == 1)
    return;
  for (AcrossInput &across : acrossInputs(graph, lowering.results, graph.parameters())) {
    const Shape &own = graph[across.op].shape;
    if (!ScalarOps::isSupported(own.dtype))
      continue;
    Input input;
    input.op = across.op;
    bool hasGaps = false;
    for (const AcrossInput::Dim &dim : across.dims) {
      int64_t size = 1, span = 1;
      for (const AcrossInput::Dim::Term &term : dim.terms) {
        size *= rootTile[term.rootDim];
        span += term.coefficient * (rootTile[term.rootDim] - 1);
      }
      hasGaps |= span != size;
      input.box.push_back(span);
    }
    if (hasGaps || input.box[across.minor] == 1)
      continue;
    input.dims = std::move(across.dims);
    input.row = across.row;
    input.order = own.minorToMajorOrDefault();
    // Dims of one element may have any place in a layout.
    std::stable_partition(input.order.begin(), input.order.end(),
                          [&](int64_t dim) { return own.dims[static_cast<size_t>(dim)] != 1; });
    input.elementBytes = across.elementBytes;
    inputs.push_back(std::move(input));
  }
  // Tiles with the largest elements come first, so that all are aligned without gaps.
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const Input &a, const Input &b) { return a.elementBytes > b.elementBytes; });
  for (Input &input : inputs) {
    input.offset = totalBytes;
    int64_t elements = 1;
    for (int64_t extent : input.box)
      elements *= extent;
    totalBytes += elements * input.elementBytes;
  }
  if (totalBytes > maxSharedBytes) {
    inputs.clear();
    totalBytes = 0;
  }
}

unsigned StagedInputs::lanes(unsigned most) const {
  for (const Input &input : inputs)
    most =
        std::min(most, static_cast<unsigned>(std::max<int64_t>(wordBytes / input.elementBytes, 1)));
  return most;
}

/// Byte address of an element of the tile.
llvm::Value *StagedInputs::address(const Input &input, const Coordinates &local, unsigned lane) {
  ValueEmitter &emitter = lowering.emitter;
  llvm::IRBuilder<> &b = lowering.k.b;
  auto minor = static_cast<size_t>(input.order[0]);
  Expr rows = emitter.constant(0); // number of the tile's row, outer dims included
  for (size_t i = input.order.size(); i-- > 1;) {
    auto dim = static_cast<size_t>(input.order[i]);
    rows = rows * input.box[dim] + local[dim];
  }
  int64_t words = input.box[minor] / input.perWord,
          bytesOfWord = input.perWord * input.elementBytes;
  Expr word = rows * words + local[minor].floorDiv(input.perWord);
  Expr within = local[minor].mod(input.perWord) * input.elementBytes + input.offset;
  llvm::Value *permuted = emitter.indexAtLane(word, lane);
  if (input.span > 1)
    permuted = b.CreateXor(
        permuted, emitter.indexAtLane(
                      (local[input.row].floorDiv(input.step) * input.scale).mod(input.span), lane));
  llvm::Value *bytes =
      b.CreateMul(permuted, llvm::ConstantInt::getSigned(permuted->getType(), bytesOfWord));
  return b.CreateTrunc(b.CreateAdd(bytes, emitter.indexAtLane(within, lane)), lowering.k.i32);
}

/// A warp reads `lanes` neighbours of 32 columns, or several words of fewer columns; either way
/// they must hit different banks. The xor must be the same for all words of an aligned run of
/// `span`.
void StagedInputs::choosePermutation(Input &input, int64_t lanes) const {
  auto minor = static_cast<size_t>(input.order[0]);
  input.perWord = std::max<int64_t>(wordBytes / input.elementBytes, 1);
  if (input.box[minor] % input.perWord != 0)
    input.perWord = 1;
  int64_t line = lineBytes / std::max(wordBytes, input.elementBytes);
  int64_t words = input.box[minor] / input.perWord, rows = input.box[input.row];
  input.step = lanes;
  if (line % words == 0 && rows * words % line == 0) { // several rows in a line
    input.span = line;
    input.step = std::max(lanes, line / words);
  } else {
    while (input.span < line && words % (input.span * 2) == 0)
      input.span *= 2;
  }
  int64_t groups = rows / lanes;
  if (groups > 0 && groups < line && line % groups == 0)
    input.scale = line / groups;
}

llvm::Error StagedInputs::load(Input &input) {
  ValueEmitter &emitter = lowering.emitter;
  KernelBuilder &k = lowering.k;
  const Shape &shape = lowering.graph[input.op].shape;
  auto minor = static_cast<size_t>(input.order[0]);
  // A thread loads a word's worth of neighbours.
  int64_t lanes = input.perWord;
  if (shape.dims[minor] % lanes != 0)
    lanes = 1;
  emitter.setLanes(static_cast<unsigned>(lanes));
  std::vector<int64_t> box = input.box;
  box[minor] /= lanes;
  int64_t vectors = 1;
  for (int64_t extent : box)
    vectors *= extent;
  unsigned align = static_cast<unsigned>(input.elementBytes);
  auto emitVectors = [&](Expr first, int64_t count) -> llvm::Error {
    struct Pending {
      Coordinates local;
      Guard there;
      Values values;
    };
    std::vector<Pending> pending;
    for (int64_t i = 0; i < count; ++i) {
      Pending vector;
      Expr position = emitter.simplify(first + i * lowering.threads);
      vector.there.push_back({position, Interval::ofExtent(vectors), 1, 0});
      vector.local = emitter.delinearize(position, box, input.order);
      if (lanes > 1)
        vector.local[minor] = vector.local[minor] * lanes + emitter.lane();
      Coordinates at;
      for (size_t d = 0; d < vector.local.size(); ++d)
        at.push_back(emitter.simplify(input.origin[d] + vector.local[d]));
      Guard guard = vector.there;
      emitter.addDomain(guard, at, shape.dims);
      auto values = emitter.values(input.op, at, guard, static_cast<unsigned>(lanes));
      if (!values)
        return values.takeError();
      vector.values = std::move(*values);
      pending.push_back(std::move(vector));
    }
    for (const Pending &vector : pending) {
      auto store = [&] {
        for (unsigned lane = 0; lane < vector.values.size(); ++lane)
          k.storeShared(emitter.scalars().toMemory(shape.dtype, vector.values[lane]),
                        address(input, vector.local, lane), align);
      };
      ValueEmitter::Scope scope(emitter);
      if (llvm::Value *isThere = emitter.holds(vector.there))
        k.ifThen(isThere, store);
      else
        store();
    }
    return llvm::Error::success();
  };
  int64_t rounds = ceilDiv(vectors, lowering.threads);
  if (rounds <= maxLoadsUnrolled)
    return emitVectors(lowering.tid, rounds);
  llvm::Error error = llvm::Error::success();
  int64_t trips = ceilDiv(rounds, maxLoadsUnrolled);
  k.forLoop(
      k.c32(0), k.c32(trips), k.c32(1), {}, [&](llvm::Value *counter, const Values &) -> Values {
        ValueEmitter::Scope scope(emitter);
        Expr trip = emitter.variable(VarKind::Step, "fill", Interval::ofExtent(trips), counter);
        error = emitVectors(trip * (lowering.threads * maxLoadsUnrolled) + lowering.tid,
                            maxLoadsUnrolled);
        return {};
      });
  return error;
}

llvm::Error StagedInputs::emitLoads(const Coordinates &pids, unsigned lanes) {
  ValueEmitter &emitter = lowering.emitter;
  for (Input &input : inputs) {
    for (size_t d = 0; d < input.box.size(); ++d) {
      Expr start = emitter.constant(input.dims[d].shift);
      for (const AcrossInput::Dim::Term &term : input.dims[d].terms)
        start = start + pids[term.rootDim] * (rootTile[term.rootDim] * term.coefficient);
      input.origin.push_back(emitter.simplify(start));
    }
    choosePermutation(input, lanes);
    ValueEmitter::Scope scope(emitter);
    if (auto error = load(input))
      return error;
  }
  lowering.k.barrier();
  emitter.setLanes(lanes);
  emitter.setSupplier(
      [this](OpId op, const Coordinates &at, unsigned count) { return supply(op, at, count); });
  return llvm::Error::success();
}

llvm::Expected<std::optional<Values>> StagedInputs::supply(OpId op, const Coordinates &at,
                                                           unsigned count) {
  ValueEmitter &emitter = lowering.emitter;
  for (const Input &input : inputs) {
    if (input.op != op)
      continue;
    // Positions that are masked off may lie outside the tile.
    Coordinates local;
    for (size_t d = 0; d < at.size(); ++d)
      local.push_back(emitter.simplify((at[d] - input.origin[d]).max(0).min(input.box[d] - 1)));
    DType type = lowering.graph[op].shape.dtype;
    Values result;
    for (unsigned lane = 0; lane < count; ++lane)
      result.push_back(emitter.scalars().fromMemory(
          type,
          lowering.k.loadShared(emitter.scalars().memoryType(type), address(input, local, lane),
                                static_cast<unsigned>(input.elementBytes))));
    return result;
  }
  return std::nullopt;
}

} // namespace tilewright
