#include "tools/audit/audit.h"

#include "analysis/ir/inline.h"
#include "analysis/ir/origin.h"
#include "analysis/tiling/plan_text.h"
#include "costmodel/sequence/emitter_features.h"
#include "costmodel/sequence/library_product.h"
#include "tools/audit/compiled_plan.h"
#include "tools/audit/findings.h"
#include "tools/explore/assumed.h"
#include "tools/explore/explore.h"
#include "tools/explore/lower_bound.h"
#include "tools/explore/neighbour_levers.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {

namespace {

/// What two thirds of |ln(measured / predicted)| of a kind are within, of ten models on an H100
/// (docs/accuracy.md); of kinds with fewer than eight kernels a guess.
double sigmaOf(LaunchKind kind) {
  switch (kind) {
  case LaunchKind::Loop:
    return 0.08;
  case LaunchKind::Product:
    return 0.10;
  case LaunchKind::Tile:
  case LaunchKind::Transpose:
    return 0.10;
  case LaunchKind::Concatenate:
  case LaunchKind::Scatter:
    return 0.12;
  case LaunchKind::ColumnReduce:
    return 0.13;
  case LaunchKind::RowReduce:
  case LaunchKind::TileDot:
    return 0.30;
  default:
    return 0.4;
  }
}
/// Of convolutions whose price is a lower bound.
constexpr double lowerBoundSigma = 1.0;
constexpr std::string_view ownPlan = "our best plan";

/// Names that all ops share in front tell no kernel apart.
std::vector<std::string> layersOf(const Module &module, const std::vector<Launch> &launches) {
  const OpOrigins origins(module);
  std::vector<std::vector<std::string>> parts;
  size_t shared = SIZE_MAX;
  for (const Launch &launch : launches) {
    const OpOrigin origin = origins.of(module.graph(launch.graph)[launch.op]);
    const std::vector<std::string_view> names = nameParts(origin.name);
    parts.emplace_back(names.begin(), names.end());
    if (parts.back().empty())
      continue;
    const std::vector<std::string> *first = nullptr;
    for (const auto &other : parts)
      if (!other.empty() && !first)
        first = &other;
    size_t same = 0;
    while (same + 1 < parts.back().size() && same + 1 < first->size() &&
           parts.back()[same] == (*first)[same])
      ++same;
    shared = std::min(shared, same);
  }
  std::vector<std::string> layers;
  for (const auto &names : parts)
    layers.push_back(
        names.size() <= shared
            ? ""
            : fmt::format("{}", fmt::join(names.begin() + int64_t(shared), names.end(), "/")));
  return layers;
}

class Auditor {
public:
  Auditor(const Module &module, const Device &device, const Calibration &calibration,
          const AuditOptions &options, CompiledSchedule given)
      : module(module), device(device), calibration(calibration),
        parameters(parametersFor(calibration, device)), options(options),
        schedule(std::move(given)) {}

  llvm::Expected<Audit> run() {
    audit.notes = schedule.notes;
    if (options.measured)
      matched = matchKernels(module, schedule.launches, *options.measured);
    const std::vector<CacheTraffic> traffic =
        replay(schedule.launches, schedule.items, device, options.sequence.shares);
    const std::vector<int64_t> trips = tripsOf();
    const std::vector<std::string> layers = layersOf(module, schedule.launches);
    std::vector<const Launch *> launches;
    double variance = 0;
    for (size_t i = 0; i < schedule.launches.size(); ++i) {
      if (options.progress)
        options.progress(i, schedule.launches.size());
      if (trips[i] == 0)
        continue;
      AuditedKernel kernel = audited(i, traffic[i]);
      kernel.trips = trips[i];
      kernel.layer = layers[i];
      const double time = kernel.timeNs * double(kernel.trips);
      audit.timeNs += time;
      audit.measuredNs += kernel.measuredNs;
      variance += std::pow(time * kernel.sigmaLn, 2);
      audit.kernels.push_back(std::move(kernel));
      launches.push_back(&schedule.launches[i]);
    }
    audit.sigmaLn = audit.timeNs > 0 ? std::sqrt(variance) / audit.timeNs : 0;
    audit.unmatchedRows = matched.unmatchedRows;
    for (size_t i = 0; i < launches.size(); ++i)
      if (std::count(matched.unmatchedLaunches.begin(), matched.unmatchedLaunches.end(),
                     size_t(launches[i] - schedule.launches.data())))
        audit.unmatchedKernels.push_back(i);
    addFindings(audit, module, launches, parameters);
    if (options.regroups)
      audit.regrouping = regrouped();
    return std::move(audit);
  }

private:
  const Op &opOf(const Launch &launch) const { return module.graph(launch.graph)[launch.op]; }

  Regrouping regrouped() const {
    Regrouping result;
    InlineOptions undoing;
    undoing.fusions = true;
    llvm::Expected<Module> plain = inlineCalls(module, undoing);
    if (!plain) {
      result.reason = takeDiag(plain.takeError()).message;
      return result;
    }
    ExploreOptions exploring;
    exploring.search.top = 1;
    exploring.search.maxPriced = options.budget;
    llvm::Expected<ExploredModel> model = exploreModel(*plain, device, calibration, exploring);
    if (!model) {
      result.reason = takeDiag(model.takeError()).message;
      return result;
    }
    result.kernels = model->kernels.size() + model->assumed.size();
    result.timeNs = model->sequenceNs;
    result.isComplete = model->isComplete();
    return result;
  }

  std::vector<int64_t> tripsOf() const {
    std::vector<int64_t> trips(schedule.launches.size());
    std::function<void(const std::vector<ScheduleItem> &, int64_t)> add =
        [&](const std::vector<ScheduleItem> &items, int64_t times) {
          for (const ScheduleItem &item : items)
            if (item.body.empty())
              trips[item.launch] += times;
            else
              add(item.body, times * item.trips);
        };
    add(schedule.items, 1);
    return trips;
  }

  AuditedKernel audited(size_t index, const CacheTraffic &traffic) {
    const Launch &launch = schedule.launches[index];
    const Op &op = opOf(launch);
    AuditedKernel kernel;
    kernel.op = op.name;
    if (launch.graph != module.entryId)
      kernel.computation = module.graph(launch.graph).name();
    kernel.kind = launch.kind;
    kernel.traffic = traffic;
    kernel.sigmaLn = sigmaOf(launch.kind);
    if (options.measured) {
      kernel.rows = matched.ofLaunch[index];
      for (size_t row : kernel.rows)
        kernel.measuredNs += (*options.measured)[row].timeNs;
    }
    switch (launch.kind) {
    case LaunchKind::Product:
    case LaunchKind::Convolution:
      priceLibrary(launch, kernel);
      break;
    case LaunchKind::TileDot:
      priceDot(launch, kernel);
      break;
    case LaunchKind::Copy:
      kernel.timeNs = copyTime(traffic, parameters);
      kernel.from = "copy engine";
      kernel.limiter = "DRAM";
      break;
    case LaunchKind::Other:
      priceOther(launch, kernel);
      break;
    default:
      priceEmitter(launch, kernel);
    }
    addBound(launch, kernel);
    return kernel;
  }

  double compiledSmCount() const { return options.compiledSmCount.value_or(device.smCount); }

  const MeasuredKernel *measuredLaunch(const AuditedKernel &kernel) const {
    return options.usesMeasuredLaunch && !kernel.rows.empty()
               ? &(*options.measured)[kernel.rows.front()]
               : nullptr;
  }

  void setTime(AuditedKernel &kernel, const Features &features, double leastAluOps = 0) {
    const SequencedTime time =
        timeInSequence(features, kernel.traffic, device, parameters, options.sequence);
    kernel.registers = features.registers;
    kernel.limiter = time.limiter;
    if (!std::isfinite(time.timeNs)) {
      kernel.reason = "by our count of its registers and shared memory it does not fit on an SM";
      return;
    }
    kernel.timeNs = time.timeNs;
    kernel.levers =
        levers(features, kernel.traffic, device, parameters, options.sequence, leastAluOps);
  }

  void priceEmitter(const Launch &launch, AuditedKernel &kernel) {
    const Op &op = opOf(launch);
    kernel.shape = launchDimsOf(module, op, launch.kind, *launch.work, compiledSmCount());
    kernel.from = launch.kind == LaunchKind::Tile ? "configuration" : "rule";
    if (const auto config = tileConfigOf(module, op))
      kernel.how =
          fmt::format("tile {}, {} warps", fmt::join(config->outputTiles[0], " x "), config->warps);
    std::optional<double> registers;
    if (const MeasuredKernel *row = measuredLaunch(kernel)) {
      if (row->registers > 0)
        registers = row->registers;
      if (row->ctas > 0 && row->threads > 0)
        kernel.shape = {kernel.shape.kind, row->ctas, row->threads};
      kernel.from = "measured launch";
    }
    const Features features =
        emitterFeatures(module, op, *launch.work, kernel.shape, device, registers);
    kernel.recomputeFactor = launch.work->recomputeFactor();
    kernel.mostRepeated = launch.work->mostRepeated;
    kernel.mostRepeats = launch.work->mostRepeats;
    setTime(kernel, features, features.aluOps / std::max(1.0, kernel.recomputeFactor));
    findBest(launch, kernel, [&] { return moduleOfBody(module, op); });
  }

  void priceDot(const Launch &launch, AuditedKernel &kernel) {
    const Op &op = opOf(launch);
    const std::optional<TileConfig> config = tileConfigOf(module, op);
    kernel.shape = launchDimsOf(module, op, launch.kind, *launch.work, compiledSmCount());
    kernel.from = "configuration";
    kernel.how =
        fmt::format("tile {}, {} warps, {} stages", fmt::join(config->outputTiles[0], " x "),
                    config->warps, config->stages);
    const CompiledDot &dot = compiledDot(op, *config);
    kernel.how += dot.instruction;
    kernel.reason = dot.reason;
    if (dot.features)
      setTime(kernel, *dot.features);
    if (kernel.timeNs > 0) {
      KnownFeatures known(device);
      kernel.levers =
          allLevers(std::move(kernel.levers), neighbourLevers(*dot.plan, kernel.traffic, known,
                                                              parameters, options.sequence));
    }
    findBest(launch, kernel, [&] { return moduleOfBody(module, op); });
    takeBest(kernel);
  }

  struct CompiledDot {
    std::optional<KernelPlan> plan;
    std::optional<Features> features;
    std::string instruction; ///< ", wgmma"
    std::string reason;      ///< why there are no features
  };

  /// Equal fusions are compiled once.
  const CompiledDot &compiledDot(const Op &op, const TileConfig &config) {
    auto [known, isNew] = dots.try_emplace(kernelIdentity(module, op));
    CompiledDot &dot = known->second;
    if (!isNew)
      return dot;
    auto refuse = [&](llvm::Error error) -> const CompiledDot & {
      dot.reason = takeDiag(std::move(error)).message;
      return dot;
    };
    auto body = moduleOfBody(module, op);
    if (!body)
      return refuse(body.takeError());
    llvm::Expected<KernelPlan> plan = compiledPlan(std::move(*body), config, device);
    if (!plan)
      return refuse(plan.takeError());
    dot.instruction = fmt::format(", {}", toString(plan->instruction));
    llvm::Expected<Features> features = featuresOf(*plan, device);
    if (!features)
      return refuse(features.takeError());
    dot.features = *features;
    dot.plan = std::move(*plan);
    return dot;
  }

  /// What has no price of its own takes that of our best plan, and says so.
  void takeBest(AuditedKernel &kernel) {
    if (kernel.timeNs > 0 || !kernel.best)
      return;
    kernel.timeNs = kernel.best->timeNs;
    kernel.sigmaLn = std::max(kernel.sigmaLn, sigmaOf(LaunchKind::Other));
    kernel.from = fmt::format("{} ({})", ownPlan, kernel.reason);
    kernel.reason.clear();
    kernel.best.reset();
  }

  void priceLibrary(const Launch &launch, AuditedKernel &kernel) {
    const std::optional<LibraryWork> work = libraryWork(module.graph(launch.graph), launch.op);
    if (!work) {
      kernel.reason = "its attributes don't say what it computes";
      return;
    }
    const LibraryTime time = libraryTime(*work, device);
    const SequencedTime sequenced =
        libraryInSequence(time.smNs, kernel.traffic, parameters, options.sequence);
    kernel.timeNs = sequenced.timeNs;
    kernel.limiter = sequenced.limiter;
    kernel.how = time.text;
    kernel.from = work->isLowerBound ? "library formula, a lower bound" : "library formula";
    if (work->isLowerBound)
      kernel.sigmaLn = lowerBoundSigma;
    if (launch.kind == LaunchKind::Product)
      findBest(launch, kernel,
               [&] { return moduleOfProduct(module.graph(launch.graph), launch.op); });
  }

  /// Sorts, attention and others by what a library's kernels are taken to do; fusions that say
  /// nothing of themselves by our best plan; the rest has no price.
  void priceOther(const Launch &launch, AuditedKernel &kernel) {
    const Op &op = opOf(launch);
    if (const auto work = assumedWork(module, module.graph(launch.graph), launch.op,
                                      {device, calibration, CacheState::Clean});
        work && op.opcode != Opcode::Fusion) {
      const SequencedTime time =
          passesInSequence(work->kernels, work->readBytes + work->writtenBytes, work->leastNs,
                           kernel.traffic, parameters, options.sequence);
      kernel.timeNs = time.timeNs;
      kernel.limiter = time.limiter;
      kernel.sigmaLn = work->sigmaLn;
      kernel.how = work->text;
      kernel.from = "library's passes";
      return;
    }
    kernel.reason = fmt::format("nothing is known of the kernel of a {}", toString(op.opcode));
    if (op.opcode != Opcode::Fusion || op.called.empty())
      return;
    kernel.recomputeFactor = launch.work->recomputeFactor();
    findBest(launch, kernel, [&] { return moduleOfBody(module, op); });
    takeBest(kernel);
  }

  using BodyMaker = std::function<llvm::Expected<std::shared_ptr<const Module>>()>;

  /// Equal ops have equal plans.
  void findBest(const Launch &launch, AuditedKernel &kernel, const BodyMaker &makeBody) {
    if (!options.findsBest && kernel.timeNs > 0)
      return;
    const Op &op = opOf(launch);
    const std::string key =
        op.opcode == Opcode::Fusion ? kernelIdentity(module, op) : op.shape.str() + kernel.how;
    auto [known, isNew] = plans.try_emplace(key);
    if (isNew) {
      auto body = makeBody();
      llvm::Expected<RankedPlan> best =
          body ? bestPlan(std::move(*body), device, calibration, options.budget)
               : llvm::Expected<RankedPlan>(body.takeError());
      if (best)
        known->second.plan = std::move(*best);
      else
        known->second.reason = takeDiag(best.takeError()).message;
    }
    if (!known->second.plan) {
      kernel.whyNoBest = known->second.reason;
      return;
    }
    const RankedPlan &best = *known->second.plan;
    llvm::Expected<Features> features = featuresOf(best.plan, device);
    if (!features) {
      kernel.whyNoBest = takeDiag(features.takeError()).message;
      return;
    }
    const SequencedTime time =
        timeInSequence(*features, kernel.traffic, device, parameters, options.sequence);
    if (std::isfinite(time.timeNs))
      kernel.best = BestPlan{planText(best.plan), time.timeNs, best.estimate.sigmaLn};
  }

  /// As of a kernel of ours (lower_bound.h): by its own precision's peak, and what must be read and
  /// written wherever it lies.
  void addBound(const Launch &launch, AuditedKernel &kernel) {
    NeededWork work;
    const Op &op = opOf(launch);
    if (launch.work) {
      work = neededWork(module, module.graph(op.called.front().graph));
    } else {
      const auto library = libraryWork(module.graph(launch.graph), launch.op);
      if (library && !library->isDepthwise)
        work.products.push_back({library->product.type, true,
                                 2 * library->product.batch * library->product.rows *
                                     library->product.columns * library->product.depth});
      work.readBytes = kernel.traffic.readBytes;
      work.writtenBytes = kernel.traffic.writtenBytes;
    }
    kernel.boundNs = lowerBoundNs(work, device, CacheState::Warm);
  }

  struct KnownPlan {
    std::optional<RankedPlan> plan;
    std::string reason;
  };

  const Module &module;
  const Device &device;
  const Calibration &calibration;
  const Parameters parameters;
  const AuditOptions &options;
  CompiledSchedule schedule;
  MatchedKernels matched;
  std::map<std::string, KnownPlan> plans;  ///< by what is computed
  std::map<std::string, CompiledDot> dots; ///< by kernelIdentity()
  Audit audit;
};

} // namespace

std::string_view programOf(const AuditedKernel &kernel) {
  if (kernel.from.starts_with(ownPlan))
    return "tilewright";
  switch (kernel.kind) {
  case LaunchKind::Tile:
  case LaunchKind::TileDot:
    return "Triton";
  case LaunchKind::Product:
    return "cuBLAS";
  case LaunchKind::Convolution:
    return "cuDNN";
  case LaunchKind::Copy:
    return "copy engine";
  case LaunchKind::Other:
    return "library";
  default:
    return "XLA";
  }
}

llvm::Expected<Audit> auditModule(const Module &module, const Device &device,
                                  const Calibration &calibration, const AuditOptions &options) {
  llvm::Expected<CompiledSchedule> schedule = compiledSchedule(module);
  if (!schedule)
    return schedule.takeError();
  return Auditor(module, device, calibration, options, std::move(*schedule)).run();
}

} // namespace tilewright
