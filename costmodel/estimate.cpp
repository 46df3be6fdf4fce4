#include "costmodel/estimate.h"

#include "analysis/indexing/op_cost.h"
#include "analysis/program/pass/resources.h"
#include "costmodel/formula.h"
#include "costmodel/price.h"
#include "costmodel/resources.h"
#include "costmodel/spread_kind.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tilewright {

namespace {

/// Expected spread: the calibration's, widened where measurements show that the formula is weak
/// (reductions over direct loops, spills, kernels of a few microseconds).
double sigmaOf(const Features &f, BaseSpread base, double timeNs, double registerLimit) {
  if (base.isOfKind)
    return base.sigmaLn;
  double factor = 1;
  if (!f.matrix && f.looped)
    factor = 3;
  if (f.matrix && f.rawRegisters > registerLimit - 15)
    factor = std::max(factor, 2.0);
  if (timeNs < 5000)
    factor = std::max(factor, 1.5);
  return base.sigmaLn * factor;
}

/// What is not known of the device itself: how fast its best instruction is where plans can't use
/// it, and the clock that it holds. Each counts as far as the kernel hangs on it.
double deviceSigma(const Features &f, const Device &device, const Parameters &parameters,
                   double timeNs) {
  if (!std::isfinite(timeNs) || timeNs <= 0)
    return 0;
  double gaps = 0;
  auto add = [&](double otherNs) {
    const double gap = std::log(otherNs / timeNs);
    gaps += gap * gap;
  };
  if (device.hasTcgen05() && f.mmaSyncClocks > 0) {
    // As if by wgmma and TMA: copied by no warp's own instructions, written to shared memory once
    // and read from there once, by the tensor core itself.
    Features fed = f;
    fed.wgmmaClocks += std::exchange(fed.mmaSyncClocks, 0);
    fed.mmaSteps = fed.mmaInstructions = fed.loadInstructions = fed.tags = 0;
    fed.sharedBytes = std::min(f.sharedBytes, 2 * f.loadBytes);
    fed.mmaSync = false;
    add(price(fed, device, parameters).timeNs);
  }
  if (device.clockSigmaLn > 0) {
    Device slower = device;
    slower.smClock *= std::exp(-device.clockSigmaLn);
    add(price(f, slower, parameters).timeNs);
  }
  return std::sqrt(gaps);
}

std::string occupancyLimiter(const Features &f) {
  if (f.occupancy == f.occupancyByRegisters)
    return "registers";
  if (f.occupancy == f.occupancyByShared)
    return "shared memory";
  return f.occupancy == f.occupancyByWarps ? "warps" : "CTAs";
}

EstimateResources resourcesOf(const Features &f, const DeviceLimits &limits) {
  EstimateResources r;
  r.registers = f.registers;
  r.spilledRegisters = formula::spilledRegisters<double>(f, limits);
  r.sharedBytes = f.sharedPerCta;
  r.warps = f.residentWarps;
  r.ctasPerSm = f.occupancy;
  r.byRegisters = f.occupancyByRegisters;
  r.byShared = f.occupancyByShared;
  r.byWarps = f.occupancyByWarps;
  r.byCtas = f.occupancyByCtas;
  r.occupancy = f.occupancy * f.residentWarps / double(limits.warpsPerSm);
  r.occupancyLimiter = occupancyLimiter(f);
  return r;
}

/// What registers and shared memory of a program are made of; of registers that are given nothing
/// is known.
void addParts(const KernelPlan &plan, const DeviceLimits &limits, EstimateResources &resources,
              std::optional<double> registers) {
  if (plan.style.knownResources != KnownResources::Program)
    return;
  const Resources own =
      kernelResources(*plan.module, plan.ops(), *plan.tiled, plan.instruction, limits);
  const Assignment point = plan.assignment();
  if (!registers)
    resources.registerParts = partsOf(own.registerItems, point);
  resources.sharedParts = partsOf(own.sharedItems, point);
}

} // namespace

std::vector<ResourcePart> partsOf(const std::vector<ResourceItem> &items, const Assignment &point) {
  std::vector<ResourcePart> parts;
  for (const ResourceItem &item : items)
    if (int64_t amount = evaluate(item.amount, point).value_or(0))
      parts.push_back({item.name, double(amount)});
  return parts;
}

llvm::Expected<Features> featuresOf(const KernelPlan &plan, const Device &device,
                                    const EstimateOptions &options) {
  auto features = featuresOf(plan, device);
  if (features && options.registers) {
    features->rawRegisters = *options.registers;
    setOccupancy(*features, device.limits);
  }
  return features;
}

double Estimate::term(std::string_view name) const {
  for (const EstimateTerm &t : terms)
    if (t.name == name)
      return t.ns;
  return 0;
}

Estimate estimateTime(const Features &given, const Device &device, const Parameters &parameters,
                      BaseSpread base, const EstimateOptions &options) {
  Estimate e;
  if (given.empty)
    return e;
  Features f = underCache(given, device, options.cache);
  Priced<double> priced = price(f, device, parameters);
  const KernelTime<double> &t = priced.parts;
  double wave = formula::ctasInFlight(f, device);
  e.rooflineNs = priced.rooflineNs;
  e.timeNs = priced.timeNs;
  e.terms = {{"launch", t.launch + t.fillDrain},
             {"tensor", t.tensor},
             {"fma", t.fma},
             {"shared memory", t.shared},
             {"issue", t.issue},
             {"special functions", t.sfu},
             {"L1", t.tags},
             {"L2", t.l2},
             {"DRAM", t.dram + t.dirtyLines},
             {"store", t.store},
             {"latency", t.latency},
             {"dispatch", t.dispatch},
             {"partial sectors", t.partialSectors},
             {"atomics", t.atomics}};
  e.limiter =
      std::max_element(e.terms.begin(), e.terms.end(),
                       [](const EstimateTerm &a, const EstimateTerm &b) { return a.ns < b.ns; })
          ->name;
  e.sigmaLn = std::hypot(sigmaOf(f, base, e.timeNs, double(device.limits.registersPerThread)),
                         deviceSigma(f, device, parameters, e.timeNs));
  e.resources = resourcesOf(f, device.limits);
  e.ctas = f.ctas;
  e.iterations = f.iterations;
  e.waves = f.ctas / (device.smCount * std::max(f.occupancy, 1.0));
  e.issuedFlops = f.issuedFlops;
  e.issuedSpecialOps = f.ctas * (f.iterations * f.sfuOps + f.outsideSfuOps);
  e.compulsoryBytes = given.readBytes + given.writeBytes;
  e.dramReadBytes = formula::bytesRead(f, device, wave);
  e.dramWriteBytes = f.writeBytes + f.workspaceBytes;
  e.l2Bytes = f.ctas * (f.iterations * f.loadBytes * formula::fetchesOf(f, device, wave) / wave +
                        f.outsideLoadBytes + f.storeBytes) +
              formula::crossingShare * (e.dramReadBytes + e.dramWriteBytes);
  e.sharedTrafficBytes = f.ctas * (f.iterations * f.sharedBytes + f.epilogueSharedBytes);
  return e;
}

llvm::Expected<EstimateResources> estimateResources(const KernelPlan &plan, const Device &device,
                                                    std::optional<double> registers) {
  auto features = featuresOf(plan, device, EstimateOptions{.registers = registers});
  if (!features)
    return features.takeError();
  EstimateResources resources = resourcesOf(*features, device.limits);
  addParts(plan, device.limits, resources, registers);
  return resources;
}

llvm::Expected<Estimate> estimateTime(const KernelPlan &plan, const Device &device,
                                      const Calibration &calibration,
                                      const EstimateOptions &options) {
  auto features = featuresOf(plan, device, options);
  if (!features)
    return features.takeError();
  Estimate e = estimateTime(*features, device, parametersFor(calibration, device),
                            calibration.spreadOf(spreadKindOf(plan)), options);
  const WorkOfOps useful = workOf(*plan.module, plan.ops(), plan.tiled->group.ops);
  e.usefulFlops = double(useful.flops);
  e.usefulSpecialOps = double(useful.transcendentals);
  addParts(plan, device.limits, e.resources, options.registers);
  return e;
}

Estimate estimateStreaming(double readBytes, double writtenBytes, const Device &device,
                           const Calibration &calibration, const EstimateOptions &options) {
  Features f;
  f.readBytes = readBytes;
  f.writeBytes = writtenBytes;
  f.empty = f.readBytes + f.writeBytes == 0;
  // A well-shaped streaming kernel: CTAs of 4 warps, 16 bytes a thread in each of 4 accesses.
  constexpr double bytesPerCta = 128 * 16 * 4;
  f.ctas = std::max(1.0, std::ceil((f.readBytes + f.writeBytes) / bytesPerCta));
  f.loadBytes = f.readBytes / f.ctas;
  f.storeBytes = f.writeBytes / f.ctas;
  f.tags = f.loadBytes / 128;
  f.loadInstructions = f.loadBytes / 512;
  f.loadsPerThread = 4;
  f.tileColumns = f.ctas;
  f.residentWarps = f.warps;
  f.rawRegisters = 32;
  f.registers = 32;
  f.occupancyByRegisters = f.occupancyByWarps = double(device.limits.warpsPerSm) / f.warps;
  f.occupancyByShared = f.occupancyByCtas = double(device.limits.ctasPerSm);
  f.occupancy = std::min(f.occupancyByWarps, f.occupancyByCtas);
  Estimate e =
      estimateTime(f, device, parametersFor(calibration, device), calibration.sigmaLn, options);
  e.sigmaLn = std::max(e.sigmaLn, 0.5); // how it uses the bytes is unknown
  return e;
}

double leastTimeNs(double readBytes, double writtenBytes, double smNs, const Device &device,
                   const Parameters &parameters, CacheState cache) {
  Features f;
  f.readBytes = readBytes;
  f.writeBytes = writtenBytes;
  f.writeSegment = std::numeric_limits<double>::infinity();
  applyCache(f, device, cache);
  const double streamNs = formula::dramTime<double>(f, f.readBytes, device, parameters) +
                          f.cachedBytes / parameters.l2Stream;
  // What fills and drains stands outside of the norm, and is part of what the SMs do: together
  // they are no less.
  return parameters.launch + formula::norm(smNs, streamNs, parameters.kernelOverlap);
}

} // namespace tilewright
