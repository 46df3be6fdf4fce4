// Audit: the kernels of a compiled module as they are, in the order they run, and what they could
// be.
//
//   auto audit = auditModule(module, device, calibration, options);
//   audit->kernels[0].timeNs …       as compiled, with what L2 holds when it starts
//   audit->findings[0] …             what would save most
#pragma once

#include "analysis/compiled/places.h"
#include "costmodel/calibration.h"
#include "costmodel/metrics.h"
#include "costmodel/sequence/levers.h"
#include "tools/audit/kernel_list.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace tilewright {

struct AuditOptions {
  SequenceParameters sequence;
  const std::vector<MeasuredKernel> *measured = nullptr;
  /// Registers and launch shapes of the list in place of estimates and rules.
  bool usesMeasuredLaunch = false;
  /// SMs of the device that the module was compiled for, which its launches are sized by; nothing:
  /// those of the device that it is priced on.
  std::optional<double> compiledSmCount;
  bool findsBest = true; ///< also our best plan of each fusion and product
  size_t budget = 400;   ///< plans priced for that, in each pass of the search
  bool regroups = false; ///< also the kernels that explore would make of the same ops
  std::function<void(size_t done, size_t total)> progress;
};

/// A plan of ours for the same ops, in the same state of L2.
struct BestPlan {
  std::string text; ///< "t0=64 t1=128 k0=64 warps=4 stages=3, wgmma"
  double timeNs = 0, sigmaLn = 0;
};

struct AuditedKernel {
  std::string op, computation; ///< of the module; computation empty: the entry
  std::string layer;           ///< the framework's name
  LaunchKind kind = LaunchKind::Other;
  int64_t trips = 1;
  LaunchDims shape;
  std::string how; ///< "tile 1 x 64 x 128, 4 warps, 1 stage, mma.sync", "8192 x 768 x 2304, …"
  std::string
      from; ///< whose numbers: "configuration", "rule", "library formula", "measured launch"
  double timeNs = 0, sigmaLn = 0; ///< of one run; 0: no price
  std::string reason;             ///< why there is none
  std::string limiter;
  CacheTraffic traffic;
  double registers = 0; ///< of a thread; 0: not known
  double recomputeFactor = 1, mostRepeats = 1;
  std::string mostRepeated; ///< the op of which most evaluations are repetitions
  double boundNs = 0;       ///< no kernel of these ops takes less; 0: not known
  double shareOfBound() const { return timeNs > 0 ? boundNs / timeNs : 1; }
  double toGainNs() const { return std::max(0.0, timeNs - boundNs) * double(trips); }
  std::vector<Lever> levers;
  std::optional<BestPlan> best;
  std::string whyNoBest;
  std::vector<size_t> rows; ///< of the measured list
  double measuredNs = 0;    ///< of these rows together
};

/// Whose program is priced: "XLA" (its emitters), "Triton", "cuBLAS", "cuDNN", "library", "copy
/// engine", or "tilewright", where a plan of ours stands in for what is not known.
std::string_view programOf(const AuditedKernel &kernel);

struct Finding {
  enum class Kind { BetterPlan, Recomputation, ReadAgain, Movement, Unexplained };
  Kind kind;
  size_t kernel;     ///< index into Audit::kernels
  double gainNs = 0; ///< in a run of the model; of Unexplained the difference
  std::string text;
};
std::string_view toString(Finding::Kind kind); ///< "better plan"

/// Explore's own kernels for a module's ops, with its fusions undone.
struct Regrouping {
  size_t kernels = 0;
  double timeNs = 0;       ///< in the order they run
  bool isComplete = false; ///< false: some ops have no price
  std::string reason;      ///< why there is none
};

struct Audit {
  std::vector<AuditedKernel> kernels; ///< in order
  std::vector<Finding> findings;      ///< the largest gain first, unexplained ones behind
  std::vector<std::string> notes;
  std::vector<size_t> unmatchedRows, unmatchedKernels;
  double timeNs = 0, measuredNs = 0; ///< of a run of the model
  double sigmaLn = 0;                ///< of timeNs, errors of kernels taken as independent
  std::optional<Regrouping> regrouping;
};

/// BadInput for a module that is not scheduled.
llvm::Expected<Audit> auditModule(const Module &module, const Device &device,
                                  const Calibration &calibration, const AuditOptions &options = {});

/// Errors by kind of kernel, then of all, of kernels that are priced and measured. `shape`: the
/// model's name.
std::vector<PredictedRow> rowsOf(const Audit &audit, const std::string &model);

} // namespace tilewright
