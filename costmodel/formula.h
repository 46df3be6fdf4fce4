// The time of one kernel as a closed formula of features and parameters; derivation in
// docs/model.md. Written over a number type T: double to price, Dual to fit.
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

namespace tilewright {

/// Times in ns of the parts of one kernel. The SM-side ones are what each resource alone would
/// need for all CTAs, spread over the SMs.
template <class T> struct KernelTime {
  T total, launch, fillDrain, smSide, dram, dirtyLines, dispatch, partialSectors, atomics;
  T tensor, fma, shared, issue, sfu, l2, tags, latency, store;
};

namespace formula {

/// (Σ xᵢᵖ)^(1/p), computed relative to the largest so that no power overflows.
template <class T> T norm(std::initializer_list<T> values, const T &p) {
  using std::pow;
  T largest = *values.begin();
  for (const T &x : values)
    largest = larger(largest, x);
  if (valueOf(largest) <= 0)
    return largest;
  T sum(0.0);
  int joined = 0;
  for (const T &x : values) {
    double ratio = valueOf(x) / valueOf(largest);
    // Below this a term changes nothing in double precision.
    if (ratio <= 0 || valueOf(p) * std::log(ratio) < -40)
      continue;
    sum += pow(x / largest, p);
    ++joined;
  }
  return joined == 1 ? largest : largest * pow(sum, 1.0 / p);
}

/// Share of re-reads that miss a cache of `capacity` bytes for a reuse distance of `bytes`.
inline double missShare(double bytes, double capacity) {
  double ratio = std::max(bytes, 1e-9) / capacity;
  return 1 / (1 + std::pow(ratio, -4));
}

/// Instructions of one asynchronous copy and of one load, with their address arithmetic.
constexpr double copyInstructions = 6, loadInstructions = 4;
/// Bytes per clock that one SM takes from L2, and gives to it.
constexpr double loadPort = 88.4, storePort = 64;
/// Share of L2 that keeps operands for reuse, and that gathers partial sectors.
constexpr double operandShare = 0.8, writeGatherShare = 0.16;
/// f32 FMA pipes reach this share of their peak in a well-fed inner loop.
constexpr double fmaRate = 0.85;
/// Tail of the fluid picture, in waves of one CTA an SM.
constexpr double fluidTail = 0.25;
/// Exponent that joins kernel-wide limits, which hardly overlap where they meet.
constexpr double kernelExponent = 5;

/// DRAM bytes read when CTAs run in waves of `wave`, and the part of the operand footprint of a
/// wave that is touched for the first time.
struct Reuse {
  double readBytes, firstTouch;
};
inline Reuse reuse(const Features &f, const Device &d, double wave) {
  double capacity = operandShare * d.l2Bytes;
  double rows = std::min(std::max(f.groupRows, std::ceil(wave / f.tileColumns)), f.tileRows);
  double groups = std::ceil(f.tileRows / rows);
  double wavesPerGroup = std::ceil(rows * f.tileColumns / wave);
  double slab = rows * f.rowSlabBytes;
  double missColumns = missShare(f.columnOperandBytes + slab, capacity);
  double missRows = missShare(slab + std::ceil(wave / rows) * f.columnSlabBytes, capacity);
  Reuse r;
  r.readBytes = f.readBytes + f.batches * (f.columnOperandBytes * (groups - 1) * missColumns +
                                           f.rowOperandBytes * (wavesPerGroup - 1) * missRows);
  double operands = f.rowOperandBytes + f.columnOperandBytes;
  double perBatch = f.tileRows * f.tileColumns;
  double touched = wave >= perBatch
                       ? wave / perBatch * operands
                       : slab + std::min(std::ceil(wave / rows), f.tileColumns) * f.columnSlabBytes;
  double waves = std::max(f.ctas / wave, 1.0);
  r.firstTouch =
      operands > 0 ? std::min(1.0, f.batches * operands / std::max(touched * waves, 1.0)) : 1;
  return r;
}

} // namespace formula

/// `dirty`: the kernel starts with the dirty L2 lines that the parameters describe.
template <class T>
KernelTime<T> kernelTime(const Features &f, const Device &d, const ParametersOf<T> &p,
                         bool dirty = true) {
  using namespace formula;
  using std::pow;
  const double clock = d.smClock, sms = d.smCount, lanes = 32;
  const double W = f.warps, G = f.ctas, I = f.iterations;
  const T rho = f.serial ? p.serialOverlap : p.overlap;
  KernelTime<T> t;

  // Unit times: one iteration of one CTA alone on an SM.
  const double sharedPerNs = d.sharedBytesPerClock * clock;
  const T tensor = (f.wgmmaClocks / p.wgmmaRate + f.mmaSyncClocks / p.mmaSyncRate) / clock;
  const T fma = T(f.fmaClocks / (fmaRate * clock));
  const T relayout = f.relayoutElements / (lanes * clock) * p.relayoutClocks;
  const T spills = std::max(0.0, f.rawRegisters - double(d.limits.registersPerThread)) * W *
                   (f.matrix ? 1.0 : 0.0) / d.schedulersPerSm * p.spill;
  const T shared = f.sharedBytes / sharedPerNs / p.sharedRate + relayout + spills;
  const T instructions = (f.matrix ? W : 0.0) * p.loopInstructions +
                         (f.loadInstructions * (f.matrix ? copyInstructions : loadInstructions) +
                          f.mmaInstructions + (f.aluOps + f.sfuOps) / lanes);
  const T issue = instructions / (d.schedulersPerSm * clock);
  const T sfu = T(f.sfuOps / (d.sfuPerClock * clock));
  const T tags = f.tags / clock * p.tagClocks;
  const T port = T(f.loadBytes / (loadPort * clock));

  // L2: near for small footprints, far for large ones.
  const T far = f.readBytes / (f.readBytes + p.farFootprint);
  const T l2PerByte = (1.0 - far) / p.l2Near + far / p.l2Far;

  // Waves.
  const double occupancy = std::max(f.occupancy, 1.0);
  const double capacity = sms * occupancy, fullWaves = std::floor(G / capacity),
               rest = G - fullWaves * capacity, largest = std::min(capacity, G);

  // The chain of dependent work of one CTA.
  const T steps = f.mmaSyncClocks > 0 ? f.mmaSteps * p.mmaStep : T(0.0);
  const T dependent = spills + steps + relayout + f.relayoutRoundTrips * p.stageMiss + tensor +
                      fma + (f.serial ? larger(issue, sfu) : T(0.0));
  const T loads = f.looped ? pow(T(std::max(f.loadsPerThread, 1.0)), p.loadExponent) : T(1.0);
  const T directMemory = p.directLoad * loads / f.unroll;
  const T directChain = directMemory + (I > 1 ? p.iteration : T(0.0)) +
                        instructions / W * p.issueClocks / clock + fma;

  // Once a CTA.
  const T output = T(f.storeBytes / (storePort * clock) + f.outsideLoadBytes / (loadPort * clock) +
                     (f.outsideAluOps + f.outsideSfuOps) / lanes / (d.schedulersPerSm * clock) +
                     f.outsideSfuOps / (d.sfuPerClock * clock)) +
                   f.epilogueSharedBytes / sharedPerNs / p.sharedRate;
  const T epilogue = (f.matrix ? p.matrixCta : T(0.0)) + f.atomicsPerThread * p.atomicLatency +
                     f.exchanges * p.exchange + (f.outsideLoadBytes > 0 ? p.directLoad : T(0.0)) +
                     output;

  // DRAM.
  const Reuse again = reuse(f, d, largest);
  const double moved = again.readBytes + f.writeBytes;
  const double readShare = moved > 0 ? again.readBytes / moved : 1;
  const double pieces = std::pow(32 / std::max(f.readSegment, 1.0), 2) * readShare +
                        std::pow(32 / std::max(f.writeSegment, 1.0), 2) * (1 - readShare);
  const T penalty = 1.0 + pieces * p.segmentPenalty;
  t.dram = (again.readBytes + (1 - readShare) * std::max(0.0, moved - d.l2Bytes)) * penalty /
           p.dramBandwidth;
  t.dirtyLines = dirty ? std::min(moved, d.l2Bytes) * p.dirtyShare / p.dramBandwidth : T(0.0);
  const T dramOfWave = t.dram * readShare / std::max(G / largest, 1.0);

  const T stage = p.stageHit + (p.stageMiss - p.stageHit) * again.firstTouch;
  const double inFlight = std::max(f.inFlight, 1.0);
  auto wave = [&](double n, double iterations) {
    double residents = std::ceil(n / sms);
    double sharing = n > sms / 2 ? 1 - 0.5 * f.neighbourShare / residents : 1;
    T fill = norm<T>({port, std::min(n, sms) * f.loadBytes * sharing * l2PerByte}, rho);
    T unit = norm<T>({tensor, fma, shared, issue, sfu, fill, tags}, rho);
    T chain =
        f.pipelined
            ? norm<T>({std::max(iterations, inFlight) / inFlight * (stage + fill + dependent) +
                           iterations * p.iteration,
                       iterations * dependent},
                      rho)
            : iterations * directChain;
    T solo = p.ctaStart + norm<T>({iterations * unit, chain}, rho) + epilogue;
    if (!f.pipelined)
      solo += dramOfWave * (n / largest / residents);
    return norm<T>({residents * (iterations * unit + output), solo}, rho);
  };

  const double lastI = f.lastIterations > I ? 0.5 * (I + f.lastIterations) : I;
  if (fullWaves > 0) {
    T full = wave(capacity, I);
    T steps = rest > 0 ? fullWaves * full + wave(rest, lastI)
                       : (fullWaves - 1) * full + wave(capacity, lastI);
    T fluid = full * (G / capacity) + fluidTail * wave(std::min(capacity, sms), I);
    t.smSide = (1.0 - p.fluid) * steps + p.fluid * fluid;
  } else {
    t.smSide = wave(std::max(rest, 1.0), lastI);
  }

  // Fill and drain are never hidden behind streaming.
  t.fillDrain =
      smaller(p.ctaStart + (f.pipelined ? p.stageMiss : directMemory) + epilogue, t.smSide * 0.999);
  t.launch = p.launch;
  t.dispatch = T(G * d.ctaDispatch);
  t.partialSectors = G * f.partialSectors * f.writeBytes /
                     (f.writeBytes + writeGatherShare * d.l2Bytes) * p.partialSector;
  t.atomics = G * f.atomicsPerThread * lanes * W * p.atomicInterval;
  t.total = t.launch + t.fillDrain +
            norm<T>({t.dirtyLines + norm<T>({t.smSide - t.fillDrain, t.dram}, p.kernelOverlap),
                     t.dispatch, t.dirtyLines + t.partialSectors, t.atomics},
                    T(kernelExponent));

  const double perSm = G * I / sms;
  t.tensor = perSm * tensor;
  t.fma = perSm * fma;
  t.shared = perSm * shared;
  t.issue = perSm * issue;
  t.sfu = perSm * sfu;
  t.l2 = G * I * f.loadBytes * l2PerByte;
  t.tags = perSm * tags;
  t.store = G / sms * output;
  t.latency = std::ceil(G / capacity) *
              (f.pipelined ? std::max(I, inFlight) / inFlight * stage : I * directChain);
  return t;
}

} // namespace tilewright
