// Estimate: the predicted time of a kernel plan on a device, with its terms and resources.
//
//   auto device = loadDevice("h100-sxm");
//   auto calibration = defaultCalibration(*device);
//   auto estimate = estimateTime(plan, *device, *calibration);
//   estimate->timeNs, estimate->limiter, estimate->terms …
#pragma once

#include "analysis/tiling/resources.h"
#include "costmodel/calibration.h"
#include "costmodel/features.h"

#include <string>
#include <vector>

namespace tilewright {

/// The content of L2 when the kernel starts.
enum class CacheState {
  Flushed, ///< as in the bundled measurements: none of the kernel's data, and dirty lines of a
           ///< flush
  Clean,   ///< none of the kernel's data, no dirty lines
  Warm,    ///< holds the inputs that fit, as inside a running model
};

struct EstimateOptions {
  CacheState cache = CacheState::Flushed;
  /// Of a thread, in place of the estimate where they are known, as from an assembler's log.
  std::optional<double> registers = {};
};

/// One term of the time: how long that resource alone would take for the whole kernel. Terms
/// overlap and do not add up to the time.
struct EstimateTerm {
  std::string name; ///< "tensor", "shared memory", "L2", "DRAM", "latency", "launch", …
  double ns = 0;
};

/// An item of the registers of a thread, or of the shared memory of a CTA in bytes. Negative:
/// registers that the compiler gives up.
struct ResourcePart {
  std::string name;
  double amount = 0;
};

/// The items that are not 0 at a point of the group's parameters.
std::vector<ResourcePart> partsOf(const std::vector<ResourceItem> &items, const Assignment &point);

struct EstimateResources {
  double registers = 0; ///< per thread; those beyond the device's limit spill
  double spilledRegisters = 0;
  double sharedBytes = 0;                                        ///< per CTA
  double warps = 0;                                              ///< per CTA, with producer warps
  double ctasPerSm = 0;                                          ///< 0: cannot be launched
  double byRegisters = 0, byShared = 0, byWarps = 0, byCtas = 0; ///< CTAs per SM by each limit
  double occupancy = 0;         ///< warps on an SM, as a share of what it takes
  std::string occupancyLimiter; ///< "registers", "shared memory", "warps", "CTAs"
  /// Their items; empty for kernels of other compilers, and without a plan.
  std::vector<ResourcePart> registerParts, sharedParts;
};

struct Estimate {
  double timeNs = 0;               ///< +infinity if the kernel cannot be launched
  double sigmaLn = 0;              ///< expected standard deviation of ln(measured / predicted)
  std::vector<EstimateTerm> terms; ///< in a fixed order, all of them
  std::string limiter;             ///< name of the largest term
  EstimateResources resources;
  double ctas = 0, iterations = 0, waves = 0;
  /// What the ops ask for (op_cost.h), and what the tiles of the plan do: whole ones, repeated
  /// where the plan repeats them, without the steps that a mask lets it skip.
  double usefulFlops = 0, usefulSpecialOps = 0, issuedFlops = 0, issuedSpecialOps = 0;
  double compulsoryBytes =
      0; ///< every input read once and every result written once, whatever L2 holds
  double dramReadBytes = 0, dramWriteBytes = 0, l2Bytes = 0, sharedTrafficBytes = 0;
  double rooflineNs = 0; ///< lower bound for any kernel of this group (speed of light): peak
                         ///< FLOP/s, compulsory bytes

  double term(std::string_view name) const; ///< 0 if there is none
};

/// featuresOf() with the registers of the options.
llvm::Expected<Features> featuresOf(const KernelPlan &plan, const Device &device,
                                    const EstimateOptions &options);

/// A plan's use of an SM. `registers` of a thread replace the estimate if they are known, for
/// example from ptxas.
llvm::Expected<EstimateResources> estimateResources(const KernelPlan &plan, const Device &device,
                                                    std::optional<double> registers = {});

/// Prices a plan. Errors as featuresOf(). An empty result takes no time: nothing is launched.
/// Otherwise the time is positive, at least `rooflineNs`, and does not grow with any bandwidth of
/// the device.
llvm::Expected<Estimate> estimateTime(const KernelPlan &plan, const Device &device,
                                      const Calibration &calibration,
                                      const EstimateOptions &options = {});

/// The same for given features and parameters.
Estimate estimateTime(const Features &features, const Device &device, const Parameters &parameters,
                      BaseSpread base, const EstimateOptions &options = {});

/// Something without tiles of which no more is known than the bytes that it reads and writes, which
/// move as those of a copy do.
Estimate estimateStreaming(double readBytes, double writtenBytes, const Device &device,
                           const Calibration &calibration, const EstimateOptions &options = {});

/// The least time in ns that the formula gives a plan which moves these bytes, whatever its tiles,
/// and whose SMs have that long to work: launch, and the p-norm of both.
double leastTimeNs(double readBytes, double writtenBytes, double smNs, const Device &device,
                   const Parameters &parameters, CacheState cache);

} // namespace tilewright
