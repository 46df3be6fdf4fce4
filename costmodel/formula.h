// The time of one kernel as a closed formula of features and parameters; derivation in
// docs/model.md. A template over the number type of the features (Q: double for one plan, Lanes for
// eight of one kind) and of the parameters (P: double to price, Dual to fit). Plans of one kind
// differ in numbers, never in branches: select(), larger() and the like work on all number types.
//
// Sources of the terms: occupancy and waves are arithmetic; the p-norm in place of a maximum gives
// soft overlap; latency against throughput of resident CTAs is Little's law; the rest are
// mechanisms seen in the measurements (docs/model.md names the experiment for each).
#pragma once

#include "costmodel/device.h"
#include "costmodel/dual.h"
#include "costmodel/features.h"
#include "costmodel/parameters.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <type_traits>

namespace tilewright {

/// Times in ns of the terms of one kernel. SM-side terms: the time that the resource alone would
/// need for all CTAs, spread over the SMs.
template <class T> struct KernelTime {
  T total, launch, fillDrain, smSide, dram, dirtyLines, dispatch, partialSectors, atomics;
  T tensor, fma, shared, issue, sfu, l2, tags, latency, store;
};

namespace formula {

/// (x / largest)^p.
template <class T, class P> T shareToThe(const T &x, const T &largest, const P &p) {
  if constexpr (ManyPlans<T>) {
    if (!anyOf(x > 0.0))
      return T(0.0);
  } else {
    // A term below e^-40 of the largest changes nothing in double precision.
    double ratio = valueOf(x) / valueOf(largest);
    if (ratio <= 0 || valueOf(p) * lnOf(ratio) < -40)
      return T(0.0);
  }
  return powOf(x / largest, p);
}

/// (Σ xᵢᵖ)^(1/p), computed relative to the largest so that no power overflows.
template <class T, class P> T norm(std::initializer_list<T> values, const P &p) {
  T largest = *values.begin();
  for (const T &x : values)
    largest = larger(largest, x);
  if (!anyOf(valueOf(largest) > 0))
    return largest;
  const T divisor = select(valueOf(largest) > 0, largest, T(1.0));
  T sum(0.0);
  for (const T &x : values)
    sum += shareToThe(x, divisor, p);
  return largest * powOf(sum, 1.0 / p);
}
/// Of two: the larger one's share is 1.
template <class T, class P> T norm(const T &a, const T &b, const P &p) {
  const auto second = valueOf(b) > valueOf(a);
  const T largest = select(second, b, a);
  if (!anyOf(valueOf(largest) > 0))
    return largest;
  const T divisor = select(valueOf(largest) > 0, largest, T(1.0));
  return largest * powOf(1.0 + shareToThe<T>(select(second, a, b), divisor, p), 1.0 / p);
}

/// Share of re-reads that miss a cache of `capacity` bytes for a reuse distance of `bytes`.
template <class Q> Q missShare(const Q &bytes, double capacity) {
  Q inverse = capacity / larger(bytes, Q(1e-9));
  Q square = inverse * inverse;
  return 1.0 / (1.0 + square * square);
}

/// Instructions of one asynchronous copy and of one load, with their address arithmetic.
constexpr double copyInstructions = 6, loadInstructions = 4;
/// Instructions of a warp outside the loop of a matrix kernel: fixed, for the first addresses of
/// each copy (rows are taken modulo their number), and for 32 results. Least squares over 24 tiles
/// of a GEMM as Triton 3.6 compiles it: 166 + 28 a copy before the loop, 24 + 1.5 after it.
constexpr double setupInstructions = 190, copySetup = 28, outputInstructions = 1.5;
/// Bytes per clock that one SM reads from L2 outside its loops, and writes to it.
constexpr double loadPort = 88.4, storePort = 64;
/// Share of L2 that keeps operands for reuse, and share that merges partial sectors.
constexpr double operandShare = 0.8, writeGatherShare = 0.16;
/// Footprints, as shares of L2, up to which a repeated kernel finds everything in L2, and from
/// which on nothing (reads of 32, 40 and 48 MiB again and again, of 50 MB: 5.9, 11.8 and 17.2 us;
/// DRAM alone would take 11.2, 14 and 16.8).
constexpr double residentShare = 0.7, thrashShare = 0.95;
/// What a partially written sector costs in units of `partial_sector`: a share for each piece of it
/// that arrives on its own, the rest for the sector that DRAM reads and writes; and up to so much
/// more, where the sectors that CTAs in flight have open outgrow their share of L2. From 92 writes
/// of 2 to 16 bytes at strides, of 1 to 32 warps, whose tiles finish sectors or don't.
constexpr double pieceShare = 0.4, sectorShare = 1.2, openSectorPenalty = 0.55, openShare = 0.8;
/// Clocks per instruction of a lone warp with hardly any dependent instructions: sums over the
/// steps of a loop have an accumulator for each element.
constexpr double independentClocks = 2;
/// What a kernel without dots spills it reads again in each of its passes (a maximum, a sum, the
/// result), where a loop of dots reads it once an iteration.
constexpr double spilledPasses = 2;
/// In a loop of independent products other warps hide most of it: GEMMs of our own code whose 16
/// warps leave 128 registers each, 19 plans: 0.86 too low in the logarithm when nothing was
/// charged. Attention, a chain, waits for it.
constexpr double shownSpills = 0.3;
/// Share of the start of a CTA that waits for what its first load needs, instructions, parameters
/// and translations of addresses, to come from DRAM: of 28 small kernels, means of samples, those
/// that load take 1.1 us where L2 has all of it and 1.5 where it was flushed, those that only store
/// 0.9 in both cases.
constexpr double coldStartShare = 0.8;
/// Warps that issue a wgmma together.
constexpr double warpsOfGroup = 4;
/// As `serial_overlap`, where warpgroups have a producer: 32 attentions of 2 shapes by plans of 4
/// to 12 warps are 6.0 % off; 7.7 and 8.7 % with the value that the other shape would choose.
constexpr double fedOverlap = 5;
/// f32 FMA pipes reach this share of their peak in a well-fed inner loop.
constexpr double fmaRate = 0.85;
/// Exponent of the p-norm over kernel-wide limits, which overlap almost fully.
constexpr double kernelExponent = 8;

/// Registers of a thread beyond those that it has. The estimate of a serial loop (attention) is of
/// what its values would take side by side, which a compiler that has fewer doesn't keep: there
/// only those beyond the hardware's limit count.
template <class Q> Q spilledRegisters(const FeaturesOf<Q> &f, const DeviceLimits &limits) {
  const Q has = f.matrix && f.serial ? Q(double(limits.registersPerThread)) : f.registers;
  return larger(Q(0.0), f.rawRegisters - has);
}

/// CTAs whose requests meet on the memory side. L2 and DRAM serve a number of streams that is a
/// property of the chip (Device::memoryStreams), each with as many CTAs as one SM holds. The memory
/// side does not depend on the number of SMs that share the work, so more SMs never cost time
/// there.
template <class Q> Q ctasInFlight(const FeaturesOf<Q> &f, const Device &d) {
  return smaller(f.ctas, d.memoryStreams * larger(f.occupancy, Q(1.0)));
}

/// DRAM bytes read when `wave` CTAs are in flight: operands that fall out of L2 are read again.
/// Passes are fractional, so that the time has no step when a size grows by a tile.
template <class Q> Q bytesRead(const FeaturesOf<Q> &f, const Device &d, const Q &wave) {
  const Q one(1.0);
  double capacity = operandShare * d.l2Bytes;
  Q rows = smaller(larger(f.groupRows, wave / f.tileColumns), f.tileRows);
  Q columns = smaller(larger(wave / rows, one), f.tileColumns);
  Q groups = larger(f.tileRows / rows, one);
  Q wavesPerGroup = larger(rows * f.tileColumns / wave, one);
  Q group = f.groupRows * f.rowSlabBytes;
  Q missColumns = missShare<Q>(f.columnOperandBytes + group, capacity);
  Q missRows = missShare<Q>(group + columns * f.columnSlabBytes, capacity);
  return f.readBytes + f.batches * (f.columnOperandBytes * (groups - 1.0) * missColumns +
                                    f.rowOperandBytes * (wavesPerGroup - 1.0) * missRows);
}

/// The loads of `n` CTAs that reach L2, in units of one CTA's loads: two SMs of a pair that run
/// neighbouring CTAs in step fetch their common bytes once. Pairs fill up when more than half of
/// the streams have a CTA; several residents an SM drift out of step.
template <class Q> Q fetchesOf(const FeaturesOf<Q> &f, const Device &d, const Q &n) {
  const double pairs = d.memoryStreams / 2;
  return n - f.neighbourShare * smaller(larger(n - pairs, Q(0.0)), Q(pairs));
}

/// Half of the lines have their home in the other partition of L2 and pass through both on their
/// way from DRAM; the hardware counters count them twice (in transposes, 1.5 times the input's
/// bytes).
constexpr double crossingShare = 0.5;

/// Bytes that pass between L2 and DRAM, and the time that they take there.
template <class Q> Q bytesMoved(const FeaturesOf<Q> &f, const Q &read) {
  return read + f.writeBytes + f.workspaceBytes;
}
template <class Q> Q shareOfReads(const Q &read, const Q &moved) {
  return select(moved > 0.0, read / larger(moved, Q(1e-9)), Q(1.0));
}
template <class Q, class P>
auto dramTime(const FeaturesOf<Q> &f, const Q &read, const Device &d, const ParametersOf<P> &p) {
  using T = std::decay_t<decltype(Q() * P())>;
  const Q moved = bytesMoved(f, read), readShare = shareOfReads(read, moved);
  const Q writePieces = 32.0 / larger(f.writeSegment, Q(32.0)); // L2 gathers the pieces of a sector
  // A fixed cost for each partial sector that is written.
  const Q pieces = f.readPieces * readShare + writePieces * (1.0 - readShare);
  const T penalty = 1.0 + pieces * p.segmentPenalty;
  const Q written = larger(f.writtenBack, (1.0 - readShare) * larger(Q(0.0), moved - d.l2Bytes));
  return T((read + written) * penalty / p.dramBandwidth);
}

} // namespace formula

template <class Q, class P>
auto kernelTime(const FeaturesOf<Q> &f, const Device &d, const ParametersOf<P> &p) {
  using namespace formula;
  using T = std::decay_t<decltype(Q() * P())>;
  const double clock = d.smClock, sms = d.smCount, lanes = 32;
  const Q W = f.warps, G = f.ctas, I = f.iterations;
  const P rho = f.fed ? P(fedOverlap) : f.serial ? p.serialOverlap : p.overlap;
  const P waveRho = f.mmaSync && !f.serial ? p.syncOverlap : rho;
  const Q none(0.0), one(1.0);
  KernelTime<T> t;

  // Unit times: one iteration of one CTA alone on an SM.
  const double sharedPerNs = d.sharedBytesPerClock * clock;
  const T tensor = (f.wgmmaClocks / p.wgmmaRate + f.mmaSyncClocks / p.mmaSyncRate) / clock;
  const T fma = T(f.fmaClocks / (fmaRate * clock));
  const T relayout = f.relayoutClocks / clock / p.relayoutRate;
  const T scatter = f.scatterClocks / clock / p.relayoutRate;
  const double passes = !f.matrix ? spilledPasses : f.serial ? 1.0 : shownSpills;
  const Q spilled = passes * spilledRegisters<Q>(f, d.limits);
  const T spills = spilled * W / d.schedulersPerSm * p.spill;
  const T shared = f.sharedBytes / sharedPerNs / p.sharedRate + relayout + scatter + spills;
  const T instructions = (f.matrix ? W : none) * p.loopInstructions +
                         (f.loadInstructions * (f.matrix ? copyInstructions : loadInstructions) +
                          f.mmaInstructions + (f.aluOps + f.sfuOps) / lanes);
  const T issue =
      larger<T>(instructions, T(2.0 / lanes * f.halfRateOps)) / (d.schedulersPerSm * clock);
  const T sfu = T(f.sfuOps / (d.sfuPerClock * clock));
  const T tags = f.tags / clock * p.tagClocks;
  const T port = f.loadBytes / clock / p.loadPort;
  const T pipes = norm<T>({tensor, fma, shared, issue, sfu, tags, port}, rho);

  // Wave quantisation: the SM that gets the most CTAs decides.
  const Q occupancy = larger(f.occupancy, one);
  const Q capacity = sms * occupancy, fullWaves = floorOf(G / capacity),
          rest = G - fullWaves * capacity, waves = ceilOf(G / capacity);
  const Q inFlightCtas = ctasInFlight(f, d);

  // L2: data that is read once streams through either partition; data that a later wave of a matrix
  // loop reads again lies in one of them, far from half of the SMs.
  const Q returning = f.pipelined && !f.serial
                          ? f.readBytes * smaller(larger(G / inFlightCtas - 1.0, none), one)
                          : f.readBytes;
  const T far = returning / (returning + p.farFootprint);
  const Q read = bytesRead<Q>(f, d, inFlightCtas);
  const Q loaded = larger(G * I * f.loadBytes, one);
  const T refill = 1.0 + (read - f.readBytes) / loaded * p.l2Refill;
  const T l2PerByte = ((1.0 - far) / p.l2Near + far / p.l2Far) * refill;

  // The critical path of one CTA.
  const T steps = select(f.mmaSyncClocks > 0.0, f.mmaSteps, none) * p.mmaStep;
  // Warpgroups that a producer feeds wait for it, not for each other: each has a chain of its own
  // rows, in which the last product of one step runs beside the scalars of the next.
  const Q chains = f.fed ? W / warpsOfGroup : one;
  const T last = f.fed ? T(f.lastWgmmaClocks / p.wgmmaRate / clock) : T(0.0);
  const T scalars = fma + (f.serial ? larger(issue, sfu) : T(0.0));
  const T dependent =
      (spills + steps + relayout + f.relayoutRoundTrips * (p.stageMiss + 2.0 * p.iteration) +
       f.serialGroups * p.wgmmaDrain + tensor - last + larger(last, scalars)) /
      chains;
  // A wgmma, or a warp ahead of the others in a long chain, keeps running while the next loads are
  // issued; their buffer becomes free after a part of it.
  const T released = f.serial ? dependent * p.tensorWait
                              : dependent - select(f.serialGroups > 0.0, none, f.wgmmaClocks) /
                                                (p.wgmmaRate * clock) * (1.0 - p.tensorWait);
  // What L2 holds from the start (warm caches) is a shorter way off.
  const Q found = f.cachedBytes / larger(f.cachedBytes + f.readBytes + f.writtenBack, one);
  const T directLoad = p.directLoad * (1.0 - found * (1.0 - d.l2Latency / d.dramLatency));
  const Q isAtHand = select(f.loadBytes + f.outsideLoadBytes > 0.0, f.codeInL2, one);
  const T ctaStart = p.ctaStart * (1.0 - coldStartShare * isAtHand);
  // A loop of direct loads.
  T directMemory(0.0), directChain(0.0);
  if (!f.pipelined) {
    directMemory =
        directLoad * f.roundTrips / f.unroll * select(f.rowWalk > 0.0, T(p.rowWalk), T(1.0));
    directChain = directMemory + select(I > 1.0, one, none) * p.iteration +
                  instructions / W * (f.looped ? P(independentClocks) : p.issueClocks) / clock +
                  fma;
  }

  // Once a CTA.
  const Q around = f.matrix ? W * (setupInstructions + copySetup * f.loadsPerThread) +
                                  f.outputElements / lanes * outputInstructions
                            : none;
  const Q outsideInstructions =
      larger(f.outsideAluOps + f.outsideSfuOps, 2.0 * f.outsideHalfRateOps) / lanes;
  const T output = T(around / (d.schedulersPerSm * clock) + f.storeBytes / (storePort * clock) +
                     f.outsideLoadBytes / (loadPort * clock) +
                     outsideInstructions / (d.schedulersPerSm * clock) +
                     f.outsideSfuOps / (d.sfuPerClock * clock)) +
                   f.epilogueSharedBytes / sharedPerNs / p.sharedRate;
  const T epilogue =
      (f.matrix ? one : none) * p.matrixCta + f.atomicsPerThread * p.atomicLatency +
      f.exchanges * p.exchange + f.lastRoundTrips * p.stageHit +
      f.lastLoadBytes / (loadPort * clock) +
      select(f.outsideLoadBytes > 0.0, one, none) * directLoad + output +
      // Fewer warps than keep the schedulers busy: each waits for its own results.
      larger(none, outsideInstructions / clock * (independentClocks / W - 1.0 / d.schedulersPerSm));

  // DRAM.
  const Q moved = bytesMoved(f, read), readShare = shareOfReads(read, moved);
  t.dram = dramTime<Q>(f, read, d, p);
  const T stream = t.dram + f.cachedBytes / p.l2Stream;
  // Up to the size of L2, nearly every incoming line evicts a dirty one.
  const Q filled = moved / d.l2Bytes, square = filled * filled;
  t.dirtyLines =
      moved * powOf(1.0 + square * square, -0.25) * f.dirtyAtStart * p.dirtyShare / p.dramBandwidth;
  // A wave's stage arrives from DRAM as one burst, for a part of which the critical path waits;
  // without a pipeline, a CTA's reads are served in turn among the streams.
  const T burst = t.dram * readShare / (waves * larger(I, one)) * p.stageBurst;
  const Q streams = smaller(G / waves, Q(d.memoryStreams));
  const T ownTurn = f.pipelined ? T(0.0) : T(t.dram * readShare * (streams / G));

  const Q inFlight = larger(f.inFlight, one);
  const T queue = fetchesOf(f, d, streams) * f.loadBytes * l2PerByte;
  const T fill = norm<T>(port, queue, rho);
  const T arrival = fill + scatter + burst;
  // One iteration of a CTA alone on its SM, in the first wave or in a later one, which hits L2
  // where the first wave has loaded. A loop shorter than its pipeline waits for a whole stage.
  auto stretchOf = [&](const Q &iterations) -> Q {
    return larger(one, inFlight / larger(iterations, Q(1e-6)));
  };
  auto stepAlone = [&](const Q &stretch, const P &stage) -> T {
    return f.pipelined
               ? norm<T>({pipes, T(stretch / inFlight * (stage + arrival + released) + p.iteration),
                          dependent},
                         rho)
               : norm<T>(pipes, directChain, rho);
  };
  auto alone = [&](const Q &iterations, const T &step) -> T {
    return ctaStart + larger(iterations, Q(1e-6)) * step + epilogue + ownTurn;
  };
  auto wave = [&](const Q &residents, const Q &iterations, const T &solo) -> T {
    return norm<T>(residents * (iterations * pipes + output), solo, waveRho);
  };

  // One partial wave, or full waves in lock-step and a partial one. Each term depends on the number
  // of SMs only through the CTAs of the SM that gets the most, so more SMs are never slower.
  const Q lastI = select(f.lastIterations > I, 0.5 * (I + f.lastIterations), I);
  const auto hasFull = fullWaves > 0.0;
  const bool uneven = anyOf(lastI > I);
  const Q left = ceilOf(rest / sms);
  const Q stretch = stretchOf(I);
  const bool stretched = uneven && anyOf(stretch > 1.0);
  const Q longStretch = stretched ? stretchOf(lastI) : stretch;
  const T firstStep = stepAlone(stretch, p.stageMiss);
  const T longFirst = alone(lastI, stretched ? stepAlone(longStretch, p.stageMiss) : firstStep);
  T sm(0.0);
  if (!anyOf(hasFull)) {
    sm = wave(larger(left, one), lastI, longFirst);
  } else {
    // Without a pipeline, a later wave is like the first.
    const T step = f.pipelined ? stepAlone(stretch, p.stageHit) : firstStep;
    const T longSolo =
        alone(lastI, stretched && f.pipelined ? stepAlone(longStretch, p.stageHit) : step);
    const T firstSolo = uneven ? alone(I, firstStep) : longFirst;
    const T solo = uneven ? alone(I, step) : longSolo;
    const T first = wave(occupancy, I, firstSolo), full = wave(occupancy, I, solo);
    const T longer = uneven ? larger<T>(wave(occupancy, lastI, longFirst) - first,
                                        wave(occupancy, lastI, longSolo) - full)
                            : T(0.0);
    const T partial = wave(larger(left, one), lastI, select(hasFull, longSolo, longFirst));
    const T last = select(left > 0.0, partial, T(0.0));
    sm = select(hasFull, first + (fullWaves - 1.0) * full + larger(last, longer), partial);
  }
  const T l2 = fetchesOf(f, d, inFlightCtas) * (G / inFlightCtas * I) * f.loadBytes * l2PerByte;
  t.smSide = norm<T>(sm, l2, rho);

  // Fill and drain are never hidden behind streaming; half of the last CTAs' stores is, since those
  // CTAs do not end together.
  t.fillDrain =
      smaller<T>(ctaStart + (f.pipelined ? T(p.stageMiss) : directMemory) + epilogue - 0.5 * output,
                 t.smSide * 0.999);
  t.launch = T(p.launch);
  t.dispatch = T(G * d.ctaDispatch);
  const Q open = inFlightCtas * f.partialBytes;
  t.partialSectors = G * (pieceShare * f.partialSectors + sectorShare / 32.0 * f.partialBytes) *
                     (1.0 + openSectorPenalty * open / (open + openShare * d.l2Bytes)) *
                     f.writeBytes / (f.writeBytes + writeGatherShare * d.l2Bytes) * p.partialSector;
  t.atomics = G * (f.atomicsPerThread * lanes * W + f.counterAtomics) * p.atomicInterval;
  t.total = t.launch + t.fillDrain +
            norm<T>({t.dirtyLines + norm<T>(t.smSide - t.fillDrain, stream, p.kernelOverlap),
                     t.dispatch, t.dirtyLines + t.partialSectors, t.atomics},
                    P(kernelExponent));

  const Q perSm = G * I / sms;
  t.tensor = perSm * tensor;
  t.fma = perSm * fma;
  t.shared = perSm * shared;
  t.issue = perSm * issue;
  t.sfu = perSm * sfu;
  t.l2 = larger<T>(G * I * f.loadBytes * l2PerByte, f.cachedBytes / p.l2Stream);
  t.tags = perSm * tags;
  t.store = G / sms * output;
  t.latency =
      waves * (f.pipelined ? larger(I, inFlight) / inFlight * p.stageMiss : I * directChain);
  return t;
}

} // namespace tilewright
