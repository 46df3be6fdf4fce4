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

/// Conflicts of an element-wise transposition of a tile whose contiguous dim has `run` elements:
/// degree c of 32 costs (c + 4) / 36 of a fully conflicting one.
double relayoutCost(double elements, double run, double bytesPerElement) {
  double degree = std::min(32.0, run * bytesPerElement / 8 * (bytesPerElement == 4 ? 2 : 1));
  return elements * (degree + 4) / 36;
}

void addRelayout(DotWork &work, const DotOperandShape &operand, double run, double depth,
                 double threads) {
  double elements = run * depth;
  work.relayoutElements += relayoutCost(elements, run, operand.bytesPerElement);
  work.relayoutWords += elements * operand.bytesPerElement / 4 / threads;
  if (operand.bytesPerElement == 1)
    work.relayoutRoundTrips += 1; // its loads are not pipelined
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
    bool relayout = needsRelayout(d.rhs);
    if (relayout)
      addRelayout(work, d.rhs, d.columns, d.depth, threads);
    // A 32-bit operand is read once for the re-layout, in place of once per block of rows.
    work.operandBytes += relayout && d.rhs.bytesPerElement == 4 ? -rhsBytes : rowBlocks * rhsBytes;
  }
  if (d.lhs.fromShared) {
    work.operandBytes += columnBlocks * d.rows * d.depth * d.lhs.bytesPerElement;
    if (needsRelayout(d.lhs))
      addRelayout(work, d.lhs, d.rows, d.depth, threads);
  }
  work.instructions +=
      warps * d.depth * d.lhs.bytesPerElement / 32 * rowBlocks * columnBlocks / groups;
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

  for (double *quantity :
       {&work.wgmmaClocks, &work.mmaSyncClocks, &work.fmaClocks, &work.steps, &work.instructions,
        &work.operandBytes, &work.relayoutElements, &work.relayoutWords, &work.accumulators})
    *quantity *= dot.batch * dot.repeats(warps);
  return work;
}

} // namespace tilewright
