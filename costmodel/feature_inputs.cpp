#include "costmodel/feature_extractor.h"
#include "costmodel/reachable.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {

namespace {

/// Registers that hold a loaded word until it is used, and a word of narrow elements, which are
/// unpacked.
constexpr double registersOfWord = 1.15, registersOfPacked = 1.3;

} // namespace

template <class Q> void FeatureExtractor<Q>::readRaster() {
  const auto &parameters = plan.tiled->space.parameters;
  std::vector<unsigned> parallel;
  for (unsigned i = 0; i < parameters.size(); ++i)
    if (parameters[i].role == TileParameter::Role::Parallel)
      parallel.push_back(i);
  if (!parallel.empty()) {
    columnParameter = int(parallel.back());
    f.tileColumns = view.parameters[parallel.back()].tiles;
  }
  if (parallel.size() > 1) {
    rowParameter = int(parallel[parallel.size() - 2]);
    f.tileRows = view.parameters[rowParameter].tiles;
  }
  for (size_t i = 0; i + 2 < parallel.size(); ++i)
    f.batches *= view.parameters[parallel[i]].tiles;
  f.groupRows = smaller(larger(schedule.groupM, Q(1)), f.tileRows);
  neighboursByRow = f.groupRows > 1.0 || f.tileColumns == Q(1);
}

template <class Q> void FeatureExtractor<Q>::addInputs() {
  // The elements that a CTA works on in one iteration, to tell broadcast inputs.
  Q body = 1, bodyOutside = 1;
  for (const InstanceView &v : view.instances)
    (view.isOutside(v) ? bodyOutside : body) =
        larger(view.isOutside(v) ? bodyOutside : body, v.elements);
  std::map<uint32_t, Q> uniqueBytes;
  std::map<uint32_t, double>
      maxOfOne; ///< largest number of elements that one instance of the op may read
  Q sharedByNeighbour = 0, read = 0, pieces = 0;
  for (unsigned i = 0; i < view.instances.size(); ++i) {
    const InstanceView &v = view.instances[i];
    if (!v.isInput || v.sameAs >= 0)
      continue;
    const Q before = f.loadBytes;
    if (dots.sharedInputs.count(i))
      addDotInput(v);
    else
      addDirectInput(v, view.isOutside(v) ? bodyOutside : body);
    bool neighbourReadsIt = !dependsOn(v, neighboursByRow ? rowParameter : columnParameter);
    if (neighbourReadsIt)
      sharedByNeighbour += f.loadBytes - before;
    const Q unique = addOperandFootprint(v, reachable.elements[i]);
    double &most = maxOfOne[v.instance->op.index];
    most = std::max(most, reachable.elements[i]);
    Q &known = uniqueBytes[v.instance->op.index];
    known = larger(known, unique);
    read += unique;
    pieces += unique * piecesOf(v);
  }
  f.readPieces = read > 0.0 ? pieces / read : Q(0);
  for (auto [op, bytes] : uniqueBytes) {
    // Several reads of one tensor: their common elements are read once.
    const double together = reachable.together.at(op), most = maxOfOne[op];
    const double tensor = double(graph.op(OpId{op}).shape.byteSize().value_or(0));
    f.readBytes +=
        most > 0 && together > most ? smaller(bytes * (together / most), Q(tensor)) : bytes;
  }
  if (f.matrix && schedule.splitK <= 1 && f.ctas > 1 && f.loadBytes > 0)
    f.neighbourShare = sharedByNeighbour / f.loadBytes;
  if (registers.dots > 0 && misaligned) {
    f.loadsPerThread *= misalignedFactor;
    f.loadInstructions *= misalignedFactor;
  }
  registers.copies = copies;
}

/// True if the tile's offset depends on a parameter (even one with a single tile).
template <class Q> bool FeatureExtractor<Q>::dependsOn(const InstanceView &v, int parameter) {
  return std::any_of(v.dimParameters.begin(), v.dimParameters.end(), [&](const auto &movers) {
    return std::find(movers.begin(), movers.end(), unsigned(parameter)) != movers.end();
  });
}

template <class Q>
std::vector<unsigned> FeatureExtractor<Q>::sortedUnique(std::vector<unsigned> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The parameters whose steps read different elements. If run-time values decide which elements a
/// tile reads (a gather), each tile of its user reads different ones.
template <class Q>
std::vector<unsigned> FeatureExtractor<Q>::footprintMovers(const InstanceView &v) const {
  std::vector<unsigned> movers = v.movedBy;
  // With split-K a CTA may have one tile of a loop while other CTAs have the others.
  if (schedule.splitK > 1.0)
    for (const auto &dim : v.dimParameters)
      for (unsigned p : dim)
        if (plan.tiled->space.parameters[p].role == TileParameter::Role::Sequential)
          movers.push_back(p);
  if (v.instance->exactness != Exactness::Unknown)
    return sortedUnique(std::move(movers));
  unsigned index = unsigned(&v - view.instances.data());
  for (const InstanceView &user : view.instances) {
    const auto &operands = user.instance->operands;
    if (std::find(operands.begin(), operands.end(), index) != operands.end())
      movers.insert(movers.end(), user.movedBy.begin(), user.movedBy.end());
  }
  return sortedUnique(std::move(movers));
}

/// Bytes of the tensor that all CTAs read together, and its part in the raster. At most `most`
/// elements lie within the bounds of its tiles.
template <class Q> Q FeatureExtractor<Q>::addOperandFootprint(const InstanceView &v, double most) {
  const double spread = strideSpread(v, dramAtomBytes);
  const Q tensor = std::min(double(v.op->shape.byteSize().value_or(0)),
                            most * spread * bitWidth(v.op->shape.dtype) / 8.0);
  Q slab = v.bytes, unique = v.bytes;
  for (unsigned p : footprintMovers(v)) {
    Q tiles = view.parameters[p].tiles;
    bool sequential = plan.tiled->space.parameters[p].role == TileParameter::Role::Sequential;
    if (sequential) // all CTAs of a split-K together
      tiles = ceilOf(double(view.parameters[p].extent) / view.parameters[p].size);
    unique *= tiles;
    if (sequential)
      slab *= tiles;
  }
  unique = smaller(unique * spread, tensor);
  slab = smaller(slab * spread, tensor);
  bool byRow = dependsOn(v, rowParameter), byColumn = dependsOn(v, columnParameter);
  if (byRow && !byColumn) {
    f.rowOperandBytes += smaller(slab * f.tileRows, unique);
    f.rowSlabBytes += slab;
  } else if (byColumn && !byRow) {
    f.columnOperandBytes += smaller(slab * f.tileColumns, unique);
    f.columnSlabBytes += slab;
  }
  return unique;
}

/// Contiguous bytes of a row of the tile, limited to those that a copy to shared memory requests
/// at once.
template <class Q> Q FeatureExtractor<Q>::segmentOf(const InstanceView &v) const {
  Q run = v.contiguousElements() * bitWidth(v.op->shape.dtype) / 8.0;
  if (int64_t stride = v.minorStride(); stride > 1) { // the bytes in consecutive DRAM atoms
    const double step = double(stride) * bitWidth(v.op->shape.dtype) / 8.0;
    run = step <= dramAtomBytes ? v.sizes[size_t(v.minorDim())] * step : Q(dramAtomBytes);
  }
  return isDotInput(v) ? smaller(run, Q(lineBytes)) : run;
}

template <class Q> bool FeatureExtractor<Q>::isDotInput(const InstanceView &v) const {
  return dots.sharedInputs.count(unsigned(&v - view.instances.data())) > 0;
}

/// Its part in readPieces.
template <class Q> Q FeatureExtractor<Q>::piecesOf(const InstanceView &v) const {
  if (v.isOneRow() && !isDotInput(v))
    return 0;
  // What neighbours read of a sector they find in L2.
  const Q pieces = sectorBytes / larger(segmentOf(v), Q(sectorBytes));
  bool later = isDotInput(v) && !v.loops.empty() && movesAlongRows(v);
  return pieces * pieces * (later ? 2.0 : 1.0);
}

/// How often an input of a dot is copied per mean iteration. What moves along the contracted dim is
/// copied anew in every loop that the dot stands in: rings hold some of its steps. Chains stage it
/// whole, before the loop or in each step.
template <class Q> Q FeatureExtractor<Q>::copiesPerIteration(const InstanceView &v) const {
  const auto index = unsigned(&v - view.instances.data());
  Q times = view.perIteration(v);
  if (dots.chained)
    return times;
  for (const auto &dot : dots.dots) {
    const InstanceView &user = view.instances[dot.instance];
    const bool isInput = std::any_of(dot.inputs.begin(), dot.inputs.end(), [&](const auto &inputs) {
      return std::find(inputs.begin(), inputs.end(), index) != inputs.end();
    });
    const bool isStepped = isInput && std::any_of(user.instance->reduces.begin(),
                                                  user.instance->reduces.end(), [&](unsigned loop) {
                                                    return std::find(v.loops.begin(), v.loops.end(),
                                                                     loop) != v.loops.end() &&
                                                           view.parameters[loop].meanSteps > 1.0;
                                                  });
    if (!isStepped)
      continue;
    Q all = 1;
    for (unsigned loop : v.loops)
      all *= view.parameters[loop].meanSteps;
    for (unsigned loop : user.loops)
      if (std::find(v.loops.begin(), v.loops.end(), loop) == v.loops.end())
        all *= view.parameters[loop].meanSteps;
    times = larger(times, all / view.iterations);
  }
  return times;
}

/// An input of a dot: whole tiles are copied to shared memory.
template <class Q> void FeatureExtractor<Q>::addDotInput(const InstanceView &v) {
  const Q times = copiesPerIteration(v);
  auto [gathered, staged] = copiesOf(v);
  const Q bytes = v.bytes * gathered;
  const double width = bitWidth(v.op->shape.dtype) / 8.0;
  const Q run = v.contiguousElements() * width;
  const double tensorRow = double(v.rowPitch()) * width;
  bool inLoop = v.inAnyLoop;
  const Q pieces = std::fmod(tensorRow, lineBytes) != 0
                       ? 1.0 + sectorBytes / larger(smaller(run, Q(tensorRow)), Q(1))
                       : Q(1); // a row that starts inside a sector touches one more
  bool scattered = isScatteredInput(v);
  double copyBytes = scattered ? width : vectorBytes;
  const Q perThread = larger(bytes / copyBytes * (1.0 / (32.0 * f.warps)), Q(1));
  if (inLoop)
    copies += perThread;
  if (v.rowPitch() % alignedElements != 0) {
    misaligned = true;
    misalignedFactor = std::max(misalignedFactor, vectorBytes / width);
  }
  f.readSegment = smaller(f.readSegment, segmentOf(v));
  f.sharedPerCta += bytes * staged * buffers(v);
  if (times == 0) {
    f.outsideLoadBytes += bytes * pieces;
    return;
  }
  f.loadBytes += times * bytes * pieces;
  if (!scattered)
    f.sharedBytes += times * bytes; // written by the copy
  f.tags += times * bytes / smaller(Q(lineBytes), run);
  f.loadsPerThread += times * perThread;
  f.loadInstructions += times * f.warps * perThread;
}

/// Calls `visit` with each operand of a dot, and true if it comes from this input.
template <class Q>
template <class Visit>
void FeatureExtractor<Q>::forEachOperand(const InstanceView &v, const Visit &visit) const {
  unsigned index = unsigned(&v - view.instances.data());
  for (const PlanDot<Q> &d : dots.dots)
    for (unsigned side : {0u, 1u}) {
      const auto &inputs = d.inputs[side];
      visit(d.operand(side), std::find(inputs.begin(), inputs.end(), index) != inputs.end());
    }
}

/// True if it is copied element by element into the layout that wgmma needs.
template <class Q> bool FeatureExtractor<Q>::isScatteredInput(const InstanceView &v) const {
  bool scattered = false;
  forEachOperand(v, [&](const DotOperandShape &operand, bool mine) {
    scattered = scattered || (mine && isScattered(operand, instruction));
  });
  return scattered;
}

/// How often a dot's copies load each element of an input's tile (the windows of a convolution
/// overlap), and the part of a step's copies that is in shared memory at once.
template <class Q> std::pair<Q, Q> FeatureExtractor<Q>::copiesOf(const InstanceView &v) const {
  unsigned index = unsigned(&v - view.instances.data());
  for (const PlanDot<Q> &d : dots.dots)
    for (unsigned side : {0u, 1u})
      if (std::count(d.inputs[side].begin(), d.inputs[side].end(), index))
        return {side == 0 ? d.gathered : Q(1), d.staged};
  return {Q(1), Q(1)};
}

/// Buffers of an operand in shared memory. wgmma reads a stage while the next ones arrive; other
/// instructions copy operands to registers first, which frees one stage. An 8-bit operand that is
/// transposed through registers has one buffer, and then its partner keeps all of its stages.
template <class Q> Q FeatureExtractor<Q>::buffers(const InstanceView &v) const {
  if (!v.inAnyLoop)
    return 1;
  bool relaid = false, partner = false;
  forEachOperand(v, [&](const DotOperandShape &operand, bool mine) {
    if (needsRelayout(operand) && operand.bytesPerElement == 1)
      (mine ? relaid : partner) = true;
  });
  const Q stages = larger(schedule.stages, Q(1));
  if (relaid)
    return 1;
  if (partner || instruction == Instruction::Wgmma)
    return stages;
  return larger(stages - 1.0, Q(1));
}

/// An input that is loaded to registers.
template <class Q> void FeatureExtractor<Q>::addDirectInput(const InstanceView &v, const Q &body) {
  const Q times = view.perIteration(v);
  const double width = bitWidth(v.op->shape.dtype) / 8.0;
  const Q threads = 32.0 * f.warps;
  const AccessLayout<Q> a = accessLayout(v, f.warps);
  Q bytes, perThread = a.perThread;
  if (v.elements * 2 <= body) {
    // Broadcast input: every warp loads the elements that its part of the body needs.
    const Q bodyPerThread = larger(body / threads, Q(1));
    const Q vector = vectorElements(v, bodyPerThread);
    bytes = v.bytes * larger(Q(1), threads * vector / larger(v.elements, 32.0 * vector));
    perThread = smaller(vector * width / vectorBytes, Q(1));
    registers.broadcastElements = larger(registers.broadcastElements, bodyPerThread);
  } else {
    // Threads beyond the tile load what others do, or nothing.
    const bool wait = plan.style.idleThreads == IdleThreads::Wait;
    const Q copies = larger(threads / larger(v.elements, Q(1)), Q(1));
    bytes = v.bytes * v.valid * (wait ? Q(1) : copies);
    Q lines = a.rowsPerAccess * ceilOf(a.pieceBytes / lineBytes);
    if (v.minorStride() > 1) // a warp's elements share lines
      lines = smaller(lines, Q(std::max(1.0, 32.0 * double(v.minorStride()) * width / lineBytes)));
    f.tags +=
        larger(times, Q(0)) * f.warps * a.perThread * lines * v.valid / (wait ? copies : Q(1));
    const Q words = larger(v.elements / threads, Q(1)) * width / 4.0;
    registers.loadedWords += words;
    registers.packed = registers.packed || width < 4;
    registers.wordRegisters += words * (width < 4 ? registersOfPacked : registersOfWord);
  }
  Q spread = strideSpread(v, sectorBytes);
  if (!v.isOneRow()) // whole sectors arrive
    spread = larger(spread, sectorBytes / (v.contiguousElements() * width));
  bytes *= spread;
  if (!v.isOneRow())
    f.readSegment = smaller(f.readSegment, segmentOf(v));
  registers.tables = registers.tables || !v.isOneRow();
  if (view.isOutside(v)) {
    f.outsideLoadBytes += bytes;
    return;
  }
  if (!v.loops.empty() && !movesAlongRows(v))
    f.rowWalk = 1;
  else if (!v.loops.empty()) // rows of a pass of all threads, to the last
    registers.rows =
        larger(registers.rows, smaller(v.elements / v.contiguousElements(), Q(a.perThread)));
  f.loadBytes += times * bytes;
  f.loadsPerThread += times * perThread;
  loadsWithData += times * perThread * shareWithData(v, a.vector);
  f.loadInstructions += times * f.warps * perThread;
}

/// Of the loads that a thread makes along a row of the tile, those that do not lie beyond the end
/// of the tensor: others are masked off and wait for nothing.
template <class Q>
Q FeatureExtractor<Q>::shareWithData(const InstanceView &v, const Q &vector) const {
  const int minor = v.minorDim();
  if (minor < 0)
    return 1;
  const Q run = v.sizes[size_t(minor)];
  Q tiles = 1;
  for (unsigned p : v.dimParameters[size_t(minor)])
    tiles *= view.parameters[p].tiles;
  const Q loads = larger(Q(1), run / (32.0 * f.warps * vector));
  const Q valid = smaller(Q(1), double(v.op->shape.dims[size_t(minor)]) / (tiles * run));
  return ceilOf(loads * valid) / loads;
}

/// True if a loop moves the tile along its contiguous dim.
template <class Q> bool FeatureExtractor<Q>::movesAlongRows(const InstanceView &v) {
  int minor = v.minorDim();
  return minor < 0 || std::any_of(v.loops.begin(), v.loops.end(), [&](unsigned loop) {
           const auto &movers = v.dimParameters[size_t(minor)];
           return std::find(movers.begin(), movers.end(), loop) != movers.end();
         });
}

template void FeatureExtractor<double>::readRaster();
template void FeatureExtractor<Traced>::readRaster();
template void FeatureExtractor<double>::addInputs();
template void FeatureExtractor<Traced>::addInputs();

} // namespace tilewright
