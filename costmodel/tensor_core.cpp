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
template <class Q> WarpGrid mmaSyncGrid(const Q &rows, const Q &columns, const Q &warps) {
  WarpGrid g;
  while (Q(g.rows * g.columns) < warps) {
    if (rows / 16.0 / g.rows >= columns / 16.0 / g.columns && Q(g.rows) < rows / 16.0)
      g.rows *= 2;
    else
      g.columns *= 2;
  }
  return g;
}

template <class Q> Q padded(const Q &size, double unit) { return ceilOf(size / unit) * unit; }

/// Shared-memory clocks of a warp that stores one element a lane, relative to a conflict-free
/// store.
constexpr double storeClocks = 2;

/// A tile whose contiguous dim has `run` elements, transposed on its way to shared memory. Lanes
/// hold 16 bytes of a row each, and a store takes one element of each: these go to as many rows of
/// the result as there are lanes along `run`. Rows of 128 bytes, whose 16-byte pieces are swizzled
/// by the number of the row modulo 8, start in the same bank, so lanes with the same row number
/// modulo 8 conflict.
template <class Q>
void addRelayout(DotWork<Q> &work, const DotOperandShape &operand, const Q &run, const Q &depth,
                 const Q &threads) {
  constexpr double vectorBytes = 16, lanes = 32, swizzledRows = 8, sectorsOfWarp = 16;
  const Q elements = run * depth;
  const double perLane = vectorBytes / operand.bytesPerElement;
  double rows = std::max(swizzledRows / perLane, 1.0);
  const Q conflicts = smaller(larger(run / perLane / rows, Q(1)), Q(lanes / rows));
  if (isScattered(operand, Instruction::Wgmma)) {
    // A copy of 32 lanes touches 16 sectors, one a clock; half of its conflicts hide behind that.
    work.scatterClocks += elements / lanes * (sectorsOfWarp + conflicts / 2.0);
    return;
  }
  work.relayoutClocks += elements / lanes * (conflicts + storeClocks);
  work.relayoutWords += elements * operand.bytesPerElement / 4.0 / threads;
  work.relayoutRoundTrips += 1; // relayout keeps its loads from being pipelined
}

/// ptxas (12.8, with its warning C7515) serialises every wgmma of a loop whose right operand has 16
/// bit, is contiguous along k and has at least 256 columns, if several warpgroups share the tile.
/// Found by compiling tiles of 64 to 256 rows and 32 to 256 columns, 4 to 16 warps, 2 to 4 stages
/// and all types; no other case was serialised at 16 or 8 bit.
template <class Q> bool isSerialised(const DotShape<Q> &d, const Q &warps) {
  return d.rhs.fromShared && d.rhs.contractedMinor && d.rhs.bytesPerElement == 2 &&
         d.columns >= 256.0 && warps >= 8.0;
}

template <class Q>
void addWgmma(DotWork<Q> &work, const DotShape<Q> &d, const Q &warps, const Q &clocks) {
  work.wgmmaClocks = clocks;
  const Q groups = warps / 4.0;
  const Q groupColumns = d.feedsDot ? Q(1) : larger(groups / smaller(groups, d.rows / 64.0), Q(1));
  const Q instructionColumns = smaller(d.columns / groupColumns, Q(256));
  const Q rowBlocks = d.rows / 64.0, columnBlocks = d.columns / instructionColumns;
  const Q threads = 32.0 * warps;

  if (d.rhs.fromShared) {
    const Q rhsBytes = d.columns * d.depth * d.rhs.bytesPerElement;
    if (needsRelayout(d.rhs))
      addRelayout(work, d.rhs, d.columns, d.depth, threads);
    // The clocks of a scattered operand cover its writes; its reads overlap with them.
    work.operandBytes += isScattered(d.rhs, Instruction::Wgmma) ? Q(0) : rowBlocks * rhsBytes;
  }
  if (d.lhs.fromShared) {
    work.operandBytes += columnBlocks * d.rows * d.depth * d.lhs.bytesPerElement;
    if (needsRelayout(d.lhs))
      addRelayout(work, d.lhs, d.rows, d.depth, threads);
  }
  // Of four warps each.
  work.instructions += 4.0 * (d.depth * d.lhs.bytesPerElement / 32.0) * rowBlocks * columnBlocks;
  work.serialGroups += isSerialised(d, warps) ? 1 : 0;
}

template <class Q>
void addMmaSync(DotWork<Q> &work, const DotShape<Q> &d, const Q &warps, const Q &clocks) {
  WarpGrid g = mmaSyncGrid(d.rows, d.columns, warps);
  // Warps beyond the number of instructions do redundant work.
  work.mmaSyncClocks =
      clocks * larger(Q(1), g.rows * 16 / d.rows) * larger(Q(1), g.columns * 8 / d.columns);
  const Q lhsStep = d.depth * d.lhs.bytesPerElement;
  if (d.lhs.fromShared)
    work.operandBytes += g.columns * larger(d.rows, Q(16 * g.rows)) * lhsStep;
  if (d.rhs.fromShared)
    work.operandBytes +=
        g.rows * larger(d.columns, Q(8 * g.columns)) * d.depth * d.rhs.bytesPerElement;
  auto perWarp = [](const Q &size, double unit, double warps) {
    return larger(size / unit / warps, Q(1));
  };
  const Q mma =
      perWarp(d.rows, 16, g.rows) * perWarp(d.columns, 8, g.columns) * ceilOf(lhsStep / 32.0);
  Q loads = (perWarp(d.rows, 16, g.rows) + perWarp(d.columns, 16, g.columns)) * (lhsStep / 32.0);
  if (needsRelayout(d.rhs)) // ldmatrix can not transpose it: single loads
    loads += perWarp(d.columns, 8, g.columns) * d.depth / 4.0;
  work.instructions += warps * (mma + loads);
}

template <class Q> void addFma(DotWork<Q> &work, const DotShape<Q> &d, const Device &device) {
  const Q products = d.rows * d.columns * d.depth;
  work.fmaClocks = products / (d.type == DType::F64 ? device.f64FmaPerClock : device.fmaPerClock);
  work.instructions += products / 32.0;
  // A thread keeps a square of accumulators and reads one row and one column of operands for it;
  // half of a warp's lanes read the same words.
  const Q side = rootOf(larger(work.accumulators, Q(1)));
  work.operandBytes += products / side * (d.lhs.bytesPerElement + d.rhs.bytesPerElement) / 2.0;
}

} // namespace

bool needsRelayout(const DotOperandShape &operand) {
  return operand.fromShared && !operand.contractedMinor && operand.bytesPerElement != 2;
}

bool isScattered(const DotOperandShape &operand, Instruction instruction) {
  return instruction == Instruction::Wgmma && needsRelayout(operand) &&
         operand.bytesPerElement == 4;
}

template <class Q> Q DotShape<Q>::repeats(const Q &warps) const {
  return feedsDot ? larger(Q(1), 16.0 * warps / larger(rows, Q(1))) : Q(1);
}

template <class Q>
DotWork<Q> dotWork(const DotShape<Q> &given, Instruction instruction, const Q &warps,
                   const Device &device) {
  DotWork<Q> work;
  DotShape<Q> dot = given;
  if (instruction != Instruction::Fma) {
    // Whole instructions: masked lanes take as long as used ones.
    dot.rows = padded(dot.rows, instruction == Instruction::Wgmma ? 64 : 16);
    dot.columns = padded(dot.columns, 8);
    dot.depth = padded(dot.depth, 32 / std::max(dot.lhs.bytesPerElement, 0.5));
  }
  work.accumulators = dot.rows * dot.columns * (1.0 / (32.0 * warps));
  work.steps = dot.depth * dot.lhs.bytesPerElement / 32.0;
  double rate = dot.tensorCores ? device.tensorFlopsPerClock(dot.type) : 0;
  const Q clocks =
      rate > 0 ? 2.0 * dot.rows * dot.columns * dot.depth * double(dot.products) / rate : Q(0);
  if (rate == 0 || instruction == Instruction::Fma)
    addFma(work, dot, device);
  else if (instruction == Instruction::Wgmma)
    addWgmma(work, dot, warps, clocks);
  else
    addMmaSync(work, dot, warps, clocks);
  if (dot.products > 1 && work.fmaClocks == Q(0)) {
    // Multiplies the instructions by the number of products.
    const double passes =
        dot.products * (bitWidth(dot.type) / 8.0) / std::max(dot.lhs.bytesPerElement, 0.5);
    work.steps *= passes;
    work.instructions *= passes;
  }

  for (Q *quantity : {&work.wgmmaClocks, &work.mmaSyncClocks, &work.fmaClocks, &work.steps,
                      &work.instructions, &work.operandBytes, &work.relayoutClocks,
                      &work.relayoutWords, &work.scatterClocks, &work.accumulators})
    *quantity *= dot.batch * dot.repeats(warps);
  return work;
}

template struct DotShape<double>;
template struct DotShape<Traced>;
template DotWork<double> dotWork(const DotShape<double> &, Instruction, const double &,
                                 const Device &);
template DotWork<Traced> dotWork(const DotShape<Traced> &, Instruction, const Traced &,
                                 const Device &);

} // namespace tilewright
