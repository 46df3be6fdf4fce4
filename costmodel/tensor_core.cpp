#include "costmodel/tensor_core.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

/// The grid of warps over a tile of 16x8 instructions: rows are doubled while a warp has at least
/// as many instructions along them, columns otherwise (as Triton divides mma.sync tiles).
struct WarpGrid {
  double rows = 1, columns = 1;
};
WarpGrid mmaSyncGrid(double rows, double columns, double warps) {
  WarpGrid g;
  while (g.rows * g.columns < warps) {
    if (rows / 16 / g.rows >= columns / 16 / g.columns && g.rows < rows / 16)
      g.rows *= 2;
    else
      g.columns *= 2;
  }
  return g;
}

double padded(double size, double unit) { return std::ceil(size / unit) * unit; }

/// Shared-memory clocks of a warp that stores one element a lane for a conflict-free one.
constexpr double storeClocks = 2;

/// A tile whose contiguous dim has `run` elements, turned round on its way to shared memory. Lanes
/// hold 16 bytes of a row each, and a store takes one element of each: as many rows of the result
/// as lanes along `run`. Rows of 128 bytes, whose 16-byte pieces are swizzled by the number of the
/// row modulo 8, start in the same bank, so that lanes conflict that have the same number.
void addRelayout(DotWork &work, const DotOperandShape &operand, double run, double depth,
                 double threads) {
  constexpr double vectorBytes = 16, lanes = 32, swizzledRows = 8, sectorsOfWarp = 16;
  double elements = run * depth, perLane = vectorBytes / operand.bytesPerElement;
  double rows = std::max(swizzledRows / perLane, 1.0);
  double conflicts = std::clamp(run / perLane / rows, 1.0, lanes / rows);
  if (isScattered(operand, Instruction::Wgmma)) {
    // A copy of 32 lanes touches 16 sectors, one a clock; half of its conflicts hide behind that.
    work.scatterClocks += elements / lanes * (sectorsOfWarp + conflicts / 2);
    return;
  }
  work.relayoutClocks += elements / lanes * (conflicts + storeClocks);
  work.relayoutWords += elements * operand.bytesPerElement / 4 / threads;
  work.relayoutRoundTrips += 1; // its loads are not pipelined
}

/// ptxas (12.8, with its warning C7515) waits after every wgmma of a loop whose right operand has
/// 16 bit, is contiguous along k and has at least 256 columns, where several warp groups share the
/// tile: found by compiling tiles of 64 to 256 rows and 32 to 256 columns, 4 to 16 warps, 2 to 4
/// stages and all types; no other was serialised at 16 or 8 bit.
bool isSerialised(const DotShape &d, double warps) {
  return d.rhs.fromShared && d.rhs.contractedMinor && d.rhs.bytesPerElement == 2 &&
         d.columns >= 256 && warps >= 8;
}

void addWgmma(DotWork &work, const DotShape &d, double warps, double clocks) {
  work.wgmmaClocks = clocks;
  double groups = warps / 4, groupRows = d.feedsDot ? groups : std::min(groups, d.rows / 64);
  double groupColumns = std::max(groups / groupRows, 1.0);
  double instructionColumns = std::min(d.columns / groupColumns, 256.0);
  double rowBlocks = d.rows / 64, columnBlocks = d.columns / instructionColumns;
  double threads = 32 * warps;

  if (d.rhs.fromShared) {
    double rhsBytes = d.columns * d.depth * d.rhs.bytesPerElement;
    if (needsRelayout(d.rhs))
      addRelayout(work, d.rhs, d.columns, d.depth, threads);
    // The clocks of a scattered operand hold its writes; its reads fit in between.
    work.operandBytes += isScattered(d.rhs, Instruction::Wgmma) ? 0 : rowBlocks * rhsBytes;
  }
  if (d.lhs.fromShared) {
    work.operandBytes += columnBlocks * d.rows * d.depth * d.lhs.bytesPerElement;
    if (needsRelayout(d.lhs))
      addRelayout(work, d.lhs, d.rows, d.depth, threads);
  }
  work.instructions +=
      warps * d.depth * d.lhs.bytesPerElement / 32 * rowBlocks * columnBlocks / groups;
  work.serialGroups += isSerialised(d, warps) ? 1 : 0;
}

void addMmaSync(DotWork &work, const DotShape &d, double warps, double clocks) {
  WarpGrid g = mmaSyncGrid(d.rows, d.columns, warps);
  // More warps than instructions do the same work twice.
  work.mmaSyncClocks =
      clocks * std::max(1.0, g.rows * 16 / d.rows) * std::max(1.0, g.columns * 8 / d.columns);
  double lhsStep = d.depth * d.lhs.bytesPerElement;
  if (d.lhs.fromShared)
    work.operandBytes += g.columns * std::max(d.rows, 16 * g.rows) * lhsStep;
  if (d.rhs.fromShared)
    work.operandBytes +=
        g.rows * std::max(d.columns, 8 * g.columns) * d.depth * d.rhs.bytesPerElement;
  double mma = std::max(d.rows / 16 / g.rows, 1.0) * std::max(d.columns / 8 / g.columns, 1.0) *
               std::ceil(lhsStep / 32);
  double loads = (std::max(d.rows / 16 / g.rows, 1.0) + std::max(d.columns / 16 / g.columns, 1.0)) *
                 (lhsStep / 32);
  if (needsRelayout(d.rhs)) // ldmatrix can not transpose it: single loads
    loads += std::max(d.columns / 8 / g.columns, 1.0) * d.depth / 4;
  work.instructions += warps * (mma + loads);
}

void addFma(DotWork &work, const DotShape &d, double warps, const Device &device) {
  double products = d.rows * d.columns * d.depth;
  work.fmaClocks = products / (d.type == DType::F64 ? device.f64FmaPerClock : device.fmaPerClock);
  work.instructions += products / 32;
  // A thread keeps a square of accumulators and reads a row and a column of operands for it; half
  // of the lanes of a warp read the same words.
  double side = std::sqrt(std::max(work.accumulators, 1.0));
  work.operandBytes += products / side * (d.lhs.bytesPerElement + d.rhs.bytesPerElement) / 2;
}

} // namespace

bool needsRelayout(const DotOperandShape &operand) {
  return operand.fromShared && !operand.contractedMinor && operand.bytesPerElement != 2;
}

bool isScattered(const DotOperandShape &operand, Instruction instruction) {
  return instruction == Instruction::Wgmma && needsRelayout(operand) &&
         operand.bytesPerElement == 4;
}

double DotShape::repeats(double warps) const {
  return feedsDot ? std::max(1.0, 16 * warps / std::max(rows, 1.0)) : 1;
}

DotWork dotWork(const DotShape &given, Instruction instruction, double warps,
                const Device &device) {
  DotWork work;
  DotShape dot = given;
  if (instruction != Instruction::Fma) {
    // Whole instructions: masked lanes take as long as used ones.
    dot.rows = padded(dot.rows, instruction == Instruction::Wgmma ? 64 : 16);
    dot.columns = padded(dot.columns, 8);
    dot.depth = padded(dot.depth, 32 / std::max(dot.lhs.bytesPerElement, 0.5));
  }
  work.accumulators = dot.rows * dot.columns / (32 * warps);
  work.steps = dot.depth * dot.lhs.bytesPerElement / 32;
  double rate = device.tensorFlopsPerClock(dot.type);
  double clocks = rate > 0 ? 2 * dot.rows * dot.columns * dot.depth / rate : 0;
  if (rate == 0 || instruction == Instruction::Fma)
    addFma(work, dot, warps, device);
  else if (instruction == Instruction::Wgmma)
    addWgmma(work, dot, warps, clocks);
  else
    addMmaSync(work, dot, warps, clocks);

  for (double *quantity : {&work.wgmmaClocks, &work.mmaSyncClocks, &work.fmaClocks, &work.steps,
                           &work.instructions, &work.operandBytes, &work.relayoutClocks,
                           &work.relayoutWords, &work.scatterClocks, &work.accumulators})
    *quantity *= dot.batch * dot.repeats(warps);
  return work;
}

} // namespace tilewright
