#include "tools/audit/findings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tilewright {

std::string_view toString(Finding::Kind kind) {
  switch (kind) {
  case Finding::Kind::BetterPlan:
    return "better plan";
  case Finding::Kind::Recomputation:
    return "recomputation";
  case Finding::Kind::ReadAgain:
    return "read again";
  case Finding::Kind::Movement:
    return "movement";
  case Finding::Kind::Unexplained:
    return "unexplained";
  }
  return "unexplained";
}

namespace {

/// A gain counts where it is above both bars: so many standard deviations of the prediction, and
/// this share of the model's time.
constexpr double leastSigmas = 2, leastShare = 0.005;
constexpr double leastFactor = 1.3; ///< of recomputation
/// Measured times further off than this many standard deviations are unexplained.
constexpr double unexplainedSigmas = 2;

class Finder {
public:
  Finder(Audit &audit, const Module &module, const std::vector<const Launch *> &launches,
         const Parameters &parameters)
      : audit(audit), module(module), launches(launches), parameters(parameters) {
    for (size_t i = 0; i < launches.size(); ++i)
      for (const MemoryAccess &access : launches[i]->accesses)
        if (access.isWrite)
          writes[{access.space, access.offset}].push_back({i, access.extent});
  }

  void run() {
    for (size_t i = 0; i < audit.kernels.size(); ++i) {
      const AuditedKernel &kernel = audit.kernels[i];
      if (kernel.timeNs == 0)
        continue;
      addBetterPlan(i, kernel);
      addRecomputation(i, kernel);
      addReadAgain(i, kernel);
      addMovement(i, kernel);
      addUnexplained(i, kernel);
    }
    std::stable_sort(audit.findings.begin(), audit.findings.end(),
                     [](const Finding &a, const Finding &b) {
                       const bool aIsLast = a.kind == Finding::Kind::Unexplained,
                                  bIsLast = b.kind == Finding::Kind::Unexplained;
                       return aIsLast != bIsLast ? bIsLast : a.gainNs > b.gainNs;
                     });
  }

private:
  void add(Finding::Kind kind, size_t index, double gainNs, std::string text) {
    const double all = gainNs * double(audit.kernels[index].trips);
    if (all >= leastShare * audit.timeNs || kind == Finding::Kind::Unexplained)
      audit.findings.push_back({kind, index, all, std::move(text)});
  }

  void addBetterPlan(size_t index, const AuditedKernel &kernel) {
    if (!kernel.best)
      return;
    const BestPlan &best = *kernel.best;
    const double gain = kernel.timeNs - best.timeNs;
    const double spread = std::hypot(kernel.sigmaLn * kernel.timeNs, best.sigmaLn * best.timeNs);
    if (gain > leastSigmas * spread)
      add(Finding::Kind::BetterPlan, index, gain,
          fmt::format("{:.1f} us are predicted for {} in place of {}", best.timeNs / 1e3, best.text,
                      kernel.how.empty() ? std::string(toString(kernel.kind)) : kernel.how));
  }

  void addRecomputation(size_t index, const AuditedKernel &kernel) {
    if (kernel.recomputeFactor < leastFactor)
      return;
    for (const Lever &lever : kernel.levers)
      if (lever.what == "each value computed once")
        add(Finding::Kind::Recomputation, index, lever.gainNs,
            fmt::format("evaluates its ops {:.1f} times as often as there are elements, %{} {:.0f} "
                        "times; materialised, less what writing and reading it takes",
                        kernel.recomputeFactor, kernel.mostRepeated, kernel.mostRepeats));
  }

  /// The launch before it that wrote the bytes of an access; nothing if it is an argument.
  std::optional<size_t> writerOf(const MemoryAccess &access, size_t index) const {
    const auto found = writes.find({access.space, access.offset});
    if (found == writes.end())
      return std::nullopt;
    const auto behind = std::lower_bound(found->second.begin(), found->second.end(),
                                         std::pair<size_t, int64_t>(index, 0));
    if (behind == found->second.begin() || std::prev(behind)->second != access.extent)
      return std::nullopt;
    return std::prev(behind)->first;
  }

  void addReadAgain(size_t index, const AuditedKernel &kernel) {
    const std::vector<MemoryAccess> &accesses = launches[index]->accesses;
    std::optional<size_t> writer;
    double bytes = 0;
    for (size_t a = 0; a < accesses.size(); ++a)
      if (const double missed = kernel.traffic.missedOf[a]; missed > bytes)
        if (auto from = writerOf(accesses[a], index)) {
          bytes = missed;
          writer = from;
        }
    if (!writer)
      return;
    const AuditedKernel &made = audit.kernels[*writer];
    // What moving them takes beyond what the kernel needs anyway.
    double gain = 0;
    for (const Lever &lever : kernel.levers)
      if (lever.what == "inputs that L2 still has")
        gain = lever.gainNs * std::min(1.0, bytes / std::max(1.0, kernel.traffic.missedBytes));
    add(Finding::Kind::ReadAgain, index, gain,
        fmt::format("reads {:.1f} MB from DRAM that %{} wrote {}; fused with it, or run nearer to "
                    "it, they would not leave L2",
                    bytes / 1e6, made.op,
                    index == *writer + 1 ? "just before"
                                         : fmt::format("{} kernels before", index - *writer)));
  }

  void addMovement(size_t index, const AuditedKernel &kernel) {
    const bool isCopy = kernel.kind == LaunchKind::Copy;
    if (!isCopy && !movesOnly(index))
      return;
    add(Finding::Kind::Movement, index, kernel.timeNs,
        isCopy ? "copies; a layout or a donated argument may make it unnecessary"
               : "computes nothing, only where elements lie changes: a reader that takes them as "
                 "they are saves it");
  }

  bool movesOnly(size_t index) const {
    const Op &op = module.graph(launches[index]->graph)[launches[index]->op];
    if (op.opcode != Opcode::Fusion || op.called.empty())
      return false;
    bool moves = false;
    for (const Op &inner : module.graph(op.called.front().graph).all())
      switch (inner.opcode) {
      case Opcode::Transpose:
      case Opcode::Copy:
      case Opcode::Slice:
      case Opcode::Concatenate:
        moves = true;
        break;
      case Opcode::Parameter:
      case Opcode::Bitcast:
      case Opcode::Reshape:
      case Opcode::Tuple:
        break;
      default:
        return false;
      }
    return moves;
  }

  void addUnexplained(size_t index, const AuditedKernel &kernel) {
    if (kernel.measuredNs <= 0 ||
        std::abs(std::log(kernel.measuredNs / kernel.timeNs)) <= unexplainedSigmas * kernel.sigmaLn)
      return;
    add(Finding::Kind::Unexplained, index, std::abs(kernel.measuredNs - kernel.timeNs),
        fmt::format("measured {:.1f} us, predicted {:.1f} (±{:.0f} %), by {}; priced by {}",
                    kernel.measuredNs / 1e3, kernel.timeNs / 1e3, 100 * std::expm1(kernel.sigmaLn),
                    kernel.limiter, kernel.from));
  }

  Audit &audit;
  const Module &module;
  const std::vector<const Launch *> &launches;
  const Parameters &parameters;
  /// By place: the launches that write there, ascending, and how large what they write is.
  std::map<std::pair<uint32_t, int64_t>, std::vector<std::pair<size_t, int64_t>>> writes;
};

} // namespace

void addFindings(Audit &audit, const Module &module, const std::vector<const Launch *> &launches,
                 const Parameters &parameters) {
  Finder(audit, module, launches, parameters).run();
}

std::vector<PredictedRow> rowsOf(const Audit &audit, const std::string &model) {
  std::vector<PredictedRow> rows;
  for (const AuditedKernel &kernel : audit.kernels)
    if (kernel.timeNs > 0 && kernel.measuredNs > 0)
      rows.push_back({std::string(toString(kernel.kind)), model + "/" + kernel.op,
                      kernel.measuredNs, kernel.timeNs, model});
  return rows;
}

} // namespace tilewright
