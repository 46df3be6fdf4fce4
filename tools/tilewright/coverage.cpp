#include "tools/tilewright/coverage.h"

#include "analysis/explore/explore.h"
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/tiling/plan_text.h"
#include "codegen/coverage.h"
#include "tools/tilewright/command.h"

#include <cctype>
#include <fmt/format.h>
#include <map>

namespace tilewright::cli {

namespace {

/// A described device that runs a target's code, the first by name.
llvm::Expected<Device> deviceFor(const Target &target) {
  std::string folder = dataFolder("devices");
  for (const std::string &name : deviceNames(folder)) {
    llvm::Expected<Device> device = loadDevice(name, folder);
    if (!device)
      return device.takeError();
    if (device->computeCapability ==
        fmt::format("{}.{}", target.architecture / 10, target.architecture % 10))
      return device;
  }
  return makeError(DiagClass::Unsupported, "no device of architecture {} is described in {}",
                   target.architecture, folder);
}

struct Row {
  std::string model, target;
  size_t groups = 0, emitted = 0, assembled = 0, spilling = 0, checkedAligned = 0, checkedOdd = 0,
         covered = 0, opaque = 0;
};

std::string problemOf(const KernelCoverage &kernel) {
  if (!kernel.refusal.empty())
    return "refused: " + kernel.refusal;
  if (!kernel.assemblyError.empty())
    return "ptxas: " + kernel.assemblyError;
  if (kernel.spills())
    return fmt::format("spills: {} bytes stored, {} loaded, {} registers",
                       kernel.assembly.spillStoreBytes, kernel.assembly.spillLoadBytes,
                       kernel.assembly.registers);
  for (auto [outcome, sizes] : {std::pair(&kernel.aligned, "aligned"), {&kernel.odd, "odd"}})
    if (outcome->status != CheckOutcome::Status::Pass)
      return fmt::format("{} at {} sizes: {}", toString(outcome->status), sizes, outcome->reason);
  return "";
}

/// The text of a module without names and metadata: models repeat their layers, and kernels that
/// differ in nothing else are one.
std::string withoutNames(std::string_view hlo) {
  std::string result;
  std::map<std::string_view, size_t> names;
  constexpr std::string_view metadata = ", metadata={";
  auto isNamePart = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  };
  for (size_t i = std::min(hlo.find('\n'), hlo.size()); i < hlo.size();) {
    if (hlo.substr(i, metadata.size()) == metadata) {
      bool isQuoted = false;
      for (i += metadata.size(); i < hlo.size() && (isQuoted || hlo[i] != '}'); ++i) {
        if (isQuoted && hlo[i] == '\\')
          ++i;
        else if (hlo[i] == '"')
          isQuoted = !isQuoted;
      }
      ++i;
    } else if (hlo[i] == '%') {
      size_t end = i + 1;
      while (end < hlo.size() && isNamePart(hlo[end]))
        ++end;
      result +=
          fmt::format("%{}", names.emplace(hlo.substr(i, end - i), names.size()).first->second);
      i = end;
    } else {
      result += hlo[i++];
    }
  }
  return result;
}

} // namespace

int runCoverage(const CoverageRequest &request) {
  std::vector<Module> modules;
  for (const std::string &path : request.models) {
    llvm::Expected<std::string> text = readFile(path);
    if (!text)
      return failInput(text.takeError());
    llvm::Expected<Module> module = importBuffer(std::make_shared<SourceBuffer>(path, *text));
    if (!module)
      return failInput(module.takeError());
    modules.push_back(std::move(*module));
  }
  Json document = newDocument("coverage");
  document["models"] = Json::array();
  std::vector<Row> rows;
  bool isWhole = true;
  for (const std::string &name : request.targets) {
    llvm::Expected<Target> target = findTarget(name);
    if (!target)
      return failInput(target.takeError());
    llvm::Expected<Toolchain> toolchain = findToolchain(*target);
    if (!toolchain)
      return failInput(toolchain.takeError());
    llvm::Expected<Device> device = deviceFor(*target);
    if (!device)
      return failInput(device.takeError());
    llvm::Expected<Calibration> calibration =
        defaultCalibration(*device, dataFolder("calibrations"));
    if (!calibration)
      return failInput(calibration.takeError());
    std::map<std::string, KernelCoverage> known;
    for (size_t m = 0; m < modules.size(); ++m) {
      llvm::Expected<ExploredModel> explored = exploreModel(modules[m], *device, *calibration);
      if (!explored)
        return fail(explored.takeError());
      Row row;
      row.model = request.models[m].substr(request.models[m].rfind('/') + 1);
      row.target = target->name;
      row.groups = explored->kernels.size();
      row.opaque = explored->unsupported.size();
      Json entry = {{"model", request.models[m]}, {"target", target->name}};
      entry["device"] = device->name;
      entry["kernels"] = Json::array();
      Progress progress("covering " + row.model);
      for (size_t i = 0; i < explored->kernels.size(); ++i) {
        progress.update(i, explored->kernels.size());
        const ExploredKernel &kernel = explored->kernels[i];
        const KernelPlan &plan = kernel.plans.front().plan;
        KernelCoverage coverage;
        coverage.name = kernel.name;
        llvm::Expected<KernelSpec> spec = specOf(plan);
        if (spec) {
          std::string same = withoutNames(printHlo(*spec->module)) + planText(plan);
          auto found = known.find(same);
          if (found == known.end()) {
            llvm::Expected<KernelCoverage> covered = coverKernel(*spec, *toolchain);
            if (!covered)
              return fail(covered.takeError());
            found = known.emplace(std::move(same), std::move(*covered)).first;
          }
          coverage = found->second;
          coverage.name = kernel.name;
        } else {
          coverage.refusal = takeDiag(spec.takeError()).message;
        }
        row.emitted += coverage.refusal.empty();
        row.assembled += coverage.isAssembled;
        row.spilling += coverage.spills();
        row.checkedAligned += coverage.aligned.status == CheckOutcome::Status::Pass;
        row.checkedOdd += coverage.odd.status == CheckOutcome::Status::Pass;
        row.covered += coverage.isCovered(toolchain->ptxas.has_value());
        std::string problem = problemOf(coverage);
        if (!problem.empty() && !request.json)
          fmt::print("{} {} %{} ({}): {}\n", row.model, row.target, kernel.name, planText(plan),
                     problem);
        entry["kernels"].push_back({{"name", kernel.name},
                                    {"kind", coverage.kind},
                                    {"plan", planText(plan)},
                                    {"emitted", coverage.refusal.empty()},
                                    {"assembled", coverage.isAssembled},
                                    {"registers", coverage.assembly.registers},
                                    {"spill_bytes", coverage.assembly.spillStoreBytes},
                                    {"aligned", toString(coverage.aligned.status)},
                                    {"odd", toString(coverage.odd.status)},
                                    {"problem", problem}});
      }
      entry["opaque"] = Json::array();
      for (const UnsupportedOp &op : explored->unsupported)
        entry["opaque"].push_back({{"op", op.op}, {"reason", op.reason}});
      isWhole = isWhole && row.covered == row.groups;
      document["models"].push_back(std::move(entry));
      rows.push_back(std::move(row));
    }
  }
  if (request.json) {
    print(document);
  } else {
    fmt::print("{:<40} {:<8} {:>6} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8} {:>7}\n", "model", "target",
               "groups", "emitted", "assembled", "spilling", "aligned", "odd", "covered", "opaque");
    for (const Row &row : rows)
      fmt::print("{:<40} {:<8} {:>6} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8} {:>7}\n", row.model,
                 row.target, row.groups, row.emitted, row.assembled, row.spilling,
                 row.checkedAligned, row.checkedOdd, row.covered, row.opaque);
  }
  return isWhole ? Fine : AnswerIsNo;
}

} // namespace tilewright::cli
