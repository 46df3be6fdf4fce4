#include "analysis/indexing/op_cost.h"
#include "analysis/tiling/resources.h"
#include "analysis/tiling/strided_view.h"
#include "costmodel/access.h"
#include "costmodel/derive.h"
#include "costmodel/dot_analysis.h"
#include "costmodel/op_cost.h"
#include "costmodel/reachable.h"
#include "costmodel/resources.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {

namespace {

/// ptxas unrolls a loop up to this many loaded words a thread; and the unroll factor.
constexpr double unrolledWords = 4, unrolledSteps = 4;
/// Registers that hold a loaded word until it is used, and a word of narrow elements, which are
/// unpacked.
constexpr double registersOfWord = 1.15, registersOfPacked = 1.3;
/// Instructions of a multiplication by a reciprocal, with the scaling that keeps it in range.
constexpr double sharedDivisorOps = 3;
/// Trips to L2 of a CTA that has left its partial sums in a workspace: they are there for all, it
/// is counted.
constexpr double fenceAndCount = 2;

/// The schedule of a plan as numbers.
template <class Q> struct ScheduleOf { Q warps = 4, stages = 1, splitK = 1, groupM = 1; };

template <class Q> ScheduleOf<Q> scheduleOf(const TileSpace &space, const PlanNumbers<Q> &numbers) {
  ScheduleOf<Q> schedule;
  auto read = [&](std::string_view name, Q &value) {
    for (size_t i = 0; i < space.parameters.size(); ++i)
      if (space.parameters[i].name == name)
        value = numbers.values[i];
  };
  read("warps", schedule.warps);
  read("stages", schedule.stages);
  read("split_k", schedule.splitK);
  read("group_m", schedule.groupM);
  return schedule;
}

template <class Q> class Extractor {
public:
  using InstanceView = InstanceViewOf<Q>;

  Extractor(const KernelPlan &plan, const CodeChoice &code, const Device &device,
            const ScheduleOf<Q> &schedule, PlanViewOf<Q> view)
      : plan(plan), code(code), instruction(code.instruction), device(device), graph(plan.ops()),
        view(std::move(view)), schedule(schedule), dots(analyseDots(plan, this->view, code)) {}

  FeaturesOf<Q> run() {
    f.ctas = view.ctas;
    f.iterations = view.iterations;
    f.lastIterations = view.maxIterations;
    f.warps = schedule.warps;
    for (unsigned root : plan.tiled->roots)
      if (view.instances[root].op->shape.elementCount().value_or(1) == 0 || f.ctas == Q(0))
        f.empty = true;
    if (f.empty)
      return f;
    f.looped = view.iterations > 1.0;
    f.matrix = !dots.dots.empty();
    f.serial = dots.chained;
    f.mmaSync = f.matrix && instruction == Instruction::MmaSync;
    readRaster();
    addDots();
    addInputs();
    addArithmetic();
    addReductions();
    addOutputs();
    finishLoop();
    f.residentWarps = f.warps;
    f.rawRegisters = estimateRegisters(registers, f.warps, device.limits);
    return f;
  }

  const RegisterFacts<Q> &registerFacts() const { return registers; }

private:
  // Dots ---------------------------------------------------------------------------------------

  void addDots() {
    for (const PlanDot<Q> &d : dots.dots) {
      const InstanceView &v = view.instances[d.instance];
      DotWork<Q> w = dotWork(d.shape, instruction, f.warps, device);
      const Q times = larger(view.perIteration(v), view.isOutside(v) ? 1.0 / f.iterations : Q(0));
      f.wgmmaClocks += times * w.wgmmaClocks;
      f.mmaSyncClocks += times * w.mmaSyncClocks;
      f.fmaClocks += times * w.fmaClocks;
      f.mmaSteps += times * w.steps;
      f.mmaInstructions += times * w.instructions;
      f.sharedBytes += times * w.operandBytes;
      f.relayoutClocks += times * w.relayoutClocks;
      f.relayoutRoundTrips += times * w.relayoutRoundTrips;
      f.scatterClocks += times * w.scatterClocks;
      f.serialGroups += times * w.serialGroups;
      registers.relayoutWords += w.relayoutWords;
      registers.innerAccumulators += registers.accumulators;
      registers.accumulators = w.accumulators;
      flopsInLoop += times * (2.0 * double(d.shape.products)) * d.shape.repeats(f.warps) *
                     (d.shape.batch * d.shape.rows * d.shape.columns * d.shape.depth);
      f.tensorFlops = f.tensorFlops || w.fmaClocks == Q(0);
      f.flopType = d.shape.type;
      registers.gathered = registers.gathered || d.isPacked;
      const Op &op = *v.op;
      double depth = 1;
      if (op.opcode == Opcode::Convolution)
        depth = windowElements(op) *
                double(graph[op.operands[1]].shape.dims[size_t(op.attrs.conv.kernelInput)]);
      for (int64_t dim : op.attrs.dot.lhsContracting)
        depth *= double(graph[op.operands[0]].shape.dims[dim]);
      f.flops += stepShare(v) * (2 * double(op.shape.elementCount().value_or(0)) * depth);
    }
    registers.dots = int(dots.dots.size());
    registers.instruction = instruction;
  }

  /// Of the steps of an op's loops, those that masks leave to be taken.
  Q stepShare(const InstanceView &v) const {
    Q share = 1;
    if (hasUnevenLoops(*plan.tiled))
      for (unsigned loop : v.loops)
        share *= smaller(Q(1), view.parameters[loop].meanSteps / view.parameters[loop].tiles);
    return share;
  }

  // Inputs -------------------------------------------------------------------------------------

  void readRaster() {
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

  /// True if the tile's offset depends on a parameter (even one with a single tile).
  static bool dependsOn(const InstanceView &v, int parameter) {
    return std::any_of(v.dimParameters.begin(), v.dimParameters.end(), [&](const auto &movers) {
      return std::find(movers.begin(), movers.end(), unsigned(parameter)) != movers.end();
    });
  }

  void addInputs() {
    // The elements that a CTA works on in one iteration, to tell broadcast inputs.
    Q body = 1, bodyOutside = 1;
    for (const InstanceView &v : view.instances)
      (view.isOutside(v) ? bodyOutside : body) =
          larger(view.isOutside(v) ? bodyOutside : body, v.elements);
    std::map<uint32_t, Q> uniqueBytes;
    const Reachable reachable = reachableOf(graph, *plan.tiled);
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

  static std::vector<unsigned> sortedUnique(std::vector<unsigned> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  /// The parameters whose steps read different elements. If run-time values decide which elements a
  /// tile reads (a gather), each tile of its user reads different ones.
  std::vector<unsigned> footprintMovers(const InstanceView &v) const {
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
  Q addOperandFootprint(const InstanceView &v, double most) {
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
  Q segmentOf(const InstanceView &v) const {
    Q run = v.contiguousElements() * bitWidth(v.op->shape.dtype) / 8.0;
    if (int64_t stride = v.minorStride(); stride > 1) { // the bytes in consecutive DRAM atoms
      const double step = double(stride) * bitWidth(v.op->shape.dtype) / 8.0;
      run = step <= dramAtomBytes ? v.sizes[size_t(v.minorDim())] * step : Q(dramAtomBytes);
    }
    return isDotInput(v) ? smaller(run, Q(lineBytes)) : run;
  }

  bool isDotInput(const InstanceView &v) const {
    return dots.sharedInputs.count(unsigned(&v - view.instances.data())) > 0;
  }

  /// Its part in readPieces.
  Q piecesOf(const InstanceView &v) const {
    if (v.isOneRow() && !isDotInput(v))
      return 0;
    const Q pieces = sectorBytes / larger(segmentOf(v), Q(1));
    bool later = isDotInput(v) && !v.loops.empty() && movesAlongRows(v);
    return pieces * pieces * (later ? 2.0 : 1.0);
  }

  /// An input of a dot: whole tiles are copied to shared memory.
  void addDotInput(const InstanceView &v) {
    const Q times = view.perIteration(v);
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
  template <class Visit> void forEachOperand(const InstanceView &v, const Visit &visit) const {
    unsigned index = unsigned(&v - view.instances.data());
    for (const PlanDot<Q> &d : dots.dots)
      for (unsigned side : {0u, 1u}) {
        const auto &inputs = d.inputs[side];
        visit(d.operand(side), std::find(inputs.begin(), inputs.end(), index) != inputs.end());
      }
  }

  /// True if it is copied element by element into the layout that wgmma needs.
  bool isScatteredInput(const InstanceView &v) const {
    bool scattered = false;
    forEachOperand(v, [&](const DotOperandShape &operand, bool mine) {
      scattered = scattered || (mine && isScattered(operand, instruction));
    });
    return scattered;
  }

  /// How often a dot's copies load each element of an input's tile (the windows of a convolution
  /// overlap), and the part of a step's copies that is in shared memory at once.
  std::pair<Q, Q> copiesOf(const InstanceView &v) const {
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
  Q buffers(const InstanceView &v) const {
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
  void addDirectInput(const InstanceView &v, const Q &body) {
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
      bytes = v.bytes * v.valid * larger(threads / larger(v.elements, Q(1)), Q(1));
      Q lines = a.rowsPerAccess * ceilOf(a.pieceBytes / lineBytes);
      if (v.minorStride() > 1) // a warp's elements share lines
        lines =
            smaller(lines, Q(std::max(1.0, 32.0 * double(v.minorStride()) * width / lineBytes)));
      f.tags += larger(times, Q(0)) * f.warps * a.perThread * lines * v.valid;
      const Q words = larger(v.elements / threads, Q(1)) * width / 4.0;
      registers.loadedWords += words;
      registers.packed = registers.packed || width < 4;
      registers.wordRegisters += words * (width < 4 ? registersOfPacked : registersOfWord);
    }
    bytes *= strideSpread(v, sectorBytes);
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
  Q shareWithData(const InstanceView &v, const Q &vector) const {
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
  static bool movesAlongRows(const InstanceView &v) {
    int minor = v.minorDim();
    return minor < 0 || std::any_of(v.loops.begin(), v.loops.end(), [&](unsigned loop) {
             const auto &movers = v.dimParameters[size_t(minor)];
             return std::find(movers.begin(), movers.end(), loop) != movers.end();
           });
  }

  // Arithmetic ---------------------------------------------------------------------------------

  void addArithmetic() {
    for (const InstanceView &v : view.instances) {
      if (v.isInput || v.sameAs >= 0 || isProductOfTiles(*v.op, code))
        continue;
      Q elements = v.elements;
      if (v.op->opcode == Opcode::ReduceWindow)
        elements *= windowElements(*v.op);
      else if (v.op->opcode == Opcode::Reduce)
        elements = v.instance->operands.empty() ? elements
                                                : view.instances[v.instance->operands[0]].elements;
      if (v.op->opcode == Opcode::Convolution || v.op->opcode == Opcode::Dot) {
        addLoops(v);
        continue;
      }
      registers.masked = registers.masked || v.op->opcode == Opcode::Iota;
      const LaneOps cost = costOf(v);
      const Q done = elements * rowRepeats(v);
      const double flops = double(workPerElement(*plan.module, *v.op).flops);
      (view.isOutside(v) ? flopsOutside : flopsInLoop) +=
          view.isOutside(v) ? flops * done : view.perIteration(v) * (flops * done);
      if (view.isOutside(v)) {
        f.outsideAluOps += cost.alu * done;
        f.outsideHalfRateOps += cost.half * done;
        f.outsideSfuOps += cost.sfu * done;
      } else {
        const Q times = view.perIteration(v);
        f.aluOps += times * (cost.alu * done);
        f.halfRateOps += times * (cost.half * done);
        f.sfuOps += times * (cost.sfu * done);
      }
    }
    if (!f.matrix)
      f.aluOps += f.looped ? largestBody() : Q(0); // masks and zeros of every step
    else if (f.serial) // running sums are rescaled when the maximum of a row grows
      f.aluOps += dots.dots.back().shape.batch * dots.dots.back().shape.rows *
                  dots.dots.back().shape.columns;
  }

  /// A value that divides many elements is inverted once.
  LaneOps costOf(const InstanceView &v) const {
    if (v.op->opcode == Opcode::Divide && v.instance->operands.size() == 2 &&
        view.instances[v.instance->operands[1]].op->opcode == Opcode::Broadcast)
      return {sharedDivisorOps, 0, 0};
    if (f.serial && v.op->opcode == Opcode::Exp)
      return chainedExponential;
    return costPerElement(*plan.module, *v.op, plan.compiler);
  }

  /// Ops between two dots are repeated as often as the first dot.
  Q rowRepeats(const InstanceView &v) const {
    if (!f.serial || view.isOutside(v))
      return 1;
    return dots.repeats(f.warps);
  }

  Q largestBody() const {
    Q body = 0;
    for (const InstanceView &v : view.instances)
      if (!view.isOutside(v))
        body = larger(body, v.elements);
    return body;
  }

  /// A dot or a convolution that is no product of tiles: a loop for each element. A thread loads
  /// both operands of each product of a dot; those of a convolution in groups stay in registers.
  void addLoops(const InstanceView &v) {
    Q products = v.elements * windowElements(*v.op);
    for (unsigned p : v.instance->reduces)
      products *= view.parameters[p].size;
    const Q times = larger(view.perIteration(v), Q(0));
    f.fmaClocks += times * products / device.fmaPerClock;
    flopsInLoop += times * (2.0 * products);
    if (v.op->opcode == Opcode::Dot)
      f.loadInstructions += times * 2.0 * products / 32.0;
    registers.accumulators = larger(registers.accumulators, v.elements / (32.0 * f.warps));
  }

  void addReductions() {
    Q body = largestBody(), result = 0;
    for (unsigned root : plan.tiled->roots)
      result = larger(result, view.instances[root].elements);
    for (const InstanceView &v : view.instances) {
      if (v.isInput || v.sameAs >= 0 || v.op->opcode != Opcode::Reduce ||
          v.instance->operands.empty())
        continue;
      const InstanceView &operand = view.instances[v.instance->operands[0]];
      const Q perThread = larger(operand.elements / (32.0 * f.warps), Q(1));
      // Elements of a loop step are dead once they are summed.
      const bool walked =
          std::any_of(v.instance->reduces.begin(), v.instance->reduces.end(), [&](unsigned p) {
            return std::find(v.loops.begin(), v.loops.end(), p) != v.loops.end();
          });
      if (!walked && result >= operand.elements && body >= operand.elements) {
        registers.keptElements = larger(registers.keptElements, perThread);
        registers.loadedWords = 0;
      } else if (!f.matrix) {
        registers.loopAccumulators = larger(registers.loopAccumulators, perThread);
        f.looped = true; // even with one iteration: the compiler does not know the count
      }
      if (!f.matrix)
        addReductionExchange(v, operand);
      else if (!f.serial) // partial results of several warps are combined; chained dots keep rows
                          // in one warp
        f.exchanges += 1;
    }
  }

  /// True if partial results of several warps are combined through shared memory.
  void addReductionExchange(const InstanceView &v, const InstanceView &operand) {
    int minor = operand.minorDim();
    const Q run = minor < 0 ? Q(1) : operand.sizes[minor];
    const Q rows = operand.elements / larger(run, Q(1));
    const Q vector = loadedVector(operand);
    const Q lanesAlongRow = smaller(Q(32), larger(run / vector, Q(1)));
    const Q warpsAlongRow = smaller(f.warps, larger(run / (vector * lanesAlongRow), Q(1)));
    const Q warpsOverRows = f.warps / warpsAlongRow;
    const auto &reduced = v.op->attrs.dimensions;
    bool reducesRow = std::find(reduced.begin(), reduced.end(), minor) != reduced.end();
    bool meets = reducesRow ? warpsAlongRow > 1 : warpsOverRows > 1 && rows > 32 / lanesAlongRow;
    f.exchanges += meets ? 1 : 0;
    f.sharedPerCta = larger(f.sharedPerCta, f.warps * rows * 4.0);
  }

  /// Consecutive elements of a row in one thread: the vector width of the widest input.
  Q loadedVector(const InstanceView &operand) const {
    const Q perThread = larger(operand.elements / (32.0 * f.warps), Q(1));
    Q vector = 1;
    for (const InstanceView &v : view.instances)
      if (v.isInput && v.elements == operand.elements)
        vector = larger(vector, vectorElements(v, perThread));
    return vector;
  }

  // Outputs ------------------------------------------------------------------------------------

  void addOutputs() {
    const bool split = schedule.splitK > 1;
    for (unsigned root : plan.tiled->roots) {
      const InstanceView &v = view.instances[root];
      const double width = bitWidth(v.op->shape.dtype) / 8.0;
      f.outputElements += f.matrix ? v.elements : Q(0);
      if (split && plan.compiler == Compiler::Triton)
        addAtomics(v);
      else if (split)
        addPartialSums(v, width);
      else
        addStores(v, width);
    }
  }

  /// A split-K that adds each element to the result: sums are kept in the accumulation type.
  void addAtomics(const InstanceView &v) {
    f.writeBytes += double(v.op->shape.elementCount().value_or(0)) * sumBytes(v);
    f.atomicsPerThread += v.elements * (1.0 / (32.0 * f.warps)) * v.valid;
  }

  static double sumBytes(const InstanceView &v) {
    return std::max(4.0, bitWidth(v.op->shape.dtype) / 8.0);
  }

  /// A split-K whose CTAs leave their sums in a workspace. Each passes a fence and counts itself,
  /// the last of a tile reads those of all, split by split, and writes the result.
  void addPartialSums(const InstanceView &v, double width) {
    const Q sums = v.elements * sumBytes(v);
    const Q share = 1.0 / schedule.splitK;
    f.workspaceBytes += f.ctas * sums;
    f.outsideLoadBytes += sums;
    f.lastLoadBytes += (schedule.splitK - 1.0) * sums;
    for (const PlanDot<Q> &d : dots.dots) { // batches one after the other
      f.counterAtomics += d.shape.batch;
      f.lastRoundTrips += d.shape.batch * (fenceAndCount + schedule.splitK);
    }
    f.writeBytes += double(v.op->shape.elementCount().value_or(0)) * width;
    f.storeBytes += sums + v.elements * width * v.valid * share;
    f.epilogueSharedBytes += 2 * v.elements * width * share;
    noteSegment(v, width);
  }

  void addStores(const InstanceView &v, double width) {
    f.writeBytes += double(v.op->shape.elementCount().value_or(0)) * width;
    f.storeBytes += v.elements * width * v.valid;
    noteSegment(v, width);
    if (f.matrix)
      f.epilogueSharedBytes += 2 * v.elements * width;
    else if (isTransposed(v))
      addTransposition(v, width);
  }

  void noteSegment(const InstanceView &v, double width) {
    if (v.isOneRow())
      return;
    const Q run = v.contiguousElements() * width;
    f.writeSegment = smaller(f.writeSegment, !f.matrix ? run : smaller(run, Q(lineBytes)));
    if (run < sectorBytes && !f.matrix)
      f.partialSectors += v.elements * width / run * v.valid;
  }

  /// The result's fastest dim is not the fastest one of what is read: the tile is transposed in
  /// shared memory.
  bool isTransposed(const InstanceView &root) const {
    int minor = root.minorDim();
    if (minor < 0 || root.sizes[minor] < 2)
      return false;
    const auto &wanted = root.dimParameters[minor];
    const auto &parameters = plan.tiled->space.parameters;
    for (const InstanceView &v : view.instances) {
      int dim = v.isInput ? v.minorDim() : -1;
      if (dim < 0 || v.sizes[dim] < 2 || v.elements < root.elements)
        continue;
      const auto &movers = v.dimParameters[dim];
      bool parallel = std::any_of(movers.begin(), movers.end(), [&](unsigned p) {
        return parameters[p].role == TileParameter::Role::Parallel;
      });
      bool same = std::any_of(movers.begin(), movers.end(), [&](unsigned p) {
        return std::find(wanted.begin(), wanted.end(), p) != wanted.end();
      });
      if (parallel && !same)
        return true;
    }
    return false;
  }

  void addTransposition(const InstanceView &v, double width) {
    f.exchanges += 1;
    f.epilogueSharedBytes += 2 * v.elements * width;
    f.sharedPerCta = larger(f.sharedPerCta, v.elements * width);
  }

  void finishLoop() {
    if (!f.matrix && f.looped) {
      if (registers.loadedWords <= unrolledWords)
        f.unroll = unrolledSteps;
      registers.loadedWords *= f.unroll;
      registers.wordRegisters *= f.unroll;
      registers.loop = true;
      registers.unroll = f.unroll;
      registers.walksRows = f.rowWalk > 0.0;
      const LoopRegisters<Q> loop = loopRegisters(registers, f.warps, device.limits);
      f.roundTrips = smaller(larger(Q(1), registers.wordRegisters / loop.forLoads),
                             larger(loadsWithData * f.unroll, Q(1)));
    }
    f.issuedFlops = f.ctas * (f.iterations * flopsInLoop + flopsOutside);
    f.pipelined = f.matrix;
    f.inFlight = misaligned ? Q(1) : larger(schedule.stages - 1.0, Q(1));
  }

  const KernelPlan &plan;
  CodeChoice code;
  Instruction instruction;
  const Device &device;
  const Graph &graph;
  PlanViewOf<Q> view;
  ScheduleOf<Q> schedule;
  FeaturesOf<Q> f;
  RegisterFacts<Q> registers;
  DotAnalysis<Q> dots;
  int rowParameter = -1, columnParameter = -1;
  bool neighboursByRow = false, misaligned = false;
  double misalignedFactor = 1;
  Q copies = 0;
  Q flopsInLoop = 0, flopsOutside = 0; ///< issued by a CTA: of an iteration, and once
  Q loadsWithData = 0;                 ///< of loadsPerThread, those that bring something
};

template <class Q>
Instruction preferredFor(const KernelPlan &plan, const PlanViewOf<Q> &view,
                         const ScheduleOf<Q> &schedule, const Device &device) {
  DotAnalysis<Q> dots = analyseDots(plan, view, codeOf(plan, Instruction::MmaSync));
  bool tensor = false, warpGroup = false, isCopied = true;
  for (const PlanDot<Q> &d : dots.dots) {
    bool taken = d.shape.tensorCores && device.tensorFlopsPerClock(d.shape.type) > 0;
    tensor = tensor || taken;
    warpGroup =
        warpGroup || (taken && d.shape.type != DType::F64 &&
                      view.instances[d.instance].op->opcode == Opcode::Dot && d.shape.rows >= 64.0);
  }
  const Q groups = schedule.warps / 4.0;
  if (device.warpgroupMma && warpGroup && floorOf(groups) == groups) {
    // Where TMA can't copy an operand, Triton loads it through registers; our code falls back to
    // another instruction.
    for (const PlanDot<Q> &d : dots.dots)
      isCopied = isCopied &&
                 (plan.compiler != Compiler::Own ||
                  !tmaRefusal(plan.ops(), plan.tiled->group, plan.tiled->instances[d.instance].op));
    if (isCopied)
      return Instruction::Wgmma;
  }
  return tensor ? Instruction::MmaSync : Instruction::Fma;
}

/// Registers, shared memory and warps of the code that we generate.
template <class Q>
llvm::Error takeOwnResources(const KernelPlan &plan, const PlanNumbers<Q> &numbers,
                             Instruction instruction, const DeviceLimits &limits,
                             FeaturesOf<Q> &features) {
  const Resources resources = resourcesOf(plan.ops(), *plan.tiled, instruction, limits);
  auto shared = evaluateAt(*plan.tiled, numbers, resources.sharedBytes);
  auto registers = evaluateAt(*plan.tiled, numbers, resources.registersPerThread);
  auto threads = evaluateAt(*plan.tiled, numbers, resources.threads);
  if (!shared || !registers || !threads)
    return makeError(DiagClass::Internal, "plan '{}': what it takes of an SM has no value",
                     plan.name);
  features.sharedPerCta = *shared;
  features.rawRegisters = *registers;
  features.residentWarps = *threads / 32.0;
  return llvm::Error::success();
}

} // namespace

template <class Q>
llvm::Expected<FeaturesOf<Q>> derive(const KernelPlan &plan, const PlanNumbers<Q> &numbers,
                                     std::optional<Instruction> instruction, const Device &device) {
  auto view = viewOf(plan, numbers);
  if (!view)
    return view.takeError();
  ScheduleOf<Q> schedule = scheduleOf(plan.tiled->space, numbers);
  if (!instruction)
    instruction = preferredFor(plan, *view, schedule, device);
  FeaturesOf<Q> features =
      Extractor<Q>(plan, codeOf(plan, *instruction), device, schedule, std::move(*view)).run();
  if (features.empty)
    return features;
  if (plan.compiler == Compiler::Own)
    if (auto error = takeOwnResources(plan, numbers, *instruction, device.limits, features))
      return error;
  setOccupancy(features, device.limits);
  return features;
}

template llvm::Expected<FeaturesOf<Traced>> derive(const KernelPlan &, const PlanNumbers<Traced> &,
                                                   std::optional<Instruction>, const Device &);

llvm::Expected<Features> featuresOf(const KernelPlan &plan, const Device &device) {
  if (!plan.tiled || !plan.module)
    return makeError(DiagClass::Unsupported, "plan '{}' has no tiles", plan.name);
  auto numbers = numbersOf(plan);
  if (!numbers)
    return numbers.takeError();
  return derive(plan, *numbers, plan.instruction, device);
}

llvm::Expected<RegisterFacts<double>> registerFactsOf(const KernelPlan &plan,
                                                      const Device &device) {
  auto numbers = numbersOf(plan);
  if (!numbers)
    return numbers.takeError();
  auto view = viewOf(plan, *numbers);
  if (!view)
    return view.takeError();
  const ScheduleOf<double> schedule = scheduleOf(plan.tiled->space, *numbers);
  Extractor<double> extractor(plan, codeOf(plan, plan.instruction), device, schedule,
                              std::move(*view));
  extractor.run();
  return extractor.registerFacts();
}

llvm::Expected<Instruction> preferredInstruction(const KernelPlan &plan, const Device &device) {
  if (!plan.tiled || !plan.module)
    return makeError(DiagClass::Unsupported, "plan '{}' has no tiles", plan.name);
  auto numbers = numbersOf(plan);
  if (!numbers)
    return numbers.takeError();
  auto view = viewOf(plan, *numbers);
  if (!view)
    return view.takeError();
  return preferredFor(plan, *view, scheduleOf(plan.tiled->space, *numbers), device);
}

} // namespace tilewright
