#include "costmodel/sequence/emitter_features.h"

#include "costmodel/resources.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

/// Elements of one access of a thread: of emitters' loops, and of Triton's tiles.
constexpr double loopVector = 4, tileVector = 8;
/// Instructions beside those of the ops: around each vector that is stored, of a thread, and of
/// each element that a transpose puts into shared memory and takes out.
constexpr double storeInstructions = 3, threadInstructions = 12, transposeInstructions = 6;
/// Registers of a thread of an emitter's kernel.
constexpr double emitterRegisters = 32;
/// Of a thread of a tile kernel: fixed; for each element of its part of the tile beside the words
/// that it holds (addresses, predicates); where positions are compared. From 18 kernels as
/// compiled.
constexpr double tileRegisters = 10, registersBesideWords = 0.4, maskRegisters = 22;
constexpr double streamRegisters = 16, registersOfStream = 0.75; ///< where nothing is held
constexpr double mostRegisters = 255;
/// Loads that a thread has in flight at once.
constexpr double loadsInFlight = 16;
/// Iterations of a reduction's loop whose loads are issued together.
constexpr double reductionUnroll = 4;
/// Lines of a warp's access whose lanes go their own ways.
constexpr double scatteredLines = 8;
/// Operands up to this size that don't move with a window are loaded once for all taps.
constexpr double smallOperand = 65536;

class Emitter {
public:
  Emitter(const Module &module, const Op &fusion, const FusionWork &work, const LaunchDims &shape,
          const Device &device)
      : body(module.graph(fusion.called.front().graph)), work(work), shape(shape), device(device) {
    if (isTile()) {
      config = *tileConfigOf(module, fusion);
      tile = heldTile(module, fusion, config);
    }
    for (const FusionResult &result : work.results) {
      stored += result.elements;
      f.writeBytes += result.bytes;
    }
    elements = work.results.empty() ? 1 : work.results.front().elements;
    if (isTile() || isReduction())
      elements = largest();
    perThread = std::max(1.0, elements / (shape.ctas * shape.threads));
    vector = shape.kind == LaunchKind::Transpose
                 ? transposeVector()
                 : std::min(isTile() ? tileVector : loopVector, perThread);
  }

  Features run(std::optional<double> registers) {
    f.ctas = shape.ctas;
    f.warps = f.residentWarps = shape.threads / 32;
    for (const Op &op : body.all())
      if (op.opcode == Opcode::Parameter && size_t(op.attrs.parameterNumber) < work.operands.size())
        addLoads(op, work.operands[size_t(op.attrs.parameterNumber)]);
    addInstructions();
    addExchanges();
    f.storeBytes = f.writeBytes / f.ctas;
    for (const FusionOperand &operand : work.operands)
      f.readBytes += operand.bytes;
    f.tags /= f.ctas;
    f.loadBytes /= f.ctas;
    setSegments();
    f.rawRegisters = registers.value_or(estimatedRegisters());
    setOccupancy(f, device.limits);
    f.occupancy = std::max(1.0, f.occupancy);
    return f;
  }

private:
  bool isTile() const {
    return shape.kind == LaunchKind::Tile || shape.kind == LaunchKind::TileDot;
  }
  bool isReduction() const {
    return shape.kind == LaunchKind::ColumnReduce || shape.kind == LaunchKind::RowReduce;
  }

  /// A warp moves a row of a square tile: two elements a lane of 64 by 64, one of 32 by 32.
  double transposeVector() const {
    constexpr double warp = 32;
    return std::max(1.0, std::round(std::sqrt(perThread * shape.threads) / warp));
  }

  /// Elements of the largest result or reduced operand.
  double largest() const {
    double most = 1, results = 0;
    for (OpId id : bodyResults(body))
      results = std::max(results, elementsOf(body[id].shape));
    most = std::max(most, results);
    for (const Op &op : body.all())
      if (op.opcode == Opcode::Reduce && !op.operands.empty() &&
          elementsOf(body[op.operands[0]].shape) >= results)
        most = std::max(most, elementsOf(body[op.operands[0]].shape));
    return most;
  }

  void addLoads(const Op &parameter, const FusionOperand &operand) {
    if (parameter.shape.isTuple)
      return;
    const double width = bitWidth(parameter.shape.dtype) / 8.0;
    if (isTile()) { // each element once a tile, along the path that asks for most
      const std::pair<IndexPath, double> *most = nullptr;
      double least = 0;
      for (const auto &load : operand.loads)
        if (const double n = std::min(load.second, elementsOf(parameter.shape));
            !most || n > least) {
          most = &load;
          least = n;
        }
      if (most)
        addLoad(most->first, least, width, bytesOf(parameter.shape));
      return;
    }
    for (const auto &[path, n] : operand.loads)
      addLoad(path, n, width, bytesOf(parameter.shape));
  }

  void addLoad(const IndexPath &path, double n, double width, double operandBytes) {
    if (n <= 1)
      return;
    if (operandBytes < smallOperand && path.isBroadcastLast)
      n /= path.taps;
    const bool isLoop = !isTile() && !isReduction() && shape.kind != LaunchKind::Transpose;
    const bool isScattered = path.isGathered || (isLoop && path.isTurned);
    const double lanes = isScattered || (isLoop && path.isJoined) ? 1 : vector;
    if (path.isGathered)
      dependentLoads = 2;
    loads += n / lanes;
    const double lines = isScattered    ? (path.isIndex ? 1 : scatteredLines)
                         : path.isIndex ? 1
                                        : std::max(1.0, 32 * lanes * width / 128);
    f.tags += n / lanes / 32 * lines;
    f.loadBytes += n * width;
  }

  void addInstructions() {
    const double threads = shape.ctas * shape.threads;
    double lanes =
        work.instructions + stored / vector * storeInstructions + threads * threadInstructions;
    if (shape.kind == LaunchKind::Transpose)
      lanes += elements * transposeInstructions;
    // What is filled up is computed, too.
    lanes *= tile.padded / tile.elements;
    f.aluOps = std::max(0.0, lanes - work.special) / shape.ctas;
    f.sfuOps = work.special / shape.ctas;
    f.halfRateOps = work.halfRate / shape.ctas;
    f.loadInstructions = loads / 32 / shape.ctas;
    f.loadsPerThread = loads / threads;
    f.looped = isReduction();
    f.roundTrips = loads == 0 ? 0
                   : isReduction()
                       ? std::max(1.0, perThread / vector / reductionUnroll)
                       : dependentLoads * std::max(1.0, f.loadsPerThread / loadsInFlight);
    f.issuedFlops = work.instructions;
  }

  /// Partial results of several warps, and tiles that are turned, pass through shared memory.
  void addExchanges() {
    if (isReduction())
      f.exchanges = 2;
    else if (shape.kind == LaunchKind::Transpose)
      f.exchanges = 1;
    if (shape.kind == LaunchKind::ColumnReduce)
      addColumnSums();
    if (!isTile() || f.warps <= 1)
      return;
    bool turns = false;
    for (const Op &op : body.all()) {
      f.exchanges += op.opcode == Opcode::Reduce;
      turns = turns || op.opcode == Opcode::Transpose;
    }
    f.exchanges += turns;
    // The threads that store a reduction's result are not those that have it.
    const std::vector<OpId> results = bodyResults(body);
    f.exchanges += std::any_of(results.begin(), results.end(), [&](OpId id) {
      return body[behindConversions(body, id)].opcode == Opcode::Reduce;
    });
  }

  /// Each thread has sums of four columns. They are turned in shared memory, so that a warp has
  /// those of one column, and are reduced by shuffles, which take the same way.
  void addColumnSums() {
    constexpr double columns = 4, bytes = 4, shuffles = 5;
    double reductions = 0;
    for (const Op &op : body.all())
      reductions += op.opcode == Opcode::Reduce;
    f.epilogueSharedBytes = reductions * shape.threads * columns * bytes * (2 + shuffles);
  }

  void setSegments() {
    if (work.results.empty() || (shape.kind != LaunchKind::Transpose && !isTile()))
      return;
    constexpr double tileRow = 64, sector = 32;
    const double width = work.results[0].bytes / std::max(1.0, work.results[0].elements);
    if (!isTile()) {
      f.readSegment = f.writeSegment = tileRow * width;
      f.readPieces = (sector / f.readSegment) * (sector / f.readSegment);
      return;
    }
    // Rows of a tile that is turned are as long as the tile is along the operand's fastest dim.
    for (const Op &op : body.all()) {
      const auto &sizes = config.outputTiles.front();
      const auto &from = op.attrs.dimensions;
      if (op.opcode != Opcode::Transpose || elementsOf(op.shape) < elements ||
          from.size() != sizes.size())
        continue;
      const Shape &operand = body[op.operands[0]].shape;
      const auto at = std::find(from.begin(), from.end(), operand.minorToMajorOrDefault().front());
      const double segment =
          std::max(sector, double(sizes[size_t(at - from.begin())]) * bitWidth(operand.dtype) / 8);
      f.readSegment = std::min(f.readSegment, segment);
      f.writeSegment = std::min(f.writeSegment, std::max(sector, double(sizes.back()) * width));
      f.readPieces +=
          bytesOf(operand) / std::max(1.0, f.readBytes) * (sector / segment) * (sector / segment);
    }
  }

  double estimatedRegisters() const {
    if (!isTile())
      return emitterRegisters;
    const double each = tile.padded / shape.threads;
    if (work.heldWords == 0)
      return std::min(mostRegisters, streamRegisters + registersOfStream * each);
    double registers = tileRegisters + each * (work.heldWords + registersBesideWords);
    bool isMasked = false;
    for (const Op &op : body.all())
      isMasked = isMasked || (op.opcode == Opcode::Iota && elementsOf(op.shape) > 1);
    if (isMasked)
      registers += maskRegisters;
    // Stored by other threads than those that reduce: both hold the tile.
    if (tile.isSplit && stored >= elements)
      registers += each * work.heldWords;
    return std::min(mostRegisters, registers);
  }

  const Graph &body;
  const FusionWork &work;
  const LaunchDims &shape;
  const Device &device;
  TileConfig config; ///< of a tile kernel
  HeldTile tile;
  Features f;
  double elements = 1, stored = 0, perThread = 1, vector = 1, loads = 0, dependentLoads = 1;
};

} // namespace

Features emitterFeatures(const Module &module, const Op &fusion, const FusionWork &work,
                         const LaunchDims &shape, const Device &device,
                         std::optional<double> registers) {
  return Emitter(module, fusion, work, shape, device).run(registers);
}

} // namespace tilewright
